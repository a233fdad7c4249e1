//! Which threads access which object [vonPraun04 §3.3.4, §3.4.3], found without regard to
//! the order of statements, before the symbolic execution.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use unsnarl_entity::{EntityId, EntitySet, PrimaryMap, SecondaryMap};
use unsnarl_models::{Effect, MethodModel, ModelPlace};
use unsnarl_program::body::{Operation, StatementId, Value};
use unsnarl_program::heap::{
    Heap, Instance, InstanceId, ObjectId, OriginId, OriginKind, SetId, Variable,
};
use unsnarl_program::{MethodId, Program};

use crate::event::{Event, EventId, Sharing};
use crate::execute::state::unite;
use crate::facts::access::accesses;
use crate::facts::initializers::Initializers;
use crate::facts::method::{MethodFacts, Methods};
use crate::facts::threads::{Threads, is_followed};

/// Who accesses what.
#[derive(Debug, Default)]
pub(crate) struct SharingFacts {
    /// The threads that access an object, class initializers aside; sorted.
    accessors: SecondaryMap<ObjectId, SmallVec<[OriginId; 2]>>,
    /// The threads that access an object or hand it to a library method; sorted.
    touched: SecondaryMap<ObjectId, SmallVec<[OriginId; 2]>>,
    sharing: Vec<Sharing>,
    private: EntitySet<ObjectId>,
    /// Locks for which a thread may have to wait because another one has them.
    contended: EntitySet<ObjectId>,
    /// Objects that never leave an instance of the thread that makes them.
    confined: FxHashSet<(OriginId, ObjectId)>,
    /// The objects to which a thread obtains a reference other than by a call or by making them.
    loaded: SecondaryMap<OriginId, EntitySet<ObjectId>>,
    /// The contents that every thread has of its own.
    pub(crate) per_thread: Option<Variable>,
    /// Methods that do something, themselves or by calls, that matters to other threads.
    pub(crate) relevant: EntitySet<InstanceId>,
}

/// What is of interest to other threads beside objects.
#[derive(Clone, Copy)]
pub(crate) struct Watched<'w> {
    /// The class objects that static synchronized methods lock.
    pub(crate) class_locks: &'w FxHashMap<MethodId, ObjectId>,
    pub(crate) initializers: &'w Initializers,
}

impl SharingFacts {
    pub(crate) fn new(
        program: &Program<'_>,
        heap: &Heap<'_>,
        methods: &Methods,
        threads: &Threads,
        watched: Watched<'_>,
    ) -> Self {
        // The copies of a thread-local are not seen by other threads.
        let per_thread = program.names.find_symbol(b"per thread").map(Variable::Slot);
        let mut facts = Self { per_thread, ..Self::default() };
        facts.collect(program, heap, methods);
        facts.classify(heap, threads);
        facts.find_relevant(program, heap, methods, watched);
        facts
    }

    pub(crate) fn sharing(&self, object: ObjectId) -> Sharing {
        // Objects that were added later are class objects, which have no variables.
        self.sharing.get(object.index()).copied().unwrap_or(Sharing::OneThread)
    }

    pub(crate) fn is_shared(&self, object: ObjectId) -> bool {
        self.sharing(object) != Sharing::OneThread
    }

    /// Marks the objects that only one instance of a thread accesses, but for who made them before
    /// others could see them.
    pub(crate) fn note_thread_specific(
        &mut self,
        confined: &FxHashSet<(OriginId, ObjectId)>,
        events: &PrimaryMap<EventId, Event>,
    ) {
        let mut users: FxHashMap<ObjectId, SmallVec<[OriginId; 2]>> = FxHashMap::default();
        let mut known: FxHashSet<(OriginId, *const ObjectId)> = FxHashSet::default();
        let seen = events.values().filter(|event| !event.is_fresh);
        for event in seen.filter(|event| known.insert((event.thread, event.objects.as_ptr()))) {
            for &object in &*event.objects {
                unite(users.entry(object).or_default(), &[event.thread]);
            }
        }
        for (object, users) in users {
            if let [one] = users[..]
                && confined.contains(&(one, object))
                && self.sharing[object.index()] == Sharing::Shared
            {
                self.sharing[object.index()] = Sharing::ThreadSpecific;
            }
        }
    }

    /// Whether what is stored in an object is seen by one thread only: a thread that nobody else
    /// shares the object with, or one that makes it and never lets go of it.
    pub(crate) fn is_private(&self, object: ObjectId) -> bool {
        self.private.contains(object)
    }

    /// Whether a thread may have to wait for a lock because another one has it.
    pub(crate) fn is_contended(&self, lock: ObjectId) -> bool {
        self.contended.contains(lock)
    }

    /// Whether a thread obtains a reference to an object other than by a call or by making it.
    pub(crate) fn is_loaded(&self, thread: OriginId, object: ObjectId) -> bool {
        self.loaded[thread].contains(object)
    }

    /// Whether a thread accesses an object or hands it to a library method.
    pub(crate) fn is_touched_by(&self, object: ObjectId, thread: OriginId) -> bool {
        self.touched[object].contains(&thread)
    }

    /// Who accesses what, and who loads what.
    fn collect(&mut self, program: &Program<'_>, heap: &Heap<'_>, methods: &Methods) {
        let mut by_thread: SecondaryMap<OriginId, [Met; 3]> = SecondaryMap::new();
        for (id, instance) in heap.instances.iter() {
            let Some(method) = methods.get(instance.method) else { continue };
            let met = meetings(program, heap, method, id);
            for &thread in heap.threads_of(id) {
                let is_init = heap.origins[thread].kind == OriginKind::Init;
                for (how, what) in &met {
                    if !(is_init && *how == How::Accessed) {
                        by_thread[thread][*how as usize].add(heap, what);
                    }
                }
            }
        }
        for (thread, origin) in heap.origins.iter() {
            let [accessed, touched, loaded] = std::mem::take(&mut by_thread[thread]);
            let mut touched = touched.objects;
            touched.extend(origin.receiver);
            touched.union_with(&accessed.objects);
            for object in accessed.objects.iter() {
                self.accessors[object].push(thread);
            }
            for object in touched.iter() {
                self.touched[object].push(thread);
            }
            self.loaded[thread] = loaded.objects;
        }
    }

    fn classify(&mut self, heap: &Heap<'_>, threads: &Threads) {
        let global = self.global(heap, threads);
        self.contended = threads.contended.iter().filter(|&lock| global.contains(lock)).collect();
        self.sharing = heap
            .objects
            .keys()
            .map(|object| match self.accessors[object][..] {
                [] => Sharing::OneThread,
                [one] if threads.unique.contains(one) => Sharing::OneThread,
                _ if !global.contains(object) => Sharing::OneThread,
                _ => Sharing::Shared,
            })
            .collect();
        let candidates: FxHashSet<OriginId> =
            heap.objects.keys().filter_map(|object| self.candidate(heap, object)).collect();
        let mut candidates: Vec<OriginId> = candidates.into_iter().collect();
        candidates.sort_unstable();
        for origin in candidates {
            self.confine(heap, origin);
        }
        for object in heap.objects.keys() {
            let is_private = match self.touched[object][..] {
                [] => true,
                [one] if threads.unique.contains(one) => true,
                [one] => self.confined.contains(&(one, object)),
                _ => false,
            };
            if is_private {
                self.private.insert(object);
            }
        }
    }

    /// The objects that can be reached from static fields, from what threads run on and are started in,
    /// or from what clients bring [vonPraun04 §3.3.1]. No other can be seen by two threads.
    fn global(&self, heap: &Heap<'_>, threads: &Threads) -> EntitySet<ObjectId> {
        let statics = heap.static_fields().flat_map(|(_, to)| to.iter().copied());
        let places = heap.static_places().flat_map(|to| to.iter().copied());
        let receivers = heap.origins.values().filter_map(|origin| origin.receiver);
        let groups = heap.origins.keys().flat_map(|thread| threads.groups[thread].iter().flatten());
        let brought =
            heap.objects.iter().filter(|(_, object)| object.made.is_none()).map(|(id, _)| id);
        let roots = statics.chain(places).chain(receivers).chain(groups.copied()).chain(brought);
        heap.reachable(roots, |_, variable| Some(variable) != self.per_thread)
    }

    /// The thread that makes an object and is the only one to touch it, without being unique.
    fn candidate(&self, heap: &Heap<'_>, object: ObjectId) -> Option<OriginId> {
        match self.touched[object][..] {
            [one] if heap.objects[object].origin == Some(one) => Some(one),
            _ => None,
        }
    }

    /// An object that a thread makes, that only this thread accesses, and that cannot be reached from
    /// static fields or from objects that others made, is not seen by two instances of the thread.
    fn confine(&mut self, heap: &Heap<'_>, origin: OriginId) {
        let foreign = heap
            .objects
            .iter()
            .filter(|(_, object)| object.origin != Some(origin))
            .map(|(id, _)| id);
        let globals = heap.static_fields().flat_map(|(_, to)| to.iter().copied());
        let reached =
            heap.reachable(foreign.chain(globals), |_, variable| Some(variable) != self.per_thread);
        for object in heap.objects.keys() {
            if !reached.contains(object) && self.candidate(heap, object) == Some(origin) {
                self.sharing[object.index()] = Sharing::OneThread;
                self.confined.insert((origin, object));
            }
        }
    }

    fn find_relevant(
        &mut self,
        program: &Program<'_>,
        heap: &Heap<'_>,
        methods: &Methods,
        watched: Watched<'_>,
    ) {
        let mut callers: SecondaryMap<InstanceId, Vec<InstanceId>> = SecondaryMap::new();
        let mut open = Vec::new();
        for (id, instance) in heap.instances.iter() {
            for call in heap.calls_of(id) {
                if is_followed(heap, id, call.callee, call.kind) {
                    callers[call.callee].push(id);
                }
            }
            let Some(method) = methods.get(instance.method) else { continue };
            let mut statements = method.body.statements.keys();
            let is_relevant = self.is_monitor_contended(method, instance, watched.class_locks)
                || statements.any(|statement| {
                    watched.initializers.used.contains_key(&(id, statement))
                        || self.is_relevant(program, heap, method, id, statement)
                });
            if is_relevant && self.relevant.insert(id) {
                open.push(id);
            }
        }
        while let Some(id) = open.pop() {
            for &caller in &callers[id] {
                if self.relevant.insert(caller) {
                    open.push(caller);
                }
            }
        }
    }

    /// Whether a method is synchronized with a lock that others may have to wait for.
    fn is_monitor_contended(
        &self,
        method: &MethodFacts,
        instance: &Instance,
        class_locks: &FxHashMap<MethodId, ObjectId>,
    ) -> bool {
        let lock = class_locks.get(&instance.method).copied().or(instance.receiver);
        // Who is not distinguished by receiver may be called on any object.
        method.is_synchronized && lock.is_none_or(|lock| self.is_contended(lock))
    }

    fn is_relevant(
        &self,
        program: &Program<'_>,
        heap: &Heap<'_>,
        method: &MethodFacts,
        id: InstanceId,
        statement: StatementId,
    ) -> bool {
        let any_shared = |objects: &[ObjectId]| objects.iter().any(|&o| self.is_shared(o));
        let any_seen = |objects: &[ObjectId]| objects.iter().any(|&o| !self.is_private(o));
        let data = &method.body.statements[statement];
        match data.operation {
            Operation::PutStatic { .. } => return true,
            Operation::MonitorEnter(lock) => {
                return heap.points_to(id, lock).iter().any(|&lock| self.is_contended(lock));
            }
            Operation::PutField { object, .. } => return any_seen(heap.points_to(id, object)),
            Operation::New(_) | Operation::NewArray { .. } => {
                return data.result.is_some_and(|made| any_seen(heap.points_to(id, made)));
            }
            _ => {}
        }
        let is_access = accesses(program, heap, method, id, statement)
            .iter()
            .any(|access| access.is_static() || any_shared(&access.objects));
        is_access
            || heap.models_at(id, statement).iter().any(|&call| {
                call.model.effects.iter().any(|effect| match effect {
                    Effect::Acquire { .. }
                    | Effect::Release { .. }
                    | Effect::Wait { .. }
                    | Effect::Notify { .. }
                    | Effect::Send { .. }
                    | Effect::Receive { .. }
                    | Effect::Start { .. }
                    | Effect::Later(_)
                    | Effect::Join { .. } => true,
                    Effect::Flow { to, .. } | Effect::Copy { to, .. } => match to {
                        ModelPlace::Slot(holder, _)
                        | ModelPlace::Element(holder)
                        | ModelPlace::Variable { object: holder, .. } => {
                            any_seen(&heap.resolve(program, id, statement, call, holder))
                        }
                        ModelPlace::Static { .. } => true,
                        _ => false,
                    },
                    _ => false,
                })
            })
    }
}

/// How a thread meets an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Its variables are read or written.
    Accessed,
    /// It is handed to a library method, or a field of it is accessed, final ones with them.
    Touched,
    /// A reference to it is obtained from somewhere.
    Loaded,
}

/// The objects that a thread meets in one way.
#[derive(Clone, Debug, Default)]
struct Met {
    objects: EntitySet<ObjectId>,
    /// Sets all of whose objects are among them.
    sets: EntitySet<SetId>,
}

impl Met {
    fn add(&mut self, heap: &Heap<'_>, what: &What) {
        match what {
            What::Set(set) => {
                if self.sets.insert(*set) {
                    self.objects.extend(heap.objects_in(*set).iter().copied());
                }
            }
            What::Objects(objects) => self.objects.extend(objects.iter().copied()),
        }
    }
}

/// Objects that a statement has to do with.
enum What {
    Set(SetId),
    Objects(Vec<ObjectId>),
}

/// The objects that a method in a context has to do with; the same set is passed once.
fn meetings(
    program: &Program<'_>,
    heap: &Heap<'_>,
    method: &MethodFacts,
    id: InstanceId,
) -> Vec<(How, What)> {
    let mut met = Vec::new();
    let mut known: FxHashSet<(u8, SetId)> = FxHashSet::default();
    let mut meet = |met: &mut Vec<(How, What)>, how: How, value: Value| {
        if let Some(set) = heap.set_of(id, value)
            && !heap.objects_in(set).is_empty()
            && known.insert((how as u8, set))
        {
            met.push((how, What::Set(set)));
        }
    };
    for (statement, data) in method.body.statements.iter() {
        for access in accesses(program, heap, method, id, statement) {
            match (access.objects, access.base) {
                (Cow::Owned(objects), _) => met.push((How::Accessed, What::Objects(objects))),
                (Cow::Borrowed(_), Some(base)) => meet(&mut met, How::Accessed, base),
                (Cow::Borrowed(_), None) => {}
            }
        }
        let is_modelled = !heap.models_at(id, statement).is_empty();
        let is_load = match &data.operation {
            Operation::GetField { object, .. } => {
                meet(&mut met, How::Touched, *object);
                true
            }
            Operation::PutField { object, .. } => {
                meet(&mut met, How::Touched, *object);
                false
            }
            Operation::Invoke { arguments, .. } | Operation::InvokeDynamic { arguments, .. } => {
                if is_modelled || heap.calls_at(id, statement).is_empty() {
                    for &argument in arguments.iter().chain(&data.result) {
                        meet(&mut met, How::Touched, argument);
                    }
                }
                // Its own thread object is what a thread runs on.
                let mut models = heap.models_at(id, statement).iter();
                models.any(|call| !returns_thread(call.model))
            }
            Operation::GetStatic { .. } | Operation::ArrayLoad { .. } | Operation::Catch(_) => true,
            _ => false,
        };
        if let (true, Some(result)) = (is_load, data.result) {
            meet(&mut met, How::Loaded, result);
        }
    }
    met
}

/// Whether a method returns the thread object of who calls it.
fn returns_thread(model: &MethodModel) -> bool {
    matches!(model.effects[..], [Effect::Return(ModelPlace::Thread)])
}
