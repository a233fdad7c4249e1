//! What the ids in events stand for.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use unsnarl_entity::{EntitySet, Interner, PrimaryMap, SecondaryMap, UniqueMap};

use crate::{
    ChannelId, FieldId, LockId, MethodId, NameId, ObjectId, SiteId, StoreId, ThreadId, VariableId,
};

/// The things that a trace is about. They grow while the trace is read: an event never comes before
/// the entries for its ids.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// All names.
    pub names: Interner<NameId>,
    /// The threads.
    pub threads: PrimaryMap<ThreadId, Thread>,
    /// The locks.
    pub locks: PrimaryMap<LockId, Lock>,
    /// The variables.
    pub variables: PrimaryMap<VariableId, Variable>,
    /// How many of the variables were never accessed at a time when all others were: their ids are reserved so that the
    /// variables of an object stand together, or can be given again.
    pub reserved_variables: usize,
    /// The channels.
    pub channels: PrimaryMap<ChannelId, Channel>,
    /// The methods.
    pub methods: PrimaryMap<MethodId, Method>,
    /// The fields.
    pub fields: PrimaryMap<FieldId, Field>,
    /// The objects.
    pub objects: PrimaryMap<ObjectId, Object>,
    /// The references that were stored.
    pub stores: UniqueMap<StoreId, Store>,
    /// The `this` of the method that has made an object, if it was seen and is not static.
    pub makers: SecondaryMap<ObjectId, Option<ObjectId>>,
    /// The objects that threads are, as far as they are known.
    pub thread_objects: SecondaryMap<ThreadId, Option<ObjectId>>,
    /// The threads that do not keep the program from ending.
    pub daemons: SecondaryMap<ThreadId, bool>,
    /// The places in the code.
    pub sites: Sites,
    /// The waits that begin whenever their monitor is entered, so that nothing is tested before.
    pub untested_waits: EntitySet<SiteId>,
    /// The places from which threads were called when they came to a place for the first time, the innermost first; there
    /// when the trace has ended, as far as it was recorded.
    pub stacks: FxHashMap<(ThreadId, SiteId), Box<[SiteId]>>,
}

impl Tables {
    /// How many variables were accessed, those aside whose ids were given again.
    #[must_use]
    pub fn variable_count(&self) -> usize {
        self.variables.len() - self.reserved_variables
    }

    /// A name as it is shown.
    #[must_use]
    pub fn text(&self, name: NameId) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.names[name])
    }
}

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// What the program calls it.
    pub name: NameId,
}

/// A lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// The monitor of an object, or a lock that is an object.
    Object(ObjectId),
    /// A lock of which the trace has a name and nothing else.
    Named(NameId),
}

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variable {
    /// A field of an object.
    Field(ObjectId, FieldId),
    /// A static field.
    Static(FieldId),
    /// The element of an array at an index.
    Element(ObjectId, u32),
    /// A variable of which the trace has a name and nothing else.
    Named(NameId),
}

/// A channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// A volatile variable: sending is writing, receiving is reading.
    Volatile(VariableId),
    /// A synchronizer of a library.
    Object(ObjectId),
    /// A channel of which the trace has a name and nothing else.
    Named(NameId),
}

/// A method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// The binary name of its class, with dots; none if the trace does not have it.
    pub class: Option<NameId>,
    /// Its name.
    pub name: NameId,
    /// Its descriptor, if the trace says it.
    pub descriptor: Option<NameId>,
    /// The source file of its class, without folders.
    pub file: Option<NameId>,
}

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The binary name of the class that declares it, with dots.
    pub class: NameId,
    /// Its name.
    pub name: NameId,
    /// Whether it is known to be a final field of objects: only constructors write it.
    pub is_final: bool,
}

/// An object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// The binary name of its class, with dots; for an array its type as in Java source.
    pub class: NameId,
    /// What distinguishes it from all other objects of the run.
    pub number: u64,
}

/// A reference to an object, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Store {
    /// Where it is stored.
    pub into: Container,
    /// What it refers to.
    pub value: ObjectId,
}

/// Where a reference can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Container {
    /// In a field of an object.
    Field(ObjectId, FieldId),
    /// In an element of an array.
    Element(ObjectId),
    /// In a static field.
    Static(FieldId),
    /// In code that is not watched, which may do with it what it likes.
    Unknown,
}

/// The places in the code.
#[derive(Clone, Debug)]
pub enum Sites {
    /// The trace has location numbers and nothing else; the index of a site is its number.
    Numbered,
    /// The trace knows the code.
    Known(PrimaryMap<SiteId, Site>),
}

impl Default for Sites {
    fn default() -> Self {
        Self::Known(PrimaryMap::new())
    }
}

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// The method.
    pub method: MethodId,
    /// The line in its source file, from 1, if the class file says it.
    pub line: Option<u32>,
}
