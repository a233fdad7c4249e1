//! A deadlock that happened: when the trace ends, threads wait for locks that they hold among themselves.
//!
//! [vonPraun04 §6.2] calls it mutual wait and looks for it before the program runs; here the program hangs in it. A
//! thread waits for a lock from its request on until it does anything else. The JDK reports such cycles of platform threads;
//! here virtual threads and the locks of `java.util.concurrent` are among them.
//!
//! Guarantees: every thread of a cycle had asked for a lock that the next one held, when the trace ended.
//!
//! Misses: threads that wait for anything other than locks, or for a lock with a time limit.

use rustc_hash::FxHashMap;
use unsnarl_entity::SecondaryMap;
use unsnarl_events::{Event, LockId, Operation, Tables, ThreadId};
use unsnarl_findings::{Evidence, Rule};
use unsnarl_trace_analysis::analysis::{PROGRESS, shows_progress};
use unsnarl_trace_analysis::locksets::{Held, Mode};
use unsnarl_trace_analysis::retained_locks::RetainedLockId;
use unsnarl_trace_analysis::thread_contexts::ThreadContexts;
use unsnarl_trace_analysis::{Analysis, AnalysisEntry, Flagged, Needs, Outcome};

use crate::reporting::waiting_cycle::{self, Acquisition, Cycle};

/// The line in the table.
pub(crate) const ENTRY: AnalysisEntry = AnalysisEntry {
    name: "deadlock",
    rule: Rule::LockOrderCycle,
    summary: "threads that wait for each other's locks when the run ends",
    is_default: true,
    needs: |_| Needs { events: PROGRESS, ..Needs::LOCKS },
    make: |_| Box::new(Deadlock::default()),
};

const CYCLE: Cycle = Cycle {
    detector: "dynamic/deadlock",
    evidence: Evidence::Observed,
    verdict: "they wait for each other when the run ends",
};

#[derive(Default)]
struct Deadlock {
    contexts: ThreadContexts,
    /// What each thread waits for.
    waiting: SecondaryMap<ThreadId, Option<Acquisition>>,
}

impl Analysis for Deadlock {
    fn on_batch(&mut self, events: &[Event], tables: &Tables, _flagged: &mut Vec<Flagged>) {
        for event in events {
            self.on(event, tables);
        }
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Outcome {
        let holders = self.holders();
        let mut findings = Vec::new();
        let mut seen: SecondaryMap<ThreadId, bool> = SecondaryMap::new();
        for (thread, _) in self.waiting.iter() {
            if let Some(cycle) = self.cycle(thread, &holders, &mut seen) {
                findings.push(waiting_cycle::finding(&CYCLE, &cycle, &self.contexts, tables));
            }
        }
        Outcome { findings, ..Outcome::default() }
    }
}

impl Deadlock {
    #[inline]
    fn on(&mut self, event: &Event, tables: &Tables) {
        match event.operation {
            Operation::Request(lock) => {
                self.waiting[event.thread] = Some(self.request(event, lock));
            }
            operation if operation.forgets() => {
                let waiting = &mut self.waiting;
                self.contexts.forget(event, tables, |kept| {
                    waiting.values_mut().flatten().for_each(|acquisition| acquisition.show(kept));
                });
            }
            operation => {
                if shows_progress(operation) {
                    self.waiting[event.thread] = None;
                }
                if !operation.is_access() {
                    self.contexts.on(event);
                }
            }
        }
    }
}

impl Deadlock {
    fn request(&mut self, event: &Event, lock: LockId) -> Acquisition {
        let ThreadContexts { locksets, calls, .. } = &mut self.contexts;
        Acquisition {
            thread: event.thread,
            held: locksets.held(event.thread),
            acquired: Held { lock: locksets.known.of(lock), mode: Mode::Exclusive },
            site: event.site,
            calls: calls.of(event.thread),
        }
    }

    /// Who holds each lock that a thread waits for.
    fn holders(&self) -> FxHashMap<RetainedLockId, Vec<ThreadId>> {
        let locksets = &self.contexts.locksets;
        let wanted = self.waiting.iter().filter_map(|(_, step)| step.map(|it| it.acquired.lock));
        let mut holders: FxHashMap<RetainedLockId, Vec<ThreadId>> =
            wanted.map(|lock| (lock, Vec::new())).collect();
        for (thread, _) in self.waiting.iter() {
            for held in locksets.held_by(thread).filter_map(|held| locksets.known.find(held)) {
                if let Some(holders) = holders.get_mut(&held) {
                    holders.push(thread);
                }
            }
        }
        holders
    }

    /// Goes from a thread to one that holds what it waits for, and on, until a thread comes again. Each thread is gone
    /// through once.
    fn cycle(
        &self,
        first: ThreadId,
        holders: &FxHashMap<RetainedLockId, Vec<ThreadId>>,
        seen: &mut SecondaryMap<ThreadId, bool>,
    ) -> Option<Vec<Acquisition>> {
        let mut path: Vec<Acquisition> = Vec::new();
        let mut thread = first;
        loop {
            if let Some(start) = path.iter().position(|step| step.thread == thread) {
                return Some(path.split_off(start));
            }
            if std::mem::replace(&mut seen[thread], true) {
                return None;
            }
            let step = self.waiting[thread]?;
            path.push(step);
            let holders = holders.get(&step.acquired.lock)?;
            thread = *holders.iter().find(|&&other| other != thread)?;
        }
    }
}
