//! The conflict analysis [vonPraun04 §4.4]: pairs of accesses to the same variable of the same
//! object, at least one of them a write, by different threads, that nothing orders and no common lock
//! keeps apart. This folder holds what the rules about races share: which accesses count, and which pairs conflict.
//!
//! Objects that are not shared, thread-specific or never written by a user thread are left out first,
//! and variables of an object are judged one by one [vonPraun04 §4.4]. Von Praun removes ordered *events*
//! and then looks for one lock common to all the rest; here every *pair* is judged, so that a variable
//! which is guarded at some times and ordered at others is understood.
//!
//! Accesses of class initializers are not judged [vonPraun04 §4.7.1], nor those of final fields, nor pairs
//! of atomic accesses. What the bound on [`pairs`](pairs()) leaves out is counted.

mod pairs;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use unsnarl_classfile::flags;
use unsnarl_entity::EntitySet;
use unsnarl_findings::Variable;
use unsnarl_program::heap::{ObjectId, OriginKind};
use unsnarl_program::{FieldId, MethodId};
use unsnarl_symbolic::{
    AccessKind, Accessed, CommonGuard, Event, EventId, Execution, Order, Sharing,
};

use crate::Options;
use crate::wording::describe::{Describe, simple_name};

pub(crate) use pairs::{Budget, pairs};

/// An access to more objects than this is judged by the first of them.
const MOST_OBJECTS: usize = 64;

/// What the analysis found.
#[derive(Debug, Default)]
pub(crate) struct Conflicts {
    /// The variables with conflicts, sorted by name.
    pub(crate) variables: Vec<Conflicting>,
    /// Variables of which not all pairs of accesses were judged, and no conflict was found.
    pub(crate) incomplete: Vec<String>,
    /// Counts, by name.
    pub(crate) stats: Vec<(&'static str, u64)>,
}

impl Conflicts {
    /// What was not judged, for the user.
    pub(crate) fn note(&self) -> Option<String> {
        let (first, others) = self.incomplete.split_first()?;
        let such = match others.len() {
            0 => first.clone(),
            more => format!("{first} and {more} more"),
        };
        Some(format!("not all pairs of accesses were compared, for there are too many: {such}"))
    }
}

/// A variable with conflicting accesses, over all its objects.
#[derive(Debug)]
pub(crate) struct Conflicting {
    /// What sort of variable.
    pub(crate) kind: VariableKind,
    /// Its name in findings.
    pub(crate) variable: Variable,
    /// Its name in sentences: `Account.balance`.
    pub(crate) name: String,
    /// The objects with a conflict; nothing for a static field. Sorted.
    pub(crate) objects: Vec<ObjectId>,
    /// All accesses to the variable in these objects by user threads, after the object was visible to
    /// other threads. Sorted.
    pub(crate) events: Vec<EventId>,
    /// The conflicts.
    pub(crate) pairs: Vec<Pair>,
}

/// What sort of variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum VariableKind {
    /// A field of the input.
    Field(FieldId),
    /// The hidden state of an object of a library, such as a collection, by the field that names it.
    Contents(Option<FieldId>),
    /// The elements of an array, by the field that names it.
    Elements(Option<FieldId>),
}

/// Two conflicting accesses; they may be one and the same by two threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// The object; nothing for a static field.
    pub(crate) object: Option<ObjectId>,
    /// A write.
    pub(crate) write: EventId,
    /// Read or write.
    pub(crate) other: EventId,
}

/// Why two accesses do not conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Safe {
    Ordered(Order),
    Guarded(CommonGuard),
}

impl Conflicting {
    /// The accesses that are part of a conflict, sorted.
    pub(crate) fn conflicting_events(&self) -> Vec<EventId> {
        let both = self.pairs.iter().flat_map(|pair| [pair.write, pair.other]);
        both.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// Judges a pair of accesses by what the execution knows.
pub(crate) fn judge(
    execution: &Execution<'_>,
    object: Option<ObjectId>,
    first: EventId,
    second: EventId,
) -> Option<Safe> {
    let ordered = execution.order(object, first, second).map(Safe::Ordered);
    ordered.or_else(|| execution.common_guard(object, first, second).map(Safe::Guarded))
}

/// Whether an access can be part of a conflict: by a user thread, not before the object was visible.
pub(crate) fn is_candidate(execution: &Execution<'_>, event: &Event) -> bool {
    !event.is_fresh && execution.heap.origins[event.thread].kind != OriginKind::Init
}

/// Finds all conflicts.
pub(crate) fn conflicts(describe: &Describe<'_, '_>, options: &Options) -> Conflicts {
    let execution = describe.execution;
    let mut fields: BTreeMap<FieldId, Vec<EventId>> = BTreeMap::new();
    let mut insides: FxHashMap<(Accessed, ObjectId), Vec<EventId>> = FxHashMap::default();
    for (id, event) in execution.events.iter() {
        if !is_candidate(execution, event) {
            continue;
        }
        match event.accessed {
            Accessed::Field(field) => fields.entry(field).or_default().push(id),
            Accessed::Element if !options.arrays => {}
            Accessed::Element | Accessed::Contents | Accessed::Slot(_) => {
                if describe.is_by_input(event) {
                    for &object in judged_objects(&event.objects) {
                        insides.entry((event.accessed, object)).or_default().push(id);
                    }
                }
            }
        }
    }
    let fields: Vec<(FieldId, Vec<EventId>)> = fields.into_iter().collect();
    let mut insides: Vec<((Accessed, ObjectId), Vec<EventId>)> = insides.into_iter().collect();
    insides.sort_unstable_by_key(|&(inside, _)| inside);
    // Variables do not depend on each other. Their order is kept.
    let of_fields = fields.par_iter().map(|(field, events)| {
        let mut search = Search::new(describe);
        search.field(*field, events);
        search
    });
    let of_insides = insides.par_iter().map(|((accessed, object), events)| {
        let mut search = Search::new(describe);
        search.inside(*accessed, *object, events);
        search
    });
    let searches: Vec<Search<'_, '_, '_>> = of_fields.chain(of_insides).collect();
    let mut all = Search::new(describe);
    for search in searches {
        all.take(search);
    }
    all.finish()
}

/// The accesses of a field by object; a static field has one entry.
pub(crate) fn by_object(
    execution: &Execution<'_>,
    is_static: bool,
    events: &[EventId],
) -> BTreeMap<Option<ObjectId>, Vec<EventId>> {
    if is_static {
        return BTreeMap::from([(None, events.to_vec())]);
    }
    let mut objects: FxHashMap<Option<ObjectId>, Vec<EventId>> = FxHashMap::default();
    for &event in events {
        for &object in judged_objects(&execution.events[event].objects) {
            objects.entry(Some(object)).or_default().push(event);
        }
    }
    objects.into_iter().collect()
}

/// Of the objects that an access may be to, those that are looked at. Where there are very many, the heap
/// does not distinguish them, and the first say what all would.
pub(crate) fn judged_objects(objects: &[ObjectId]) -> &[ObjectId] {
    &objects[..objects.len().min(MOST_OBJECTS)]
}

struct Search<'s, 'd, 'm> {
    describe: &'s Describe<'d, 'm>,
    found: BTreeMap<(Variable, VariableKind), Conflicting>,
    incomplete: BTreeSet<String>,
    shared: EntitySet<ObjectId>,
    read_only: EntitySet<ObjectId>,
    written: EntitySet<ObjectId>,
}

impl<'s, 'd, 'm> Search<'s, 'd, 'm> {
    fn new(describe: &'s Describe<'d, 'm>) -> Self {
        Self {
            describe,
            found: BTreeMap::new(),
            incomplete: BTreeSet::new(),
            shared: EntitySet::new(),
            read_only: EntitySet::new(),
            written: EntitySet::new(),
        }
    }

    fn field(&mut self, field: FieldId, events: &[EventId]) {
        let describe = self.describe;
        let data = &describe.program.fields()[field];
        if data.access & flags::FINAL != 0 || !describe.is_input_field(field) {
            return;
        }
        let objects = by_object(describe.execution, data.access & flags::STATIC != 0, events);
        let mut budget = Budget::new();
        for (object, events) in objects {
            let pairs = self.object(object, &events, &mut budget);
            if !pairs.is_empty() {
                let name = describe.short_field(field);
                let kind = VariableKind::Field(field);
                self.add(kind, describe.field(field), name, object, &events, pairs);
            }
        }
        if budget.was_short() {
            self.incomplete.insert(describe.field(field).to_string());
        }
    }

    fn inside(&mut self, accessed: Accessed, object: ObjectId, events: &[EventId]) {
        let describe = self.describe;
        let mut budget = Budget::new();
        let pairs = self.object(Some(object), events, &mut budget);
        if pairs.is_empty() && !budget.was_short() {
            return;
        }
        let class = describe.object_class(object);
        let field = describe.naming_field(object, events);
        if field.is_none() && describe.is_unknown(object) {
            // Something that opaque code handed out and that nobody keeps: hardly ever the same twice.
            return;
        }
        let (kind, variable) = match (accessed, field) {
            (Accessed::Element, _) => (VariableKind::Elements(field), Variable::elements(class)),
            (_, Some(field)) => (VariableKind::Contents(Some(field)), describe.field(field)),
            (_, None) => (VariableKind::Contents(None), describe.local_variable(object)),
        };
        if pairs.is_empty() {
            self.incomplete.insert(variable.to_string());
            return;
        }
        let name = match field {
            Some(field) if variable.is_elements() => {
                format!("{} ({})", describe.short_field(field), describe.object_class(object))
            }
            Some(field) => describe.short_field(field),
            None => match &variable.class {
                Some(class) if !variable.is_elements() => {
                    format!("{}.{}", simple_name(class), variable.field)
                }
                _ => variable.to_string(),
            },
        };
        self.add(kind, variable, name, Some(object), events, pairs);
    }

    /// The conflicts among accesses to one variable of one object.
    fn object(
        &mut self,
        object: Option<ObjectId>,
        events: &[EventId],
        budget: &mut Budget,
    ) -> Vec<Pair> {
        let execution = self.describe.execution;
        let is_written =
            events.iter().any(|&event| execution.events[event].kind == AccessKind::Write);
        if let Some(object) = object {
            if execution.sharing(object) != Sharing::Shared {
                return Vec::new();
            }
            self.shared.insert(object);
            if !is_written {
                self.read_only.insert(object);
                return Vec::new();
            }
            self.written.insert(object);
        } else if !is_written {
            return Vec::new();
        }
        pairs(execution, object, events, budget, &mut |first, second| {
            judge(execution, object, first, second)
        })
    }

    fn add(
        &mut self,
        kind: VariableKind,
        variable: Variable,
        name: String,
        object: Option<ObjectId>,
        events: &[EventId],
        pairs: Vec<Pair>,
    ) {
        let found = self.found.entry((variable.clone(), kind)).or_insert_with(|| Conflicting {
            kind,
            variable,
            name,
            objects: Vec::new(),
            events: Vec::new(),
            pairs: Vec::new(),
        });
        found.objects.extend(object);
        found.events.extend_from_slice(events);
        found.pairs.extend(pairs);
    }

    /// Adds what another search found.
    fn take(&mut self, other: Self) {
        for (key, conflicting) in other.found {
            match self.found.entry(key) {
                Entry::Vacant(vacant) => {
                    vacant.insert(conflicting);
                }
                Entry::Occupied(mut known) => {
                    let known = known.get_mut();
                    known.objects.extend(conflicting.objects);
                    known.events.extend(conflicting.events);
                    known.pairs.extend(conflicting.pairs);
                }
            }
        }
        self.incomplete.extend(other.incomplete);
        self.shared.union_with(&other.shared);
        self.read_only.union_with(&other.read_only);
        self.written.union_with(&other.written);
    }

    fn finish(self) -> Conflicts {
        let execution = self.describe.execution;
        let mut conflicting: EntitySet<ObjectId> = EntitySet::new();
        let mut sites: BTreeSet<(MethodId, u32)> = BTreeSet::new();
        let mut variables: Vec<Conflicting> = self.found.into_values().collect();
        for found in &mut variables {
            found.objects.sort_unstable();
            found.objects.dedup();
            found.events.sort_unstable();
            found.events.dedup();
            for &object in &found.objects {
                conflicting.insert(object);
            }
            for event in found.conflicting_events() {
                let event = &execution.events[event];
                let statement = unsnarl_entity::EntityId::index(event.statement) as u32;
                sites.insert((self.describe.method_of(event.instance), statement));
            }
        }
        let incomplete = self.incomplete.into_iter();
        let incomplete = incomplete
            .filter(|name| !variables.iter().any(|found| found.variable.to_string() == *name));
        let incomplete: Vec<String> = incomplete.collect();
        let heap = &execution.heap;
        let is_specific = |object: &ObjectId| execution.sharing(*object) == Sharing::ThreadSpecific;
        let specific = execution.accessed_objects().iter().filter(is_specific).count();
        let written = &self.written;
        let read_only = self.read_only.iter().filter(|&object| !written.contains(object)).count();
        let fresh = execution.events.values().filter(|event| event.is_fresh).count();
        let stats = vec![
            ("objects", heap.objects.len() as u64),
            ("shared_objects", self.shared.iter().count() as u64),
            ("read_only_objects", read_only as u64),
            ("thread_specific_objects", specific as u64),
            ("written_objects", self.written.iter().count() as u64),
            ("events", execution.events.len() as u64),
            ("fresh_events", fresh as u64),
            ("conflicting_objects", conflicting.iter().count() as u64),
            ("conflicting_accesses", sites.len() as u64),
        ];
        Conflicts { variables, incomplete, stats }
    }
}
