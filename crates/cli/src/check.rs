//! `unsnarl check`: the static detectors on a program or a library.

use unsnarl_commands::check;

use crate::args::CheckArguments;
use crate::output::Output;
use crate::{ExitStatus, report};

/// Runs the command.
pub(crate) fn run(arguments: &CheckArguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let CheckArguments { accepted, source, format, fail_on, .. } = arguments;
    let options = arguments.options();
    let reviewed = check::check(&options, &accepted.review(source), output.messages())?;
    report::write(&reviewed, *format, accepted.show_suppressed, output)?;
    Ok(fail_on.status(&reviewed.report))
}
