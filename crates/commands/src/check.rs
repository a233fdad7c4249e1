//! `unsnarl check`: the static detectors on a program or a library.

use std::time::Instant;

use unsnarl_detect_static::{self as detect_static, Checked};
use unsnarl_findings::{Finding, Report, Rule, Statistic, merge_all};
use unsnarl_program::MethodId;
use unsnarl_symbolic::Execution;

use crate::ExitStatus;
use crate::accept::judged;
use crate::analysis::{execute, is_thread};
use crate::args::{CheckArguments, ReportFormat, is_found_statically};
use crate::output::Output;
use crate::progress::Phases;
use crate::report;
use crate::session::{self, Session, failure_text};
use crate::sources;

/// Runs the command.
pub(crate) fn run(arguments: &CheckArguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Examined { report, rules } = examine(arguments, output)?;
    let sources =
        sources::find(report.findings(), &arguments.source.source, &arguments.inputs, output)?;
    let was_looked_for = |rule| rules.contains(&rule);
    let report = judged(report, &arguments.accepted, &sources, was_looked_for)?;
    let shows_suppressed = arguments.accepted.show_suppressed;
    report::write(&report, arguments.format, &sources, shows_suppressed, output)?;
    let fails = report.worst().is_some_and(|worst| arguments.fail_on.is_reached_by(worst));
    Ok(if fails { ExitStatus::Findings } else { ExitStatus::Clean })
}

/// What a check has to say.
pub(crate) struct Examined {
    pub(crate) report: Report,
    /// The rules that were looked for.
    pub(crate) rules: Vec<Rule>,
}

/// Analyses the program and judges it.
pub(crate) fn examine(arguments: &CheckArguments, output: &Output) -> anyhow::Result<Examined> {
    let started = Instant::now();
    let mut phases = Phases::new(output.shows_progress());
    phases.enter("reading");
    let path = session::open(&arguments.inputs, &arguments.program)?;
    let models = session::models(&arguments.program.models)?;
    let mut session = Session::new(&arguments.inputs, &arguments.program, &path, &models);
    let classes = session.classes()?;
    let execution = execute(&mut session, &mut phases)?;
    phases.enter("detectors");
    let rules = arguments.rules.clone();
    let options = detect_static::Options {
        arrays: arguments.arrays,
        strict: arguments.strict,
        use_graphs: matches!(arguments.format, ReportFormat::Json | ReportFormat::Html),
        rules,
    };
    let checked = detect_static::check(&mut session.program, &models, &execution, &options);
    phases.finish();

    let mut stats = stats(classes.len(), &execution, &checked);
    for (phase, seconds) in phases.seconds() {
        let name = format!("seconds_{}", phase.replace(' ', "_"));
        stats.push((name, Statistic::Seconds(*seconds)));
        output.detail(&format!("{phase} took {seconds:.2} s"));
    }
    stats.push(("seconds".to_owned(), Statistic::Seconds(started.elapsed().as_secs_f64())));
    let Checked { findings, notes, rules, .. } = checked;
    let is_coarse = !execution.heap.widened.is_empty();
    let (findings, left_out) = chosen(findings, arguments, is_coarse);
    session.add_notes(notes);
    session.add_notes(left_out);
    if arguments.format != ReportFormat::Text {
        session.report_failures(output);
    }
    let mut report = Report::new(crate::tool(), findings);
    report.notes = session.failures().iter().map(failure_text).chain(session.notes()).collect();
    report.stats = stats.into_iter().map(|(name, value)| (name.into(), value)).collect();
    Ok(Examined { report, rules })
}

/// What is less sure is left out: a pattern was recognized that makes it harmless, or several.
const LEAST_CONFIDENCE: f64 = 0.05;

/// What is less sure is left out of the report on a program whose objects are told apart only roughly:
/// most of it is not true, and nobody reads a thousand findings.
const COARSE_CONFIDENCE: f64 = 0.25;

/// The findings that `--rules` and `--min-confidence` let through, and notes on what they hold back.
fn chosen(
    findings: Vec<Finding>,
    arguments: &CheckArguments,
    is_coarse: bool,
) -> (Vec<Finding>, Vec<String>) {
    let mut notes = Vec::new();
    let mut findings = merge_all(findings);
    if !arguments.rules.is_empty() {
        for rule in arguments.rules.iter().filter(|rule| !is_found_statically(**rule)) {
            notes.push(format!("no static detector finds {rule}: it was not looked for"));
        }
    }
    let all = findings.len();
    let default = if is_coarse { COARSE_CONFIDENCE } else { LEAST_CONFIDENCE };
    let least = arguments.min_confidence.unwrap_or(default);
    findings.retain(|finding| finding.confidence().probability() >= least);
    let left_out = match all - findings.len() {
        0 => return (findings, notes),
        1 => "1 finding is".to_owned(),
        more => format!("{more} findings are"),
    };
    notes.push(match arguments.min_confidence {
        Some(_) => format!("{left_out} less sure than --min-confidence and left out"),
        None if !is_coarse => format!(
            "{left_out} less sure than {LEAST_CONFIDENCE} and left out (--min-confidence 0 shows all)"
        ),
        None => format!(
            "{left_out} less sure than {COARSE_CONFIDENCE} and left out, for objects of so large a \
             program are told apart only roughly (--min-confidence 0 shows all)"
        ),
    });
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

#[cfg(test)]
mod tests {
    use clap::Parser;
    use unsnarl_findings::{Effect, Evidence, Heuristic, Subject, Variable};

    use super::*;
    use crate::args::{Arguments, Command};

    static DOUBT: Heuristic =
        Heuristic { name: "doubt", effect: Effect::lowers(2), sentence: "it may be otherwise" };

    fn arguments(words: &[&str]) -> CheckArguments {
        let words = ["unsnarl", "check", "a.jar"].iter().chain(words);
        match Arguments::parse_from(words).command {
            Command::Check(check) => check,
            _ => panic!("it says check"),
        }
    }

    fn findings() -> Vec<Finding> {
        let found = |field: &str, reasons| {
            let subject = Subject::variable(Variable::field("a.B", field));
            let evidence = Evidence::Suspected;
            let mut finding = Finding::new(
                Rule::DataRace,
                subject,
                evidence,
                "static/conflict",
                "so",
                Vec::new(),
            );
            finding.reasons = reasons;
            finding
        };
        vec![found("sure", Vec::new()), found("doubtful", vec![DOUBT.holds()])]
    }

    #[test]
    fn a_large_program_shows_what_is_sure_and_counts_the_rest() {
        let shown = |words: &[&str], is_coarse| chosen(findings(), &arguments(words), is_coarse);
        assert_eq!(shown(&[], false).0.len(), 2);
        let (findings, notes) = shown(&[], true);
        assert_eq!(findings.len(), 1);
        assert!(notes[0].starts_with("1 finding is less sure than 0.25 and left out"), "{notes:?}");
        let (findings, notes) = shown(&["--min-confidence", "0"], true);
        assert_eq!((findings.len(), notes.len()), (2, 0));
        let (findings, notes) = shown(&["--min-confidence", "0.9"], false);
        assert!(findings.is_empty());
        assert_eq!(notes, ["2 findings are less sure than --min-confidence and left out"]);
    }
}
