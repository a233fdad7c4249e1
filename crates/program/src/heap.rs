//! The heap shape graph [vonPraun04 §3.3]: which objects a program makes, which refer to which,
//! and which method in which context touches them.
//!
//! Von Praun unifies alias sets and instantiates a summary of a method at each call. Here a variable has
//! the *set* of objects that may be assigned to it (inclusion instead of unification), and a method is
//! analysed once for each abstract thread that runs it (its *origin*, [Liu21, origins]) and for each
//! object that it is called on. An object is distinguished by the statement that makes it, by the thread
//! that runs the statement, and by the object on whose behalf it does. `docs/decisions.md` says why.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unsnarl_entity::{EntityId, EntitySet, PrimaryMap, SecondaryMap, entity_id};
use unsnarl_models::{Effect, MethodModel, ModelPlace, Models, StartKind};

pub use crate::callgraph::{EdgeKind, EntryPoints, Gaps, Object, ObjectId, Start};

use crate::body::{Operation, StatementId, Value};
use crate::class::{FieldId, MethodId};
use crate::names::Symbol;
use crate::program::Program;
use unsnarl_classpath::Role;

entity_id! {
    /// A method in a context.
    pub struct InstanceId("i");
    /// An abstract thread, as far as the heap is concerned: where it begins and with what.
    pub struct OriginId("t");
    /// A set of objects; equal sets have one number.
    pub struct SetId("set");
}

/// The heap shape graph, with the calls that made it.
#[derive(Debug, Default)]
pub struct Heap<'m> {
    /// The methods that were reached, each in its contexts.
    pub instances: PrimaryMap<InstanceId, Instance>,
    /// The abstract threads.
    pub origins: PrimaryMap<OriginId, Origin<'m>>,
    /// The objects.
    pub objects: PrimaryMap<ObjectId, HeapObject>,
    /// What the analysis could not follow.
    pub gaps: Gaps,
    /// What was made coarser to stay within bounds, as sentences for the user.
    pub widened: Vec<String>,
    /// Sorted by caller and statement.
    pub(crate) calls: Vec<Call>,
    /// For each instance, where its calls begin; and where those of the last one end.
    pub(crate) call_starts: Vec<u32>,
    pub(crate) models: FxHashMap<(InstanceId, StatementId), SmallVec<[ModelCall<'m>; 1]>>,
    pub(crate) sets: PrimaryMap<SetId, Box<[ObjectId]>>,
    /// The sets of the values of each instance.
    pub(crate) values: SecondaryMap<InstanceId, Box<[SetId]>>,
    /// The threads that run each instance; sorted.
    pub(crate) threads: SecondaryMap<InstanceId, SmallVec<[OriginId; 1]>>,
    pub(crate) contents: FxHashMap<(ObjectId, Variable), SetId>,
    /// The variables of each object that refer to something; sorted.
    pub(crate) variables: SecondaryMap<ObjectId, Vec<(Variable, SetId)>>,
    pub(crate) statics: FxHashMap<FieldId, SetId>,
    pub(crate) static_places: FxHashMap<(Symbol, Symbol), SetId>,
}

/// A method in a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instance {
    /// The method.
    pub method: MethodId,
    /// The thread that runs it, or the mixture of threads where they are not distinguished:
    /// [`Heap::threads_of`] says which these are.
    pub origin: OriginId,
    /// The object it is called on, unless its objects are not distinguished.
    pub receiver: Option<ObjectId>,
}

/// An abstract thread.
#[derive(Clone, Debug)]
pub struct Origin<'m> {
    /// What kind of thread.
    pub kind: OriginKind,
    /// What it runs first.
    pub entries: Vec<InstanceId>,
    /// Where it is started; nothing for those that begin by themselves.
    pub start: Option<StartSite<'m>>,
    /// The object on which its first method is called.
    pub receiver: Option<ObjectId>,
}

/// The kinds of abstract threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OriginKind {
    /// Runs `main`, or the entry points that were asked for.
    Main,
    /// Runs class initializers.
    Init,
    /// No thread, but a place for what is not distinguished by thread.
    Mixed,
    /// Any number of clients of a library, in parallel.
    Client,
    /// Was started.
    Started(StartKind),
    /// A callback at some later time, in a thread that is not known.
    Later,
}

/// A statement that starts a thread.
#[derive(Clone, Copy, Debug)]
pub struct StartSite<'m> {
    /// The method with the statement, in its context.
    pub instance: InstanceId,
    /// The statement.
    pub statement: StatementId,
    /// The modelled method that it calls.
    pub method: MethodId,
    /// The effect of its model: an [`Effect::Start`] or [`Effect::Later`].
    pub effect: &'m Effect,
}

/// An object.
#[derive(Clone, Copy, Debug)]
pub struct HeapObject {
    /// What it is.
    pub object: Object,
    /// The statement that makes it, with the context of its method, if it is the only one.
    pub made: Option<(MethodId, StatementId)>,
    /// The thread that makes it.
    pub origin: Option<OriginId>,
}

/// A variable of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Variable {
    /// A field.
    Field(FieldId),
    /// Named contents, as in models; elements of arrays are named `[]`.
    Slot(Symbol),
}

/// A call of a method with bytecode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// The method that calls, in its context.
    pub caller: InstanceId,
    /// The statement that calls.
    pub statement: StatementId,
    /// The method that is called, in its context.
    pub callee: InstanceId,
    /// How: within the thread, or as the start of another.
    pub kind: EdgeKind,
}

/// A call of a modelled method.
#[derive(Clone, Copy, Debug)]
pub struct ModelCall<'m> {
    /// The method.
    pub method: MethodId,
    /// What it does.
    pub model: &'m MethodModel,
}

impl<'m> Heap<'m> {
    /// Builds the heap shape graph from the entry points on.
    pub fn build(
        program: &mut Program<'_>,
        models: &'m Models,
        entries: &EntryPoints,
        is_library: bool,
    ) -> Self {
        crate::callgraph::solve_heap(program, models, entries, is_library)
    }

    /// The threads that run a method in a context, sorted: one, unless the program is so large that
    /// threads are not distinguished there.
    pub fn threads_of(&self, instance: InstanceId) -> &[OriginId] {
        &self.threads[instance]
    }

    /// The set of the objects that a value may refer to in a context.
    pub fn set_of(&self, instance: InstanceId, value: Value) -> Option<SetId> {
        self.values[instance].get(value.index()).copied()
    }

    /// The objects of a set, sorted.
    pub fn objects_in(&self, set: SetId) -> &[ObjectId] {
        &self.sets[set]
    }

    /// The objects that a value may refer to in a context, sorted.
    pub fn points_to(&self, instance: InstanceId, value: Value) -> &[ObjectId] {
        self.values[instance].get(value.index()).map_or(&[], |&set| &self.sets[set])
    }

    /// The objects that a variable of an object may refer to, sorted.
    pub fn contents(&self, object: ObjectId, variable: Variable) -> &[ObjectId] {
        self.contents.get(&(object, variable)).map_or(&[], |&set| &self.sets[set])
    }

    /// All variables of all objects that refer to something, in no order.
    pub fn references(&self) -> impl Iterator<Item = (ObjectId, Variable, &[ObjectId])> {
        self.contents.iter().map(|(&(object, variable), &set)| (object, variable, &*self.sets[set]))
    }

    /// The variables of an object that refer to something, with what they refer to.
    pub fn references_of(
        &self,
        object: ObjectId,
    ) -> impl Iterator<Item = (Variable, &[ObjectId])> + use<'_, 'm> {
        self.variables[object].iter().map(|&(variable, set)| (variable, &*self.sets[set]))
    }

    /// The objects that can be reached from some by the variables to be followed; these included.
    pub fn reachable(
        &self,
        roots: impl IntoIterator<Item = ObjectId>,
        is_followed: impl Fn(ObjectId, Variable) -> bool,
    ) -> EntitySet<ObjectId> {
        let mut reached = EntitySet::new();
        let mut seen: EntitySet<SetId> = EntitySet::new();
        let mut open: Vec<ObjectId> =
            roots.into_iter().filter(|&root| reached.insert(root)).collect();
        while let Some(object) = open.pop() {
            for &(variable, set) in &self.variables[object] {
                // What is in a set is reached once, from whichever object.
                if is_followed(object, variable) && seen.insert(set) {
                    open.extend(self.sets[set].iter().filter(|&&next| reached.insert(next)));
                }
            }
        }
        reached
    }

    /// Calls for every variable that is chosen with what it refers to; the same objects are passed once.
    pub fn each_set(
        &self,
        objects: impl IntoIterator<Item = ObjectId>,
        is_chosen: impl Fn(ObjectId, Variable) -> bool,
        mut visit: impl FnMut(&[ObjectId]),
    ) {
        let mut seen: EntitySet<SetId> = EntitySet::new();
        for object in objects {
            for &(variable, set) in &self.variables[object] {
                if is_chosen(object, variable) && seen.insert(set) {
                    visit(&self.sets[set]);
                }
            }
        }
    }

    /// The objects that models keep in places that exist once.
    pub fn static_places(&self) -> impl Iterator<Item = &[ObjectId]> {
        self.static_places.values().map(|&set| &*self.sets[set])
    }

    /// The objects that a static field may refer to, sorted.
    pub fn static_field(&self, field: FieldId) -> &[ObjectId] {
        self.statics.get(&field).map_or(&[], |&set| &self.sets[set])
    }

    /// All static fields that refer to something, in no order.
    pub fn static_fields(&self) -> impl Iterator<Item = (FieldId, &[ObjectId])> {
        self.statics.iter().map(|(&field, &set)| (field, &*self.sets[set]))
    }

    /// The calls of a method in a context, sorted by statement.
    pub fn calls_of(&self, instance: InstanceId) -> &[Call] {
        &self.calls[self.calls_range(instance)]
    }

    pub(crate) fn calls_range(&self, instance: InstanceId) -> std::ops::Range<usize> {
        let start_of = |index: usize| self.call_starts.get(index).map_or(0, |&at| at as usize);
        start_of(instance.index())..start_of(instance.index() + 1)
    }

    /// The calls of one statement in a context.
    pub fn calls_at(&self, instance: InstanceId, statement: StatementId) -> &[Call] {
        let calls = self.calls_of(instance);
        let start = calls.partition_point(|call| call.statement < statement);
        let end = calls.partition_point(|call| call.statement <= statement);
        &calls[start..end]
    }

    /// The modelled methods that a statement calls in a context.
    pub fn models_at(&self, instance: InstanceId, statement: StatementId) -> &[ModelCall<'m>] {
        self.models.get(&(instance, statement)).map_or(&[], |models| models)
    }

    /// The objects that a place of a model may refer to at a call; sorted. Of a variable that a handle
    /// stands for, the object that has it.
    pub fn resolve(
        &self,
        program: &Program<'_>,
        instance: InstanceId,
        statement: StatementId,
        call: ModelCall<'m>,
        place: &ModelPlace,
    ) -> Vec<ObjectId> {
        let Some(body) = program.lowered_body(self.instances[instance].method) else {
            return Vec::new();
        };
        let statement_data = &body.statements[statement];
        let Operation::Invoke { arguments, .. } = &statement_data.operation else {
            return Vec::new();
        };
        let this = usize::from(!program.methods()[call.method].is_static());
        let value = match place {
            ModelPlace::This => arguments.first().copied(),
            ModelPlace::Argument(index) => arguments.get(usize::from(*index) + this).copied(),
            ModelPlace::Last => arguments.last().copied(),
            ModelPlace::Result => statement_data.result,
            ModelPlace::Thread | ModelPlace::Unknown | ModelPlace::New(_) => None,
            ModelPlace::Static { class, name } => {
                let names = &program.names;
                let key = (names.find_symbol(class.as_bytes()), names.find_symbol(name.as_bytes()));
                let set = match key {
                    (Some(class), Some(name)) => self.static_places.get(&(class, name)),
                    _ => None,
                };
                return set.map_or_else(Vec::new, |&set| self.sets[set].to_vec());
            }
            ModelPlace::Slot(object, name) => {
                let Some(name) = program.names.find_symbol(name.as_bytes()) else {
                    return Vec::new();
                };
                let objects = self.resolve(program, instance, statement, call, object);
                return self.contents_of_all(program, &objects, name);
            }
            ModelPlace::Element(array) => {
                let Some(name) = program.names.find_symbol(b"[]") else { return Vec::new() };
                let arrays = self.resolve(program, instance, statement, call, array);
                return self.contents_of_all(program, &arrays, name);
            }
            ModelPlace::Variable { object, .. } => {
                return self.resolve(program, instance, statement, call, object);
            }
        };
        value.map_or_else(Vec::new, |value| self.points_to(instance, value).to_vec())
    }

    /// What is in the named contents of any of the objects.
    fn contents_of_all(
        &self,
        program: &Program<'_>,
        objects: &[ObjectId],
        name: Symbol,
    ) -> Vec<ObjectId> {
        let mut sets: Vec<SetId> = Vec::new();
        for &object in objects {
            sets.extend(self.contents.get(&(object, Variable::Slot(name))));
            // Where a model names a field of a library class that is analysed, it means that field.
            let class = self.objects[object].object.class();
            let class = class.filter(|&class| program.role(class) != Some(Role::Input));
            for field in class.into_iter().flat_map(|class| program.all_fields(class)) {
                if program.fields()[field].name == name {
                    sets.extend(self.contents.get(&(object, Variable::Field(field))));
                }
            }
        }
        sets.sort_unstable();
        sets.dedup();
        if let [set] = sets[..] {
            return self.sets[set].to_vec();
        }
        let mut found = EntitySet::new();
        for set in sets {
            for &object in &self.sets[set] {
                found.insert(object);
            }
        }
        found.iter().collect()
    }
}
