//! Which step happens before which: vector clocks.
//!
//! A thread has a place in all clocks, its *slot*, and a time, which advances whenever it publishes
//! what it did. The time of a slot together with the slot is an *epoch*; a step at an epoch happens
//! before what a thread does now if the thread's clock knows the epoch.
//!
//! The slot of a thread that has ended is given to a new thread when the one that starts it knows all
//! that the old thread did. The new one then comes after the old one altogether, so that an epoch of
//! the slot means the same whichever of the two it was. A program that starts and joins a hundred
//! thousand threads, a few at a time, has clocks with a few slots.

use unsnarl_entity::{EntityId, SecondaryMap, entity_id};
use unsnarl_trace::{ChannelId, Event, LockId, Operation, ThreadId};

entity_id! {
    /// A place in vector clocks.
    pub(crate) struct SlotId("slot");
}

/// How many slots of ended threads are tried for a new thread, so that a start costs little.
const TRIED_SLOTS: usize = 16;

/// When, in one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch {
    pub(crate) slot: SlotId,
    pub(crate) time: u64,
}

/// For every slot, the time up to which its steps are known. Nothing is known at time 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct VectorClock {
    times: Vec<u64>,
}

impl VectorClock {
    /// Whether a step at this epoch is known.
    #[inline]
    pub(crate) fn knows(&self, slot: SlotId, time: u64) -> bool {
        time <= self.time(slot)
    }

    #[inline]
    fn time(&self, slot: SlotId) -> u64 {
        self.times.get(slot.index()).copied().unwrap_or(0)
    }

    fn set(&mut self, slot: SlotId, time: u64) {
        if slot.index() >= self.times.len() {
            self.times.resize(slot.index() + 1, 0);
        }
        self.times[slot.index()] = time;
    }

    /// Takes over all that `other` knows.
    #[inline]
    fn join(&mut self, other: &Self) {
        if other.times.len() > self.times.len() {
            self.times.resize(other.times.len(), 0);
        }
        for (own, &others) in self.times.iter_mut().zip(&other.times) {
            *own = (*own).max(others);
        }
    }
}

/// The clocks of all threads, locks and channels of a trace.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    threads: SecondaryMap<ThreadId, ThreadClock>,
    locks: SecondaryMap<LockId, LockClock>,
    channels: SecondaryMap<ChannelId, VectorClock>,
    slots: Slots,
}

#[derive(Clone, Debug, Default)]
struct ThreadClock {
    /// Where its steps are counted; none before the first and after the last of them.
    slot: Option<SlotId>,
    clock: VectorClock,
}

#[derive(Clone, Debug, Default)]
struct LockClock {
    /// What was done before the lock was released by those who had it for themselves.
    exclusive: VectorClock,
    /// What was done before it was released by those who shared it.
    shared: VectorClock,
}

/// Who has had which slot.
#[derive(Debug, Default)]
struct Slots {
    /// For every slot the threads that had it, each with the time at which it began.
    owners: Vec<Vec<(u64, ThreadId)>>,
    /// The slots without a thread, with their last times.
    free: Vec<Epoch>,
}

impl Slots {
    /// A slot that nobody had.
    fn fresh(&mut self, thread: ThreadId) -> Epoch {
        let slot = SlotId::from_index(self.owners.len());
        self.owners.push(vec![(1, thread)]);
        Epoch { slot, time: 1 }
    }

    /// A slot for a thread that comes after all that is in `known`.
    fn for_thread(&mut self, thread: ThreadId, known: &VectorClock) -> Epoch {
        let tried = self.free.iter().rev().take(TRIED_SLOTS);
        let found = tried.enumerate().find(|(_, last)| known.knows(last.slot, last.time));
        let Some((position, &last)) = found else { return self.fresh(thread) };
        self.free.remove(self.free.len() - 1 - position);
        let first = Epoch { slot: last.slot, time: last.time + 1 };
        self.owners[last.slot.index()].push((first.time, thread));
        first
    }
}

impl Clocks {
    /// What a thread knows now, and its own epoch.
    #[inline]
    pub(crate) fn now(&mut self, thread: ThreadId) -> (&VectorClock, Epoch) {
        let slot = match self.threads[thread].slot {
            Some(slot) => slot,
            None => self.give_slot(thread),
        };
        let clock = &self.threads[thread].clock;
        (clock, Epoch { slot, time: clock.time(slot) })
    }

    /// The thread that had the slot at that time.
    pub(crate) fn thread_at(&self, epoch: Epoch) -> ThreadId {
        let owners = &self.slots.owners[epoch.slot.index()];
        let later = owners.partition_point(|&(first, _)| first <= epoch.time);
        owners[later - 1].1
    }

    /// How many slots there are.
    pub(crate) fn slot_count(&self) -> usize {
        self.slots.owners.len()
    }

    /// Takes in what an event orders. Accesses order nothing.
    #[inline]
    pub(crate) fn on(&mut self, event: &Event) {
        let thread = event.thread;
        match event.operation {
            Operation::Acquire(lock) | Operation::Wake(lock) => {
                let clock = &mut self.threads[thread].clock;
                clock.join(&self.locks[lock].exclusive);
                clock.join(&self.locks[lock].shared);
            }
            Operation::Release(lock) | Operation::Wait(lock) => {
                self.now(thread);
                self.locks[lock].exclusive.join(&self.threads[thread].clock);
                self.advance(thread);
            }
            Operation::AcquireShared(lock) => {
                self.threads[thread].clock.join(&self.locks[lock].exclusive);
            }
            Operation::ReleaseShared(lock) => {
                self.now(thread);
                self.locks[lock].shared.join(&self.threads[thread].clock);
                self.advance(thread);
            }
            Operation::Send(channel) => {
                self.now(thread);
                self.channels[channel].join(&self.threads[thread].clock);
                self.advance(thread);
            }
            Operation::Receive(channel) => {
                self.threads[thread].clock.join(&self.channels[channel]);
            }
            Operation::Fork(child) => self.fork(thread, child),
            Operation::Join(child) => self.join(thread, child),
            Operation::End => self.end(thread),
            Operation::Read(_)
            | Operation::Write(_)
            | Operation::Request(_)
            | Operation::Notify(_)
            | Operation::Start
            | Operation::Enter(_)
            | Operation::Exit(_)
            | Operation::TransactionBegin
            | Operation::TransactionEnd => {}
        }
    }

    #[cold]
    fn give_slot(&mut self, thread: ThreadId) -> SlotId {
        let known = std::mem::take(&mut self.threads[thread].clock);
        let first = self.slots.for_thread(thread, &known);
        let of_thread = &mut self.threads[thread];
        of_thread.clock = known;
        of_thread.clock.set(first.slot, first.time);
        of_thread.slot = Some(first.slot);
        first.slot
    }

    /// The thread has published what it did: what follows is later.
    #[inline]
    fn advance(&mut self, thread: ThreadId) {
        let of_thread = &mut self.threads[thread];
        if let Some(slot) = of_thread.slot {
            of_thread.clock.times[slot.index()] += 1;
        }
    }

    fn fork(&mut self, thread: ThreadId, child: ThreadId) {
        if thread == child {
            return;
        }
        self.now(thread);
        let known = std::mem::take(&mut self.threads[thread].clock);
        self.threads[child].clock.join(&known);
        self.threads[thread].clock = known;
        self.advance(thread);
        self.now(child);
    }

    fn join(&mut self, thread: ThreadId, child: ThreadId) {
        if thread == child {
            return;
        }
        let known = std::mem::take(&mut self.threads[child].clock);
        self.threads[thread].clock.join(&known);
        self.threads[child].clock = known;
        self.end(child);
    }

    /// Gives the slot back. A thread that goes on nevertheless gets another one.
    fn end(&mut self, thread: ThreadId) {
        let of_thread = &mut self.threads[thread];
        if let Some(slot) = of_thread.slot.take() {
            let time = of_thread.clock.time(slot);
            self.slots.free.push(Epoch { slot, time });
        }
    }
}

#[cfg(test)]
mod tests {
    use unsnarl_trace::SiteId;

    use super::*;

    fn thread(index: usize) -> ThreadId {
        ThreadId::from_index(index)
    }

    fn run(clocks: &mut Clocks, by: usize, operation: Operation) {
        let event = Event { thread: thread(by), site: SiteId::from_index(0), operation };
        clocks.on(&event);
    }

    #[test]
    fn threads_that_follow_each_other_share_a_slot() {
        let mut clocks = Clocks::default();
        for child in 1..1000 {
            run(&mut clocks, 0, Operation::Fork(thread(child)));
            let (_, epoch) = clocks.now(thread(child));
            assert_eq!(clocks.thread_at(epoch), thread(child));
            run(&mut clocks, child, Operation::End);
            run(&mut clocks, 0, Operation::Join(thread(child)));
        }
        assert_eq!(clocks.slot_count(), 2);
    }

    #[test]
    fn a_thread_whose_starter_does_not_know_of_the_end_has_a_slot_of_its_own() {
        let mut clocks = Clocks::default();
        run(&mut clocks, 0, Operation::Fork(thread(1)));
        run(&mut clocks, 1, Operation::End);
        run(&mut clocks, 0, Operation::Fork(thread(2)));
        assert_eq!(clocks.slot_count(), 3);
    }

    #[test]
    fn a_thread_that_goes_on_after_it_was_joined_is_not_known() {
        let mut clocks = Clocks::default();
        run(&mut clocks, 0, Operation::Fork(thread(1)));
        let (_, before) = clocks.now(thread(1));
        run(&mut clocks, 0, Operation::Join(thread(1)));
        let (_, after) = clocks.now(thread(1));
        let (main, _) = clocks.now(thread(0));
        assert!(main.knows(before.slot, before.time));
        assert!(!main.knows(after.slot, after.time));
    }
}
