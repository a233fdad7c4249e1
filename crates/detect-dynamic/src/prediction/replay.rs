//! Whether a reordering is one: looked at event by event, by the constraints of the trace and by nothing else. What is
//! reported was checked by this.

use rustc_hash::FxHashMap;
use unsnarl_events::{ChannelId, LockId, Operation, ThreadId, VariableId};

use super::window::{HeldLocks, Mode, SectionBoundary, Window};

/// Goes through a reordering of events of a window. None if it breaks a constraint: the order of a thread, that a read reads
/// from the write that it read from, that locks exclude each other, that what is received, joined or woken up by has
/// happened, and nothing else of it.
pub(crate) fn replay<'w>(window: &'w Window, order: &[u32]) -> Option<Replay<'w>> {
    let mut replay = Replay::new(window);
    order.iter().all(|&position| replay.step(position)).then_some(replay)
}

/// A reordering so far.
#[derive(Clone, Debug)]
pub(crate) struct Replay<'w> {
    window: &'w Window,
    /// How many events of each thread, by its number in the window, have happened.
    pub(super) done: Vec<u32>,
    held: HeldLocks,
    holders: FxHashMap<LockId, Vec<(ThreadId, Mode)>>,
    seen: LastWrites,
}

impl<'w> Replay<'w> {
    pub(super) fn new(window: &'w Window) -> Self {
        let mut holders: FxHashMap<LockId, Vec<(ThreadId, Mode)>> = FxHashMap::default();
        for (thread, lock, mode) in window.held.all() {
            holders.entry(lock).or_default().push((thread, mode));
        }
        Self {
            window,
            done: vec![0; window.thread_count()],
            held: window.held.clone(),
            holders,
            seen: LastWrites::default(),
        }
    }

    /// Whether an event comes next in its thread, which has begun.
    pub(crate) fn is_next(&self, position: u32) -> bool {
        let place = self.window.places[position as usize];
        let [start, _] = self.window.needs[position as usize];
        self.done[place.thread] + 1 == place.local && self.has_happened(start)
    }

    /// Whether an event comes next in its thread, and is an acquisition of a lock that another thread holds.
    pub(crate) fn is_blocked(&self, position: u32) -> bool {
        let event = self.window.events[position as usize];
        let (lock, mode) = match event.operation {
            Operation::Acquire(lock) => (lock, Mode::Exclusive),
            Operation::AcquireShared(lock) => (lock, Mode::Shared),
            _ => return false,
        };
        let holders = self.holders.get(&lock).into_iter().flatten();
        let mut others = holders.filter(|(thread, _)| *thread != event.thread);
        self.is_next(position) && others.any(|(_, held)| held.excludes(mode))
    }

    /// Whether a thread, by its number in the window, holds any lock.
    pub(super) fn holds_locks(&self, thread: usize) -> bool {
        self.held.of(self.window.thread(thread)).next().is_some()
    }

    /// Lets an event happen, if it can.
    pub(super) fn step(&mut self, position: u32) -> bool {
        let Some(event) = self.window.events.get(position as usize) else { return false };
        let place = self.window.places[position as usize];
        let finds = &self.window.finds[position as usize];
        if !self.is_next(position)
            || self.seen.of(event.operation) != *finds
            || !self.has_happened(self.window.needs[position as usize][1])
        {
            return false;
        }
        let before = self.held.clone_of(event.thread);
        match self.held.on(event, position) {
            Some(SectionBoundary::Begins(lock, mode)) => {
                let holders = self.holders.entry(lock).or_default();
                let is_free = holders
                    .iter()
                    .all(|(thread, other)| *thread == event.thread || !mode.excludes(*other));
                if !is_free {
                    self.held.put_back(event.thread, before);
                    return false;
                }
                holders.push((event.thread, mode));
            }
            Some(SectionBoundary::Ends(lock, mode)) => {
                let holders = self.holders.entry(lock).or_default();
                holders.retain(|holder| *holder != (event.thread, mode));
            }
            None => {}
        }
        self.done[place.thread] += 1;
        self.seen.add(event.operation, position);
        true
    }

    fn has_happened(&self, needed: Option<u32>) -> bool {
        needed.is_none_or(|position| {
            let place = self.window.places[position as usize];
            self.done[place.thread] >= place.local
        })
    }
}

/// What an event that looks at others finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finds {
    Nothing,
    Write(Option<u32>),
    Count(u32),
}

/// What has been written, sent and notified so far.
#[derive(Clone, Debug, Default)]
pub(super) struct LastWrites {
    writes: FxHashMap<VariableId, u32>,
    sent: FxHashMap<ChannelId, u32>,
    notified: FxHashMap<LockId, u32>,
}

impl LastWrites {
    pub(super) fn add(&mut self, operation: Operation, position: u32) {
        match operation {
            Operation::Write(variable) => {
                self.writes.insert(variable, position);
            }
            Operation::Send(channel) => *self.sent.entry(channel).or_default() += 1,
            Operation::Notify(lock) => *self.notified.entry(lock).or_default() += 1,
            _ => {}
        }
    }

    pub(super) fn of(&self, operation: Operation) -> Finds {
        let count = |count: Option<&u32>| Finds::Count(count.copied().unwrap_or(0));
        match operation {
            Operation::Read(variable) => Finds::Write(self.writes.get(&variable).copied()),
            Operation::Receive(channel) => count(self.sent.get(&channel)),
            Operation::Wake(lock) => count(self.notified.get(&lock)),
            _ => Finds::Nothing,
        }
    }
}
