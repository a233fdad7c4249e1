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
