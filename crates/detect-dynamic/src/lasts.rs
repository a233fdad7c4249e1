//! The last accesses to a variable, with when they were: what happens-before compares.

use unsnarl_entity::EntityId;
use unsnarl_trace::SiteId;

use crate::clocks::{Clocks, Epoch, ThreadClock};
use crate::races::{Around, Kind, Seen, Surroundings};

/// The last access of a kind: when and by whom, where, called from where and with which locks, in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Last {
    pub(crate) epoch: Epoch,
    pub(crate) site: SiteId,
    pub(crate) around: Around,
}

impl Last {
    /// No access.
    #[inline]
    pub(crate) fn never() -> Self {
        Self { epoch: Epoch::NEVER, site: SiteId::from_index(0), around: Around::default() }
    }

    /// Whether it comes before what the thread does now; true if it never was.
    #[inline]
    pub(crate) fn is_known(self, by: &ThreadClock) -> bool {
        by.knows(self.epoch)
    }

    /// The access, with who made it.
    pub(crate) fn seen(self, kind: Kind, clocks: &Clocks, surroundings: &Surroundings) -> Seen {
        let thread = clocks.thread_at(self.epoch);
        let (calls, locks) = surroundings.of(self.around);
        Seen { thread, kind, site: self.site, calls, locks }
    }
}

/// Puts an access among those of other slots, in their order. A slot that passes to another thread passes to one that comes
/// after all that the first did, so that the last access says everything about the slot.
pub(crate) fn put(lasts: &mut Vec<Last>, last: Last) {
    put_by(lasts, last, |last| last.epoch);
}

/// The same of whatever knows when it was.
pub(crate) fn put_by<T>(lasts: &mut Vec<T>, new: T, epoch: impl Fn(&T) -> Epoch) {
    if epoch(&new) == Epoch::NEVER {
        return;
    }
    let slot = |it: &T| epoch(it).slot().index();
    match lasts.binary_search_by_key(&slot(&new), slot) {
        Ok(place) => lasts[place] = new,
        Err(place) => lasts.insert(place, new),
    }
}
