//! The static detectors, one file each, and the table of them. They judge what the symbolic execution
//! found; they know neither bytes nor output.
//!
//! | folder | holds |
//! |---|---|
//! | `detectors` | the rules, one file or folder each, and the table of them |
//! | `conflicts` | pairs of accesses that nothing keeps apart |
//! | `locks` | what code and threads do with locks |
//! | `code` | what the code of one method says by itself |
//! | `wording` | how findings call things, their reasons and hints |
//! | `explain` | all that is known about one field or method |

mod code;
mod conflicts;
mod detectors;
mod explain;
mod locks;
mod wording;

use std::sync::OnceLock;

use rayon::prelude::*;
use unsnarl_findings::{Finding, Rule};
use unsnarl_models::Models;
use unsnarl_program::Program;
use unsnarl_symbolic::Execution;

use conflicts::{Conflicting, Conflicts};
use locks::index::LockIndex;
use locks::uses::LockUse;
use wording::describe::Describe;
use wording::use_graph::UseGraphs;

pub use detectors::{DETECTORS, Detector};
pub use explain::{explain_field, explain_method};

/// What to look for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Also judge elements of arrays. Threads often work on different parts of one array, which the
    /// analysis cannot see.
    pub arrays: bool,
    /// Report every use of a stale value [Artho04 §3], not only those that others may notice.
    pub strict: bool,
    /// Find out how threads use what races are about, for people to look at.
    pub use_graphs: bool,
    /// Look only for these; for all, if there are none.
    pub rules: Vec<Rule>,
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
    /// The rules that were looked for.
    pub rules: Vec<Rule>,
}

/// What every detector is given.
struct Input<'i, 'm> {
    /// Program and execution, and names for what is in them.
    describe: &'i Describe<'i, 'm>,
    options: &'i Options,
    /// The pairs of accesses that nothing keeps apart; nothing unless they are wanted.
    conflicts: Option<Conflicts>,
    /// If they are wanted and can be made.
    use_graphs: Option<UseGraphs<'i, 'm>>,
    lock_index: OnceLock<LockIndex>,
    /// What the input does with locks; nothing unless a detector is wanted that looks at it.
    lock_use: LockUse,
}

impl Input<'_, '_> {
    /// The variables with pairs of accesses that nothing keeps apart.
    fn conflicting(&self) -> &[Conflicting] {
        self.conflicts.as_ref().map_or(&[], |conflicts| &conflicts.variables)
    }

    /// The lock events by what is done with which object.
    fn lock_index(&self) -> &LockIndex {
        self.lock_index.get_or_init(|| LockIndex::new(self.describe))
    }
}

/// Where every detector puts what it has to say.
type Output = Checked;

/// Runs the detectors of the wanted rules.
pub fn check(
    program: &mut Program<'_>,
    models: &Models,
    execution: &Execution<'_>,
    options: &Options,
) -> Checked {
    let is_wanted =
        |detector: &&Detector| options.rules.is_empty() || options.rules.contains(&detector.rule);
    let wanted: Vec<&Detector> = DETECTORS.iter().filter(is_wanted).collect();
    let lock_use = match wanted.iter().any(|detector| detector.is_about_code) {
        true => LockUse::new(program, models),
        false => LockUse::default(),
    };
    let describe = Describe::new(program, execution);
    let use_graphs = options.use_graphs.then(|| UseGraphs::new(&describe)).flatten();
    let is_about_races =
        |it: &&Detector| matches!(it.rule, Rule::DataRace | Rule::UnsafePublication);
    let conflicts =
        wanted.iter().any(is_about_races).then(|| conflicts::conflicts(&describe, options));
    let (describe, lock_index) = (&describe, OnceLock::new());
    let input = Input { describe, options, conflicts, use_graphs, lock_index, lock_use };
    let run = |detector: &&Detector| {
        let mut output = Output::default();
        (detector.run)(&input, &mut output);
        output
    };
    let mut checked = Checked::default();
    for (detector, output) in wanted.iter().zip(wanted.par_iter().map(run).collect::<Vec<_>>()) {
        checked.findings.extend(output.findings);
        checked.notes.extend(output.notes);
        checked.stats.extend(output.stats);
        checked.rules.push(detector.rule);
    }
    if let Some(conflicts) = &input.conflicts {
        checked.stats.extend(conflicts.stats.iter().copied());
        checked.notes.extend(conflicts.note());
    }
    checked
}
