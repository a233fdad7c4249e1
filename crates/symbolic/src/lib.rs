//! The symbolic execution of a whole program on abstract threads and an abstract heap (seed 000,
//! chapters 3 and 4): which thread accesses which variable of which object, with which locks, and what
//! is ordered with what. It does not know what is a defect.

mod event;

pub use event::{
    AccessKind, Accessed, CommonGuard, ContextId, Event, EventId, Guard, Order, PathStep, Relation,
    Sharing,
};

use unsnarl_entity::PrimaryMap;
use unsnarl_models::Models;
use unsnarl_program::body::StatementId;
use unsnarl_program::callgraph::EntryPoints;
use unsnarl_program::heap::{Heap, ObjectId, OriginId};
use unsnarl_program::{MethodId, Program};

/// What the symbolic execution found out.
#[derive(Debug, Default)]
pub struct Execution<'m> {
    /// The heap shape graph.
    pub heap: Heap<'m>,
    /// The accesses to objects that may be shared, and to static fields.
    pub events: PrimaryMap<EventId, Event>,
    /// What was made coarser and what could not be followed, as sentences for the user.
    pub notes: Vec<String>,
}

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The entry points are methods that clients call in parallel on shared objects.
    pub is_library: bool,
}

impl<'m> Execution<'m> {
    /// Runs the program from its entry points. `progress` is told what is being done.
    pub fn run(
        program: &mut Program<'_>,
        models: &'m Models,
        entries: &EntryPoints,
        settings: Settings,
        progress: &mut dyn FnMut(&str),
    ) -> Self {
        progress("heap");
        let heap = Heap::build(program, models, entries, settings.is_library);
        Self { heap, ..Self::default() }
    }

    /// Whether an abstract thread stands for exactly one thread at run time.
    pub fn is_unique_thread(&self, _thread: OriginId) -> bool {
        false
    }

    /// Whether an abstract object stands for exactly one object at run time.
    pub fn is_unique(&self, _object: ObjectId) -> bool {
        false
    }

    /// Who can reach an object.
    pub fn sharing(&self, _object: ObjectId) -> Sharing {
        Sharing::Shared
    }

    /// Why two accesses to the same variable of the same object cannot overlap, whatever locks they hold.
    pub fn order(
        &self,
        _object: Option<ObjectId>,
        _first: EventId,
        _second: EventId,
    ) -> Option<Order> {
        None
    }

    /// A lock that both accesses hold, so that they exclude each other when they are to the same object.
    pub fn common_guard(
        &self,
        _object: Option<ObjectId>,
        _first: EventId,
        _second: EventId,
    ) -> Option<CommonGuard> {
        None
    }

    /// The calls that lead from the root of the thread to an access, the access itself first.
    pub fn stack(&self, _event: EventId) -> Vec<(MethodId, StatementId)> {
        Vec::new()
    }

    /// A short name of an abstract thread for people: `main`, `Worker`, `pool task at Server.java:12`.
    pub fn thread_name(&self, _program: &Program<'_>, _thread: OriginId) -> String {
        String::new()
    }
}
