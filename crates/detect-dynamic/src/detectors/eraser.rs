//! Variables that no lock protects at all accesses.
//!
//! After [Savage97 §2], as [Wood08 §2.2.1, algorithm 2.1] and [Wang06 §5.4] describe it. While one thread
//! alone uses a variable, it is being initialized. From the second thread on, the locks held at all accesses are
//! kept; when none is left and the variable was written after its initialization, the access is told.
//!
//! Deviations: from [Wood08 §2.2.1], whose algorithm has no state for variables that are shared and only read, so that it
//! reports a first read by a second thread as well. A lock that is held together with other readers protects reads alone.
//!
//! Guarantees: an access is told exactly if the variable is shared and modified, and no lock is left.
//!
//! Misses: what the first thread does before a second one comes is taken for initialization, so that a read by the
//! second thread is never told against it. Tells although it is right: every order that is not made by locks: start and
//! join, volatile variables, queues; a variable that changes its lock.

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
    name: "eraser",
    rule: Rule::LocksetRace,
    summary: "variables that no lock protects at all accesses",
    is_default: false,
    needs: |_| NEEDS,
    make: |options| Box::new(Eraser { all: options.all, ..Eraser::default() }),
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
    detector: "dynamic/eraser",
    verdict: "and no lock is held at all accesses to it",
};

#[derive(Default)]
struct Eraser {
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
    /// Several have, and since the second came it was only read; the locks held at all accesses since then.
    Shared(ProtectionId),
    /// Several have, and it was written since.
    SharedModified(ProtectionId),
}

impl Analysis for Eraser {
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

impl Eraser {
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
        *state = match (*state, seen.kind) {
            (State::Virgin, _) => State::Exclusive(seen.thread),
            (State::Exclusive(owner), _) if owner == seen.thread => State::Exclusive(owner),
            (State::Exclusive(_), AccessMode::Read) => State::Shared(held),
            (State::Exclusive(_), AccessMode::Write) => State::SharedModified(held),
            (State::Shared(locks), AccessMode::Read) => {
                State::Shared(protections.common(locks, held))
            }
            (State::Shared(locks), AccessMode::Write) | (State::SharedModified(locks), _) => {
                State::SharedModified(protections.common(locks, held))
            }
        };
        if matches!(*state, State::SharedModified(locks) if protections.is_empty(locks)) {
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
