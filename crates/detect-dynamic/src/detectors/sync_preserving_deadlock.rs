//! Deadlocks that did not happen in this run and can happen in another: of the cycles that `lock-order` reports, those that
//! a reordering of the run shows.
//!
//! After SPDOffline [Tunc23 §4]. What a reordering is and how it is found, [`crate::prediction`] says.
//!
//! Deviations: windows that overlap by half, and shared locks, as in `sync-preserving`. Cycles of up to six
//! threads, and of many alike in one window the first.
//!
//! Guarantees: every cycle has a reordering of the trace, which was replayed before the cycle is reported, after which every
//! thread of the cycle asks for a lock that the next one holds. That holds for exact traces only.
//!
//! Misses: deadlocks for which critical sections would have to change places, acquisitions that are more than a window
//! apart, and waiting for anything that is no lock.

use rustc_hash::FxHashSet;
use unsnarl_events::{Event, Operation, Tables};
use unsnarl_findings::{Effect, Evidence, Heuristic, Rule};
use unsnarl_trace_analysis::locksets::{Held, Mode};
use unsnarl_trace_analysis::thread_contexts::ThreadContexts;
use unsnarl_trace_analysis::{Analysis, AnalysisEntry, Flagged, Options, Outcome};

use crate::prediction::{self, Overlapping, Window};
use crate::reporting::waiting_cycle::{self, Acquisition, Cycle};

const CYCLE: Cycle = Cycle {
    detector: "dynamic/sync-preserving-deadlock",
    evidence: Evidence::Predicted,
    verdict: unsnarl_findings::lock_cycle::CAN_WAIT,
};

/// The line in the table.
pub(crate) const ENTRY: AnalysisEntry = AnalysisEntry {
    name: "sync-preserving-deadlock",
    rule: Rule::LockOrderCycle,
    summary: "locks that a reordering of the run shows threads waiting for",
    is_default: false,
    needs: |_| prediction::NEEDS,
    make,
};

static REORDERING: Heuristic = Heuristic {
    name: "deadlock-reordering",
    effect: Effect::raises(3),
    sentence: "a reordering of the run shows it",
};

fn make(options: &Options) -> Box<dyn Analysis> {
    let windows = Overlapping::new(options);
    Box::new(SyncPreservingDeadlock { windows, ..SyncPreservingDeadlock::default() })
}

#[derive(Default)]
struct SyncPreservingDeadlock {
    contexts: ThreadContexts,
    windows: Overlapping,
    /// The acquisitions of the window, by the positions of their events.
    acquisitions: Vec<Option<Acquisition>>,
    found: Vec<(Vec<Acquisition>, String)>,
    known: FxHashSet<Vec<Acquisition>>,
    refused: u64,
}

impl Analysis for SyncPreservingDeadlock {
    fn on_batch(&mut self, events: &[Event], tables: &Tables, _flagged: &mut Vec<Flagged>) {
        for event in events {
            self.on(event, tables);
        }
    }

    fn finish(mut self: Box<Self>, tables: &Tables) -> Outcome {
        let window = self.windows.rest();
        self.look(&window, tables);
        let findings = self.found.iter().map(|(cycle, reordering)| {
            let mut finding = waiting_cycle::finding(&CYCLE, cycle, &self.contexts, tables);
            finding.reasons.push(REORDERING.holds_because(reordering.clone()));
            finding
        });
        Outcome {
            findings: findings.collect(),
            statistics: vec![("refused_predictions", self.refused)],
            ..Outcome::default()
        }
    }
}

impl SyncPreservingDeadlock {
    fn on(&mut self, event: &Event, tables: &Tables) {
        if !prediction::concerns(event.operation) {
            return self.contexts.on(event);
        }
        let ThreadContexts { locksets, calls, .. } = &mut self.contexts;
        let acquired = match event.operation {
            Operation::Acquire(lock) => Some((lock, Mode::Exclusive)),
            Operation::AcquireShared(lock) => Some((lock, Mode::Shared)),
            _ => None,
        };
        let acquired = acquired.map(|(lock, mode)| Held { lock: locksets.known.of(lock), mode });
        self.acquisitions.push(acquired.map(|acquired| Acquisition {
            thread: event.thread,
            held: locksets.held(event.thread),
            acquired,
            site: event.site,
            calls: calls.of(event.thread),
        }));
        self.contexts.on(event);
        if let Some(window) = self.windows.add(*event) {
            self.look(&window, tables);
            self.acquisitions.drain(..self.acquisitions.len() - self.windows.len());
        }
    }
}

impl SyncPreservingDeadlock {
    fn look(&mut self, window: &Window, tables: &Tables) {
        for deadlock in prediction::deadlocks(window) {
            let mut events = deadlock.acquisitions.iter();
            let cycle = events.clone().filter_map(|&event| self.acquisitions[event as usize]);
            let mut cycle: Vec<Acquisition> = cycle.collect();
            let first =
                (0..cycle.len()).min_by_key(|&it| (cycle[it].site, cycle[it].acquired.lock));
            cycle.rotate_left(first.unwrap_or(0));
            if self.known.contains(&cycle) {
                continue;
            }
            let order = deadlock.before.events(window);
            let is_shown = prediction::replay(window, &order)
                .is_some_and(|next| events.all(|&event| next.is_blocked(event)));
            if !is_shown {
                self.refused += 1;
                continue;
            }
            self.found.push((cycle.clone(), prediction::describe(window, &order, tables)));
            self.known.insert(cycle);
        }
    }
}
