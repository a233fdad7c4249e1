//! `unsnarl check`: the static detectors on a program or a library.

use std::path::PathBuf;
use std::time::Instant;

use unsnarl_detect_static::{self as detect_static, Checked};
use unsnarl_findings::{Finding, Report, Rule, Statistic, merge_all};
use unsnarl_program::MethodId;
use unsnarl_symbolic::Execution;

use crate::analysis::{execute, is_thread};
use crate::error::CommandError;
use crate::feedback::{Feedback, Phases};
use crate::session::{self, ProgramOptions, Session, failure_text};
use crate::{ReviewOptions, Reviewed, review};

/// What is checked, and for what.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Jars, folders and class files.
    pub inputs: Vec<PathBuf>,
    /// The program that they are part of.
    pub program: ProgramOptions,
    /// The rules to look for; all, if there are none.
    pub rules: Vec<Rule>,
    /// Whether elements of arrays are judged.
    pub arrays: bool,
    /// Whether every use of a stale value is reported, not only those that other threads may notice.
    pub strict: bool,
    /// The confidence from which on findings are reported; none for one that suits the program.
    pub min_confidence: Option<f64>,
    /// Whether findings carry the object use graphs that a page shows.
    pub use_graphs: bool,
    /// Whether what could not be read is a warning besides being a note of the report.
    pub warn_of_failures: bool,
}

impl CheckOptions {
    /// A check for all rules.
    #[must_use]
    pub fn new(inputs: Vec<PathBuf>, program: ProgramOptions) -> Self {
        Self {
            inputs,
            program,
            rules: Vec::new(),
            arrays: false,
            strict: false,
            min_confidence: None,
            use_graphs: false,
            warn_of_failures: false,
        }
    }
}

/// Checks a program and reviews what is found.
///
/// # Errors
/// If there is nothing to check, or a file that the options name is wrong.
pub fn check(
    options: &CheckOptions,
    review_options: &ReviewOptions,
    feedback: &dyn Feedback,
) -> Result<Reviewed, CommandError> {
    let Examined { report, rules } = examine(options, feedback)?;
    let was_looked_for = |rule| rules.contains(&rule);
    review(report, &options.inputs, review_options, was_looked_for, feedback)
}

/// What a check has found.
pub struct Examined {
    /// The findings.
    pub report: Report,
    /// The rules that were looked for.
    pub rules: Vec<Rule>,
}

/// Whether a rule has a static detector.
#[must_use]
pub fn is_found_statically(rule: Rule) -> bool {
    detect_static::DETECTORS.iter().any(|detector| detector.rule == rule)
}

/// Analyses the program and runs the detectors on it.
///
/// # Errors
/// If there is nothing to check, or a file of models is wrong.
pub fn examine(options: &CheckOptions, feedback: &dyn Feedback) -> Result<Examined, CommandError> {
    let started = Instant::now();
    let mut phases = Phases::new(feedback);
    phases.enter("reading");
    let path = session::open(&options.inputs, &options.program)?;
    let models = session::models(&options.program.models)?;
    let mut session = Session::new(&options.inputs, &options.program, &path, &models);
    let classes = session.classes()?;
    let execution = execute(&mut session, &mut phases)?;
    phases.enter("detectors");
    let detection = detect_static::Options {
        arrays: options.arrays,
        strict: options.strict,
        use_graphs: options.use_graphs,
        rules: options.rules.clone(),
    };
    let checked = detect_static::check(&mut session.program, &models, &execution, &detection);
    let seconds_of_phases = phases.finish();

    let mut stats = stats(classes.len(), &execution, &checked);
    for (phase, seconds) in seconds_of_phases {
        let name = format!("seconds_{}", phase.replace(' ', "_"));
        stats.push((name, Statistic::Seconds(seconds)));
        feedback.detail(&format!("{phase} took {seconds:.2} s"));
    }
    stats.push(("seconds".to_owned(), Statistic::Seconds(started.elapsed().as_secs_f64())));
    let Checked { findings, notes, rules, .. } = checked;
    let is_coarse = !execution.heap.widened.is_empty();
    let (findings, left_out) = chosen(findings, options, is_coarse);
    session.add_notes(notes);
    session.add_notes(left_out);
    if options.warn_of_failures {
        session.failure_messages().iter().for_each(|message| feedback.warn(message));
    }
    let mut report = Report::new(crate::tool(), findings);
    report.notes = session.failures().iter().map(failure_text).chain(session.notes()).collect();
    report.stats = stats.into_iter().map(|(name, value)| (name.into(), value)).collect();
    Ok(Examined { report, rules })
}

/// Findings below this confidence are left out: a pattern was recognized that makes them harmless, or several.
const LEAST_CONFIDENCE: f64 = 0.05;

/// Findings below this confidence are left out of the report on a program whose objects are distinguished only roughly:
/// most of them are not true, and nobody reads a thousand findings.
const COARSE_CONFIDENCE: f64 = 0.25;

/// The findings that `--rules` and `--min-confidence` let through, and notes on what they hold back.
fn chosen(
    findings: Vec<Finding>,
    options: &CheckOptions,
    is_coarse: bool,
) -> (Vec<Finding>, Vec<String>) {
    let mut notes = Vec::new();
    let mut findings = merge_all(findings);
    for rule in options.rules.iter().filter(|rule| !is_found_statically(**rule)) {
        notes.push(format!("no static detector finds {rule}: it was not looked for"));
    }
    let all = findings.len();
    let default = if is_coarse { COARSE_CONFIDENCE } else { LEAST_CONFIDENCE };
    let least = options.min_confidence.unwrap_or(default);
    findings.retain(|finding| finding.confidence().probability() >= least);
    let left_out = match all - findings.len() {
        0 => return (findings, notes),
        1 => "1 finding is".to_owned(),
        more => format!("{more} findings are"),
    };
    notes.push(match options.min_confidence {
        Some(_) => format!("{left_out} less sure than --min-confidence and left out"),
        None if !is_coarse => format!(
            "{left_out} less sure than {LEAST_CONFIDENCE} and left out (--min-confidence 0 shows all)"
        ),
        None => format!(
            "{left_out} less sure than {COARSE_CONFIDENCE} and left out, for objects of so large a \
             program are distinguished only roughly (--min-confidence 0 shows all)"
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
    use unsnarl_findings::{Effect, Evidence, Heuristic, Subject, Variable};

    use super::*;

    static DOUBT: Heuristic =
        Heuristic { name: "doubt", effect: Effect::lowers(2), sentence: "it may be otherwise" };

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
        let shown = |min_confidence, is_coarse| {
            let options = CheckOptions::new(Vec::new(), ProgramOptions::default());
            chosen(findings(), &CheckOptions { min_confidence, ..options }, is_coarse)
        };
        assert_eq!(shown(None, false).0.len(), 2);
        let (findings, notes) = shown(None, true);
        assert_eq!(findings.len(), 1);
        assert!(notes[0].starts_with("1 finding is less sure than 0.25 and left out"), "{notes:?}");
        let (findings, notes) = shown(Some(0.0), true);
        assert_eq!((findings.len(), notes.len()), (2, 0));
        let (findings, notes) = shown(Some(0.9), false);
        assert!(findings.is_empty());
        assert_eq!(notes, ["2 findings are less sure than --min-confidence and left out"]);
    }
}
