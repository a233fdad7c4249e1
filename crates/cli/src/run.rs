//! `unsnarl run`: the dynamic detectors on a program while it runs.

use unsnarl_commands::run;

use crate::args::{ExitCodeOf, RunArguments};
use crate::output::Output;
use crate::{ExitStatus, report};

/// Runs the command. A program that fails makes it fail.
pub(crate) fn run(arguments: &RunArguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let RunArguments { accepted, source, format, fail_on, exit_code, .. } = arguments;
    let options = arguments.options();
    let (reviewed, ended) = run::run(&options, &accepted.review(source), output.messages())?;
    let written = report::write(&reviewed, *format, accepted.show_suppressed, output);
    // `unsnarl run … 2>&1 | head`: a reader that has gone does not make a success of a failure.
    if !output.reader_is_gone() {
        written?;
    }
    let of_findings = fail_on.status(&reviewed.report);
    let of_program = ExitStatus::Program(ended.code());
    Ok(match exit_code {
        Some(ExitCodeOf::Program) => of_program,
        Some(ExitCodeOf::Findings) => of_findings,
        None if ended.failed() => of_program,
        None => of_findings,
    })
}
