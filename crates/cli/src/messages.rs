//! Messages to the user on standard error: errors, warnings, details, and progress on a terminal.

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use unsnarl_commands::Feedback;

use crate::args::{ColorChoice, CommonArguments};

/// Writes messages to standard error.
pub(crate) struct Messages {
    color: ColorChoice,
    loudness: Loudness,
}

/// How much the user wants to read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Loudness {
    Quiet,
    Normal,
    Verbose,
}

/// Back to the beginning of the line, which is then empty.
const CLEAR: &str = "\r\x1b[K";

impl Messages {
    /// As the arguments say.
    pub(crate) fn new(arguments: &CommonArguments) -> Self {
        let loudness = match (arguments.quiet, arguments.verbose) {
            (true, _) => Loudness::Quiet,
            (_, true) => Loudness::Verbose,
            _ => Loudness::Normal,
        };
        Self { color: arguments.color, loudness }
    }

    /// How much is shown.
    pub(crate) fn loudness(&self) -> Loudness {
        self.loudness
    }

    /// Shows why the command could not do its job.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        say(self.color, "error", &format!("{error:#}"));
    }

    /// Whether a person sees standard error and wants to see progress there.
    fn shows_progress(&self) -> bool {
        self.loudness >= Loudness::Normal
            && io::stderr().is_terminal()
            && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
    }
}

impl Feedback for Messages {
    fn progress(&self, phase: Option<&str>) {
        if self.shows_progress() {
            let line = phase.map_or(String::new(), |phase| format!("unsnarl: {phase} …"));
            let mut stream = io::stderr().lock();
            // A terminal that is gone needs no progress.
            let _ = write!(stream, "{CLEAR}{line}").and_then(|()| stream.flush());
        }
    }

    fn warn(&self, message: &str) {
        if self.loudness >= Loudness::Normal {
            say(self.color, "warning", message);
        }
    }

    fn detail(&self, message: &str) {
        if self.loudness >= Loudness::Verbose {
            say(self.color, "note", message);
        }
    }
}

/// Writes one message to standard error. A message that cannot be written is lost: there is nowhere
/// left to say so.
pub(crate) fn say(color: ColorChoice, label: &str, message: &str) {
    let stream = io::stderr().lock();
    let mut stream = match color {
        ColorChoice::Auto => anstream::AutoStream::auto(stream),
        ColorChoice::Always => anstream::AutoStream::always_ansi(stream),
        ColorChoice::Never => anstream::AutoStream::never(stream),
    };
    let style = match label {
        "error" => AnsiColor::Red.on_default().bold(),
        "warning" => AnsiColor::Yellow.on_default().bold(),
        _ => Style::new().bold(),
    };
    let _ = writeln!(stream, "unsnarl: {style}{label}{style:#}: {message}");
}
