//! Where methods end the scopes of locks, and which locks they hold at calls.
//!
//! A lock is known here by the objects that it may be and by how it is held: that has a meaning in caller and
//! callee. A scope has ended when nothing is held any more that may be the same lock, so a lock that is taken
//! again (reentrancy) ends no scope. A method that is entered in several states ends what it ends in any of them,
//! and holds at a call what it holds in all of them.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use unsnarl_models::LockMode;
use unsnarl_program::body::StatementId;
use unsnarl_program::heap::{InstanceId, ObjectId};

use crate::Execution;
use crate::event::Guard;
use crate::execute::state::{Lock, State};
use crate::execute::{Executor, Frame};

/// A lock that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldLock {
    /// The objects that it may be; sorted.
    pub objects: Arc<[ObjectId]>,
    /// How it is held.
    pub mode: LockMode,
}

impl HeldLock {
    /// Whether it may be the lock that is held at an access. The sets of objects need not be the same: a
    /// callee is distinguished by its receiver where the caller is not.
    pub fn may_be(&self, guard: &Guard) -> bool {
        self.mode == guard.mode && have_common(&self.objects, &guard.objects)
    }
}

/// Where scopes of locks end, and what is held at calls.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    ended: FxHashMap<(InstanceId, StatementId), Vec<HeldLock>>,
    ended_by_return: FxHashMap<InstanceId, Vec<HeldLock>>,
    held_at_calls: FxHashMap<(InstanceId, StatementId), Vec<HeldLock>>,
}

impl Execution<'_> {
    /// The locks that a statement gives back.
    pub fn ended_scopes(&self, instance: InstanceId, statement: StatementId) -> &[HeldLock] {
        self.releases.ended.get(&(instance, statement)).map_or(&[], Vec::as_slice)
    }

    /// The locks that a method gives back when it returns: that of a synchronized method.
    pub fn ended_by_return(&self, instance: InstanceId) -> &[HeldLock] {
        self.releases.ended_by_return.get(&instance).map_or(&[], Vec::as_slice)
    }

    /// The locks that are held at a call, whoever took them.
    pub fn held_at_call(&self, instance: InstanceId, statement: StatementId) -> &[HeldLock] {
        self.releases.held_at_calls.get(&(instance, statement)).map_or(&[], Vec::as_slice)
    }
}

impl Executor<'_, '_> {
    /// In the last round: what a statement did to the locks, and which are held if it enters others.
    pub(crate) fn note_releases(
        &mut self,
        frame: &Frame,
        id: StatementId,
        before: &[Lock],
        after: &State,
    ) {
        let place = (frame.instance, id);
        if self.found.entered.last().is_some_and(|&(_, call, _)| call == id) {
            let held = self.held_locks(before);
            match self.found.releases.held_at_calls.get_mut(&place) {
                Some(known) => known.retain(|lock| held.contains(lock)),
                None => {
                    self.found.releases.held_at_calls.insert(place, held);
                }
            }
        }
        if before != &after.locks[..] {
            let ended = self.ended_between(before, &after.locks);
            add(self.found.releases.ended.entry(place).or_default(), ended);
        }
    }

    /// In the last round: what is given back by returning.
    pub(crate) fn note_return(&mut self, frame: &Frame, before: &[Lock], after: &State) {
        let ended = self.ended_between(before, &after.locks);
        add(self.found.releases.ended_by_return.entry(frame.instance).or_default(), ended);
    }

    fn ended_between(&self, before: &[Lock], after: &[Lock]) -> Vec<HeldLock> {
        let is_held = |lock: &Lock| {
            after.iter().any(|held| {
                held.mode == lock.mode
                    && have_common(&self.sets[held.objects], &self.sets[lock.objects])
            })
        };
        let ended: Vec<Lock> = before.iter().filter(|lock| !is_held(lock)).cloned().collect();
        self.held_locks(&ended)
    }

    fn held_locks(&self, locks: &[Lock]) -> Vec<HeldLock> {
        let held = locks.iter().map(|lock| HeldLock {
            objects: Arc::clone(&self.sets[lock.objects]),
            mode: lock.mode,
        });
        held.collect()
    }
}

fn add(known: &mut Vec<HeldLock>, locks: Vec<HeldLock>) {
    for lock in locks {
        if !known.contains(&lock) {
            known.push(lock);
        }
    }
}

fn have_common(one: &[ObjectId], other: &[ObjectId]) -> bool {
    one.iter().any(|object| other.binary_search(object).is_ok())
}
