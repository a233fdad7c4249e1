//! The reader of a session whose program has ended.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::chunks::{self, Chunk, RawEvent};
use super::format::{
    ARENA_PREFIX, CLASSES_FILE, Kind, LOG_FILE, MARK, MARK_FILE, NAMES_FILE, SITES_FILE,
    USUAL_IN_LOG,
};
use super::records::{ClassRecord, NameRecord, SiteRecord};
use super::translate::{Descriptions, Translator};
use crate::{Event, Problem, Problems, Source, Tables, TraceError};

/// How many events a batch has at least, if there are so many.
const BATCH: usize = 4096;

/// Opens the folder of a session.
///
/// # Errors
/// When it is not the folder of a session, or cannot be read. A table or arena that is damaged is told
/// by [`Source::problems`] and read as far as it goes.
pub fn open(folder: &Path) -> Result<Session, TraceError> {
    let mark = folder.join(MARK_FILE);
    if !mark.exists() {
        let reason = format!("the folder has no file `{MARK_FILE}`");
        return Err(TraceError::NoTrace { file: folder.to_owned(), reason });
    }
    if read_file(&mark)? != MARK.as_bytes() {
        return Err(TraceError::NoTrace { file: mark, reason: format!("expected {MARK:?}") });
    }
    let arenas = arenas(folder)?.into_iter().map(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, read_file(&file)?))
    });
    let table = |name: &str| match read_file(&folder.join(name)) {
        Err(TraceError::Open { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Vec::new())
        }
        text => text,
    };
    Ok(Session::new(&Files {
        arenas: arenas.collect::<Result<_, _>>()?,
        sites: table(SITES_FILE)?,
        classes: table(CLASSES_FILE)?,
        names: table(NAMES_FILE)?,
        log: table(LOG_FILE)?,
    }))
}

/// What is in the files of a session.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The arenas with their names.
    pub arenas: Vec<(String, Vec<u8>)>,
    /// The table of places in the code.
    pub sites: Vec<u8>,
    /// The table of classes.
    pub classes: Vec<u8>,
    /// The table of names.
    pub names: Vec<u8>,
    /// What the agent said.
    pub log: Vec<u8>,
}

/// A session that is being read.
#[derive(Debug)]
pub struct Session {
    threads: Vec<Recorded>,
    steps: std::vec::IntoIter<Step>,
    /// How many events of each thread were delivered.
    delivered: Vec<usize>,
    translator: Translator,
    problems: Problems,
}

/// What one thread wrote.
#[derive(Debug)]
struct Recorded {
    number: u64,
    events: Vec<RawEvent>,
}

/// A thread may go on until it has done so many events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    thread: usize,
    until: usize,
}

impl Session {
    /// Reads what is in the files. Whatever they hold, there is a session; what had to be skipped is told
    /// by [`Source::problems`].
    #[must_use]
    pub fn new(files: &Files) -> Self {
        let mut problems = Problems::default();
        let mut threads: FxHashMap<u64, Vec<Chunk>> = FxHashMap::default();
        for (name, arena) in &files.arenas {
            for chunk in chunks::read(arena, name, &mut problems) {
                threads.entry(chunk.thread).or_default().push(chunk);
            }
        }
        let mut threads: Vec<Recorded> = threads
            .into_iter()
            .map(|(number, chunks)| join(number, chunks, &mut problems))
            .collect();
        threads.sort_by_key(|thread| thread.number);

        let mut descriptions = Descriptions::default();
        lines(SITES_FILE, &files.sites, SiteRecord::parse, &mut problems, |site| {
            descriptions.sites.insert(site.number, site);
        });
        lines(CLASSES_FILE, &files.classes, ClassRecord::parse, &mut problems, |class| {
            descriptions.classes.add(&class);
        });
        lines(NAMES_FILE, &files.names, NameRecord::parse, &mut problems, |name| match name {
            NameRecord::Class(id, name) => {
                descriptions.class_names.insert(id, name);
            }
            NameRecord::Thread(number, name) => {
                descriptions.thread_names.insert(number, name);
            }
        });
        lost(&files.log, &mut problems);
        for event in threads.iter().flat_map(|thread| &thread.events) {
            if event.kind == Kind::Object {
                let [object, class] = event.words;
                descriptions.class_of.insert(object, class);
            }
        }
        Self {
            steps: order(&threads).into_iter(),
            delivered: vec![0; threads.len()],
            translator: Translator::new(descriptions),
            threads,
            problems,
        }
    }
}

impl Source for Session {
    fn next_batch(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < BATCH {
            let Some(&step) = self.steps.as_slice().first() else { break };
            let thread = &self.threads[step.thread];
            let delivered = &mut self.delivered[step.thread];
            match thread.events[..step.until].get(*delivered) {
                Some(event) => {
                    self.translator.translate(thread.number, event, batch, &mut self.problems);
                    *delivered += 1;
                }
                None => {
                    self.steps.next();
                }
            }
        }
        Ok(())
    }

    fn tables(&self) -> &Tables {
        self.translator.tables()
    }

    fn problems(&self) -> &Problems {
        &self.problems
    }
}

/// Synchronization in the order of its numbers, every other event as late as its thread's next
/// synchronization allows: so it comes behind the end of a class initializer that it waited for.
fn order(threads: &[Recorded]) -> Vec<Step> {
    let mut numbered = Vec::new();
    for (thread, recorded) in threads.iter().enumerate() {
        for (index, event) in recorded.events.iter().enumerate() {
            if event.kind.is_numbered() {
                numbered.push((event.words[0], Step { thread, until: index + 1 }));
            }
        }
    }
    numbered.sort_by_key(|&(number, step)| (number, step.thread, step.until));
    let rest = threads
        .iter()
        .enumerate()
        .map(|(thread, recorded)| Step { thread, until: recorded.events.len() });
    numbered.into_iter().map(|(_, step)| step).chain(rest).collect()
}

/// The events of one thread, in their order.
fn join(number: u64, mut chunks: Vec<Chunk>, problems: &mut Problems) -> Recorded {
    chunks.sort_by_key(|chunk| chunk.sequence);
    for (expected, chunk) in chunks.iter().enumerate() {
        if chunk.sequence != expected as u64 {
            problems.add(|| Problem {
                place: format!("thread {number}, chunk {expected}"),
                expected: "a chunk",
                found: format!("chunk {}", chunk.sequence),
            });
            break;
        }
    }
    Recorded { number, events: chunks.into_iter().flat_map(|chunk| chunk.events).collect() }
}

fn arenas(folder: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let failed = |error| TraceError::Read { file: folder.to_owned(), error };
    let mut arenas = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_string_lossy().starts_with(ARENA_PREFIX) {
            arenas.push(entry.path());
        }
    }
    arenas.sort();
    Ok(arenas)
}

/// Reads a table. A last line without an end was being written when the program was killed.
fn lines<T>(
    file: &str,
    text: &[u8],
    parse: impl Fn(&[u8]) -> Option<T>,
    problems: &mut Problems,
    mut add: impl FnMut(T),
) {
    for (index, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
        match line.strip_suffix(b"\n").and_then(&parse) {
            Some(record) => add(record),
            None => problems.add(|| Problem {
                place: format!("{file}, line {}", index + 1),
                expected: "a line of the table",
                found: String::from_utf8_lossy(line).trim_end().to_owned(),
            }),
        }
    }
}

/// What the log tells besides the usual was not recorded.
fn lost(log: &[u8], problems: &mut Problems) {
    let log = String::from_utf8_lossy(log);
    for (index, line) in log.lines().enumerate() {
        if !USUAL_IN_LOG.contains(&line) {
            problems.add(|| Problem {
                place: format!("{LOG_FILE}, line {}", index + 1),
                expected: "that everything could be recorded",
                found: line.to_owned(),
            });
        }
    }
}

fn read_file(file: &Path) -> Result<Vec<u8>, TraceError> {
    fs::read(file).map_err(|error| TraceError::Open { file: file.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::format::{ARENA_MARK, CHUNK_HEADER, CHUNK_MARK};
    use super::*;

    fn recorded(number: u64, numbers: &[Option<u64>]) -> Recorded {
        let events = numbers.iter().map(|number| {
            let kind = if number.is_some() { Kind::ThreadBegin } else { Kind::StaticRead };
            RawEvent { kind, site: 0, words: [number.unwrap_or(0), 0] }
        });
        Recorded { number, events: events.collect() }
    }

    proptest! {
        /// Threads are made by dealing numbered and other events out to them.
        #[test]
        fn the_order_is_one_that_the_threads_and_the_numbers_allow(
            deal in prop::collection::vec((0..3_usize, any::<bool>()), 0..30)
        ) {
            let mut dealt = vec![Vec::new(); 3];
            for (number, &(thread, is_numbered)) in deal.iter().enumerate() {
                dealt[thread].push(is_numbered.then_some(number as u64 + 1));
            }
            let threads: Vec<_> =
                dealt.iter().enumerate().map(|(number, events)| recorded(number as u64, events)).collect();
            let mut delivered = vec![0; 3];
            let mut numbers: Vec<u64> = Vec::new();
            for step in order(&threads) {
                let from = delivered[step.thread];
                let until = step.until.max(from);
                numbers.extend(dealt[step.thread][from..until].iter().flatten());
                delivered[step.thread] = until;
            }
            prop_assert!(numbers.is_sorted());
            let lengths: Vec<_> = dealt.iter().map(Vec::len).collect();
            prop_assert_eq!(delivered, lengths);
        }
    }

    /// An arena in which every word is an event of some kind, and tables that fit or do not.
    fn files() -> impl Strategy<Value = Files> {
        let word = prop_oneof![
            (1..22_u64, 0..4_u64).prop_map(|(kind, site)| site << 8 | kind),
            0..6_u64,
            any::<u64>()
        ];
        let sites = prop::sample::subsequence(
            vec![
                "1\tA\tm\t()V\tA.java\t3\tfield\tA\tx\tI\tunknown\n",
                "2\tA\tm\t()V\t\t\telement\n",
                "3\tA\t<clinit>\t()V\t\t\tclass-initialized\n",
                "nonsense\n",
            ],
            0..4,
        );
        let classes = prop::sample::select(vec!["A\tA\n", "A\t\tx\tI\tvolatile\n", "A", ""]);
        (prop::collection::vec(word, 0..40), 0..3_u64, sites, classes).prop_map(
            |(words, sequence, sites, classes)| {
                let size = (CHUNK_HEADER + 8 * words.len()) as u64;
                let head = [size << 32 | u64::from(CHUNK_MARK), 1, sequence];
                let mut arena = ARENA_MARK.to_vec();
                arena.extend(head.iter().chain(&words).flat_map(|word| word.to_le_bytes()));
                let arenas = vec![("arena-0000".to_owned(), arena)];
                Files {
                    arenas,
                    sites: sites.concat().into(),
                    classes: classes.into(),
                    names: b"class\t1\t[I\nthread\t1\tmain\n".to_vec(),
                    log: Vec::new(),
                }
            },
        )
    }

    proptest! {
        /// Every event that is delivered names things that the tables have.
        #[test]
        fn nothing_panics(files in files()) {
            let mut session = Session::new(&files);
            let mut batch = Vec::new();
            session.next_batch(&mut batch).unwrap();
            let tables = session.tables();
            for event in &batch {
                let _ = tables.text(tables.threads[event.thread].name);
                if let crate::Sites::Known(sites) = &tables.sites {
                    let _ = tables.methods[sites[event.site].method];
                }
                if let crate::Operation::Read(it) | crate::Operation::Write(it) = event.operation {
                    let _ = tables.variables[it];
                }
            }
        }
    }

    #[test]
    fn other_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(open(folder.path()), Err(TraceError::NoTrace { .. })));
        fs::write(folder.path().join(MARK_FILE), "unsnarl session 7\n").unwrap();
        assert!(matches!(open(folder.path()), Err(TraceError::NoTrace { .. })));
    }

    #[test]
    fn damage_is_told_and_the_rest_is_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(MARK_FILE), MARK).unwrap();
        fs::write(folder.path().join(SITES_FILE), "1\tA\tm\t()V\t\t\tmonitor\n2\tA\tm").unwrap();
        fs::write(folder.path().join("arena-0000"), "nonsense").unwrap();
        fs::write(folder.path().join(LOG_FILE), "loaded\nrecording\nthe disk is full\n").unwrap();
        let mut session = open(folder.path()).unwrap();
        assert_eq!(session.problems().count(), 3, "{:?}", session.problems());
        let mut batch = Vec::new();
        session.next_batch(&mut batch).unwrap();
        assert!(batch.is_empty());
    }
}
