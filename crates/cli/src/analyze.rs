//! `unsnarl analyze`: the dynamic detectors on recorded traces.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::bail;
use unsnarl_detect_dynamic::{DetectorEntry, RacingEvent};
use unsnarl_events::{self as trace, Tables};
use unsnarl_findings::Frame;

use crate::ExitStatus;
use crate::accept::judged;
use crate::args::{AnalyzeArguments, TraceReportFormat};
use crate::dynamic::{self, Analyzed};
use crate::joining;
use crate::output::Output;
use crate::progress::Phases;
use crate::report;
use crate::sources;

/// Runs the command.
pub(crate) fn run(arguments: &AnalyzeArguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let started = Instant::now();
    let mut phases = Phases::new(output.shows_progress());
    let joined = joining::read(&arguments.joined.with)?;
    let mut all = Analyzed::default();
    let mut failures = Vec::new();
    let traces = dynamic::sessions(&arguments.traces);
    for path in &traces {
        phases.enter(&format!("traces: {}", path.display()));
        if let Err(error) = analyze(path, arguments, &mut all, output)? {
            failures.push(error.to_string());
        }
    }
    phases.finish();
    if failures.len() == traces.len() {
        bail!("nothing to look at: {}", failures.join("; "));
    }
    let seconds = started.elapsed().as_secs_f64();
    output.detail(&format!("{:.0} events per second", all.count("events") as f64 / seconds));
    joining::join(&mut all, joined);
    let was_looked_for = dynamic::rules(&arguments.detectors);
    let report = all.report(failures, seconds);
    let sources = sources::find(report.findings(), &arguments.source.source, &[], output)?;
    let report = judged(report, &arguments.accepted, &sources, was_looked_for)?;
    if let Some(format) = arguments.format.of_report() {
        let shows_suppressed = arguments.accepted.show_suppressed;
        report::write(&report, format, &sources, shows_suppressed, output)?;
    }
    if arguments.format != TraceReportFormat::Text {
        report.notes.iter().for_each(|note| output.warn(note));
    }
    let fails = report.worst().is_some_and(|worst| arguments.fail_on.is_reached_by(worst));
    Ok(if fails { ExitStatus::Findings } else { ExitStatus::Clean })
}

/// Reads one trace and shows it to the detectors. The inner error says why the trace could not be
/// read; what was read before is analysed nevertheless.
fn analyze(
    path: &Path,
    arguments: &AnalyzeArguments,
    all: &mut Analyzed,
    output: &mut Output,
) -> anyhow::Result<Result<(), trace::TraceError>> {
    let mut source = match trace::open(path) {
        Ok(source) => source,
        Err(error) => return Ok(Err(error)),
    };
    let name = trace_name(path, &arguments.traces);
    let detectors = dynamic::detectors(&arguments.detectors);
    all.add_trace(&path.display().to_string(), &mut *source, detectors, |entry, racing, tables| {
        match arguments.format {
            TraceReportFormat::Tsv => write_lines(&name, entry, racing, tables, output.result()),
            _ => Ok(()),
        }
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

/// A line for every racing event.
fn write_lines(
    trace: &str,
    entry: &DetectorEntry,
    racing: &[RacingEvent],
    tables: &Tables,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    for event in racing {
        let location = match event.frame(tables) {
            Frame::Location(number) => number.to_string(),
            code => field(&code.to_string()),
        };
        let variable = field(&event.variable(tables).to_string());
        writeln!(out, "{}\t{}\t{location}\t{variable}", field(trace), entry.name)?;
    }
    Ok(())
}

/// The text without what would break a line of fields.
fn field(text: &str) -> String {
    text.replace(|character: char| character.is_control(), " ")
}
