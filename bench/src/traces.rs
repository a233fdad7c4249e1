//! Reading traces, and the detectors on them.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use unsnarl_detect_dynamic::DETECTORS;
use unsnarl_entity::EntityId;
use unsnarl_events::std_text::StdWriter;
use unsnarl_events::{Event, LockId, Operation, SiteId, ThreadId, VariableId};
use unsnarl_replay::open;
use unsnarl_trace_analysis::Options;

use crate::measure::{own_memory, processor_of_three};
use crate::sessions::SessionWriter;

/// The programs whose traces are made: how many threads, locks and variables, and of a thousand
/// accesses how many are to variables of all threads without a lock.
const SHAPES: [(&str, Shape); 4] = [
    ("8 threads, locked", Shape { threads: 8, locks: 64, variables: 10_000, racy: 0 }),
    ("8 threads, racy", Shape { threads: 8, locks: 64, variables: 10_000, racy: 10 }),
    ("64 threads, locked", Shape { threads: 64, locks: 64, variables: 10_000, racy: 0 }),
    ("8 threads, 1 M variables", Shape { threads: 8, locks: 64, variables: 1_000_000, racy: 0 }),
];

#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) threads: usize,
    pub(crate) locks: usize,
    pub(crate) variables: usize,
    pub(crate) racy: usize,
}

/// Prints a row for each shape of trace, in both forms.
pub(crate) fn run(millions: &str) -> Result<(), String> {
    let millions: usize = millions.parse().map_err(|error| format!("{millions}: {error}"))?;
    let count = millions * 1_000_000;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    println!("traces of {millions} M events, processor time, best of three");
    println!(
        "{:<26} {:>8} {:>8} {:>12} {:>20} {:>8} {:>14}",
        "trace", "form", "MB", "read M/s", "happens-before M/s", "peer", "racing events"
    );
    for (name, shape) in SHAPES {
        let text = folder.path().join("trace.std");
        generate(shape, count, &text).map_err(|error| error.to_string())?;
        row(name, "STD", &text)?;
        let session = folder.path().join("session");
        generate_session(shape, count, &session).map_err(|error| error.to_string())?;
        row(name, "session", &session)?;
        std::fs::remove_dir_all(&session).map_err(|error| error.to_string())?;
    }
    if let Some(memory) = own_memory() {
        println!("memory after the last: {:.0} MB", memory as f64 / 1e6);
    }
    println!("peer: times the 0.5 M events/s of a Java analyzer on STD text on such a machine.");
    Ok(())
}

/// Prints a row for each recording.
pub(crate) fn recordings(folders: &[&str]) -> Result<(), String> {
    println!("processor time, best of three");
    for folder in folders {
        row(folder, "session", Path::new(folder))?;
    }
    Ok(())
}

fn row(name: &str, form: &str, path: &Path) -> Result<(), String> {
    let mut outcome = Ok((0, 0));
    let read = processor_of_three(|| outcome = analyze(path, false));
    let (events, _) = std::mem::replace(&mut outcome, Ok((0, 0)))?;
    let with_races = processor_of_three(|| outcome = analyze(path, true));
    let (_, racing) = outcome?;
    println!(
        "{name:<26} {form:>8} {:>8.0} {:>12.1} {:>20.1} {:>7.0}x {racing:>14}",
        size(path).map_err(|error| error.to_string())? as f64 / 1e6,
        events as f64 / read / 1e6,
        events as f64 / with_races / 1e6,
        events as f64 / with_races / PEER,
    );
    Ok(())
}

/// The bytes of a file, or of the files in a folder.
fn size(path: &Path) -> std::io::Result<u64> {
    if path.is_file() {
        return Ok(std::fs::metadata(path)?.len());
    }
    std::fs::read_dir(path)?.map(|entry| Ok(entry?.metadata()?.len())).sum()
}

/// What a Java analyzer of STD traces does in a second on this kind of machine.
const PEER: f64 = 0.5e6;

/// The number of events, and of those that race.
pub(crate) fn analyze(path: &Path, with_races: bool) -> Result<(u64, u64), String> {
    let mut source = open(path).map_err(|error| error.to_string())?;
    let mut detector = (DETECTORS[0].make)(&Options::default());
    if (DETECTORS[0].needs)(&Options::default()).array_ranges {
        source.keep_elements();
    }
    let mut batch = Vec::new();
    let (mut events, mut racing) = (0, 0);
    loop {
        source.next_batch(&mut batch).map_err(|error| error.to_string())?;
        if batch.is_empty() {
            return Ok((events, racing));
        }
        events += batch.len() as u64;
        if with_races {
            let mut flagged = Vec::new();
            detector.on_batch(&batch, source.tables(), &mut flagged);
            racing += flagged.len() as u64;
        }
    }
}

/// Writes a trace as text.
pub(crate) fn generate(shape: Shape, count: usize, path: &Path) -> std::io::Result<()> {
    let mut writer = StdWriter::new(BufWriter::with_capacity(1 << 20, File::create(path)?));
    take_turns(shape, count, |event| writer.write(event))?;
    writer.finish()?;
    Ok(())
}

/// Writes the same trace as an agent does, into a new folder.
fn generate_session(shape: Shape, count: usize, folder: &Path) -> std::io::Result<()> {
    let mut writer = SessionWriter::create(folder)?;
    take_turns(shape, count, |event| writer.write(event))?;
    writer.finish()
}

/// A trace in which threads take turns: each enters a lock, accesses variables that the lock guards and some of its own,
/// and leaves the lock.
fn take_turns(
    shape: Shape,
    count: usize,
    mut to: impl FnMut(&Event) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut random = Random(1);
    let mut written = 0;
    let per_lock = shape.variables / 2 / shape.locks;
    let per_thread = shape.variables / 2 / shape.threads;
    while written < count {
        let thread = random.below(shape.threads);
        let lock = random.below(shape.locks);
        let mut write = |operation| {
            written += 1;
            let site = SiteId::from_index(written % 5000);
            to(&Event { thread: ThreadId::from_index(thread), site, operation })
        };
        write(Operation::Acquire(LockId::from_index(lock)))?;
        for _ in 0..4 + random.below(8) {
            let variable = match random.below(3) {
                _ if random.below(1000) < shape.racy => random.below(shape.variables),
                0 => shape.variables / 2 + thread * per_thread + random.below(per_thread),
                _ => lock * per_lock + random.below(per_lock),
            };
            let variable = VariableId::from_index(variable);
            match random.below(4) {
                0 => write(Operation::Write(variable))?,
                _ => write(Operation::Read(variable))?,
            }
        }
        write(Operation::Release(LockId::from_index(lock)))?;
    }
    Ok(())
}

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        // Xorshift, after Marsaglia.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}
