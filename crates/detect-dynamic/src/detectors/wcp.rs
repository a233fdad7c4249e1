//! Races by weak causal precedence: pairs of accesses that it leaves unordered, reported only if a reordering of the run shows
//! that they can meet.
//!
//! After [Kini17, algorithm 1]. WCP is
//! weaker than happens-before: a release comes before what follows on the same lock only if the critical sections
//! conflict, or hold what is ordered already.
//!
//! Deviations:
//! - Start and join of threads, channels and shared locks order as in happens-before: conservative. So does a lock that a
//!   thread waits with.
//! - [Kini17, soundness] promises that of the first race of a trace a race or a deadlock is real. Here every pair needs a witness: a
//!   reordering that preserves synchronization, or one that a bounded search finds in the window around the pair; see
//!   [`crate::prediction`].
//!
//! Guarantees: what becomes a finding can happen. The events that `--format tsv` lists are those that WCP leaves unordered
//! with an earlier access, with or without a witness; the statistics count both.
//!
//! Memory grows with the number of critical sections: each is kept for threads that have not come to its lock yet.
//!
//! Misses: pairs that are further apart than a window, and those whose reordering the search does not find.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_entity::{EntityId, SecondaryMap};
use unsnarl_events::{ChannelId, Event, LockId, Operation, Tables, ThreadId, VariableId};
use unsnarl_findings::{Evidence, Rule};
use unsnarl_trace_analysis::{Analysis, AnalysisEntry, Flagged, Options, Outcome};

use crate::prediction;
use crate::prediction::predicted::{Complete, Predicted};
use crate::reporting::races::RaceWording;

/// The line in the table.
pub(crate) const ENTRY: AnalysisEntry = AnalysisEntry {
    name: "wcp",
    rule: Rule::DataRace,
    summary: "accesses that weak causal precedence leaves unordered, if a reordering shows that they can meet",
    is_default: false,
    needs: |_| prediction::NEEDS,
    make,
};

const WORDING: RaceWording = RaceWording {
    rule: Rule::DataRace,
    evidence: Evidence::Predicted,
    detector: "dynamic/wcp",
    verdict: "and the run can be reordered so that the two meet",
};

fn make(options: &Options) -> Box<dyn Analysis> {
    Box::new(Wcp { predicted: Predicted::new(options), ..Wcp::default() })
}

#[derive(Default)]
struct Wcp {
    threads: SecondaryMap<ThreadId, OfThread>,
    locks: SecondaryMap<LockId, OfLock>,
    channels: SecondaryMap<ChannelId, Before>,
    variables: SecondaryMap<VariableId, OfVariable>,
    /// Pairs that are unordered, by their positions in the trace, of which the window has the later.
    candidates: Vec<[usize; 2]>,
    unordered: u64,
    witnessed: u64,
    predicted: Predicted,
}

/// A time for every thread, by its index.
#[derive(Clone, Debug, Default)]
struct Clock(Vec<u64>);

impl Clock {
    fn get(&self, thread: usize) -> u64 {
        self.0.get(thread).copied().unwrap_or(0)
    }

    fn set(&mut self, thread: usize, time: u64) {
        if self.0.len() <= thread {
            self.0.resize(thread + 1, 0);
        }
        self.0[thread] = time;
    }

    fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (one, other) in self.0.iter_mut().zip(&other.0) {
            *one = (*one).max(*other);
        }
    }
}

/// What comes before something: by WCP; by the order of threads, their starts, joins and channels; by happens-before. The
/// second does not become the first where a lock is acquired.
#[derive(Clone, Debug, Default)]
struct Before {
    weakly: Clock,
    always: Clock,
    happened: Clock,
}

impl Before {
    fn join(&mut self, other: &Self) {
        self.weakly.join(&other.weakly);
        self.always.join(&other.always);
        self.happened.join(&other.happened);
    }

    /// Whether a thread's time comes before, in every order that WCP allows.
    fn has(&self, thread: usize, time: u64) -> bool {
        time <= self.weakly.get(thread).max(self.always.get(thread))
    }
}

/// What is known of a thread.
#[derive(Clone, Debug, Default)]
struct OfThread {
    /// What comes before what it does now, without itself.
    before: Before,
    /// Its own time, which advances after whatever others can learn of.
    now: u64,
    is_told: bool,
    held: Vec<Held>,
    /// How many sections of a lock it has taken in.
    passed: FxHashMap<LockId, usize>,
}

impl OfThread {
    /// What comes before what it does next, with itself.
    fn now(&self, thread: usize) -> Before {
        let mut now = self.before.clone();
        now.always.set(thread, self.now);
        now.happened.set(thread, self.now);
        now
    }
}

/// A lock that a thread holds, how often it has entered it, and what it accessed since.
#[derive(Clone, Debug)]
struct Held {
    lock: LockId,
    depth: u32,
    reads: FxHashSet<VariableId>,
    writes: FxHashSet<VariableId>,
}

#[derive(Clone, Debug, Default)]
struct OfLock {
    last: Before,
    /// What every release orders, for those who share the lock, and what those order who do.
    all: Before,
    shared: Before,
    sections: Vec<Section>,
    /// The releases after sections that read or wrote a variable, by thread.
    reads: FxHashMap<VariableId, Releases>,
    writes: FxHashMap<VariableId, Releases>,
}

type Releases = Vec<(usize, Clock)>;

/// Adds a release of a thread.
fn add(releases: &mut Releases, thread: usize, clock: &Clock) {
    match releases.iter_mut().find(|(other, _)| *other == thread) {
        Some((_, known)) => known.join(clock),
        None => releases.push((thread, clock.clone())),
    }
}

/// What comes before the releases of other threads.
fn of_others(releases: Option<&Releases>, thread: usize) -> impl Iterator<Item = &Clock> {
    let others = releases.into_iter().flatten().filter(move |(other, _)| *other != thread);
    others.map(|(_, clock)| clock)
}

/// A critical section that has ended: when it began, by its thread, and what happened before its end.
#[derive(Clone, Debug)]
struct Section {
    thread: usize,
    began: u64,
    end: Clock,
}

/// The last accesses of threads: thread, time, position in the trace.
#[derive(Clone, Debug, Default)]
struct OfVariable {
    reads: Vec<(usize, u64, usize)>,
    writes: Vec<(usize, u64, usize)>,
}

impl Analysis for Wcp {
    fn on_batch(&mut self, events: &[Event], tables: &Tables, flagged: &mut Vec<Flagged>) {
        for event in events {
            self.on(event, tables);
        }
        flagged.append(&mut self.predicted.take_events());
    }

    fn finish(mut self: Box<Self>, tables: &Tables) -> Outcome {
        let rest = self.predicted.rest();
        self.look(&rest, tables);
        let counts = [("unordered_pairs", self.unordered), ("witnessed_pairs", self.witnessed)];
        let mut outcome = self.predicted.outcome(&WORDING, tables);
        outcome.statistics.extend(counts);
        outcome
    }
}

impl Wcp {
    fn on(&mut self, event: &Event, tables: &Tables) {
        let thread = event.thread.index();
        let state = &mut self.threads[event.thread];
        if state.now == 0 || std::mem::take(&mut state.is_told) {
            state.now += 1;
        }
        match event.operation {
            Operation::Read(variable) => self.access(event, variable, false),
            Operation::Write(variable) => self.access(event, variable, true),
            Operation::Forget(variable) => self.variables[variable] = OfVariable::default(),
            Operation::Acquire(lock) => self.acquire(event.thread, lock),
            Operation::Release(lock) => self.release(event.thread, lock),
            Operation::AcquireShared(lock) | Operation::Wake(lock) => {
                state.before.join(&self.locks[lock].all);
                state.before.join(&self.locks[lock].shared);
            }
            Operation::ReleaseShared(lock) | Operation::Wait(lock) => {
                self.locks[lock].shared.join(&state.now(thread));
                state.is_told = true;
            }
            Operation::Send(channel) => {
                self.channels[channel].join(&state.now(thread));
                state.is_told = true;
            }
            Operation::Receive(channel) => state.before.join(&self.channels[channel]),
            Operation::Fork(child) if child != event.thread => {
                state.is_told = true;
                let (now, passed) = (state.now(thread), state.passed.clone());
                let child = &mut self.threads[child];
                child.before.join(&now);
                if child.now == 0 {
                    child.passed = passed;
                }
            }
            Operation::Join(child) if child != event.thread => {
                let end = self.threads[child].now(child.index());
                self.threads[child].is_told = true;
                self.threads[event.thread].before.join(&end);
            }
            _ => {}
        }
        if let Some(complete) = self.predicted.add(event, tables) {
            self.look(&complete, tables);
            self.predicted.go_on();
        }
    }
}

impl Wcp {
    fn acquire(&mut self, thread: ThreadId, lock: LockId) {
        let state = &mut self.threads[thread];
        if let Some(held) = state.held.iter_mut().find(|held| held.lock == lock) {
            held.depth += 1;
            return;
        }
        let of_lock = &mut self.locks[lock];
        state.before.join(&of_lock.last);
        state.before.join(&of_lock.shared);
        let (reads, writes) = Default::default();
        state.held.push(Held { lock, depth: 1, reads, writes });
        let began = state.now;
        of_lock.sections.push(Section { thread: thread.index(), began, end: Clock::default() });
    }

    fn release(&mut self, thread: ThreadId, lock: LockId) {
        let state = &mut self.threads[thread];
        let Some(index) = state.held.iter().position(|held| held.lock == lock) else { return };
        state.held[index].depth -= 1;
        if state.held[index].depth > 0 {
            return;
        }
        let Held { reads, writes, .. } = state.held.remove(index);
        let of_lock = &mut self.locks[lock];
        // Sections whose beginning comes before this end come before it as a whole.
        let passed = state.passed.entry(lock).or_default();
        while let Some(section) = of_lock.sections.get(*passed) {
            if section.thread != thread.index() {
                if section.began > state.before.weakly.get(section.thread) {
                    break;
                }
                state.before.weakly.join(&section.end);
            }
            *passed += 1;
        }
        let now = state.now(thread.index());
        for variable in reads {
            add(of_lock.reads.entry(variable).or_default(), thread.index(), &now.happened);
        }
        for variable in writes {
            add(of_lock.writes.entry(variable).or_default(), thread.index(), &now.happened);
        }
        let own = of_lock.sections.iter_mut().rfind(|section| section.thread == thread.index());
        if let Some(section) = own {
            section.end = now.happened.clone();
        }
        of_lock.all.join(&now);
        // What WCP orders before the release, and not the release itself.
        let Before { weakly, happened, .. } = now;
        of_lock.last = Before { weakly, always: Clock::default(), happened };
        state.is_told = true;
    }

    fn access(&mut self, event: &Event, variable: VariableId, is_write: bool) {
        let position = self.predicted.position();
        let thread = event.thread.index();
        let state = &mut self.threads[event.thread];
        for held in &mut state.held {
            let of_lock = &self.locks[held.lock];
            let reads = of_lock.reads.get(&variable).filter(|_| is_write);
            for ends in
                of_others(of_lock.writes.get(&variable), thread).chain(of_others(reads, thread))
            {
                state.before.weakly.join(ends);
            }
            let accessed = if is_write { &mut held.writes } else { &mut held.reads };
            accessed.insert(variable);
        }
        let OfVariable { reads, writes } = &mut self.variables[variable];
        let reads_too = is_write.then_some(&*reads).into_iter().flatten();
        let before = &state.before;
        let mut is_unordered = false;
        for &(other, time, earlier) in writes.iter().chain(reads_too) {
            if other != thread && !before.has(other, time) {
                is_unordered = true;
                self.unordered += 1;
                self.candidates.push([earlier, position]);
            }
        }
        let lasts = if is_write { writes } else { reads };
        let last = (thread, state.now, position);
        match lasts.iter_mut().find(|(other, ..)| *other == thread) {
            Some(known) => *known = last,
            None => lasts.push(last),
        }
        if is_unordered {
            self.predicted.add_event_at(event.site, variable);
        }
    }

    /// Looks for reorderings that show the pairs of a window.
    fn look(&mut self, Complete { window, passed }: &Complete, tables: &Tables) {
        for [earlier, later] in std::mem::take(&mut self.candidates) {
            if earlier < *passed {
                continue;
            }
            let pair = [earlier, later].map(|position| (position - passed) as u32);
            let Some(order) = prediction::witness(window, pair) else { continue };
            if self.predicted.add_pair(window, pair, &order, tables) {
                self.witnessed += 1;
            }
        }
    }
}
