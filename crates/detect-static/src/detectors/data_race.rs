//! Rule `data-race`: the conflicts [vonPraun04 §4.4] as findings, one for each variable.
//!
//! A conflict is of one of four classes [vonPraun04 §4.5.1]: nobody reads the variable (*no read*), all
//! accesses hold a lock that is not known to be one object (*lock not unique*), all writes are locked
//! and some read is not (*all writes locked*), or *other*.
//!
//! **Guarantees**: for objects and threads that the execution knows, every two accesses that may
//! overlap are in some finding, as far as the bounds of [`crate::conflicts`] reach.
//! **Misses**: accesses of class initializers and finalizers [vonPraun04 §4.7.1], and what is ordered only
//! by an assumption about joins. **Reports wrongly** where objects that are different at run time are
//! one abstract object; such findings have a reason that says so.

use std::collections::BTreeSet;

use rayon::prelude::*;
use unsnarl_findings::{Access, Evidence, Finding, Rule, Severity, Subject, UseGraph};
use unsnarl_program::heap::{ObjectId, OriginKind};
use unsnarl_symbolic::{AccessKind, Accessed, Event, EventId, Used};

use crate::conflicts::{Conflicting, Pair, VariableKind};
use crate::wording::describe::Describe;
use crate::wording::race_hint;
use crate::wording::reasons;
use crate::wording::use_graph::UseGraphs;
use crate::{Input, Output};

/// The name in findings.
pub(crate) const NAME: &str = "static/conflict";
/// The most accesses that a finding shows.
const MOST_ACCESSES: usize = 6;

/// The classes of conflict [vonPraun04 §4.5.1].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConflictClass {
    /// Nobody reads it.
    NoRead,
    /// All accesses hold an abstract lock that may be several objects.
    LockNotUnique,
    /// All writes exclude each other, some read is not kept apart from them.
    AllWritesLocked,
    /// Any other.
    Other,
}

impl ConflictClass {
    const ALL: [Self; 4] = [Self::NoRead, Self::LockNotUnique, Self::AllWritesLocked, Self::Other];

    fn statistic(self) -> &'static str {
        match self {
            Self::NoRead => "conflicts_no_read",
            Self::LockNotUnique => "conflicts_lock_not_unique",
            Self::AllWritesLocked => "conflicts_all_writes_locked",
            Self::Other => "conflicts_other",
        }
    }
}

/// Finds data races.
pub(crate) fn run(input: &Input<'_, '_>, output: &mut Output) {
    let mut counts = ConflictClass::ALL.map(|class| (class, 0));
    let graphs = input.use_graphs.as_ref();
    let races = input.conflicting().par_iter().map(|conflicting| {
        let race = Race::new(input.describe, conflicting);
        let mut finding = race.finding();
        finding.uses = graphs.and_then(|graphs| race.uses(graphs));
        (race.class, finding)
    });
    for (found, finding) in races.collect::<Vec<_>>() {
        for (class, count) in &mut counts {
            *count += u64::from(*class == found);
        }
        output.findings.push(finding);
    }
    output.stats.extend(counts.map(|(class, count)| (class.statistic(), count)));
}

/// A variable with conflicts, and what decides how it is described.
pub(crate) struct Race<'r, 'm> {
    pub(crate) describe: &'r Describe<'r, 'm>,
    pub(crate) conflicting: &'r Conflicting,
    /// The conflict that convinces most.
    pub(crate) best: Pair,
    /// The accesses that are part of a conflict.
    pub(crate) events: Vec<EventId>,
    pub(crate) class: ConflictClass,
}

impl<'r, 'm> Race<'r, 'm> {
    pub(crate) fn new(describe: &'r Describe<'r, 'm>, conflicting: &'r Conflicting) -> Self {
        let events = conflicting.conflicting_events();
        let best = best_pair(describe, conflicting);
        let class = classify(describe, conflicting, &events);
        Self { describe, conflicting, best, events, class }
    }

    pub(crate) fn event(&self, event: EventId) -> &'r Event {
        self.describe.event(event)
    }

    /// The conflicting writes.
    pub(crate) fn writes(&self) -> impl Iterator<Item = &'r Event> {
        let events = self.events.iter().map(|&event| self.event(event));
        events.filter(|event| event.kind == AccessKind::Write)
    }

    fn finding(&self) -> Finding {
        let mut finding = Finding::new(
            Rule::DataRace,
            Subject::variable(self.conflicting.variable.clone()),
            Evidence::Suspected,
            NAME,
            self.message(),
            self.accesses(),
        );
        finding.reasons = reasons::reasons(self);
        finding.hint = Some(race_hint::hint(self));
        let is_harmless = self.class == ConflictClass::NoRead
            || reasons::is_same_constant(self)
            || matches!(self.conflicting.kind, VariableKind::Elements(_));
        if is_harmless {
            finding.severity = Severity::Warning;
        }
        finding
    }

    /// How threads use the variable in the object of the best conflict.
    fn uses(&self, graphs: &UseGraphs<'_, '_>) -> Option<UseGraph> {
        let Pair { object, write, other } = self.best;
        let used = match (object, self.event(write).accessed) {
            (Some(object), _) => Used::Object(object),
            (None, Accessed::Field(field)) => Used::Static(field),
            (None, _) => return None,
        };
        let is_of_object = |event: &EventId| {
            object.is_none_or(|object| self.event(*event).objects.contains(&object))
        };
        let earlier = match self.conflicting.kind {
            VariableKind::Field(field) => self.describe.writes_of(field),
            VariableKind::Contents(_) | VariableKind::Elements(_) => &[],
        };
        let accesses = self.conflicting.events.iter().chain(earlier).copied();
        Some(graphs.graph(used, [write, other], accesses.filter(is_of_object)))
    }

    /// The accesses to show: those of the best conflict, then others.
    fn accesses(&self) -> Vec<Access> {
        let describe = self.describe;
        let (first, second) = (self.best.write, self.best.other);
        let mut others: Vec<EventId> = self.events.clone();
        others.sort_by_cached_key(|&id| {
            let event = self.event(id);
            (event.kind != AccessKind::Write, event.guards.len(), describe.place(id), id)
        });
        let mut accesses = vec![describe.access(first), describe.access(second)];
        if accesses[0].thread == accesses[1].thread {
            let name = format!("{} (another)", describe.thread(self.event(second).thread));
            accesses[1].thread = Some(name);
        }
        let mut shown: BTreeSet<_> = [first, second].map(|event| self.appearance(event)).into();
        for event in others {
            if accesses.len() >= MOST_ACCESSES {
                break;
            }
            if shown.insert(self.appearance(event)) {
                accesses.push(describe.access(event));
            }
        }
        accesses
    }

    /// What makes an access worth a line of its own.
    fn appearance(&self, id: EventId) -> impl Ord + use<> {
        let event = self.event(id);
        let locks: Vec<String> =
            self.describe.locks(event).iter().map(ToString::to_string).collect();
        (event.kind, event.thread, self.describe.place(id), locks)
    }

    fn message(&self) -> String {
        let describe = self.describe;
        let (first, second) = (self.event(self.best.write), self.event(self.best.other));
        let (here, there) = (describe.place(self.best.write), describe.place(self.best.other));
        let subject = self.subject();
        let written = match self.conflicting.kind {
            VariableKind::Contents(_) => "changed",
            _ => "written",
        };
        let what = match second.kind {
            AccessKind::Read => "read",
            AccessKind::Write => written,
        };
        let lack = self.lack();
        let is_read = what == "read";
        if first.thread == second.thread {
            let threads = describe.several_threads(first.thread);
            let done = match (here == there, is_read) {
                (true, false) if threads.contains(" at ") => {
                    format!("{written} at {here} by {threads}")
                }
                (true, false) => format!("{written} by {threads} at {here}"),
                (true, true) => format!("{written} and read at {here} by {threads}"),
                (false, false) => format!("{written} at {here} and {there} by {threads}"),
                (false, true) => format!("{written} at {here} and read at {there} by {threads}"),
            };
            return format!("{subject} is {done} {lack}");
        }
        let one = describe.one_thread(first.thread);
        let other = describe.other_thread(first.thread, second.thread);
        let again = if is_read { "read " } else { "" };
        // A thread that is named by a place must not stand before another place.
        let is_named = !one.contains(" at ") && !other.contains(" at ");
        match is_named {
            true => format!(
                "{subject} is {written} by {one} at {here} and {again}by {other} at {there} {lack}"
            ),
            false => format!(
                "{subject} is {written} at {here} by {one} and {again}at {there} by {other} {lack}"
            ),
        }
    }

    /// `Account.balance`, `the java.util.HashMap in Cache.entries`.
    fn subject(&self) -> String {
        let name = &self.conflicting.name;
        match self.conflicting.kind {
            VariableKind::Field(_) => name.clone(),
            VariableKind::Contents(Some(_)) => format!("the {} in {name}", self.contents_class()),
            VariableKind::Contents(None) => format!("the {}", self.local_contents()),
            VariableKind::Elements(Some(_)) => format!("an element of {name}"),
            VariableKind::Elements(None) => {
                format!(
                    "an element of {}",
                    self.conflicting.variable.class.as_deref().unwrap_or("an array")
                )
            }
        }
    }

    /// What is missing.
    fn lack(&self) -> &'static str {
        match self.class {
            ConflictClass::LockNotUnique => "under a lock that may not be the same object",
            _ => "without a common lock",
        }
    }

    /// The class of the object whose contents are accessed.
    pub(crate) fn contents_class(&self) -> String {
        let first = self.conflicting.objects.first();
        first.map_or_else(|| "object".to_owned(), |&object| self.describe.object_class(object))
    }

    fn local_contents(&self) -> String {
        let class = self.contents_class();
        let first = self.conflicting.objects.first();
        match first.and_then(|&object| self.describe.made_at(object)) {
            Some(place) => format!("{class} made at {place}"),
            None => class,
        }
    }
}

/// The conflict that convinces most: between different threads that are known, of an object that is
/// only one, with few locks.
fn best_pair(describe: &Describe<'_, '_>, conflicting: &Conflicting) -> Pair {
    let execution = describe.execution;
    let rank = |pair: &&Pair| {
        let (first, second) = (describe.event(pair.write), describe.event(pair.other));
        let is_vague =
            |event: &Event| matches!(execution.heap.origins[event.thread].kind, OriginKind::Later);
        let is_one = pair.object.is_none_or(|object| execution.is_unique(object));
        let is_unknown = pair.object.is_some_and(|object| describe.is_unknown(object));
        let is_self = first.thread == second.thread;
        (
            is_unknown,
            is_vague(first) || is_vague(second),
            is_self,
            !is_one,
            // Two threads at one site say most when both write; at two sites, when one reads.
            is_self == (second.kind == AccessKind::Read),
            first.guards.len() + second.guards.len(),
            (describe.method_of(first.instance), first.statement),
            (describe.method_of(second.instance), second.statement),
            (pair.write, pair.other),
        )
    };
    *conflicting.pairs.iter().min_by_key(rank).expect("a conflicting variable has a conflict")
}

fn classify(
    describe: &Describe<'_, '_>,
    conflicting: &Conflicting,
    events: &[EventId],
) -> ConflictClass {
    let kind = |&event: &EventId| describe.event(event).kind;
    // Who changes a collection reads it too.
    let is_inside = matches!(conflicting.kind, VariableKind::Contents(_));
    if !is_inside && events.iter().all(|event| kind(event) == AccessKind::Write) {
        return ConflictClass::NoRead;
    }
    if !common_locks(describe, events).is_empty() {
        return ConflictClass::LockNotUnique;
    }
    let is_write_conflict =
        conflicting.pairs.iter().any(|pair| kind(&pair.other) == AccessKind::Write);
    let is_locked = |event: &&EventId| !describe.event(**event).guards.is_empty();
    let mut writes = events.iter().filter(|event| kind(event) == AccessKind::Write);
    if !is_write_conflict && writes.all(|event| is_locked(&event)) {
        return ConflictClass::AllWritesLocked;
    }
    ConflictClass::Other
}

/// The abstract lock objects that all accesses hold.
pub(crate) fn common_locks(describe: &Describe<'_, '_>, events: &[EventId]) -> BTreeSet<ObjectId> {
    let held = |&event: &EventId| -> BTreeSet<ObjectId> {
        let guards = describe.event(event).guards.iter();
        guards.flat_map(|guard| guard.objects.iter().copied()).collect()
    };
    let mut all = events.iter().map(held);
    let Some(first) = all.next() else { return BTreeSet::new() };
    all.fold(first, |common, other| common.intersection(&other).copied().collect())
}
