//! The reader of a session: of one whose program has ended, and of one that grows.
//!
//! Threads are merged by the numbers of their synchronization. A number is delivered when all before it
//! were, so that the order does not depend on when the reader looks.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use unsnarl_events::{Event, Filter, Filters, Problem, Problems, Source, Tables, TraceError};
use unsnarl_models::Models;
use unsnarl_recording::chunks::{Numbered, RawEvent};
use unsnarl_recording::format::{
    ENDED_IN_LOG, EXACT_FILE, FILTERS_FILE, Kind, LOG_FILE, NOTHING_RECORDED_IN_LOG,
    STARTED_IN_LOG, USUAL_IN_LOG, living_file, models_file,
};
use unsnarl_recording::storage::{Files, Storage};

use super::order::Order;
use super::stream::Stream;
use super::tail::TableReader;
use super::translate::{Descriptions, Translator};

/// How many events a batch has at least, if there are so many.
const BATCH: usize = 4096;
/// From so many threads on they are looked at together.
const MANY_THREADS: usize = 64;
/// How long the reader of a growing session waits until it looks again: first, and at most.
const SHORTEST_WAIT: Duration = Duration::from_micros(100);
const LONGEST_WAIT: Duration = Duration::from_millis(10);
/// How long a number may be missing while the program runs and others are there. A thread takes a number and
/// writes it in the next instant; only one that failed in between never does.
const LOST_AFTER: Duration = Duration::from_secs(30);

/// The models that come with Unsnarl; they are read once.
static MODELS: LazyLock<Arc<Models>> = LazyLock::new(|| Arc::new(Models::builtin()));

/// Opens the folder of a session whose program has ended.
///
/// # Errors
/// When it is not the folder of a session, or cannot be read. A table or arena that is damaged is reported
/// by [`Source::problems`] and read as far as it goes.
pub fn open(folder: &Path) -> Result<Session, TraceError> {
    let mut problems = Problems::default();
    let storage = Storage::open(folder, false, &mut problems)?;
    Ok(Session::from_storage(storage, problems))
}

/// Opens the folder of a session whose program may still run. [`Source::next_batch`] waits for more until the
/// program ends or `stop` is set.
///
/// # Errors
/// As [`open`].
pub fn follow(folder: &Path, stop: Arc<AtomicBool>) -> Result<Session, TraceError> {
    let mut problems = Problems::default();
    let storage = Storage::open(folder, true, &mut problems)?;
    let mut session = Session::from_storage(storage, problems);
    session.stop = stop;
    Ok(session)
}

/// A session that is being read.
#[derive(Debug)]
pub struct Session {
    storage: Storage,
    stop: Arc<AtomicBool>,
    tables: TableReader,
    streams: Vec<Stream>,
    by_thread: FxHashMap<u64, usize>,
    /// The next number of every stream that has one in memory.
    ready: Order,
    /// The streams that have none and may get some; the last that were active are at the end.
    waiting: Vec<usize>,
    /// Streams whose last events, after their last number, are still to be delivered.
    unfinished: Option<std::vec::IntoIter<usize>>,
    /// Whether events were read that the descriptions may not know.
    has_new_events: bool,
    translator: Translator,
    problems: Problems,
    is_exact: bool,
    filters: Filters,
    /// Whether the last step has forgotten variables: their ids come again in another batch.
    has_forgotten: bool,
}

impl Session {
    /// Reads what is in the files. Whatever they hold, there is a session; what had to be skipped is reported
    /// by [`Source::problems`].
    #[must_use]
    pub fn new(files: Files) -> Self {
        Self::from_storage(Storage::Memory(files), Problems::default())
    }

    fn from_storage(storage: Storage, mut problems: Problems) -> Self {
        let models = models(&storage, &mut problems);
        let is_exact = storage.text(EXACT_FILE).is_some();
        let filters = storage.text(FILTERS_FILE).unwrap_or_default();
        let filters = filters.lines().filter_map(Filter::named).collect();
        Self {
            has_forgotten: false,
            is_exact,
            filters,
            storage,
            stop: Arc::default(),
            tables: TableReader::new(),
            streams: Vec::new(),
            by_thread: FxHashMap::default(),
            ready: Order::new(),
            waiting: Vec::new(),
            unfinished: None,
            has_new_events: false,
            translator: Translator::new(Descriptions::default(), models, is_exact),
            problems,
        }
    }

    /// Delivers the events of one thread up to its next number, or after its last. False if there is
    /// nothing to deliver, now or for ever.
    fn step(&mut self, batch: &mut Vec<Event>) -> bool {
        loop {
            if let Some(stream) = self.ready.next() {
                if !self.has_outcome(stream) && self.storage.is_growing() {
                    return false;
                }
                self.ready.take();
                self.deliver(stream, batch);
                match self.streams[stream].next_numbered() {
                    Some(next) => self.ready.add(next.number, stream),
                    None => self.waiting.push(stream),
                }
                return true;
            }
            if self.look() {
                continue;
            }
            if self.storage.is_growing() {
                return false;
            }
            // The program has ended: what is missing was never written.
            if self.ready.skip_to_first() {
                continue;
            }
            if self.unfinished.is_none() {
                self.end();
            }
            let Some(stream) = self.unfinished.as_mut().and_then(Iterator::next) else {
                return false;
            };
            self.deliver(stream, batch);
            return true;
        }
    }

    fn deliver(&mut self, stream: usize, batch: &mut Vec<Event>) {
        let Self { tables, storage, streams, translator, problems, .. } = self;
        if std::mem::take(&mut self.has_new_events) {
            tables.descriptions(storage, translator.descriptions(), problems);
        }
        let stream = &mut streams[stream];
        let thread = stream.thread;
        let (events, later) = stream.take();
        match translator.translate_all(thread, events, later, batch, problems) {
            Some(RawEvent { kind: Kind::SweepBegins, .. }) => translator.sweep_begins(),
            Some(RawEvent { kind: Kind::SweepEnds, words: [_, number], .. }) => {
                self.forget(thread, number, batch);
            }
            _ => {}
        }
    }

    /// Forgets what is not on the list of living objects, and not in an event that is still to be delivered.
    fn forget(&mut self, thread: u64, list: u64, batch: &mut Vec<Event>) {
        let mut living = match self.storage.living(list) {
            Ok(living) => living,
            Err(error) => {
                return self.problems.add(|| Problem {
                    place: living_file(list),
                    expected: "a list of objects",
                    found: error.to_string(),
                });
            }
        };
        // What was done until then has been written, but its place in the order may be later.
        let Self { storage, streams, waiting, problems, .. } = self;
        for &stream in waiting.iter() {
            self.has_new_events |= streams[stream].fill(storage, problems);
        }
        for stream in streams {
            for event in stream.not_taken() {
                living.extend(event.words);
            }
        }
        let before = batch.len();
        self.translator.sweep_ends(thread, &living, batch);
        self.has_forgotten = batch.len() > before;
    }

    /// Whether it is known how the call ends with whose beginning a stream goes on, if it is one and what it does
    /// depends on that.
    fn has_outcome(&mut self, stream: usize) -> bool {
        let is_call = |next: &Numbered| next.kind == Kind::CallBegins;
        if !self.streams[stream].next_numbered().as_ref().is_some_and(is_call) {
            return true;
        }
        self.call_has_outcome(stream)
    }

    #[inline(never)]
    fn call_has_outcome(&mut self, stream: usize) -> bool {
        let thread = self.streams[stream].thread;
        let Some((RawEvent { site, .. }, _)) = self.streams[stream].next_and_after() else {
            return true;
        };
        if std::mem::take(&mut self.has_new_events) {
            let Self { tables, storage, translator, problems, .. } = self;
            tables.descriptions(storage, translator.descriptions(), problems);
        }
        if !self.translator.depends_on_outcome(site) {
            return true;
        }
        loop {
            let following = self.streams[stream].next_and_after();
            if following.is_none_or(|(_, after)| self.translator.is_decided(thread, after)) {
                return true;
            }
            self.add_chunks();
            let Self { storage, problems, .. } = self;
            if !self.streams[stream].read_more(storage, problems) {
                return false;
            }
            self.has_new_events = true;
        }
    }

    /// Learns of new chunks.
    fn add_chunks(&mut self) {
        let Self { storage, tables, streams, by_thread, waiting, problems, .. } = self;
        tables.chunks(storage, problems, |place, problems| {
            let stream = *by_thread.entry(place.thread).or_insert_with(|| {
                streams.push(Stream::new(place.thread));
                streams.len() - 1
            });
            if streams[stream].is_done() {
                waiting.push(stream);
            }
            streams[stream].add(place, problems);
        });
    }

    /// Reads on in the threads that wait, until the expected number is there. Whether it is, or may be.
    fn look(&mut self) -> bool {
        self.add_chunks();
        let Self { storage, streams, waiting, ready, problems, .. } = self;
        // With many threads one look at all of them is worth more than many that end early.
        let ends_early = !storage.is_growing() || waiting.len() < MANY_THREADS;
        let mut found = false;
        for position in (0..waiting.len()).rev() {
            let stream = waiting[position];
            self.has_new_events |= streams[stream].fill(storage, problems);
            if let Some(Numbered { number, .. }) = streams[stream].next_numbered() {
                waiting.swap_remove(position);
                ready.add(number, stream);
                found |= number <= ready.expected();
                if found && ends_early {
                    break;
                }
            } else if streams[stream].is_done() {
                waiting.swap_remove(position);
            }
        }
        found
    }

    /// Waits for a growing session. Whether there may be more.
    fn wait(&mut self, wait: &mut Duration, since: Instant) -> bool {
        if !self.storage.is_growing() {
            return false;
        }
        if self.stop.load(Ordering::Relaxed) {
            self.storage.stop_growing();
            return true;
        }
        // Something else kept the next one from being delivered if it is there.
        if self.ready.next().is_none()
            && since.elapsed() > LOST_AFTER
            && self.ready.first().is_some()
        {
            self.problems.add(|| Problem {
                place: format!("number {}", self.ready.expected()),
                expected: "synchronization with this number",
                found: format!("none for {} seconds", LOST_AFTER.as_secs()),
            });
            return self.ready.skip_to_first();
        }
        std::thread::sleep(*wait);
        *wait = (*wait * 2).min(LONGEST_WAIT);
        if *wait == LONGEST_WAIT {
            self.storage.check_program();
        }
        true
    }

    /// Nothing more will be written.
    fn end(&mut self) {
        let Self { tables, storage, translator, problems, .. } = self;
        tables.descriptions(storage, translator.descriptions(), problems);
        tables.stacks(storage, problems, |stack| translator.add_stack(&stack));
        let mut log = Vec::new();
        match self.storage.table(LOG_FILE, 0, &mut log) {
            Ok(()) => {
                lost(&log, &mut self.problems);
                if has_ended(&log) {
                    self.tables.finish(&mut self.problems);
                }
            }
            Err(error) => self.problems.add(|| Problem {
                place: LOG_FILE.to_owned(),
                expected: "what the agent said",
                found: error.to_string(),
            }),
        }
        let mut streams = std::mem::take(&mut self.waiting);
        streams.sort_by_key(|&stream| self.streams[stream].thread);
        self.unfinished = Some(streams.into_iter());
    }
}

impl Source for Session {
    fn next_batch(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError> {
        batch.clear();
        let (mut wait, since) = (SHORTEST_WAIT, Instant::now());
        loop {
            self.has_forgotten = false;
            while batch.len() < BATCH && !self.has_forgotten && self.step(batch) {}
            if !batch.is_empty() || !self.wait(&mut wait, since) {
                return Ok(());
            }
        }
    }

    fn keep_elements(&mut self) {
        self.translator.keep_elements();
    }

    fn report_retired(&mut self) {
        self.translator.report_retired();
    }

    fn tables(&self) -> &Tables {
        self.translator.tables()
    }

    fn problems(&self) -> &Problems {
        &self.problems
    }

    fn is_exact(&self) -> bool {
        self.is_exact
    }

    fn filters(&self) -> Filters {
        self.filters
    }
}

/// The models of a session: those that are built in, and those that it was recorded with.
fn models(storage: &Storage, problems: &mut Problems) -> Arc<Models> {
    let mut models = Arc::clone(&MODELS);
    for number in 0.. {
        let name = models_file(number);
        let Some(text) = storage.text(&name) else { break };
        if let Err(error) = Arc::make_mut(&mut models).extend(&name, &text) {
            problems.add(|| Problem { place: name, expected: "models", found: error.to_string() });
        }
    }
    models
}

/// Whether the program ended by itself. One that was killed may have left a line without an end: no event names what that
/// describes yet.
fn has_ended(log: &[u8]) -> bool {
    log.split(|&byte| byte == b'\n').any(|line| line == ENDED_IN_LOG.as_bytes())
}

/// Whether the JVM of a session came to load a class of its program, as far as the agent can know. A JVM that finds no
/// main class ends before.
#[must_use]
pub fn program_started(session: &Path) -> bool {
    // Without a log nothing is known.
    let Ok(log) = std::fs::read(session.join(LOG_FILE)) else { return true };
    log.split(|&byte| byte == b'\n').any(|line| {
        line == STARTED_IN_LOG.as_bytes() || line.starts_with(NOTHING_RECORDED_IN_LOG.as_bytes())
    })
}

/// Other lines of the log than the usual say what was not recorded.
fn lost(log: &[u8], problems: &mut Problems) {
    let log = String::from_utf8_lossy(log);
    for line in log.lines().filter(|line| !USUAL_IN_LOG.contains(line)) {
        problems.add_lost(line);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;
    use unsnarl_events::Operation;
    use unsnarl_recording::chunks::{RawEvent, write};
    use unsnarl_recording::format::{CHUNKS_FILE, MARK, MARK_FILE, SITES_FILE, arena_file};

    fn all(session: &mut Session) -> Vec<Event> {
        let (mut events, mut batch) = (Vec::new(), Vec::new());
        loop {
            session.next_batch(&mut batch).unwrap();
            if batch.is_empty() {
                return events;
            }
            events.append(&mut batch);
        }
    }

    /// Threads to which numbered and other events were dealt out, in chunks of two events.
    fn dealt(deal: &[(usize, bool)]) -> Vec<(u64, u64, Vec<RawEvent>)> {
        let mut chunks: Vec<(u64, u64, Vec<RawEvent>)> = Vec::new();
        for (number, &(thread, is_numbered)) in deal.iter().enumerate() {
            let kind = if is_numbered { Kind::NumberedStaticWrite } else { Kind::StaticWrite };
            let event = RawEvent {
                kind,
                site: 1,
                words: [if is_numbered { number as u64 + 1 } else { 0 }, 0],
            };
            let thread = thread as u64 + 1;
            match chunks.iter_mut().rfind(|chunk| chunk.0 == thread) {
                Some(chunk) if chunk.2.len() < 2 => chunk.2.push(event),
                last => {
                    let sequence = last.map_or(0, |last| last.1 + 1);
                    chunks.push((thread, sequence, vec![event]));
                }
            }
        }
        chunks
    }

    const SITE: &str = "1\tA\tm\t()V\tA.java\t3\tfield\tA\tx\tI\tplain\n";

    proptest! {
        #[test]
        fn the_order_is_one_that_the_threads_and_the_numbers_allow(
            deal in prop::collection::vec((0..3_usize, any::<bool>()), 0..30)
        ) {
            let (arena, chunks) = write::arena(&dealt(&deal), 1);
            let files =
                Files { arenas: vec![arena], chunks, sites: SITE.into(), ..Files::default() };
            let mut session = Session::new(files);
            let events = all(&mut session);
            prop_assert_eq!(session.problems().count(), 0);
            prop_assert_eq!(events.len(), deal.len());
            let names: Vec<String> = events.iter().map(|event| {
                let tables = session.tables();
                tables.text(tables.threads[event.thread].name).into_owned()
            }).collect();
            // Numbered events come in the order of the deal; what is not numbered stands between the
            // numbered ones of its thread.
            let mut expected: Vec<String> = Vec::new();
            let mut held: [Vec<String>; 3] = Default::default();
            for &(thread, is_numbered) in &deal {
                held[thread].push(format!("thread {}", thread + 1));
                if is_numbered {
                    expected.append(&mut held[thread]);
                }
            }
            expected.extend(held.into_iter().flatten());
            prop_assert_eq!(names, expected);
        }
    }

    /// An arena in which every word is an event of some kind, and tables that fit or do not.
    fn files() -> impl Strategy<Value = Files> {
        let kind = || any::<u8>().prop_filter_map("a kind", Kind::from_number);
        let event = (kind(), 0..4_u32, prop::array::uniform2(0..6_u64)).prop_map(
            |(kind, site, mut words)| {
                words[kind.words()..].fill(0);
                RawEvent { kind, site, words }
            },
        );
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
        (prop::collection::vec(event, 0..40), 0..3_u64, sites, classes).prop_map(
            |(events, sequence, sites, classes)| {
                let (arena, chunks) = write::arena(&[(1, sequence, events)], 0);
                Files {
                    arenas: vec![arena],
                    chunks,
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
            let mut session = Session::new(files);
            let events = all(&mut session);
            let tables = session.tables();
            for event in &events {
                let _ = tables.text(tables.threads[event.thread].name);
                if let unsnarl_events::Sites::Known(sites) = &tables.sites {
                    let _ = tables.methods[sites[event.site].method];
                }
                if let Operation::Read(it) | Operation::Write(it) = event.operation {
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
    fn damage_is_reported_and_the_rest_is_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(MARK_FILE), MARK).unwrap();
        fs::write(folder.path().join(SITES_FILE), [SITE, "2\tA\tm"].concat()).unwrap();
        let (arena, chunks) = write::arena(&dealt(&[(0, true), (0, true), (0, true)]), 0);
        let arena = [&arena[..8 + 24 + 16], &[99; 8], &arena[8 + 24 + 24..]].concat();
        fs::write(folder.path().join(arena_file(0)), arena).unwrap();
        fs::write(folder.path().join(CHUNKS_FILE), [&chunks[..], &[1; 32]].concat()).unwrap();
        // A program that was killed may have left the last line of a table without its end.
        for (end, problems) in [("", 2), ("the program has ended\n", 3)] {
            let log = ["loaded\nrecording\nthe disk is full\n", end].concat();
            fs::write(folder.path().join(LOG_FILE), log).unwrap();
            let mut session = open(folder.path()).unwrap();
            assert_eq!(all(&mut session).len(), 2);
            assert_eq!(session.problems().count(), problems, "{:?}", session.problems());
            assert_eq!(session.problems().lost(), ["the disk is full"]);
        }
    }

    /// An empty batch means the end: none must come of a sweep that finds all alive.
    #[test]
    fn what_follows_a_sweep_without_dead_objects_is_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(MARK_FILE), MARK).unwrap();
        fs::write(folder.path().join(SITES_FILE), SITE).unwrap();
        fs::write(folder.path().join(living_file(1)), "").unwrap();
        let kinds = [Kind::SweepBegins, Kind::SweepEnds, Kind::NumberedStaticWrite];
        let events = kinds.into_iter().zip(1..);
        let events =
            events.map(|(kind, number)| RawEvent { kind, site: 1, words: [number, 1] }).collect();
        let (arena, chunks) = write::arena(&[(1, 0, events)], 0);
        fs::write(folder.path().join(arena_file(0)), arena).unwrap();
        fs::write(folder.path().join(CHUNKS_FILE), chunks).unwrap();
        let mut session = open(folder.path()).unwrap();
        assert_eq!(all(&mut session).len(), 1);
        assert_eq!(session.problems().count(), 0, "{:?}", session.problems());
    }

    /// A session is read while it is written, word by word; the order is that of the whole.
    #[test]
    fn a_growing_session_is_followed() {
        let deal: Vec<_> = (0..40).map(|index| (index * 7 % 3, index % 3 != 0)).collect();
        let (arena, chunks) = write::arena(&dealt(&deal), 1);
        let whole = {
            let files = Files {
                arenas: vec![arena.clone()],
                chunks: chunks.clone(),
                sites: SITE.into(),
                ..Files::default()
            };
            all(&mut Session::new(files))
        };

        let folder = tempfile::tempdir().unwrap();
        let mark = fs::File::create(folder.path().join(MARK_FILE)).unwrap();
        std::io::Write::write_all(&mut &mark, MARK.as_bytes()).unwrap();
        mark.lock().unwrap();
        fs::write(folder.path().join(SITES_FILE), SITE).unwrap();
        let file = fs::File::create(folder.path().join(arena_file(0))).unwrap();
        file.set_len(arena.len() as u64).unwrap();
        // As the agent does, before it says that there is a session.
        let table = fs::File::create(folder.path().join(CHUNKS_FILE)).unwrap();
        let path = folder.path().to_owned();
        let reader = std::thread::spawn(move || {
            let mut session = follow(&path, Arc::default()).unwrap();
            (all(&mut session), session.problems().count())
        });
        use std::os::unix::fs::FileExt;
        for (index, record) in chunks.chunks(32).enumerate() {
            let place =
                unsnarl_recording::chunk_place::ChunkPlace::from_bytes(record.try_into().unwrap())
                    .unwrap();
            let (from, to) = (place.offset as usize, (place.offset + place.size) as usize);
            file.write_all_at(&arena[from..to], from as u64).unwrap();
            table.write_all_at(record, 32 * index as u64).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(mark);
        let (events, problems) = reader.join().unwrap();
        assert_eq!(events, whole);
        assert_eq!(problems, 0);
    }
}
