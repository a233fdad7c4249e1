//! The accesses that a detector tells, and the findings that pairs of them become: one for every subject and pair of
//! places.

use std::hash::BuildHasherDefault;

use indexmap::map::Entry;
use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxHasher;
use unsnarl_entity::{EntityId, UniqueMap, entity_id};
use unsnarl_findings::{Access, AccessKind, Evidence, Finding, Lock, Rule, Subject, TimelineStep};
use unsnarl_trace::{Event, Operation, SiteId, Tables, ThreadId, VariableId};

use crate::calls::{Calls, CallsId};
use crate::describe::{RaceSubject, place, stack, thread};
use crate::detector::{Accessed, RacingEvent};
use crate::kept_locks::KeptLockId;
use crate::locksets::{Collection, LocksetId, Locksets};
use crate::steps::{Moment, Steps};

/// How many pairs of a trace have time lines, which are larger than all else that is kept of a pair.
const MOST_TIMELINES: usize = 4096;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Read,
    Write,
}

/// An access: who, what, where, called from where and with which locks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) thread: ThreadId,
    pub(crate) kind: Kind,
    pub(crate) site: SiteId,
    pub(crate) calls: CallsId,
    pub(crate) locks: LocksetId,
}

/// The locks and calls of all threads, which an access is seen with.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    pub(crate) locksets: Locksets,
    pub(crate) calls: Calls,
    /// What [`Around`] cannot tell by locks alone.
    called: UniqueMap<CalledId, (CallsId, LocksetId)>,
}

entity_id! {
    /// Calls with locks.
    struct CalledId("called");
}

/// Called from where and with which locks, in four bytes. Most recordings know of no calls: then it is the locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Around(u32);

/// Marks that calls are among it.
const CALLED: u32 = 1 << 31;

impl Surroundings {
    /// Takes in an event that is no access.
    #[inline]
    pub(crate) fn on(&mut self, event: &Event) {
        self.locksets.on(event);
        self.calls.on(event);
    }

    /// The access that an event is, if it is one, and to what.
    #[inline]
    pub(crate) fn access(&mut self, event: &Event) -> Option<(VariableId, Seen)> {
        let (variable, kind) = match event.operation {
            Operation::Read(variable) => (variable, Kind::Read),
            Operation::Write(variable) => (variable, Kind::Write),
            _ => return None,
        };
        Some((variable, self.seen(event, kind)))
    }

    /// An access, or something else that was seen, as findings have it.
    pub(crate) fn describe(
        &self,
        kind: AccessKind,
        by: ThreadId,
        (site, calls): (SiteId, CallsId),
        locks: LocksetId,
        tables: &Tables,
    ) -> Access {
        // A lock that was entered several times is told once.
        let locks: IndexSet<KeptLockId> = self.locksets.locks(locks).into_iter().collect();
        let locks = locks.into_iter().map(|held| self.lock(held, tables)).collect();
        let stack = stack((by, site), self.calls.sites(calls), tables);
        Access::new(kind, stack).by(thread(by, tables)).holding(locks)
    }

    /// A lock, as findings have it.
    pub(crate) fn lock(&self, lock: KeptLockId, tables: &Tables) -> Lock {
        self.locksets.known.describe(lock, tables)
    }

    /// Takes in what a trace says of locks that have died. `show` has to show all that is kept whenever it is called: it gets
    /// new ids then.
    pub(crate) fn forget(
        &mut self,
        event: &Event,
        tables: &Tables,
        show: impl FnOnce(&mut Kept<'_, '_>),
    ) {
        match event.operation {
            Operation::ForgetLock(lock) => self.locksets.forget(lock, tables),
            Operation::Swept => {
                self.locksets.release_dead();
                if !self.locksets.are_many() {
                    return;
                }
                let old = std::mem::take(&mut self.called);
                let new = &mut self.called;
                self.locksets.collect(|locks| show(&mut Kept { locks, old: &old, new }));
            }
            _ => {}
        }
    }

    /// What a thread has around it now.
    #[inline]
    pub(crate) fn around(&mut self, thread: ThreadId) -> Around {
        let (calls, locks) = (self.calls.of(thread), self.locksets.held(thread));
        match u32::try_from(locks.index()) {
            Ok(index) if calls == CallsId::none() && index < CALLED => Around(index),
            _ => Around(CALLED | self.called.intern((calls, locks)).index() as u32),
        }
    }

    /// The calls and locks of a thread that had this around it.
    pub(crate) fn of(&self, Around(around): Around) -> (CallsId, LocksetId) {
        match around & CALLED {
            0 => (CallsId::none(), LocksetId::from_index(around as usize)),
            _ => self.called[CalledId::from_index((around & !CALLED) as usize)],
        }
    }

    /// An event that is an access of this kind.
    #[inline]
    pub(crate) fn seen(&mut self, event: &Event, kind: Kind) -> Seen {
        let (calls, locks) = (self.calls.of(event.thread), self.locksets.held(event.thread));
        Seen { thread: event.thread, kind, site: event.site, calls, locks }
    }
}

/// What a detector keeps of what it has seen.
pub(crate) struct Kept<'k, 'l> {
    pub(crate) locks: &'k mut Collection<'l>,
    old: &'k UniqueMap<CalledId, (CallsId, LocksetId)>,
    new: &'k mut UniqueMap<CalledId, (CallsId, LocksetId)>,
}

impl Kept<'_, '_> {
    pub(crate) fn seen(&mut self, seen: &mut Seen) {
        self.locks.set(&mut seen.locks);
    }

    #[inline]
    pub(crate) fn around(&mut self, around: &mut Around) {
        *around = match around.0 & CALLED {
            0 => {
                let mut locks = LocksetId::from_index(around.0 as usize);
                self.locks.set(&mut locks);
                Around(locks.index() as u32)
            }
            _ => {
                let (calls, mut locks) =
                    self.old[CalledId::from_index((around.0 & !CALLED) as usize)];
                self.locks.set(&mut locks);
                Around(CALLED | self.new.intern((calls, locks)).index() as u32)
            }
        };
    }
}

/// What a detector says about its pairs.
pub(crate) struct Telling {
    pub(crate) rule: Rule,
    pub(crate) evidence: Evidence,
    pub(crate) detector: &'static str,
    /// The end of the message: what is wrong with the two.
    pub(crate) verdict: &'static str,
}

/// What was told so far.
#[derive(Debug, Default)]
pub(crate) struct Races {
    events: Vec<RacingEvent>,
    event_count: u64,
    pairs: IndexMap<Pair, Told, BuildHasherDefault<FxHasher>>,
}

/// Both accesses when a pair was seen first, and what happened around them if somebody knows.
#[derive(Debug)]
struct Told {
    accesses: [Seen; 2],
    timeline: Vec<TimelineStep>,
}

/// Two accesses, by what and where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pair {
    subject: RaceSubject,
    earlier: (SiteId, Kind),
    later: (SiteId, Kind),
}

impl Races {
    /// Tells an event.
    pub(crate) fn add_event(&mut self, site: SiteId, variable: impl Into<Accessed>) {
        self.event_count += 1;
        self.events.push(RacingEvent { site, variable: variable.into() });
    }

    /// Tells an event with an earlier one, and with a time line, which is made if the pair is new and not one of very many.
    /// Whether it is new.
    pub(crate) fn add_pair_in_time(
        &mut self,
        subject: RaceSubject,
        earlier: Seen,
        later: Seen,
        timeline: impl FnOnce() -> Vec<TimelineStep>,
    ) -> bool {
        let place = |seen: Seen| (seen.site, seen.kind);
        let pair = Pair { subject, earlier: place(earlier), later: place(later) };
        let known = self.pairs.len();
        let Entry::Vacant(entry) = self.pairs.entry(pair) else { return false };
        let timeline = if known < MOST_TIMELINES { timeline() } else { Vec::new() };
        entry.insert(Told { accesses: [earlier, later], timeline });
        true
    }

    /// The same of an earlier event that knows when it was.
    pub(crate) fn add_pair_since(
        &mut self,
        subject: RaceSubject,
        (earlier, at): (Seen, Moment),
        later: Seen,
        steps: &Steps<()>,
        tables: &Tables,
    ) {
        let threads = [earlier.thread, later.thread];
        self.add_pair_in_time(subject, earlier, later, || steps.timeline(at, threads, tables));
    }

    /// All accesses that are kept.
    pub(crate) fn seen(&mut self) -> impl Iterator<Item = &mut Seen> {
        self.pairs.values_mut().flat_map(|told| &mut told.accesses)
    }

    /// The events since the last call.
    pub(crate) fn take_events(&mut self) -> Vec<RacingEvent> {
        std::mem::take(&mut self.events)
    }

    /// How many events were told.
    pub(crate) fn event_count(&self) -> u64 {
        self.event_count
    }

    /// A finding for every pair.
    pub(crate) fn findings(
        &self,
        telling: &Telling,
        surroundings: &Surroundings,
        tables: &Tables,
    ) -> Vec<Finding> {
        let finding = |(pair, pair_told): (&Pair, &Told)| {
            let accesses = pair_told.accesses.map(|Seen { thread, kind, site, calls, locks }| {
                let kind = match kind {
                    Kind::Read => AccessKind::Read,
                    Kind::Write => AccessKind::Write,
                };
                surroundings.describe(kind, thread, (site, calls), locks, tables)
            });
            let variable = pair.subject.variable(tables);
            let are = if variable.is_elements() { "are" } else { "is" };
            let message = format!(
                "{variable} {are} {} and {}, {}",
                told(&accesses[0]),
                told(&accesses[1]),
                telling.verdict
            );
            let subject = Subject::variable(variable);
            let Telling { rule, evidence, detector, .. } = *telling;
            let accesses = accesses.into();
            let mut finding = Finding::new(rule, subject, evidence, detector, message, accesses);
            finding.timeline.clone_from(&pair_told.timeline);
            finding
        };
        self.pairs.iter().map(finding).collect()
    }
}

fn told(access: &Access) -> String {
    let done = if access.kind == AccessKind::Write { "written" } else { "read" };
    let by = access.thread.as_deref().unwrap_or("a thread");
    let at = access.site().map_or_else(String::new, place);
    format!("{done} by {by} at {at}")
}
