//! Objects that die are forgotten, those that live are not.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::Program;
use unsnarl_events::Operation;

#[test]
fn variables_of_dead_objects_are_forgotten() {
    for jdk in unsnarl_testing::jdks() {
        for collector in ["-XX:+UseSerialGC", "-XX:+UseG1GC", "-XX:+UseParallelGC", "-XX:+UseZGC"] {
            let program = Program::compile(&jdk, "Dying");
            let printed =
                unsnarl_testing::run(&mut program.watched_with(&jdk, ",sweep=20000", &[collector]));
            assert_eq!(printed, "12\n12\n", "{} {collector}", jdk.name());
            let recording = support::Recording::read(&program.session());
            assert!(recording.problems.is_empty(), "{:?}", recording.problems);

            let is_forgotten = |operation: Operation| matches!(operation, Operation::Forget(_));
            let forgotten =
                recording.events.iter().filter(|event| is_forgotten(event.operation)).count();
            // Each round has three objects, with a variable or two each.
            let made = 2 * 60_000 * 3;
            assert!(forgotten > made / 2, "{} {collector}: {forgotten}", jdk.name());
            let variables = recording.tables().variables.len();
            assert!(variables < forgotten, "{} {collector}: {variables}", jdk.name());

            let racing: Vec<String> = recording.racing().into_iter().collect();
            assert_eq!(racing, ["Dying[1]", "int[3]", "int[][1]", "raced"], "{}", jdk.name());
        }
    }
}
