//! Races by happens-before: two accesses to a variable by different threads, one of them a write,
//! that nothing in the run orders.
//!
//! After C. Flanagan and S. N. Freund, *FastTrack: Efficient and Precise Dynamic Race Detection*, PLDI
//! 2009: as long as a variable has no race, the last write and, unless threads read it concurrently,
//! the last read say everything about it, and each is one epoch.
//!
//! Deviations from the paper:
//! - After the first race on a variable, the last read and the last write of every thread are kept,
//!   as in DJIT+. FastTrack promises the first race of each variable; this finds every event that
//!   races with an earlier one.
//! - A release adds to what a lock knows instead of replacing it: the same if every release has its
//!   acquire, and no invented race if a recording has missed an acquire.
//! - Slots of ended threads are used again where that loses nothing; see [`crate::clocks`].
//!
//! Guarantees: an event is told exactly if some earlier conflicting access of another thread does not
//! happen before it in the trace. The first race of a variable is a data race by the definition of the
//! Java memory model; a later one may be possible only because of the first. The dropped accesses of
//! the epoch phase lose no event: what raced with one of them races with a kept one as well.
//!
//! Misses: races that another schedule would have shown, because a lock happened to order the two
//! accesses in this run. Of the pairs, each event is told with the last unordered read and write of
//! every thread, not with all earlier ones; two accesses of one thread without a release between them
//! count as one until the first race. With [`Options::all`] no pair of places is left out: of every thread the last
//! access of each kind at each place is kept from the beginning, which takes more time and memory.

mod arrays;
mod every_pair;
mod states;

use std::hint::black_box;

use unsnarl_entity::SecondaryMap;
use unsnarl_findings::{Evidence, Rule};
use unsnarl_trace::{Elements, Event, Filter, Operation, Tables, VariableId};

use self::arrays::{Access, Arrays};
use self::every_pair::EveryPair;
use self::states::{State, States};
use crate::clocks::{Clocks, ThreadClock};
use crate::describe::RaceSubject;
use crate::detector::{Accessed, RacingEvent};
use crate::detector::{Checked, Detector, DetectorEntry, EventKind, Needs, Options};
use crate::lasts::Last;
use crate::locksets::Locksets;
use crate::races::{Kind, Races, Seen, Surroundings, Telling};
use crate::steps::{Place, Steps};

/// The line in the table.
pub(crate) const ENTRY: DetectorEntry = DetectorEntry {
    name: "happens-before",
    rule: Rule::DataRace,
    summary: "accesses that nothing in the run orders",
    is_default: true,
    needs: Needs {
        events: &[EventKind::Access, EventKind::Lock, EventKind::Thread, EventKind::Channel],
        tolerates: &[Filter::Epoch, Filter::Escape],
        exact: false,
    },
    make,
};

const TELLING: Telling = Telling {
    rule: Rule::DataRace,
    evidence: Evidence::Observed,
    detector: "dynamic/happens-before",
    verdict: "and nothing in the run orders the two",
};

/// Of so many events the states of the variables are asked for before the first is looked at: memory delivers many
/// of them in the time of one.
const NEAR: usize = 16;

fn make(options: &Options) -> Box<dyn Detector> {
    match options.all {
        true => Box::new(EveryPair::default()),
        false => Box::new(HappensBefore::default()),
    }
}

#[derive(Default)]
struct HappensBefore {
    clocks: Clocks,
    surroundings: Surroundings,
    steps: Steps<Place>,
    variables: SecondaryMap<VariableId, State>,
    arrays: Arrays,
    states: States,
    racy_variables: u64,
    races: Races,
}

// Accesses are nearly all events: they are handled in the loop over a batch, without a call.
impl Detector for HappensBefore {
    #[inline(always)]
    fn on(&mut self, event: &Event, tables: &Tables) {
        match event.operation {
            Operation::Read(variable) => self.read(event, variable, tables),
            Operation::Write(variable) => self.write(event, variable, tables),
            Operation::ReadElements(elements) => {
                self.elements(event, elements, Kind::Read, tables);
            }
            Operation::WriteElements(elements) => {
                self.elements(event, elements, Kind::Write, tables);
            }
            Operation::Forget(variable) => {
                self.states.forget(std::mem::take(&mut self.variables[variable]));
            }
            Operation::ForgetElements(array) => self.arrays.forget(array, &mut self.states),
            _ => {
                self.steps.on(event, &self.clocks, &self.surroundings.locksets);
                self.clocks.on(event);
                self.surroundings.on(event);
            }
        }
    }

    fn on_all(&mut self, events: &[Event], tables: &Tables) {
        for near in events.chunks(NEAR) {
            for event in near {
                if let Operation::Read(variable) | Operation::Write(variable) = event.operation {
                    black_box(self.states.fetch(&self.variables[variable]));
                }
            }
            for event in near {
                self.on(event, tables);
            }
        }
    }

    fn takes_elements(&self) -> bool {
        true
    }

    fn take_racing_events(&mut self) -> Vec<RacingEvent> {
        self.races.take_events()
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Checked {
        checked(&self.races, self.racy_variables, &self.clocks, &self.surroundings, tables)
    }
}

fn checked(
    races: &Races,
    racy_variables: u64,
    clocks: &Clocks,
    surroundings: &Surroundings,
    tables: &Tables,
) -> Checked {
    Checked {
        findings: races.findings(&TELLING, surroundings, tables),
        stats: vec![
            ("clock_slots", clocks.slot_count() as u64),
            ("racing_events", races.event_count()),
            ("racy_variables", racy_variables),
        ],
        ..Checked::default()
    }
}

impl HappensBefore {
    #[inline(always)]
    fn read(&mut self, event: &Event, variable: VariableId, tables: &Tables) {
        let clock: &ThreadClock = self.clocks.of(event.thread);
        let last = Last::new(clock.now(), &self.surroundings.seen(event, Kind::Read));
        if !self.states.read(&mut self.variables[variable], last, clock) {
            self.race(event, variable, Kind::Read, tables);
        }
    }

    #[inline(always)]
    fn write(&mut self, event: &Event, variable: VariableId, tables: &Tables) {
        let clock: &ThreadClock = self.clocks.of(event.thread);
        let last = Last::new(clock.now(), &self.surroundings.seen(event, Kind::Write));
        if !self.states.write(&mut self.variables[variable], last, clock) {
            self.race(event, variable, Kind::Write, tables);
        }
    }

    /// An access to a variable that has had a race, or has one now.
    #[cold]
    fn race(&mut self, event: &Event, variable: VariableId, kind: Kind, tables: &Tables) {
        let clock: &ThreadClock = self.clocks.of(event.thread);
        let seen = self.surroundings.seen(event, kind);
        let last = Last::new(clock.now(), &seen);
        let state = &mut self.variables[variable];
        self.racy_variables += u64::from(!matches!(state, State::Racy(_)));
        let unordered = self.states.race(state, kind, last, clock);
        if !unordered.is_empty() {
            let past = Past::new(&self.clocks, &self.surroundings, &self.steps);
            tell(&mut self.races, variable.into(), &unordered, seen, &past, tables);
        }
    }

    fn elements(&mut self, event: &Event, elements: Elements, kind: Kind, tables: &Tables) {
        let clock: &ThreadClock = self.clocks.of(event.thread);
        let seen = self.surroundings.seen(event, kind);
        let mut access = Access {
            states: &mut self.states,
            clock,
            kind,
            last: Last::new(clock.now(), &seen),
            races: Vec::new(),
            newly_racy: 0,
        };
        self.arrays.access(elements, &mut access);
        let Access { races, newly_racy, .. } = access;
        if races.is_empty() {
            self.racy_variables += newly_racy;
            return;
        }
        let mut racing: Vec<(u32, usize)> = Vec::new();
        for (number, race) in races.iter().enumerate() {
            racing.extend(race.elements.indices().map(|index| (index as u32, number)));
        }
        racing.sort_unstable();
        if !elements.ascends() {
            racing.reverse();
        }
        self.racy_variables += newly_racy;
        let past = Past::new(&self.clocks, &self.surroundings, &self.steps);
        for (index, number) in racing {
            let element = Accessed::Element(elements.array(), index);
            tell(&mut self.races, element, &races[number].unordered, seen, &past, tables);
        }
    }
}

/// What is known of what threads did.
struct Past<'d> {
    clocks: &'d Clocks,
    locksets: &'d Locksets,
    steps: &'d Steps<Place>,
}

impl<'d> Past<'d> {
    fn new(clocks: &'d Clocks, surroundings: &'d Surroundings, steps: &'d Steps<Place>) -> Self {
        Self { clocks, locksets: &surroundings.locksets, steps }
    }
}

fn tell(
    races: &mut Races,
    variable: Accessed,
    unordered: &[(Last, Kind)],
    later: Seen,
    past: &Past<'_>,
    tables: &Tables,
) {
    races.add_event(later.site, variable);
    let subject = RaceSubject::of(variable, tables);
    for &(last, kind) in unordered {
        let earlier = last.seen(kind, past.clocks);
        let threads = [earlier.thread, later.thread];
        let timeline = || past.steps.timeline(&last, threads, past.locksets, tables);
        races.add_pair_in_time(subject, earlier, later, timeline);
    }
}
