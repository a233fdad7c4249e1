//! The JVM as an oracle for the SSA form: programs are compiled, run in HotSpot, and run a second time
//! from their SSA bodies; results must be the same. If the lowering lost an assignment, took a value
//! from the wrong edge or mixed up the operand stack, they are not.
//!
//! Every program of `fixtures/ssa` is a test of its own with each compiler: `ssa/Switches/javac-17-25`.

mod fixtures;
mod interpreter;
mod java;
mod random;
mod subroutines;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let mut trials = fixtures::trials();
    let others: [(&str, fn()); 2] = [
        ("random_programs_run_alike", random::random_programs_run_alike),
        ("subroutines_run_alike", subroutines::subroutines_run_alike),
    ];
    trials.extend(others.map(|(name, check)| {
        Trial::test(name, move || {
            check();
            Ok(())
        })
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
