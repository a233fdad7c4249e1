//! Variables whose writes no lock protects against all accesses, or whose reads none protects against the writes.
//!
//! After Atomizer [Flanagan04, race analysis] as [Wang06 §5.4] describes it: of every variable the locks held at all accesses and those held
//! at all writes. A read must hold one of the latter, for a write there must be one of the former. So readers may take
//! one of several locks if writers take all of them, as long as the readers agree.
//!
//! Deviations: as in Eraser, what the first thread does alone is initialization. A lock that is held together with other
//! readers protects reads alone.
//!
//! Guarantees: an access is told exactly if that condition fails.
//!
//! Misses and tells wrongly: as [`crate::eraser`], but a read with a lock of all writes is never told, whatever locks
//! other reads hold.

use unsnarl_entity::SecondaryMap;
use unsnarl_events::{
    Event, EventKind, EventKinds, Filters, Operation, Tables, ThreadId, VariableId,
};
use unsnarl_findings::{Evidence, Rule};
use unsnarl_trace_analysis::describe::DeclaredVariable;
use unsnarl_trace_analysis::protections::{ProtectionId, Protections};
use unsnarl_trace_analysis::thread_contexts::{AccessMode, ThreadContexts};
use unsnarl_trace_analysis::{Analysis, AnalysisEntry, Flagged, Needs, Outcome};

use crate::reporting::races::{RaceWording, Races};
use crate::reporting::timeline::Steps;
use crate::reporting::witnesses::Witnesses;

/// The line in the table.
pub(crate) const ENTRY: AnalysisEntry = AnalysisEntry {
    name: "two-lockset",
    rule: Rule::LocksetRace,
    summary: "the same with locks that protect writes apart from those that protect all accesses",
    is_default: false,
    needs: |_| NEEDS,
    make: |options| Box::new(TwoLockset { all: options.all, ..TwoLockset::default() }),
};

const NEEDS: Needs = Needs {
    events: EventKinds::of(&[
        EventKind::Access,
        EventKind::Lock,
        EventKind::Thread,
        EventKind::Channel,
    ]),
    tolerates: Filters::NONE,
    exact: false,
    array_ranges: false,
    every_access: true,
    handles_retirement: false,
};

const WORDING: RaceWording = RaceWording {
    rule: Rule::LocksetRace,
    evidence: Evidence::Predicted,
    detector: "dynamic/two-lockset",
    verdict: "and no lock keeps the writes apart from all accesses to it",
};

#[derive(Default)]
struct TwoLockset {
    /// Whether every pair of places is told, or the first of each variable.
    all: bool,
    contexts: ThreadContexts,
    steps: Steps<()>,
    protections: Protections,
    variables: SecondaryMap<VariableId, Known>,
    races: Races,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    state: State,
    witnesses: Witnesses,
    is_told: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Nobody has accessed it.
    #[default]
    Virgin,
    /// One thread alone has accessed it.
    Exclusive(ThreadId),
    /// Several have; since the second came, these locks were held at all accesses and at all writes. None stands
    /// for all locks.
    Shared { accesses: Option<ProtectionId>, writes: Option<ProtectionId> },
}

impl Analysis for TwoLockset {
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

impl TwoLockset {
    fn on(&mut self, event: &Event, tables: &Tables) {
        let Some((variable, seen)) = self.contexts.access(event) else {
            if let Operation::Forget(variable) = event.operation {
                self.variables[variable] = Known::default();
            }
            self.steps.on(event, &self.contexts.locksets);
            return self.contexts.on(event);
        };
        let Known { state, witnesses, is_told } = &mut self.variables[variable];
        let protections = &mut self.protections;
        let held = protections.of(&seen, &self.contexts.locksets);
        let (accesses, writes) = match *state {
            State::Exclusive(owner) if owner != seen.thread => (None, None),
            State::Shared { accesses, writes } => (accesses, writes),
            State::Virgin | State::Exclusive(_) => {
                *state = State::Exclusive(seen.thread);
                return witnesses.add(seen, self.steps.now());
            }
        };
        let accesses = protections.refined(accesses, held);
        let (writes, is_protected) = match seen.kind {
            AccessMode::Read => {
                (writes, writes.is_none_or(|writes| !protections.are_apart(writes, held)))
            }
            AccessMode::Write => {
                (Some(protections.refined(writes, held)), !protections.is_empty(accesses))
            }
        };
        *state = State::Shared { accesses: Some(accesses), writes };
        if !is_protected {
            self.races.add_event(seen.site, variable);
            if self.all || !std::mem::replace(is_told, true) {
                let other = witnesses.against(&seen, protections, &self.contexts.locksets);
                if let Some(other) = other {
                    let subject = DeclaredVariable::of(variable, tables);
                    self.races.add_pair_since(subject, other, seen, &self.steps, tables);
                }
            }
        }
        witnesses.add(seen, self.steps.now());
    }
}
