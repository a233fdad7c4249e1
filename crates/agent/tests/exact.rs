//! An exact recording knows who read whose write.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::HashMap;

use support::{Program, Recording};
use unsnarl_events::Source;
use unsnarl_testing::Jdk;

const ROUNDS: usize = 3000;
const WORKERS: [&str; 3] = ["worker-0", "worker-1", "worker-2"];

fn record(jdk: &Jdk, options: &str) -> (String, Recording) {
    let program = Program::compile(jdk, "Exact");
    let printed = unsnarl_testing::run(&mut program.watched_with(jdk, options, &[]));
    let plain = unsnarl_testing::run(&mut program.plain(jdk, &[]));
    let first = |text: &str| text.lines().take(4).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(first(&printed), first(&plain));
    (printed, Recording::read(&program.session()))
}

/// What every thread read from each variable, by the order of the trace: thread and variable to values, which are
/// numbered as the program does it.
fn read_in_trace(recording: &Recording) -> HashMap<(String, &'static str), Vec<usize>> {
    let mut last: HashMap<&str, usize> = HashMap::new();
    let mut written: HashMap<(String, &str), usize> = HashMap::new();
    let mut read: HashMap<(String, &'static str), Vec<usize>> = HashMap::new();
    for line in recording.lines(&WORKERS) {
        let words: Vec<&str> = line.split(' ').filter(|&word| word != "static").collect();
        let variables = [
            ("Exact.field", "field"),
            ("Exact.common", "common"),
            ("Exact.published", "published"),
            ("int[3]", "element"),
        ];
        let Some(&(_, variable)) = variables.iter().find(|(name, _)| words.get(2) == Some(name))
        else {
            continue;
        };
        let thread = words[0].to_owned();
        match words[1] {
            "write" | "send" => {
                let count = written.entry((thread.clone(), variable)).or_default();
                *count += 1;
                let number: usize = thread.strip_prefix("worker-").unwrap().parse().unwrap();
                last.insert(variable, number * ROUNDS + *count);
            }
            "read" | "receive" => {
                read.entry((thread, variable))
                    .or_default()
                    .push(last.get(variable).copied().unwrap_or(0));
            }
            other => panic!("{other}"),
        }
    }
    read
}

#[test]
fn reads_read_the_last_write() {
    for jdk in unsnarl_testing::jdks() {
        let (printed, recording) = record(&jdk, ",events=fields:arrays:synchronization:exact");
        assert!(recording.problems.is_empty(), "{:?}", recording.problems);
        assert!(recording.session().is_exact());
        let read = read_in_trace(&recording);
        let mut foreign = 0;
        let mut expected: HashMap<(String, &'static str), Vec<usize>> = HashMap::new();
        for line in printed.lines().skip(4) {
            let words: Vec<&str> = line.split(' ').collect();
            let values: Vec<usize> = words[1..].iter().map(|word| word.parse().unwrap()).collect();
            foreign += usize::from(values.iter().any(|&value| value != values[0]));
            for (variable, value) in
                ["field", "common", "published", "element"].into_iter().zip(values)
            {
                expected.entry((words[0].to_owned(), variable)).or_default().push(value);
            }
        }
        assert_eq!(expected.len(), 12);
        for (key, values) in expected {
            assert_eq!(read.get(&key), Some(&values), "{} {key:?}", jdk.name());
        }
        assert!(foreign > 0, "no thread saw what another wrote");
    }
}

#[test]
fn other_recordings_say_that_they_are_not_exact() {
    let jdks = unsnarl_testing::jdks();
    let (_, recording) = record(&jdks[0], "");
    assert!(!recording.session().is_exact());
}
