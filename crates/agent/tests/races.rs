//! The whole path: a program is recorded and its races are found, and only its races.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::Program;
use unsnarl_trace::{Event, Operation, ThreadId};

#[test]
fn racy_twins_race_and_the_others_do_not() {
    for jdk in unsnarl_testing::jdks() {
        let recording = Program::compile(&jdk, "Twins").record(&jdk);
        let expected = [
            "blockRacy",
            "joinRacy",
            "methodRacy",
            "startRacy",
            "staticRacy",
            "volatileRacy",
            "waitRacy",
        ];
        assert_eq!(recording.racing(), expected.map(str::to_owned).into(), "{}", jdk.name());
    }
}

#[test]
fn virtual_threads_start_and_are_joined() {
    for jdk in unsnarl_testing::jdks().into_iter().filter(|jdk| jdk.release >= 21) {
        let recording = Program::compile(&jdk, "Virtual").record(&jdk);
        let name = jdk.name();
        assert_eq!(recording.racing(), ["earlyRacy".to_owned()].into(), "{name}");
        let tables = recording.tables();
        let is_virtual = |it| tables.text(tables.threads[it].name).starts_with("virtual ");
        let count = |kind: fn(&Event) -> Option<ThreadId>| {
            recording.events.iter().filter_map(kind).filter(|&it| is_virtual(it)).count()
        };
        let starts = count(|event| (event.operation == Operation::Start).then_some(event.thread));
        let ends = count(|event| (event.operation == Operation::End).then_some(event.thread));
        let joins = count(|event| match event.operation {
            Operation::Join(thread) => Some(thread),
            _ => None,
        });
        assert_eq!((starts, ends, joins), (200, 200, 200), "{name}");
    }
}
