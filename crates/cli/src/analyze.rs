//! `unsnarl analyze`: the dynamic detectors on recorded traces.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::bail;
use unsnarl_detect_dynamic::{Checked, DETECTORS, Detector, DetectorEntry, RacingEvent};
use unsnarl_findings::{Finding, Frame, Report, Statistic, Tool};
use unsnarl_report::json;
use unsnarl_trace::{self as trace, Source, Tables};

use crate::ExitStatus;
use crate::args::{AnalyzeArguments, TraceReportFormat};
use crate::check::write_text;
use crate::output::Output;
use crate::progress::Phases;

/// Runs the command.
pub(crate) fn run(arguments: &AnalyzeArguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let started = Instant::now();
    let mut phases = Phases::new(output.shows_progress());
    let mut all = Analyzed::default();
    let mut failures = Vec::new();
    for path in &arguments.traces {
        phases.enter(&format!("traces: {}", path.display()));
        if let Err(error) = analyze(path, arguments, &mut all, output)? {
            failures.push(error.to_string());
        }
    }
    phases.finish();
    if failures.len() == arguments.traces.len() {
        bail!("nothing to look at: {}", failures.join("; "));
    }
    let seconds = started.elapsed().as_secs_f64();
    output.detail(&format!("{:.0} events per second", all.count("events") as f64 / seconds));
    let report = all.report(failures, seconds);
    match arguments.format {
        TraceReportFormat::Text => write_text(&report, output)?,
        TraceReportFormat::Json => json::write(&report, output.result())?,
        TraceReportFormat::Tsv => {}
    }
    if arguments.format != TraceReportFormat::Text {
        report.notes.iter().for_each(|note| output.warn(note));
    }
    let fails = report.worst().is_some_and(|worst| arguments.fail_on.is_reached_by(worst));
    Ok(if fails { ExitStatus::Findings } else { ExitStatus::Clean })
}

/// What came out of the traces so far.
#[derive(Default)]
struct Analyzed {
    findings: Vec<Finding>,
    notes: Vec<String>,
    counts: BTreeMap<&'static str, u64>,
}

impl Analyzed {
    fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    fn add(&mut self, name: &'static str, count: usize) {
        *self.counts.entry(name).or_default() += count as u64;
    }

    fn add_tables(&mut self, tables: &Tables) {
        self.add("traces", 1);
        self.add("threads", tables.threads.len());
        self.add("locks", tables.locks.len());
        self.add("variables", tables.variables.len());
    }

    fn add_checked(&mut self, checked: Checked) {
        self.findings.extend(checked.findings);
        for (name, count) in checked.stats {
            *self.counts.entry(name).or_default() += count;
        }
    }

    /// Tells what was skipped in a trace.
    fn add_problems(&mut self, path: &Path, source: &dyn Source) {
        let (path, problems) = (path.display(), source.problems());
        let first = problems.first();
        self.notes.extend(first.iter().map(|problem| format!("{path}: {problem} (skipped)")));
        let more = problems.count() - first.len() as u64;
        if more > 0 {
            self.notes.push(format!("{path}: {more} more such places were skipped"));
        }
    }

    fn report(self, failures: Vec<String>, seconds: f64) -> Report {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let tool = Tool { name: "unsnarl".to_owned(), version };
        let mut report = Report::new(tool, self.findings);
        report.notes = failures.into_iter().chain(self.notes).collect();
        let counts = self.counts.into_iter();
        report.stats = counts.map(|(name, count)| (name.into(), Statistic::Count(count))).collect();
        report.stats.insert("seconds".into(), Statistic::Seconds(seconds));
        report
    }
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
    let mut detectors: Vec<(&DetectorEntry, Box<dyn Detector>)> = DETECTORS
        .iter()
        .filter(|entry| {
            let chosen = &arguments.detect;
            chosen.is_empty() || chosen.iter().any(|chosen| chosen.name == entry.name)
        })
        .map(|entry| (entry, (entry.make)()))
        .collect();
    let name = trace_name(path, &arguments.traces);
    let mut batch = Vec::new();
    let mut events = 0;
    let outcome = loop {
        match source.next_batch(&mut batch) {
            Err(error) => break Err(error),
            Ok(()) if batch.is_empty() => break Ok(()),
            Ok(()) => {}
        }
        events += batch.len();
        for (entry, detector) in &mut detectors {
            detector.on_all(&batch, source.tables());
            let racing = detector.take_racing_events();
            if arguments.format == TraceReportFormat::Tsv {
                write_lines(&name, entry, &racing, source.tables(), output.result())?;
            }
        }
    };
    match outcome {
        Err(error) if events == 0 => return Ok(Err(error)),
        Err(error) => all.notes.push(error.to_string()),
        Ok(()) => {}
    }
    all.add("events", events);
    all.add_tables(source.tables());
    all.add_problems(path, &*source);
    for (_, detector) in detectors {
        all.add_checked(detector.finish(source.tables()));
    }
    Ok(Ok(()))
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
