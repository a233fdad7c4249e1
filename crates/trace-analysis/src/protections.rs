//! Sets of locks that protect an access, as small ids, with what two of them have in common computed once.
//!
//! A write is protected only by locks that its thread has for itself; a read also by those that it shares with other
//! readers, since they keep writers out.

use rustc_hash::FxHashMap;
use unsnarl_entity::{EntityId, UniqueMap, entity_id};

use crate::locksets::{LocksetId, Locksets, Mode};
use crate::retained_locks::RetainedLockId;
use crate::thread_contexts::{AccessMode, AccessRecord};

entity_id! {
    /// A set of locks, whatever the order in which they were acquired.
    pub struct ProtectionId("protection");
}

/// All such sets of a trace.
#[derive(Debug, Default)]
pub struct Protections {
    /// In the order of the ids.
    sets: UniqueMap<ProtectionId, Vec<RetainedLockId>>,
    of: FxHashMap<(LocksetId, AccessMode), ProtectionId>,
    common: FxHashMap<(ProtectionId, ProtectionId), ProtectionId>,
}

impl Protections {
    /// What protects an access.
    #[inline]
    pub fn of(&mut self, seen: &AccessRecord, locksets: &Locksets) -> ProtectionId {
        *self.of.entry((seen.locks, seen.kind)).or_insert_with(|| {
            let held = locksets.held_in(seen.locks).into_iter();
            let protecting =
                held.filter(|held| seen.kind == AccessMode::Read || held.mode == Mode::Exclusive);
            let mut locks: Vec<RetainedLockId> = protecting.map(|held| held.lock).collect();
            locks.sort_unstable();
            locks.dedup();
            self.sets.intern(locks)
        })
    }

    /// The locks that are in both.
    #[inline]
    pub fn common(&mut self, one: ProtectionId, other: ProtectionId) -> ProtectionId {
        if one == other {
            return one;
        }
        let pair = if one.index() < other.index() { (one, other) } else { (other, one) };
        *self.common.entry(pair).or_insert_with(|| {
            let others = &self.sets[other];
            let both = self.sets[one].iter().filter(|lock| others.contains(lock));
            let both = both.copied().collect();
            self.sets.intern(both)
        })
    }

    /// The locks that are in both, where no set yet stands for all locks.
    pub fn refined(&mut self, set: Option<ProtectionId>, by: ProtectionId) -> ProtectionId {
        set.map_or(by, |set| self.common(set, by))
    }

    /// Whether no lock is in both.
    pub fn are_apart(&mut self, one: ProtectionId, other: ProtectionId) -> bool {
        let common = self.common(one, other);
        self.is_empty(common)
    }

    /// Whether all locks of one are in the other.
    pub fn is_part(&mut self, one: ProtectionId, other: ProtectionId) -> bool {
        self.common(one, other) == one
    }

    /// Whether there is no lock in it.
    pub fn is_empty(&self, set: ProtectionId) -> bool {
        self.sets[set].is_empty()
    }
}
