//! Races that did not happen in this run and can happen in another: predicted, without false alarms.
//!
//! After [Mathur21 §4]. What a reordering is and how it is found, [`crate::prediction`] says.
//!
//! Deviations:
//! - The trace is looked at in windows that overlap by half, so that memory is bounded.
//! - Locks can be shared (read locks). What is received from a channel comes after all that was sent to it before; who is
//!   woken up comes after all notifications before.
//!
//! Guarantees: every pair has a reordering of the trace, which was replayed against the constraints of the trace before the
//! pair is reported. That holds for exact traces only. In a window every access is reported that races with an earlier one in a
//! reordering that preserves synchronization.
//!
//! Misses: races for which critical sections would have to change places, and accesses that are more than a window apart.
//! What code would do that reads other values is not known: nothing is reported about it. Reports although it cannot be: a pair
//! of which one thread has its object from the other by a way that no event shows.

use unsnarl_events::{Event, Tables};
use unsnarl_findings::{Evidence, Rule};
use unsnarl_trace_analysis::{Analysis, AnalysisEntry, Flagged, Options, Outcome};

use crate::prediction;
use crate::prediction::predicted::{Complete, Predicted};
use crate::reporting::races::RaceWording;

/// The line in the table.
pub(crate) const ENTRY: AnalysisEntry = AnalysisEntry {
    name: "sync-preserving",
    rule: Rule::DataRace,
    summary: "accesses that can come one behind the other in a reordering of the run",
    is_default: false,
    needs: |_| prediction::NEEDS,
    make,
};

const WORDING: RaceWording = RaceWording {
    rule: Rule::DataRace,
    evidence: Evidence::Predicted,
    detector: "dynamic/sync-preserving",
    verdict: "and the run can be reordered so that the two meet",
};

fn make(options: &Options) -> Box<dyn Analysis> {
    Box::new(SyncPreserving(Predicted::new(options)))
}

struct SyncPreserving(Predicted);

impl Analysis for SyncPreserving {
    fn on_batch(&mut self, events: &[Event], tables: &Tables, flagged: &mut Vec<Flagged>) {
        for event in events {
            self.on(event, tables);
        }
        flagged.append(&mut self.0.take_events());
    }

    fn finish(mut self: Box<Self>, tables: &Tables) -> Outcome {
        let rest = self.0.rest();
        self.look(&rest, tables);
        self.0.outcome(&WORDING, tables)
    }
}

impl SyncPreserving {
    fn on(&mut self, event: &Event, tables: &Tables) {
        if let Some(complete) = self.0.add(event, tables) {
            self.look(&complete, tables);
            self.0.go_on();
        }
    }
}

impl SyncPreserving {
    fn look(&mut self, Complete { window, .. }: &Complete, tables: &Tables) {
        for race in prediction::races(window) {
            let order = race.before.events(window);
            if self.0.add_pair(window, [race.earlier, race.later], &order, tables) {
                self.0.add_event(race.later);
            }
        }
    }
}
