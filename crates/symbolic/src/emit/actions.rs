//! What contexts do, step by step: their accesses and calls, and the lock scopes in which they happen (the
//! raw material of the method views and lock views of [vonPraun04 §5.2.1]).
//!
//! A *lock scope* begins where a method takes a lock that its thread does not hold yet, and is named by the
//! statement that takes it. A call of a library method that is atomic by its model, or takes a lock itself, is
//! a scope of its own. Who waits gives the lock back: if not in a loop, another scope begins there. A wait in a
//! method that was entered with the lock is not seen.

use std::sync::Arc;

use smallvec::SmallVec;
use unsnarl_entity::{EntityId, SecondaryMap, UniqueMap, entity_id};
use unsnarl_models::Effect;
use unsnarl_program::body::{Operation, StatementId};
use unsnarl_program::heap::{ObjectId, OriginId};

use crate::Execution;
use crate::event::{ContextEventId, ContextId, EventId};
use crate::execute::state::{Lock, State, Taken};
use crate::execute::{Context, Executor, Frame};

entity_id! {
    /// The lock scopes around something that a method does.
    pub struct ScopesId("scopes");
}

/// The lock scopes around something that a method does, the outermost first; not those of its callers.
pub type Scopes = SmallVec<[Scope; 1]>;

/// A lock scope of a method.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The statement with which it begins.
    pub site: StatementId,
    /// What the lock may be.
    pub lock: Arc<[ObjectId]>,
}

/// Something that a context does.
#[derive(Clone, Copy, Debug)]
pub struct Action {
    /// The statement that does it.
    pub statement: StatementId,
    /// In which lock scopes.
    pub scopes: ScopesId,
    /// What it is.
    pub kind: ActionKind,
}

/// What a context does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// An access.
    Access(ContextEventId),
    /// A call that enters another context.
    Call(ContextId),
}

/// All that contexts do.
#[derive(Debug, Default)]
pub(crate) struct Actions {
    pub(crate) of_context: SecondaryMap<ContextId, Vec<Action>>,
    pub(crate) scopes: UniqueMap<ScopesId, Scopes>,
    /// The locks with which contexts are entered.
    pub(crate) outside: Vec<SmallVec<[Arc<[ObjectId]>; 1]>>,
    pub(crate) roots: Vec<(OriginId, ContextId)>,
    /// The events of an access, one for each thread.
    pub(crate) events: SecondaryMap<ContextEventId, SmallVec<[EventId; 1]>>,
}

impl Execution<'_> {
    /// The contexts in which threads begin.
    pub fn roots(&self) -> &[(OriginId, ContextId)] {
        &self.actions.roots
    }

    /// What a context does, block by block.
    pub fn actions(&self, context: ContextId) -> &[Action] {
        &self.actions.of_context[context]
    }

    /// For each context, the calls by which others come to it.
    pub fn context_callers(&self) -> SecondaryMap<ContextId, Vec<(ContextId, StatementId)>> {
        let mut callers: SecondaryMap<ContextId, Vec<_>> = SecondaryMap::new();
        for caller in self.contexts.keys() {
            for action in self.actions(caller) {
                if let ActionKind::Call(callee) = action.kind {
                    callers[callee].push((caller, action.statement));
                }
            }
        }
        callers
    }

    /// The lock scopes around a action.
    pub fn scopes(&self, scopes: ScopesId) -> &[Scope] {
        &self.actions.scopes[scopes]
    }

    /// What the locks may be that are held when a context is entered.
    pub fn outer_locks(&self, context: ContextId) -> &[Arc<[ObjectId]>] {
        self.actions.outside.get(context.index()).map_or(&[], SmallVec::as_slice)
    }

    /// The events of an access, one for each thread that makes it, as far as there are any.
    pub fn events_of(&self, access: ContextEventId) -> &[EventId] {
        &self.actions.events[access]
    }
}

impl Executor<'_, '_> {
    /// Notes by which statement the locks of a state were taken.
    pub(crate) fn note_taken(&self, frame: &Frame, id: StatementId, state: &mut State) {
        let is_taken = |lock: &Lock| match lock.taken {
            Taken::Now => true,
            Taken::Outside => false,
            Taken::At(_) => self.gives_back_once(frame, id, &self.sets[lock.objects]),
        };
        for at in 0..state.locks.len() {
            if is_taken(&state.locks[at]) {
                state.locks[at].taken = Taken::At(id);
            }
        }
    }

    /// Whether a statement waits for a notification with one of these locks, and not in a loop.
    fn gives_back_once(&self, frame: &Frame, id: StatementId, locks: &[ObjectId]) -> bool {
        if !matches!(frame.facts.body.statements[id].operation, Operation::Invoke { .. })
            || frame.facts.is_in_cycle(id)
        {
            return false;
        }
        self.facts.heap.models_at(frame.instance, id).iter().any(|&call| {
            call.model.effects.iter().any(|effect| match effect {
                Effect::Wait { on, lock, .. } => {
                    let lock = lock.as_ref().unwrap_or(on);
                    let waited =
                        self.facts.heap.resolve(self.facts.program, frame.instance, id, call, lock);
                    waited.iter().any(|object| locks.contains(object))
                }
                _ => false,
            })
        })
    }

    /// The number of the lock scopes of a method in a state.
    pub(crate) fn scopes(&mut self, state: &State) -> ScopesId {
        let scopes = self.taken(state);
        self.found.scopes.intern(scopes)
    }

    /// The locks with which a context is entered.
    pub(crate) fn held(&self, context: &Context) -> SmallVec<[Arc<[ObjectId]>; 1]> {
        let locks = context.entry.state.locks.iter();
        locks.map(|lock| Arc::clone(&self.sets[lock.objects])).collect()
    }

    /// The lock scopes of a method in a state. A lock that is held already by another name begins none.
    pub(crate) fn taken(&self, state: &State) -> Scopes {
        let mut scopes = Scopes::new();
        for (number, lock) in state.locks.iter().enumerate() {
            let objects = &self.sets[lock.objects];
            let is_one = matches!(objects[..], [object]
                if self.facts.threads.unique_objects.contains(object));
            let mut outer = state.locks[..number].iter();
            let is_held = is_one && outer.any(|outer| outer.objects == lock.objects);
            if let Taken::At(site) = lock.taken
                && !is_held
            {
                scopes.push(Scope { site, lock: Arc::clone(objects) });
            }
        }
        scopes
    }
}
