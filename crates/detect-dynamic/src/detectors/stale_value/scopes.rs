//! Which scope of a lock a thread is in, and which call of a method.

use unsnarl_entity::SecondaryMap;
use unsnarl_events::{Event, LockId, MethodId, Operation, SiteId, ThreadId};

/// A lock that is held, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    lock: LockId,
    number: u64,
    /// How often it is held.
    count: u32,
}

/// The scopes and calls that threads are in.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    threads: SecondaryMap<ThreadId, Thread>,
    /// Scopes and calls are numbered.
    last: u64,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    held: Vec<Scope>,
    /// What a waiting thread will hold again.
    waiting: Option<Scope>,
    calls: Vec<(MethodId, u64)>,
    /// Where each lock was last given back.
    released: Vec<(LockId, SiteId)>,
}

/// How a thread came from one scope of a lock to a later one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Late {
    /// The method in a call of which both were.
    pub(super) method: Option<MethodId>,
    /// Where a lock was last given back.
    pub(super) release: SiteId,
    /// The locks that were given back and taken again.
    pub(super) reopened: Vec<LockId>,
    /// The locks that were held all the time.
    pub(super) kept: Vec<LockId>,
}

impl Scopes {
    /// Takes in an event that is no access.
    pub(super) fn on(&mut self, event: &Event) {
        let thread = &mut self.threads[event.thread];
        let held = |lock: LockId| move |scope: &Scope| scope.lock == lock;
        match event.operation {
            Operation::Acquire(lock) | Operation::AcquireShared(lock) => {
                match thread.held.iter_mut().find(|scope| scope.lock == lock) {
                    Some(scope) => scope.count = scope.count.saturating_add(1),
                    None => {
                        self.last += 1;
                        thread.held.push(Scope { lock, number: self.last, count: 1 });
                    }
                }
            }
            Operation::Release(lock) | Operation::ReleaseShared(lock) => {
                if let Some(at) = thread.held.iter().position(held(lock)) {
                    thread.held[at].count -= 1;
                    if thread.held[at].count == 0 {
                        thread.held.remove(at);
                        thread.give_back(lock, event.site);
                    }
                }
            }
            Operation::Wait(lock) => {
                if let Some(at) = thread.held.iter().position(held(lock)) {
                    thread.waiting = Some(thread.held.remove(at));
                    thread.give_back(lock, event.site);
                }
            }
            Operation::Wake(lock) => {
                self.last += 1;
                let count = thread.waiting.take().filter(held(lock)).map_or(1, |scope| scope.count);
                thread.held.retain(|scope| scope.lock != lock);
                thread.held.push(Scope { lock, number: self.last, count });
            }
            Operation::Enter(method) => {
                self.last += 1;
                thread.calls.push((method, self.last));
            }
            Operation::Exit(method) => {
                if let Some(at) = thread.calls.iter().rposition(|call| call.0 == method) {
                    thread.calls.truncate(at);
                }
            }
            _ => {}
        }
    }

    /// The scopes that a thread is in.
    pub(super) fn held(&self, thread: ThreadId) -> &[Scope] {
        &self.threads[thread].held
    }

    /// The innermost call that a thread is in and the one around it; the thread itself, if there are no calls.
    pub(super) fn calls(&self, thread: ThreadId) -> Vec<(Option<MethodId>, u64)> {
        let calls = &self.threads[thread].calls;
        let near = calls.iter().rev().take(2).map(|&(method, number)| (Some(method), number));
        let thread = calls.is_empty().then_some((None, 0));
        near.chain(thread).collect()
    }

    /// Whether a thread holds a lock again that it has given back since it was in these scopes, in the same call.
    pub(super) fn late(
        &self,
        before: &[Scope],
        calls: &[(Option<MethodId>, u64)],
        thread: ThreadId,
    ) -> Option<Late> {
        let now = self.calls(thread);
        let &(method, _) = calls.iter().find(|call| now.contains(call))?;
        let state = &self.threads[thread];
        let (mut reopened, mut kept) = (Vec::new(), Vec::new());
        for scope in before {
            match state.held.iter().find(|held| held.lock == scope.lock) {
                Some(held) if held.number == scope.number => kept.push(scope.lock),
                Some(_) => reopened.push(scope.lock),
                None => {}
            }
        }
        let first = reopened.first()?;
        let (_, release) = *state.released.iter().find(|released| released.0 == *first)?;
        Some(Late { method, release, reopened, kept })
    }
}

impl Thread {
    fn give_back(&mut self, lock: LockId, site: SiteId) {
        self.released.retain(|released| released.0 != lock);
        self.released.push((lock, site));
    }
}
