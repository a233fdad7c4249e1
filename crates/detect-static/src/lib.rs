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
mod lock_graph;
mod lock_name;
mod lock_order_cycle;
mod lock_text;
mod lock_use;
mod lost_notify;
mod non_atomic_method;
mod reasons;
mod reassigned_lock;
mod self_deadlock;
mod shared_constant_lock;
mod stale_value;
mod unreleased_lock;
mod unsafe_publication;
mod wait_outside_loop;
mod waits;
mod walk;
mod ways_out;

use std::cell::OnceCell;

use unsnarl_findings::{Finding, Rule};
use unsnarl_models::Models;
use unsnarl_program::Program;
use unsnarl_symbolic::Execution;

use conflict::Conflicts;
use describe::Describe;
use lock_use::LockUse;

pub use explain::explain_field;
pub use explain_method::explain_method;

/// What to look for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Also judge elements of arrays. Threads often work on different parts of one array, which the
    /// analysis cannot see.
    pub arrays: bool,
    /// Report every use of a stale value (seed 003), not only those that others may notice.
    pub strict: bool,
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
}

/// A static detector.
#[derive(Clone, Copy)]
pub struct Detector {
    /// What it finds. Its page is `docs/rules/<rule>.md`.
    pub rule: Rule,
    /// Its name in findings.
    pub name: &'static str,
    run: fn(&Input<'_, '_>, &mut Output),
}

/// The one table of static detectors.
pub static DETECTORS: &[Detector] = &[
    Detector { rule: Rule::DataRace, name: data_race::NAME, run: data_race::run },
    Detector {
        rule: Rule::UnsafePublication,
        name: unsafe_publication::NAME,
        run: unsafe_publication::run,
    },
    Detector { rule: Rule::UnreleasedLock, name: unreleased_lock::NAME, run: unreleased_lock::run },
    Detector {
        rule: Rule::WaitOutsideLoop,
        name: wait_outside_loop::NAME,
        run: wait_outside_loop::run,
    },
    Detector { rule: Rule::ReassignedLock, name: reassigned_lock::NAME, run: reassigned_lock::run },
    Detector {
        rule: Rule::SharedConstantLock,
        name: shared_constant_lock::NAME,
        run: shared_constant_lock::run,
    },
    Detector { rule: Rule::LostNotify, name: lost_notify::NAME, run: lost_notify::run },
    Detector { rule: Rule::SelfDeadlock, name: self_deadlock::NAME, run: self_deadlock::run },
    Detector {
        rule: Rule::LockOrderCycle,
        name: lock_order_cycle::NAME,
        run: lock_order_cycle::run,
    },
    Detector { rule: Rule::CriticalWait, name: critical_wait::NAME, run: critical_wait::run },
    Detector { rule: Rule::IndefiniteWait, name: indefinite_wait::NAME, run: indefinite_wait::run },
    Detector { rule: Rule::StaleValue, name: stale_value::NAME, run: stale_value::run },
    Detector {
        rule: Rule::NonAtomicMethod,
        name: non_atomic_method::NAME,
        run: non_atomic_method::run,
    },
];

/// The rules about how locks are used, which look at all code of the input.
const LOCK_RULES: [Rule; 6] = [
    Rule::UnreleasedLock,
    Rule::WaitOutsideLoop,
    Rule::ReassignedLock,
    Rule::SharedConstantLock,
    Rule::LostNotify,
    Rule::SelfDeadlock,
];

/// The rules that compare much with much: in a program so large that its objects are told apart only roughly they take
/// minutes, and next to nothing of what they find is sure enough to be shown. There they run only if they are asked for.
const COSTLY: [Rule; 4] =
    [Rule::NonAtomicMethod, Rule::LockOrderCycle, Rule::CriticalWait, Rule::IndefiniteWait];

/// What every detector is given.
struct Input<'i, 'm> {
    /// Program and execution, and names for what is in them.
    describe: &'i Describe<'i, 'm>,
    options: &'i Options,
    conflicts: OnceCell<Conflicts>,
    /// What the input does with locks; nothing unless one of [`LOCK_RULES`] is wanted.
    lock_use: LockUse,
}

impl Input<'_, '_> {
    /// The pairs of accesses that nothing keeps apart, looked for once if anybody wants them.
    fn conflicts(&self) -> &Conflicts {
        self.conflicts.get_or_init(|| conflict::conflicts(self.describe, self.options))
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
    let is_coarse = !execution.heap.widened.is_empty();
    let is_wanted = |rule| match options.rules.is_empty() {
        true => !(is_coarse && COSTLY.contains(&rule)),
        false => options.rules.contains(&rule),
    };
    let lock_use = match LOCK_RULES.into_iter().any(is_wanted) {
        true => LockUse::new(program, models),
        false => LockUse::default(),
    };
    let describe = Describe::new(program, execution);
    let input = Input { describe: &describe, options, conflicts: OnceCell::new(), lock_use };
    let mut checked = Checked::default();
    for detector in DETECTORS.iter().filter(|detector| is_wanted(detector.rule)) {
        (detector.run)(&input, &mut checked);
    }
    if is_coarse && options.rules.is_empty() {
        let rules = COSTLY.map(|rule| rule.id()).join(",");
        checked.notes.push(format!(
            "the program is too large to look for everything at once: ask for the rest with --rules {rules}"
        ));
    }
    if let Some(conflicts) = input.conflicts.get() {
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
