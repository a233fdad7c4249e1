//! The detectors: a rule is one file here, with a folder beside it if it is large, and one line in the table. A file's
//! header says which paper the rule is from, what it guarantees and what it misses. What only one rule needs is in its
//! folder; what several need is outside of this one.

pub(crate) mod critical_wait;
pub(crate) mod data_race;
pub(crate) mod indefinite_wait;
pub(crate) mod lock_order_cycle;
pub(crate) mod lost_notify;
pub(crate) mod non_atomic_method;
pub(crate) mod reassigned_lock;
pub(crate) mod self_deadlock;
pub(crate) mod shared_constant_lock;
pub(crate) mod stale_value;
pub(crate) mod unreleased_lock;
pub(crate) mod unsafe_publication;
pub(crate) mod wait_outside_loop;

use unsnarl_findings::Rule;

use crate::{Input, Output};

/// A static detector.
#[derive(Clone, Copy)]
pub struct Detector {
    /// What it finds. Its page is `docs/rules/<rule>.md`.
    pub rule: Rule,
    /// Its name in findings.
    pub name: &'static str,
    pub(crate) run: fn(&Input<'_, '_>, &mut Output),
    /// It looks at all code of the input ([`crate::locks`]), not only at what threads reach.
    pub(crate) is_about_code: bool,
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_detector_has_a_page_and_a_rule_of_its_own() {
        let pages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules");
        let mut rules = BTreeSet::new();
        for detector in DETECTORS {
            assert!(rules.insert(detector.rule), "{} is in the table twice", detector.rule);
            let page = pages.join(format!("{}.md", detector.rule));
            assert!(page.is_file(), "{} is missing", page.display());
            assert!(detector.name.starts_with("static/"), "{}", detector.name);
        }
    }

    #[test]
    fn every_file_of_a_detector_is_in_the_table() {
        let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/detectors");
        let files = std::fs::read_dir(source).expect("the folder of detectors");
        let files = files.map(|file| file.expect("a file").path());
        let files = files.filter(|file| !file.is_dir() && !file.ends_with("mod.rs"));
        let names: BTreeSet<String> =
            files.map(|file| file.file_stem().expect("a name").display().to_string()).collect();
        let rules = DETECTORS.iter().map(|detector| detector.rule.id().replace('-', "_"));
        assert_eq!(names, rules.collect());
    }
}
