//! A thread that waits when the run ends, and that nobody has notified since it began to.
//!
//! After [vonPraun04 §6.2.2], on a run instead of on abstract threads: there a wait is indefinite if no notification for its
//! object is anywhere in the program.
//!
//! Deviations: only a run that could not go on is reported. Every thread that had not ended waited for a notification or
//! for a lock, and the thread is no daemon: programs end with those waiting all the time.
//!
//! If the last notification came when nobody waited, which is what is usually wrong then, the message names it.
//!
//! Misses: waits with a time limit that end by it: a notification that came before them may have been seen otherwise. Programs in which another thread still does something. Reports although it could go on: waits with a time limit, if
//! the program was stopped meanwhile.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_entity::SecondaryMap;
use unsnarl_events::{Event, LockId, Operation, SiteId, Tables, ThreadId};
use unsnarl_findings::{Access, AccessKind, Evidence, Finding, Rule, Subject, hints};
use unsnarl_trace_analysis::analysis::{PROGRESS, shows_progress};
use unsnarl_trace_analysis::call_stacks::CallStackId;
use unsnarl_trace_analysis::describe::{self, lock, place};
use unsnarl_trace_analysis::thread_contexts::{AccessMode, AccessRecord, ThreadContexts};
use unsnarl_trace_analysis::{Analysis, AnalysisEntry, Flagged, Needs, Outcome};

const DETECTOR: &str = "dynamic/indefinite-wait";

/// The line in the table.
pub(crate) const ENTRY: AnalysisEntry = AnalysisEntry {
    name: "indefinite-wait",
    rule: Rule::IndefiniteWait,
    summary: "threads that wait when the run ends, and that nobody notified",
    is_default: true,
    needs: |_| Needs { events: PROGRESS, ..Needs::LOCKS },
    make: |_| Box::new(IndefiniteWait::default()),
};

#[derive(Default)]
struct IndefiniteWait {
    contexts: ThreadContexts,
    states: SecondaryMap<ThreadId, State>,
    /// Who began to wait with a lock since it was last notified.
    waiting: FxHashMap<LockId, FxHashSet<ThreadId>>,
    /// The last notifications with a lock, if nobody waited then.
    in_vain: FxHashMap<LockId, TooEarly>,
    /// Who has started a thread.
    started_by: SecondaryMap<ThreadId, Option<ThreadId>>,
}

/// A notification: by whom, where, and called from where.
#[derive(Clone, Copy)]
struct TooEarly {
    by: ThreadId,
    site: SiteId,
    calls: CallStackId,
}

/// What a thread does.
#[derive(Clone, Copy, Default)]
enum State {
    /// Nothing yet, or nothing any more.
    #[default]
    Absent,
    Runs,
    /// Waits for a lock.
    Asks,
    /// Waits for a notification, which has not come.
    Waits(LockId, AccessRecord),
    /// Was notified and does not run yet.
    Notified,
}

impl Analysis for IndefiniteWait {
    fn on_batch(&mut self, events: &[Event], tables: &Tables, _flagged: &mut Vec<Flagged>) {
        for event in events {
            self.on(event, tables);
        }
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Outcome {
        let goes_on = |state: &State| matches!(state, State::Runs | State::Notified);
        let mut states = self.states.iter();
        if states.any(|(thread, state)| goes_on(state) && self.is_of_program(thread, tables)) {
            return Outcome::default();
        }
        let waiting = self.states.iter().filter_map(|(thread, state)| match state {
            State::Waits(lock, seen) if !tables.daemons[thread] => Some((*lock, *seen)),
            _ => None,
        });
        let findings = waiting.map(|(lock, seen)| self.finding(lock, seen, tables));
        Outcome { findings: findings.collect(), ..Outcome::default() }
    }
}

impl IndefiniteWait {
    #[inline]
    fn on(&mut self, event: &Event, tables: &Tables) {
        let state = match event.operation {
            operation if operation.forgets() => return self.forget(event, tables),
            operation if operation.is_access() => {
                self.states[event.thread] = State::Runs;
                return;
            }
            operation if !shows_progress(operation) => return self.contexts.on(event),
            Operation::Request(_) => State::Asks,
            Operation::Wait(lock) => {
                self.waiting.entry(lock).or_default().insert(event.thread);
                State::Waits(lock, self.contexts.record(event, AccessMode::Read))
            }
            Operation::End => State::Absent,
            _ => State::Runs,
        };
        self.states[event.thread] = state;
        match event.operation {
            Operation::Notify(lock) => {
                let (by, site) = (event.thread, event.site);
                let calls = self.contexts.calls.of(by);
                self.notify(lock, TooEarly { by, site, calls });
            }
            Operation::Fork(child) => self.started_by[child] = Some(event.thread),
            _ => {}
        }
        self.contexts.on(event);
    }
}

impl IndefiniteWait {
    /// A daemon that nobody has started is one of the JVM itself, and so are those that it starts: who handles a signal.
    fn is_of_program(&self, thread: ThreadId, tables: &Tables) -> bool {
        let mut seen = FxHashSet::default();
        let mut next = Some(thread);
        while let Some(thread) = next.filter(|&thread| seen.insert(thread)) {
            if !tables.daemons[thread] {
                return true;
            }
            next = self.started_by[thread];
        }
        false
    }

    /// Nobody waits with a lock that has died.
    fn forget(&mut self, event: &Event, tables: &Tables) {
        let Self { contexts, states, waiting, in_vain, .. } = self;
        if let Operation::ForgetLock(lock) = event.operation {
            waiting.remove(&lock);
            in_vain.remove(&lock);
        }
        contexts.forget(event, tables, |kept| {
            for state in states.values_mut() {
                if let State::Waits(_, seen) = state {
                    kept.record(seen);
                }
            }
        });
    }

    /// Whoever waits with the lock may have been meant.
    fn notify(&mut self, lock: LockId, notification: TooEarly) {
        self.in_vain.insert(lock, notification);
        for thread in self.waiting.remove(&lock).unwrap_or_default() {
            if matches!(self.states[thread], State::Waits(on, _) if on == lock) {
                self.states[thread] = State::Notified;
                self.in_vain.remove(&lock);
            }
        }
    }

    fn finding(&self, on: LockId, seen: AccessRecord, tables: &Tables) -> Finding {
        let by = describe::thread(seen.thread, tables);
        let AccessRecord { thread, site, calls, locks, .. } = seen;
        let contexts = &self.contexts;
        let access = contexts.describe(AccessKind::Wait, thread, (site, calls), locks, tables);
        let at = access.site().map_or_else(String::new, place);
        let too_early = self.in_vain.get(&on).map_or_else(String::new, |too_early| {
            let &TooEarly { by, site, calls } = too_early;
            let stack = describe::stack((by, site), contexts.calls.sites(calls), tables);
            let at = Access::new(AccessKind::Notify, stack).site().map_or_else(String::new, place);
            let by = describe::thread(by, tables);
            format!(": the notification by {by} at {at} came before anybody waited")
        });
        let message = format!(
            "{by} waits with {} at {at} when the run ends, and nobody has notified it{too_early}",
            lock(on, tables)
        );
        let subject = Subject::locks(lock(on, tables), []);
        let (rule, evidence) = (Rule::IndefiniteWait, Evidence::Observed);
        let mut finding = Finding::new(rule, subject, evidence, DETECTOR, message, vec![access]);
        finding.hint = Some(hints::NOTIFY_UNDER_THE_LOCK.to_owned());
        finding
    }
}
