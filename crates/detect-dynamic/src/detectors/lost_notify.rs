//! A thread that waits for a notification that has come already, when nobody waited.
//!
//! The static detector of the same rule says what may happen, this one what did. A wait is in vain
//! if it tests nothing: it begins whenever its monitor is entered ([`Tables::untested_waits`]), and the last notification
//! of the run came from another thread before it and reached nobody.
//!
//! Guarantees: no notification for the object comes after the one that is reported, and nobody waited when it came.
//! A wait that a caller may have tested for, which holds the monitor already, is not reported.
//!
//! Misses: waits that test something, if they test the wrong thing or without the lock (the test is a race then); objects
//! that are notified once more later; conditions of `java.util.concurrent`, which have to be awaited in a loop as well. Tells
//! although it is right: a wait with a time limit that is only meant to pass the time.

use std::hash::BuildHasherDefault;

use indexmap::IndexMap;
use rustc_hash::{FxHashSet, FxHasher};
use unsnarl_events::{Event, LockId, Operation, Tables, ThreadId};
use unsnarl_findings::{
    AccessKind, Effect, Evidence, Finding, Heuristic, Lock, Rule, Severity, Subject, hints,
};
use unsnarl_trace_analysis::describe::{self, lock, place};
use unsnarl_trace_analysis::retained_locks::RetainedLockId;
use unsnarl_trace_analysis::thread_contexts::{AccessMode, AccessRecord, ThreadContexts};
use unsnarl_trace_analysis::{Analysis, AnalysisEntry, Flagged, Needs, Outcome};

const DETECTOR: &str = "dynamic/lost-notify";

/// The line in the table.
pub(crate) const ENTRY: AnalysisEntry = AnalysisEntry {
    name: "lost-notify",
    rule: Rule::LostNotify,
    summary: "threads that wait for a notification that came before",
    is_default: true,
    needs: |_| Needs::LOCKS,
    make: |_| Box::new(LostNotify::default()),
};

static TIMED: Heuristic = Heuristic {
    name: "timed-wait",
    effect: Effect::lowers(2),
    sentence: "the wait ended after some time, so that the notification was late and not lost",
};

#[derive(Default)]
struct LostNotify {
    contexts: ThreadContexts,
    notified: IndexMap<LockId, Notified, BuildHasherDefault<FxHasher>>,
    /// What was in vain with locks that have died.
    past: Vec<(RetainedLockId, InVain)>,
}

/// A wait, the notification before it, and whether the wait has ended.
#[derive(Clone, Copy)]
struct InVain {
    wait: AccessRecord,
    notification: AccessRecord,
    has_ended: bool,
}

/// An object that was notified or waited for.
#[derive(Default)]
struct Notified {
    waiting: FxHashSet<ThreadId>,
    /// The last notification, if nobody waited when it came.
    unheard: Option<AccessRecord>,
    /// The first wait after it that tests nothing, and whether it has ended.
    in_vain: Option<(AccessRecord, bool)>,
}

impl Analysis for LostNotify {
    fn on_batch(&mut self, events: &[Event], tables: &Tables, _flagged: &mut Vec<Flagged>) {
        for event in events {
            self.on(event, tables);
        }
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Outcome {
        let living = self.notified.iter().filter_map(|(&on, notified)| {
            Some(self.finding(lock(on, tables), notified.in_vain()?, tables))
        });
        let past = self
            .past
            .iter()
            .map(|(on, in_vain)| self.finding(self.contexts.lock(*on, tables), *in_vain, tables));
        Outcome { findings: past.chain(living).collect(), ..Outcome::default() }
    }
}

impl LostNotify {
    #[inline]
    fn on(&mut self, event: &Event, tables: &Tables) {
        match event.operation {
            Operation::Notify(lock) => {
                let seen = self.contexts.record(event, AccessMode::Write);
                let notified = self.notified.entry(lock).or_default();
                notified.unheard = Some(seen).filter(|_| notified.waiting.is_empty());
                notified.in_vain = None;
            }
            Operation::Wait(lock) => {
                let seen = self.contexts.record(event, AccessMode::Read);
                let notified = self.notified.entry(lock).or_default();
                notified.waiting.insert(event.thread);
                let is_late = notified.unheard.is_some_and(|it| it.thread != event.thread);
                let is_blind = tables.untested_waits.contains(event.site)
                    && self.contexts.locksets.times_held(event.thread, lock) == 1;
                if is_late && is_blind && notified.in_vain.is_none() {
                    notified.in_vain = Some((seen, false));
                }
            }
            Operation::Wake(lock) => {
                let notified = self.notified.entry(lock).or_default();
                notified.waiting.remove(&event.thread);
                match &mut notified.in_vain {
                    Some((seen, has_ended)) if seen.thread == event.thread => *has_ended = true,
                    _ => {}
                }
            }
            Operation::ForgetLock(_) | Operation::Swept => return self.forget(event, tables),
            _ => {}
        }
        self.contexts.on(event);
    }
}

impl Notified {
    fn in_vain(&self) -> Option<InVain> {
        let (wait, has_ended) = self.in_vain?;
        Some(InVain { wait, notification: self.unheard?, has_ended })
    }

    fn seen(&mut self) -> impl Iterator<Item = &mut AccessRecord> {
        self.unheard.iter_mut().chain(self.in_vain.as_mut().map(|(seen, _)| seen))
    }
}

impl LostNotify {
    /// Locks have died: nobody notifies or waits with them any more.
    fn forget(&mut self, event: &Event, tables: &Tables) {
        let Self { contexts, notified, past } = self;
        if let Operation::ForgetLock(lock) = event.operation
            && let Some(dead) = notified.swap_remove(&lock)
            && let Some(in_vain) = dead.in_vain()
        {
            past.push((contexts.locksets.known.of(lock), in_vain));
        }
        contexts.forget(event, tables, |kept| {
            notified.values_mut().flat_map(Notified::seen).for_each(|seen| kept.record(seen));
            for (on, in_vain) in past {
                kept.locks.lock(on);
                kept.record(&mut in_vain.wait);
                kept.record(&mut in_vain.notification);
            }
        });
    }

    fn finding(&self, on: Lock, in_vain: InVain, tables: &Tables) -> Finding {
        let InVain { wait, notification, has_ended } = in_vain;
        let accesses = [(AccessKind::Wait, wait), (AccessKind::Notify, notification)];
        let accesses = accesses.map(|(kind, AccessRecord { thread, site, calls, locks, .. })| {
            self.contexts.describe(kind, thread, (site, calls), locks, tables)
        });
        let [waits_at, notifies_at] =
            accesses.each_ref().map(|access| access.site().map_or_else(String::new, place));
        let message = format!(
            "{} waits with {on} at {waits_at} without testing anything, and the last notification, by {} at \
             {notifies_at}, had come before",
            describe::thread(wait.thread, tables),
            describe::thread(notification.thread, tables),
        );
        let subject = Subject::locks(on, []);
        let (rule, evidence) = (Rule::LostNotify, Evidence::Observed);
        let mut finding = Finding::new(rule, subject, evidence, DETECTOR, message, accesses.into());
        if has_ended {
            finding.reasons.push(TIMED.holds());
            finding.severity = Severity::Note;
        }
        finding.hint = Some(hints::REMEMBER_THE_NOTIFICATION.to_owned());
        finding
    }
}
