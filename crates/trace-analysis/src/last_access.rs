//! The last accesses to a variable, with when they were: what happens-before compares.

use unsnarl_entity::EntityId;
use unsnarl_events::SiteId;

use crate::clocks::{Clocks, Epoch, ThreadClock};
use crate::thread_contexts::{AccessMode, AccessRecord, ContextId, ThreadContexts};

/// The last access of a kind: when and by whom, where, called from where and with which locks, in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastAccess {
    /// When, and by whom.
    pub epoch: Epoch,
    /// Where.
    pub site: SiteId,
    /// Called from where, and with which locks.
    pub context: ContextId,
}

impl LastAccess {
    /// No access.
    #[inline]
    pub fn never() -> Self {
        Self { epoch: Epoch::NEVER, site: SiteId::from_index(0), context: ContextId::default() }
    }

    /// Whether it comes before what the thread does now; true if it never was.
    #[inline]
    pub fn is_known(self, by: &ThreadClock) -> bool {
        by.knows(self.epoch)
    }

    /// The access, with who made it.
    pub fn seen(
        self,
        kind: AccessMode,
        clocks: &Clocks,
        contexts: &ThreadContexts,
    ) -> AccessRecord {
        let thread = clocks.thread_at(self.epoch);
        let (calls, locks) = contexts.of(self.context);
        AccessRecord { thread, kind, site: self.site, calls, locks }
    }
}

/// Puts an access among those of other slots, in their order. A slot that passes to another thread passes to one that comes
/// after all that the first did, so that the last access says everything about the slot.
pub fn put(lasts: &mut Vec<LastAccess>, last: LastAccess) {
    put_by(lasts, last, |last| last.epoch);
}

/// The same of whatever knows when it was.
pub fn put_by<T>(lasts: &mut Vec<T>, new: T, epoch: impl Fn(&T) -> Epoch) {
    if epoch(&new) == Epoch::NEVER {
        return;
    }
    let slot = |it: &T| epoch(it).slot().index();
    match lasts.binary_search_by_key(&slot(&new), slot) {
        Ok(place) => lasts[place] = new,
        Err(place) => lasts.insert(place, new),
    }
}
