//! A part of a trace, and what each of its events depends on.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_events::{ChannelId, Event, LockId, Operation, ThreadId, VariableId};

use super::replay::{Finds, LastWrites};

/// How many events of each thread of a window, by the threads' numbers in it: a beginning of what each did.
pub(crate) type Prefix = Vec<u32>;

/// Events that follow each other in a trace.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) events: Vec<Event>,
    /// The threads that have events, and the place of each event in its thread, from 1.
    threads: Vec<ThreadId>,
    pub(super) places: Vec<Position>,
    /// The positions of the events of each thread.
    pub(super) by_thread: Vec<Vec<u32>>,
    /// What the events of a thread depend on: from which event of the thread on, and what. Without entries before the
    /// first that depends on another thread.
    dependencies: Vec<Vec<(u32, Prefix)>>,
    pub(super) sections: FxHashMap<LockId, Vec<Sections>>,
    /// The locks whose sections more than one thread has.
    pub(super) contended: Vec<LockId>,
    /// The locks that the threads held before the first event.
    pub(super) held: HeldLocks,
    /// What every event finds that looks at others, and the events of other threads that must come before it whatever the
    /// order: the start of its thread, the end of one that it joins.
    pub(super) finds: Vec<Finds>,
    pub(super) needs: Vec<[Option<u32>; 2]>,
    /// For every acquisition of a lock that its thread did not hold, the locks that it held.
    pub(super) acquisitions: Vec<Acquisition>,
}

/// Where an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) thread: usize,
    /// From 1.
    pub(super) local: u32,
}

/// Whether a lock is held for one's own use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Mode {
    Exclusive,
    Shared,
}

impl Mode {
    /// Whether two threads cannot have the lock at the same time.
    pub(super) fn excludes(self, other: Self) -> bool {
        self == Self::Exclusive || other == Self::Exclusive
    }
}

/// The critical sections of one thread with one lock, in order.
#[derive(Debug)]
pub(super) struct Sections {
    pub(super) thread: usize,
    pub(super) mode: Mode,
    pub(super) all: Vec<Section>,
}

/// A critical section. Entering a lock again that is held begins none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    /// Its first event; none if it began before the window.
    pub(super) acquire: Option<u32>,
    pub(super) acquire_local: u32,
    /// Its last event; none if it goes on after the window.
    pub(super) release: Option<u32>,
}

impl Section {
    /// Whether it began before another one.
    pub(super) fn began_before(&self, other: &Self) -> bool {
        self.acquire < other.acquire
    }
}

/// A thread gets a lock.
#[derive(Clone, Debug)]
pub(super) struct Acquisition {
    pub(super) event: u32,
    pub(super) lock: LockId,
    pub(super) mode: Mode,
    /// The locks that it holds, with the positions of their acquisitions.
    pub(super) held: Vec<(LockId, Mode, Option<u32>)>,
}

/// Which thread holds which lock, and how often it has entered it.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldLocks {
    by_thread: FxHashMap<ThreadId, Vec<Held>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    lock: LockId,
    mode: Mode,
    depth: u32,
    /// How often it had been entered when the thread began to wait; 0 if it does not wait.
    waits: u32,
    acquire: Option<u32>,
}

/// What an event does to the critical sections of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectionBoundary {
    Begins(LockId, Mode),
    Ends(LockId, Mode),
}

impl HeldLocks {
    /// Takes an event in. Releases of locks that are not held, and waiting without the lock, do nothing.
    pub(super) fn on(&mut self, event: &Event, position: u32) -> Option<SectionBoundary> {
        use Mode::{Exclusive, Shared};
        let held = self.by_thread.entry(event.thread).or_default();
        let find = |held: &[Held], lock, mode| {
            held.iter().position(|it| it.lock == lock && it.mode == mode)
        };
        let (lock, mode) = match event.operation {
            Operation::Acquire(lock) | Operation::Release(lock) => (lock, Exclusive),
            Operation::Wait(lock) | Operation::Wake(lock) => (lock, Exclusive),
            Operation::AcquireShared(lock) | Operation::ReleaseShared(lock) => (lock, Shared),
            _ => return None,
        };
        let index = find(held, lock, mode);
        match event.operation {
            Operation::Acquire(_) | Operation::AcquireShared(_) => match index {
                Some(index) if held[index].depth > 0 => {
                    held[index].depth += 1;
                    None
                }
                _ => {
                    let acquire = Some(position);
                    held.push(Held { lock, mode, depth: 1, waits: 0, acquire });
                    Some(SectionBoundary::Begins(lock, mode))
                }
            },
            Operation::Release(_) | Operation::ReleaseShared(_) => {
                let index = index.filter(|&index| held[index].depth > 0)?;
                held[index].depth -= 1;
                if held[index].depth > 0 {
                    return None;
                }
                held.remove(index);
                Some(SectionBoundary::Ends(lock, mode))
            }
            Operation::Wait(_) => {
                let it = held.get_mut(index?).filter(|it| it.depth > 0)?;
                (it.waits, it.depth) = (it.depth, 0);
                Some(SectionBoundary::Ends(lock, mode))
            }
            _ => {
                let it = held.get_mut(index?).filter(|it| it.waits > 0)?;
                (it.depth, it.waits, it.acquire) = (it.waits, 0, Some(position));
                Some(SectionBoundary::Begins(lock, mode))
            }
        }
    }

    /// The locks that a thread holds.
    pub(super) fn of(
        &self,
        thread: ThreadId,
    ) -> impl Iterator<Item = (LockId, Mode, Option<u32>)> + '_ {
        let held = self.by_thread.get(&thread).into_iter().flatten();
        held.filter(|it| it.depth > 0).map(|it| (it.lock, it.mode, it.acquire))
    }

    /// What a thread holds, to be put back.
    pub(super) fn clone_of(&self, thread: ThreadId) -> Option<Vec<Held>> {
        self.by_thread.get(&thread).cloned()
    }

    pub(super) fn put_back(&mut self, thread: ThreadId, held: Option<Vec<Held>>) {
        self.by_thread.insert(thread, held.unwrap_or_default());
    }

    /// All locks that are held, as they are before a window.
    pub(super) fn all(&self) -> impl Iterator<Item = (ThreadId, LockId, Mode)> + '_ {
        self.by_thread
            .keys()
            .flat_map(|&thread| self.of(thread).map(move |(lock, mode, _)| (thread, lock, mode)))
    }

    /// What is held after some events, as it is before a window.
    pub(super) fn after(mut self, events: &[Event]) -> Self {
        for event in events {
            self.on(event, 0);
        }
        for held in self.by_thread.values_mut() {
            held.iter_mut().for_each(|it| it.acquire = None);
        }
        self.by_thread.retain(|_, held| !held.is_empty());
        self
    }
}

impl Window {
    /// Makes a window of events, before which threads `held` locks.
    pub(crate) fn new(events: Vec<Event>, held: HeldLocks) -> Self {
        let mut numbers: FxHashMap<ThreadId, usize> = FxHashMap::default();
        let mut threads = Vec::new();
        let mut places = Vec::with_capacity(events.len());
        let mut by_thread: Vec<Vec<u32>> = Vec::new();
        for (position, event) in (0..).zip(&events) {
            let thread = *numbers.entry(event.thread).or_insert_with(|| {
                threads.push(event.thread);
                by_thread.push(Vec::new());
                threads.len() - 1
            });
            by_thread[thread].push(position);
            places.push(Position { thread, local: by_thread[thread].len() as u32 });
        }
        let mut window = Self {
            dependencies: vec![Vec::new(); threads.len()],
            events,
            threads,
            places,
            by_thread,
            sections: FxHashMap::default(),
            contended: Vec::new(),
            held: held.clone(),
            acquisitions: Vec::new(),
            finds: Vec::new(),
            needs: Vec::new(),
        };
        window.find_constraints(&numbers);
        window.find_dependencies(&numbers);
        window.find_sections(held, &numbers);
        window
    }

    /// The thread with a number.
    pub(super) fn thread(&self, number: usize) -> ThreadId {
        self.threads[number]
    }

    pub(crate) fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// What must have happened before an event can come next in its thread, without the critical sections.
    pub(super) fn before(&self, position: u32) -> Prefix {
        let Position { thread, local } = self.places[position as usize];
        let mut before = self.upto(thread, local - 1);
        if let [Some(start), _] = self.needs[position as usize] {
            join(&mut before, &self.with(start));
        }
        before
    }

    /// An event and what must have happened before it, without the critical sections.
    pub(super) fn with(&self, position: u32) -> Prefix {
        let Position { thread, local } = self.places[position as usize];
        self.upto(thread, local)
    }

    fn upto(&self, thread: usize, local: u32) -> Prefix {
        let versions = &self.dependencies[thread];
        let index = versions.partition_point(|&(from, _)| from <= local);
        let mut prefix = match index.checked_sub(1) {
            Some(index) => versions[index].1.clone(),
            None => vec![0; self.threads.len()],
        };
        prefix[thread] = local;
        prefix
    }

    fn find_constraints(&mut self, numbers: &FxHashMap<ThreadId, usize>) {
        let mut seen = LastWrites::default();
        let mut starts: FxHashMap<ThreadId, u32> = FxHashMap::default();
        for (position, event) in (0..).zip(&self.events) {
            self.finds.push(seen.of(event.operation));
            seen.add(event.operation, position);
            let is_first = self.places[position as usize].local == 1;
            let start = is_first.then(|| starts.get(&event.thread).copied()).flatten();
            let end = match event.operation {
                Operation::Join(child) => numbers.get(&child).and_then(|&child| {
                    let all = &self.by_thread[child];
                    all[..all.partition_point(|&it| it < position)].last().copied()
                }),
                _ => None,
            };
            self.needs.push([start, end]);
            if let Operation::Fork(child) = event.operation {
                starts.insert(child, position);
            }
        }
    }

    fn find_dependencies(&mut self, numbers: &FxHashMap<ThreadId, usize>) {
        let count = self.threads.len();
        let mut last_writes: FxHashMap<VariableId, u32> = FxHashMap::default();
        let mut sent: FxHashMap<ChannelId, Prefix> = FxHashMap::default();
        let mut notified: FxHashMap<LockId, Prefix> = FxHashMap::default();
        let mut begun: FxHashSet<usize> = FxHashSet::default();
        // What a thread depends on from its first event on.
        let mut forked: FxHashMap<usize, Prefix> = FxHashMap::default();
        for position in 0..self.events.len() as u32 {
            let event = self.events[position as usize];
            let Position { thread, local } = self.places[position as usize];
            let mut needs: Option<Prefix> = None;
            if begun.insert(thread) {
                needs = forked.remove(&thread);
            }
            let other = match event.operation {
                Operation::Read(variable) => {
                    last_writes.get(&variable).map(|&write| self.with(write))
                }
                Operation::Receive(channel) => sent.get(&channel).cloned(),
                Operation::Wake(lock) => notified.get(&lock).cloned(),
                Operation::Join(child) => numbers.get(&child).and_then(|&child| {
                    let last = self.by_thread[child].partition_point(|&it| it < position);
                    let last = last.checked_sub(1)?;
                    Some(self.with(self.by_thread[child][last]))
                }),
                _ => None,
            };
            for other in needs.into_iter().chain(other) {
                self.depend(thread, local, &other, count);
            }
            match event.operation {
                Operation::Write(variable) => {
                    last_writes.insert(variable, position);
                }
                Operation::Send(channel) => {
                    let all = sent.entry(channel).or_insert_with(|| vec![0; count]);
                    join(all, &self.with(position));
                }
                Operation::Notify(lock) => {
                    let all = notified.entry(lock).or_insert_with(|| vec![0; count]);
                    join(all, &self.with(position));
                }
                Operation::Fork(child) => {
                    if let Some(&child) = numbers.get(&child)
                        && !begun.contains(&child)
                    {
                        forked.insert(child, self.with(position));
                    }
                }
                _ => {}
            }
        }
    }

    fn depend(&mut self, thread: usize, local: u32, on: &Prefix, count: usize) {
        let versions = &mut self.dependencies[thread];
        let known = versions.last().map(|(_, known)| known);
        let is_new = |(other, &needed): (usize, &u32)| {
            other != thread && needed > known.map_or(0, |known| known[other])
        };
        if !on.iter().enumerate().any(is_new) {
            return;
        }
        let mut next = known.cloned().unwrap_or_else(|| vec![0; count]);
        join(&mut next, on);
        versions.push((local, next));
    }

    fn find_sections(&mut self, held: HeldLocks, numbers: &FxHashMap<ThreadId, usize>) {
        for (thread, lock, mode) in held.all() {
            if let Some(&thread) = numbers.get(&thread) {
                let section = Section { acquire: None, acquire_local: 0, release: None };
                self.sections_of(lock, thread, mode).push(section);
            }
        }
        let mut held = held;
        for position in 0..self.events.len() as u32 {
            let event = self.events[position as usize];
            let Position { thread, local } = self.places[position as usize];
            let before: Vec<_> = match event.operation {
                Operation::Acquire(_) | Operation::AcquireShared(_) => {
                    held.of(event.thread).collect()
                }
                _ => Vec::new(),
            };
            match held.on(&event, position) {
                Some(SectionBoundary::Begins(lock, mode)) => {
                    let section =
                        Section { acquire: Some(position), acquire_local: local, release: None };
                    self.sections_of(lock, thread, mode).push(section);
                    if !before.is_empty() && before.iter().all(|&(other, ..)| other != lock) {
                        let acquisition = Acquisition { event: position, lock, mode, held: before };
                        self.acquisitions.push(acquisition);
                    }
                }
                Some(SectionBoundary::Ends(lock, mode)) => {
                    if let Some(section) = self.sections_of(lock, thread, mode).last_mut() {
                        section.release = Some(position);
                    }
                }
                None => {}
            }
        }
        let several =
            |sections: &Vec<Sections>| sections.iter().any(|one| one.thread != sections[0].thread);
        let contended = self.sections.iter().filter(|(_, sections)| several(sections));
        self.contended = contended.map(|(lock, _)| *lock).collect();
        self.contended.sort_unstable();
    }

    fn sections_of(&mut self, lock: LockId, thread: usize, mode: Mode) -> &mut Vec<Section> {
        let of_lock = self.sections.entry(lock).or_default();
        let index = of_lock.iter().position(|it| it.thread == thread && it.mode == mode);
        let index = index.unwrap_or_else(|| {
            of_lock.push(Sections { thread, mode, all: Vec::new() });
            of_lock.len() - 1
        });
        &mut of_lock[index].all
    }
}

/// Adds what another prefix has more.
pub(super) fn join(prefix: &mut [u32], other: &[u32]) {
    for (one, other) in prefix.iter_mut().zip(other) {
        *one = (*one).max(*other);
    }
}
