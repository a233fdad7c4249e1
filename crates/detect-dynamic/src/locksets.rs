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

/// How a lock is held: by its owner alone, or together with other readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    Exclusive,
    Shared,
}

/// A lock and how it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Held {
    pub(crate) lock: LockId,
    pub(crate) mode: Mode,
}

impl Held {
    /// Whether a thread that holds this keeps another one from having `other`.
    pub(crate) fn excludes(self, other: Self) -> bool {
        self.lock == other.lock && (self.mode == Mode::Exclusive || other.mode == Mode::Exclusive)
    }
}

/// A deeper stack of locks comes from a trace that lacks releases; what is above is not kept.
const DEEPEST: u32 = 256;

/// The locks that threads hold.
#[derive(Debug)]
pub(crate) struct Locksets {
    sets: PrimaryMap<LocksetId, Lockset>,
    empty: LocksetId,
    larger: FxHashMap<(LocksetId, Held), LocksetId>,
    /// The sets of one lock, held exclusively: most sets are such.
    single: SecondaryMap<LockId, Option<LocksetId>>,
    held: SecondaryMap<ThreadId, LocksetId>,
    /// What a waiting thread will hold again.
    before_wait: SecondaryMap<ThreadId, LocksetId>,
}

#[derive(Clone, Copy, Debug)]
struct Lockset {
    /// The newest lock and the set without it; nothing for the empty set.
    newest: Option<(Held, LocksetId)>,
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
            single: SecondaryMap::with_default(None),
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
            Operation::Acquire(lock) => self.with(held, Held { lock, mode: Mode::Exclusive }),
            Operation::AcquireShared(lock) => self.with(held, Held { lock, mode: Mode::Shared }),
            Operation::Release(lock) => self.without(held, Held { lock, mode: Mode::Exclusive }),
            Operation::ReleaseShared(lock) => self.without(held, Held { lock, mode: Mode::Shared }),
            Operation::Wait(lock) => {
                self.before_wait[thread] = held;
                let others = self.held_in(held).into_iter().filter(|other| other.lock != lock);
                others.fold(self.empty, |set, other| self.with(set, other))
            }
            Operation::Wake(lock) => {
                let before = self.before_wait[thread];
                match self.locks(before).contains(&lock) {
                    true => before,
                    false => self.with(held, Held { lock, mode: Mode::Exclusive }),
                }
            }
            _ => return,
        };
    }

    /// What a thread holds now.
    #[inline]
    pub(crate) fn held(&self, thread: ThreadId) -> LocksetId {
        self.held[thread]
    }

    /// Whether there is no lock in a set.
    #[inline]
    pub(crate) fn is_empty(&self, set: LocksetId) -> bool {
        set == self.empty
    }

    /// How many locks are in a set.
    #[inline]
    pub(crate) fn depth(&self, set: LocksetId) -> u32 {
        self.sets[set].depth
    }

    /// How often a lock is in a set.
    #[inline]
    pub(crate) fn count(&self, set: LocksetId, lock: LockId) -> usize {
        let below = |set: LocksetId| self.sets[set].newest;
        let held = std::iter::successors(below(set), |&(_, others)| below(others));
        held.filter(|(held, _)| held.lock == lock).count()
    }

    /// The locks of a set, the one that was acquired first, first; a lock that was entered several
    /// times, as often.
    pub(crate) fn locks(&self, set: LocksetId) -> Vec<LockId> {
        self.held_in(set).into_iter().map(|held| held.lock).collect()
    }

    /// The locks of a set and how they are held, in the same order.
    pub(crate) fn held_in(&self, set: LocksetId) -> Vec<Held> {
        let mut all = Vec::new();
        let mut rest = set;
        while let Some((held, others)) = self.sets[rest].newest {
            all.push(held);
            rest = others;
        }
        all.reverse();
        all
    }

    #[inline]
    fn with(&mut self, set: LocksetId, held: Held) -> LocksetId {
        if set != self.empty || held.mode != Mode::Exclusive {
            return self.larger(set, held);
        }
        match self.single[held.lock] {
            Some(single) => single,
            None => {
                let single = self.larger(set, held);
                self.single[held.lock] = Some(single);
                single
            }
        }
    }

    fn larger(&mut self, set: LocksetId, held: Held) -> LocksetId {
        let depth = self.sets[set].depth + 1;
        if depth > DEEPEST {
            return set;
        }
        let sets = &mut self.sets;
        *self
            .larger
            .entry((set, held))
            .or_insert_with(|| sets.push(Lockset { newest: Some((held, set)), depth }))
    }

    /// The set without the newest of these locks, if possible one that is held so. Releasing what is not held
    /// changes nothing.
    fn without(&mut self, set: LocksetId, released: Held) -> LocksetId {
        match self.sets[set].newest {
            None => set,
            Some((newest, others)) if newest == released => others,
            Some(_) => {
                let mut all = self.held_in(set);
                let same = all.iter().rposition(|&held| held == released);
                let same_lock = || all.iter().rposition(|held| held.lock == released.lock);
                let Some(position) = same.or_else(same_lock) else {
                    return set;
                };
                all.remove(position);
                all.into_iter().fold(self.empty, |set, held| self.with(set, held))
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
    fn a_release_takes_the_lock_that_is_held_so() {
        use Operation::{Acquire, AcquireShared, Release, ReleaseShared};
        let lock = LockId::from_index(0);
        let modes = |steps: &[Operation]| -> Vec<Mode> {
            let mut locksets = Locksets::default();
            let (thread, site) = (ThreadId::from_index(0), SiteId::from_index(0));
            steps.iter().for_each(|&operation| locksets.on(&Event { thread, site, operation }));
            locksets.held_in(locksets.held(thread)).iter().map(|held| held.mode).collect()
        };
        let downgraded = [Acquire(lock), AcquireShared(lock), Release(lock)];
        assert_eq!(modes(&downgraded), [Mode::Shared]);
        assert_eq!(
            modes(&[Acquire(lock), AcquireShared(lock), ReleaseShared(lock)]),
            [Mode::Exclusive]
        );
        assert_eq!(modes(&[AcquireShared(lock), Release(lock)]), []);
    }

    #[test]
    fn a_trace_without_releases_takes_bounded_memory() {
        let steps: Vec<Operation> =
            (0..1000).map(|lock| Operation::Acquire(LockId::from_index(lock))).collect();
        assert_eq!(held(&steps).len(), DEEPEST as usize);
    }
}
