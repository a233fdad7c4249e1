//! The static detectors, one file each, and the table of them. They judge what the symbolic execution
//! found; they know neither bytes nor output.

mod code;
mod conflict;
mod critical_wait;
mod data_race;
mod describe;
mod explain;
mod explain_method;
mod hint;
mod indefinite_wait;
mod initializer_cycle;
mod lock_calls;
mod lock_code;
mod lock_cycles;
mod lock_graph;
mod lock_index;
mod lock_name;
mod lock_order_cycle;
mod lock_sets;
mod lock_text;
mod lock_use;
mod lock_ways;
mod lost_notify;
mod non_atomic_method;
mod reasons;
mod reassigned_lock;
mod self_deadlock;
mod shared_constant_lock;
mod stale_value;
mod unreleased_lock;
mod unsafe_publication;
mod use_graph;
mod wait_outside_loop;
mod waits;
mod walk;
mod ways_out;

use std::sync::OnceLock;

use rayon::prelude::*;
use unsnarl_findings::{Finding, Rule};
use unsnarl_models::Models;
use unsnarl_program::Program;
use unsnarl_symbolic::Execution;

use conflict::{Conflicting, Conflicts};
use describe::Describe;
use lock_index::LockIndex;
use lock_use::LockUse;
use use_graph::UseGraphs;

pub use explain::explain_field;
pub use explain_method::explain_method;

/// What to look for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Also judge elements of arrays. Threads often work on different parts of one array, which the
    /// analysis cannot see.
    pub arrays: bool,
    /// Report every use of a stale value [Artho04 §3], not only those that others may notice.
    pub strict: bool,
    /// Find out how threads use what races are about, for people to look at.
    pub use_graphs: bool,
    /// Look only for these; for all, if there are none.
    pub rules: Vec<Rule>,
}

/// What the detectors have to say.
#[derive(Debug, Default)]
pub struct Checked {
    /// The findings, in no order.
    pub findings: Vec<Finding>,
    /// What could not be judged, one sentence each.
    pub notes: Vec<String>,
    /// Counts, by name.
    pub stats: Vec<(&'static str, u64)>,
    /// The rules that were looked for.
    pub rules: Vec<Rule>,
}

/// A static detector.
#[derive(Clone, Copy)]
pub struct Detector {
    /// What it finds. Its page is `docs/rules/<rule>.md`.
    pub rule: Rule,
    /// Its name in findings.
    pub name: &'static str,
    run: fn(&Input<'_, '_>, &mut Output),
    /// It looks at all code of the input ([`LockUse`]), not only at what threads reach.
    is_about_code: bool,
}

impl Detector {
    const fn new(rule: Rule, name: &'static str, run: fn(&Input<'_, '_>, &mut Output)) -> Self {
        Self { rule, name, run, is_about_code: false }
    }

    const fn about_code(self) -> Self {
        Self { is_about_code: true, ..self }
    }
}

/// The one table of static detectors.
pub static DETECTORS: &[Detector] = &[
    Detector::new(Rule::DataRace, data_race::NAME, data_race::run),
    Detector::new(Rule::UnsafePublication, unsafe_publication::NAME, unsafe_publication::run),
    Detector::new(Rule::UnreleasedLock, unreleased_lock::NAME, unreleased_lock::run).about_code(),
    Detector::new(Rule::WaitOutsideLoop, wait_outside_loop::NAME, wait_outside_loop::run)
        .about_code(),
    Detector::new(Rule::ReassignedLock, reassigned_lock::NAME, reassigned_lock::run).about_code(),
    Detector::new(Rule::SharedConstantLock, shared_constant_lock::NAME, shared_constant_lock::run)
        .about_code(),
    Detector::new(Rule::LostNotify, lost_notify::NAME, lost_notify::run).about_code(),
    Detector::new(Rule::SelfDeadlock, self_deadlock::NAME, self_deadlock::run).about_code(),
    Detector::new(Rule::LockOrderCycle, lock_order_cycle::NAME, lock_order_cycle::run),
    Detector::new(Rule::CriticalWait, critical_wait::NAME, critical_wait::run),
    Detector::new(Rule::IndefiniteWait, indefinite_wait::NAME, indefinite_wait::run),
    Detector::new(Rule::StaleValue, stale_value::NAME, stale_value::run),
    Detector::new(Rule::NonAtomicMethod, non_atomic_method::NAME, non_atomic_method::run),
];

/// What every detector is given.
struct Input<'i, 'm> {
    /// Program and execution, and names for what is in them.
    describe: &'i Describe<'i, 'm>,
    options: &'i Options,
    /// The pairs of accesses that nothing keeps apart; nothing unless they are wanted.
    conflicts: Option<Conflicts>,
    /// If they are wanted and can be made.
    use_graphs: Option<UseGraphs<'i, 'm>>,
    lock_index: OnceLock<LockIndex>,
    /// What the input does with locks; nothing unless a detector is wanted that looks at it.
    lock_use: LockUse,
}

impl Input<'_, '_> {
    /// The variables with pairs of accesses that nothing keeps apart.
    fn conflicting(&self) -> &[Conflicting] {
        self.conflicts.as_ref().map_or(&[], |conflicts| &conflicts.variables)
    }

    /// The lock events by what is done with which object.
    fn lock_index(&self) -> &LockIndex {
        self.lock_index.get_or_init(|| LockIndex::new(self.describe))
    }
}

/// Where every detector puts what it has to say.
type Output = Checked;

/// Runs the detectors of the wanted rules.
pub fn check(
    program: &mut Program<'_>,
    models: &Models,
    execution: &Execution<'_>,
    options: &Options,
) -> Checked {
    let is_wanted =
        |detector: &&Detector| options.rules.is_empty() || options.rules.contains(&detector.rule);
    let wanted: Vec<&Detector> = DETECTORS.iter().filter(is_wanted).collect();
    let lock_use = match wanted.iter().any(|detector| detector.is_about_code) {
        true => LockUse::new(program, models),
        false => LockUse::default(),
    };
    let describe = Describe::new(program, execution);
    let use_graphs = options.use_graphs.then(|| UseGraphs::new(&describe)).flatten();
    let is_about_races =
        |it: &&Detector| matches!(it.rule, Rule::DataRace | Rule::UnsafePublication);
    let conflicts =
        wanted.iter().any(is_about_races).then(|| conflict::conflicts(&describe, options));
    let (describe, lock_index) = (&describe, OnceLock::new());
    let input = Input { describe, options, conflicts, use_graphs, lock_index, lock_use };
    let run = |detector: &&Detector| {
        let mut output = Output::default();
        (detector.run)(&input, &mut output);
        output
    };
    let mut checked = Checked::default();
    for (detector, output) in wanted.iter().zip(wanted.par_iter().map(run).collect::<Vec<_>>()) {
        checked.findings.extend(output.findings);
        checked.notes.extend(output.notes);
        checked.stats.extend(output.stats);
        checked.rules.push(detector.rule);
    }
    if let Some(conflicts) = &input.conflicts {
        checked.stats.extend(conflicts.stats.iter().copied());
        checked.notes.extend(conflicts.note());
    }
    checked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_detector_has_a_page_and_a_rule_of_its_own() {
        let pages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules");
        let mut rules = std::collections::BTreeSet::new();
        for detector in DETECTORS {
            assert!(rules.insert(detector.rule), "{} is in the table twice", detector.rule);
            let page = pages.join(format!("{}.md", detector.rule));
            assert!(page.is_file(), "{} is missing", page.display());
            assert!(detector.name.starts_with("static/"), "{}", detector.name);
        }
    }

    #[test]
    fn every_file_of_a_detector_is_in_the_table() {
        let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for &rule in Rule::ALL {
            let file = source.join(format!("{}.rs", rule.id().replace('-', "_")));
            let is_listed = DETECTORS.iter().any(|detector| detector.rule == rule);
            assert_eq!(file.is_file(), is_listed, "{}", file.display());
        }
    }
}
