//! Waiting for a notification while holding a lock other than the one that is waited with: whoever should notify cannot
//! have that lock meanwhile.
//!
//! After [vonPraun04 §6.2.2], on a run instead of on abstract threads. Deviation: a lock that no notifying thread of the run
//! held makes it a warning only, and one that a notifying thread held, an error.
//!
//! Guarantees: the thread held the lock while it waited. Misses: waits that this run did not reach.

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_findings::{AccessKind, Effect, Evidence, Finding, Heuristic, Rule, Severity, Subject};
use unsnarl_trace::{Event, Filter, LockId, Operation, SiteId, Tables};

use crate::calls::CallsId;
use crate::describe::{self, place};
use crate::detector::{Checked, Detector, DetectorEntry, EventKind, Needs, RacingEvent};
use crate::kept_locks::KeptLockId;
use crate::races::{Kind, Seen, Surroundings};

const DETECTOR: &str = "dynamic/critical-wait";

/// The line in the table.
pub(crate) const ENTRY: DetectorEntry = DetectorEntry {
    name: "critical-wait",
    rule: Rule::CriticalWait,
    summary: "threads that wait for a notification while holding another lock",
    is_default: true,
    needs: Needs {
        events: &[EventKind::Lock, EventKind::Contention, EventKind::Method],
        tolerates: &Filter::ALL,
        exact: false,
    },
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

const HINT: &str = "release the other lock before waiting, or wait with that lock instead";

#[derive(Default)]
struct CriticalWait {
    surroundings: Surroundings,
    /// Where threads waited, with the first wait there.
    waits: IndexMap<(SiteId, CallsId), (KeptLockId, Seen)>,
    /// The locks that threads held when they notified.
    notifiers: FxHashMap<KeptLockId, FxHashSet<KeptLockId>>,
}

impl Detector for CriticalWait {
    fn on(&mut self, event: &Event, tables: &Tables) {
        match event.operation {
            access if access.is_access() => return,
            Operation::Wait(lock) => {
                let seen = self.surroundings.seen(event, Kind::Read);
                let locksets = &mut self.surroundings.locksets;
                let lock = locksets.known.of(lock);
                let held = locksets.locks(seen.locks);
                if held.iter().any(|other| *other != lock) {
                    self.waits.entry((seen.site, seen.calls)).or_insert((lock, seen));
                }
            }
            Operation::Notify(lock) => {
                let locksets = &mut self.surroundings.locksets;
                let notifiers = self.notifiers.entry(locksets.known.of(lock)).or_default();
                let held: Vec<LockId> = locksets.held_by(event.thread).collect();
                notifiers.extend(held.into_iter().map(|held| locksets.known.of(held)));
            }
            Operation::ForgetLock(_) | Operation::Swept => return self.forget(event, tables),
            _ => {}
        }
        self.surroundings.on(event);
    }

    fn takes_elements(&self) -> bool {
        true
    }

    fn looks_at_accesses(&self) -> bool {
        false
    }

    fn takes_dead(&self) -> bool {
        true
    }

    fn take_racing_events(&mut self) -> Vec<RacingEvent> {
        Vec::new()
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Checked {
        let findings = self.waits.values().map(|(on, seen)| self.finding(*on, *seen, tables));
        Checked { findings: findings.collect(), ..Checked::default() }
    }
}

impl CriticalWait {
    /// Locks have died. Who notified with them counts where somebody waited with them.
    fn forget(&mut self, event: &Event, tables: &Tables) {
        let Self { surroundings, waits, notifiers } = self;
        if event.operation == Operation::Swept {
            let waited_with: FxHashSet<KeptLockId> = waits.values().map(|(on, _)| *on).collect();
            let known = &surroundings.locksets.known;
            notifiers.retain(|on, _| known.is_alive(*on) || waited_with.contains(on));
        }
        surroundings.forget(event, tables, |kept| {
            for (on, seen) in waits.values_mut() {
                kept.locks.lock(on);
                kept.seen(seen);
            }
            let mut new = |mut lock: KeptLockId| {
                kept.locks.lock(&mut lock);
                lock
            };
            let all = std::mem::take(notifiers).into_iter();
            *notifiers =
                all.map(|(on, held)| (new(on), held.into_iter().map(&mut new).collect())).collect();
        });
    }

    fn finding(&self, on: KeptLockId, seen: Seen, tables: &Tables) -> Finding {
        let lock = |it| self.surroundings.lock(it, tables);
        let held: indexmap::IndexSet<KeptLockId> =
            self.surroundings.locksets.locks(seen.locks).into_iter().collect();
        let others: Vec<KeptLockId> = held.iter().copied().filter(|other| *other != on).collect();
        let by = describe::thread(seen.thread, tables);
        let Seen { thread, site, calls, locks, .. } = seen;
        let surroundings = &self.surroundings;
        let access = surroundings.describe(AccessKind::Wait, thread, (site, calls), locks, tables);
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
        finding.hint = Some(HINT.to_owned());
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
