//! `unsnarl analyze`: the dynamic detectors on recorded traces.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use unsnarl_detect_dynamic::{DetectorEntry, RacingEvent};
use unsnarl_trace::{self as trace, Tables};

use crate::dynamic::{self, Analyzed, DetectOptions};
use crate::error::CommandError;
use crate::feedback::{Feedback, Phases};
use crate::joining;
use crate::{ReviewOptions, Reviewed, review};

/// Which traces are analysed, and how.
#[derive(Clone, Debug, Default)]
pub struct AnalyzeOptions {
    /// The traces: recordings and files.
    pub traces: Vec<PathBuf>,
    /// What looks at them.
    pub detectors: DetectOptions,
    /// JSON reports whose findings are joined with those of the traces.
    pub with: Vec<PathBuf>,
}

/// Takes the racing events of a trace as a detector finds them, with the name of the trace.
pub type OnRacingEvents<'a> =
    dyn FnMut(&str, &DetectorEntry, &[RacingEvent], &Tables) -> io::Result<()> + 'a;

/// Runs the detectors on traces, and reviews what was found.
///
/// # Errors
/// If no trace can be read, if a file that the options name is wrong, or if `on_racing_events` fails.
pub fn analyze(
    options: &AnalyzeOptions,
    review_options: &ReviewOptions,
    feedback: &dyn Feedback,
    on_racing_events: &mut OnRacingEvents<'_>,
) -> Result<Reviewed, CommandError> {
    let started = Instant::now();
    let mut phases = Phases::new(feedback);
    let joined = joining::read(&options.with)?;
    let mut all = Analyzed::default();
    let mut failures = Vec::new();
    let traces = dynamic::sessions(&options.traces);
    for path in &traces {
        phases.enter(&format!("traces: {}", path.display()));
        if let Err(error) = analyze_trace(path, options, &mut all, on_racing_events)? {
            failures.push(error.to_string());
        }
    }
    phases.finish();
    if failures.len() == traces.len() {
        let failures = failures.join("; ");
        return Err(CommandError::failed(format!("nothing to look at: {failures}")));
    }
    let seconds = started.elapsed().as_secs_f64();
    feedback.detail(&format!("{:.0} events per second", all.count("events") as f64 / seconds));
    joining::join(&mut all, joined);
    let was_looked_for = dynamic::rules(&options.detectors);
    review(all.report(failures, seconds), &[], review_options, was_looked_for, feedback)
}

/// Runs the detectors on one trace. The inner error says why the trace could not be read; what was read before is
/// analysed nevertheless.
fn analyze_trace(
    path: &Path,
    options: &AnalyzeOptions,
    all: &mut Analyzed,
    on_racing_events: &mut OnRacingEvents<'_>,
) -> Result<Result<(), trace::TraceError>, CommandError> {
    let mut source = match trace::open(path) {
        Ok(source) => source,
        Err(error) => return Ok(Err(error)),
    };
    let name = trace_name(path, &options.traces);
    let detectors = dynamic::detectors(&options.detectors);
    all.add_trace(&path.display().to_string(), &mut *source, detectors, |entry, racing, tables| {
        on_racing_events(&name, entry, racing, tables)
    })
}

/// What a trace is called: its file name, or its path where another one has the same name.
fn trace_name(path: &Path, traces: &[PathBuf]) -> String {
    let is_alone = traces.iter().filter(|other| other.file_name() == path.file_name()).count() == 1;
    match path.file_name() {
        Some(name) if is_alone => name.to_string_lossy().into_owned(),
        _ => path.display().to_string(),
    }
}
