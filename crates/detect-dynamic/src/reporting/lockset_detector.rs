//! What detectors have in common that judge an access by the locks held at the accesses to its variable so far: only the
//! state of a variable, and what protects it, is their own.

use unsnarl_entity::SecondaryMap;
use unsnarl_events::{Event, Operation, Tables, VariableId};
use unsnarl_trace_analysis::describe::DeclaredVariable;
use unsnarl_trace_analysis::protections::{ProtectionId, Protections};
use unsnarl_trace_analysis::thread_contexts::{AccessRecord, ThreadContexts};
use unsnarl_trace_analysis::{Analysis, Flagged, Options, Outcome};

use super::races::{RaceWording, Races};
use super::timeline::Steps;
use super::witnesses::Witnesses;

/// What such a detector knows of a variable.
pub(crate) trait LocksetState: Clone + Default + Send {
    /// What is said of an access that nothing protects.
    const WORDING: RaceWording;

    /// Takes in an access, which `held` protects. Whether a lock protects the variable still.
    fn stays_protected(
        &mut self,
        access: &AccessRecord,
        held: ProtectionId,
        protections: &mut Protections,
    ) -> bool;
}

/// The detector that a state makes.
pub(crate) struct LocksetDetector<S> {
    /// Whether every pair of sites is reported, or the first of each variable.
    all: bool,
    contexts: ThreadContexts,
    steps: Steps<()>,
    protections: Protections,
    variables: SecondaryMap<VariableId, Known<S>>,
    races: Races,
}

#[derive(Clone, Default)]
struct Known<S> {
    state: S,
    witnesses: Witnesses,
    is_reported: bool,
}

impl<S: LocksetState> LocksetDetector<S> {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            all: options.all,
            contexts: ThreadContexts::default(),
            steps: Steps::default(),
            protections: Protections::default(),
            variables: SecondaryMap::default(),
            races: Races::default(),
        }
    }

    fn on(&mut self, event: &Event, tables: &Tables) {
        let Some((variable, access)) = self.contexts.access(event) else {
            if let Operation::Forget(variable) = event.operation {
                self.variables[variable] = Known::default();
            }
            self.steps.on(event, &self.contexts.locksets);
            return self.contexts.on(event);
        };
        let Known { state, witnesses, is_reported } = &mut self.variables[variable];
        let protections = &mut self.protections;
        let held = protections.of(&access, &self.contexts.locksets);
        if !state.stays_protected(&access, held, protections) {
            self.races.add_event(access.site, variable);
            if self.all || !std::mem::replace(is_reported, true) {
                let other = witnesses.against(&access, protections, &self.contexts.locksets);
                if let Some(other) = other {
                    let subject = DeclaredVariable::of(variable, tables);
                    self.races.add_pair_since(subject, other, access, &self.steps, tables);
                }
            }
        }
        witnesses.add(access, self.steps.now());
    }
}

impl<S: LocksetState> Analysis for LocksetDetector<S> {
    fn on_batch(&mut self, events: &[Event], tables: &Tables, flagged: &mut Vec<Flagged>) {
        for event in events {
            self.on(event, tables);
        }
        flagged.append(&mut self.races.take_events());
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Outcome {
        Outcome {
            findings: self.races.findings(&S::WORDING, &self.contexts, tables),
            ..Outcome::default()
        }
    }
}
