//! Variables that are written from what may be an old value: the lock under which the variable was read was
//! given back before.
//!
//! After [Artho04 §3] on a run, as far as events show it. Artho, Havelund and Biere follow values through every instruction; a trace has none of
//! that. What is reported instead: in one call of a method, and in methods that it calls directly, a thread reads a
//! variable under a lock, gives the lock back (or waits), takes it again and writes the variable, without having read or
//! written it in between. Another thread writes the variable under that lock, with no lock that the first
//! holds from the read to the write, and nothing but locks orders the two. If it did so in between, the finding is
//! observed, else predicted. Where a trace has no events of methods, a thread as a whole is one call.
//!
//! Guarantees: each of these things was seen. Misses: values that are used for anything but writing the same variable;
//! a thread that has ended, or was waited for, between the read and the write. Reports although it is right: a write that
//! does not depend on what was read. So every finding has a reason that lowers the confidence, and the
//! detector is not run unless it is asked for.

mod scopes;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use scopes::{Late, Scope, Scopes};
use unsnarl_events::{
    Event, EventKind, EventKinds, LockId, MethodId, Operation, SiteId, Tables, ThreadId, VariableId,
};
use unsnarl_findings::{AccessKind, Effect, Evidence, Finding, Heuristic, Rule, Subject};
use unsnarl_trace_analysis::clocks::Epoch;
use unsnarl_trace_analysis::describe::{self, DeclaredVariable, place};
use unsnarl_trace_analysis::locksets::LocksetId;
use unsnarl_trace_analysis::periods::Periods;
use unsnarl_trace_analysis::thread_contexts::{AccessMode, AccessRecord, ThreadContexts};
use unsnarl_trace_analysis::{Analysis, AnalysisEntry, Flagged, Needs, Outcome};

/// The line in the table.
pub(crate) const ENTRY: AnalysisEntry = AnalysisEntry {
    name: "stale-value",
    rule: Rule::StaleValue,
    summary: "variables that are read, and written in a later scope of the same lock",
    is_default: false,
    needs: |_| NEEDS,
    make: |_| Box::new(StaleValue::default()),
};

const NEEDS: Needs = Needs {
    events: Needs::ACCESSES.events.or(EventKinds::of(&[EventKind::Method])),
    ..Needs::ACCESSES
};

const DETECTOR: &str = "dynamic/stale-value";
const HINT: &str =
    "hold the lock from the read to the write, or read the variable again under the lock";

/// Of how many unlike writes of a variable, and of how many late ones, each is remembered.
const MOST_KEPT: usize = 8;

static FLOW_NOT_SEEN: Heuristic = Heuristic {
    name: "flow-not-seen",
    effect: Effect::lowers(2),
    sentence: "a run does not show whether what is written depends on what was read",
};

#[derive(Default)]
struct StaleValue {
    contexts: ThreadContexts,
    scopes: Scopes,
    periods: Periods,
    variables: FxHashMap<VariableId, Known>,
    reported: IndexMap<(DeclaredVariable, SiteId, SiteId), (LateWrite, Evidence)>,
    events: Vec<Flagged>,
    /// The writes that only a later write of another thread has shown to be late.
    shown_later: Vec<Flagged>,
}

/// What is known of a variable.
#[derive(Default)]
struct Known {
    /// What threads have read and not written since.
    readings: Vec<Reading>,
    writes: Vec<OtherWrite>,
    /// Late writes that nobody is known to come between.
    late: Vec<LateWrite>,
    /// How often it was written.
    version: u64,
}

/// A read under a lock.
struct Reading {
    seen: AccessRecord,
    version: u64,
    scopes: Vec<Scope>,
    calls: Vec<(Option<MethodId>, u64)>,
}

/// A write under locks.
#[derive(Clone, Copy)]
struct OtherWrite {
    thread: ThreadId,
    locks: LocksetId,
    when: Epoch,
}

/// A write in a later scope of a lock than the read before it.
#[derive(Clone)]
struct LateWrite {
    read: AccessRecord,
    write: AccessRecord,
    when: Epoch,
    late: Late,
}

impl Analysis for StaleValue {
    fn on_batch(&mut self, events: &[Event], tables: &Tables, flagged: &mut Vec<Flagged>) {
        for event in events {
            self.on(event, tables);
        }
        flagged.append(&mut self.events);
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Outcome {
        let reported = self.reported.iter();
        let findings = reported.map(|((subject, ..), (late, evidence))| {
            self.finding(*subject, late, *evidence, tables)
        });
        let findings = findings.collect();
        Outcome { findings, flagged: self.shown_later, ..Outcome::default() }
    }
}

impl StaleValue {
    fn on(&mut self, event: &Event, tables: &Tables) {
        let Some((variable, seen)) = self.contexts.access(event) else {
            if let Operation::Forget(variable) = event.operation {
                self.variables.remove(&variable);
            }
            self.scopes.on(event);
            self.periods.on(event);
            return self.contexts.on(event);
        };
        match seen.kind {
            AccessMode::Read => self.read(variable, seen),
            AccessMode::Write => self.write(variable, seen, DeclaredVariable::of(variable, tables)),
        }
    }
}

impl StaleValue {
    fn read(&mut self, variable: VariableId, seen: AccessRecord) {
        let known = self.variables.entry(variable).or_default();
        known.readings.retain(|reading| reading.seen.thread != seen.thread);
        if !self.contexts.locksets.is_empty(seen.locks) {
            let (scopes, calls) =
                (self.scopes.held(seen.thread).to_vec(), self.scopes.calls(seen.thread));
            known.readings.push(Reading { seen, version: known.version, scopes, calls });
        }
    }

    fn write(&mut self, variable: VariableId, seen: AccessRecord, subject: DeclaredVariable) {
        let clock = self.periods.of(seen.thread);
        let locksets = &self.contexts.locksets;
        let known = self.variables.entry(variable).or_default();
        let own = OtherWrite { thread: seen.thread, locks: seen.locks, when: clock.now() };
        let may_come_between = |late: &LateWrite, other: &OtherWrite| {
            let is_held = |&lock: &LockId| locksets.count(other.locks, lock) > 0;
            other.thread != late.write.thread
                && late.late.reopened.iter().any(is_held)
                && !late.late.kept.iter().any(is_held)
        };
        let mut reported = Vec::new();
        known.late.retain(|late| {
            let is_shown = may_come_between(late, &own) && !clock.knows(late.when);
            if is_shown {
                let variable = variable.into();
                self.shown_later.push(Flagged { site: late.write.site, variable });
                reported.push((late.clone(), Evidence::Predicted));
            }
            !is_shown
        });
        let reading = known.readings.iter().position(|reading| reading.seen.thread == seen.thread);
        let reading = reading.map(|at| known.readings.swap_remove(at));
        if let Some(reading) = reading
            && let Some(late) = self.scopes.late(&reading.scopes, &reading.calls, seen.thread)
        {
            let late = LateWrite { read: reading.seen, write: seen, when: own.when, late };
            let mut others = known.writes.iter();
            if others.any(|other| may_come_between(&late, other) && !clock.knows(other.when)) {
                let evidence = match reading.version == known.version {
                    true => Evidence::Predicted,
                    false => Evidence::Observed,
                };
                self.events.push(Flagged { site: seen.site, variable: variable.into() });
                reported.push((late, evidence));
            } else {
                let is_such = |other: &LateWrite| {
                    let place = |late: &LateWrite| (late.write.site, late.write.thread);
                    place(other) == place(&late) && other.late == late.late
                };
                known.late.retain(|known| !is_such(known));
                if known.late.len() < MOST_KEPT {
                    known.late.push(late);
                }
            }
        }
        known.version += 1;
        known.writes.retain(|other| (other.thread, other.locks) != (own.thread, own.locks));
        if known.writes.len() < MOST_KEPT {
            known.writes.push(own);
        }
        for (late, evidence) in reported {
            let key = (subject, late.read.site, late.write.site);
            let known = self.reported.entry(key).or_insert((late, evidence));
            known.1 = known.1.max(evidence);
        }
    }

    fn finding(
        &self,
        subject: DeclaredVariable,
        late: &LateWrite,
        evidence: Evidence,
        tables: &Tables,
    ) -> Finding {
        let describe = |kind: AccessKind, seen: AccessRecord| {
            let AccessRecord { thread, site, calls, locks, .. } = seen;
            self.contexts.describe(kind, thread, (site, calls), locks, tables)
        };
        let release = AccessRecord { site: late.late.release, calls: late.read.calls, ..late.read };
        let accesses = vec![
            describe(AccessKind::Read, late.read),
            describe(AccessKind::Release, release),
            describe(AccessKind::Write, late.write),
        ];
        let at = |number: usize| {
            let access: &unsnarl_findings::Access = &accesses[number];
            access.site().map_or_else(String::new, place)
        };
        let variable = subject.variable(tables);
        let others = match evidence {
            Evidence::Observed => "another thread has written it in between",
            _ => "another thread may write it in between",
        };
        let message = format!(
            "{variable} is written at {} in a later scope of the lock than it was read at {}; the lock was \
             given back at {}, and {others}",
            at(2),
            at(0),
            at(1)
        );
        let about = match late.late.method {
            Some(method) => {
                Subject::method(describe::method(method, tables)).and_variable(variable)
            }
            None => Subject::variable(variable),
        };
        let mut finding =
            Finding::new(Rule::StaleValue, about, evidence, DETECTOR, message, accesses);
        finding.reasons.push(FLOW_NOT_SEEN.holds());
        finding.hint = Some(HINT.to_owned());
        finding
    }
}
