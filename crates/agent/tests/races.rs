//! The whole path: a program is recorded and its races are found, and only its races.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;

use support::Program;
use unsnarl_detect_dynamic::DETECTORS;
use unsnarl_trace::Variable;

#[test]
fn racy_twins_race_and_the_others_do_not() {
    for jdk in unsnarl_testing::jdks() {
        let recording = Program::compile(&jdk, "Twins").record(&jdk);
        let tables = recording.tables();
        let mut detector = (DETECTORS[0].make)();
        detector.on_all(&recording.events, tables);
        let racing: BTreeSet<String> = detector
            .take_racing_events()
            .iter()
            .map(|event| match tables.variables[event.variable] {
                Variable::Field(_, field) | Variable::Static(field) => {
                    tables.text(tables.fields[field].name).into_owned()
                }
                other => format!("{other:?}"),
            })
            .collect();
        let expected = [
            "blockRacy",
            "joinRacy",
            "methodRacy",
            "startRacy",
            "staticRacy",
            "volatileRacy",
            "waitRacy",
        ];
        assert_eq!(racing, expected.map(str::to_owned).into(), "{}", jdk.name());
    }
}
