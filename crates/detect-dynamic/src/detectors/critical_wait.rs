//! Waiting for a notification while holding a lock other than the one that is waited with: whoever should notify cannot
//! have that lock meanwhile.
//!
//! After [vonPraun04 §6.2.2], on a run instead of on abstract threads. Deviation: a lock that no notifying thread of the run
//! held makes it a warning only, and one that a notifying thread held, an error.
//!
//! Guarantees: the thread held the lock while it waited. Misses: waits that this run did not reach.

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_events::{Event, LockId, Operation, SiteId, Tables};
use unsnarl_findings::{
    AccessKind, Effect, Evidence, Finding, Heuristic, Rule, Severity, Subject, hints,
};
use unsnarl_trace_analysis::call_stacks::CallStackId;
use unsnarl_trace_analysis::describe::{self, place};
use unsnarl_trace_analysis::retained_locks::RetainedLockId;
use unsnarl_trace_analysis::thread_contexts::{AccessMode, AccessRecord, ThreadContexts};
use unsnarl_trace_analysis::{Analysis, AnalysisEntry, Flagged, Needs, Outcome};

const DETECTOR: &str = "dynamic/critical-wait";

/// The line in the table.
pub(crate) const ENTRY: AnalysisEntry = AnalysisEntry {
    name: "critical-wait",
    rule: Rule::CriticalWait,
    summary: "threads that wait for a notification while holding another lock",
    is_default: true,
    needs: |_| Needs::LOCKS,
    make: |_| Box::new(CriticalWait::default()),
};

static NOTIFIER_HELD_IT: Heuristic = Heuristic {
    name: "notifier-held-it",
    effect: Effect::raises(2),
    sentence: "a thread that notified held that lock too, so it could not have come this far meanwhile",
};

static NOTIFIER_DID_WITHOUT: Heuristic = Heuristic {
    name: "notifier-did-without",
    effect: Effect::lowers(2),
    sentence: "no thread that notified in this run held that lock",
};

#[derive(Default)]
struct CriticalWait {
    contexts: ThreadContexts,
    /// Where threads waited, with the first wait there.
    waits: IndexMap<(SiteId, CallStackId), (RetainedLockId, AccessRecord)>,
    /// The locks that threads held when they notified.
    notifiers: FxHashMap<RetainedLockId, FxHashSet<RetainedLockId>>,
}

impl Analysis for CriticalWait {
    fn on_batch(&mut self, events: &[Event], tables: &Tables, _flagged: &mut Vec<Flagged>) {
        for event in events {
            self.on(event, tables);
        }
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Outcome {
        let findings = self.waits.values().map(|(on, seen)| self.finding(*on, *seen, tables));
        Outcome { findings: findings.collect(), ..Outcome::default() }
    }
}

impl CriticalWait {
    fn on(&mut self, event: &Event, tables: &Tables) {
        match event.operation {
            access if access.is_access() => return,
            Operation::Wait(lock) => {
                let seen = self.contexts.record(event, AccessMode::Read);
                let locksets = &mut self.contexts.locksets;
                let lock = locksets.known.of(lock);
                let held = locksets.locks(seen.locks);
                if held.iter().any(|other| *other != lock) {
                    self.waits.entry((seen.site, seen.calls)).or_insert((lock, seen));
                }
            }
            Operation::Notify(lock) => {
                let locksets = &mut self.contexts.locksets;
                let notifiers = self.notifiers.entry(locksets.known.of(lock)).or_default();
                let held: Vec<LockId> = locksets.held_by(event.thread).collect();
                notifiers.extend(held.into_iter().map(|held| locksets.known.of(held)));
            }
            Operation::ForgetLock(_) | Operation::Swept => return self.forget(event, tables),
            _ => {}
        }
        self.contexts.on(event);
    }
}

impl CriticalWait {
    /// Locks have died. Who notified with them counts where somebody waited with them.
    fn forget(&mut self, event: &Event, tables: &Tables) {
        let Self { contexts, waits, notifiers } = self;
        if event.operation == Operation::Swept {
            let waited_with: FxHashSet<RetainedLockId> =
                waits.values().map(|(on, _)| *on).collect();
            let known = &contexts.locksets.known;
            notifiers.retain(|on, _| known.is_alive(*on) || waited_with.contains(on));
        }
        contexts.forget(event, tables, |kept| {
            for (on, seen) in waits.values_mut() {
                kept.locks.lock(on);
                kept.record(seen);
            }
            let mut new = |mut lock: RetainedLockId| {
                kept.locks.lock(&mut lock);
                lock
            };
            let all = std::mem::take(notifiers).into_iter();
            *notifiers =
                all.map(|(on, held)| (new(on), held.into_iter().map(&mut new).collect())).collect();
        });
    }

    fn finding(&self, on: RetainedLockId, seen: AccessRecord, tables: &Tables) -> Finding {
        let lock = |it| self.contexts.lock(it, tables);
        let held: indexmap::IndexSet<RetainedLockId> =
            self.contexts.locksets.locks(seen.locks).into_iter().collect();
        let others: Vec<RetainedLockId> =
            held.iter().copied().filter(|other| *other != on).collect();
        let by = describe::thread(seen.thread, tables);
        let AccessRecord { thread, site, calls, locks, .. } = seen;
        let contexts = &self.contexts;
        let access = contexts.describe(AccessKind::Wait, thread, (site, calls), locks, tables);
        let at = access.site().map_or_else(String::new, place);
        let named: Vec<String> = others.iter().map(|&it| lock(it).to_string()).collect();
        let message = format!(
            "{by} waits with {} at {at} and keeps {} meanwhile",
            lock(on),
            named.join(", ")
        );
        let subject = Subject::locks(lock(on), others.iter().map(|&other| lock(other)));
        let rule = Rule::CriticalWait;
        let evidence = Evidence::Observed;
        let mut finding = Finding::new(rule, subject, evidence, DETECTOR, message, vec![access]);
        finding.hint = Some(hints::WAIT_WITHOUT_THE_OTHER_LOCK.to_owned());
        match self.notifiers.get(&on) {
            Some(needed) if others.iter().any(|other| needed.contains(other)) => {
                finding.reasons.push(NOTIFIER_HELD_IT.holds());
            }
            Some(_) => {
                finding.severity = Severity::Warning;
                finding.reasons.push(NOTIFIER_DID_WITHOUT.holds());
            }
            None => finding.severity = Severity::Warning,
        }
        finding
    }
}
