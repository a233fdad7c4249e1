//! What the filters leave out is redundant, and no race is lost with it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;

use support::{Program, Recording};
use unsnarl_trace::Operation;

const RACY: [&str; 14] = [
    "char[]",
    "exitRacy",
    "initializedRacy",
    "leakedRacy",
    "listRacy",
    "long[]",
    "manyRacy",
    "readThenWriteRacy",
    "sameRacy",
    "sharedRacy",
    "startRacy",
    "staticRacy",
    "volatileRacy",
    "waitRacy",
];

/// Elements of arrays by the type alone.
fn without_indices(racing: BTreeSet<String>) -> BTreeSet<String> {
    let name = |name: String| match name.split_once('[') {
        Some((class, _)) => format!("{class}[]"),
        None => name,
    };
    racing.into_iter().map(name).collect()
}

#[test]
fn no_race_is_lost_and_none_is_made_up() {
    let expected: BTreeSet<String> = RACY.map(str::to_owned).into();
    for jdk in unsnarl_testing::jdks() {
        let filtered = Program::compile(&jdk, "Filtered").record(&jdk);
        assert_eq!(without_indices(filtered.racing()), expected, "{}", jdk.name());
        let all = Program::compile_unfiltered(&jdk, "Filtered").record(&jdk);
        assert_eq!(without_indices(all.racing()), expected, "{} without filters", jdk.name());
    }
}

fn accesses(recording: &Recording) -> usize {
    let is_access = |it: &Operation| matches!(it, Operation::Read(_) | Operation::Write(_));
    recording.events.iter().filter(|event| is_access(&event.operation)).count()
}

/// 1,000 rounds over one field of an object, a static field and 64 elements, and one over 50,000 elements.
#[test]
fn what_is_redundant_is_left_out() {
    for jdk in unsnarl_testing::jdks() {
        let program = Program::compile(&jdk, "Busy");
        let filtered = accesses(&program.record(&jdk)) - 50_000;
        let all = Program::compile_unfiltered(&jdk, "Busy");
        let unfiltered = accesses(&all.record(&jdk)) - 50_000;
        assert!(filtered < 200, "{filtered} accesses on {}", jdk.name());
        assert!(unfiltered > 7000, "{unfiltered} accesses on {}", jdk.name());
        // 50,000 events of 24 bytes would be more than a megabyte.
        let arenas = |program: &Program| {
            let files = std::fs::read_dir(program.session()).unwrap().flatten();
            files.filter(|it| it.file_name().to_string_lossy().starts_with("arena-")).count()
        };
        assert_eq!((arenas(&program), arenas(&all)), (1, 2), "{}", jdk.name());
    }
}

/// Of arrays only the elements that were asked for.
#[test]
fn elements_are_cut_off() {
    for jdk in unsnarl_testing::jdks() {
        for (options, expected) in [
            ("", 0..10),
            (",array-cutoff=3", 0..3),
            (",array-cutoff=2,array-offset=7", 7..9),
            (",array-cutoff=2,array-offset=7,filters=", 7..9),
            (",array-cutoff=4294967295,array-offset=9", 9..10),
        ] {
            let recording = Program::compile(&jdk, "Cutoff").record_with(&jdk, options);
            let expected = expected.map(|index| format!("long[{index}]")).collect();
            assert_eq!(recording.racing(), expected, "{options} on {}", jdk.name());
        }
    }
}
