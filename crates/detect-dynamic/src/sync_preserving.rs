//! Races that did not happen in this run and can happen in another: predicted, without false alarms.
//!
//! After U. Mathur, A. Pavlogiannis and M. Viswanathan, *Optimal Prediction of Synchronization-Preserving Races*, POPL
//! 2021. What a reordering is and how it is found, [`crate::prediction`] says.
//!
//! Deviations from the paper:
//! - The trace is looked at in windows that overlap by half, so that memory is bounded.
//! - Locks can be shared (read locks). What is received from a channel comes after all that was sent to it before; who is
//!   woken up comes after all notifications before.
//!
//! Guarantees: every pair has a reordering of the trace, which was replayed against the constraints of the trace before the
//! pair is told. That holds for exact traces only. In a window every access is told that races with an earlier one in a
//! reordering that preserves synchronization.
//!
//! Misses: races for which critical sections would have to change places, and accesses that are more than a window apart.
//! What code would do that reads other values is not known: nothing is told about it.

use unsnarl_entity::SecondaryMap;
use unsnarl_findings::{Effect, Evidence, Heuristic, Rule};
use unsnarl_trace::{Event, Operation, Tables, VariableId};

use crate::describe::RaceSubject;
use crate::detector::{Checked, Detector, DetectorEntry, EventKind, Needs, Options, RacingEvent};
use crate::prediction::{self, Overlapping, Window};
use crate::races::{Races, Seen, Surroundings, Telling};

/// The line in the table.
pub(crate) const ENTRY: DetectorEntry = DetectorEntry {
    name: "sync-preserving",
    rule: Rule::DataRace,
    summary: "accesses that can come one behind the other in a reordering of the run",
    is_default: false,
    needs: Needs {
        events: &[
            EventKind::Access,
            EventKind::Lock,
            EventKind::Contention,
            EventKind::Thread,
            EventKind::Channel,
        ],
        tolerates: &[],
        exact: true,
    },
    make,
};

const TELLING: Telling = Telling {
    rule: Rule::DataRace,
    evidence: Evidence::Predicted,
    detector: "dynamic/sync-preserving",
    verdict: "and the run can be reordered so that the two meet",
};

static REORDERING: Heuristic = Heuristic {
    name: "reordering",
    effect: Effect::NONE,
    sentence: "a reordering of the run shows it",
};

fn make(_: &Options) -> Box<dyn Detector> {
    Box::new(SyncPreserving::default())
}

#[derive(Default)]
struct SyncPreserving {
    surroundings: Surroundings,
    windows: Overlapping,
    /// What is known of the events of the window.
    notes: Vec<Note>,
    /// A number for every variable: ids come again.
    variables: SecondaryMap<VariableId, Option<VariableId>>,
    variable_count: u32,
    races: Races,
    /// How each pair that is told can come about.
    reorderings: Vec<String>,
    refused: u64,
}

/// An event as it was seen.
#[derive(Clone, Copy)]
struct Note {
    access: Option<(VariableId, RaceSubject, Seen)>,
    is_told: bool,
}

impl Detector for SyncPreserving {
    fn on(&mut self, event: &Event, tables: &Tables) {
        let mut event = *event;
        let access = self
            .surroundings
            .access(&event)
            .map(|(variable, seen)| (variable, RaceSubject::of(variable, tables), seen));
        match &mut event.operation {
            Operation::Read(variable) | Operation::Write(variable) => {
                *variable = self.number(*variable);
            }
            Operation::Forget(variable) => self.variables[*variable] = None,
            _ => self.surroundings.on(&event),
        }
        self.notes.push(Note { access, is_told: false });
        if let Some(window) = self.windows.add(event) {
            self.look(&window, tables);
            self.notes.drain(..self.notes.len() - self.windows.len());
        }
    }

    fn take_racing_events(&mut self) -> Vec<RacingEvent> {
        self.races.take_events()
    }

    fn finish(mut self: Box<Self>, tables: &Tables) -> Checked {
        let window = self.windows.rest();
        self.look(&window, tables);
        let mut findings = self.races.findings(&TELLING, &self.surroundings, tables);
        for (finding, reordering) in findings.iter_mut().zip(self.reorderings) {
            finding.reasons.push(REORDERING.holds_because(reordering));
        }
        Checked {
            findings,
            stats: vec![
                ("predicted_events", self.races.event_count()),
                ("refused_predictions", self.refused),
            ],
            racing: self.races.take_events(),
            notes: Vec::new(),
        }
    }
}

impl SyncPreserving {
    fn number(&mut self, variable: VariableId) -> VariableId {
        let count = &mut self.variable_count;
        *self.variables[variable].get_or_insert_with(|| {
            *count += 1;
            unsnarl_entity::EntityId::from_index(*count as usize)
        })
    }

    fn look(&mut self, window: &Window, tables: &Tables) {
        for race in prediction::races(window) {
            let (earlier, later) = (race.earlier as usize, race.later as usize);
            let (Some((_, subject, one)), Some((variable, _, two))) =
                (self.notes[earlier].access, self.notes[later].access)
            else {
                continue;
            };
            let order = race.before.events(window);
            let is_shown = prediction::replay(window, &order).is_some_and(|enabled| {
                enabled.is_next(window, race.earlier) && enabled.is_next(window, race.later)
            });
            if !is_shown {
                self.refused += 1;
                continue;
            }
            if !std::mem::replace(&mut self.notes[later].is_told, true) {
                self.races.add_event(two.site, variable);
            }
            if self.races.add_pair(subject, one, two) {
                self.reorderings.push(prediction::describe(window, &order, tables));
            }
        }
    }
}
