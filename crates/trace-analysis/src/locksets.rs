//! Which locks a thread holds, as one small id, so that it can be kept with every access.
//!
//! The locks of a thread are a stack, and stacks share what is below their tops: a set is its newest
//! lock and the set without it.
//!
//! Sets with locks that have died stay as long as a detector keeps one of them: now and then it shows all that it keeps
//! ([`Locksets::collect`]), and the rest is forgotten.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_entity::{PrimaryMap, SecondaryMap, entity_id};
use unsnarl_events::{Event, LockId, Operation, Tables, ThreadId};

use crate::retained_locks::{RetainedLockId, RetainedLocks};

entity_id! {
    /// Some locks, in the order in which a thread has acquired them.
    pub struct LocksetId("lockset");
}

/// How a lock is held: by its owner alone, or together with other readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// For itself alone.
    Exclusive,
    /// With other readers.
    Shared,
}

/// A lock and how it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    /// The lock.
    pub lock: RetainedLockId,
    /// How it is held.
    pub mode: Mode,
}

impl Held {
    /// Whether a thread that holds this keeps another one from having `other`.
    pub fn excludes(self, other: Self) -> bool {
        self.lock == other.lock && (self.mode == Mode::Exclusive || other.mode == Mode::Exclusive)
    }
}

/// A deeper stack of locks comes from a trace that lacks releases; what is above is not kept.
const DEEPEST: usize = 256;
/// So many sets are never too many.
const FEW: usize = 8;

/// The locks that threads hold.
#[derive(Debug)]
pub struct Locksets {
    /// The locks of the trace, as they are kept.
    pub known: RetainedLocks,
    threads: SecondaryMap<ThreadId, InThread>,
    sets: PrimaryMap<LocksetId, Lockset>,
    empty: LocksetId,
    larger: FxHashMap<(LocksetId, Held), LocksetId>,
    /// The sets of one lock, held exclusively: most sets are such.
    single: SecondaryMap<LockId, Option<LocksetId>>,
    /// The locks that have died since the last sweep.
    dying: FxHashSet<LockId>,
    /// From how many sets on it is worth to forget some.
    many: usize,
}

/// What a thread holds, and what it will hold again when it has ended waiting.
#[derive(Clone, Debug, Default)]
struct InThread {
    held: Vec<Entered>,
    before_wait: Vec<Entered>,
}

/// A lock that was acquired.
#[derive(Clone, Copy, Debug)]
struct Entered {
    lock: LockId,
    mode: Mode,
    /// The set of it and of those that were acquired before it, if somebody has asked.
    set: Option<LocksetId>,
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
            known: RetainedLocks::default(),
            many: FEW,
            sets,
            empty,
            larger: FxHashMap::default(),
            single: SecondaryMap::with_default(None),
            threads: SecondaryMap::new(),
            dying: FxHashSet::default(),
        }
    }
}

impl InThread {
    fn acquire(&mut self, lock: LockId, mode: Mode) {
        if self.held.len() < DEEPEST {
            self.held.push(Entered { lock, mode, set: None });
        }
    }

    /// Gives back the newest of these locks, if possible one that is held so. Releasing what is not held changes nothing.
    fn release(&mut self, lock: LockId, mode: Mode) {
        let same = |entered: &Entered| entered.lock == lock && entered.mode == mode;
        let same_lock = |entered: &Entered| entered.lock == lock;
        let place = self.held.iter().rposition(same);
        if let Some(place) = place.or_else(|| self.held.iter().rposition(same_lock)) {
            self.held.remove(place);
            self.held[place..].iter_mut().for_each(|above| above.set = None);
        }
    }
}

/// Gives back all of some locks.
fn release_all(held: &mut Vec<Entered>, is_it: impl Fn(LockId) -> bool) {
    if let Some(place) = held.iter().position(|entered| is_it(entered.lock)) {
        held.retain(|entered| !is_it(entered.lock));
        held[place..].iter_mut().for_each(|above| above.set = None);
    }
}

impl Locksets {
    /// Takes in what an event acquires or releases.
    #[inline]
    pub fn on(&mut self, event: &Event) {
        use Operation::{Acquire, AcquireShared, End, Release, ReleaseShared, Wait, Wake};
        if !matches!(
            event.operation,
            Acquire(_) | AcquireShared(_) | Release(_) | ReleaseShared(_) | Wait(_) | Wake(_) | End
        ) {
            return;
        }
        let thread = &mut self.threads[event.thread];
        match event.operation {
            Acquire(lock) => thread.acquire(lock, Mode::Exclusive),
            AcquireShared(lock) => thread.acquire(lock, Mode::Shared),
            Release(lock) => thread.release(lock, Mode::Exclusive),
            ReleaseShared(lock) => thread.release(lock, Mode::Shared),
            Wait(lock) => {
                thread.before_wait.clone_from(&thread.held);
                release_all(&mut thread.held, |held| held == lock);
            }
            Wake(lock) => {
                if thread.before_wait.iter().any(|before| before.lock == lock) {
                    thread.held.clone_from(&thread.before_wait);
                } else {
                    thread.acquire(lock, Mode::Exclusive);
                }
            }
            // Of a thread that is gone nothing is kept, unless it has not given something back.
            End if thread.held.is_empty() => *thread = InThread::default(),
            _ => {}
        }
    }

    /// What a thread holds now.
    #[inline]
    pub fn held(&mut self, thread: ThreadId) -> LocksetId {
        match self.threads[thread].held.last() {
            None => self.empty,
            Some(Entered { set: Some(set), .. }) => *set,
            Some(_) => self.new_held(thread),
        }
    }

    fn new_held(&mut self, thread: ThreadId) -> LocksetId {
        if let [only] = &mut self.threads[thread].held[..]
            && only.mode == Mode::Exclusive
            && let single @ Some(set) = self.single[only.lock]
        {
            only.set = single;
            return set;
        }
        let mut held = std::mem::take(&mut self.threads[thread].held);
        let mut set = self.empty;
        for entered in &mut held {
            set = entered.set.unwrap_or_else(|| self.with(set, entered.lock, entered.mode));
            entered.set = Some(set);
        }
        self.threads[thread].held = held;
        set
    }

    /// The locks that a thread holds now, each as often as it was entered, the one that was acquired first, first.
    pub fn held_by(&self, thread: ThreadId) -> impl DoubleEndedIterator<Item = LockId> {
        self.threads[thread].held.iter().map(|entered| entered.lock)
    }

    /// How often a thread has entered a lock that it holds.
    #[inline]
    pub fn times_held(&self, thread: ThreadId, lock: LockId) -> usize {
        self.held_by(thread).filter(|held| *held == lock).count()
    }

    /// How many locks a thread holds.
    #[inline]
    pub fn depth_of(&self, thread: ThreadId) -> u32 {
        self.threads[thread].held.len() as u32
    }

    /// Whether there is no lock in a set.
    #[inline]
    pub fn is_empty(&self, set: LocksetId) -> bool {
        set == self.empty
    }

    /// How many locks are in a set.
    #[inline]
    pub fn depth(&self, set: LocksetId) -> u32 {
        self.sets[set].depth
    }

    /// How often a lock is in a set.
    #[inline]
    pub fn count(&self, set: LocksetId, lock: LockId) -> usize {
        let Some(lock) = self.known.find(lock) else { return 0 };
        let below = |set: LocksetId| self.sets[set].newest;
        let held = std::iter::successors(below(set), |&(_, others)| below(others));
        held.filter(|(held, _)| held.lock == lock).count()
    }

    /// The locks of a set, the one that was acquired first, first; a lock that was entered several
    /// times, as often.
    pub fn locks(&self, set: LocksetId) -> Vec<RetainedLockId> {
        self.held_in(set).into_iter().map(|held| held.lock).collect()
    }

    /// The locks of a set and how they are held, in the same order.
    pub fn held_in(&self, set: LocksetId) -> Vec<Held> {
        let mut all = Vec::new();
        let mut rest = set;
        while let Some((held, others)) = self.sets[rest].newest {
            all.push(held);
            rest = others;
        }
        all.reverse();
        all
    }

    fn with(&mut self, set: LocksetId, lock: LockId, mode: Mode) -> LocksetId {
        let is_single = set == self.empty && mode == Mode::Exclusive;
        if is_single && let Some(single) = self.single[lock] {
            return single;
        }
        let held = Held { lock: self.known.of(lock), mode };
        let larger = self.larger(set, held);
        if is_single {
            self.single[lock] = Some(larger);
        }
        larger
    }

    fn larger(&mut self, set: LocksetId, held: Held) -> LocksetId {
        let depth = self.sets[set].depth + 1;
        let sets = &mut self.sets;
        *self
            .larger
            .entry((set, held))
            .or_insert_with(|| sets.push(Lockset { newest: Some((held, set)), depth }))
    }

    /// A lock has died: nobody acquires it again, and its id may be that of another one from now on.
    pub fn forget(&mut self, lock: LockId, tables: &Tables) {
        self.known.dies(lock, tables);
        self.single.reset(lock);
        self.dying.insert(lock);
    }

    /// All locks that have died were retired. Where a trace lacks releases somebody may still seem to hold one.
    pub fn release_dead(&mut self) {
        let dying = std::mem::take(&mut self.dying);
        for thread in self.threads.values_mut() {
            release_all(&mut thread.held, |lock| dying.contains(&lock));
            release_all(&mut thread.before_wait, |lock| dying.contains(&lock));
        }
    }

    /// Whether there are many more sets than there were when some were forgotten.
    pub fn are_many(&self) -> bool {
        self.sets.len() > self.many
    }

    /// Forgets the sets and the dead locks that nobody keeps. All that is kept gets new ids: `show` has to show it.
    pub fn collect(&mut self, show: impl FnOnce(&mut Collection<'_>)) {
        let mut new = Self::default();
        let (sets, locks) = (SecondaryMap::new(), SecondaryMap::new());
        let mut collection = Collection { old: self, new: &mut new, sets, locks };
        show(&mut collection);
        let mut threads = std::mem::take(&mut self.threads);
        for thread in threads.values_mut() {
            let all = thread.held.iter_mut().chain(&mut thread.before_wait);
            all.for_each(|entered| entered.set = None);
        }
        let many = FEW.max(2 * new.sets.len());
        *self = Self { threads, many, ..new };
    }
}

/// What is kept of locks and sets.
pub struct Collection<'l> {
    old: &'l Locksets,
    new: &'l mut Locksets,
    sets: SecondaryMap<LocksetId, Option<LocksetId>>,
    locks: SecondaryMap<RetainedLockId, Option<RetainedLockId>>,
}

impl Collection<'_> {
    /// Gives a lock that is kept its new id.
    pub fn lock(&mut self, lock: &mut RetainedLockId) {
        let Self { old, new, locks, .. } = self;
        *lock = *locks[*lock].get_or_insert_with(|| old.known.copy_to(&mut new.known, *lock));
    }

    /// Gives a set that is kept its new id.
    #[inline]
    pub fn set(&mut self, set: &mut LocksetId) {
        *set = match self.sets[*set] {
            Some(known) => known,
            None => self.new_set(*set),
        };
    }

    fn new_set(&mut self, old: LocksetId) -> LocksetId {
        let mut new = self.new.empty;
        for mut held in self.old.held_in(old) {
            self.lock(&mut held.lock);
            new = self.new.larger(new, held);
        }
        self.sets[old] = Some(new);
        new
    }
}

#[cfg(test)]
mod tests {
    use unsnarl_entity::EntityId;
    use unsnarl_events::SiteId;

    use super::*;

    fn held(steps: &[Operation]) -> Vec<usize> {
        let mut locksets = Locksets::default();
        let thread = ThreadId::from_index(3);
        for &operation in steps {
            locksets.on(&Event { thread, site: SiteId::from_index(0), operation });
        }
        let held = locksets.held(thread);
        let kept = locksets.locks(held);
        let by_thread: Vec<LockId> = locksets.held_by(thread).collect();
        let find = |&lock: &LockId| locksets.known.find(lock).expect("it was seen");
        assert_eq!(kept, by_thread.iter().map(find).collect::<Vec<_>>());
        by_thread.into_iter().map(EntityId::index).collect()
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
            let held = locksets.held(thread);
            locksets.held_in(held).iter().map(|held| held.mode).collect()
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
        assert_eq!(held(&steps).len(), DEEPEST);
    }
}
