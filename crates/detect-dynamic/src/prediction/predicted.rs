//! What detectors of predicted races have in common: they look at windows of the trace, and report a pair of accesses when a
//! reordering was replayed that shows it.

use unsnarl_entity::{EntityId, SecondaryMap};
use unsnarl_events::{Event, Operation, SiteId, Tables, VariableId};
use unsnarl_findings::{Effect, Heuristic};
use unsnarl_trace_analysis::describe::DeclaredVariable;
use unsnarl_trace_analysis::thread_contexts::{AccessRecord, ThreadContexts};
use unsnarl_trace_analysis::{Flagged, Options, Outcome};

use crate::prediction::{self, Overlapping, Window};
use crate::reporting::races::{RaceWording, Races};

static REORDERING: Heuristic = Heuristic {
    name: "reordering",
    effect: Effect::NONE,
    sentence: "a reordering of the run shows it",
};

/// The window that grows, and the races that were reported.
#[derive(Default)]
pub(crate) struct Predicted {
    contexts: ThreadContexts,
    windows: Overlapping,
    /// What is known of the events of the window, and how many came before.
    notes: Vec<Note>,
    passed: usize,
    /// A number for every variable: ids come again.
    variables: SecondaryMap<VariableId, Option<VariableId>>,
    variable_count: usize,
    races: Races,
    /// How each pair that is reported can come about.
    reorderings: Vec<String>,
    refused: u64,
}

/// An event as it was seen.
#[derive(Clone, Copy)]
struct Note {
    access: Option<(VariableId, DeclaredVariable, AccessRecord)>,
    is_reported: bool,
}

/// A window, and how many events came before it.
pub(crate) struct Complete {
    pub(crate) window: Window,
    pub(crate) passed: usize,
}

impl Predicted {
    /// Windows of the size that was chosen.
    pub(crate) fn new(options: &Options) -> Self {
        Self { windows: Overlapping::new(options), ..Self::default() }
    }

    /// Takes in an event. A window may be complete with it, which has to be looked at now.
    pub(crate) fn add(&mut self, event: &Event, tables: &Tables) -> Option<Complete> {
        let mut event = *event;
        let access = self.contexts.access(&event);
        let access =
            access.map(|(variable, seen)| (variable, DeclaredVariable::of(variable, tables), seen));
        match &mut event.operation {
            Operation::Read(variable) | Operation::Write(variable) => {
                *variable = self.number(*variable)
            }
            Operation::Forget(variable) => self.variables[*variable] = None,
            _ => self.contexts.on(&event),
        }
        if !prediction::concerns(event.operation) {
            return None;
        }
        self.notes.push(Note { access, is_reported: false });
        let window = self.windows.add(event)?;
        Some(Complete { window, passed: self.passed })
    }

    /// How many events there were.
    pub(crate) fn position(&self) -> usize {
        self.passed + self.notes.len()
    }

    /// Forgets what is not in the window that grows.
    pub(crate) fn go_on(&mut self) {
        let gone = self.notes.len() - self.windows.len();
        self.notes.drain(..gone);
        self.passed += gone;
    }

    /// The window that grows, as it is at the end of the trace.
    pub(crate) fn rest(&mut self) -> Complete {
        Complete { window: self.windows.rest(), passed: self.passed }
    }

    /// Tells an access of the window as one that races.
    pub(crate) fn add_event(&mut self, later: u32) {
        let note = &mut self.notes[later as usize];
        if let Some((variable, _, seen)) = note.access
            && !std::mem::replace(&mut note.is_reported, true)
        {
            self.races.add_event(seen.site, variable);
        }
    }

    /// Tells an access as one that races, which need not be in the window.
    pub(crate) fn add_event_at(&mut self, site: SiteId, variable: VariableId) {
        self.races.add_event(site, variable);
    }

    /// Tells two accesses of the window if the order is a reordering that both can follow. Whether it is.
    pub(crate) fn add_pair(
        &mut self,
        window: &Window,
        [earlier, later]: [u32; 2],
        order: &[u32],
        tables: &Tables,
    ) -> bool {
        let is_shown = prediction::replay(window, order)
            .is_some_and(|next| next.is_next(earlier) && next.is_next(later));
        let accesses = [earlier, later].map(|position| self.notes[position as usize].access);
        let [Some((_, subject, one)), Some((_, _, two))] = accesses else { return false };
        if !is_shown {
            self.refused += 1;
            return false;
        }
        let timeline = || prediction::timeline(window, [earlier, later], tables);
        if self.races.add_pair_in_time(subject, one, two, timeline) {
            self.reorderings.push(prediction::describe(window, order, tables));
        }
        true
    }

    pub(crate) fn take_events(&mut self) -> Vec<Flagged> {
        self.races.take_events()
    }

    /// What there is to say in the end.
    pub(crate) fn outcome(mut self, wording: &RaceWording, tables: &Tables) -> Outcome {
        let mut findings = self.races.findings(wording, &self.contexts, tables);
        for (finding, reordering) in findings.iter_mut().zip(self.reorderings) {
            finding.reasons.push(REORDERING.holds_because(reordering));
        }
        Outcome {
            findings,
            flagged: self.races.take_events(),
            statistics: vec![
                ("predicted_events", self.races.event_count()),
                ("refused_predictions", self.refused),
            ],
            ..Outcome::default()
        }
    }

    fn number(&mut self, variable: VariableId) -> VariableId {
        let count = &mut self.variable_count;
        *self.variables[variable].get_or_insert_with(|| {
            *count += 1;
            VariableId::from_index(*count)
        })
    }
}
