//! What a thread knows at a program point: the locks it certainly holds, the threads it may have
//! started, those that have certainly ended, the signals it may have sent and has certainly received,
//! and the objects that certainly nobody else can see yet.

use smallvec::SmallVec;
use unsnarl_entity::entity_id;
use unsnarl_models::LockMode;
use unsnarl_program::FieldId;
use unsnarl_program::body::{StatementId, Value};
use unsnarl_program::heap::{ObjectId, OriginId};

use crate::event::Accessed;
use crate::path::Path;

entity_id! {
    /// A set of objects.
    pub(crate) struct ObjectsId("set");
    /// Something that carries a signal.
    pub(crate) struct ChannelId("ch");
}

/// Something that carries a signal: an object as a whole, a variable of it, or a static field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Channel {
    Object(ObjectId, Option<Accessed>),
    Static(FieldId),
}

impl Channel {
    /// The channel that is an object or one of its variables.
    pub(crate) fn of(object: ObjectId, accessed: Accessed) -> Self {
        Self::Object(object, Some(accessed).filter(|&accessed| accessed != Accessed::Contents))
    }
}

/// What a thread knows at a program point. It is copied all the time: what is seldom there takes no place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// Certainly held, in the order in which they were taken.
    pub(crate) locks: SmallVec<[Lock; 1]>,
    /// Locks that are held if a value says so.
    pub(crate) pending: SmallVec<[Value; 0]>,
    /// Possibly started by this thread; sorted.
    pub(crate) started: SmallVec<[OriginId; 4]>,
    /// All of them have certainly ended; sorted by thread.
    pub(crate) joined: SmallVec<[Joined; 2]>,
    /// At least one of them has certainly been waited for; sorted.
    pub(crate) joined_some: SmallVec<[OriginId; 2]>,
    /// The thread of this object has certainly ended; sorted.
    pub(crate) joined_paths: SmallVec<[(Path, OriginId); 0]>,
    /// The only instance of a thread that may not have ended, by the object that stands for it; sorted.
    pub(crate) last_started: SmallVec<[(Path, OriginId); 0]>,
    /// Containers of this method, by their value, in which all instances of a thread certainly are that may
    /// not have ended; sorted.
    pub(crate) gathered: SmallVec<[(Value, OriginId); 0]>,
    /// Possibly sent by this thread; sorted.
    pub(crate) sent: SmallVec<[ChannelId; 2]>,
    /// Certainly received; sorted. The path is that of the object that carries the signal.
    pub(crate) received: SmallVec<[(ChannelId, Option<Path>); 0]>,
    /// Received if a value is not zero (true) or zero (false); sorted.
    pub(crate) told: SmallVec<[Told; 0]>,
    /// Certainly not seen by any other thread yet; sorted by path.
    pub(crate) fresh: SmallVec<[Fresh; 1]>,
}

/// What was received if a value is not zero (true) or zero (false).
pub(crate) type Told = (Value, bool, ChannelId, Option<Path>);

/// A lock that is held.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lock {
    pub(crate) path: Option<Path>,
    pub(crate) objects: ObjectsId,
    pub(crate) mode: LockMode,
    /// How often it is held.
    pub(crate) count: u8,
    /// Which of the locks that were held when the method was entered it is.
    pub(crate) inherited: Option<u8>,
    pub(crate) taken: Taken,
}

/// Where a lock was taken. The greater one stands for both where two ways meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Taken {
    /// By the statement that is being gone through.
    Now,
    /// By a caller.
    Outside,
    /// By this statement, or given back and taken again by it.
    At(StatementId),
}

/// A thread all of whose instances have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Joined {
    pub(crate) thread: OriginId,
    /// By heuristic.
    pub(crate) is_assumed: bool,
    /// All other threads that start it had ended before.
    pub(crate) is_after_starters: bool,
}

/// An object that nobody else can see.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Fresh {
    pub(crate) path: Path,
    pub(crate) objects: ObjectsId,
    /// All objects from which it can be reached: who sees one of them sees it. Sorted.
    pub(crate) holders: Holders,
    /// Only if it was for the caller: what a method does with an argument is known also where not all of its
    /// callers bring a fresh one.
    pub(crate) is_assumed: bool,
}

/// Objects from which another can be reached.
pub(crate) type Holders = SmallVec<[ObjectId; 2]>;

impl State {
    /// What holds whichever of two ways led here; says whether this state changed.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        let mut is_new = false;
        if self.locks != other.locks {
            let locks = join_locks(&self.locks, &other.locks);
            is_new |= locks != self.locks;
            self.locks = locks;
        }
        if self.joined != other.joined {
            let joined = join_joined(self, other);
            is_new |= joined != self.joined;
            self.joined = joined;
        }
        is_new |= unite(&mut self.started, &other.started);
        is_new |= unite(&mut self.sent, &other.sent);
        is_new |= keep(&mut self.pending, &other.pending);
        is_new |= keep(&mut self.joined_some, &other.joined_some);
        is_new |= keep(&mut self.joined_paths, &other.joined_paths);
        is_new |= keep(&mut self.last_started, &other.last_started);
        is_new |= keep(&mut self.gathered, &other.gathered);
        is_new |= keep(&mut self.received, &other.received);
        is_new |= keep(&mut self.told, &other.told);
        is_new |= self.join_fresh(other);
        is_new
    }

    pub(crate) fn add_started(&mut self, thread: OriginId) {
        unite(&mut self.started, &[thread]);
        self.joined.retain(|joined| joined.thread != thread);
    }

    pub(crate) fn add_joined(&mut self, joined: Joined) {
        match self.joined.binary_search_by_key(&joined.thread, |joined| joined.thread) {
            Ok(at) => {
                self.joined[at].is_assumed &= joined.is_assumed;
                self.joined[at].is_after_starters |= joined.is_after_starters;
            }
            Err(at) => self.joined.insert(at, joined),
        }
    }

    /// Whether no instance of a thread is running, as far as this thread has started any.
    pub(crate) fn has_none_running(&self, thread: OriginId) -> bool {
        !self.started.contains(&thread)
            || self.joined.iter().any(|joined| joined.thread == thread && !joined.is_assumed)
    }

    pub(crate) fn add_fresh(&mut self, fresh: Fresh) {
        match self.fresh.binary_search_by(|known| known.path.cmp(&fresh.path)) {
            Ok(at) => self.fresh[at] = fresh,
            Err(at) => self.fresh.insert(at, fresh),
        }
    }

    pub(crate) fn is_fresh(&self, path: &Path) -> bool {
        self.fresh(path).is_some_and(|fresh| !fresh.is_assumed)
    }

    pub(crate) fn fresh(&self, path: &Path) -> Option<&Fresh> {
        let found = self.fresh.binary_search_by(|known| known.path.cmp(path)).ok();
        found.map(|at| &self.fresh[at])
    }

    /// What is fresh on both ways has the holders of both.
    fn join_fresh(&mut self, other: &Self) -> bool {
        let mut is_new = false;
        self.fresh.retain(|fresh| {
            let same = other.fresh(&fresh.path).filter(|same| same.objects == fresh.objects);
            is_new |= same.is_none_or(|same| {
                let is_doubted = same.is_assumed && !fresh.is_assumed;
                fresh.is_assumed |= is_doubted;
                unite(&mut fresh.holders, &same.holders) || is_doubted
            });
            same.is_some()
        });
        is_new
    }

    pub(crate) fn add_received(&mut self, received: (ChannelId, Option<Path>)) {
        if let Err(at) = self.received.binary_search(&received) {
            self.received.insert(at, received);
        }
    }
}

/// Keeps what is in both lists; says whether anything is gone.
fn keep<A: smallvec::Array<Item = T>, T: PartialEq>(items: &mut SmallVec<A>, other: &[T]) -> bool {
    let before = items.len();
    items.retain(|item| other.contains(item));
    items.len() != before
}

/// Adds to a sorted list; says whether anything was new.
pub(crate) fn unite<const N: usize, T: Copy + Ord>(to: &mut SmallVec<[T; N]>, from: &[T]) -> bool
where
    [T; N]: smallvec::Array<Item = T>,
{
    if to[..] == *from {
        return false;
    }
    let mut missing = from.iter().filter(|item| to.binary_search(item).is_err());
    let Some(&first) = missing.next() else { return false };
    match missing.next() {
        None => {
            let at = to.partition_point(|item| *item < first);
            to.insert(at, first);
        }
        Some(_) => {
            to.extend_from_slice(from);
            to.sort_unstable();
            to.dedup();
        }
    }
    true
}

/// The locks that are held on both ways, in the order of the first.
fn join_locks(one: &[Lock], other: &[Lock]) -> SmallVec<[Lock; 1]> {
    one.iter()
        .filter_map(|lock| {
            let same = other.iter().find(|o| {
                o.objects == lock.objects
                    && o.mode == lock.mode
                    && o.path == lock.path
                    && o.inherited == lock.inherited
            })?;
            let taken = lock.taken.max(same.taken);
            Some(Lock { count: lock.count.min(same.count), taken, ..lock.clone() })
        })
        .collect()
}

/// The threads that have ended on both ways. A thread that was not started on one of them counts.
fn join_joined(one: &State, other: &State) -> SmallVec<[Joined; 2]> {
    let mut joined = SmallVec::new();
    for (from, to) in [(one, other), (other, one)] {
        for known in &from.joined {
            let mut joint = *known;
            match to.joined.iter().find(|other| other.thread == known.thread) {
                Some(same) => {
                    joint.is_assumed |= same.is_assumed;
                    joint.is_after_starters &= same.is_after_starters;
                }
                None if to.started.contains(&known.thread) => continue,
                None => joint.is_after_starters = false,
            }
            joined.push(joint);
        }
    }
    joined.sort_unstable();
    joined.dedup();
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stay_sorted_and_have_everything_once() {
        let all: Vec<u32> = (0..6).collect();
        for (one, other) in (0..64_u32).flat_map(|one| (0..64_u32).map(move |other| (one, other))) {
            let of = |bits: u32| all.iter().copied().filter(move |item| bits >> item & 1 != 0);
            let mut list: SmallVec<[u32; 2]> = of(one).collect();
            let from: Vec<u32> = of(other).collect();
            assert_eq!(unite(&mut list, &from), one | other != one);
            assert!(list.iter().copied().eq(of(one | other)));
        }
    }
}
