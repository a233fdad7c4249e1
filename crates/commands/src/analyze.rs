//! `unsnarl analyze`: the dynamic detectors on recorded traces.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use unsnarl_events::{Tables, TraceError};
use unsnarl_trace_analysis::{AnalysisEntry, Flagged, Pipeline, TraceReport};

use crate::dynamic::{self, DetectOptions};
use crate::error::CommandError;
use crate::feedback::{Feedback, Phases};
use crate::{ReviewOptions, Reviewed, joining, review};

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

/// Takes the events of a trace that a detector flags, batch by batch, with the name of the trace.
pub type OnFlagged<'a> =
    dyn FnMut(&str, &AnalysisEntry, &[Flagged], &Tables) -> io::Result<()> + 'a;

/// Runs the detectors on traces, and reviews what was found.
///
/// # Errors
/// If no trace can be read, if a file that the options name is wrong, or if `on_flagged` fails.
pub fn analyze(
    options: &AnalyzeOptions,
    review_options: &ReviewOptions,
    feedback: &dyn Feedback,
    on_flagged: &mut OnFlagged<'_>,
) -> Result<Reviewed, CommandError> {
    let started = Instant::now();
    let mut phases = Phases::new(feedback);
    let joined = joining::read(&options.with)?;
    let mut all = TraceReport::default();
    let mut failures = Vec::new();
    let pipeline = options.detectors.pipeline();
    let traces = dynamic::sessions(&options.traces);
    for path in &traces {
        phases.enter(&format!("traces: {}", path.display()));
        let name = trace_name(path, &options.traces);
        match analyze_trace(path, &name, &pipeline, on_flagged)? {
            Ok(report) => all.add_all(report),
            Err(error) => failures.push(error.to_string()),
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
    let was_looked_for = options.detectors.rules();
    review(dynamic::report(all, failures, seconds), &[], review_options, was_looked_for, feedback)
}

/// Runs the detectors on one trace. The inner error says why the trace could not be read; what was read before is
/// analysed nevertheless.
fn analyze_trace(
    path: &Path,
    name: &str,
    pipeline: &Pipeline,
    on_flagged: &mut OnFlagged<'_>,
) -> Result<Result<TraceReport, TraceError>, CommandError> {
    let mut source = match unsnarl_replay::open(path) {
        Ok(source) => source,
        Err(error) => return Ok(Err(error)),
    };
    let each = |entry: &AnalysisEntry, flagged: &[Flagged], tables: &Tables| {
        on_flagged(name, entry, flagged, tables)
    };
    Ok(pipeline.run(&path.display().to_string(), &mut *source, each)?)
}

/// What a trace is called: its file name, or its path where another one has the same name.
fn trace_name(path: &Path, traces: &[PathBuf]) -> String {
    let is_alone = traces.iter().filter(|other| other.file_name() == path.file_name()).count() == 1;
    match path.file_name() {
        Some(name) if is_alone => name.to_string_lossy().into_owned(),
        _ => path.display().to_string(),
    }
}
