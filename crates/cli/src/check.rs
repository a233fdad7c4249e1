//! `unsnarl check`: the static detectors on a program or a library.

use std::time::Instant;

use unsnarl_detect_static::{self as detect_static, Checked};
use unsnarl_findings::{Finding, Report, Statistic, Tool, merge_all};
use unsnarl_program::MethodId;
use unsnarl_report::{json, text};
use unsnarl_symbolic::Execution;

use crate::ExitStatus;
use crate::analysis::{execute, is_thread};
use crate::args::{CheckArguments, FOUND_STATICALLY, ReportFormat};
use crate::output::Output;
use crate::progress::Phases;
use crate::session::{self, Session, failure_text};

/// Runs the command.
pub(crate) fn run(arguments: &CheckArguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let report = examine(arguments, output)?;
    match arguments.format {
        ReportFormat::Text => write_text(&report, output)?,
        ReportFormat::Json => json::write(&report, output.result())?,
    }
    let fails = report.worst().is_some_and(|worst| arguments.fail_on.is_reached_by(worst));
    Ok(if fails { ExitStatus::Findings } else { ExitStatus::Clean })
}

/// Writes the report for people.
pub(crate) fn write_text(report: &Report, output: &mut Output) -> anyhow::Result<()> {
    let styles = styles(output);
    Ok(text::write(report, &styles, output.result())?)
}

/// In colour or not.
pub(crate) fn styles(output: &Output) -> text::Styles {
    if output.coloured() { text::Styles::coloured() } else { text::Styles::plain() }
}

/// Analyses the program and judges it.
pub(crate) fn examine(arguments: &CheckArguments, output: &Output) -> anyhow::Result<Report> {
    let started = Instant::now();
    let mut phases = Phases::new(output.shows_progress());
    phases.enter("reading");
    let path = session::open(&arguments.inputs, &arguments.program)?;
    let models = session::models(&arguments.program)?;
    let mut session = Session::new(&arguments.inputs, &arguments.program, &path, &models);
    let classes = session.classes()?;
    let execution = execute(&mut session, &mut phases)?;
    phases.enter("detectors");
    let options = detect_static::Options { arrays: arguments.arrays };
    let checked = detect_static::check(&mut session.program, &execution, &options);
    phases.finish();

    let mut stats = stats(classes.len(), &execution, &checked);
    for (phase, seconds) in phases.seconds() {
        let name = format!("seconds_{}", phase.replace(' ', "_"));
        stats.push((name, Statistic::Seconds(*seconds)));
        output.detail(&format!("{phase} took {seconds:.2} s"));
    }
    stats.push(("seconds".to_owned(), Statistic::Seconds(started.elapsed().as_secs_f64())));
    let Checked { findings, notes, .. } = checked;
    let (findings, left_out) = chosen(findings, arguments);
    session.add_notes(notes);
    session.add_notes(left_out);
    if arguments.format == ReportFormat::Json {
        session.report_failures(output);
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let mut report = Report::new(Tool { name: "unsnarl".to_owned(), version }, findings);
    report.notes = session.failures().iter().map(failure_text).chain(session.notes()).collect();
    report.stats = stats.into_iter().map(|(name, value)| (name.into(), value)).collect();
    Ok(report)
}

/// The findings that `--rules` and `--min-confidence` let through, and notes on what they hold back.
fn chosen(findings: Vec<Finding>, arguments: &CheckArguments) -> (Vec<Finding>, Vec<String>) {
    let mut notes = Vec::new();
    let mut findings = merge_all(findings);
    if !arguments.rules.is_empty() {
        findings.retain(|finding| arguments.rules.contains(&finding.rule));
        for rule in arguments.rules.iter().filter(|rule| !FOUND_STATICALLY.contains(rule)) {
            notes.push(format!("no static detector finds {rule}: it was not looked for"));
        }
    }
    let all = findings.len();
    findings.retain(|finding| finding.confidence().probability() >= arguments.min_confidence);
    match all - findings.len() {
        0 => {}
        1 => notes.push("1 finding is less sure than --min-confidence and was left out".to_owned()),
        more => notes
            .push(format!("{more} findings are less sure than --min-confidence and were left out")),
    }
    (findings, notes)
}

/// How large the program was.
fn stats(classes: usize, execution: &Execution<'_>, checked: &Checked) -> Vec<(String, Statistic)> {
    let heap = &execution.heap;
    let mut methods: Vec<MethodId> =
        heap.instances.iter().map(|(_, instance)| instance.method).collect();
    methods.sort_unstable();
    methods.dedup();
    let threads = heap.origins.iter().filter(|(_, origin)| is_thread(origin.kind)).count();
    let counts = [
        ("classes", classes),
        ("methods", methods.len()),
        ("method_contexts", heap.instances.len()),
        ("threads", threads),
        ("objects", heap.objects.len()),
        ("events", execution.events.len()),
    ];
    let counts = counts.into_iter().map(|(name, count)| (name, count as u64));
    let counts = counts.chain(checked.stats.iter().copied());
    counts.map(|(name, count)| (name.to_owned(), Statistic::Count(count))).collect()
}
