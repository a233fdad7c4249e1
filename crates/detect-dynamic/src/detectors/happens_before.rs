//! Races by happens-before: two accesses to a variable by different threads, one of them a write,
//! that nothing in the run orders.
//!
//! After FastTrack [Flanagan09 §3]: as long as a variable has no race, the last write and, unless threads read it concurrently,
//! the last read say everything about it, and each is one epoch.
//!
//! Deviations:
//! - After the first race on a variable, the last read and the last write of every thread are kept,
//!   as in DJIT+ [Pozniansky03, the basic algorithm]. FastTrack promises the first race of each variable; this finds every event that
//!   races with an earlier one.
//! - A release adds to what a lock knows instead of replacing it: the same if every release has its
//!   acquire, and no invented race if a recording has missed an acquire.
//! - Slots of ended threads are used again where that loses nothing; see [`unsnarl_trace_analysis::clocks`].
//!
//! Guarantees: an event is reported exactly if some earlier conflicting access of another thread does not
//! happen before it in the trace. The first race of a variable is a data race by the definition of the
//! Java memory model; a later one may be possible only because of the first. The dropped accesses of
//! the epoch phase lose no event: what raced with one of them races with a kept one as well.
//!
//! Misses: races that another schedule would have shown, because a lock happened to order the two
//! accesses in this run. Of the pairs, each event is reported with the last unordered read and write of
//! every thread, not with all earlier ones; two accesses of one thread without a release between them
//! count as one until the first race. With [`Options::all`] no pair of places is left out: of every thread the last
//! access of each kind at each place is kept from the beginning, which takes more time and memory.

mod arrays;
mod every_pair;
mod pool;
mod reads;
mod states;

use unsnarl_entity::{EntityId, PagedMap};
use unsnarl_events::{Elements, Event, Filter, Filters, Operation, Tables, VariableId};
use unsnarl_findings::{Evidence, Rule};
use unsnarl_trace_analysis::clocks::{Clocks, ThreadClock};
use unsnarl_trace_analysis::describe::DeclaredVariable;
use unsnarl_trace_analysis::last_access::LastAccess;
use unsnarl_trace_analysis::thread_contexts::{AccessMode, AccessRecord, ThreadContexts};
use unsnarl_trace_analysis::{Accessed, Analysis, AnalysisEntry, Flagged, Needs, Options, Outcome};

use self::arrays::{Arrays, Race, Raced};
use self::every_pair::EveryPair;
use self::states::{State, States};
use crate::reporting::races::{RaceWording, Races};
use crate::reporting::timeline::{EpochPosition, Steps};

/// The line in the table.
pub(crate) const ENTRY: AnalysisEntry = AnalysisEntry {
    name: "happens-before",
    rule: Rule::DataRace,
    summary: "accesses that nothing in the run orders",
    is_default: true,
    needs,
    make,
};

const NEEDS: Needs = Needs {
    tolerates: Filters::of(&[Filter::Epoch, Filter::Escape]),
    array_ranges: true,
    handles_retirement: true,
    ..Needs::ACCESSES
};

const WORDING: RaceWording = RaceWording {
    rule: Rule::DataRace,
    evidence: Evidence::Observed,
    detector: "dynamic/happens-before",
    verdict: "and nothing in the run orders the two",
};

/// So many events before an access memory is asked for the state of its variable, and so many for what that refers to. To an
/// element it is a step more.
const AHEAD: usize = 16;
const MIDWAY: usize = 11;
const NEAR: usize = 6;
/// The states of so many variables stay in a cache by themselves.
const FEW_VARIABLES: usize = 1 << 15;
/// Memory is asked for elements if one of so many events is about some: it costs something for each event.
const SELDOM: usize = 16;

/// Who looks at every pair keeps the elements and the locks of all pairs.
fn needs(options: &Options) -> Needs {
    let is_fast = !options.all;
    Needs { array_ranges: is_fast, handles_retirement: is_fast, ..NEEDS }
}

fn make(options: &Options) -> Box<dyn Analysis> {
    match options.all {
        true => Box::new(EveryPair::default()),
        false => Box::new(HappensBefore::default()),
    }
}

#[derive(Default)]
struct HappensBefore {
    clocks: Clocks,
    contexts: ThreadContexts,
    steps: Steps<EpochPosition>,
    variables: PagedMap<VariableId, OfVariable>,
    arrays: Arrays,
    states: States,
    racy_variables: u64,
    races: Races,
}

/// The state of a variable, in one line of a cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct OfVariable(State);

impl Analysis for HappensBefore {
    fn on_batch(&mut self, events: &[Event], tables: &Tables, flagged: &mut Vec<Flagged>) {
        let is_of_elements = |event: &&Event| elements_of(event).is_some();
        let of_elements = events.iter().step_by(SELDOM).filter(is_of_elements).count();
        let asks_for_elements = of_elements * SELDOM * SELDOM > events.len();
        let asks_for_variables = self.variables.room() > FEW_VARIABLES;
        let mut rest = events;
        while let Some(event) = rest.first() {
            rest = match event.operation {
                operation if operation.is_access() => {
                    match (asks_for_variables, asks_for_elements) {
                        (true, true) => self.accesses::<true, true>(rest, tables),
                        (true, false) => self.accesses::<true, false>(rest, tables),
                        (false, true) => self.accesses::<false, true>(rest, tables),
                        (false, false) => self.accesses::<false, false>(rest, tables),
                    }
                }
                _ => {
                    self.on_other(event, tables);
                    &rest[1..]
                }
            };
        }
        flagged.append(&mut self.races.take_events());
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Outcome {
        outcome(&self.races, self.racy_variables, &self.clocks, &self.contexts, tables)
    }
}

fn outcome(
    races: &Races,
    racy_variables: u64,
    clocks: &Clocks,
    contexts: &ThreadContexts,
    tables: &Tables,
) -> Outcome {
    Outcome {
        findings: races.findings(&WORDING, contexts, tables),
        statistics: vec![
            ("clock_slots", clocks.slot_count() as u64),
            ("racing_events", races.event_count()),
            ("racy_variables", racy_variables),
        ],
        ..Outcome::default()
    }
}

impl HappensBefore {
    /// Looks at accesses by one thread, as long as there are such and none races: they are nearly all events, and what the
    /// thread knows is looked up once. What is left of the events.
    fn accesses<'e, const ASKS_FOR_VARIABLES: bool, const ASKS_FOR_ELEMENTS: bool>(
        &mut self,
        events: &'e [Event],
        tables: &Tables,
    ) -> &'e [Event] {
        let thread = events[0].thread;
        let context = self.contexts.current(thread);
        self.clocks.of(thread);
        let clock = self.clocks.known(thread);
        let epoch = clock.now();
        for (index, event) in events.iter().enumerate() {
            if ASKS_FOR_VARIABLES {
                if let Some(ahead) = events.get(index + AHEAD) {
                    self.variables.prefetch(variable_of(ahead));
                }
                if let Some(near) = events.get(index + NEAR) {
                    self.states.prefetch(&self.variables[variable_of(near)].0);
                }
            }
            if ASKS_FOR_ELEMENTS {
                self.prefetch_elements(&events[index..]);
            }
            if event.thread != thread {
                return &events[index..];
            }
            let last = LastAccess { epoch, site: event.site, context };
            let (variable, is_write) = match event.operation {
                Operation::Read(variable) => (variable, false),
                Operation::Write(variable) => (variable, true),
                Operation::ReadElements(elements) | Operation::WriteElements(elements) => {
                    let is_read = matches!(event.operation, Operation::ReadElements(_));
                    let kind = if is_read { AccessMode::Read } else { AccessMode::Write };
                    let Some(raced) =
                        self.arrays.access(elements, kind, last, clock, &mut self.states)
                    else {
                        continue;
                    };
                    let Raced { races, newly_racy } = *raced;
                    self.racy_variables += newly_racy;
                    self.elements_race(event, elements, kind, &races, tables);
                    return &events[index + 1..];
                }
                _ => return &events[index..],
            };
            let OfVariable(state) = &mut self.variables[variable];
            if state.is_repeated(is_write, epoch) || state.access(is_write, last, clock) {
                continue;
            }
            let kind = if is_write { AccessMode::Write } else { AccessMode::Read };
            if !self.states.access(state, kind, last, clock) {
                self.race(event, variable, kind, last, tables);
                return &events[index + 1..];
            }
        }
        &[]
    }

    /// Asks memory for the elements that events from the first on are about.
    #[inline(always)]
    fn prefetch_elements(&self, events: &[Event]) {
        if let Some(ahead) = events.get(AHEAD).and_then(elements_of) {
            self.arrays.prefetch_place(ahead.array());
        }
        if let Some(midway) = events.get(MIDWAY).and_then(elements_of) {
            self.arrays.prefetch(midway.array());
        }
        if let Some(near) = events.get(NEAR).and_then(elements_of) {
            self.arrays.prefetch_state(near);
        }
    }

    fn on_other(&mut self, event: &Event, tables: &Tables) {
        match event.operation {
            Operation::Forget(variable) => {
                self.states.forget(std::mem::take(&mut self.variables[variable]).0);
            }
            Operation::ForgetElements(array) => self.arrays.forget(array, &mut self.states),
            Operation::ForgetLock(_) | Operation::ForgetChannel(_) | Operation::Swept => {
                self.forget(event, tables);
            }
            _ => {
                self.steps.on(event, &self.clocks, &self.contexts.locksets);
                self.clocks.on(event);
                self.contexts.on(event);
            }
        }
    }

    /// Locks and channels have died.
    fn forget(&mut self, event: &Event, tables: &Tables) {
        let Self { clocks, contexts, steps, variables, arrays, states, races, .. } = self;
        steps.forget(event, tables);
        clocks.on(event);
        contexts.forget(event, tables, |kept| {
            races.seen().for_each(|seen| kept.record(seen));
            let of_variables = variables.values_mut().map(|OfVariable(state)| state);
            for state in of_variables.chain(arrays.states()) {
                state.lasts().for_each(|last| kept.context(&mut last.context));
            }
            states.lasts().for_each(|last| kept.context(&mut last.context));
        });
    }

    /// An access to a variable that has had a race, or has one now.
    #[cold]
    fn race(
        &mut self,
        event: &Event,
        variable: VariableId,
        kind: AccessMode,
        last: LastAccess,
        tables: &Tables,
    ) {
        let clock: &ThreadClock = self.clocks.of(event.thread);
        let seen = self.contexts.record(event, kind);
        let OfVariable(state) = &mut self.variables[variable];
        self.racy_variables += u64::from(!state.is_racy());
        let unordered = self.states.race(state, kind, last, clock);
        if !unordered.is_empty() {
            let past = Past::new(&self.clocks, &self.contexts, &self.steps);
            report(&mut self.races, variable.into(), &unordered, seen, &past, tables);
        }
    }

    /// Tells the elements that race, in the order in which they are accessed.
    #[cold]
    fn elements_race(
        &mut self,
        event: &Event,
        elements: Elements,
        kind: AccessMode,
        races: &[Race],
        tables: &Tables,
    ) {
        let mut racing: Vec<(u32, usize)> = Vec::new();
        for (number, race) in races.iter().enumerate() {
            racing.extend(race.elements.indices().map(|index| (index as u32, number)));
        }
        racing.sort_unstable();
        if !elements.ascends() {
            racing.reverse();
        }
        let seen = self.contexts.record(event, kind);
        let past = Past::new(&self.clocks, &self.contexts, &self.steps);
        for (index, number) in racing {
            let element = Accessed::Element(elements.array(), index);
            report(&mut self.races, element, &races[number].unordered, seen, &past, tables);
        }
    }
}

/// The variable that an event accesses, and any other if it accesses none: memory may be asked for that as well, and not to
/// ask would be a jump that nobody can foresee.
#[inline(always)]
fn variable_of(event: &Event) -> VariableId {
    match event.operation {
        Operation::Read(variable) | Operation::Write(variable) => variable,
        _ => VariableId::from_index(0),
    }
}

#[inline(always)]
fn elements_of(event: &Event) -> Option<Elements> {
    match event.operation {
        Operation::ReadElements(elements) | Operation::WriteElements(elements) => Some(elements),
        _ => None,
    }
}

/// What is known of what threads did.
struct Past<'d> {
    clocks: &'d Clocks,
    contexts: &'d ThreadContexts,
    steps: &'d Steps<EpochPosition>,
}

impl<'d> Past<'d> {
    fn new(
        clocks: &'d Clocks,
        contexts: &'d ThreadContexts,
        steps: &'d Steps<EpochPosition>,
    ) -> Self {
        Self { clocks, contexts, steps }
    }
}

fn report(
    races: &mut Races,
    variable: Accessed,
    unordered: &[(LastAccess, AccessMode)],
    later: AccessRecord,
    past: &Past<'_>,
    tables: &Tables,
) {
    races.add_event(later.site, variable);
    let subject = DeclaredVariable::of(variable, tables);
    for &(last, kind) in unordered {
        let earlier = last.seen(kind, past.clocks, past.contexts);
        let threads = [earlier.thread, later.thread];
        let timeline = || past.steps.timeline(&last, threads, past.contexts, tables);
        races.add_pair_in_time(subject, earlier, later, timeline);
    }
}
