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
use unsnarl_findings::{Evidence, Rule};
use unsnarl_trace::{Event, Operation, Tables, ThreadId, VariableId};

use crate::describe::RaceSubject;
use crate::detector::{Checked, Detector, DetectorEntry, EventKind, Needs, RacingEvent};
use crate::protections::{ProtectionId, Protections};
use crate::races::{Kind, Races, Surroundings, Telling};
use crate::steps::Steps;
use crate::witnesses::Witnesses;

/// The line in the table.
pub(crate) const ENTRY: DetectorEntry = DetectorEntry {
    name: "two-lockset",
    rule: Rule::LocksetRace,
    summary: "the same with locks that protect writes apart from those that protect all accesses",
    is_default: false,
    needs: Needs {
        events: &[EventKind::Access, EventKind::Lock, EventKind::Thread, EventKind::Channel],
        tolerates: &[],
        exact: false,
    },
    make: |options| Box::new(TwoLockset { all: options.all, ..TwoLockset::default() }),
};

const TELLING: Telling = Telling {
    rule: Rule::LocksetRace,
    evidence: Evidence::Predicted,
    detector: "dynamic/two-lockset",
    verdict: "and no lock keeps the writes apart from all accesses to it",
};

#[derive(Default)]
struct TwoLockset {
    /// Whether every pair of places is told, or the first of each variable.
    all: bool,
    surroundings: Surroundings,
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

impl Detector for TwoLockset {
    fn on(&mut self, event: &Event, tables: &Tables) {
        let Some((variable, seen)) = self.surroundings.access(event) else {
            if let Operation::Forget(variable) = event.operation {
                self.variables[variable] = Known::default();
            }
            self.steps.on(event, &self.surroundings.locksets);
            return self.surroundings.on(event);
        };
        let Known { state, witnesses, is_told } = &mut self.variables[variable];
        let protections = &mut self.protections;
        let held = protections.of(&seen, &self.surroundings.locksets);
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
            Kind::Read => {
                (writes, writes.is_none_or(|writes| !protections.are_apart(writes, held)))
            }
            Kind::Write => {
                (Some(protections.refined(writes, held)), !protections.is_empty(accesses))
            }
        };
        *state = State::Shared { accesses: Some(accesses), writes };
        if !is_protected {
            self.races.add_event(seen.site, variable);
            if self.all || !std::mem::replace(is_told, true) {
                let other = witnesses.against(&seen, protections, &self.surroundings.locksets);
                if let Some(other) = other {
                    let subject = RaceSubject::of(variable, tables);
                    self.races.add_pair_since(subject, other, seen, &self.steps, tables);
                }
            }
        }
        witnesses.add(seen, self.steps.now());
    }

    fn take_racing_events(&mut self) -> Vec<RacingEvent> {
        self.races.take_events()
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Checked {
        Checked {
            findings: self.races.findings(&TELLING, &self.surroundings, tables),
            ..Checked::default()
        }
    }
}
