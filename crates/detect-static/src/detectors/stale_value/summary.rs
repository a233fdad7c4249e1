//! What callers need to know about a method: the shared values that it returns, what it does with its
//! arguments, and what it writes.

use std::collections::BTreeSet;
use std::sync::Arc;

use smallvec::SmallVec;
use unsnarl_program::MethodId;
use unsnarl_program::heap::ObjectId;
use unsnarl_symbolic::{Accessed, EventId};

use super::base::Base;
use super::reads::Guards;
use crate::code::Site;

/// The most returned values, uses of arguments and writes that a method is known for.
const MOST: usize = 24;
/// Through how many calls it is known what a method writes.
const DEEPEST: u8 = 2;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Source {
    /// It was read.
    Read(EventId),
    /// The caller has passed it.
    Parameter(u16),
}

/// That a value comes from a source: the state of a register in [Artho04 §3], where a monitor block is given by
/// the guards of the read that are not held any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taint {
    pub(super) source: Source,
    /// The object from which it was read, if that has a name here.
    pub(super) base: Option<Base>,
    /// The guards of the read that were given back since.
    pub(super) released: Guards,
    /// Where the value got stale.
    pub(super) release: Option<Site>,
}

impl Taint {
    /// Of a value that has just been read or passed.
    pub(super) fn new(source: Source, base: Option<Base>) -> Self {
        Self { source, base, released: 0, release: None }
    }

    fn key(&self) -> (Source, Guards, &Option<Base>) {
        (self.source, self.released, &self.base)
    }
}

/// What is known of a value; sorted by source, guards and base.
pub(super) type Taints = SmallVec<[Taint; 1]>;

/// Adds what is not known yet; says whether anything was new.
pub(super) fn unite(taints: &mut Taints, others: &[Taint]) -> bool {
    let mut is_new = false;
    for taint in others {
        if let Err(at) = taints.binary_search_by(|known| known.key().cmp(&taint.key())) {
            taints.insert(at, taint.clone());
            is_new = true;
        }
    }
    is_new
}

/// What becomes of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It is stored in a shared variable, or what is computed from it is.
    Stored(Write),
    /// A branch that depends on it decides whether a shared variable is written.
    Decides {
        branch: Site,
        /// Whether as the test of a loop with the write in it.
        is_loop: bool,
        write: Write,
    },
    /// It is used in any way.
    Any {
        /// Where.
        place: Site,
        /// Whether it becomes part of a text, or is handed to a library that returns nothing.
        is_shown: bool,
    },
}

/// A write of a shared variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) event: EventId,
    /// The object that is written, if it has a name here.
    pub(super) base: Option<Base>,
    /// The variables that are read again to decide about the write, in the same scope of a lock.
    pub(super) checked: SmallVec<[Accessed; 1]>,
    /// Through how many calls it is done.
    pub(super) depth: u8,
}

/// What callers need to know about a method in a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) returned: Taints,
    /// What becomes of arguments, by their number.
    pub(super) uses: Vec<(u16, Use)>,
    pub(super) writes: Vec<Write>,
    /// Locks that it gives back for a while by waiting.
    pub(super) waits: Vec<Arc<[ObjectId]>>,
}

impl Summary {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn add_use(&mut self, parameter: u16, what: Use) {
        let used = (parameter, what);
        if self.uses.len() < MOST && !self.uses.contains(&used) {
            self.uses.push(used);
        }
    }

    pub(super) fn add_write(&mut self, write: &Write) {
        let is_new = self.writes.iter().all(|known| known.event != write.event);
        if is_new && write.depth < DEEPEST && self.writes.len() < MOST {
            self.writes.push(Write { depth: write.depth + 1, ..write.clone() });
        }
    }

    pub(super) fn add_wait(&mut self, lock: &Arc<[ObjectId]>) {
        if self.waits.len() < MOST && !self.waits.contains(lock) {
            self.waits.push(Arc::clone(lock));
        }
    }

    pub(super) fn add_returned(&mut self, taints: &[Taint]) {
        let read = taints.iter().filter(|taint| matches!(taint.source, Source::Read(_)));
        let left = MOST.saturating_sub(self.returned.len());
        let read: Taints = read.take(left).cloned().collect();
        unite(&mut self.returned, &read);
    }
}

/// A value that is used although it is stale.
#[derive(Clone, Debug)]
pub(super) struct Stale {
    /// The method in which reading, releasing and using meet.
    pub(super) method: MethodId,
    pub(super) read: EventId,
    /// The object from which it was read, if that has a name in the method.
    pub(super) base: Option<Base>,
    pub(super) release: Site,
    pub(super) used: Use,
}

/// Reads of variables that are written again before the lock is given back, with these writes: who reads takes
/// the value away.
pub(super) type Taken = BTreeSet<(EventId, EventId)>;
