//! Events: what every statement of every context reads and writes, with what is known then. What it does with locks goes
//! to [`lock_events`], what a context does step by step to [`actions`]. Events are emitted once, after the execution has
//! come to its end.

pub(crate) mod actions;
pub(crate) mod lock_events;

use std::borrow::Cow;
use std::hash::Hash;
use std::sync::Arc;

use smallvec::SmallVec;
use unsnarl_entity::{EntityId, EntitySet, PrimaryMap, SecondaryMap, UniqueMap, entity_id};
use unsnarl_models::LockMode;
use unsnarl_program::FieldId;
use unsnarl_program::body::{Operation, StatementId, Value};
use unsnarl_program::heap::{InstanceId, OriginId};

use crate::emit::actions::{Action, ActionKind, Actions, Scope, ScopesId};
use crate::emit::lock_events::{LockEvent, LockEventId, Locking};
use crate::event::{
    AccessKind, Accessed, ContextEventId, ContextId, Event, EventId, Guard, PathStep, Relation,
};
use crate::execute::state::{ChannelId, Joined, Lock, State};
use crate::execute::{Executor, Frame};
use crate::facts::access::{Access, accesses};
use crate::facts::method::is_default;
use crate::facts::path::{Path, Root};

entity_id! {
    /// What is known at an access about the order with other threads.
    pub(crate) struct TimeId("time");
}

/// What is known at an access about the order with other threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Time {
    pub(crate) started: SmallVec<[OriginId; 4]>,
    pub(crate) joined: SmallVec<[Joined; 2]>,
    /// The threads that belong to the accessed object and have ended.
    pub(crate) joined_base: SmallVec<[OriginId; 1]>,
    pub(crate) sent: SmallVec<[ChannelId; 2]>,
    /// Whether the accessed object itself carried the signal.
    pub(crate) received: SmallVec<[(ChannelId, bool); 1]>,
}

/// The events of an execution.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(crate) events: PrimaryMap<EventId, Event>,
    pub(crate) times: UniqueMap<TimeId, Time>,
    pub(crate) time_of: Vec<TimeId>,
    pub(crate) lock_events: PrimaryMap<LockEventId, LockEvent>,
    /// How each thread first comes to a context.
    pub(crate) first_calls: SecondaryMap<OriginId, FirstCalls>,
    pub(crate) actions: Actions,
}

/// For the contexts that a thread comes to: the first call that leads there.
pub(crate) type FirstCalls = SecondaryMap<ContextId, Option<(ContextId, StatementId)>>;

/// What the statements of a block do that other threads may notice.
#[derive(Default)]
pub(crate) struct Emitted {
    accesses: Vec<EmittedAccess>,
    locking: Vec<Locking>,
}

/// An access on the way through a block.
struct EmittedAccess {
    key: Key,
    event: Event,
    scopes: ScopesId,
}

/// Events that are the same for every question that is asked.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    instance: InstanceId,
    statement: StatementId,
    kind: AccessKind,
    accessed: Accessed,
    base: Option<Value>,
    guards: Arc<[Guard]>,
    is_fresh: bool,
    time: TimeId,
}

/// The events of contexts, before they are given to each thread. Those with the same key are one.
struct ContextEvents<K, E> {
    keys: UniqueMap<ContextEventId, K>,
    /// By number.
    all: Vec<E>,
    of_context: SecondaryMap<ContextId, Vec<ContextEventId>>,
    /// How many threads each was emitted for so far.
    threads: SecondaryMap<ContextEventId, usize>,
    /// What was emitted for the current thread.
    emitted: EntitySet<ContextEventId>,
}

/// In code that does not distinguish threads, an event is emitted for so many of them. Further ones would say
/// the same of the same objects.
const MOST_THREADS: usize = 8;

impl<K: Eq + Hash, E> ContextEvents<K, E> {
    fn new() -> Self {
        Self {
            keys: UniqueMap::new(),
            all: Vec::new(),
            of_context: SecondaryMap::new(),
            threads: SecondaryMap::new(),
            emitted: EntitySet::new(),
        }
    }

    fn add(&mut self, context: ContextId, (key, event): (K, E)) -> ContextEventId {
        let id = self.keys.intern(key);
        if id.index() == self.all.len() {
            self.all.push(event);
        }
        self.of_context[context].push(id);
        id
    }

    /// Emits what is new for the current thread in a context.
    fn emit(&mut self, context: ContextId, mut emit: impl FnMut(ContextEventId, &K, &E)) {
        for &id in &self.of_context[context] {
            if self.emitted.insert(id) && self.threads[id] < MOST_THREADS {
                self.threads[id] += 1;
                emit(id, &self.keys[id], &self.all[id.index()]);
            }
        }
    }
}

/// The contexts that a thread comes to, in the order in which it does.
fn contexts_of(
    roots: Vec<ContextId>,
    actions: &SecondaryMap<ContextId, Vec<Action>>,
    first_calls: &mut FirstCalls,
) -> Vec<ContextId> {
    let mut reached: EntitySet<ContextId> = roots.iter().copied().collect();
    let mut contexts = roots;
    let mut next = 0;
    while let Some(&context) = contexts.get(next) {
        next += 1;
        for action in &actions[context] {
            if let ActionKind::Call(callee) = action.kind
                && reached.insert(callee)
            {
                first_calls[callee] = Some((context, action.statement));
                contexts.push(callee);
            }
        }
    }
    contexts
}

impl Executor<'_, '_> {
    /// Goes through all contexts once more, now that nothing changes any more: those that threads really
    /// come by. On the way to the end some were entered in states that turned out to be wrong.
    pub(crate) fn events(&mut self) -> Events {
        let mut events = Events::default();
        self.is_final = true;
        if !self.found.cut.is_empty() {
            // Calls that are not known to return are taken to do so from now on.
            self.remembered.memories.clear();
        }
        let mut reached: EntitySet<ContextId> = EntitySet::new();
        let mut actions: SecondaryMap<ContextId, Vec<Action>> = SecondaryMap::new();
        let mut accesses: ContextEvents<Key, Event> = ContextEvents::new();
        let mut locking: ContextEvents<Locking, ()> = ContextEvents::new();
        let roots = self.found.roots.clone();
        let mut open: Vec<ContextId> = roots.iter().map(|&(_, context)| context).collect();
        open.retain(|&context| reached.insert(context));
        while let Some(context) = open.pop() {
            let Some(frame) = self.frame(context) else { continue };
            let memory = std::mem::take(&mut self.remembered.memories[context]);
            if let Some(entry) = self.emit_monitor(&frame) {
                locking.add(context, (entry, ()));
            }
            let blocks = frame.facts.body.blocks.keys();
            for (block, before) in blocks.zip(self.flow(&frame, &memory).before) {
                let Some(before) = before else { continue };
                let mut emitted = Emitted::default();
                self.found.entered.clear();
                self.go_through(&frame, block, before, Some(&mut emitted));
                for EmittedAccess { key, event, scopes } in emitted.accesses {
                    let statement = event.statement;
                    let kind = ActionKind::Access(accesses.add(context, (key, event)));
                    actions[context].push(Action { statement, scopes, kind });
                }
                for event in emitted.locking {
                    locking.add(context, (event, ()));
                }
                for (callee, statement, scopes) in std::mem::take(&mut self.found.entered) {
                    if self.was_processed(callee) {
                        let kind = ActionKind::Call(callee);
                        actions[context].push(Action { statement, scopes, kind });
                        if reached.insert(callee) {
                            open.push(callee);
                        }
                    }
                }
            }
        }
        // Those that stand for many threads first: they conflict with each other.
        let mut threads: Vec<OriginId> = self.facts.heap.origins.keys().collect();
        threads.sort_by_key(|&thread| self.facts.threads.unique.contains(thread));
        for thread in threads {
            let own = roots.iter().filter(|(of, _)| *of == thread).map(|&(_, context)| context);
            let contexts = contexts_of(own.collect(), &actions, &mut events.first_calls[thread]);
            accesses.emitted.clear();
            locking.emitted.clear();
            for context in contexts {
                accesses.emit(context, |id, key, event| {
                    let emitted = events.events.push(Event { thread, context, ..event.clone() });
                    events.time_of.push(key.time);
                    events.actions.events[id].push(emitted);
                });
                locking.emit(context, |_, event, ()| {
                    events.lock_events.push(event.by(thread, context));
                });
            }
        }
        events.actions.of_context = actions;
        events.actions.scopes = std::mem::take(&mut self.found.scopes);
        events.actions.outside = self.contexts.values().map(|context| self.held(context)).collect();
        events.actions.roots = roots;
        events.times = std::mem::take(&mut self.found.times);
        events
    }

    /// Adds what a statement does that other threads may notice.
    pub(crate) fn emit(
        &mut self,
        frame: &Frame,
        id: StatementId,
        state: &State,
        emitted: &mut Emitted,
    ) {
        self.emit_locking(frame, id, state, &mut emitted.locking);
        for access in
            accesses(self.facts.program, self.facts.heap, &frame.facts, frame.instance, id)
        {
            let is_visible = access.is_static()
                || access.objects.iter().any(|&object| self.facts.sharing.is_shared(object));
            if is_visible {
                emitted.accesses.push(self.emit_access(frame, id, access, state));
            }
        }
    }

    fn emit_access(
        &mut self,
        frame: &Frame,
        id: StatementId,
        access: Access<'_>,
        state: &State,
    ) -> EmittedAccess {
        let paths =
            access.base.map(|base| (self.strict_path(frame, base), self.loose_path(frame, base)));
        let strict = paths.as_ref().map(|(strict, _)| strict);
        let mut guards = self.guards(paths.as_ref(), state.locks.iter());
        let is_fresh = strict.is_some_and(|path| state.is_fresh(path));
        let time = self.time(strict, state);
        let Access { kind, base, objects, accessed, is_atomic, is_locked, is_conditional, written } =
            access;
        let objects = match (objects, base) {
            (Cow::Borrowed(_), Some(base)) => self.points_to(frame, base),
            (objects, _) => self.set(&objects),
        };
        let mut scopes = self.taken(state);
        if is_locked {
            let objects = Arc::clone(&self.sets[objects]);
            let own =
                Guard { objects, mode: LockMode::Exclusive, relation: Some(Relation::default()) };
            if !guards.contains(&own) {
                scopes.push(Scope { site: id, lock: Arc::clone(&own.objects) });
                guards = guards.iter().cloned().chain([own]).collect();
            }
        } else if is_atomic && !matches!(accessed, Accessed::Field(_)) {
            scopes.push(Scope { site: id, lock: Arc::clone(&self.sets[objects]) });
        }
        let scopes = self.found.scopes.intern(scopes);
        let (instance, statement) = (frame.instance, id);
        let key = Key {
            instance,
            statement,
            kind,
            accessed,
            base,
            guards: Arc::clone(&guards),
            is_fresh,
            time,
        };
        let event = Event {
            kind,
            objects: Arc::clone(&self.sets[objects]),
            accessed,
            thread: self.facts.heap.instances[instance].origin,
            instance,
            context: frame.context,
            statement,
            guards,
            is_atomic,
            is_fresh,
            is_through_this: base.is_some_and(|base| is_this(frame, base)),
            loaded_from: base.and_then(|base| loaded_from(frame, base)),
            writes_default: written.is_some_and(|value| is_default(&frame.facts, value)),
            is_conditional,
        };
        EmittedAccess { key, event, scopes }
    }

    /// What is known about the order with other threads; `base` is the accessed object.
    pub(crate) fn time(&mut self, base: Option<&Path>, state: &State) -> TimeId {
        let is_base = |path: &Path| base == Some(path);
        self.found.times.intern(Time {
            started: state.started.clone(),
            joined: state.joined.clone(),
            joined_base: state
                .joined_paths
                .iter()
                .filter(|(path, _)| is_base(path))
                .map(|&(_, thread)| thread)
                .collect(),
            sent: state.sent.clone(),
            received: state
                .received
                .iter()
                .map(|(channel, path)| (*channel, path.as_ref().is_some_and(is_base)))
                .collect(),
        })
    }

    /// Locks that are held, as seen from an object with this strict and loose path.
    pub(crate) fn guards<'l>(
        &self,
        base: Option<&(Path, Path)>,
        locks: impl Iterator<Item = &'l Lock>,
    ) -> Arc<[Guard]> {
        let mut guards: Vec<Guard> = Vec::new();
        for lock in locks {
            let relation = base.and_then(|(strict, loose)| {
                let lock = lock.path.as_ref()?;
                relation(strict, lock).or_else(|| relation(loose, lock))
            });
            let objects = Arc::clone(&self.sets[lock.objects]);
            let guard = Guard { objects, mode: lock.mode, relation };
            if !guards.contains(&guard) {
                guards.push(guard);
            }
        }
        guards.into()
    }
}

/// How a lock and the accessed object are reached from one object.
fn relation(base: &Path, lock: &Path) -> Option<Relation> {
    if base.root != lock.root {
        return None;
    }
    let same = base.steps.iter().zip(&lock.steps).take_while(|(one, other)| one == other).count();
    let rest = |path: &Path| -> SmallVec<[PathStep; 2]> { path.steps[same..].into() };
    Some(Relation { to_base: rest(base), to_lock: rest(lock) })
}

fn is_this(frame: &Frame, base: Value) -> bool {
    let path = frame.facts.strict_path(base);
    !frame.facts.is_static && path.root == Root::Parameter(0) && path.steps.is_empty()
}

fn loaded_from(frame: &Frame, base: Value) -> Option<FieldId> {
    let base = frame.facts.uncast(base);
    let definition = frame.facts.body.values[base].definition;
    match frame.facts.body.statements[definition].operation {
        Operation::GetField { .. } | Operation::GetStatic { .. } => frame.facts.field(definition),
        _ => None,
    }
}
