//! The stacks of accesses that race are those that the JVM itself tells.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;

use support::{Program, Recording};
use unsnarl_detect_dynamic::DETECTORS;
use unsnarl_testing::Jdk;
use unsnarl_trace_analysis::Options;

/// Every racing access as `thread field frame frame ...`.
fn stacks(recording: &Recording) -> BTreeSet<String> {
    let tables = recording.tables();
    let mut detector = (DETECTORS[0].make)(&Options::default());
    let mut racing = Vec::new();
    detector.on_batch(&recording.events, tables, &mut racing);
    let findings = detector.finish(tables).findings;
    let lines = findings.iter().flat_map(|finding| {
        let field = finding.subject.to_string();
        let field = field.rsplit(['.', ' ']).next().unwrap().to_owned();
        finding.accesses.iter().map(move |access| {
            let frames = access.stack.iter().map(ToString::to_string);
            let line = [access.thread.clone().unwrap(), field.clone()].into_iter().chain(frames);
            line.collect::<Vec<_>>().join(" ")
        })
    });
    lines.collect()
}

fn record(jdk: &Jdk, options: &str) -> (String, Recording) {
    let program = Program::compile(jdk, "Stacks");
    let printed = unsnarl_testing::run(&mut program.watched_with(jdk, options, &[]));
    (printed, Recording::read(&program.session()))
}

#[test]
fn stacks_are_those_of_the_program() {
    for jdk in unsnarl_testing::jdks() {
        for filters in ["", ",filters="] {
            let events = ",events=fields:arrays:synchronization:methods";
            let (printed, recording) = record(&jdk, &[events, filters].concat());
            let expected: BTreeSet<String> = printed.lines().map(str::to_owned).collect();
            let found = stacks(&recording);
            let wrong: Vec<_> = expected.symmetric_difference(&found).collect();
            assert!(wrong.is_empty(), "{} {filters}: {wrong:#?}", jdk.name());
            assert_eq!(expected.len(), 36, "{expected:#?}");
        }
    }
}

/// Without events of methods an access has the stack with which its thread came there for the first time.
#[test]
fn without_methods_stacks_are_those_of_the_first_time() {
    for jdk in unsnarl_testing::jdks() {
        let (printed, recording) = record(&jdk, "");
        // The method was called for other elements before.
        let first =
            |line: &str| line.replace("Stacks.all(Stacks.java:74)", "Stacks.all(Stacks.java:72)");
        let expected: BTreeSet<String> = printed.lines().map(first).collect();
        let found = stacks(&recording);
        let wrong: Vec<_> = expected.symmetric_difference(&found).collect();
        assert!(wrong.is_empty(), "{}: {wrong:#?}", jdk.name());
    }
}
