//! The last accesses to a variable, with when they were: what happens-before and thread periods compare.

use unsnarl_entity::EntityId;
use unsnarl_trace::SiteId;

use crate::calls::CallsId;
use crate::clocks::{Clocks, Epoch, ThreadClock};
use crate::locksets::LocksetId;
use crate::races::{Kind, Seen};

/// The last access of a kind: when and by whom, where, called from where, and with which locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Last {
    pub(crate) epoch: Epoch,
    pub(crate) site: SiteId,
    calls: CallsId,
    pub(crate) locks: LocksetId,
}

impl Last {
    /// An access that is made now.
    #[inline]
    pub(crate) fn new(epoch: Epoch, seen: &Seen) -> Self {
        Self { epoch, site: seen.site, calls: seen.calls, locks: seen.locks }
    }

    /// No access.
    pub(crate) fn never() -> Self {
        Self {
            epoch: Epoch::NEVER,
            site: SiteId::from_index(0),
            calls: CallsId::none(),
            locks: LocksetId::from_index(0),
        }
    }

    /// Whether it comes before what the thread does now; true if it never was.
    #[inline]
    pub(crate) fn is_known(self, by: &ThreadClock) -> bool {
        by.knows(self.epoch)
    }

    /// The access, with who made it.
    pub(crate) fn seen(self, kind: Kind, clocks: &Clocks) -> Seen {
        let thread = clocks.thread_at(self.epoch);
        Seen { thread, kind, site: self.site, calls: self.calls, locks: self.locks }
    }
}

/// Puts an access among those of other slots, in their order. A slot that passes to another thread passes to one that comes
/// after all that the first did, so that the last access says everything about the slot.
pub(crate) fn put(lasts: &mut Vec<Last>, last: Last) {
    put_by(lasts, last, |last| last);
}

/// The same of accesses with more than that.
pub(crate) fn put_by<T>(lasts: &mut Vec<T>, new: T, last: impl Fn(&T) -> &Last) {
    if last(&new).epoch == Epoch::NEVER {
        return;
    }
    let slot = |it: &T| last(it).epoch.slot().index();
    match lasts.binary_search_by_key(&slot(&new), slot) {
        Ok(place) => lasts[place] = new,
        Err(place) => lasts.insert(place, new),
    }
}
