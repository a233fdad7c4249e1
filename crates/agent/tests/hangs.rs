//! Programs that hang are told with what they hang in.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use support::{Program, Recording};
use unsnarl_detect_dynamic::DETECTORS;
use unsnarl_events::{Event, Operation};
use unsnarl_findings::{Evidence, Finding};
use unsnarl_testing::Jdk;
use unsnarl_trace_analysis::Options;

fn findings(jdk: &Jdk, hang: &str, detector: &str) -> Vec<Finding> {
    let program = Program::compile(jdk, "Hangs");
    unsnarl_testing::run(program.watched_with(jdk, "", &[]).arg(hang));
    look(&program, detector)
}

fn look(program: &Program, detector: &str) -> Vec<Finding> {
    let recording = Recording::read(&program.session());
    assert!(recording.problems.is_empty(), "{:?}", recording.problems);
    let entry = DETECTORS.iter().find(|entry| entry.name == detector).unwrap();
    let mut detector = (entry.make)(&Options::default());
    detector.on_batch(&recording.events, recording.tables(), &mut Vec::new());
    detector.finish(recording.tables()).findings
}

#[test]
fn threads_that_wait_for_each_other_are_told() {
    for jdk in unsnarl_testing::jdks() {
        for hang in ["monitors", "locks", "virtual"] {
            if hang == "virtual" && jdk.release < 21 {
                continue;
            }
            let findings = findings(&jdk, hang, "deadlock");
            assert_eq!(findings.len(), 1, "{} {hang}: {findings:#?}", jdk.name());
            let finding = &findings[0];
            assert!(finding.evidence.contains(&Evidence::Observed));
            assert_eq!(finding.subject.as_locks().len(), 2);
            let mut threads: Vec<&str> =
                finding.accesses.iter().filter_map(|access| access.thread.as_deref()).collect();
            threads.sort_unstable();
            assert_eq!(threads, ["one", "two"], "{} {hang}", jdk.name());
            let lines = finding.accesses.iter().filter_map(|access| access.site());
            let lines: Vec<String> = lines.map(ToString::to_string).collect();
            assert!(lines.iter().all(|line| line.contains("Hangs.java:")), "{lines:?}");
        }
    }
}

#[test]
fn a_thread_that_nobody_notifies_is_told() {
    for (jdk, hang) in
        unsnarl_testing::jdks().into_iter().flat_map(|jdk| [(jdk.clone(), "nobody"), (jdk, "late")])
    {
        let program = Program::compile(&jdk, "Hangs");
        let mut java = program.watched_with(&jdk, "", &[]);
        let mut java = java.arg(hang).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(java.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "waiting\n");
        unsnarl_testing::wait_for("end of the main thread", || main_has_ended(&program));
        java.kill().unwrap();
        java.wait().unwrap();
        let findings = look(&program, "indefinite-wait");
        assert_eq!(findings.len(), 1, "{}: {findings:#?}", jdk.name());
        assert_eq!(findings[0].accesses[0].thread.as_deref(), Some("waiting"));
        let is_late = findings[0].message.contains("the notification by main at Hangs.java:");
        assert_eq!(is_late, hang == "late", "{}: {}", jdk.name(), findings[0].message);
    }
}

/// Whether what is recorded so far has the end of the main thread.
fn main_has_ended(program: &Program) -> Option<()> {
    let recording = Recording::try_read(&program.session()).ok()?;
    let tables = recording.tables();
    let is_it = |event: &Event| {
        event.operation == Operation::End
            && tables.text(tables.threads[event.thread].name) == "main"
    };
    recording.events.iter().any(is_it).then_some(())
}
