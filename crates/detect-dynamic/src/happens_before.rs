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
//! count as one until the first race.

use std::hash::BuildHasherDefault;

use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxHasher;
use unsnarl_entity::{EntityId, SecondaryMap};
use unsnarl_findings::{Access, AccessKind, Evidence, Finding, Rule, Subject};
use unsnarl_trace::{Event, LockId, Operation, SiteId, Tables, ThreadId, VariableId};

use crate::calls::{Calls, CallsId};
use crate::clocks::{Clocks, Epoch, ThreadClock};
use crate::describe::{RaceSubject, lock, place, stack, thread};
use crate::detector::{Checked, Detector, DetectorEntry, EventKind, Filter, Needs, RacingEvent};
use crate::locksets::{LocksetId, Locksets};

const DETECTOR: &str = "dynamic/happens-before";

/// The line in the table.
pub(crate) const ENTRY: DetectorEntry = DetectorEntry {
    name: "happens-before",
    rule: Rule::DataRace,
    summary: "accesses that nothing in the run orders",
    needs: Needs {
        events: &[EventKind::Access, EventKind::Lock, EventKind::Thread, EventKind::Channel],
        tolerates: &[Filter::Epoch],
    },
    make: || Box::new(HappensBefore::default()),
};

#[derive(Default)]
struct HappensBefore {
    clocks: Clocks,
    locksets: Locksets,
    calls: Calls,
    variables: SecondaryMap<VariableId, State>,
    /// Reads by several threads of variables without a race.
    reads: ReadPool,
    /// Everything about variables with a race.
    histories: Vec<History>,
    free_histories: Vec<u32>,
    found: Found,
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

/// The last access of a kind: when and by whom, where, called from where, and with which locks.
#[derive(Clone, Copy, Debug)]
struct Last {
    epoch: Epoch,
    site: SiteId,
    calls: CallsId,
    locks: LocksetId,
}

impl Last {
    fn never() -> Self {
        Self {
            epoch: Epoch::NEVER,
            site: SiteId::from_index(0),
            calls: CallsId::none(),
            locks: LocksetId::from_index(0),
        }
    }

    /// Whether it comes before what the thread does now; true if it never was.
    #[inline]
    fn is_known(self, by: &ThreadClock) -> bool {
        by.knows(self.epoch)
    }
}

/// The last accesses of every slot, at the index of the slot.
#[derive(Clone, Debug, Default)]
struct History {
    writes: Vec<Last>,
    reads: Vec<Last>,
}

fn put(lasts: &mut Vec<Last>, last: Last) {
    if last.epoch == Epoch::NEVER {
        return;
    }
    let index = last.epoch.slot().index();
    if index >= lasts.len() {
        lasts.resize(index + 1, Last::never());
    }
    lasts[index] = last;
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

/// The races so far.
#[derive(Default)]
struct Found {
    racing: Vec<RacingEvent>,
    racing_count: u64,
    /// How many variables have had a race.
    variable_count: u64,
    pairs: IndexMap<Pair, Circumstances, BuildHasherDefault<FxHasher>>,
}

/// Two accesses that race, by what and where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pair {
    subject: RaceSubject,
    earlier: (SiteId, Kind),
    later: (SiteId, Kind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Read,
    Write,
}

/// Who raced, called from where and with which locks, when a pair was seen first.
#[derive(Clone, Copy, Debug)]
struct Circumstances {
    earlier: Circumstance,
    later: Circumstance,
}

#[derive(Clone, Copy, Debug)]
struct Circumstance {
    thread: ThreadId,
    calls: CallsId,
    locks: LocksetId,
}

impl Detector for HappensBefore {
    #[inline]
    fn on(&mut self, event: &Event, tables: &Tables) {
        match event.operation {
            Operation::Read(variable) => self.read(event, variable, tables),
            Operation::Write(variable) => self.write(event, variable, tables),
            Operation::Forget(variable) => self.forget(variable),
            _ => {
                self.clocks.on(event);
                self.locksets.on(event);
                self.calls.on(event);
            }
        }
    }

    fn take_racing_events(&mut self) -> Vec<RacingEvent> {
        std::mem::take(&mut self.found.racing)
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Checked {
        let findings = self.found.pairs.iter();
        let findings = findings.map(|(pair, seen)| self.finding(pair, seen, tables));
        Checked {
            findings: findings.collect(),
            stats: vec![
                ("clock_slots", self.clocks.slot_count() as u64),
                ("racing_events", self.found.racing_count),
                ("racy_variables", self.found.variable_count),
            ],
        }
    }
}

impl HappensBefore {
    #[inline]
    fn read(&mut self, event: &Event, variable: VariableId, tables: &Tables) {
        let clock: &ThreadClock = self.clocks.of(event.thread);
        let now = clock.now();
        let locks = self.locksets.held(event.thread);
        let calls = self.calls.of(event.thread);
        let last = Last { epoch: now, site: event.site, calls, locks };
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

    #[inline]
    fn write(&mut self, event: &Event, variable: VariableId, tables: &Tables) {
        let clock: &ThreadClock = self.clocks.of(event.thread);
        let now = clock.now();
        let locks = self.locksets.held(event.thread);
        let calls = self.calls.of(event.thread);
        let last = Last { epoch: now, site: event.site, calls, locks };
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
        let locks = self.locksets.held(event.thread);
        let calls = self.calls.of(event.thread);
        let last = Last { epoch: clock.now(), site: event.site, calls, locks };
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
        if unordered.is_empty() {
            return;
        }
        self.found.racing_count += 1;
        self.found.racing.push(RacingEvent { site: event.site, variable });
        let subject = RaceSubject::of(variable, tables);
        for (earlier, earlier_kind) in unordered {
            let pair =
                Pair { subject, earlier: (earlier.site, earlier_kind), later: (event.site, kind) };
            let clocks = &self.clocks;
            self.found.pairs.entry(pair).or_insert_with(|| Circumstances {
                earlier: Circumstance {
                    thread: clocks.thread_at(earlier.epoch),
                    calls: earlier.calls,
                    locks: earlier.locks,
                },
                later: Circumstance { thread: event.thread, calls, locks },
            });
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
        self.found.variable_count += 1;
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

    fn finding(&self, pair: &Pair, seen: &Circumstances, tables: &Tables) -> Finding {
        let variable = pair.subject.variable(tables);
        let access = |(site, kind): (SiteId, Kind), circumstance: Circumstance| {
            let kind = match kind {
                Kind::Read => AccessKind::Read,
                Kind::Write => AccessKind::Write,
            };
            // A lock that was entered several times is told once.
            let locks: IndexSet<LockId> =
                self.locksets.locks(circumstance.locks).into_iter().collect();
            let locks = locks.into_iter().map(|held| lock(held, tables)).collect();
            let stack = stack(site, self.calls.sites(circumstance.calls), tables);
            Access::new(kind, stack).by(thread(circumstance.thread, tables)).holding(locks)
        };
        let accesses = vec![access(pair.earlier, seen.earlier), access(pair.later, seen.later)];
        let told = |access: &Access| {
            let done = if access.kind == AccessKind::Write { "written" } else { "read" };
            let by = access.thread.as_deref().unwrap_or("a thread");
            let at = access.site().map_or_else(String::new, place);
            format!("{done} by {by} at {at}")
        };
        let are = if variable.is_elements() { "are" } else { "is" };
        let message = format!(
            "{variable} {are} {} and {}, and nothing in the run orders the two",
            told(&accesses[0]),
            told(&accesses[1])
        );
        let subject = Subject::variable(variable);
        Finding::new(Rule::DataRace, subject, Evidence::Observed, DETECTOR, message, accesses)
    }
}
