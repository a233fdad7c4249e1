//! `unsnarl run --confirm`: whether a run shows each finding of an earlier report.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use unsnarl_findings::{Effect, Evidence, Finding, Frame, Heuristic, Reason, Rule};
use unsnarl_launch::{Launched, is_java};
use unsnarl_program::callgraph::Entries;
use unsnarl_trace_analysis::TraceReport;
use unsnarl_trace_analysis::executed::Places;

use crate::check::{self, CheckOptions};
use crate::error::CommandError;
use crate::feedback::Feedback;
use crate::joining;
use crate::run::RunOptions;
use crate::session::ProgramOptions;

static OBSERVED: Heuristic =
    Heuristic { name: "run-observed", effect: Effect::NONE, sentence: "it happened in this run" };
static PREDICTED: Heuristic = Heuristic {
    name: "run-predicted",
    effect: Effect::NONE,
    sentence: "this run shows that it can happen on another schedule",
};
static REACHED: Heuristic = Heuristic {
    name: "run-reached",
    effect: Effect::NONE,
    sentence: "this run came to its places and did not show it",
};
static NEVER_REACHED: Heuristic = Heuristic {
    name: "run-never-reached",
    effect: Effect::NONE,
    sentence: "this run did not come to all its places",
};

/// The verdicts with their names in the statistics, the strongest first.
static VERDICTS: [(&Heuristic, &str); 4] = [
    (&OBSERVED, "suspicions_observed"),
    (&PREDICTED, "suspicions_predicted"),
    (&REACHED, "suspicions_reached"),
    (&NEVER_REACHED, "suspicions_never_reached"),
];

/// Where the findings come from that a run is to confirm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Suspicions {
    /// From a check of what will run.
    Check,
    /// From a JSON report.
    File(PathBuf),
}

/// The findings that are to be confirmed; none if nothing is.
pub(crate) fn suspicions(
    options: &RunOptions,
    feedback: &dyn Feedback,
) -> Result<Vec<Finding>, CommandError> {
    match &options.confirm {
        None => Ok(Vec::new()),
        Some(Suspicions::File(file)) => joining::read(std::slice::from_ref(file)),
        Some(Suspicions::Check) => {
            let checked = check::examine(&check_of(options, "--confirm")?, feedback)?;
            Ok(checked.report.findings().to_vec())
        }
    }
}

/// A check of the classes that a command runs.
pub(crate) fn check_of(options: &RunOptions, option: &str) -> Result<CheckOptions, CommandError> {
    let program = &options.command[0];
    let launched = Launched::by(&options.command[1..]);
    if !is_java(program) || launched.class_path.is_empty() {
        return Err(CommandError::failed(format!(
            "{option} needs a FILE unless the command is a java with a class path or a jar"
        )));
    }
    let program = ProgramOptions {
        jdk: home_of(program),
        entries: match launched.main_class {
            Some(class) => Entries::Patterns(vec![format!("{class}.main")]),
            None => Entries::Main,
        },
        models: options.models.clone(),
        ..ProgramOptions::default()
    };
    Ok(CheckOptions::new(launched.class_path, program))
}

/// The JDK of a `java` that is named by its path.
fn home_of(java: &OsStr) -> Option<PathBuf> {
    let has_folder = Path::new(java).parent().is_some_and(|folder| folder != Path::new(""));
    let file = has_folder.then(|| Path::new(java).canonicalize().ok())??;
    Some(file.parent()?.parent()?.to_owned())
}

/// Joins what was found with suspicions, each of which has one verdict of this run among its reasons.
pub(crate) fn confirm(analyzed: &mut TraceReport, mut suspicions: Vec<Finding>) {
    for suspicion in &mut suspicions {
        let is_verdict = |reason: &Reason| VERDICTS.iter().any(|(it, _)| it.name == reason.name);
        suspicion.reasons.retain(|reason| !is_verdict(reason));
    }
    let own = analyzed.findings.len();
    analyzed.add("suspicions", suspicions.len());
    joining::join(analyzed, suspicions);
    let (found, suspicions) = analyzed.findings.split_at_mut(own);
    let places = analyzed.places.take().unwrap_or_default();
    for suspicion in &mut *suspicions {
        let verdict = verdict(suspicion, found, &places);
        suspicion.reasons.push(verdict);
    }
    let [observed, predicted, reached, never] = VERDICTS.map(|(verdict, _)| {
        let has_it = |it: &&Finding| it.reasons.iter().any(|it| it.name == verdict.name);
        suspicions.iter().filter(has_it).count()
    });
    let all = suspicions.len();
    analyzed.notes.push(format!(
        "of {all} suspicions {observed} were observed, {predicted} predicted, {reached} reached \
         without being confirmed, {never} never reached"
    ));
    for ((_, name), count) in VERDICTS.iter().zip([observed, predicted, reached, never]) {
        analyzed.add(name, count);
    }
}

fn verdict(suspicion: &Finding, found: &[Finding], places: &Places) -> Reason {
    let shown = found.iter().filter(|finding| shows(finding, suspicion));
    match shown.flat_map(|finding| &finding.evidence).max() {
        Some(Evidence::Observed) => return OBSERVED.holds(),
        Some(Evidence::Predicted) => return PREDICTED.holds(),
        Some(Evidence::Suspected) | None => {}
    }
    let mut threads = BTreeSet::new();
    for place in decisive_places(suspicion) {
        match places.threads_at(place) {
            Some(there) => threads.extend(there),
            None => return NEVER_REACHED.holds_because(format!("nothing was recorded at {place}")),
        }
    }
    match threads.into_iter().collect::<Vec<_>>().as_slice() {
        [] => NEVER_REACHED.holds_because("the finding names no place"),
        [alone] => REACHED.holds_because(format!(
            "{alone} alone came to its places, and the run did not show it"
        )),
        [one, other, ..] => REACHED.holds_because(format!(
            "{one} and {other} came to its places, and the run did not show it"
        )),
    }
}

/// Whether what a run found is the defect that is suspected. Fingerprints need not be equal: a run sees an unsafe
/// publication as a race, and the fingerprint of array elements contains methods, of which a run may reach only some.
fn shows(finding: &Finding, suspicion: &Finding) -> bool {
    let Some(variable) = suspicion.subject.as_variable() else {
        return finding.fingerprint() == suspicion.fingerprint();
    };
    let is_race = (finding.rule, suspicion.rule) == (Rule::DataRace, Rule::UnsafePublication);
    (finding.rule == suspicion.rule || is_race)
        && finding.subject.as_variable() == Some(variable)
        && (!variable.is_elements()
            || joining::sites(finding).is_subset(&joining::sites(suspicion)))
}

/// The sites that make up the defect: the first two accesses, or all acquisitions of a cycle. Further accesses to a
/// variable only illustrate it.
fn decisive_places(finding: &Finding) -> impl Iterator<Item = &Frame> {
    let count = finding.subject.as_locks().len().max(2);
    finding.accesses.iter().take(count).filter_map(|access| access.site())
}
