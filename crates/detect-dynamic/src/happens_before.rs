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

use unsnarl_entity::SecondaryMap;
use unsnarl_findings::{Evidence, Rule};
use unsnarl_trace::{Event, Operation, Tables, VariableId};

use crate::clocks::{Clocks, ThreadClock};
use crate::describe::RaceSubject;
use crate::detector::RacingEvent;
use crate::detector::{Checked, Detector, DetectorEntry, EventKind, Filter, Needs, Options};
use crate::lasts::{Last, put};
use crate::locksets::Locksets;
use crate::races::{Kind, Races, Seen, Surroundings, Telling};
use crate::steps::Steps;

/// The line in the table.
pub(crate) const ENTRY: DetectorEntry = DetectorEntry {
    name: "happens-before",
    rule: Rule::DataRace,
    summary: "accesses that nothing in the run orders",
    is_default: true,
    needs: Needs {
        events: &[EventKind::Access, EventKind::Lock, EventKind::Thread, EventKind::Channel],
        tolerates: &[Filter::Epoch],
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
    steps: Steps,
    variables: SecondaryMap<VariableId, State>,
    /// Reads by several threads of variables without a race.
    reads: ReadPool,
    /// Everything about variables with a race.
    histories: Vec<History>,
    free_histories: Vec<u32>,
    racy_variables: u64,
    races: Races,
}

/// What is known about the accesses to a variable so far.
#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// There was none.
    #[default]
    Untouched,
    /// No race, and the last read, if any, comes after all others.
    Ordered { write: Last, read: Last },
    /// No race, and concurrent reads since the last write: their place in the pool.
    ReadShared { write: Last, reads: u32 },
    /// There was a race; the place of the history in its pool.
    Racy(u32),
}

/// The last accesses of every slot, at the index of the slot.
#[derive(Clone, Debug, Default)]
struct History {
    writes: Vec<Last>,
    reads: Vec<Last>,
}

/// Concurrent reads of variables, each for every slot, with places that are used again.
#[derive(Default)]
struct ReadPool {
    values: Vec<Vec<Last>>,
    free: Vec<u32>,
}

impl ReadPool {
    fn take_place(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.values.push(Vec::new());
            u32::try_from(self.values.len() - 1).expect("no more places than variables")
        })
    }

    fn give_back(&mut self, place: u32) {
        self.values[place as usize].clear();
        self.free.push(place);
    }
}

// Accesses are nearly all events: they are handled in the loop over a batch, without a call.
impl Detector for HappensBefore {
    #[inline(always)]
    fn on(&mut self, event: &Event, tables: &Tables) {
        match event.operation {
            Operation::Read(variable) => self.read(event, variable, tables),
            Operation::Write(variable) => self.write(event, variable, tables),
            Operation::Forget(variable) => self.forget(variable),
            _ => {
                self.steps.on(event, &self.clocks, &self.surroundings.locksets);
                self.clocks.on(event);
                self.surroundings.on(event);
            }
        }
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
        let now = clock.now();
        let last = Last::new(now, &self.surroundings.seen(event, Kind::Read));
        let state = &mut self.variables[variable];
        match *state {
            State::Untouched => *state = State::Ordered { write: Last::never(), read: last },
            State::Ordered { read, .. } if read.epoch == now => {}
            State::Ordered { write, ref mut read } if write.is_known(clock) => {
                if read.is_known(clock) {
                    *read = last;
                } else {
                    let earlier = *read;
                    let reads = self.reads.take_place();
                    put(&mut self.reads.values[reads as usize], earlier);
                    put(&mut self.reads.values[reads as usize], last);
                    *state = State::ReadShared { write, reads };
                }
            }
            State::ReadShared { write, reads } if write.is_known(clock) => {
                put(&mut self.reads.values[reads as usize], last);
            }
            _ => self.race(event, variable, Kind::Read, tables),
        }
    }

    #[inline(always)]
    fn write(&mut self, event: &Event, variable: VariableId, tables: &Tables) {
        let clock: &ThreadClock = self.clocks.of(event.thread);
        let now = clock.now();
        let last = Last::new(now, &self.surroundings.seen(event, Kind::Write));
        let state = &mut self.variables[variable];
        match *state {
            State::Untouched => *state = State::Ordered { write: last, read: Last::never() },
            State::Ordered { write, .. } if write.epoch == now => {}
            State::Ordered { ref mut write, read }
                if write.is_known(clock) && read.is_known(clock) =>
            {
                *write = last;
            }
            State::ReadShared { write, reads }
                if write.is_known(clock)
                    && self.reads.values[reads as usize]
                        .iter()
                        .all(|read| read.is_known(clock)) =>
            {
                self.reads.give_back(reads);
                *state = State::Ordered { write: last, read: Last::never() };
            }
            _ => self.race(event, variable, Kind::Write, tables),
        }
    }

    /// An access to a variable that has had a race, or has one now.
    #[cold]
    fn race(&mut self, event: &Event, variable: VariableId, kind: Kind, tables: &Tables) {
        let history = self.history(variable);
        let clock: &ThreadClock = self.clocks.of(event.thread);
        let seen = self.surroundings.seen(event, kind);
        let last = Last::new(clock.now(), &seen);
        let History { writes, reads } = &mut self.histories[history as usize];
        let mut unordered: Vec<(Last, Kind)> =
            writes.iter().map(|&write| (write, Kind::Write)).collect();
        if kind == Kind::Write {
            unordered.extend(reads.iter().map(|&read| (read, Kind::Read)));
        }
        unordered.retain(|(earlier, _)| !earlier.is_known(clock));
        match kind {
            Kind::Read => put(reads, last),
            Kind::Write => put(writes, last),
        }
        if !unordered.is_empty() {
            let past = Past {
                clocks: &self.clocks,
                locksets: &self.surroundings.locksets,
                steps: &self.steps,
            };
            tell(&mut self.races, variable, unordered, seen, &past, tables);
        }
    }

    /// The place of a variable's full history, which begins with what the epochs know.
    fn history(&mut self, variable: VariableId) -> u32 {
        let mut history = History::default();
        match self.variables[variable] {
            State::Racy(place) => return place,
            State::Untouched => {}
            State::Ordered { write, read } => {
                put(&mut history.writes, write);
                put(&mut history.reads, read);
            }
            State::ReadShared { write, reads } => {
                put(&mut history.writes, write);
                history.reads.clone_from(&self.reads.values[reads as usize]);
                self.reads.give_back(reads);
            }
        }
        let place = match self.free_histories.pop() {
            Some(place) => {
                self.histories[place as usize] = history;
                place
            }
            None => {
                self.histories.push(history);
                u32::try_from(self.histories.len() - 1).expect("no more places than variables")
            }
        };
        self.variables[variable] = State::Racy(place);
        self.racy_variables += 1;
        place
    }

    fn forget(&mut self, variable: VariableId) {
        match std::mem::take(&mut self.variables[variable]) {
            State::Untouched | State::Ordered { .. } => {}
            State::ReadShared { reads, .. } => self.reads.give_back(reads),
            State::Racy(place) => {
                self.histories[place as usize] = History::default();
                self.free_histories.push(place);
            }
        }
    }
}

/// What is known of what threads did.
struct Past<'d> {
    clocks: &'d Clocks,
    locksets: &'d Locksets,
    steps: &'d Steps,
}

fn tell(
    races: &mut Races,
    variable: VariableId,
    unordered: Vec<(Last, Kind)>,
    later: Seen,
    past: &Past<'_>,
    tables: &Tables,
) {
    races.add_event(later.site, variable);
    let subject = RaceSubject::of(variable, tables);
    for (last, kind) in unordered {
        let earlier = last.seen(kind, past.clocks);
        let threads = [earlier.thread, later.thread];
        let timeline = || past.steps.timeline(&last, threads, past.locksets, tables);
        races.add_pair_in_time(subject, earlier, later, timeline);
    }
}

/// Tells every pair of places. Of the accesses of a slot at a place the last one is unordered if any is.
#[derive(Default)]
struct EveryPair {
    clocks: Clocks,
    surroundings: Surroundings,
    steps: Steps,
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
        let clock: &ThreadClock = self.clocks.of(event.thread);
        let last = Last::new(clock.now(), &seen);
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
            let past = Past {
                clocks: &self.clocks,
                locksets: &self.surroundings.locksets,
                steps: &self.steps,
            };
            tell(&mut self.races, variable, unordered, seen, &past, tables);
        }
    }

    fn take_racing_events(&mut self) -> Vec<RacingEvent> {
        self.races.take_events()
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Checked {
        checked(&self.races, self.racy_variables, &self.clocks, &self.surroundings, tables)
    }
}
