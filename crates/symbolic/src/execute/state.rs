//! What a thread knows at a program point: the locks it certainly holds, the threads it may have
//! started, those that have certainly ended, the signals it may have sent and has certainly received,
//! and the objects that certainly nobody else can see yet.

use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use smallvec::SmallVec;
use unsnarl_entity::entity_id;
use unsnarl_models::LockMode;
use unsnarl_program::FieldId;
use unsnarl_program::body::{StatementId, Value};
use unsnarl_program::heap::{ObjectId, OriginId};

use crate::event::Accessed;
use crate::facts::path::Path;

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

/// What a thread knows at a program point. It is copied all the time and seldom changed: copies are one until one
/// of them changes. *Invariant*: who may change nothing asks before it borrows the state for a change.
#[derive(Clone, Debug, Default)]
pub(crate) struct State(Arc<Knowledge>);

impl Deref for State {
    type Target = Knowledge;

    fn deref(&self) -> &Knowledge {
        &self.0
    }
}

impl DerefMut for State {
    fn deref_mut(&mut self) -> &mut Knowledge {
        Arc::make_mut(&mut self.0)
    }
}

impl From<Knowledge> for State {
    fn from(knowledge: Knowledge) -> Self {
        Self(Arc::new(knowledge))
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Eq for State {}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.hash(hasher);
    }
}

/// What a state is about. What is seldom there takes no place.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Knowledge {
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
    pub(crate) collected: SmallVec<[(Value, OriginId); 0]>,
    /// Possibly sent by this thread; sorted.
    pub(crate) sent: SmallVec<[ChannelId; 2]>,
    /// Certainly received; sorted. The path is that of the object that carries the signal.
    pub(crate) received: SmallVec<[(ChannelId, Option<Path>); 0]>,
    /// Received if a value is not zero (true) or zero (false); sorted.
    pub(crate) received_if: SmallVec<[ConditionalReceipt; 0]>,
    /// Certainly not seen by any other thread yet; sorted by path.
    pub(crate) fresh: SmallVec<[Fresh; 1]>,
}

impl Clone for Knowledge {
    /// Copies what can be copied bytewise as such.
    fn clone(&self) -> Self {
        Self {
            locks: self.locks.clone(),
            pending: SmallVec::from_slice(&self.pending),
            started: SmallVec::from_slice(&self.started),
            joined: SmallVec::from_slice(&self.joined),
            joined_some: SmallVec::from_slice(&self.joined_some),
            joined_paths: self.joined_paths.clone(),
            last_started: self.last_started.clone(),
            collected: SmallVec::from_slice(&self.collected),
            sent: SmallVec::from_slice(&self.sent),
            received: self.received.clone(),
            received_if: self.received_if.clone(),
            fresh: self.fresh.clone(),
        }
    }
}

/// What was received if a value is not zero (true) or zero (false).
pub(crate) type ConditionalReceipt = (Value, bool, ChannelId, Option<Path>);

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
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Fresh {
    pub(crate) path: Path,
    pub(crate) objects: ObjectsId,
    /// All objects from which it can be reached: who sees one of them sees it. Sorted.
    pub(crate) holders: Holders,
    /// Only if it was for the caller: what a method does with an argument is known also where not all of its
    /// callers bring a fresh one.
    pub(crate) is_assumed: bool,
}

impl Clone for Fresh {
    fn clone(&self) -> Self {
        let holders = SmallVec::from_slice(&self.holders);
        Self { path: self.path.clone(), holders, ..*self }
    }
}

/// Objects from which another can be reached.
pub(crate) type Holders = SmallVec<[ObjectId; 2]>;

impl State {
    /// What holds whichever of two ways led here; says whether this state changed.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        if self.covers(other) {
            return false;
        }
        self.deref_mut().join(other);
        true
    }

    /// Whether another state adds nothing new where both ways meet.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.locks == other.locks || join_locks(&self.locks, &other.locks) == self.locks)
                && (self.joined == other.joined || join_joined(self, other) == self.joined)
                && has_all(&self.started, &other.started)
                && has_all(&self.sent, &other.sent)
                && are_in(&self.pending, &other.pending)
                && are_in(&self.joined_some, &other.joined_some)
                && are_in(&self.joined_paths, &other.joined_paths)
                && are_in(&self.last_started, &other.last_started)
                && are_in(&self.collected, &other.collected)
                && are_in(&self.received, &other.received)
                && are_in(&self.received_if, &other.received_if)
                && self.fresh.iter().all(|fresh| fresh.covers(other))
    }

    /// Forgets what is not fresh any more.
    pub(crate) fn keep_fresh(&mut self, mut is_kept: impl FnMut(&Fresh) -> bool) {
        if let Some(first) = self.fresh.iter().position(|fresh| !is_kept(fresh)) {
            let mut number = 0;
            self.fresh.retain(|fresh| {
                number += 1;
                number <= first || number > first + 1 && is_kept(fresh)
            });
        }
    }

    /// Something is fresh.
    pub(crate) fn add_fresh(&mut self, fresh: Fresh) {
        if self.fresh(&fresh.path) != Some(&fresh) {
            self.deref_mut().add_fresh(fresh);
        }
    }

    /// A signal was received.
    pub(crate) fn add_received(&mut self, received: (ChannelId, Option<Path>)) {
        if self.received.binary_search(&received).is_err() {
            self.deref_mut().add_received(received);
        }
    }

    /// Threads may have been started.
    pub(crate) fn unite_started(&mut self, started: &[OriginId]) {
        if !has_all(&self.started, started) {
            unite(&mut self.started, started);
        }
    }

    /// Signals may have been sent.
    pub(crate) fn unite_sent(&mut self, sent: &[ChannelId]) {
        if !has_all(&self.sent, sent) {
            unite(&mut self.sent, sent);
        }
    }
}

impl Fresh {
    /// Whether another state adds nothing new about the object where both ways meet.
    fn covers(&self, other: &Knowledge) -> bool {
        let same = other.fresh(&self.path).filter(|same| same.objects == self.objects);
        same.is_some_and(|same| {
            self.is_assumed >= same.is_assumed && has_all(&self.holders, &same.holders)
        })
    }
}

impl Knowledge {
    fn join(&mut self, other: &Self) {
        if self.locks != other.locks {
            self.locks = join_locks(&self.locks, &other.locks);
        }
        if self.joined != other.joined {
            self.joined = join_joined(self, other);
        }
        unite(&mut self.started, &other.started);
        unite(&mut self.sent, &other.sent);
        keep(&mut self.pending, &other.pending);
        keep(&mut self.joined_some, &other.joined_some);
        keep(&mut self.joined_paths, &other.joined_paths);
        keep(&mut self.last_started, &other.last_started);
        keep(&mut self.collected, &other.collected);
        keep(&mut self.received, &other.received);
        keep(&mut self.received_if, &other.received_if);
        self.join_fresh(other);
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
    fn join_fresh(&mut self, other: &Self) {
        self.fresh.retain(|fresh| {
            let same = other.fresh(&fresh.path).filter(|same| same.objects == fresh.objects);
            if let Some(same) = same {
                fresh.is_assumed |= same.is_assumed;
                unite(&mut fresh.holders, &same.holders);
            }
            same.is_some()
        });
    }

    pub(crate) fn add_received(&mut self, received: (ChannelId, Option<Path>)) {
        if let Err(at) = self.received.binary_search(&received) {
            self.received.insert(at, received);
        }
    }
}

/// Keeps what is in both lists.
fn keep<A: smallvec::Array<Item = T>, T: PartialEq>(items: &mut SmallVec<A>, other: &[T]) {
    items.retain(|item| other.contains(item));
}

/// Whether a list has nothing that another has not.
fn are_in<T: PartialEq>(items: &[T], other: &[T]) -> bool {
    items.iter().all(|item| other.contains(item))
}

/// Whether a sorted list has all of another sorted list.
pub(crate) fn has_all<T: Ord>(list: &[T], of: &[T]) -> bool {
    let mut rest = list.iter();
    list == of || of.iter().all(|item| rest.any(|other| other == item))
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
fn join_joined(one: &Knowledge, other: &Knowledge) -> SmallVec<[Joined; 2]> {
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
mod tests;
