//! What a command of Unsnarl does, as a library: options in, a report out.
//!
//! A function here takes a plain struct of options and a [`Feedback`], to which it reports progress and warnings, and
//! returns data or a [`CommandError`]. It parses no arguments, writes no result and ends no process: that is left to
//! the caller.
//!
//! A command is a module: [`check`], [`run`], [`analyze`], [`explain`]. They share [`session`], the program that options
//! name, and [`analysis`], its symbolic execution; [`dynamic`], the detectors on a trace; [`joining`] and [`confirm`], which bring
//! findings of several invocations together; [`sources`] and [`suppression`], which review findings before they are
//! reported.

pub mod analysis;
pub mod analyze;
pub mod check;
pub mod confirm;
pub mod dynamic;
mod error;
pub mod explain;
mod feedback;
pub mod joining;
pub mod near;
pub mod run;
pub mod session;
pub mod sources;
pub mod suppression;

use std::path::PathBuf;

use unsnarl_findings::{Report, Rule, Tool};
use unsnarl_report::source::Sources;

pub use error::CommandError;
pub use feedback::{Feedback, Phases, Silent};

use suppression::SuppressionOptions;

/// Who makes reports.
#[must_use]
pub fn tool() -> Tool {
    Tool { name: "unsnarl".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// What is done with findings when they are there, whichever command found them.
#[derive(Clone, Debug, Default)]
pub struct ReviewOptions {
    /// Folders and jars with source.
    pub source: Vec<PathBuf>,
    /// Which findings are accepted.
    pub suppression: SuppressionOptions,
}

/// A report, and the source that it is about.
pub struct Reviewed {
    /// The report, in which what is accepted is suppressed.
    pub report: Report,
    /// The source of its accesses, as far as it was found.
    pub sources: Sources,
}

/// Finds the source of a report, near the `inputs` as well, and suppresses what is accepted. `was_looked_for` says which rules the
/// command looked for.
fn review(
    report: Report,
    inputs: &[PathBuf],
    options: &ReviewOptions,
    was_looked_for: impl Fn(Rule) -> bool,
    feedback: &dyn Feedback,
) -> Result<Reviewed, CommandError> {
    let sources = sources::find(report.findings(), &options.source, inputs, feedback)?;
    let report = suppression::apply(report, &options.suppression, &sources, was_looked_for)?;
    Ok(Reviewed { report, sources })
}
