//! Which step happens before which: vector clocks.
//!
//! A thread has a place in all clocks, its *slot*, and a time, which advances whenever it publishes
//! what it did. The time of a slot together with the slot is an *epoch*; a step at an epoch happens
//! before what a thread does now if the thread's clock knows the epoch.
//!
//! The slot of a thread that has ended is given to a new thread when the one that starts it knows all
//! that the old thread did. The new one then comes after the old one altogether, so that an epoch of
//! the slot means the same whichever of the two it was. A program that starts and joins a hundred
//! thousand threads, a few at a time, has clocks with a few slots. What a thread only learned after what it last published
//! need not be known: nothing was done there.
//!
//! What a thread publishes is when it did so and what it knew then. Most that is published at different times differs by
//! the time alone: what was known is shared. Who knows the time knows the rest as well, unless others have published there
//! without knowing of each other.

use std::cmp::Ordering;
use std::sync::Arc;

use unsnarl_entity::{EntityId, SecondaryMap, entity_id};
use unsnarl_events::{ChannelId, Event, LockId, Operation, ThreadId};

use crate::vector_clock::VectorClock;

entity_id! {
    /// A place in vector clocks.
    pub struct SlotId("slot");
}

/// How many slots of ended threads are tried for a new thread, so that a start costs little.
const TRIED_SLOTS: usize = 16;

/// When, in one slot: 28 bits for the slot and 36 for the time. A trace with more threads at once, or
/// with a thread that releases more often, would be larger than any disk. Packed, so that what is kept with it in
/// pieces of four bytes leaves no gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(Rust, packed(4))]
pub struct Epoch(u64);

const TIME_BITS: u32 = 36;

impl Epoch {
    /// Before all others, and known to all.
    pub const NEVER: Self = Self(0);

    /// Some that are no times, and that nobody knows: what is kept with such a one is something else than an access.
    pub const MARKS: [Self; 3] = [Self(u64::MAX), Self(u64::MAX - 1), Self(u64::MAX - 2)];

    #[inline]
    /// A moment of a slot.
    pub fn new(slot: SlotId, time: u64) -> Self {
        Self((slot.index() as u64) << TIME_BITS | time)
    }

    #[inline]
    /// The slot of the thread.
    pub fn slot(self) -> SlotId {
        SlotId::from_index((self.0 >> TIME_BITS) as usize)
    }

    #[inline]
    fn time(self) -> u64 {
        self.0 & ((1 << TIME_BITS) - 1)
    }

    /// Whether it comes before another epoch of the same thread. Not known if the thread has changed its slot.
    pub fn in_thread(self, other: Self) -> Option<Ordering> {
        match self {
            Self::NEVER => Some(Ordering::Less),
            _ if self.slot() == other.slot() => Some(self.time().cmp(&other.time())),
            _ => None,
        }
    }

    fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl VectorClock {
    /// Whether a step at this epoch is known.
    #[inline]
    fn knows(&self, epoch: Epoch) -> bool {
        epoch.time() <= self.time(epoch.slot().index())
    }

    /// Takes over one epoch and what comes before it in its slot.
    #[inline]
    fn add_epoch(&mut self, epoch: Epoch) {
        self.add(epoch.slot().index(), epoch.time());
    }
}

/// The clocks of all threads, locks and channels of a trace.
#[derive(Debug, Default)]
pub struct Clocks {
    threads: SecondaryMap<ThreadId, ThreadClock>,
    locks: SecondaryMap<LockId, LockClock>,
    channels: SecondaryMap<ChannelId, Published>,
    slots: Slots,
}

/// Where a thread is and what it knows.
#[derive(Clone, Debug)]
pub struct ThreadClock {
    /// When it is; [`Epoch::NEVER`] before its first step. All that comes before in the slot is known.
    now: Epoch,
    /// When it last published; [`Epoch::NEVER`] if it never did.
    published: Epoch,
    /// Whether it was asked when it is since then: something may have been done at that time.
    has_acted: bool,
    /// Whether the slot was given back, and when the thread did something the last time then.
    has_ended: bool,
    last: Epoch,
    /// What it knows of other slots; of its own it may have any time up to now.
    known: VectorClock,
    /// Whether it may know more than when it last published.
    has_news: bool,
    /// What it knew then, if that is shared.
    shared: Option<Arc<VectorClock>>,
}

impl Default for ThreadClock {
    fn default() -> Self {
        Self {
            now: Epoch::NEVER,
            published: Epoch::NEVER,
            has_acted: false,
            has_ended: false,
            last: Epoch::NEVER,
            known: VectorClock::default(),
            has_news: true,
            shared: None,
        }
    }
}

/// What was published somewhere.
#[derive(Clone, Debug)]
struct Published {
    /// When it was the last time; [`Epoch::NEVER`] if it never was.
    at: Epoch,
    known: Option<Arc<VectorClock>>,
    /// Whether it is more than what the last who has published knew.
    is_of_several: bool,
}

impl Default for Published {
    fn default() -> Self {
        Self { at: Epoch::NEVER, known: None, is_of_several: false }
    }
}

impl ThreadClock {
    /// When the thread does what it does now.
    #[inline]
    pub fn now(&self) -> Epoch {
        self.now
    }

    /// Whether a step comes before what the thread does now.
    #[inline]
    pub fn knows(&self, epoch: Epoch) -> bool {
        epoch.slot() == self.now.slot() || self.known.knows(epoch)
    }

    /// Whether a step certainly comes before what the thread does now: a quick answer, which for threads with high slots may
    /// be no although [`knows`](Self::knows) says yes.
    #[inline(always)]
    pub fn surely_knows(&self, epoch: Epoch) -> bool {
        epoch.time() <= self.known.near_time(epoch.slot().index())
    }

    /// Takes over all that a thread knows which has ended. Who knows what that thread last published, and it has
    /// learned nothing since, knows all of it.
    fn join(&mut self, other: &Self) {
        if other.has_news || !self.knows(other.published) {
            self.known.join(&other.known);
        }
        self.known.add_epoch(other.last);
        self.has_learned();
    }

    /// What the thread does from now on is at a later time, or in another slot.
    #[inline]
    fn begin(&mut self, now: Epoch) {
        self.now = now;
        self.known.add_near(now.slot().index(), now.time());
    }

    fn has_learned(&mut self) {
        self.has_news = true;
        self.shared = None;
    }

    /// Whether nothing was published that it does not know. The quick answer may be no although it does.
    #[inline]
    fn knows_all(&self, published: &Published) -> bool {
        self.known.knows(published.at) && (!published.is_of_several || self.covers(published))
    }

    #[inline(never)]
    fn covers(&self, published: &Published) -> bool {
        published.known.as_ref().is_none_or(|known| self.known.covers(known))
    }

    #[inline]
    fn learn(&mut self, published: &Published) {
        if !self.knows_all(published) {
            self.take_over(published);
        }
    }

    fn take_over(&mut self, published: &Published) {
        if let Some(known) = &published.known {
            self.known.join(known);
        }
        self.known.add_epoch(published.at);
        self.has_learned();
    }

    /// Lets others know all that this thread knows; what it does from now on is later.
    #[inline]
    fn publish(&mut self, to: &mut Published) {
        match self.knows_all(to) {
            true => self.replace(to),
            false => self.add_to(to),
        }
        to.at = self.now;
        self.published = self.now;
        self.begin(self.now.next());
        (self.has_news, self.has_acted) = (false, false);
    }

    /// Publishes where nothing else was published. Memory that nobody shares is used again.
    #[inline]
    fn replace(&mut self, to: &mut Published) {
        to.is_of_several = false;
        match (&self.shared, to.known.as_mut().and_then(Arc::get_mut)) {
            (Some(shared), _) => to.known = Some(Arc::clone(shared)),
            (None, Some(own)) => own.clone_from(&self.known),
            (None, None) => {
                let new = Arc::new(self.known.clone());
                // Who publishes where nobody has may do so at many such places.
                if to.known.is_none() {
                    self.shared = Some(Arc::clone(&new));
                }
                to.known = Some(new);
            }
        }
    }

    /// Publishes where others have published what this thread does not know.
    #[inline(never)]
    fn add_to(&mut self, to: &mut Published) {
        to.is_of_several = true;
        let known = Arc::make_mut(to.known.get_or_insert_default());
        known.join(&self.known);
        known.add_epoch(to.at);
    }
}

#[derive(Clone, Debug, Default)]
struct LockClock {
    /// What was done before the lock was released by those who had it for themselves.
    exclusive: Published,
    /// What was done before it was released by those who shared it.
    shared: Published,
}

/// Who has had which slot.
#[derive(Debug, Default)]
struct Slots {
    /// For every slot the threads that had it, each with when it began.
    owners: Vec<Vec<(Epoch, ThreadId)>>,
    /// When the slots that nobody has were last used.
    free: Vec<Epoch>,
}

impl Slots {
    /// The first epoch of a thread that comes after all that is in `known`.
    fn first_epoch(&mut self, thread: ThreadId, known: &VectorClock) -> Epoch {
        let tried = self.free.iter().rev().take(TRIED_SLOTS);
        let found = tried.enumerate().find(|&(_, &last)| known.knows(last));
        let first = match found {
            Some((position, &last)) => {
                self.free.remove(self.free.len() - 1 - position);
                last.next()
            }
            None => {
                self.owners.push(Vec::new());
                Epoch::new(SlotId::from_index(self.owners.len() - 1), 1)
            }
        };
        self.owners[first.slot().index()].push((first, thread));
        first
    }
}

impl Clocks {
    /// Where a thread is that does something now, and what it knows.
    #[inline]
    pub fn of(&mut self, thread: ThreadId) -> &mut ThreadClock {
        let clock = self.with_slot(thread);
        clock.has_acted = true;
        clock
    }

    #[inline]
    fn with_slot(&mut self, thread: ThreadId) -> &mut ThreadClock {
        let clock = &self.threads[thread];
        if clock.now == Epoch::NEVER || clock.has_ended {
            self.give_slot(thread);
        }
        &mut self.threads[thread]
    }

    /// The same of a thread that has a slot.
    #[inline]
    pub fn known(&self, thread: ThreadId) -> &ThreadClock {
        &self.threads[thread]
    }

    /// When a thread is; [`Epoch::NEVER`] before its first step.
    #[inline]
    pub fn now(&self, thread: ThreadId) -> Epoch {
        self.threads[thread].now
    }

    /// The thread that did something at that time.
    pub fn thread_at(&self, epoch: Epoch) -> ThreadId {
        let owners = &self.slots.owners[epoch.slot().index()];
        let later = owners.partition_point(|&(first, _)| first.time() <= epoch.time());
        owners[later - 1].1
    }

    /// How many slots there are.
    pub fn slot_count(&self) -> usize {
        self.slots.owners.len()
    }

    /// Takes in what an event orders. Accesses order nothing.
    #[inline]
    pub fn on(&mut self, event: &Event) {
        let thread = event.thread;
        match event.operation {
            Operation::Acquire(lock) | Operation::Wake(lock) => {
                let clock = &mut self.threads[thread];
                clock.learn(&self.locks[lock].exclusive);
                clock.learn(&self.locks[lock].shared);
            }
            Operation::Release(lock) | Operation::Wait(lock) => {
                self.with_slot(thread);
                self.threads[thread].publish(&mut self.locks[lock].exclusive);
            }
            Operation::AcquireShared(lock) => {
                self.threads[thread].learn(&self.locks[lock].exclusive);
            }
            Operation::ReleaseShared(lock) => {
                self.with_slot(thread);
                self.threads[thread].publish(&mut self.locks[lock].shared);
            }
            Operation::Send(channel) => {
                self.with_slot(thread);
                self.threads[thread].publish(&mut self.channels[channel]);
            }
            Operation::Receive(channel) => {
                self.threads[thread].learn(&self.channels[channel]);
            }
            Operation::ForgetLock(lock) => self.locks.reset(lock),
            Operation::ForgetChannel(channel) => self.channels.reset(channel),
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
            | Operation::TransactionEnd
            | Operation::Allocate(_)
            | Operation::Store(_)
            | Operation::Forget(_)
            | Operation::Swept
            | Operation::ReadElements(_)
            | Operation::WriteElements(_)
            | Operation::ForgetElements(_) => {}
        }
    }

    #[cold]
    fn give_slot(&mut self, thread: ThreadId) {
        let clock = &mut self.threads[thread];
        clock.known.add_epoch(clock.last);
        clock.has_learned();
        let now = self.slots.first_epoch(thread, &clock.known);
        clock.begin(now);
        clock.has_ended = false;
    }

    fn fork(&mut self, thread: ThreadId, child: ThreadId) {
        if thread == child {
            return;
        }
        let mut published = Published::default();
        self.with_slot(thread).publish(&mut published);
        self.threads[child].learn(&published);
        self.with_slot(child);
    }

    fn join(&mut self, thread: ThreadId, child: ThreadId) {
        if thread == child {
            return;
        }
        // A thread without a slot would seem to know the past of the first one.
        self.with_slot(thread);
        self.end(child);
        let ended = std::mem::take(&mut self.threads[child]);
        self.threads[thread].join(&ended);
        self.threads[child] = ended;
    }

    /// Gives the slot back. A thread that goes on nevertheless gets another one.
    fn end(&mut self, thread: ThreadId) {
        let clock = &mut self.threads[thread];
        if clock.now != Epoch::NEVER && !clock.has_ended {
            clock.has_ended = true;
            clock.last = clock.now;
            // Who knows what it has published knows all that it did.
            let is_behind = clock.published != Epoch::NEVER && clock.published.next() == clock.now;
            if is_behind && !clock.has_acted {
                clock.last = clock.published;
                clock.known.take_back_near(clock.last.slot().index(), clock.last.time());
            }
            self.slots.free.push(clock.last);
        }
    }
}

#[cfg(test)]
mod tests {
    use unsnarl_events::SiteId;

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
            let epoch = clocks.of(thread(child)).now();
            assert_eq!(clocks.thread_at(epoch), thread(child));
            run(&mut clocks, child, Operation::End);
            run(&mut clocks, 0, Operation::Join(thread(child)));
        }
        assert_eq!(clocks.slot_count(), 2);
    }

    /// The starter knows what threads have sent, and does not wait for their ends.
    #[test]
    fn threads_that_do_nothing_behind_what_is_received_from_them_share_a_slot() {
        let mut clocks = Clocks::default();
        let channel = ChannelId::from_index(0);
        for child in 1..1000 {
            run(&mut clocks, 0, Operation::Fork(thread(child)));
            let epoch = clocks.of(thread(child)).now();
            assert_eq!(clocks.thread_at(epoch), thread(child));
            run(&mut clocks, child, Operation::Send(channel));
            run(&mut clocks, child, Operation::End);
            run(&mut clocks, 0, Operation::Receive(channel));
        }
        assert_eq!(clocks.slot_count(), 2);
        // What the first of them is joined for later is not what the last of them does now.
        run(&mut clocks, 0, Operation::Fork(thread(1000)));
        run(&mut clocks, 5, Operation::Join(thread(999)));
        let now = clocks.of(thread(1000)).now();
        assert!(!clocks.of(thread(5)).knows(now));
    }

    #[test]
    fn a_thread_whose_starter_does_not_know_of_the_end_has_a_slot_of_its_own() {
        let mut clocks = Clocks::default();
        run(&mut clocks, 0, Operation::Fork(thread(1)));
        clocks.of(thread(1));
        run(&mut clocks, 1, Operation::End);
        run(&mut clocks, 0, Operation::Fork(thread(2)));
        assert_eq!(clocks.slot_count(), 3);
    }

    /// Time lines tell by it what came later.
    #[test]
    fn the_time_of_a_thread_does_not_go_back_when_it_ends() {
        let mut clocks = Clocks::default();
        run(&mut clocks, 0, Operation::Fork(thread(1)));
        let acted = clocks.of(thread(1)).now();
        run(&mut clocks, 1, Operation::Send(ChannelId::from_index(0)));
        run(&mut clocks, 0, Operation::Join(thread(1)));
        assert_eq!(clocks.now(thread(1)).in_thread(acted), Some(Ordering::Greater));
    }

    #[test]
    fn a_thread_that_goes_on_after_it_was_joined_is_not_known() {
        let mut clocks = Clocks::default();
        run(&mut clocks, 0, Operation::Fork(thread(1)));
        let before = clocks.of(thread(1)).now();
        run(&mut clocks, 0, Operation::Join(thread(1)));
        let after = clocks.of(thread(1)).now();
        let main = clocks.of(thread(0));
        assert!(main.knows(before) && !main.knows(after));
    }
}
