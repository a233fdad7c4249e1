//! A program with the agent does what it does without it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

use support::{Program, Recording, printed};
use unsnarl_events::{Event, Operation};

const PROGRAMS: [&str; 11] = [
    "Accesses",
    "Behaviour",
    "Containers",
    "Counter",
    "LibraryAccesses",
    "MoreOrders",
    "Objects",
    "Synchronizers",
    "Tasks",
    "Uncaught",
    "Variables",
];

/// Those whose language is that of a later release.
const LATER_PROGRAMS: [(u16, &str); 1] = [(25, "EarlyFields")];

#[test]
fn output_and_exit_code_are_the_same() {
    for jdk in unsnarl_testing::jdks() {
        let later = LATER_PROGRAMS.into_iter().filter(|&(since, _)| jdk.release >= since);
        for name in PROGRAMS.into_iter().chain(later.map(|(_, name)| name)) {
            let program = Program::compile(&jdk, name);
            let plain = printed(&program.plain(&jdk, &[]).output().unwrap());
            let watched = printed(&program.watched(&jdk, &[]).output().unwrap());
            assert_eq!(watched, plain, "{name} on {}", jdk.name());
            let recording = Recording::read(&program.session());
            assert_eq!(recording.problems, Vec::<String>::new(), "{name} on {}", jdk.name());
            assert!(recording.events.len() > 3, "{name}");
        }
    }
}

#[test]
fn every_collector_starts() {
    for jdk in unsnarl_testing::jdks() {
        for collector in ["UseG1GC", "UseSerialGC", "UseParallelGC", "UseZGC"] {
            let program = Program::compile(&jdk, "Counter");
            let option = format!("-XX:+{collector}");
            let output = program.watched(&jdk, &[&option]).output().unwrap();
            let nothing = (Some(0), String::new(), String::new());
            assert_eq!(printed(&output), nothing, "{collector} on {}", jdk.name());
            assert!(Recording::read(&program.session()).events.len() > 8000);
        }
    }
}

/// What the program had written when it said so is in the trace, whenever it is killed.
#[test]
fn a_killed_program_leaves_all_that_it_wrote() {
    for jdk in unsnarl_testing::jdks() {
        for lines in [1, 17, 400] {
            let program = Program::compile_unfiltered(&jdk, "Endless");
            let mut command = program.watched(&jdk, &[]);
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let output = BufReader::new(child.stdout.take().unwrap());
            let said: usize = output.lines().nth(lines - 1).unwrap().unwrap().parse().unwrap();
            child.kill().unwrap();
            child.wait().unwrap();

            let recording = Recording::read(&program.session());
            assert_eq!(recording.problems, Vec::<String>::new());
            let writes = recording
                .events
                .iter()
                .filter(|event| matches!(event.operation, Operation::Write(_)))
                .count();
            assert!(writes >= 1000 * said, "{writes} writes, {said} rounds on {}", jdk.name());
        }
    }
}

/// A hook that finds no stack left does not keep a monitor, and does not run for ever.
#[test]
fn running_out_of_stack_leaves_no_monitor() {
    for jdk in unsnarl_testing::jdks() {
        let program = Program::compile(&jdk, "Overflow");
        for options in [&["-Xint"][..], &[]] {
            let mut command = program.watched(&jdk, options);
            let expected = (Some(0), "failures 0\n".to_owned(), String::new());
            assert_eq!(printed(&command.output().unwrap()), expected, "{}", jdk.name());
            std::fs::remove_dir_all(program.session()).unwrap();
        }
    }
}

/// The JIT refuses methods whose monitors and handlers it cannot match.
#[test]
fn methods_with_monitors_are_compiled() {
    for jdk in unsnarl_testing::jdks() {
        let program = Program::compile(&jdk, "Hot");
        let output = program.watched(&jdk, &["-XX:+PrintCompilation"]).output().unwrap();
        let (code, text, _) = printed(&output);
        assert_eq!(code, Some(0));
        for method in ["block", "loop", "method", "failing"] {
            let name = format!("Hot::{method} ");
            assert!(text.lines().any(|line| line.contains(&name)), "{method}\n{text}");
        }
        // What was being compiled while the agent gave hooks to the JDK is compiled again.
        let refused = text.lines().find(|line| {
            line.contains("COMPILE SKIPPED") && !line.contains("invalidated dependencies")
        });
        assert_eq!(refused, None, "{}\n{text}", jdk.name());
    }
}

/// A folder that has a session already, and options that are wrong, leave the program as it is.
#[test]
fn without_a_session_nothing_happens() {
    for jdk in unsnarl_testing::jdks() {
        let program = Program::compile(&jdk, "Counter");
        program.record(&jdk);
        let before = Recording::read(&program.session()).events.len();
        let again = program.watched(&jdk, &[]).output().unwrap();
        assert_eq!(printed(&again), (Some(0), String::new(), String::new()));
        assert_eq!(Recording::read(&program.session()).events.len(), before);
    }
}

/// When the folder is gone nothing more can be recorded, and the program does not notice.
#[test]
fn a_deleted_session_does_not_stop_the_program() {
    for jdk in unsnarl_testing::jdks() {
        let program = Program::compile_unfiltered(&jdk, "Endless");
        let mut child = program.watched(&jdk, &[]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "1");
        std::fs::remove_dir_all(program.session()).unwrap();
        // 300,000 events do not fit into the arena that there was.
        assert_eq!(lines.nth(298).unwrap().unwrap(), "300");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Ten kills while the JVM starts, and ten after so many rounds of the program: all that was written is there, and
/// nothing else is reported.
#[test]
fn a_kill_at_any_moment_loses_nothing() {
    let jdks = unsnarl_testing::jdks();
    for moment in 0..20_u32 {
        let jdk = &jdks[moment as usize % jdks.len()];
        let program = Program::compile_unfiltered(jdk, "Endless");
        let mut child = program.watched(jdk, &[]).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        match moment.checked_sub(10) {
            // Any moment will do.
            None => std::thread::sleep(Duration::from_millis(50) * moment),
            Some(rounds) => {
                for _ in 0..=7 * rounds {
                    out.read_line(&mut text).unwrap();
                }
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        out.read_to_string(&mut text).unwrap();
        let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
        let said: usize = complete.lines().last().map_or(0, |line| line.parse().unwrap());
        let Ok(recording) = Recording::try_read(&program.session()) else {
            assert_eq!(said, 0, "a program that had begun left no session");
            continue;
        };
        assert_eq!(recording.problems, Vec::<String>::new(), "{}", jdk.name());
        let is_write = |event: &&Event| matches!(event.operation, Operation::Write(_));
        let writes = recording.events.iter().filter(is_write).count();
        assert!(writes >= 1000 * said, "{writes} writes, {said} rounds on {}", jdk.name());
    }
}

/// When no file can grow any more, the program goes on and what is missing is told.
#[test]
fn a_full_disk_costs_the_trace_and_not_the_program() {
    for jdk in unsnarl_testing::jdks() {
        let program = Program::compile_unfiltered(&jdk, "Endless");
        let watched = program.watched(&jdk, &[]);
        let mut command = Command::new("bash");
        command.args(["-c", "ulimit -f 3000; exec \"$0\" \"$@\""]);
        command.arg(watched.get_program()).args(watched.get_args());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // 600,000 events do not fit.
        let last = lines.nth(599).unwrap().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(last, "600");
        let recording = Recording::read(&program.session());
        assert!(recording.events.len() > 10_000, "{}", recording.events.len());
        let told = recording.problems.iter().any(|it| it.contains("is not recorded any further"));
        assert!(told, "{:?}", recording.problems);
    }
}
