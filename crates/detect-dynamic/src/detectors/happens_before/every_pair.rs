//! Tells every pair of places. Of the accesses of a slot at a place the last one is unordered if any is.

use unsnarl_entity::SecondaryMap;
use unsnarl_events::{Event, Operation, Tables, VariableId};
use unsnarl_trace_analysis::clocks::{Clocks, ThreadClock};
use unsnarl_trace_analysis::last_access::LastAccess;
use unsnarl_trace_analysis::thread_contexts::{AccessMode, ThreadContexts};
use unsnarl_trace_analysis::{Analysis, Flagged, Outcome};

use super::{Past, outcome, report};
use crate::reporting::races::Races;
use crate::reporting::timeline::{EpochPosition, Steps};

#[derive(Default)]
pub(super) struct EveryPair {
    clocks: Clocks,
    contexts: ThreadContexts,
    steps: Steps<EpochPosition>,
    variables: SecondaryMap<VariableId, Places>,
    racy_variables: u64,
    races: Races,
}

/// The last access of every slot, of every kind, at every place.
#[derive(Clone, Debug, Default)]
struct Places {
    lasts: Vec<(LastAccess, AccessMode)>,
    is_racy: bool,
}

impl Analysis for EveryPair {
    fn on_batch(&mut self, events: &[Event], tables: &Tables, flagged: &mut Vec<Flagged>) {
        for event in events {
            self.on(event, tables);
        }
        flagged.append(&mut self.races.take_events());
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Outcome {
        outcome(&self.races, self.racy_variables, &self.clocks, &self.contexts, tables)
    }
}

impl EveryPair {
    fn on(&mut self, event: &Event, tables: &Tables) {
        let Some((variable, seen)) = self.contexts.access(event) else {
            if let Operation::Forget(variable) = event.operation {
                self.variables[variable] = Places::default();
            }
            self.steps.on(event, &self.clocks, &self.contexts.locksets);
            self.clocks.on(event);
            self.contexts.on(event);
            return;
        };
        let context = self.contexts.current(event.thread);
        let clock: &ThreadClock = self.clocks.of(event.thread);
        let last = LastAccess { epoch: clock.now(), site: event.site, context };
        let Places { lasts, is_racy } = &mut self.variables[variable];
        let conflicts =
            |kind: AccessMode| kind == AccessMode::Write || seen.kind == AccessMode::Write;
        let unordered =
            lasts.iter().filter(|(earlier, kind)| conflicts(*kind) && !earlier.is_known(clock));
        let unordered: Vec<(LastAccess, AccessMode)> = unordered.copied().collect();
        let is_same = |(earlier, kind): &&mut (LastAccess, AccessMode)| {
            earlier.epoch.slot() == last.epoch.slot()
                && (earlier.site, *kind) == (last.site, seen.kind)
        };
        match lasts.iter_mut().find(is_same) {
            Some((earlier, _)) => *earlier = last,
            None => lasts.push((last, seen.kind)),
        }
        if !unordered.is_empty() {
            self.racy_variables += u64::from(!std::mem::replace(is_racy, true));
            let past = Past::new(&self.clocks, &self.contexts, &self.steps);
            report(&mut self.races, variable.into(), &unordered, seen, &past, tables);
        }
    }
}
