//! The program that is run: starts it with the agent, passes signals on to it, and waits for its end.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Origin;
use unsnarl_launch::{Agent, TOOL_OPTIONS, is_java};

use crate::error::{CommandError, Context};

/// The signals that are passed on to the program.
const SIGNALS: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// What the program reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// The streams of this process.
    Inherited,
    /// Nothing.
    None,
}

/// A program that was started.
pub(super) struct Program {
    child: Child,
    signals: signal_hook::iterator::backend::Handle,
}

impl Program {
    /// Starts the command with the agent.
    pub(super) fn start(
        command: &[OsString],
        agent: &Agent,
        streams: Streams,
    ) -> Result<Self, CommandError> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| CommandError::failed("there is no command to run"))?;
        let mut process = Command::new(program);
        if is_java(program) {
            process.args(agent.arguments(arguments));
        } else {
            let existing = std::env::var_os(TOOL_OPTIONS);
            process.args(arguments);
            process.env(TOOL_OPTIONS, agent.tool_options(existing.as_deref()));
        }
        if streams == Streams::None {
            process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        }
        // Signals that arrive from now on are queued until the child has started.
        let mut signals = SignalsInfo::<WithOrigin>::new(SIGNALS)
            .context(|| "cannot handle signals".to_owned())?;
        let handle = signals.handle();
        let child = process.spawn().context(|| format!("cannot start {}", program.display()))?;
        let id = child.id();
        std::thread::spawn(move || {
            for origin in signals.forever() {
                pass_on(&origin, id);
            }
        });
        Ok(Self { child, signals: handle })
    }

    /// Waits for its end.
    pub(super) fn wait(mut self) -> Result<Ended, CommandError> {
        let status = self.child.wait().context(|| "cannot wait for the program".to_owned())?;
        self.signals.close();
        Ok(Ended(status))
    }
}

/// Sends a signal of another process to the child, which gets those of the terminal by itself.
fn pass_on(origin: &Origin, child: u32) {
    let process = i32::try_from(child).ok().and_then(Pid::from_raw);
    let signal = Signal::from_named_raw(origin.signal);
    if let (Some(_), Some(process), Some(signal)) = (origin.process, process, signal) {
        // The child may have ended meanwhile.
        let _ = kill_process(process, signal);
    }
}

/// How a program ended.
pub struct Ended(ExitStatus);

impl Ended {
    /// Whether it failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.code() != 0
    }

    /// Its exit status as shells report it: 128 + N if signal N killed it.
    #[must_use]
    pub fn code(&self) -> u8 {
        let signal = self.0.signal().map(|signal| 128 + signal);
        u8::try_from(self.0.code().or(signal).unwrap_or(0)).unwrap_or(u8::MAX)
    }

    /// What to say about it.
    pub(super) fn text(&self, program: &OsStr) -> String {
        let program = program.display();
        match (self.0.code(), self.0.signal()) {
            (Some(code), _) => format!("{program} ended with exit status {code}"),
            (None, Some(signal)) => format!("{program} was killed by signal {signal}"),
            (None, None) => format!("{program} ended"),
        }
    }
}
