//! What a program can see of itself and of the JVM is the same with the agent: each program prints what it sees.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::{Program, Recording, printed};

fn is_the_same(name: &str, options: &[&str]) {
    for jdk in unsnarl_testing::jdks() {
        let program = Program::compile(&jdk, name);
        let plain = printed(&program.plain(&jdk, options).output().unwrap());
        let watched = printed(&program.watched(&jdk, options).output().unwrap());
        for (watched, plain) in watched.1.lines().zip(plain.1.lines()) {
            assert_eq!(watched, plain, "{name} on {}", jdk.name());
        }
        assert_eq!(watched, plain, "{name} on {}", jdk.name());
        let problems = Recording::read(&program.session()).problems;
        assert_eq!(problems, Vec::<String>::new(), "{name} on {}", jdk.name());
    }
}

#[test]
fn reflection_serialization_and_copies() {
    is_the_same("Mirror", &[]);
}

#[test]
fn messages_and_traces_of_exceptions() {
    is_the_same("Failures", &[]);
}

#[test]
fn threads_and_the_end_of_the_program() {
    is_the_same("Lifecycle", &[]);
}

#[test]
fn full_heaps_full_stacks_and_what_is_collected() {
    is_the_same("Memory", &["-Xmx32m", "-Xss512k"]);
}

#[test]
fn the_shapes_of_code() {
    is_the_same("Language", &[]);
}

/// Another agent's changes and ours are both there, whoever comes first, and after every change again.
#[test]
fn an_agent_beside_this_one() {
    for jdk in unsnarl_testing::jdks() {
        let program = Program::compile(&jdk, "Neighbour");
        let jar = program.agent_jar(&jdk, "Neighbour$Agent");
        let neighbour = format!("-javaagent:{}", jar.display());
        let plain = printed(&program.plain(&jdk, &[&neighbour]).output().unwrap());
        assert_eq!(plain.0, Some(0), "{plain:?}");
        let early = "Neighbour$Agent was loaded too early and stays as it is";
        for (mut command, problems) in [
            (program.watched_behind(&jdk, &[&neighbour]), vec![early.to_owned()]),
            (program.watched(&jdk, &[&neighbour]), Vec::new()),
        ] {
            let watched = printed(&command.output().unwrap());
            assert_eq!(watched, plain, "{command:?}");
            let recording = Recording::read(&program.session());
            assert_eq!(recording.problems, problems, "{command:?}");
            let racing = ["againRacy", "loadedRacy", "redefinedRacy"].map(str::to_owned);
            assert_eq!(recording.racing(), racing.into(), "{command:?}");
            std::fs::remove_dir_all(program.session()).unwrap();
        }
    }
}

/// Where the runtime cannot start, because its classes are there already, the program sees nothing of the agent either.
#[test]
fn a_runtime_that_cannot_start() {
    for jdk in unsnarl_testing::jdks() {
        let program = Program::compile(&jdk, "Unstarted");
        let jar = program.agent_jar(&jdk, "Unstarted$Agent");
        let patch = tempfile::tempdir().unwrap();
        let source = patch.path().join("UnsnarlEntry.java");
        std::fs::write(&source, "package java.lang; class UnsnarlEntry {}").unwrap();
        let module = format!("java.base={}", patch.path().display());
        let mut javac = jdk.command("javac");
        javac.args(["--patch-module", &module]).arg("-d").arg(patch.path()).arg(&source);
        unsnarl_testing::run(&mut javac);
        let options = ["--patch-module", &module, &format!("-javaagent:{}", jar.display())];
        let plain = printed(&program.plain(&jdk, &options).output().unwrap());
        assert_eq!(plain.0, Some(0), "{plain:?}");
        let watched = printed(&program.watched_behind(&jdk, &options).output().unwrap());
        assert_eq!(watched, plain, "{}", jdk.name());
        let log = program.log();
        assert!(log.contains("nothing is recorded: defining the runtime"), "{log}");
    }
}
