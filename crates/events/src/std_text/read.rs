//! Reading STD.

use std::io::Read;
use std::path::{Path, PathBuf};

use unsnarl_entity::EntityId;

use super::names::Ids;
use super::plain::PlainLine;
use crate::{Event, Operation, Problem, Problems, SiteId, Sites, Source, Tables, TraceError};

/// How many bytes are read at once. A longer line is damaged.
const CHUNK: usize = 1 << 20;

/// How many events a batch has at most.
const BATCH: usize = 4096;

/// Reads a trace in STD form from a stream of bytes, in bounded memory apart from its names.
///
/// The bytes are read in chunks and not mapped: a file that is cut short while it is mapped would
/// kill the process, a pipe cannot be mapped, and copying is a few percent of the time.
pub struct StdReader<R> {
    input: R,
    file: PathBuf,
    /// What was read and not yet looked at is in `unread..filled`.
    buffer: Vec<u8>,
    unread: usize,
    filled: usize,
    is_at_end: bool,
    /// The number of lines before `unread`.
    line: u64,
    events: u64,
    tables: Tables,
    ids: Ids,
    problems: Problems,
}

/// Why a line is damaged: what was expected and what was there.
type Damage<'l> = (&'static str, &'l [u8]);

impl<R: Read> StdReader<R> {
    /// A reader of `input`, which is called `file` in errors.
    pub fn new(input: R, file: &Path) -> Self {
        Self {
            input,
            file: file.to_owned(),
            buffer: vec![0; CHUNK],
            unread: 0,
            filled: 0,
            is_at_end: false,
            line: 0,
            events: 0,
            tables: Tables { sites: Sites::Numbered, ..Tables::default() },
            ids: Ids::default(),
            problems: Problems::default(),
        }
    }

    /// Makes the next bytes available; the rest of the last line stays before them. A line that fills
    /// the whole buffer is damaged and dropped.
    fn fill(&mut self) -> Result<(), TraceError> {
        self.buffer.copy_within(self.unread..self.filled, 0);
        self.filled -= self.unread;
        self.unread = 0;
        if self.filled == self.buffer.len() {
            self.drop_long_line()?;
        }
        self.filled += self.read_some(self.filled)?;
        Ok(())
    }

    /// Reads what there is into the buffer from `from` on.
    fn read_some(&mut self, from: usize) -> Result<usize, TraceError> {
        loop {
            match self.input.read(&mut self.buffer[from..]) {
                Ok(0) => {
                    self.is_at_end = true;
                    return Ok(0);
                }
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(TraceError::Read { file: self.file.clone(), error }),
            }
        }
    }

    /// Reads on to the end of a line that is longer than the buffer.
    fn drop_long_line(&mut self) -> Result<(), TraceError> {
        self.line += 1;
        let line = self.line;
        self.problems.add(|| Problem {
            place: format!("line {line}"),
            expected: "a line of less than a million characters",
            found: "a longer one".to_owned(),
        });
        while !self.is_at_end {
            let count = self.read_some(0)?;
            if let Some(end) = memchr::memchr(b'\n', &self.buffer[..count]) {
                self.buffer.copy_within(end + 1..count, 0);
                self.filled = count - end - 1;
                return Ok(());
            }
        }
        self.filled = 0;
        Ok(())
    }

    /// Takes in the next line, without the character that ends it.
    fn take_line(&mut self, start: usize, end: usize, batch: &mut Vec<Event>) {
        self.line += 1;
        let line = &self.buffer[start..end];
        match parse(line, &mut self.ids, &mut self.tables) {
            Ok(Some(event)) => batch.push(event),
            Ok(None) => {}
            Err((expected, found)) => {
                let number = self.line;
                self.problems.add(|| Problem {
                    place: format!("line {number}"),
                    expected,
                    found: shown(found),
                });
            }
        }
    }
}

impl<R: Read> Source for StdReader<R> {
    fn next_batch(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < BATCH {
            let unread = &self.buffer[self.unread..self.filled];
            if let Some(line) = PlainLine::parse(unread) {
                self.line += 1;
                self.unread += line.length;
                batch.push(self.ids.event(line, &mut self.tables));
            } else if let Some(length) = memchr::memchr(b'\n', unread) {
                let start = self.unread;
                self.unread += length + 1;
                self.take_line(start, start + length, batch);
            } else if !self.is_at_end {
                self.fill()?;
            } else {
                // The last line may have no end.
                let (start, end) = (self.unread, self.filled);
                self.unread = self.filled;
                if start < end {
                    self.take_line(start, end, batch);
                }
                break;
            }
        }
        self.events += batch.len() as u64;
        match self.problems.first() {
            [first, ..] if batch.is_empty() && self.events == 0 => {
                Err(TraceError::NoTrace { file: self.file.clone(), reason: first.to_string() })
            }
            _ => Ok(()),
        }
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn problems(&self) -> &Problems {
        &self.problems
    }
}

/// The event on a line, or nothing if the line has none.
#[inline]
fn parse<'l>(
    line: &'l [u8],
    ids: &mut Ids,
    tables: &mut Tables,
) -> Result<Option<Event>, Damage<'l>> {
    let Some(thread_end) = line.iter().position(|&byte| byte == b'|') else {
        return match is_blank(line) {
            true => Ok(None),
            false => Err(("thread|operation|location", line)),
        };
    };
    let (thread, rest) = (&line[..thread_end], &line[thread_end + 1..]);
    let Some(operation_end) = rest.iter().position(|&byte| byte == b'|') else {
        return match is_blank(line) {
            true => Ok(None),
            false => Err(("a second '|' before the location", line)),
        };
    };
    let (operation, location) = (&rest[..operation_end], &rest[operation_end + 1..]);
    let Some(site) = parse_location(location) else {
        return match is_blank(line) {
            true => Ok(None),
            false => Err(("a location, which is a number below 2^32", location)),
        };
    };
    if !is_name(thread) {
        return match is_blank(line) {
            true => Ok(None),
            false => Err(("the name of a thread", thread)),
        };
    }
    let Some(operation) = parse_operation(operation, ids, tables)? else { return Ok(None) };
    let thread = ids.thread(thread, tables);
    Ok(Some(Event { thread, site, operation }))
}

/// The operation, or nothing if it is one that is left out.
#[inline]
fn parse_operation<'l>(
    operation: &'l [u8],
    ids: &mut Ids,
    tables: &mut Tables,
) -> Result<Option<Operation>, Damage<'l>> {
    let (word, target) = match operation {
        [word @ .., b')'] => match word.iter().position(|&byte| byte == b'(') {
            Some(end) => (&word[..end], Some(&word[end + 1..])),
            None => return Err(("a '(' before the ')'", operation)),
        },
        word => (word, None),
    };
    let simple = match word {
        b"begin" => Some(Operation::TransactionBegin),
        b"end" => Some(Operation::TransactionEnd),
        b"start" => Some(Operation::Start),
        b"stop" => Some(Operation::End),
        b"branch" | b"dummy" => return Ok(None),
        _ => None,
    };
    if simple.is_some() {
        return Ok(simple);
    }
    let Some(target) = target.filter(|target| is_name(target)) else {
        return Err(("an operation such as w(V1)", operation));
    };
    Ok(Some(match word {
        b"r" => Operation::Read(ids.variable(target, tables)),
        b"w" => Operation::Write(ids.variable(target, tables)),
        b"acq" => Operation::Acquire(ids.lock(target, tables)),
        b"rel" => Operation::Release(ids.lock(target, tables)),
        b"fork" => Operation::Fork(ids.thread(target, tables)),
        b"join" => Operation::Join(ids.thread(target, tables)),
        b"req" => Operation::Request(ids.lock(target, tables)),
        b"racq" => Operation::AcquireShared(ids.lock(target, tables)),
        b"rrel" => Operation::ReleaseShared(ids.lock(target, tables)),
        b"wait" => Operation::Wait(ids.lock(target, tables)),
        b"wake" => Operation::Wake(ids.lock(target, tables)),
        b"notify" => Operation::Notify(ids.lock(target, tables)),
        b"send" => Operation::Send(ids.channel(target, tables)),
        b"recv" => Operation::Receive(ids.channel(target, tables)),
        b"enter" => Operation::Enter(ids.method(target, tables)),
        b"exit" => Operation::Exit(ids.method(target, tables)),
        _ => return Err(("an operation such as w(V1)", operation)),
    }))
}

/// The number, if nothing but white space and a comment comes after it.
#[inline]
fn parse_location(text: &[u8]) -> Option<SiteId> {
    let mut number: u64 = 0;
    let mut length = 0;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = (number * 10 + u64::from(digit)).min(1 << 32);
        length += 1;
    }
    let is_number = length > 0 && number < 1 << 32;
    (is_number && (length == text.len() || is_blank(&text[length..])))
        .then(|| SiteId::from_index(number as usize))
}

/// Whether there is nothing but white space and a comment.
fn is_blank(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    text.is_empty() || text.starts_with(b"//")
}

#[inline]
fn is_name(name: &[u8]) -> bool {
    let may_be_part =
        |byte: &u8| *byte > b' ' && *byte != b'(' && *byte != b')' && *byte != b'|' && *byte != 127;
    !name.is_empty() && name.iter().all(may_be_part)
}

/// What was found, as far as it is worth showing.
fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 60;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]);
    let more = if bytes.len() > MOST { "…" } else { "" };
    format!("'{}{more}'", text.trim_end())
}
