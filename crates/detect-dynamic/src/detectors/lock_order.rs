//! Locks that threads acquire in different orders, so that another schedule could have made them wait for each other
//! forever.
//!
//! After [Wang06 §2] (potential for deadlock, an extension of Goodlock [Havelund00, lock trees]) and [Wang06 §4] (thread
//! periods). Acquiring a lock while holding others is a step; [`cycles`] finds the cycles of steps.
//!
//! Deviations:
//! - Cycles have any length, not two locks alone.
//! - Locks of `java.util.concurrent` count as monitors do. Two threads that share a lock do not wait for each other.
//! - Waiting for a notification acquires the lock again when it ends, with all others held.
//! - Start and join of threads exclude a cycle. What other synchronization ordered in this run, a queue or a volatile
//!   variable, another schedule might not have ordered: such a cycle is reported, less sure.
//!
//! Guarantees: for every cycle of steps by different threads, without a gate, that start and join allow, one with the
//! same or fewer places is reported, unless a note says that the search was cut short.
//!
//! Misses: deadlocks of one thread alone; of code that this run did not reach; of waiting for anything that is no lock.
//! When a thread makes the same step in many periods, the first and the last few of these count. Reports although it
//! cannot be: order that the program makes by itself, by data; `tryLock`, which gives up.

use std::hash::BuildHasherDefault;
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHasher;
use unsnarl_entity::{EntityId, SecondaryMap, UniqueMap};
use unsnarl_events::{Event, EventKind, EventKinds, LockId, Operation, Tables, ThreadId};
use unsnarl_findings::{Effect, Evidence, Heuristic, Rule, Severity};
use unsnarl_trace_analysis::clocks::{Clocks, ThreadClock};
use unsnarl_trace_analysis::{Analysis, AnalysisEntry, Flagged, Needs, Outcome};
mod cycles;

use self::cycles::{AcquisitionSiteId, NestedAcquisition, Search, in_cycles};
use crate::reporting::waiting_cycle::{self, Acquisition, Cycle};
use unsnarl_trace_analysis::locksets::{Held, Mode};
use unsnarl_trace_analysis::periods::Periods;
use unsnarl_trace_analysis::thread_contexts::ThreadContexts;

const CYCLE: Cycle = Cycle {
    detector: "dynamic/lock-order",
    evidence: Evidence::Predicted,
    verdict: unsnarl_findings::lock_cycle::CAN_WAIT,
};

/// The line in the table.
pub(crate) const ENTRY: AnalysisEntry = AnalysisEntry {
    name: "lock-order",
    rule: Rule::LockOrderCycle,
    summary: "locks that threads acquire in different orders",
    is_default: true,
    needs: |_| Needs {
        events: EventKinds::of(&[EventKind::Lock, EventKind::Thread, EventKind::Channel]),
        ..Needs::LOCKS
    },
    make: |_| Box::new(LockOrder::default()),
};

static ORDERED_IN_THIS_RUN: Heuristic = Heuristic {
    name: "ordered-in-this-run",
    effect: Effect::lowers(2),
    sentence: "other synchronization than start and join ordered the threads in this run, and might always do so",
};

/// Of how many periods in which a thread makes the same step the first count, and of how many the last.
const KEPT_PERIODS: usize = 8;

#[derive(Default)]
struct LockOrder {
    contexts: ThreadContexts,
    /// What start and join alone order.
    starts: Clocks,
    /// What all but locks orders.
    periods: Periods,
    /// The period that a thread is in, if it has made a step in it.
    current: SecondaryMap<ThreadId, Option<Arc<Period>>>,
    acquisitions: IndexMap<Acquisition, Vec<Arc<Period>>, BuildHasherDefault<FxHasher>>,
    /// How many acquisitions were forgotten, since they cannot be in a cycle.
    forgotten: usize,
}

/// When a period was.
#[derive(Debug)]
struct Period {
    by_starts: ThreadClock,
    by_all: ThreadClock,
}

impl Analysis for LockOrder {
    fn on_batch(&mut self, events: &[Event], tables: &Tables, _flagged: &mut Vec<Flagged>) {
        for event in events {
            self.on(event, tables);
        }
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Outcome {
        let mut places: UniqueMap<AcquisitionSiteId, _> = UniqueMap::new();
        let mut steps = Vec::new();
        let mut origins: Vec<(&Acquisition, &Period)> = Vec::new();
        for (acquisition, periods) in &self.acquisitions {
            let lock_class = self.contexts.locksets.known.class(acquisition.acquired.lock, tables);
            let place = places.intern((acquisition.site, acquisition.calls, lock_class));
            let step = self.step(acquisition, place);
            for period in periods {
                steps.push(step.clone());
                origins.push((acquisition, period));
            }
        }
        let period = |step: usize| origins[step].1;
        let by_all =
            |one: usize, other: usize| are_concurrent(&period(one).by_all, &period(other).by_all);
        let mut search = Search::new(&steps);
        search.run(by_all);
        search.run(|one, other| are_concurrent(&period(one).by_starts, &period(other).by_starts));
        let mut findings = Vec::new();
        for cycle in search.cycles() {
            let acquisitions: Vec<Acquisition> =
                cycle.iter().map(|&step| *origins[step].0).collect();
            let mut finding = waiting_cycle::finding(&CYCLE, &acquisitions, &self.contexts, tables);
            let overlap =
                |&one: &usize| cycle.iter().all(|&other| one == other || by_all(one, other));
            if !cycle.iter().all(overlap) {
                finding.severity = Severity::Warning;
                finding.reasons.push(ORDERED_IN_THIS_RUN.holds());
            }
            findings.push(finding);
        }
        let cut = "lock-order: the locks form more cycles than were looked at; there may be more findings";
        let notes = search.was_cut_short().then(|| cut.to_owned()).into_iter().collect();
        let nested = self.acquisitions.len() + self.forgotten;
        let stats = vec![("nested_acquisitions", nested as u64)];
        Outcome { findings, statistics: stats, notes, ..Outcome::default() }
    }
}

impl LockOrder {
    #[inline]
    fn on(&mut self, event: &Event, tables: &Tables) {
        use Operation::Wake;
        use Operation::{
            Acquire, AcquireShared, End, ForgetLock, Fork, Join, Receive, Send, Swept,
        };
        match event.operation {
            access if access.is_access() => return,
            Acquire(lock) | Wake(lock) => self.acquire(event, lock, Mode::Exclusive),
            AcquireShared(lock) => self.acquire(event, lock, Mode::Shared),
            Fork(child) | Join(child) => {
                self.starts.on(event);
                self.current[event.thread] = None;
                self.current[child] = None;
            }
            End => {
                self.starts.on(event);
                self.current[event.thread] = None;
            }
            Send(_) | Receive(_) => self.current[event.thread] = None,
            ForgetLock(_) | Swept => return self.forget(event, tables),
            _ => {}
        }
        self.periods.on(event);
        self.contexts.on(event);
    }
}

fn are_concurrent(one: &ThreadClock, other: &ThreadClock) -> bool {
    !one.knows(other.now()) && !other.knows(one.now())
}

impl LockOrder {
    /// A thread acquires a lock. To enter one again that it holds is no step.
    fn acquire(&mut self, event: &Event, lock: LockId, mode: Mode) {
        let locksets = &mut self.contexts.locksets;
        if locksets.depth_of(event.thread) == 0 || locksets.times_held(event.thread, lock) > 0 {
            return;
        }
        let held = locksets.held(event.thread);
        let acquired = Held { lock: locksets.known.of(lock), mode };
        let calls = self.contexts.calls.of(event.thread);
        let acquisition =
            Acquisition { thread: event.thread, held, acquired, site: event.site, calls };
        let period = self.period(event.thread);
        let periods = self.acquisitions.entry(acquisition).or_default();
        if periods.last().is_some_and(|last| Arc::ptr_eq(last, &period)) {
            return;
        }
        if periods.len() == 2 * KEPT_PERIODS {
            periods.remove(KEPT_PERIODS);
        }
        periods.push(period);
    }

    fn period(&mut self, thread: ThreadId) -> Arc<Period> {
        let new = || {
            let by_starts: ThreadClock = self.starts.of(thread).clone();
            Arc::new(Period { by_starts, by_all: self.periods.of(thread).clone() })
        };
        Arc::clone(self.current[thread].get_or_insert_with(new))
    }

    fn step(&self, acquisition: &Acquisition, place: AcquisitionSiteId) -> NestedAcquisition {
        let Acquisition { thread, held, acquired, .. } = *acquisition;
        NestedAcquisition { thread, held: self.contexts.locksets.held_in(held), acquired, place }
    }

    /// Locks have died. Nobody holds or acquires them later: what is not in a cycle with them by now never will be.
    fn forget(&mut self, event: &Event, tables: &Tables) {
        if event.operation == Operation::Swept && self.contexts.locksets.are_many() {
            let place = AcquisitionSiteId::from_index(0);
            let steps: Vec<NestedAcquisition> =
                self.acquisitions.keys().map(|acquisition| self.step(acquisition, place)).collect();
            let known = &self.contexts.locksets.known;
            let mut stay = in_cycles(&steps, |lock| known.is_alive(lock)).into_iter();
            self.acquisitions.retain(|_, _| stay.next().unwrap_or(true));
            self.forgotten += steps.len() - self.acquisitions.len();
        }
        let Self { contexts, acquisitions, .. } = self;
        contexts.forget(event, tables, |kept| {
            let all = std::mem::take(acquisitions).into_iter();
            *acquisitions = all
                .map(|(mut acquisition, periods)| {
                    acquisition.show(kept);
                    (acquisition, periods)
                })
                .collect();
        });
    }
}
