//! The symbolic execution of a whole program on abstract threads and an abstract heap
//! [vonPraun04 §3, §4]: which thread accesses which variable of which object, with which locks, and what
//! is ordered with what. It does not know what is a defect.
//!
//! | folder | holds |
//! |---|---|
//! | `facts` | what is known before the execution, whatever the order of statements |
//! | `execute` | the execution itself: the state, and how statements and calls change it |
//! | `emit` | what the execution produces: events of accesses, locks and actions |
//! | `queries` | what detectors ask of the finished [`Execution`]: order, common locks, object use graphs |

mod emit;
mod event;
mod execute;
mod facts;
mod queries;

pub use event::{
    AccessKind, Accessed, CommonGuard, ContextEventId, ContextId, Event, EventId, Guard, Order,
    PathStep, Relation, Sharing,
};

pub use emit::actions::{Action, ActionKind, Scope, Scopes, ScopesId};
pub use emit::lock_events::{LockAction, LockEvent, LockEventId, LockMoment};
pub use execute::releases::HeldLock;
pub use queries::object_use_graph::{Callers, ObjectUseGraph, Use, UseId, UseKind, Used};

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use unsnarl_classpath::Role;
use unsnarl_entity::{EntitySet, PrimaryMap, SecondaryMap, UniqueMap};
use unsnarl_models::Models;
use unsnarl_program::body::StatementId;
use unsnarl_program::callgraph::EntryPoints;
use unsnarl_program::heap::{Heap, HeapObject, InstanceId, Object, ObjectId, OriginId};
use unsnarl_program::names::Type;
use unsnarl_program::{ClassId, MethodId, Program};

use emit::actions::Actions;
use emit::{FirstCalls, Time, TimeId};
use execute::releases::Releases;
use execute::state::{Channel, ChannelId, Joined, State};
use execute::{Executor, Facts};
use facts::hosts::Hosts;
use facts::initializers::Initializers;
use facts::join_loops::JoinLoops;
use facts::may_effects::MayEffectsByMethod;
use facts::method::Methods;
use facts::sharing::{SharingFacts, Watched};
use facts::signals::Signals;
use facts::threads::Threads;
use facts::views::Views;
use facts::{confined, threads};

/// What the symbolic execution found out.
#[derive(Debug, Default)]
pub struct Execution<'m> {
    /// The heap shape graph.
    pub heap: Heap<'m>,
    /// The accesses to objects that may be shared, and to static fields.
    pub events: PrimaryMap<EventId, Event>,
    /// What threads do with locks that they share, and what they wait for.
    pub lock_events: PrimaryMap<LockEventId, LockEvent>,
    /// What was made coarser and what could not be followed, as sentences for the user.
    pub notes: Vec<String>,
    methods: Methods,
    threads: Threads,
    sharing: SharingFacts,
    hosts: Hosts,
    times: UniqueMap<TimeId, Time>,
    time_of: Vec<TimeId>,
    channels: UniqueMap<ChannelId, Channel>,
    signals: Signals,
    /// The threads that have ended when a thread ends.
    ends: FxHashMap<OriginId, SmallVec<[Joined; 2]>>,
    /// What its starter knows when a thread is started.
    at_start: FxHashMap<OriginId, State>,
    /// Objects that belong to one instance of the thread.
    confined: FxHashSet<(OriginId, ObjectId)>,
    contexts: PrimaryMap<ContextId, InstanceId>,
    initializers: Initializers,
    releases: Releases,
    /// How each thread first comes to a context.
    first_calls: SecondaryMap<OriginId, FirstCalls>,
    actions: Actions,
    /// The classes of whose objects nobody expects that several steps are one.
    interleaved: EntitySet<ClassId>,
}

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The entry points are methods that clients call in parallel on shared objects.
    pub is_library: bool,
}

impl<'m> Execution<'m> {
    /// Runs the program from its entry points. `progress` is called with what is being done.
    pub fn run(
        program: &mut Program<'_>,
        models: &'m Models,
        entries: &EntryPoints,
        settings: Settings,
        progress: &mut dyn FnMut(&str),
    ) -> Self {
        progress("heap");
        let mut heap = Heap::build(program, models, entries, settings.is_library);
        progress("threads");
        let methods = Methods::new(program, &heap);
        let class_locks = class_locks(program, &mut heap, &methods);
        let threads = Threads::new(program, &heap, &methods, &class_locks);
        progress("sharing");
        let program = &*program;
        let ((initializers, mut sharing), (hosts, views)) = rayon::join(
            || {
                let initializers = Initializers::new(program, &heap, &methods);
                let watched = Watched { class_locks: &class_locks, initializers: &initializers };
                let sharing = SharingFacts::new(program, &heap, &methods, &threads, watched);
                (initializers, sharing)
            },
            || (Hosts::new(program, &heap, &methods), Views::new(program, &heap, &methods)),
        );
        progress("execution");
        let signals = Signals::new(program, &heap, &methods, &threads);
        let mut channels = UniqueMap::new();
        let may_effects = MayEffectsByMethod::new(&heap, &threads, &signals, &mut channels);
        let join_loops = JoinLoops::new(program, &heap, &methods, &threads, &may_effects);
        let facts = Facts {
            program,
            heap: &heap,
            methods: &methods,
            threads: &threads,
            sharing: &sharing,
            signals: &signals,
            join_loops: &join_loops,
            may_effects: &may_effects,
            views: &views,
            class_locks: &class_locks,
            initializers: &initializers,
        };
        let mut executor = Executor::new(facts, channels);
        executor.run();
        progress("events");
        let events = executor.events();
        let mut notes = heap.widened.clone();
        let merged = executor.merged_count();
        if merged > 0 {
            notes.push(format!(
                "{merged} methods are called in so many situations that some were taken together"
            ));
        }
        if !executor.found.cut.is_empty() {
            notes.push(format!(
                "the program is very large: the execution of {} of its {} abstract threads was cut \
                 short, and what they do deep inside is not judged (name fewer entry points with \
                 --entry)",
                executor.found.cut.len(),
                heap.origins.len()
            ));
        }
        let ends = executor.ends();
        let at_start = std::mem::take(&mut executor.found.at_start);
        let seen_receivers = std::mem::take(&mut executor.found.seen_receivers);
        let channels = std::mem::take(&mut executor.channels);
        let releases = std::mem::take(&mut executor.found.releases);
        let contexts = executor.contexts.values().map(|context| context.instance).collect();
        let confined = confined::confined(&heap, &sharing, &hosts, &seen_receivers);
        sharing.note_thread_specific(&confined, &events.events);
        Self {
            events: events.events,
            times: events.times,
            time_of: events.time_of,
            lock_events: events.lock_events,
            heap,
            notes,
            methods,
            threads,
            sharing,
            hosts,
            channels,
            signals,
            ends,
            at_start,
            confined,
            contexts,
            initializers,
            releases,
            first_calls: events.first_calls,
            actions: events.actions,
            interleaved: interleaved(program, models),
        }
    }

    /// Whether an abstract thread stands for exactly one thread at run time.
    pub fn is_unique_thread(&self, thread: OriginId) -> bool {
        self.threads.unique.contains(thread)
    }

    /// Whether an abstract object stands for exactly one object at run time.
    pub fn is_unique(&self, object: ObjectId) -> bool {
        self.threads.unique_objects.contains(object)
    }

    /// Who can reach an object.
    pub fn sharing(&self, object: ObjectId) -> Sharing {
        self.sharing.sharing(object)
    }

    /// Why two accesses to the same variable of the same object cannot overlap, whatever locks they hold.
    pub fn order(
        &self,
        object: Option<ObjectId>,
        first: EventId,
        second: EventId,
    ) -> Option<Order> {
        self.find_order(object, first, second)
    }

    /// A lock that both accesses hold, so that they exclude each other when they are to the same object.
    pub fn common_guard(
        &self,
        object: Option<ObjectId>,
        first: EventId,
        second: EventId,
    ) -> Option<CommonGuard> {
        self.find_common_guards(object, first, second).map(|(_, guard)| guard).next()
    }

    /// Which of the guards of the first access keep the second apart.
    pub fn common_guards(
        &self,
        object: Option<ObjectId>,
        first: EventId,
        second: EventId,
    ) -> impl Iterator<Item = usize> {
        self.find_common_guards(object, first, second).map(|(place, _)| place)
    }

    /// A barrier at which two threads wait for each other; they may be two of one abstract thread.
    pub fn common_barrier(&self, one: OriginId, other: OriginId) -> Option<ObjectId> {
        self.signals.meeting(one, other)
    }

    /// All objects that are accessed.
    pub fn accessed_objects(&self) -> EntitySet<ObjectId> {
        collect(self.events.values().map(|event| &event.objects))
    }

    /// All objects that are locks at an access, or of a lock event.
    pub fn held_objects(&self) -> EntitySet<ObjectId> {
        let guards = self.events.values().flat_map(|event| event.guards.iter());
        let held = self.lock_events.values().flat_map(|event| event.held.iter());
        let used = self.lock_events.values().map(|event| &event.objects);
        collect(guards.chain(held).map(|guard| &guard.objects).chain(used))
    }

    /// The calls that lead from the root of the thread to an access, the access itself first.
    pub fn stack(&self, event: EventId) -> Vec<(MethodId, StatementId)> {
        let event = &self.events[event];
        self.stack_of(event.thread, event.context, event.statement)
    }

    /// The calls that lead from the root of a thread to a statement of a context, the statement first.
    pub fn stack_of(
        &self,
        thread: OriginId,
        context: ContextId,
        statement: StatementId,
    ) -> Vec<(MethodId, StatementId)> {
        let first_calls = &self.first_calls[thread];
        let mut frames = Vec::new();
        let mut next = Some((context, statement));
        while let Some((context, statement)) = next {
            frames.push((self.heap.instances[self.contexts[context]].method, statement));
            next = first_calls[context];
        }
        frames
    }

    /// The method of a context in its heap context.
    pub fn instance(&self, context: ContextId) -> InstanceId {
        self.contexts[context]
    }

    /// Whether nobody expects of the objects of a class that several steps are one, as with output.
    pub fn is_interleaved(&self, class: ClassId) -> bool {
        self.interleaved.contains(class)
    }

    /// How many methods in how many situations were executed.
    pub fn context_count(&self) -> usize {
        self.contexts.len()
    }

    /// A short name of an abstract thread for people: `main`, `Worker`, `pool task at Server.java:12`.
    pub fn thread_name(&self, program: &Program<'_>, thread: OriginId) -> String {
        threads::name(program, &self.heap, thread)
    }
}

/// The objects of sets, of which events have many in common.
fn collect<'s>(sets: impl Iterator<Item = &'s Arc<[ObjectId]>>) -> EntitySet<ObjectId> {
    let mut known: FxHashSet<*const ObjectId> = FxHashSet::default();
    let sets = sets.filter(|objects| known.insert(objects.as_ptr()));
    sets.flat_map(|objects| objects.iter().copied()).collect()
}

fn interleaved(program: &Program<'_>, models: &Models) -> EntitySet<ClassId> {
    let is_it = |&class: &ClassId| {
        let name = program.names.text(program.classes()[class].name);
        program.role(class) != Some(Role::Input)
            && models.package_rule(&name).is_some_and(|rule| rule.is_interleaved)
    };
    program.classes().keys().filter(is_it).collect()
}

/// The class objects that static synchronized methods lock, made where the heap has none.
fn class_locks(
    program: &mut Program<'_>,
    heap: &mut Heap<'_>,
    methods: &Methods,
) -> FxHashMap<MethodId, ObjectId> {
    let mut known: FxHashMap<_, ObjectId> = FxHashMap::default();
    for (id, object) in heap.objects.iter() {
        if let Object::Class(ty) = object.object {
            known.entry(ty).or_insert(id);
        }
    }
    let mut locks = FxHashMap::default();
    let mut ids: Vec<MethodId> = heap.instances.values().map(|instance| instance.method).collect();
    ids.sort_unstable();
    ids.dedup();
    for method in ids {
        if !methods.get(method).is_some_and(|facts| facts.is_static && facts.is_synchronized) {
            continue;
        }
        let class = program.classes()[program.methods()[method].class].name;
        let ty = program.names.type_id(Type::Class(class));
        let object = *known.entry(ty).or_insert_with(|| {
            heap.objects.push(HeapObject { object: Object::Class(ty), made: None, origin: None })
        });
        locks.insert(method, object);
    }
    locks
}
