//! Tells every pair of places. Of the accesses of a slot at a place the last one is unordered if any is.

use unsnarl_entity::SecondaryMap;
use unsnarl_trace::{Event, Operation, Tables, VariableId};

use super::{Past, checked, tell};
use crate::clocks::{Clocks, ThreadClock};
use crate::detector::{Checked, Detector, RacingEvent};
use crate::lasts::Last;
use crate::races::{Kind, Races, Surroundings};
use crate::steps::{Place, Steps};

#[derive(Default)]
pub(super) struct EveryPair {
    clocks: Clocks,
    surroundings: Surroundings,
    steps: Steps<Place>,
    variables: SecondaryMap<VariableId, Places>,
    racy_variables: u64,
    races: Races,
}

/// The last access of every slot, of every kind, at every place.
#[derive(Clone, Debug, Default)]
struct Places {
    lasts: Vec<(Last, Kind)>,
    is_racy: bool,
}

impl Detector for EveryPair {
    fn on(&mut self, event: &Event, tables: &Tables) {
        let Some((variable, seen)) = self.surroundings.access(event) else {
            if let Operation::Forget(variable) = event.operation {
                self.variables[variable] = Places::default();
            }
            self.steps.on(event, &self.clocks, &self.surroundings.locksets);
            self.clocks.on(event);
            self.surroundings.on(event);
            return;
        };
        let around = self.surroundings.around(event.thread);
        let clock: &ThreadClock = self.clocks.of(event.thread);
        let last = Last { epoch: clock.now(), site: event.site, around };
        let Places { lasts, is_racy } = &mut self.variables[variable];
        let conflicts = |kind: Kind| kind == Kind::Write || seen.kind == Kind::Write;
        let unordered =
            lasts.iter().filter(|(earlier, kind)| conflicts(*kind) && !earlier.is_known(clock));
        let unordered: Vec<(Last, Kind)> = unordered.copied().collect();
        let is_same = |(earlier, kind): &&mut (Last, Kind)| {
            earlier.epoch.slot() == last.epoch.slot()
                && (earlier.site, *kind) == (last.site, seen.kind)
        };
        match lasts.iter_mut().find(is_same) {
            Some((earlier, _)) => *earlier = last,
            None => lasts.push((last, seen.kind)),
        }
        if !unordered.is_empty() {
            self.racy_variables += u64::from(!std::mem::replace(is_racy, true));
            let past = Past::new(&self.clocks, &self.surroundings, &self.steps);
            tell(&mut self.races, variable.into(), &unordered, seen, &past, tables);
        }
    }

    fn take_racing_events(&mut self) -> Vec<RacingEvent> {
        self.races.take_events()
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Checked {
        checked(&self.races, self.racy_variables, &self.clocks, &self.surroundings, tables)
    }
}
