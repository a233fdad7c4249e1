//! The command `unsnarl`: reads the arguments, runs one command and turns its outcome into an exit
//! status. It is the only crate that parses arguments, writes to the terminal and ends the process; what a command
//! does is in `unsnarl-commands`.

mod analyze;
mod args;
mod check;
mod completions;
mod config;
mod demo;
mod explain;
mod inspect;
mod messages;
mod output;
mod report;
mod run;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::args::{ColorChoice, Command};
use crate::output::Output;

/// What a command came to, apart from failing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// It did its job and found nothing that should fail a build.
    Clean,
    /// It did its job and found defects.
    Findings,
    /// That of the program that was run.
    Program(u8),
}

/// The status of an invocation that could not do its job. Clap's own errors have the same.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let arguments = match config::arguments(&words) {
        Ok(arguments) => arguments,
        Err(error) => return refused(&error),
    };
    let is_run = matches!(arguments.command, Command::Run(_));
    let opened =
        if is_run { Output::beside(&arguments.common) } else { Output::open(&arguments.common) };
    let mut output = match opened {
        Ok(output) => output,
        Err(error) => {
            messages::say(arguments.common.color, "error", &format!("{error:#}"));
            return ExitCode::from(FAILED);
        }
    };
    let outcome = match &arguments.command {
        Command::Check(check) => check::run(check, &mut output),
        Command::Run(run) => run::run(run, &mut output),
        Command::Analyze(analyze) => analyze::run(analyze, &mut output),
        Command::Report(report) => report::run(report, &mut output),
        Command::Explain(explain) => explain::run(explain, &mut output),
        Command::Inspect(inspect) => inspect::run(inspect, &mut output),
        Command::Demo(demo) => demo::run(demo, &mut output),
        Command::Config(config) => {
            config::run(config, arguments.common.config.as_ref(), &mut output)
        }
        Command::Completions(completions) => completions::run(completions, &mut output),
    };
    let finished = output.finish();
    let outcome = match outcome {
        // That nobody reads the report does not make a success of a program that failed.
        Ok(status @ ExitStatus::Program(_)) if output.reader_is_gone() => Ok(status),
        outcome => outcome.and_then(|status| finished.map(|()| status)),
    };
    match outcome {
        Ok(ExitStatus::Clean) => ExitCode::SUCCESS,
        Ok(ExitStatus::Findings) => ExitCode::from(1),
        Ok(ExitStatus::Program(code)) => ExitCode::from(code),
        // `unsnarl … | head`: whoever read the output has seen enough.
        Err(_) if output.reader_is_gone() => ExitCode::SUCCESS,
        Err(error) if error.is::<clap::Error>() => refused(&error),
        Err(error) => {
            output.messages().error(&error);
            ExitCode::from(FAILED)
        }
    }
}

/// Says why the command line or the configuration cannot be understood.
fn refused(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref::<clap::Error>() {
        Some(error) => {
            // Help that nobody reads to its end is no failure.
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(FAILED))
        }
        None => {
            messages::say(ColorChoice::Auto, "error", &format!("{error:#}"));
            ExitCode::from(FAILED)
        }
    }
}
