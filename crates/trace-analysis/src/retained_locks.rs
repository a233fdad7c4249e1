//! Locks as detectors keep them: the id that a trace gives to a lock is given to another one when the lock has died
//! ([`Operation::ForgetLock`](unsnarl_events::Operation::ForgetLock)), this one is not, and a report can still name it.

use unsnarl_entity::{PrimaryMap, SecondaryMap, entity_id};
use unsnarl_events::{self as trace, LockId, NameId, Object, Tables};
use unsnarl_findings::Lock;

use crate::describe;

entity_id! {
    /// A lock that lives, or one that has died.
    pub struct RetainedLockId("lock");
}

/// The locks that a detector has seen.
#[derive(Debug, Default)]
pub struct RetainedLocks {
    known: PrimaryMap<RetainedLockId, Known>,
    living: SecondaryMap<LockId, Option<RetainedLockId>>,
}

/// What a lock is.
#[derive(Clone, Copy, Debug)]
enum Known {
    Living(LockId),
    /// As the tables of the trace had it.
    Dead(Object),
    DeadNamed(NameId),
}

impl RetainedLocks {
    /// A lock of the trace.
    #[inline]
    pub fn of(&mut self, lock: LockId) -> RetainedLockId {
        let known = &mut self.known;
        *self.living[lock].get_or_insert_with(|| known.push(Known::Living(lock)))
    }

    /// A lock of the trace, if it was seen before.
    #[inline]
    pub fn find(&self, lock: LockId) -> Option<RetainedLockId> {
        self.living[lock]
    }

    /// Whether the lock has not died.
    pub fn is_alive(&self, lock: RetainedLockId) -> bool {
        matches!(self.known[lock], Known::Living(_))
    }

    /// The tables still have the lock.
    pub fn dies(&mut self, lock: LockId, tables: &Tables) {
        let Some(kept) = self.find(lock) else { return };
        self.living[lock] = None;
        self.known[kept] = match tables.locks[lock] {
            trace::Lock::Object(object) => Known::Dead(tables.objects[object]),
            trace::Lock::Named(name) => Known::DeadNamed(name),
        };
    }

    /// As findings have it.
    pub fn describe(&self, lock: RetainedLockId, tables: &Tables) -> Lock {
        match self.known[lock] {
            Known::Living(lock) => describe::lock(lock, tables),
            Known::Dead(object) => describe::lock_of(object, tables),
            Known::DeadNamed(name) => Lock::named(tables.text(name)),
        }
    }

    /// The class of a lock, if the trace says it.
    pub fn class(&self, lock: RetainedLockId, tables: &Tables) -> Option<NameId> {
        match self.known[lock] {
            Known::Dead(object) => Some(object.class),
            Known::DeadNamed(_) => None,
            Known::Living(lock) => match tables.locks[lock] {
                trace::Lock::Object(object) => Some(tables.objects[object].class),
                trace::Lock::Named(_) => None,
            },
        }
    }

    /// The same lock among others.
    pub fn copy_to(&self, others: &mut Self, lock: RetainedLockId) -> RetainedLockId {
        match self.known[lock] {
            Known::Living(lock) => others.of(lock),
            dead => others.known.push(dead),
        }
    }
}
