//! What a thread has around it when it accesses something: the locks that it holds and the calls that it is in.

use indexmap::IndexSet;
use unsnarl_entity::{EntityId, UniqueMap, entity_id};
use unsnarl_events::{Event, Operation, SiteId, Tables, ThreadId, VariableId};
use unsnarl_findings::{Access, AccessKind, Lock};

use crate::call_stacks::{CallStackId, CallStacks};
use crate::describe::{stack, thread};
use crate::locksets::{Collection, LocksetId, Locksets};
use crate::retained_locks::RetainedLockId;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessMode {
    /// It reads.
    Read,
    /// It writes.
    Write,
}

/// An access: who, what, where, called from where and with which locks.
#[derive(Clone, Copy, Debug)]
pub struct AccessRecord {
    /// Who.
    pub thread: ThreadId,
    /// Whether it reads or writes.
    pub kind: AccessMode,
    /// Where.
    pub site: SiteId,
    /// Called from where.
    pub calls: CallStackId,
    /// With which locks.
    pub locks: LocksetId,
}

/// The locks and calls of all threads, which an access is seen with.
#[derive(Debug, Default)]
pub struct ThreadContexts {
    /// The locks that threads hold.
    pub locksets: Locksets,
    /// The calls that threads are in.
    pub calls: CallStacks,
    /// What [`ContextId`] cannot tell by locks alone.
    called: UniqueMap<CalledId, (CallStackId, LocksetId)>,
}

entity_id! {
    /// CallStacks with locks.
    struct CalledId("called");
}

/// Called from where and with which locks, in four bytes. Most recordings know of no calls: then it is the locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextId(u32);

/// Marks that calls are among it.
const CALLED: u32 = 1 << 31;

impl ThreadContexts {
    /// Takes in an event that is no access.
    #[inline]
    pub fn on(&mut self, event: &Event) {
        self.locksets.on(event);
        self.calls.on(event);
    }

    /// The access that an event is, if it is one, and to what.
    #[inline]
    pub fn access(&mut self, event: &Event) -> Option<(VariableId, AccessRecord)> {
        let (variable, kind) = match event.operation {
            Operation::Read(variable) => (variable, AccessMode::Read),
            Operation::Write(variable) => (variable, AccessMode::Write),
            _ => return None,
        };
        Some((variable, self.record(event, kind)))
    }

    /// An access, or something else that was seen, as findings have it.
    pub fn describe(
        &self,
        kind: AccessKind,
        by: ThreadId,
        (site, calls): (SiteId, CallStackId),
        locks: LocksetId,
        tables: &Tables,
    ) -> Access {
        // A lock that was entered several times is listed once.
        let locks: IndexSet<RetainedLockId> = self.locksets.locks(locks).into_iter().collect();
        let locks = locks.into_iter().map(|held| self.lock(held, tables)).collect();
        let stack = stack((by, site), self.calls.sites(calls), tables);
        Access::new(kind, stack).by(thread(by, tables)).holding(locks)
    }

    /// A lock, as findings have it.
    pub fn lock(&self, lock: RetainedLockId, tables: &Tables) -> Lock {
        self.locksets.known.describe(lock, tables)
    }

    /// Takes in what a trace says of locks that have died. `show` has to show all that is kept whenever it is called: it gets
    /// new ids then.
    pub fn forget(
        &mut self,
        event: &Event,
        tables: &Tables,
        show: impl FnOnce(&mut Retained<'_, '_>),
    ) {
        match event.operation {
            Operation::ForgetLock(lock) => self.locksets.forget(lock, tables),
            Operation::Swept => {
                self.locksets.release_dead();
                if !self.locksets.are_many() {
                    return;
                }
                let old = std::mem::take(&mut self.called);
                let new = &mut self.called;
                self.locksets.collect(|locks| show(&mut Retained { locks, old: &old, new }));
            }
            _ => {}
        }
    }

    /// The context of a thread now.
    #[inline]
    pub fn current(&mut self, thread: ThreadId) -> ContextId {
        let (calls, locks) = (self.calls.of(thread), self.locksets.held(thread));
        match u32::try_from(locks.index()) {
            Ok(index) if calls == CallStackId::none() && index < CALLED => ContextId(index),
            _ => ContextId(CALLED | self.called.intern((calls, locks)).index() as u32),
        }
    }

    /// The calls and locks of a thread that had this around it.
    pub fn of(&self, ContextId(context): ContextId) -> (CallStackId, LocksetId) {
        match context & CALLED {
            0 => (CallStackId::none(), LocksetId::from_index(context as usize)),
            _ => self.called[CalledId::from_index((context & !CALLED) as usize)],
        }
    }

    /// An event, recorded as an access of this kind.
    #[inline]
    pub fn record(&mut self, event: &Event, kind: AccessMode) -> AccessRecord {
        let (calls, locks) = (self.calls.of(event.thread), self.locksets.held(event.thread));
        AccessRecord { thread: event.thread, kind, site: event.site, calls, locks }
    }
}

/// What a detector keeps of what it has seen.
pub struct Retained<'k, 'l> {
    /// The sets of locks.
    pub locks: &'k mut Collection<'l>,
    old: &'k UniqueMap<CalledId, (CallStackId, LocksetId)>,
    new: &'k mut UniqueMap<CalledId, (CallStackId, LocksetId)>,
}

impl Retained<'_, '_> {
    /// Gives the locks of an access their new id.
    pub fn record(&mut self, record: &mut AccessRecord) {
        self.locks.set(&mut record.locks);
    }

    /// Gives a context its new id.
    #[inline]
    pub fn context(&mut self, context: &mut ContextId) {
        *context = match context.0 & CALLED {
            0 => {
                let mut locks = LocksetId::from_index(context.0 as usize);
                self.locks.set(&mut locks);
                ContextId(locks.index() as u32)
            }
            _ => {
                let (calls, mut locks) =
                    self.old[CalledId::from_index((context.0 & !CALLED) as usize)];
                self.locks.set(&mut locks);
                ContextId(CALLED | self.new.intern((calls, locks)).index() as u32)
            }
        };
    }
}
