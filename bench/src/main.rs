//! How fast the foundation is, on one core, and how it grows.
//!
//! ```text
//! cargo run --release -p unsnarl-bench                      everything
//! cargo run --release -p unsnarl-bench -- classes           the classes of the JDK
//! cargo run --release -p unsnarl-bench -- callgraph A.jar…  call graphs, by default of Debian's jars
//! cargo run --release -p unsnarl-bench -- check A.jar…      `unsnarl check`, by default on the programs
//!                                                           in `programs` and on Debian's jars
//! cargo run --release -p unsnarl-bench -- detectors         what each dynamic detector costs
//! cargo run --release -p unsnarl-bench -- live [PROGRAM…]   programs with `unsnarl run` and without it
//! cargo run --release -p unsnarl-bench -- record [PROGRAM…] programs with the agent and without it
//! cargo run --release -p unsnarl-bench -- sessions DIR…     reading recordings, and races in them
//! cargo run --release -p unsnarl-bench -- traces [MILLIONS] the same of traces that are made, as text and as sessions
//! ```
//!
//! Every figure is the best of several runs in one process, memory is measured in a process of its
//! own; peers run on the same bytes in the same run. Nothing is asserted: the figures are for people.

#![allow(clippy::print_stdout, reason = "a benchmark is a program that prints")]

mod callgraph;
mod check;
mod classes;
mod detectors;
mod measure;
mod record;
mod sessions;
mod traces;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        [] => classes::run().and_then(|()| callgraph::run(&[])),
        ["classes"] => classes::run(),
        ["callgraph", jars @ ..] => callgraph::run(jars),
        ["check", jars @ ..] => check::run(jars),
        ["detectors"] => detectors::run(),
        ["live", names @ ..] => record::live(names),
        ["record", names @ ..] => record::run(names),
        ["sessions", folders @ ..] => traces::recordings(folders),
        ["traces"] => traces::run("20"),
        ["traces", millions] => traces::run(millions),
        // Run by ourselves, for a fresh process.
        ["memory", count] => classes::print_memory(count),
        ["detector", name, trace] => detectors::print_one(name, trace),
        _ => Err(
            "usage: unsnarl-bench [classes | callgraph JAR… | check [programs | JAR[=ENTRY]…] | \
                 detectors | live [PROGRAM…] | record [PROGRAM…] | sessions DIR… | traces [MILLIONS]]"
                .to_owned(),
        ),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("{message}");
            ExitCode::from(2)
        }
    }
}
