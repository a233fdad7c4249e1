//! Traces in the binary form of the RAPID project [Rapid, formats], which its documentation calls RapidBin.
//!
//! All numbers are big-endian. A header of 18 bytes has the number of threads (2 bytes), of locks
//! (4), of variables (4) and of events (8). Then come the events, 8 bytes each, from the highest bit
//! down: one bit that is zero, 15 bits location, 34 bits target, 4 bits operation, 10 bits thread.
//! The target is a variable, a lock or a thread, as the operation wants it; the operations are
//! acquire (0), release (1), read (2), write (3), fork (4), join (5), begin (6) and end (7) of a
//! transaction, and request (8).
//!
//! Of the header only the number of events is compared with what comes: the other counts say nothing
//! that the events do not say.

use std::io::Read;
use std::path::{Path, PathBuf};

use unsnarl_entity::EntityId;

use crate::ids::Numbers;
use crate::{
    Event, Lock, LockId, Operation, Problem, Problems, SiteId, Sites, Source, Tables, Thread,
    ThreadId, TraceError, Variable, VariableId,
};

const HEADER: usize = 18;
const EVENT: usize = 8;

/// How many events are read at once.
const BATCH: usize = 8192;

/// The most threads that 10 bits distinguish.
const MOST_THREADS: u16 = 1024;

/// Whether a file that begins with this byte is RapidBin: the high byte of a possible number of
/// threads, which no text begins with.
#[must_use]
pub fn begins_rapid_bin(first: u8) -> bool {
    u16::from(first) <= MOST_THREADS >> 8
}

/// Reads a trace in RapidBin form from a stream of bytes.
pub struct RapidBinReader<R> {
    input: R,
    file: PathBuf,
    buffer: Vec<u8>,
    /// How many bytes were taken in.
    offset: u64,
    /// How many events the header announces; nothing before it was read.
    announced: Option<u64>,
    /// How many events came, damaged ones included.
    seen: u64,
    delivered: u64,
    is_at_end: bool,
    tables: Tables,
    threads: Numbers<ThreadId>,
    locks: Numbers<LockId>,
    variables: Numbers<VariableId>,
    problems: Problems,
}

impl<R: Read> RapidBinReader<R> {
    /// A reader of `input`, which is called `file` in errors.
    pub fn new(input: R, file: &Path) -> Self {
        Self {
            input,
            file: file.to_owned(),
            buffer: Vec::with_capacity(BATCH * EVENT),
            offset: 0,
            announced: None,
            seen: 0,
            delivered: 0,
            is_at_end: false,
            tables: Tables { sites: Sites::Numbered, ..Tables::default() },
            threads: Numbers::default(),
            locks: Numbers::default(),
            variables: Numbers::default(),
            problems: Problems::default(),
        }
    }

    fn read_header(&mut self) -> Result<u64, TraceError> {
        self.read_up_to(HEADER)?;
        let Some(count) = self.buffer.get(10..HEADER).and_then(|bytes| bytes.first_chunk()) else {
            let reason =
                format!("expected a header of {HEADER} bytes, found {} bytes", self.buffer.len());
            return Err(TraceError::NoTrace { file: self.file.clone(), reason });
        };
        let announced = u64::from_be_bytes(*count);
        self.offset = HEADER as u64;
        self.announced = Some(announced);
        Ok(announced)
    }

    /// Fills the buffer with the next bytes, fewer at the end of the file.
    fn read_up_to(&mut self, length: usize) -> Result<(), TraceError> {
        self.buffer.clear();
        let read = self.input.by_ref().take(length as u64).read_to_end(&mut self.buffer);
        read.map_err(|error| TraceError::Read { file: self.file.clone(), error })?;
        Ok(())
    }

    fn take_in(&mut self, word: u64) -> Option<Event> {
        let field = |shift: u32, bits: u32| (word >> shift) & ((1 << bits) - 1);
        let (thread, code, target) = (field(0, 10), field(10, 4), field(14, 34));
        let site = SiteId::from_index(field(48, 15) as usize);
        if field(63, 1) != 0 {
            return None;
        }
        let operation = match code {
            0 => Operation::Acquire(self.lock(target)),
            1 => Operation::Release(self.lock(target)),
            2 => Operation::Read(self.variable(target)),
            3 => Operation::Write(self.variable(target)),
            4 => Operation::Fork(self.thread(target)),
            5 => Operation::Join(self.thread(target)),
            6 => Operation::TransactionBegin,
            7 => Operation::TransactionEnd,
            8 => Operation::Request(self.lock(target)),
            _ => return None,
        };
        Some(Event { thread: self.thread(thread), site, operation })
    }

    fn thread(&mut self, number: u64) -> ThreadId {
        let tables = &mut self.tables;
        self.threads.id(number, || {
            let name = tables.names.intern(format!("T{number}").as_bytes());
            tables.threads.push(Thread { name })
        })
    }

    fn lock(&mut self, number: u64) -> LockId {
        let tables = &mut self.tables;
        self.locks.id(number, || {
            let name = tables.names.intern(format!("L{number}").as_bytes());
            tables.locks.push(Lock::Named(name))
        })
    }

    fn variable(&mut self, number: u64) -> VariableId {
        let tables = &mut self.tables;
        self.variables.id(number, || {
            let name = tables.names.intern(format!("V{number}").as_bytes());
            tables.variables.push(Variable::Named(name))
        })
    }

    /// Compares what came with what was announced.
    fn end(&mut self, announced: u64) {
        self.is_at_end = true;
        if self.seen != announced {
            let seen = self.seen;
            self.problems.add(|| Problem {
                place: "the end".to_owned(),
                expected: "as many events as the header announces",
                found: format!("{seen} of {announced}"),
            });
        }
    }
}

impl<R: Read> Source for RapidBinReader<R> {
    fn next_batch(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError> {
        batch.clear();
        let announced = match self.announced {
            Some(announced) => announced,
            None => self.read_header()?,
        };
        while batch.is_empty() && !self.is_at_end {
            let wanted = (announced - self.seen).min(BATCH as u64) as usize;
            self.read_up_to(wanted * EVENT)?;
            let buffer = std::mem::take(&mut self.buffer);
            for word in buffer.chunks_exact(EVENT) {
                let word = word.first_chunk().expect("a chunk is as long as an event");
                self.seen += 1;
                match self.take_in(u64::from_be_bytes(*word)) {
                    Some(event) => batch.push(event),
                    None => {
                        let offset = self.offset;
                        self.problems.add(|| Problem {
                            place: format!("byte {offset}"),
                            expected: "an event with an operation from 0 to 8",
                            found: format!("{:016x}", u64::from_be_bytes(*word)),
                        });
                    }
                }
                self.offset += EVENT as u64;
            }
            if buffer.len() < wanted * EVENT || self.seen == announced {
                self.end(announced);
            }
            self.buffer = buffer;
        }
        self.delivered += batch.len() as u64;
        match self.problems.first() {
            [first, ..] if batch.is_empty() && self.delivered == 0 => {
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
