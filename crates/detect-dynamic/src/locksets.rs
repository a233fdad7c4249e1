//! Which locks a thread holds, as one small id, so that it can be kept with every access.
//!
//! The locks of a thread are a stack, and stacks share what is below their tops: a set is its newest
//! lock and the set without it.

use rustc_hash::FxHashMap;
use unsnarl_entity::{PrimaryMap, SecondaryMap, entity_id};
use unsnarl_trace::{Event, LockId, Operation, ThreadId};

entity_id! {
    /// Some locks, in the order in which a thread has acquired them.
    pub(crate) struct LocksetId("lockset");
}

/// A deeper stack of locks comes from a trace that lacks releases; what is above is not kept.
const DEEPEST: u32 = 256;

/// The locks that threads hold.
#[derive(Debug)]
pub(crate) struct Locksets {
    sets: PrimaryMap<LocksetId, Lockset>,
    empty: LocksetId,
    larger: FxHashMap<(LocksetId, LockId), LocksetId>,
    held: SecondaryMap<ThreadId, LocksetId>,
    /// What a waiting thread will hold again.
    before_wait: SecondaryMap<ThreadId, LocksetId>,
}

#[derive(Clone, Copy, Debug)]
struct Lockset {
    /// The newest lock and the set without it; nothing for the empty set.
    newest: Option<(LockId, LocksetId)>,
    depth: u32,
}

impl Default for Locksets {
    fn default() -> Self {
        let mut sets = PrimaryMap::new();
        let empty = sets.push(Lockset { newest: None, depth: 0 });
        Self {
            sets,
            empty,
            larger: FxHashMap::default(),
            held: SecondaryMap::with_default(empty),
            before_wait: SecondaryMap::with_default(empty),
        }
    }
}

impl Locksets {
    /// Takes in what an event acquires or releases.
    #[inline]
    pub(crate) fn on(&mut self, event: &Event) {
        let thread = event.thread;
        let held = self.held[thread];
        self.held[thread] = match event.operation {
            Operation::Acquire(lock) | Operation::AcquireShared(lock) => self.with(held, lock),
            Operation::Release(lock) | Operation::ReleaseShared(lock) => self.without(held, lock),
            Operation::Wait(lock) => {
                self.before_wait[thread] = held;
                let locks = self.locks(held);
                let others = locks.into_iter().filter(|&other| other != lock);
                others.fold(self.empty, |set, other| self.with(set, other))
            }
            Operation::Wake(lock) => {
                let before = self.before_wait[thread];
                if self.locks(before).contains(&lock) { before } else { self.with(held, lock) }
            }
            _ => return,
        };
    }

    /// What a thread holds now.
    #[inline]
    pub(crate) fn held(&self, thread: ThreadId) -> LocksetId {
        self.held[thread]
    }

    /// The locks of a set, the one that was acquired first, first; a lock that was entered several
    /// times, as often.
    pub(crate) fn locks(&self, set: LocksetId) -> Vec<LockId> {
        let mut locks = Vec::new();
        let mut rest = set;
        while let Some((lock, others)) = self.sets[rest].newest {
            locks.push(lock);
            rest = others;
        }
        locks.reverse();
        locks
    }

    fn with(&mut self, set: LocksetId, lock: LockId) -> LocksetId {
        let depth = self.sets[set].depth + 1;
        if depth > DEEPEST {
            return set;
        }
        let sets = &mut self.sets;
        *self
            .larger
            .entry((set, lock))
            .or_insert_with(|| sets.push(Lockset { newest: Some((lock, set)), depth }))
    }

    /// The set without the newest of these locks. Releasing what is not held changes nothing.
    fn without(&mut self, set: LocksetId, lock: LockId) -> LocksetId {
        match self.sets[set].newest {
            None => set,
            Some((newest, others)) if newest == lock => others,
            Some(_) => {
                let mut locks = self.locks(set);
                let Some(position) = locks.iter().rposition(|&held| held == lock) else {
                    return set;
                };
                locks.remove(position);
                locks.into_iter().fold(self.empty, |set, held| self.with(set, held))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use unsnarl_entity::EntityId;
    use unsnarl_trace::SiteId;

    use super::*;

    fn held(steps: &[Operation]) -> Vec<usize> {
        let mut locksets = Locksets::default();
        let thread = ThreadId::from_index(3);
        for &operation in steps {
            locksets.on(&Event { thread, site: SiteId::from_index(0), operation });
        }
        locksets.locks(locksets.held(thread)).into_iter().map(EntityId::index).collect()
    }

    #[test]
    fn locks_are_held_from_acquire_to_release() {
        use Operation::{Acquire, Release, Wait, Wake};
        let [a, b] = [0, 1].map(LockId::from_index);
        assert_eq!(held(&[]), []);
        assert_eq!(held(&[Acquire(a), Acquire(b)]), [0, 1]);
        assert_eq!(held(&[Acquire(a), Acquire(b), Release(b)]), [0]);
        assert_eq!(held(&[Acquire(a), Acquire(b), Release(a)]), [1]);
        assert_eq!(held(&[Acquire(a), Acquire(a), Release(a)]), [0]);
        assert_eq!(held(&[Release(a), Acquire(b), Release(a)]), [1]);
        assert_eq!(held(&[Acquire(a), Acquire(b), Acquire(a), Wait(a)]), [1]);
        assert_eq!(held(&[Acquire(a), Acquire(b), Acquire(a), Wait(a), Wake(a)]), [0, 1, 0]);
        assert_eq!(held(&[Wake(a)]), [0]);
    }

    #[test]
    fn a_trace_without_releases_takes_bounded_memory() {
        let steps: Vec<Operation> =
            (0..1000).map(|lock| Operation::Acquire(LockId::from_index(lock))).collect();
        assert_eq!(held(&steps).len(), DEEPEST as usize);
    }
}
