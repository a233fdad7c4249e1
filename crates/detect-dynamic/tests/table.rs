//! What holds for every detector of the table.

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use unsnarl_detect_dynamic::{
    Checked, DETECTORS, Detector, Options, Outline, RacingEvent, kind_of, on_all_in_parallel,
};
use unsnarl_findings::Subject;
use unsnarl_trace::Event;

use support::{run, tables, trace};

/// The events that were told, and what the findings are about.
fn told(outcome: &(Vec<RacingEvent>, Checked)) -> (&[RacingEvent], BTreeSet<&Subject>) {
    (&outcome.0, outcome.1.findings.iter().map(|finding| &finding.subject).collect())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn events_that_are_not_needed_change_nothing(events in trace(), all: bool) {
        let (tables, options) = (tables(), Options { all });
        for entry in &DETECTORS {
            let is_needed = |event: &&Event| entry.needs.events.contains(&kind_of(event.operation));
            let needed: Vec<Event> = events.iter().filter(is_needed).copied().collect();
            let (with, without) = (
                run(entry.name, options, &events, &tables),
                run(entry.name, options, &needed, &tables),
            );
            prop_assert_eq!(told(&with), told(&without), "{}", entry.name);
        }
    }

    #[test]
    fn an_outline_says_the_same_to_detectors_that_do_not_look_at_accesses(
        events in trace(),
        part in 1..20_usize,
    ) {
        let (tables, options) = (tables(), Options::default());
        for entry in &DETECTORS {
            let mut detector = (entry.make)(&options);
            if detector.looks_at_accesses() {
                continue;
            }
            let mut outline = Outline::default();
            events.chunks(part).for_each(|events| outline.add(events));
            detector.on_all(outline.events(), &tables);
            let shown = (detector.take_racing_events(), detector.finish(&tables));
            let all = run(entry.name, options, &events, &tables);
            prop_assert_eq!(&shown.1.findings, &all.1.findings, "{}", entry.name);
            prop_assert_eq!(&shown.1.stats, &all.1.stats, "{}", entry.name);
            prop_assert_eq!(told(&shown), told(&all), "{}", entry.name);
        }
    }

    #[test]
    fn detectors_that_look_together_say_what_each_says_alone(events in trace()) {
        let (tables, options) = (tables(), Options::default());
        let mut detectors: Vec<Box<dyn Detector>> =
            DETECTORS.iter().map(|entry| (entry.make)(&options)).collect();
        for part in events.chunks(11) {
            on_all_in_parallel(detectors.iter_mut(), part, &tables);
        }
        for (entry, mut detector) in DETECTORS.iter().zip(detectors) {
            let together = (detector.take_racing_events(), detector.finish(&tables));
            let alone = run(entry.name, options, &events, &tables);
            prop_assert_eq!(told(&together), told(&alone), "{}", entry.name);
        }
    }
}

#[test]
fn races_and_deadlocks_are_looked_for_by_default() {
    let default: Vec<&str> =
        DETECTORS.iter().filter(|entry| entry.is_default).map(|entry| entry.name).collect();
    assert_eq!(
        default,
        [
            "happens-before",
            "lock-order",
            "deadlock",
            "critical-wait",
            "indefinite-wait",
            "lost-notify"
        ]
    );
}
