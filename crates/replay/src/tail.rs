//! The tables of a session, read as they grow.

use unsnarl_events::{Problem, Problems};
use unsnarl_recording::chunk_place::{ChunkPlace, RECORD};
use unsnarl_recording::format::{CHUNKS_FILE, CLASSES_FILE, NAMES_FILE, SITES_FILE, STACKS_FILE};
use unsnarl_recording::records::{ClassRecord, NameRecord, SiteRecord, StackRecord};
use unsnarl_recording::storage::Storage;

use super::translate::Descriptions;

/// A table that may grow.
#[derive(Debug)]
struct Tail {
    file: &'static str,
    read: u64,
    /// The beginning of a record whose rest was not written yet.
    rest: Vec<u8>,
    /// How many records were read.
    records: usize,
}

impl Tail {
    fn new(file: &'static str) -> Self {
        Self { file, read: 0, rest: Vec::new(), records: 0 }
    }

    fn poll(&mut self, storage: &mut Storage, problems: &mut Problems) {
        let before = self.rest.len();
        if let Err(error) = storage.table(self.file, self.read, &mut self.rest) {
            problems.add(|| Problem {
                place: self.file.to_owned(),
                expected: "a table",
                found: error.to_string(),
            });
        }
        self.read += (self.rest.len() - before) as u64;
    }

    fn lines<T>(
        &mut self,
        storage: &mut Storage,
        parse: impl Fn(&[u8]) -> Option<T>,
        problems: &mut Problems,
        mut add: impl FnMut(T),
    ) {
        self.poll(storage, problems);
        let end = self.rest.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        for line in self.rest[..end].split_inclusive(|&byte| byte == b'\n') {
            self.records += 1;
            match line.strip_suffix(b"\n").and_then(&parse) {
                Some(record) => add(record),
                None => damaged(self.file, self.records, line, problems),
            }
        }
        self.rest.drain(..end);
    }

    /// Reports a line without an end.
    fn finish(&self, problems: &mut Problems) {
        if !self.rest.is_empty() {
            damaged(self.file, self.records + 1, &self.rest, problems);
        }
    }
}

/// All tables of a session.
#[derive(Debug)]
pub(super) struct TableReader {
    chunks: Tail,
    sites: Tail,
    classes: Tail,
    names: Tail,
    stacks: Tail,
}

impl TableReader {
    pub(super) fn new() -> Self {
        Self {
            chunks: Tail::new(CHUNKS_FILE),
            sites: Tail::new(SITES_FILE),
            classes: Tail::new(CLASSES_FILE),
            names: Tail::new(NAMES_FILE),
            stacks: Tail::new(STACKS_FILE),
        }
    }

    /// Chunks that were given to threads since the last time.
    pub(super) fn chunks(
        &mut self,
        storage: &mut Storage,
        problems: &mut Problems,
        mut add: impl FnMut(ChunkPlace, &mut Problems),
    ) {
        let Self { chunks, .. } = self;
        chunks.poll(storage, problems);
        let (records, _) = chunks.rest.as_chunks::<RECORD>();
        for record in records {
            chunks.records += 1;
            match ChunkPlace::from_bytes(record) {
                Some(place) => add(place, problems),
                None => problems.add(|| Problem {
                    place: format!("{CHUNKS_FILE}, record {}", chunks.records),
                    expected: "the place of a chunk, with its checksum",
                    found: "other bytes".to_owned(),
                }),
            }
        }
        let end = RECORD * records.len();
        chunks.rest.drain(..end);
    }

    /// What was described since the last time.
    pub(super) fn descriptions(
        &mut self,
        storage: &mut Storage,
        descriptions: &mut Descriptions,
        problems: &mut Problems,
    ) {
        self.sites.lines(storage, SiteRecord::parse, problems, |site| {
            descriptions.sites.insert(site.number.0, site);
        });
        self.classes.lines(storage, ClassRecord::parse, problems, |class| {
            descriptions.classes.add(&class);
        });
        self.names.lines(storage, NameRecord::parse, problems, |name| match name {
            NameRecord::Class(id, name) => {
                descriptions.class_names.insert(id, name);
            }
            NameRecord::Thread(number, name) => {
                descriptions.thread_names.insert(number, name);
            }
            NameRecord::Daemon(number, name) => {
                descriptions.thread_names.insert(number, name);
                descriptions.daemons.insert(number);
            }
            NameRecord::Text(id, text) => {
                descriptions.texts.insert(id, text);
            }
        });
    }

    /// How threads came to sites, which is read when nothing more will be written.
    pub(super) fn stacks(
        &mut self,
        storage: &mut Storage,
        problems: &mut Problems,
        add: impl FnMut(StackRecord),
    ) {
        self.stacks.lines(storage, StackRecord::parse, problems, add);
    }

    /// To be called when nothing more will be written and all was.
    pub(super) fn finish(&self, problems: &mut Problems) {
        for table in [&self.sites, &self.classes, &self.names, &self.stacks] {
            table.finish(problems);
        }
    }
}

fn damaged(file: &str, line: usize, found: &[u8], problems: &mut Problems) {
    problems.add(|| Problem {
        place: format!("{file}, line {line}"),
        expected: "a line of the table",
        found: String::from_utf8_lossy(found).trim_end().to_owned(),
    });
}
