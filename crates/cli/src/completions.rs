//! `unsnarl completions`: what a shell needs to complete command lines, generated from the argument definitions.

use clap::CommandFactory;
use clap_complete::Shell as Known;

use crate::ExitStatus;
use crate::args::{Arguments, CompletionsArguments, Shell};
use crate::output::Output;

/// Runs the command.
pub(crate) fn run(
    arguments: &CompletionsArguments,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let shell = match arguments.shell {
        Shell::Bash => Known::Bash,
        Shell::Zsh => Known::Zsh,
        Shell::Fish => Known::Fish,
    };
    clap_complete::generate(shell, &mut Arguments::command(), "unsnarl", &mut output.result());
    Ok(ExitStatus::Clean)
}
