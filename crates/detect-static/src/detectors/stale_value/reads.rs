//! Which reads can get stale, and which writes other threads notice.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unsnarl_program::body::StatementId;
use unsnarl_program::heap::{InstanceId, ObjectId};
use unsnarl_symbolic::{AccessKind, Accessed, Event, EventId, Sharing};

use crate::Options;
use crate::code;
use crate::conflicts::{is_candidate, judged_objects};
use crate::wording::describe::Describe;

/// Some of the guards of an access, by their places among them.
pub(super) type Guards = u32;

/// The most guards of an access that are distinguished.
const MOST_GUARDS: usize = 32;
/// The most situations of a read that are looked at, until it can get stale in one.
const MOST_SITUATIONS: usize = 4;
/// The most other accesses that an access is compared with.
const MOST_OTHERS: usize = 256;

/// The accesses of the program, as far as values get stale by them.
pub(super) struct Accesses {
    /// The reads that can get stale, with the sets of guards of which one must be given back entirely for
    /// that: each is what keeps another thread from writing the variable.
    protections: FxHashMap<EventId, SmallVec<[Guards; 1]>>,
    reads: FxHashMap<(InstanceId, StatementId), EventId>,
    writes: FxHashMap<(InstanceId, StatementId), SmallVec<[EventId; 1]>>,
    variables: Variables,
}

/// The first accesses to each variable, as many as are looked at.
type Variables = FxHashMap<(Accessed, Option<ObjectId>), Vec<EventId>>;

impl Accesses {
    pub(super) fn new(describe: &Describe<'_, '_>, options: &Options) -> Self {
        let execution = describe.execution;
        let mut variables = Variables::default();
        let mut written = Variables::default();
        let mut writes: FxHashMap<_, SmallVec<[EventId; 1]>> = FxHashMap::default();
        let mut locked: BTreeMap<(InstanceId, StatementId), Vec<EventId>> = BTreeMap::new();
        for (id, event) in execution.events.iter() {
            if !is_candidate(execution, event) || !is_judged(describe, event, options) {
                continue;
            }
            for object in objects(describe, event) {
                let variable = (event.accessed, object);
                add(&mut variables, variable, id);
                if event.kind == AccessKind::Write {
                    add(&mut written, variable, id);
                }
            }
            let gets = event.kind == AccessKind::Read || takes_out(describe, event);
            if gets && !event.guards.is_empty() && describe.is_by_input(event) {
                locked.entry((event.instance, event.statement)).or_default().push(id);
            }
            match event.kind {
                AccessKind::Write => {
                    let known = writes.entry((event.instance, event.statement)).or_default();
                    let is_known = |id: &EventId| describe.event(*id).accessed == event.accessed;
                    if !known.iter().any(is_known) {
                        known.push(id);
                    }
                }
                AccessKind::Read => {}
            }
        }
        let locked: Vec<_> = locked.into_iter().collect();
        let found = locked.par_iter().filter_map(|(place, events)| {
            events.iter().take(MOST_SITUATIONS).find_map(|&read| {
                let protections = protections(describe, &written, options.strict, read);
                (!protections.is_empty()).then_some((*place, read, protections))
            })
        });
        let mut reads = FxHashMap::default();
        let mut protections = FxHashMap::default();
        for (place, read, sets) in found.collect::<Vec<_>>() {
            reads.insert(place, read);
            protections.insert(read, sets);
        }
        Self { protections, reads, writes, variables }
    }

    /// What a statement reads that can get stale.
    pub(super) fn read(&self, instance: InstanceId, statement: StatementId) -> Option<EventId> {
        self.reads.get(&(instance, statement)).copied()
    }

    /// What a statement writes that several threads can reach, one for each variable.
    pub(super) fn writes(&self, instance: InstanceId, statement: StatementId) -> &[EventId] {
        self.writes.get(&(instance, statement)).map_or(&[], SmallVec::as_slice)
    }

    /// The methods that read or write anything of interest.
    pub(super) fn instances(&self) -> impl Iterator<Item = InstanceId> {
        self.reads.keys().chain(self.writes.keys()).map(|&(instance, _)| instance)
    }

    /// Whether another thread may have written the variable since it was read, with these guards given back.
    pub(super) fn is_stale(&self, read: EventId, released: Guards) -> bool {
        let protections = self.protections.get(&read).map_or(&[][..], SmallVec::as_slice);
        protections.iter().any(|needed| needed & !released == 0)
    }

    /// Whether a write holds a lock that keeps others from writing what an access reads.
    pub(super) fn is_guarded_alike(
        &self,
        describe: &Describe<'_, '_>,
        read: EventId,
        write: EventId,
    ) -> bool {
        let protections = self.protections.get(&read).map_or(&[][..], SmallVec::as_slice);
        let protecting = protections.iter().fold(0, |all, guards| all | guards);
        let guards = describe.event(read).guards.iter().enumerate();
        let mut guards = guards.filter(|(place, _)| protecting >> place & 1 != 0);
        let held = &describe.event(write).guards;
        guards.any(|(_, guard)| held.iter().any(|held| held.objects == guard.objects))
    }

    /// Whether another thread may access what an access writes before or after it.
    pub(super) fn is_noticed(&self, describe: &Describe<'_, '_>, write: EventId) -> bool {
        let event = describe.event(write);
        objects(describe, event).any(|object| {
            let others =
                self.variables.get(&(event.accessed, object)).map_or(&[][..], Vec::as_slice);
            let mut others = others.iter();
            others.any(|&other| describe.execution.order(object, write, other).is_none())
        })
    }
}

fn add(variables: &mut Variables, variable: (Accessed, Option<ObjectId>), access: EventId) {
    let accesses = variables.entry(variable).or_default();
    if accesses.len() < MOST_OTHERS {
        accesses.push(access);
    }
}

/// Whether two accesses are to one variable, as far as objects are distinguished.
pub(super) fn is_same_variable(one: &Event, other: &Event) -> bool {
    one.accessed == other.accessed
        && (one.objects.is_empty() || have_common(&one.objects, &other.objects))
}

fn have_common(one: &[ObjectId], other: &[ObjectId]) -> bool {
    one.iter().any(|object| other.binary_search(object).is_ok())
}

/// The shared objects that an access may be to; one that is none for a static field.
fn objects(describe: &Describe<'_, '_>, event: &Event) -> impl Iterator<Item = Option<ObjectId>> {
    let of_class = event.objects.is_empty().then_some(None);
    let shared = judged_objects(&event.objects)
        .iter()
        .filter(|&&object| describe.execution.sharing(object) == Sharing::Shared)
        .map(|&object| Some(object));
    shared.chain(of_class)
}

/// Whether a change of a library's object returns an object that was in it.
fn takes_out(describe: &Describe<'_, '_>, event: &Event) -> bool {
    let body = code::body(describe.program, &describe.execution.heap, event.instance);
    let result =
        body.and_then(|body| Some(body.values[body.statements[event.statement].result?].ty));
    event.accessed == Accessed::Contents
        && result.is_some_and(|ty| describe.program.names.is_reference(ty))
}

fn is_judged(describe: &Describe<'_, '_>, event: &Event, options: &Options) -> bool {
    match event.accessed {
        Accessed::Field(field) => describe.is_input_field(field),
        Accessed::Element => options.arrays && describe.is_by_input(event),
        Accessed::Contents | Accessed::Slot(_) => describe.is_by_input(event),
    }
}

/// The sets of guards that keep other threads from writing what an access reads. By the rule of [Artho04 §3] that is
/// the lock that was taken last, whatever the others hold.
fn protections(
    describe: &Describe<'_, '_>,
    written: &Variables,
    is_strict: bool,
    read: EventId,
) -> SmallVec<[Guards; 1]> {
    let execution = describe.execution;
    let event = describe.event(read);
    let mut found: SmallVec<[Guards; 1]> = SmallVec::new();
    let writes = objects(describe, event).flat_map(|object| {
        let writes = written.get(&(event.accessed, object)).map_or(&[][..], Vec::as_slice);
        writes.iter().map(move |&write| (object, write))
    });
    for (object, write) in writes.take(MOST_OTHERS) {
        if execution.order(object, read, write).is_some() {
            continue;
        }
        if is_strict {
            return SmallVec::from_slice(&[1 << (event.guards.len().min(MOST_GUARDS) - 1)]);
        }
        let common = execution.common_guards(object, read, write);
        let guards = common.take_while(|&place| place < MOST_GUARDS).map(|place| 1 << place);
        let guards = guards.fold(0, |all: Guards, guard: Guards| all | guard);
        // Who is not kept apart at all races with the read, which is another rule's matter.
        if guards != 0 && !found.contains(&guards) {
            found.push(guards);
        }
    }
    found
}
