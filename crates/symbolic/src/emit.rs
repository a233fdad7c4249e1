//! Access events: what every statement of every context reads and writes, with what is known then.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use smallvec::SmallVec;
use unsnarl_entity::{EntityId, EntitySet, PrimaryMap, SecondaryMap, UniqueMap, entity_id};
use unsnarl_models::LockMode;
use unsnarl_program::FieldId;
use unsnarl_program::body::{Constant, Operation, StatementId, Value};
use unsnarl_program::heap::{InstanceId, OriginId};

use crate::access::{Access, accesses};
use crate::deeds::{Deed, DeedKind, Deeds, Scope, ScopesId};
use crate::event::{
    AccessKind, Accessed, ContextId, Event, EventId, Guard, PathStep, Relation, SeenId,
};
use crate::execute::{Executor, Frame};
use crate::method::MethodFacts;
use crate::path::{Path, Root};
use crate::state::{ChannelId, Joined, State};

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
    /// How each thread first comes to a context.
    pub(crate) ways: SecondaryMap<OriginId, Ways>,
    pub(crate) deeds: Deeds,
}

/// For the contexts that a thread comes to: the first call that leads there.
pub(crate) type Ways = SecondaryMap<ContextId, Option<(ContextId, StatementId)>>;

/// Events that are the same for every question that is asked.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    instance: InstanceId,
    statement: StatementId,
    kind: AccessKind,
    accessed: Accessed,
    base: Option<Value>,
    guards: Arc<[Guard]>,
    is_fresh: bool,
    time: TimeId,
}

/// An access on the way through a block.
pub(crate) struct Noticed {
    key: Key,
    event: Event,
    scopes: ScopesId,
}

/// The accesses of contexts, before they are told by thread.
#[derive(Default)]
struct Seen {
    keys: UniqueMap<SeenId, Key>,
    /// By number.
    all: Vec<Event>,
    deeds: SecondaryMap<ContextId, Vec<Deed>>,
    /// By how many threads each was told already.
    threads: SecondaryMap<SeenId, usize>,
}

/// In code that is not told apart by thread, an access is told for so many threads. Further ones would say
/// the same of the same objects.
const MOST_THREADS: usize = 8;

impl Seen {
    fn add(&mut self, Noticed { key, event, scopes }: Noticed) {
        let (context, statement) = (event.context, event.statement);
        let id = self.keys.intern(key);
        if id.index() == self.all.len() {
            self.all.push(event);
        }
        self.deeds[context].push(Deed { statement, scopes, kind: DeedKind::Access(id) });
    }

    /// Tells the events of a thread, in the order in which its contexts are come to.
    fn tell(&mut self, thread: OriginId, roots: Vec<ContextId>, events: &mut Events) {
        let mut told: EntitySet<SeenId> = EntitySet::new();
        let mut reached: EntitySet<ContextId> = roots.iter().copied().collect();
        let mut open = VecDeque::from(roots);
        while let Some(context) = open.pop_front() {
            for deed in &self.deeds[context] {
                match deed.kind {
                    DeedKind::Access(id) => {
                        if told.insert(id) && self.threads[id] < MOST_THREADS {
                            self.threads[id] += 1;
                            let event = self.all[id.index()].clone();
                            let told = events.events.push(Event { thread, context, ..event });
                            events.time_of.push(self.keys[id].time);
                            events.deeds.events[id].push(told);
                        }
                    }
                    DeedKind::Call(callee) => {
                        if reached.insert(callee) {
                            events.ways[thread][callee] = Some((context, deed.statement));
                            open.push_back(callee);
                        }
                    }
                }
            }
        }
    }
}

impl Executor<'_, '_> {
    /// Goes through all contexts once more, now that nothing changes any more: those that threads really
    /// come by. On the way to the end some were entered in states that turned out to be wrong.
    pub(crate) fn events(&mut self) -> Events {
        let mut events = Events::default();
        self.is_final = true;
        if !self.cut.is_empty() {
            // Calls that are not known to return are taken to do so from now on.
            self.memories.clear();
        }
        let mut reached: EntitySet<ContextId> = EntitySet::new();
        let mut seen = Seen::default();
        let roots = self.roots();
        let mut open: Vec<ContextId> = roots.iter().map(|&(_, context)| context).collect();
        open.retain(|&context| reached.insert(context));
        while let Some(context) = open.pop() {
            let Some(frame) = self.frame(context) else { continue };
            let memory = std::mem::take(&mut self.memories[context]);
            let blocks = frame.facts.body.blocks.keys();
            for (block, before) in blocks.zip(self.flow(&frame, &memory).before) {
                let Some(before) = before else { continue };
                let mut accesses = Vec::new();
                self.entered.clear();
                self.go_through(&frame, block, before, Some(&mut accesses));
                for access in accesses {
                    seen.add(access);
                }
                for (callee, statement, scopes) in std::mem::take(&mut self.entered) {
                    if self.was_processed(callee) {
                        let kind = DeedKind::Call(callee);
                        seen.deeds[context].push(Deed { statement, scopes, kind });
                        if reached.insert(callee) {
                            open.push(callee);
                        }
                    }
                }
            }
        }
        // Those that stand for many threads first: they conflict with each other.
        let mut threads: Vec<OriginId> = self.heap.origins.keys().collect();
        threads.sort_by_key(|&thread| self.threads.unique.contains(thread));
        for thread in threads {
            let own = roots.iter().filter(|(of, _)| *of == thread).map(|&(_, context)| context);
            seen.tell(thread, own.collect(), &mut events);
        }
        events.deeds.of_context = seen.deeds;
        events.deeds.scopes = std::mem::take(&mut self.scopes);
        events.deeds.outside = self.contexts.values().map(|context| self.held(context)).collect();
        events.deeds.roots = roots;
        events.times = std::mem::take(&mut self.times);
        events
    }

    /// Adds the accesses of a statement that other threads may notice.
    pub(crate) fn emit(
        &mut self,
        frame: &Frame,
        id: StatementId,
        state: &State,
        seen: &mut Vec<Noticed>,
    ) {
        for access in accesses(self.program, self.heap, &frame.facts, frame.instance, id) {
            let is_visible = access.is_static()
                || access.objects.iter().any(|&object| self.sharing.is_shared(object));
            if is_visible {
                seen.push(self.emit_access(frame, id, access, state));
            }
        }
    }

    fn emit_access(
        &mut self,
        frame: &Frame,
        id: StatementId,
        access: Access<'_>,
        state: &State,
    ) -> Noticed {
        let paths =
            access.base.map(|base| (self.strict_path(frame, base), self.loose_path(frame, base)));
        let strict = paths.as_ref().map(|(strict, _)| strict);
        let mut guards = self.guards(paths.as_ref(), state);
        let is_fresh = strict.is_some_and(|path| state.is_fresh(path));
        let is_base = |path: &Path| strict == Some(path);
        let time = self.times.intern(Time {
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
        });
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
        let scopes = self.scopes.intern(scopes);
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
            thread: self.heap.instances[instance].origin,
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
        Noticed { key, event, scopes }
    }

    fn guards(&self, base: Option<&(Path, Path)>, state: &State) -> Arc<[Guard]> {
        let mut guards: Vec<Guard> = Vec::new();
        for lock in &state.locks {
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

/// Whether a value is the one that variables have from the beginning.
pub(crate) fn is_default(facts: &MethodFacts, value: Value) -> bool {
    matches!(
        facts.body.definition(value).operation,
        Operation::Constant(
            Constant::Null
                | Constant::Int(0)
                | Constant::Long(0)
                | Constant::Float(0)
                | Constant::Double(0)
        )
    )
}
