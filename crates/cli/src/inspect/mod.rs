//! `unsnarl inspect`: shows what the later analyses will see.

use anyhow::bail;

use crate::ExitStatus;
use crate::args::InspectArguments;
use crate::output::Output;

/// Runs the command.
pub(crate) fn run(
    _arguments: &InspectArguments,
    _output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    bail!("inspect cannot look at programs yet");
}
