//! Locks that library methods acquire and release.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_events::{LockId, Operation, ThreadId};
use unsnarl_models::LockMode;

use super::call::Value;
use crate::translate::emitter::Emitter;

/// Which locks are held by calls of the library, and waited for.
#[derive(Debug, Default)]
pub(crate) struct HeldLocks {
    /// How often a thread holds a lock exclusively, and how often shared.
    held: FxHashMap<(ThreadId, LockId), (u32, u32)>,
    /// The locks that were released to wait on a condition.
    waited_on: FxHashMap<Value, LockId>,
}

impl HeldLocks {
    pub(crate) fn acquire(&mut self, lock: LockId, mode: LockMode, emit: &mut Emitter<'_>) {
        let held = self.held.entry((emit.thread, lock)).or_default();
        match mode {
            LockMode::Exclusive => {
                held.0 += 1;
                emit.push(Operation::Acquire(lock));
            }
            LockMode::Shared => {
                held.1 += 1;
                emit.push(Operation::AcquireShared(lock));
            }
            // Holds nothing, but happens after all earlier releases of the lock.
            LockMode::Optimistic => {
                emit.push(Operation::AcquireShared(lock));
                emit.push(Operation::ReleaseShared(lock));
            }
        }
    }

    pub(crate) fn release(&mut self, lock: LockId, mode: LockMode, emit: &mut Emitter<'_>) {
        let held = self.held.entry((emit.thread, lock)).or_default();
        match mode {
            LockMode::Exclusive if held.0 > 0 => {
                held.0 -= 1;
                emit.push(Operation::Release(lock));
            }
            LockMode::Shared if held.1 > 0 => {
                held.1 -= 1;
                emit.push(Operation::ReleaseShared(lock));
            }
            // What was read until now happens before all later acquires of the lock.
            LockMode::Optimistic => {
                emit.push(Operation::AcquireShared(lock));
                emit.push(Operation::ReleaseShared(lock));
            }
            LockMode::Exclusive | LockMode::Shared => {}
        }
    }

    /// A lock is released to wait on a condition.
    pub(crate) fn wait(&mut self, on: Value, lock: LockId) {
        self.waited_on.insert(on, lock);
    }

    /// The lock of a condition, if somebody has waited on it.
    pub(crate) fn waited_on(&self, on: Value) -> Option<LockId> {
        self.waited_on.get(&on).copied()
    }

    pub(super) fn retain(&mut self, stays: impl Fn(Value) -> bool, dead: &FxHashSet<LockId>) {
        self.waited_on.retain(|on, lock| stays(*on) && !dead.contains(lock));
        self.held.retain(|(_, lock), held| *held != (0, 0) && !dead.contains(lock));
    }
}
