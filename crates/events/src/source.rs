//! Where events come from.

use std::io;
use std::path::PathBuf;

use crate::{Event, Filters, Tables};

/// Something that delivers a trace, in batches so that nobody pays for a call per event.
pub trait Source {
    /// Replaces what is in `batch` by the next events, in their order. An empty batch means that the
    /// trace has ended.
    ///
    /// # Errors
    /// When the trace cannot be read any further. Damage that can be skipped is no error: see
    /// [`Source::problems`].
    fn next_batch(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError>;

    /// Asks for accesses to elements of arrays as [`Operation::ReadElements`](crate::Operation::ReadElements) and the like.
    /// Without this every element is a variable. To be called before the first batch.
    fn keep_elements(&mut self) {}

    /// Asks for [`Operation::ForgetLock`](crate::Operation::ForgetLock) and the like when locks and channels are gone. Whoever
    /// keeps their ids must handle these: the ids are given again. To be called before the first batch.
    fn report_retired(&mut self) {}

    /// What the ids in the events so far stand for.
    fn tables(&self) -> &Tables;

    /// What had to be skipped so far.
    fn problems(&self) -> &Problems;

    /// Whether the accesses to a variable stand in the order in which they happened, and all of them are there, so
    /// that a read reads what the last write before it wrote.
    fn is_exact(&self) -> bool {
        true
    }

    /// The filters that have left accesses out, as far as the trace says.
    fn filters(&self) -> Filters {
        Filters::NONE
    }
}

/// Why a trace cannot be read any further.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("cannot open {}: {error}", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The file cannot be read.
    #[error("cannot read {}: {error}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The file is no trace.
    #[error("{} is no trace: {reason}", file.display())]
    NoTrace {
        /// The file.
        file: PathBuf,
        /// Why not.
        reason: String,
    },
}

/// What was skipped in a trace, and what was not recorded: all of it counted, the first few reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    first: Vec<Problem>,
    count: u64,
    lost: Vec<String>,
    lost_count: u64,
}

impl Problems {
    /// How many problems are reported one by one.
    const MOST_TOLD: usize = 5;

    /// Takes a problem in. What it says is only made when it will be reported.
    pub fn add(&mut self, problem: impl FnOnce() -> Problem) {
        self.count += 1;
        if self.first.len() < Self::MOST_TOLD {
            self.first.push(problem());
        }
    }

    /// Takes in what whoever recorded the trace says is missing.
    pub fn add_lost(&mut self, what: &str) {
        self.lost_count += 1;
        if self.lost.len() < Self::MOST_TOLD {
            self.lost.push(what.to_owned());
        }
    }

    /// The first things that were not recorded.
    #[must_use]
    pub fn lost(&self) -> &[String] {
        &self.lost
    }

    /// How many things were not recorded.
    #[must_use]
    pub fn lost_count(&self) -> u64 {
        self.lost_count
    }

    /// The first problems.
    #[must_use]
    pub fn first(&self) -> &[Problem] {
        &self.first
    }

    /// How many problems there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// Something that was skipped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: expected {expected}, found {found}")]
pub struct Problem {
    /// Where in the file: `line 12`, `byte 26`.
    pub place: String,
    /// What should have been there.
    pub expected: &'static str,
    /// What was there instead.
    pub found: String,
}
