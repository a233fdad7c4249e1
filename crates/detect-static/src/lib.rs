//! The static detectors, one file each, and the table of them. They judge what the symbolic execution
//! found; they know neither bytes nor output.

use unsnarl_findings::Finding;
use unsnarl_program::Program;
use unsnarl_symbolic::Execution;

/// What to look for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Also judge elements of arrays. Threads often work on different parts of one array, which the
    /// analysis cannot see.
    pub arrays: bool,
}

/// What the detectors have to say.
#[derive(Debug, Default)]
pub struct Checked {
    /// The findings, in no order.
    pub findings: Vec<Finding>,
    /// What could not be judged, one sentence each.
    pub notes: Vec<String>,
    /// Counts, by name.
    pub stats: Vec<(&'static str, u64)>,
}

/// Runs all detectors.
pub fn check(program: &mut Program<'_>, execution: &Execution<'_>, options: &Options) -> Checked {
    let _ = (program, execution, options);
    Checked::default()
}

/// Says all that is known about a field: who accesses it, with which locks, and why it was or was not
/// reported. `class` and `field` are names as in Java source. `None` if the input has no such field.
pub fn explain_field(
    program: &mut Program<'_>,
    execution: &Execution<'_>,
    checked: &Checked,
    class: &str,
    field: &str,
) -> Option<Vec<String>> {
    let _ = (program, execution, checked, class, field);
    None
}
