//! What each dynamic detector costs: events in a second of processor time beside reading, and memory for a variable, as the
//! number of threads grows.

use std::path::Path;
use std::process::Command;

use unsnarl_detect_dynamic::DETECTORS;
use unsnarl_replay::open;
use unsnarl_trace_analysis::Options;

use crate::measure::{own_memory, own_time};
use crate::traces::{Shape, generate};

const THREADS: [usize; 3] = [8, 64, 1024];
const VARIABLES: usize = 20_000;
const EVENTS: usize = 1_000_000;
/// Stands for no detector.
const NOTHING: &str = "nothing";

/// Prints a row for each detector.
pub(crate) fn run() -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    println!(
        "a million events of threads that lock what they share, {VARIABLES} variables: million events in a second of \
         processor time, bytes for a variable"
    );
    println!("{:<26} {}", "detector", THREADS.map(|count| format!("{count:>20}")).concat());
    let mut traces = Vec::new();
    for threads in THREADS {
        let path = folder.path().join(format!("{threads}.std"));
        let shape = Shape { threads, locks: 64, variables: VARIABLES, racy: 0 };
        generate(shape, EVENTS, &path).map_err(|error| error.to_string())?;
        let alone = in_a_process(NOTHING, &path)?;
        traces.push((path, alone));
    }
    for entry in &DETECTORS {
        let mut row = String::new();
        for (path, (time_alone, memory_alone)) in &traces {
            let (time, memory) = in_a_process(entry.name, path)?;
            let rate = EVENTS as f64 / (time - time_alone).max(0.01) / 1e6;
            let bytes = (memory - memory_alone).max(0.0) / VARIABLES as f64;
            row += &format!("{rate:>12.1} {bytes:>7.0}");
        }
        println!("{:<26} {row}", entry.name);
    }
    Ok(())
}

/// Processor time in seconds and memory in bytes of a detector, or of reading alone.
fn in_a_process(detector: &str, trace: &Path) -> Result<(f64, f64), String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(own);
    let output = command.args(["detector", detector]).arg(trace).output();
    let output = output.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut numbers = text.split_whitespace().map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(time)), Some(Ok(memory))) => Ok((time, memory)),
        _ => Err(format!("{detector}: {text}")),
    }
}

/// Runs one detector in this process and prints what it took.
pub(crate) fn print_one(name: &str, trace: &str) -> Result<(), String> {
    let mut source = open(Path::new(trace)).map_err(|error| error.to_string())?;
    let entry = DETECTORS.iter().find(|entry| entry.name == name);
    if entry.is_none() && name != NOTHING {
        return Err(format!("there is no detector {name}"));
    }
    let mut detector = entry.map(|entry| (entry.make)(&Options::default()));
    let (mut batch, mut flagged) = (Vec::new(), Vec::new());
    loop {
        source.next_batch(&mut batch).map_err(|error| error.to_string())?;
        if batch.is_empty() {
            break;
        }
        if let Some(detector) = &mut detector {
            detector.on_batch(&batch, source.tables(), &mut flagged);
            flagged.clear();
        }
    }
    let memory = own_memory().ok_or("this system does not tell about memory")?;
    println!("{} {memory}", own_time());
    Ok(())
}
