//! What threads last did to synchronize: the time lines of races, so that people see what did not order two accesses.
//!
//! Of every thread the last eight steps are remembered, whatever it does; they are looked at when a race is found, and
//! never before. Entering a lock again that is held orders nothing and is no step.
//!
//! Detectors that compare locks remember of an access after which step it was ([`Moment`]). For one that compares clocks an
//! access knows its time only as an epoch, which is enough: an epoch ends with every step that publishes something, and
//! within one the locks of a thread only become more. What is left are joins and what is received, in the same epoch and
//! with the same number of locks: on which side of the access these were is not known, and they are left out.
//!
//! Guarantees, for traces in which threads release what they have acquired: the steps of a thread and its access are in
//! the order of the run; the steps of both threads are too; an arrow is an order that there was. Where an access that
//! knows its epoch stands among the steps of the *other* thread is not known: it stands right after the step before it.

use std::cmp::Ordering;

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_entity::{PrimaryMap, SecondaryMap, entity_id};
use unsnarl_events::{Channel, ChannelId, Event, LockId, Operation, SiteId, Tables, ThreadId};
use unsnarl_findings::{StepKind, TimelineStep};
use unsnarl_trace_analysis::clocks::{Clocks, Epoch};
use unsnarl_trace_analysis::describe::{DeclaredVariable, known_frame, lock, thread};
use unsnarl_trace_analysis::last_access::LastAccess;
use unsnarl_trace_analysis::locksets::Locksets;
use unsnarl_trace_analysis::thread_contexts::ThreadContexts;

/// How many steps of a thread are remembered and shown.
pub(crate) const REMEMBERED: usize = 8;

/// The last steps of all threads, each with what places it among the accesses of its thread.
#[derive(Debug)]
pub(crate) struct Steps<P> {
    threads: SecondaryMap<ThreadId, LastSteps<P>>,
    count: u64,
    /// What has died since the steps were last gone through.
    dying: FxHashSet<With>,
    dead: Dead,
}

/// What steps of the past were done with.
pub(crate) type Dead = PrimaryMap<DeadId, Named>;

/// What a step is done with, as time lines have it.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    name: Box<str>,
    is_volatile: bool,
}

entity_id! {
    /// A lock or a channel that has died.
    pub(crate) struct DeadId("dead");
}

#[derive(Clone, Copy, Debug)]
struct Remembered<P> {
    step: Taken,
    place: P,
}

/// The last steps of a thread. When there are as many as are remembered the oldest makes room.
#[derive(Clone, Debug)]
struct LastSteps<P> {
    steps: Vec<Remembered<P>>,
    oldest: usize,
}

impl<P> Default for LastSteps<P> {
    fn default() -> Self {
        Self { steps: Vec::new(), oldest: 0 }
    }
}

impl<P> LastSteps<P> {
    fn last_mut(&mut self) -> Option<&mut Remembered<P>> {
        let last = self.oldest.checked_sub(1).unwrap_or(self.steps.len().wrapping_sub(1));
        self.steps.get_mut(last)
    }

    fn push(&mut self, step: Remembered<P>) {
        if self.steps.len() < REMEMBERED {
            self.steps.push(step);
        } else {
            self.steps[self.oldest] = step;
            self.oldest = (self.oldest + 1) % REMEMBERED;
        }
    }

    /// All of them, the oldest first.
    fn iter(&self) -> impl Iterator<Item = &Remembered<P>> {
        let (newer, older) = self.steps.split_at(self.oldest);
        older.iter().chain(newer)
    }

    fn is_full(&self) -> bool {
        self.steps.len() == REMEMBERED
    }
}

/// When a thread was before a step, and how many locks it held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EpochPosition {
    epoch: Epoch,
    depth: u32,
}

/// How many steps there were before an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(u64);

impl<P: Clone> Default for Steps<P> {
    fn default() -> Self {
        Self {
            threads: SecondaryMap::default(),
            count: 0,
            dying: FxHashSet::default(),
            dead: Dead::new(),
        }
    }
}

/// A step, and its place among the steps of all threads. The start of a thread is a step of both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    thread: ThreadId,
    site: SiteId,
    kind: StepKind,
    with: With,
    order: u64,
}

/// What a step is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum With {
    Lock(LockId),
    Thread(ThreadId),
    Channel(ChannelId),
    Dead(DeadId),
}

impl Taken {
    /// An event as a step, if it orders threads.
    #[inline]
    pub(crate) fn new(event: &Event, order: u64) -> Option<Self> {
        let (kind, with) = match event.operation {
            Operation::Acquire(lock) => (StepKind::Acquire, With::Lock(lock)),
            Operation::Release(lock) => (StepKind::Release, With::Lock(lock)),
            Operation::AcquireShared(lock) => (StepKind::AcquireShared, With::Lock(lock)),
            Operation::ReleaseShared(lock) => (StepKind::ReleaseShared, With::Lock(lock)),
            Operation::Wait(lock) => (StepKind::Wait, With::Lock(lock)),
            Operation::Wake(lock) => (StepKind::Wake, With::Lock(lock)),
            Operation::Fork(child) if child != event.thread => {
                (StepKind::Start, With::Thread(child))
            }
            Operation::Join(child) if child != event.thread => {
                (StepKind::Join, With::Thread(child))
            }
            Operation::Send(channel) => (StepKind::Send, With::Channel(channel)),
            Operation::Receive(channel) => (StepKind::Receive, With::Channel(channel)),
            _ => return None,
        };
        Some(Self { thread: event.thread, site: event.site, kind, with, order })
    }

    /// Its place among the steps of all threads.
    pub(crate) fn order(&self) -> u64 {
        self.order
    }

    /// Whether it lets others know what its thread did.
    fn publishes(&self) -> bool {
        use StepKind::{Release, ReleaseShared, Send, Start, Wait};
        matches!(self.kind, Release | ReleaseShared | Wait | Send | Start)
    }

    /// Whether it comes before a later one of another thread because of what both are done with.
    fn orders(&self, later: &Self) -> bool {
        use StepKind::{Acquire, AcquireShared, Receive, Release, ReleaseShared, Send, Wait, Wake};
        let is_pair = matches!(
            (self.kind, later.kind),
            (Release | Wait, Acquire | AcquireShared | Wake)
                | (ReleaseShared, Acquire | Wake)
                | (Send, Receive)
        );
        is_pair && self.with == later.with
    }
}

impl<P: Clone> Steps<P> {
    #[inline]
    fn take(&mut self, event: &Event, locksets: &Locksets, place: impl Fn(ThreadId) -> P) {
        let Some(step) = Taken::new(event, self.count + 1) else { return };
        let is_again = match (step.kind, step.with) {
            (StepKind::Acquire | StepKind::AcquireShared, With::Lock(lock)) => {
                locksets.times_held(event.thread, lock) > 0
            }
            (StepKind::Release | StepKind::ReleaseShared, With::Lock(lock)) => {
                locksets.times_held(event.thread, lock) > 1
            }
            _ => false,
        };
        if is_again {
            return;
        }
        self.count += 1;
        self.remember(event.thread, Remembered { step, place: place(event.thread) });
        if let (StepKind::Start, With::Thread(child)) = (step.kind, step.with) {
            self.remember(child, Remembered { step, place: place(child) });
        }
    }

    fn remember(&mut self, thread: ThreadId, remembered: Remembered<P>) {
        let steps = &mut self.threads[thread];
        // A thread that asks again and again, and has done nothing else, is shown the last time.
        let is_same = |last: &Remembered<P>| {
            let (last, step) = (&last.step, &remembered.step);
            (last.thread, last.kind, last.with) == (step.thread, step.kind, step.with)
        };
        match steps.last_mut() {
            Some(last) if is_same(last) => *last = remembered,
            _ => steps.push(remembered),
        }
    }

    /// Takes in what a trace says of what has died: other locks and channels may have the same ids from now on.
    pub(crate) fn forget(&mut self, event: &Event, tables: &Tables) {
        match event.operation {
            Operation::ForgetLock(lock) => drop(self.dying.insert(With::Lock(lock))),
            Operation::ForgetChannel(channel) => drop(self.dying.insert(With::Channel(channel))),
            Operation::Swept => self.bury(tables),
            _ => {}
        }
    }

    /// What steps were done with that has died gets its name now; the names that no step has any more are forgotten.
    fn bury(&mut self, tables: &Tables) {
        let Self { threads, dying, dead, .. } = self;
        let old = std::mem::take(dead);
        let mut known: FxHashMap<With, DeadId> = FxHashMap::default();
        for remembered in threads.values_mut().flat_map(|thread| &mut thread.steps) {
            let with = &mut remembered.step.with;
            if dying.contains(with) || matches!(with, With::Dead(_)) {
                let place = known.entry(*with);
                let place = place.or_insert_with(|| dead.push(named(*with, &old, tables)));
                *with = With::Dead(*place);
            }
        }
        dying.clear();
    }

    /// The time line of an earlier access and one that is made now, from the side of the earlier one that each step of its
    /// thread is on, and from what comes right before it if that is known.
    fn context(
        &self,
        threads: [ThreadId; 2],
        side: impl Fn(&Remembered<P>) -> Option<Ordering>,
        access: Option<u64>,
        tables: &Tables,
    ) -> Vec<TimelineStep> {
        let [first, second] = threads.map(|thread| &self.threads[thread]);
        let mut sides = [Vec::new(), Vec::new()];
        for remembered in first.iter() {
            match side(remembered) {
                Some(Ordering::Less) => sides[0].push(remembered.step),
                Some(_) => sides[1].push(remembered.step),
                None => {}
            }
        }
        let [before, after] = sides;
        let is_full = first.is_full();
        let first = Lane {
            thread: threads[0],
            access: access.or_else(|| Some(before.last()?.order)).unwrap_or(0),
            is_behind_gap: is_full && before.is_empty(),
            steps: before.into_iter().chain(after).collect(),
        };
        let second = Lane {
            thread: threads[1],
            access: u64::MAX,
            is_behind_gap: false,
            steps: second.iter().map(|remembered| remembered.step).collect(),
        };
        timeline(&[first, second], &self.dead, tables)
    }
}

impl Steps<EpochPosition> {
    /// Remembers a step, before clocks and locksets take it in.
    #[inline]
    pub(crate) fn on(&mut self, event: &Event, clocks: &Clocks, locksets: &Locksets) {
        let depth = |thread| locksets.depth_of(thread);
        let place = |thread| EpochPosition { epoch: clocks.now(thread), depth: depth(thread) };
        self.take(event, locksets, place);
    }

    /// The time line of an earlier access and one that is made now.
    pub(crate) fn timeline(
        &self,
        earlier: &LastAccess,
        threads: [ThreadId; 2],
        contexts: &ThreadContexts,
        tables: &Tables,
    ) -> Vec<TimelineStep> {
        let (_, locks) = contexts.of(earlier.context);
        let depth = contexts.locksets.depth(locks);
        self.context(threads, |step| step.side(earlier.epoch, depth), None, tables)
    }
}

impl Steps<()> {
    /// Remembers a step, before locksets take it in.
    #[inline]
    pub(crate) fn on(&mut self, event: &Event, locksets: &Locksets) {
        self.take(event, locksets, |_| ());
    }

    /// When an access is that is made now.
    #[inline]
    pub(crate) fn now(&self) -> Moment {
        Moment(self.count)
    }

    /// The time line of an earlier access and one that is made now.
    pub(crate) fn timeline(
        &self,
        earlier: Moment,
        threads: [ThreadId; 2],
        tables: &Tables,
    ) -> Vec<TimelineStep> {
        // Directly after a step is after it.
        let side = |it: &Remembered<()>| Some(it.step.order.cmp(&earlier.0.saturating_add(1)));
        self.context(threads, side, Some(earlier.0), tables)
    }
}

impl Remembered<EpochPosition> {
    /// On which side of an access of the same thread it is, which was made in an epoch with so many locks.
    fn side(&self, access: Epoch, locks: u32) -> Option<Ordering> {
        let EpochPosition { epoch, depth } = self.place;
        match epoch.in_thread(access)? {
            Ordering::Equal if self.step.publishes() => Some(Ordering::Greater),
            Ordering::Equal => match (depth.cmp(&locks), self.step.kind) {
                (Ordering::Equal, StepKind::Receive | StepKind::Join) => None,
                (Ordering::Less, _) => Some(Ordering::Less),
                _ => Some(Ordering::Greater),
            },
            side => Some(side),
        }
    }
}

/// One of the two threads of a race.
pub(crate) struct Lane {
    pub(crate) thread: ThreadId,
    /// The order of what comes right before the access.
    pub(crate) access: u64,
    /// Whether steps between the access and the one after it are not known.
    pub(crate) is_behind_gap: bool,
    /// In their order.
    pub(crate) steps: Vec<Taken>,
}

/// The steps of both threads and their accesses, in their order.
pub(crate) fn timeline(lanes: &[Lane; 2], dead: &Dead, tables: &Tables) -> Vec<TimelineStep> {
    let mut all: Vec<(u64, usize, Option<Taken>)> = Vec::new();
    for (number, lane) in lanes.iter().enumerate() {
        all.extend(lane.steps.iter().map(|step| (step.order, number, Some(*step))));
        all.push((lane.access, number, None));
    }
    // What began a thread stands after the step that did it, an access after the step before it.
    let begins = |number: usize, step: &Taken| step.thread != lanes[number].thread;
    all.sort_by_key(|&(order, number, step)| {
        (order, step.map_or((true, true), |step| (false, begins(number, &step))))
    });
    let mut gap = lanes.each_ref().map(|lane| lane.is_behind_gap);
    let mut has_accessed = [false; 2];
    let mut known: [Option<usize>; 2] = [None; 2];
    let mut steps: Vec<TimelineStep> = Vec::with_capacity(all.len());
    for (position, &(_, number, step)) in all.iter().enumerate() {
        let after = step.and_then(|step| {
            let mut others = all[..position].iter();
            let comes_before = |(_, lane, other): &(u64, usize, Option<Taken>)| {
                let other = other.filter(|_| *lane != number);
                other.is_some_and(|other| match begins(number, &step) {
                    true => other.order == step.order,
                    false => other.orders(&step),
                })
            };
            // What a thread knows already is not shown again.
            others.rposition(comes_before).filter(|&found| known[number] < Some(found))
        });
        known[number] = known[number].max(after);
        let is_behind_gap = has_accessed[number] && std::mem::take(&mut gap[number]);
        has_accessed[number] |= step.is_none();
        let (kind, on, site) = match step {
            None => (StepKind::Access, None, None),
            Some(step) => {
                let (kind, on) = match begins(number, &step) {
                    true => (StepKind::Begin, thread(step.thread, tables)),
                    false => described(&step, dead, tables),
                };
                (kind, Some(on), known_frame(step.site, tables))
            }
        };
        steps.push(TimelineStep { lane: number, kind, on, site, after, is_behind_gap });
    }
    steps
}

fn described(step: &Taken, dead: &Dead, tables: &Tables) -> (StepKind, String) {
    let Named { name, is_volatile } = named(step.with, dead, tables);
    let kind = match step.kind {
        StepKind::Send if is_volatile => StepKind::VolatileWrite,
        StepKind::Receive if is_volatile => StepKind::VolatileRead,
        kind => kind,
    };
    (kind, name.into())
}

fn named(with: With, dead: &Dead, tables: &Tables) -> Named {
    let (name, is_volatile) = match with {
        With::Lock(it) => (lock(it, tables).to_string(), false),
        With::Thread(it) => (thread(it, tables), false),
        With::Dead(it) => return dead[it].clone(),
        With::Channel(channel) => match tables.channels[channel] {
            Channel::Volatile(variable) => {
                (DeclaredVariable::of(variable, tables).variable(tables).to_string(), true)
            }
            Channel::Object(object) => {
                let object = tables.objects[object];
                (format!("{} (#{})", tables.text(object.class), object.number), false)
            }
            Channel::Named(name) => (tables.text(name).into_owned(), false),
        },
    };
    Named { name: name.into(), is_volatile }
}
