//! The call graph against programs whose calls are known: small ones with expectations on their lines
//! (`fixtures/threads`, `fixtures/callgraph`), and every program that can be run, whose executed
//! methods must all be reachable.
//!
//! Every fixture is a test of its own with each JDK: `callgraph/Fields/17`, `threads/Scheduled/25`.

mod calls;
mod executed;
mod fixture;
mod java;
mod programs;
mod threads;

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let trials = [calls::trials(), threads::trials(), executed::trials(), programs::trials()];
    let trials = trials.into_iter().flatten().collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
