//! Writes events as an agent does (`docs/trace-format.md`): accesses are to fields of objects, locks are monitors.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use unsnarl_entity::{EntityId, SecondaryMap};
use unsnarl_events::{Event, LockId, Operation, ThreadId, VariableId};
use unsnarl_recording::format::{
    ARENA_MARK, CHUNK_HEADER, CHUNK_MARK, CHUNKS_FILE, Kind, LOG_FILE, MARK, MARK_FILE, SITES_FILE,
    arena_file,
};
use unsnarl_recording::{ChunkPlace, FieldName, SiteNumber, SiteOperation, SiteRecord, Volatility};

/// How many fields an object has.
const FIELDS: usize = 4;
/// How many places there are for each field.
const PLACES: usize = 1250;
/// How large a chunk is, in words after its header.
const WORDS: usize = 1 << 13;

/// The writer of a session.
pub(crate) struct SessionWriter {
    arena: BufWriter<File>,
    chunks: BufWriter<File>,
    offset: u32,
    /// The last number of synchronization.
    number: u64,
    threads: SecondaryMap<ThreadId, Chunk>,
}

#[derive(Clone, Default)]
struct Chunk {
    sequence: u64,
    words: Vec<u64>,
}

impl SessionWriter {
    /// Begins a session in a new folder.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        fs::create_dir(folder)?;
        fs::write(folder.join(MARK_FILE), MARK)?;
        fs::write(folder.join(LOG_FILE), "loaded\nrecording\nthe program has ended\n")?;
        let mut sites = Vec::new();
        for number in 0..PLACES * FIELDS {
            let record = SiteRecord {
                number: SiteNumber(number as u32 + 1),
                class: b"a/Account".to_vec(),
                method: format!("m{}", number / 100).into(),
                descriptor: b"()V".to_vec(),
                is_static: false,
                file: b"Account.java".to_vec(),
                line: Some(number as u16),
                operation: SiteOperation::Field(
                    FieldName {
                        class: b"a/Account".to_vec(),
                        name: format!("f{}", number % FIELDS).into(),
                        descriptor: b"I".to_vec(),
                    },
                    Volatility::Plain,
                ),
            };
            record.write(&mut sites);
        }
        fs::write(folder.join(SITES_FILE), sites)?;
        let file = |name: &str| File::create(folder.join(name));
        let mut arena = BufWriter::with_capacity(1 << 20, file(&arena_file(0))?);
        arena.write_all(ARENA_MARK)?;
        Ok(Self {
            arena,
            chunks: BufWriter::new(file(CHUNKS_FILE)?),
            offset: ARENA_MARK.len() as u32,
            number: 0,
            threads: SecondaryMap::new(),
        })
    }

    /// Appends an event. Of its site only a part can be kept: a place accesses one field.
    pub(crate) fn write(&mut self, event: &Event) -> io::Result<()> {
        let place = event.site.index() % PLACES * FIELDS;
        let (kind, place, word) = match event.operation {
            Operation::Read(it) => (Kind::FieldRead, place + it.index() % FIELDS, object_of(it)),
            Operation::Write(it) => (Kind::FieldWrite, place + it.index() % FIELDS, object_of(it)),
            Operation::Acquire(lock) => (Kind::MonitorEnter, place, monitor_of(lock)),
            Operation::Release(lock) => (Kind::MonitorExit, place, monitor_of(lock)),
            other => return Err(io::Error::other(format!("{other:?} is not written here"))),
        };
        if self.threads[event.thread].words.len() > WORDS - 3 {
            self.flush(event.thread)?;
        }
        if self.threads[event.thread].words.is_empty() {
            let begins = self.threads[event.thread].sequence == 0;
            let kind = if begins { Kind::ThreadBegin } else { Kind::GoesOn };
            self.number += 1;
            self.threads[event.thread].words.extend([kind.number().into(), self.number]);
        }
        let words = &mut self.threads[event.thread].words;
        words.push((place as u64 + 1) << 8 | u64::from(kind.number()));
        if kind.is_numbered() {
            self.number += 1;
            words.push(self.number);
        }
        words.push(word);
        Ok(())
    }

    /// Writes what threads still have.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let threads: Vec<ThreadId> = self.threads.iter().map(|(thread, _)| thread).collect();
        for thread in threads {
            if !self.threads[thread].words.is_empty() {
                self.flush(thread)?;
            }
        }
        self.arena.flush()?;
        self.chunks.flush()
    }

    fn flush(&mut self, thread: ThreadId) -> io::Result<()> {
        let number = thread.index() as u64 + 1;
        let chunk = &mut self.threads[thread];
        let size = (CHUNK_HEADER + 8 * chunk.words.len()) as u32;
        let place = ChunkPlace {
            arena: 0,
            offset: self.offset,
            size,
            thread: number,
            sequence: chunk.sequence,
        };
        let header = [u64::from(size) << 32 | u64::from(CHUNK_MARK), number, chunk.sequence];
        for word in header.iter().chain(&chunk.words) {
            self.arena.write_all(&word.to_le_bytes())?;
        }
        chunk.words.clear();
        chunk.sequence += 1;
        let end = self.offset.checked_add(size);
        self.offset = end.ok_or_else(|| io::Error::other("more than an arena holds"))?;
        self.chunks.write_all(&place.to_bytes())
    }
}

fn object_of(variable: VariableId) -> u64 {
    (variable.index() / FIELDS) as u64 + 1
}

/// Monitors have ids that no variable's object has.
fn monitor_of(lock: LockId) -> u64 {
    lock.index() as u64 + (1 << 24)
}
