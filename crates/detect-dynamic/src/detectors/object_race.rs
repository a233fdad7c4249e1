//! Objects that several threads use after their first owner, and that no lock protects at all these uses.
//!
//! After [vonPraun04 §7.1] with [vonPraun04, definition 2.3]: one lockset for an object, not for each of its variables. A class is an object with its static
//! fields, an array with its elements. An object is owned by the thread that has made it (*init*, *owned*), and nothing is
//! kept, until another thread accesses it. Of the accesses from there on the threads and the locks held at all of them are
//! kept: while there is one thread, it is the second owner (*handoff*), and nothing is reported; when there are several
//! (*shared*), the object was written and no lock is left, the access is reported, and the object is left alone (*conflict*).
//!
//! Where figures contradict the text, the text holds. In [vonPraun04, fig. 7.4] `o.w` begins as false and is only ever and-ed, and a write
//! that makes the second owner does not count: here a write since the hand-off does. [vonPraun04 §7.1.3] calls the state after the
//! allocation *owned*, [vonPraun04 §7.1.2, fig. 7.2] *init*; the two differ in nothing that is reported, and so the maker's
//! first access ends *init* here, not the escape.
//!
//! [vonPraun04 §7.1.1] speaks of mutable fields: an access to a final field of an object is none, and hands nothing on. Only
//! recordings of running programs know which fields are final.
//!
//! Deviations:
//! - Only fields that are written since the hand-off count: [vonPraun04 §7.1.4] checks only accesses that take part in a conflict of
//!   the static analysis. What is read is kept with its variable (*handoff read*, *shared read*) and counts when the
//!   variable is first written. Else every object that is read without its lock would be reported; it is the first source of
//!   incompleteness that [vonPraun04 §7.1.6] names.
//! - An object that nobody was seen to make is owned by the first thread that accesses it.
//! - The two improvements of [vonPraun04 §7.1.8] hold because accesses are seen, and not calls: a call writes what the method that
//!   ran has written, and an access inside a synchronized block or method has its locks, whoever has called it.
//! - Checks are grouped as in [vonPraun04 §7.1.4]: accesses of a thread to an object one after the other, with the same locks, are
//!   one check. With [`Options::all`](unsnarl_trace_analysis::Options::all) they are not, and a reported object is looked at further.
//! - A lock that is held together with other readers protects reads alone.
//! - The states up to the hand-off live in the running program as well ([`Filter::Owner`]): if
//!   this detector is the only one that looks at accesses, those of an owner cost it a comparison and are not recorded.
//!   Who makes an object, who comes second and what happens from there on are events, and so a recording says what the
//!   live run said. What follows the hand-off is looked at here, not in the program.
//! - In code that neither acquires nor releases anything the program may tell accesses that follow each other as one: what is
//!   told then is what would be, had the other threads come a little earlier or later.
//!
//! Guarantees: an object is reported exactly once, at the first access after which two threads have accessed variables of it
//! that were written since the hand-off, and no lock was held at all these accesses.
//!
//! Misses: what the first owner does before another thread comes, and what the second owner does alone, also if it races
//! with the first. Reports although it is right: every order that is not made by locks; fields of one object that are guarded by
//! different locks, or of which only some are shared. Classes of one name are one object.

use fixedbitset::FixedBitSet;
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_events::{
    self as trace, Elements, Event, EventKind, EventKinds, Filter, Filters, NameId, ObjectId,
    Operation, Tables, ThreadId, VariableId,
};
use unsnarl_findings::{Evidence, Finding, Rule, Variable};
use unsnarl_trace_analysis::describe::DeclaredVariable;
use unsnarl_trace_analysis::locksets::Locksets;
use unsnarl_trace_analysis::protections::{ProtectionId, Protections};
use unsnarl_trace_analysis::thread_contexts::{AccessMode, AccessRecord, ThreadContexts};
use unsnarl_trace_analysis::{Accessed, Analysis, AnalysisEntry, Flagged, Needs, Outcome};

use crate::reporting::races::{RaceWording, Races};
use crate::reporting::timeline::Steps;
use crate::reporting::witnesses::Witnesses;

/// The line in the table.
pub(crate) const ENTRY: AnalysisEntry = AnalysisEntry {
    name: "object-race",
    rule: Rule::ObjectRace,
    summary: "objects that several threads use after their first owner, without a lock for all uses",
    is_default: false,
    // Who wants all pairs also wants those that the owner takes part in.
    needs: |options| match options.all {
        true => Needs { tolerates: NEEDS.tolerates.without(Filter::Owner), ..NEEDS },
        false => NEEDS,
    },
    make: |options| Box::new(ObjectRace { all: options.all, ..ObjectRace::default() }),
};

const NEEDS: Needs = Needs {
    events: Needs::ACCESSES.events.or(EventKinds::of(&[EventKind::Allocation])),
    tolerates: Filters::of(&[Filter::Escape, Filter::Owner]),
    array_ranges: true,
    ..Needs::ACCESSES
};

const WORDING: RaceWording = RaceWording {
    rule: Rule::ObjectRace,
    evidence: Evidence::Predicted,
    detector: "dynamic/object-race",
    verdict: "and no lock is held at all accesses since the hand-off by the first owner",
};

#[derive(Default)]
struct ObjectRace {
    /// Whether every pair of places is reported, or the first of each object.
    all: bool,
    contexts: ThreadContexts,
    steps: Steps<()>,
    protections: Protections,
    holders: FxHashMap<Holder, State>,
    races: Races,
}

/// What variables belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Holder {
    Object(ObjectId),
    Class(NameId),
    /// A variable of which only the name is known, by itself.
    Alone(VariableId),
}

impl Holder {
    fn of(variable: VariableId, tables: &Tables) -> Self {
        match tables.variables[variable] {
            trace::Variable::Field(object, _) | trace::Variable::Element(object, _) => {
                Self::Object(object)
            }
            trace::Variable::Static(field) => Self::Class(tables.fields[field].class),
            trace::Variable::Named(_) => Self::Alone(variable),
        }
    }
}

fn is_final(variable: VariableId, tables: &Tables) -> bool {
    matches!(tables.variables[variable], trace::Variable::Field(_, field) if tables.fields[field].is_final)
}

#[derive(Debug)]
enum State {
    /// This thread has made it, and nobody has accessed it.
    Init(ThreadId),
    /// This thread alone has accessed it.
    Owned(ThreadId),
    HandedOn(Box<HandedOn>),
    Conflict,
}

/// What happened to an object since another thread than its first owner came.
#[derive(Debug, Default)]
struct HandedOn {
    /// The accesses to variables that were written.
    uses: Uses,
    /// Those to variables that were only read.
    reads: FxHashMap<Accessed, Uses>,
    written: Written,
}

/// The variables of an object that were written.
#[derive(Debug, Default)]
struct Written {
    variables: FxHashSet<VariableId>,
    elements: FixedBitSet,
}

/// Some accesses, and what they have in common.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    by: Users,
    has_write: bool,
    /// The locks held at all of them; none stands for all locks.
    locks: Option<ProtectionId>,
    last: Option<AccessRecord>,
    witnesses: Witnesses,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Users {
    #[default]
    Nobody,
    One(ThreadId),
    Several,
}

impl Analysis for ObjectRace {
    fn on_batch(&mut self, events: &[Event], tables: &Tables, flagged: &mut Vec<Flagged>) {
        for event in events {
            self.on(event, tables);
        }
        flagged.append(&mut self.races.take_events());
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Outcome {
        let mut findings = self.races.findings(&WORDING, &self.contexts, tables);
        findings.iter_mut().for_each(name_the_object);
        Outcome { findings, ..Outcome::default() }
    }
}

impl ObjectRace {
    fn on(&mut self, event: &Event, tables: &Tables) {
        if let Some((variable, seen)) = self.contexts.access(event) {
            if !is_final(variable, tables) {
                self.access(Holder::of(variable, tables), [variable.into()], seen, tables);
            }
            return;
        }
        match event.operation {
            Operation::ReadElements(elements) => {
                self.elements(event, elements, AccessMode::Read, tables)
            }
            Operation::WriteElements(elements) => {
                self.elements(event, elements, AccessMode::Write, tables);
            }
            Operation::Allocate(object) => self.allocate(object, event.thread),
            // The object is gone with its variable.
            Operation::Forget(variable) => {
                self.holders.remove(&Holder::of(variable, tables));
            }
            Operation::ForgetElements(array) => {
                self.holders.remove(&Holder::Object(array));
            }
            _ => {
                self.steps.on(event, &self.contexts.locksets);
                self.contexts.on(event);
            }
        }
    }
}

/// The two accesses may be to different fields: it is their object that is read and written.
fn name_the_object(finding: &mut Finding) {
    let is_field = |variable: &Variable| variable.class.is_some() && !variable.is_elements();
    if finding.subject.as_variable().is_some_and(is_field) {
        finding.message.insert_str(0, "the object or class of ");
    }
}

impl ObjectRace {
    /// A thread accesses variables of one object, one after the other.
    fn access(
        &mut self,
        holder: Holder,
        variables: impl IntoIterator<Item = Accessed>,
        seen: AccessRecord,
        tables: &Tables,
    ) {
        let state = self.holders.entry(holder).or_insert(State::Init(seen.thread));
        let (protections, locksets) = (&mut self.protections, &self.contexts.locksets);
        for variable in variables {
            let Some(handed_on) = state.access(seen.thread) else { return };
            let uses = handed_on.uses(variable, seen.kind, protections);
            if !self.all && uses.covers(&seen) && !uses.are_unprotected(protections) {
                continue;
            }
            uses.refine(seen, locksets, protections);
            let is_reported = uses.are_unprotected(protections);
            if is_reported {
                self.races.add_event(seen.site, variable);
                if let Some(other) = uses.witnesses.against(&seen, protections, locksets) {
                    let subject = DeclaredVariable::of(variable, tables);
                    self.races.add_pair_since(subject, other, seen, &self.steps, tables);
                }
            }
            uses.witnesses.add(seen, self.steps.now());
            if is_reported && !self.all {
                *state = State::Conflict;
            }
        }
    }

    fn elements(&mut self, event: &Event, elements: Elements, kind: AccessMode, tables: &Tables) {
        let array = elements.array();
        let seen = self.contexts.record(event, kind);
        let variables = elements.indices().map(|index| Accessed::Element(array, index));
        self.access(Holder::Object(array), variables, seen, tables);
    }

    /// An object is reported to be made several times. One that nobody has accessed may also be another one with the same id.
    fn allocate(&mut self, object: ObjectId, maker: ThreadId) {
        let state = self.holders.entry(Holder::Object(object)).or_insert(State::Init(maker));
        if let State::Init(owner) = state {
            *owner = maker;
        }
    }
}

impl State {
    /// What is known since the first owner handed the object on, if it has and more is to be known.
    fn access(&mut self, by: ThreadId) -> Option<&mut HandedOn> {
        match *self {
            Self::Init(owner) if owner == by => *self = Self::Owned(owner),
            Self::Init(_) => *self = Self::HandedOn(Box::default()),
            Self::Owned(owner) if owner != by => *self = Self::HandedOn(Box::default()),
            Self::Owned(_) | Self::HandedOn(_) | Self::Conflict => {}
        }
        match self {
            Self::HandedOn(handed_on) => Some(handed_on),
            Self::Init(_) | Self::Owned(_) | Self::Conflict => None,
        }
    }
}

impl HandedOn {
    /// The accesses that one of this kind belongs to.
    fn uses(
        &mut self,
        variable: Accessed,
        kind: AccessMode,
        protections: &mut Protections,
    ) -> &mut Uses {
        if self.written.contains(variable) {
            return &mut self.uses;
        }
        if kind == AccessMode::Read {
            return self.reads.entry(variable).or_default();
        }
        self.written.insert(variable);
        if let Some(reads) = self.reads.remove(&variable) {
            self.uses.add_all(&reads, protections);
        }
        &mut self.uses
    }
}

impl Written {
    fn contains(&self, variable: Accessed) -> bool {
        match variable {
            Accessed::Variable(variable) => self.variables.contains(&variable),
            Accessed::Element(_, index) => self.elements.contains(index as usize),
        }
    }

    fn insert(&mut self, variable: Accessed) {
        match variable {
            Accessed::Variable(variable) => {
                self.variables.insert(variable);
            }
            Accessed::Element(_, index) => self.elements.grow_and_insert(index as usize),
        }
    }
}

impl Uses {
    /// Whether an access belongs to the same check as the last one.
    fn covers(&self, seen: &AccessRecord) -> bool {
        self.last.is_some_and(|last| {
            let is_same = (last.thread, last.locks) == (seen.thread, seen.locks);
            is_same && (last.kind == AccessMode::Write || seen.kind == AccessMode::Read)
        })
    }

    fn refine(&mut self, seen: AccessRecord, locksets: &Locksets, protections: &mut Protections) {
        let held = protections.of(&seen, locksets);
        self.by = self.by.and(Users::One(seen.thread));
        self.has_write |= seen.kind == AccessMode::Write;
        self.locks = Some(protections.refined(self.locks, held));
        self.last = Some(seen);
    }

    fn add_all(&mut self, others: &Self, protections: &mut Protections) {
        self.by = self.by.and(others.by);
        self.locks =
            others.locks.map(|locks| protections.refined(self.locks, locks)).or(self.locks);
        self.witnesses.add_all(&others.witnesses);
    }

    fn are_unprotected(&self, protections: &Protections) -> bool {
        let no_lock_is_left = self.locks.is_some_and(|locks| protections.is_empty(locks));
        self.by == Users::Several && self.has_write && no_lock_is_left
    }
}

impl Users {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nobody, users) | (users, Self::Nobody) => users,
            (one, other) if one == other => one,
            _ => Self::Several,
        }
    }
}
