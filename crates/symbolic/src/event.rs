//! Access events [vonPraun04 §3.4]: statement, object, field, thread and locks held.

use std::sync::Arc;

use smallvec::SmallVec;
use unsnarl_entity::entity_id;
use unsnarl_models::LockMode;
use unsnarl_program::FieldId;
use unsnarl_program::body::StatementId;
use unsnarl_program::heap::{InstanceId, ObjectId, OriginId};
use unsnarl_program::names::Symbol;

entity_id! {
    /// An access.
    pub struct EventId("e");
    /// A method in a heap context, entered with certain locks and at a certain time: a site context.
    pub struct ContextId("c");
    /// An access, whichever of the threads that come to its context makes it.
    pub struct ContextEventId("event");
}

/// An access to a variable, by one statement in one context.
#[derive(Clone, Debug)]
pub struct Event {
    /// Read or write.
    pub kind: AccessKind,
    /// The objects it may access, sorted; none for a static field.
    pub objects: Arc<[ObjectId]>,
    /// Which variable of the object.
    pub accessed: Accessed,
    /// The thread.
    pub thread: OriginId,
    /// The method in its heap context.
    pub instance: InstanceId,
    /// The method in its full context.
    pub context: ContextId,
    /// The statement.
    pub statement: StatementId,
    /// The locks that are certainly held.
    pub guards: Arc<[Guard]>,
    /// It cannot race with another atomic access: volatile, or atomic by its model.
    pub is_atomic: bool,
    /// It certainly comes before the object is visible to any other thread (NEW-safe, [vonPraun04 §4.3.2]).
    pub is_fresh: bool,
    /// The object is `this` of the accessing method.
    pub is_through_this: bool,
    /// The field from which the reference was loaded, in the accessing method, if it was: names the
    /// variable when the accessed object is a collection.
    pub loaded_from: Option<FieldId>,
    /// The value written is the constant that the variable already has by default (null, 0, false).
    pub writes_default: bool,
    /// Whether it is written depends on what was there, in one step: a compare-and-set.
    pub is_conditional: bool,
}

/// How a variable is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessKind {
    /// GET.
    Read,
    /// PUT.
    Write,
}

/// Which variable of an object is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Accessed {
    /// A field, static or not.
    Field(FieldId),
    /// An element of an array.
    Element,
    /// The hidden state of an object of a library, such as a collection.
    Contents,
    /// Named contents of an object of a library, such as the value of an atomic reference.
    Slot(Symbol),
}

/// A lock that is held at an access.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The objects it may be; sorted. One, if the lock is known.
    pub objects: Arc<[ObjectId]>,
    /// Exclusive, or shared with other readers.
    pub mode: LockMode,
    /// How lock and accessed object are reached from a common root, if they are.
    pub relation: Option<Relation>,
}

impl Guard {
    /// Whether it is the very object that is accessed.
    pub fn is_the_base(&self) -> bool {
        let is_empty = |it: &Relation| it.to_base.is_empty() && it.to_lock.is_empty();
        self.relation.as_ref().is_some_and(is_empty)
    }
}

/// How a lock and the accessed object are reached from one and the same object. Both paths empty: the
/// lock is the accessed object. Only `to_base` empty: the lock hangs on the accessed object by final
/// fields. Only `to_lock` empty: the lock is the host of the accessed object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Relation {
    /// From the root to the accessed object.
    pub to_base: SmallVec<[PathStep; 2]>,
    /// From the root to the lock.
    pub to_lock: SmallVec<[PathStep; 2]>,
}

/// A step of an access path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathStep {
    /// A field.
    Field(FieldId),
    /// Named contents of an object of a library, such as the owner of a read lock.
    Slot(Symbol),
}

/// Who can reach an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// Only one thread at run time accesses it.
    OneThread,
    /// Only the thread that it is handed to accesses it, and its creator before that [vonPraun04 §3.4.3].
    ThreadSpecific,
    /// Several threads.
    Shared,
}

/// Why two accesses cannot overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// By the same single thread.
    SameThread,
    /// One comes before the object is visible to other threads (init-escape).
    Fresh,
    /// One comes before the other's thread is started.
    Start,
    /// One comes after the other's thread has ended. `is_assumed` if that all threads of an abstract
    /// thread are joined is a heuristic.
    Join {
        /// By the heuristic of [vonPraun04 §4.1].
        is_assumed: bool,
    },
    /// One comes before a signal (volatile field, latch, queue, future) that the other has waited for.
    Signal,
    /// Tasks that run one after the other.
    Serial,
    /// Both accesses are by the thread that the object belongs to (intra-thread encapsulation).
    Encapsulated,
}

/// A lock that two accesses have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommonGuard {
    /// A single object.
    Unique(ObjectId),
    /// The accessed object itself.
    Itself,
    /// An object that hangs on the accessed one by final fields.
    Member(SmallVec<[PathStep; 2]>),
    /// The object that hosts the accessed one [vonPraun04 §3.3.6].
    Host(Relation),
}
