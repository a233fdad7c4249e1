//! Variables that neither locks nor thread periods protect.
//!
//! After [Wang06 §5.4, fig. 3]:
//! of every variable the smallest sets of locks held at reads, the locks held at all writes, and the periods of threads
//! in which it was read and written. It is reported when a write is in a period that is concurrent with another access, and
//! no lock is held at all writes, or at some read none of these is held. What happens before an object escapes its
//! thread ([`Escape`]) does not count.
//!
//! Deviations: periods are separated by everything that orders threads other than locks, not by start, join and barriers
//! alone ([`Periods`]). A lock that is held together with other readers protects reads alone. Of the periods of a
//! thread the last is kept: what is concurrent with an earlier one and ordered after the last does not exist.
//!
//! Guarantees: an access is reported exactly if the condition of [Wang06, fig. 3] holds after it. Once it does, all later accesses to
//! the variable are reported.
//!
//! Misses: pairs that wait and notify do not order; accesses that a queue or a volatile variable happened to order. Tells
//! although it is right: the test is about all accesses together, so that the lock that is missing and the period
//! that is concurrent may belong to different ones.

use unsnarl_entity::SecondaryMap;
use unsnarl_events::{
    Event, EventKind, EventKinds, Filter, Filters, Operation, Tables, VariableId,
};
use unsnarl_findings::{Evidence, Rule};
use unsnarl_trace_analysis::clocks::Epoch;
use unsnarl_trace_analysis::describe::DeclaredVariable;
use unsnarl_trace_analysis::escape::Escape;
use unsnarl_trace_analysis::last_access::put_by;
use unsnarl_trace_analysis::periods::Periods;
use unsnarl_trace_analysis::protections::{ProtectionId, Protections};
use unsnarl_trace_analysis::thread_contexts::{AccessMode, AccessRecord, ThreadContexts};
use unsnarl_trace_analysis::{Analysis, AnalysisEntry, Flagged, Needs, Outcome};

use crate::reporting::races::{RaceWording, Races};
use crate::reporting::timeline::{Moment, Steps};

/// The line in the table.
pub(crate) const ENTRY: AnalysisEntry = AnalysisEntry {
    name: "multilockset",
    rule: Rule::LocksetRace,
    summary: "variables that neither locks nor the order of thread periods protect",
    is_default: false,
    needs: |_| NEEDS,
    make: |options| Box::new(Multilockset { all: options.all, ..Multilockset::default() }),
};

const NEEDS: Needs = Needs {
    events: Needs::ACCESSES
        .events
        .or(EventKinds::of(&[EventKind::Allocation, EventKind::Reference])),
    tolerates: Filters::of(&[Filter::Escape]),
    ..Needs::ACCESSES
};

const WORDING: RaceWording = RaceWording {
    rule: Rule::LocksetRace,
    evidence: Evidence::Predicted,
    detector: "dynamic/multilockset",
    verdict: "and neither a common lock nor the order of threads keeps the accesses to it apart",
};

#[derive(Default)]
struct Multilockset {
    /// Whether every pair of places is reported, or the first of each variable.
    all: bool,
    escape: Escape,
    periods: Periods,
    contexts: ThreadContexts,
    steps: Steps<()>,
    protections: Protections,
    variables: SecondaryMap<VariableId, Option<Box<Known>>>,
    races: Races,
}

/// What is known about an escaped variable.
#[derive(Clone, Debug, Default)]
struct Known {
    /// The locks of reads, without such as are part of another.
    read_sets: Vec<ProtectionId>,
    /// The locks of all writes, if there was one.
    write_set: Option<ProtectionId>,
    /// The last reads and writes of every slot that has accessed it; none once it is reported and nothing more is to be.
    reads: Vec<LastAccess>,
    writes: Vec<LastAccess>,
    has_concurrent_writes: bool,
    has_concurrent_read_and_write: bool,
    is_reported: bool,
}

/// The last access of a kind of a slot.
#[derive(Clone, Copy, Debug)]
struct LastAccess {
    epoch: Epoch,
    seen: AccessRecord,
    at: Moment,
}

impl Analysis for Multilockset {
    fn on_batch(&mut self, events: &[Event], tables: &Tables, flagged: &mut Vec<Flagged>) {
        for event in events {
            self.on(event, tables);
        }
        flagged.append(&mut self.races.take_events());
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Outcome {
        Outcome {
            findings: self.races.findings(&WORDING, &self.contexts, tables),
            ..Outcome::default()
        }
    }
}

impl Multilockset {
    fn on(&mut self, event: &Event, tables: &Tables) {
        let is_kept = self.escape.keeps(event, tables);
        let Some((variable, seen)) = self.contexts.access(event) else {
            if let Operation::Forget(variable) = event.operation {
                self.variables[variable] = None;
            }
            self.periods.on(event);
            self.steps.on(event, &self.contexts.locksets);
            return self.contexts.on(event);
        };
        if !is_kept {
            return;
        }
        let known = self.variables[variable].get_or_insert_default();
        if known.is_reported {
            return self.races.add_event(seen.site, variable);
        }
        known.add_locks(&seen, &mut self.protections, &self.contexts);
        known.add_period(&seen, self.steps.now(), &mut self.periods);
        if known.may_race(&mut self.protections) {
            self.races.add_event(seen.site, variable);
            if let Some(other) = self.witness(variable, &seen) {
                let subject = DeclaredVariable::of(variable, tables);
                self.races.add_pair_since(subject, other, seen, &self.steps, tables);
            }
            if !self.all {
                let reported = Known { is_reported: true, ..Known::default() };
                self.variables[variable] = Some(Box::new(reported));
            }
        }
    }
}

impl Known {
    fn add_locks(
        &mut self,
        seen: &AccessRecord,
        protections: &mut Protections,
        context: &ThreadContexts,
    ) {
        let held = protections.of(seen, &context.locksets);
        match seen.kind {
            AccessMode::Write => self.write_set = Some(protections.refined(self.write_set, held)),
            AccessMode::Read => {
                if !self.read_sets.iter().any(|&set| protections.is_part(set, held)) {
                    self.read_sets.retain(|&set| !protections.is_part(held, set));
                    self.read_sets.push(held);
                }
            }
        }
    }

    fn add_period(&mut self, seen: &AccessRecord, at: Moment, periods: &mut Periods) {
        let clock = periods.of(seen.thread);
        let is_concurrent =
            |lasts: &[LastAccess]| lasts.iter().any(|last| !clock.knows(last.epoch));
        let last = LastAccess { epoch: clock.now(), seen: *seen, at };
        match seen.kind {
            AccessMode::Read => {
                self.has_concurrent_read_and_write |= is_concurrent(&self.writes);
                put_by(&mut self.reads, last, |last| last.epoch);
            }
            AccessMode::Write => {
                self.has_concurrent_writes |= is_concurrent(&self.writes);
                self.has_concurrent_read_and_write |= is_concurrent(&self.reads);
                put_by(&mut self.writes, last, |last| last.epoch);
            }
        }
    }

    /// The test of [Wang06, fig. 3].
    fn may_race(&self, protections: &mut Protections) -> bool {
        match self.write_set {
            None => false,
            Some(locks) if protections.is_empty(locks) => {
                self.has_concurrent_writes || self.has_concurrent_read_and_write
            }
            Some(locks) => {
                self.has_concurrent_read_and_write
                    && self.read_sets.iter().any(|&read| protections.are_apart(read, locks))
            }
        }
    }
}

impl Multilockset {
    /// The access of another thread that shows best what is wrong: one that conflicts, is concurrent and shares no lock.
    fn witness(
        &mut self,
        variable: VariableId,
        seen: &AccessRecord,
    ) -> Option<(AccessRecord, Moment)> {
        let known = self.variables[variable].as_ref()?;
        let clock = self.periods.of(seen.thread).clone();
        let own = self.protections.of(seen, &self.contexts.locksets);
        let mut best = None;
        for &LastAccess { epoch, seen: other, at } in known.reads.iter().chain(&known.writes) {
            if other.thread == seen.thread {
                continue;
            }
            let conflicts = other.kind == AccessMode::Write || seen.kind == AccessMode::Write;
            let protection = self.protections.of(&other, &self.contexts.locksets);
            let is_apart = self.protections.are_apart(own, protection);
            let worth = (conflicts, !clock.knows(epoch), is_apart);
            if best.is_none_or(|(best, _)| worth >= best) {
                best = Some((worth, (other, at)));
            }
        }
        best.map(|(_, other)| other)
    }
}
