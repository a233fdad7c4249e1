//! Abstract threads and how often things happen [vonPraun04 §3.2, §3.4.4].
//!
//! An abstract thread is *unique* if it stands for one thread at run time: the main thread, a class
//! initializer, and a thread whose start is executed at most once. A method in a context is executed at
//! most once if its thread is unique and exactly one call, outside of loops and in a caller that is
//! itself executed at most once, leads to it.

use rustc_hash::FxHashMap;
use unsnarl_entity::{EntityId, EntitySet, SecondaryMap};
use unsnarl_models::{Blocking, Effect, ModelPlace, StartKind};
use unsnarl_program::body::{Operation, StatementId};
use unsnarl_program::heap::{
    EdgeKind, Heap, HeapObject, InstanceId, ModelCall, Object, ObjectId, OriginId, OriginKind,
    StartSite,
};
use unsnarl_program::{MethodId, Program};

use crate::facts::method::Methods;
use crate::facts::tasks::single_tasks;

/// The abstract threads and what is executed at most once.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// One thread at run time.
    pub(crate) unique: EntitySet<OriginId>,
    /// Started at most once, however often they run then.
    pub(crate) started_once: EntitySet<OriginId>,
    /// Methods that may be executed more than once, even if their thread is unique.
    pub(crate) repeated: EntitySet<InstanceId>,
    /// Objects that are one object at run time.
    pub(crate) unique_objects: EntitySet<ObjectId>,
    /// The threads that a statement starts.
    pub(crate) started_at: FxHashMap<(InstanceId, StatementId), Vec<OriginId>>,
    /// The statements that start a thread.
    pub(crate) starts: SecondaryMap<OriginId, Vec<(InstanceId, StatementId)>>,
    /// The threads that start a thread; sorted.
    starters: SecondaryMap<OriginId, Vec<OriginId>>,
    /// For each group that a thread is started in, the objects that it may be.
    pub(crate) groups: SecondaryMap<OriginId, Vec<Vec<ObjectId>>>,
    /// For each group that must end before a thread begins, the objects that it may be.
    pub(crate) after: SecondaryMap<OriginId, Vec<Vec<ObjectId>>>,
    /// The threads that are started in a group; sorted.
    by_group: FxHashMap<ObjectId, Vec<OriginId>>,
    /// The statements that join some of a thread.
    pub(crate) join_sites: SecondaryMap<OriginId, Vec<(MethodId, StatementId)>>,
    /// Locks that several threads may take at once, if they can all see them.
    pub(crate) contended: EntitySet<ObjectId>,
    /// Objects that run what is started in them one after another.
    pub(crate) serial: EntitySet<ObjectId>,
    /// Objects with a limited number of threads, or limited room.
    pub(crate) limited: EntitySet<ObjectId>,
    /// Containers from which something is taken by who waits for it.
    pub(crate) awaited: EntitySet<ObjectId>,
    /// Threads that are the only one of the object that they run on, whoever starts them.
    pub(crate) only_of_receiver: EntitySet<OriginId>,
}

impl Threads {
    pub(crate) fn new(
        program: &Program<'_>,
        heap: &Heap<'_>,
        methods: &Methods,
        class_locks: &FxHashMap<MethodId, ObjectId>,
    ) -> Self {
        let mut threads = Self::default();
        for id in heap.instances.keys() {
            for call in heap.calls_of(id) {
                if !call.kind.is_within_thread() {
                    for &thread in heap.threads_of(call.callee) {
                        threads.note_start(program, heap, thread, id, call.statement);
                    }
                }
            }
        }
        for thread in heap.origins.keys() {
            let starts = threads.starts[thread].iter();
            let starters =
                starts.flat_map(|&(instance, _)| heap.threads_of(instance).iter().copied());
            threads.starters[thread] = sorted(starters);
        }
        threads.repeated = repeated(heap, methods);
        threads.find_unique(heap, methods);
        let repeated_by_thread =
            heap.instances.keys().filter(|&id| threads.unique_thread_of(heap, id).is_none());
        let repeated_by_thread: Vec<InstanceId> = repeated_by_thread.collect();
        threads.repeated.extend(repeated_by_thread);
        threads.find_unique_objects(heap, methods);
        threads.find_groups(program, heap);
        threads.find_contended(program, heap, methods, class_locks);
        threads.find_only_of_receiver(program, heap, methods);
        threads
    }

    /// The only thread that runs a method in a context, if it is unique.
    fn unique_thread_of(&self, heap: &Heap<'_>, instance: InstanceId) -> Option<OriginId> {
        match *heap.threads_of(instance) {
            [thread] if self.unique.contains(thread) => Some(thread),
            _ => None,
        }
    }

    /// A thread object can be started only once, and what one thread object runs has one thread.
    fn find_only_of_receiver(&mut self, program: &Program<'_>, heap: &Heap<'_>, methods: &Methods) {
        let tasks = single_tasks(program, heap, methods);
        for (thread, origin) in heap.origins.iter() {
            let (Some(receiver), Some(start)) = (origin.receiver, origin.start) else { continue };
            let Effect::Start { call, kind, groups, .. } = start.effect else { continue };
            if !matches!(kind, StartKind::Thread | StartKind::VirtualThread)
                || !groups.contains(&call.receiver)
            {
                continue;
            }
            let is_started = |&(instance, statement): &(InstanceId, StatementId)| {
                heap.models_at(instance, statement).iter().any(|&model| {
                    model.method == start.method
                        && heap
                            .resolve(program, instance, statement, model, &call.receiver)
                            .contains(&receiver)
                })
            };
            let starts = &self.starts[thread];
            let is_only = match starts.iter().any(is_started) {
                true => starts.iter().all(is_started),
                // What is a thread object itself can be started as well.
                false => tasks.contains(receiver) && !self.by_group.contains_key(&receiver),
            };
            if is_only {
                self.only_of_receiver.insert(thread);
            }
        }
    }

    /// Whether a statement in a context is executed at most once.
    pub(crate) fn is_once(
        &self,
        heap: &Heap<'_>,
        methods: &Methods,
        instance: InstanceId,
        statement: StatementId,
    ) -> bool {
        let facts = methods.get(heap.instances[instance].method);
        !self.repeated.contains(instance)
            && facts.is_some_and(|facts| !facts.is_in_cycle(statement))
    }

    /// A statement starts a thread.
    fn note_start(
        &mut self,
        program: &Program<'_>,
        heap: &Heap<'_>,
        thread: OriginId,
        instance: InstanceId,
        statement: StatementId,
    ) {
        let here = self.started_at.entry((instance, statement)).or_default();
        if here.contains(&thread) {
            return;
        }
        here.push(thread);
        here.sort_unstable();
        self.starts[thread].push((instance, statement));
        let Some(StartSite { method, effect, .. }) = heap.origins[thread].start else { return };
        let Effect::Start { groups, after, .. } = effect else { return };
        let models = heap.models_at(instance, statement).iter();
        let calls: Vec<ModelCall<'_>> = models
            .copied()
            .filter(|call| call.method == method && call.model.effects.contains(effect))
            .collect();
        let resolve = |place: &ModelPlace| {
            let calls = calls.iter();
            sorted(calls.flat_map(|&call| heap.resolve(program, instance, statement, call, place)))
        };
        for (known, places) in [(&mut self.groups, groups), (&mut self.after, after)] {
            known[thread].resize(places.len(), Vec::new());
            for (known, place) in known[thread].iter_mut().zip(places) {
                known.extend(resolve(place));
                *known = sorted(known.iter().copied());
            }
        }
        for &group in self.groups[thread].iter().flatten() {
            let threads = self.by_group.entry(group).or_default();
            if !threads.contains(&thread) {
                threads.push(thread);
            }
        }
    }

    /// The threads that start a thread; sorted.
    pub(crate) fn starters(&self, thread: OriginId) -> &[OriginId] {
        &self.starters[thread]
    }

    fn find_unique(&mut self, heap: &Heap<'_>, methods: &Methods) {
        // A thread whose start is met on the way to itself is not unique: hence "not yet known" is no.
        for root in heap.origins.keys() {
            let mut chain = Vec::new();
            let mut next = Some(root);
            while let Some(origin) = next
                && !chain.contains(&origin)
                && !self.unique.contains(origin)
            {
                chain.push(origin);
                let start = heap.origins[origin].start;
                next = start.and_then(|start| heap.threads_of(start.instance).first().copied());
            }
            for origin in chain.into_iter().rev() {
                if self.is_started_once(heap, methods, origin) {
                    self.started_once.insert(origin);
                    if !repeats(heap.origins[origin].kind) {
                        self.unique.insert(origin);
                    }
                }
            }
        }
    }

    fn is_started_once(&self, heap: &Heap<'_>, methods: &Methods, origin: OriginId) -> bool {
        let data = &heap.origins[origin];
        match data.kind {
            OriginKind::Main | OriginKind::Init => true,
            OriginKind::Client | OriginKind::Later | OriginKind::Mixed => false,
            OriginKind::Started(_) => {
                let is_single = match data.start.map(|start| start.effect) {
                    Some(Effect::Start { call, .. }) => is_single(&call.receiver),
                    _ => false,
                };
                is_single
                    && matches!(self.starts[origin][..], [(instance, statement)]
                        if self.unique_thread_of(heap, instance).is_some()
                            && self.is_once(heap, methods, instance, statement))
            }
        }
    }

    fn find_unique_objects(&mut self, heap: &Heap<'_>, methods: &Methods) {
        let mut made_by: FxHashMap<_, Vec<InstanceId>> = FxHashMap::default();
        for (id, instance) in heap.instances.iter() {
            made_by.entry(instance.method).or_default().push(id);
        }
        for (id, object) in heap.objects.iter() {
            let is_unique = match object.object {
                Object::Class(_) | Object::ClassName(_) | Object::Member { .. } => true,
                Object::Unknown(_) => false,
                _ => self.is_made_once(heap, methods, &made_by, id, object),
            };
            if is_unique {
                self.unique_objects.insert(id);
            }
        }
    }

    fn is_made_once(
        &self,
        heap: &Heap<'_>,
        methods: &Methods,
        made_by: &FxHashMap<MethodId, Vec<InstanceId>>,
        id: ObjectId,
        object: &HeapObject,
    ) -> bool {
        let Some((method, statement)) = object.made else { return false };
        let Some(result) =
            methods.get(method).and_then(|facts| facts.body.statements[statement].result)
        else {
            return false;
        };
        let mut makers = made_by.get(&method).into_iter().flatten().filter(|&&instance| {
            object.origin.is_none_or(|origin| heap.threads_of(instance) == [origin])
                && heap.points_to(instance, result).contains(&id)
        });
        let (maker, other) = (makers.next(), makers.next());
        other.is_none() && maker.is_some_and(|&maker| self.is_once(heap, methods, maker, statement))
    }

    /// The threads that are started in one of these groups; sorted.
    pub(crate) fn in_groups(&self, groups: &[ObjectId]) -> Vec<OriginId> {
        let threads = groups.iter().filter_map(|group| self.by_group.get(group));
        sorted(threads.flatten().copied())
    }

    fn find_contended(
        &mut self,
        program: &Program<'_>,
        heap: &Heap<'_>,
        methods: &Methods,
        class_locks: &FxHashMap<MethodId, ObjectId>,
    ) {
        let is_initializer = |thread: &OriginId| heap.origins[*thread].kind == OriginKind::Init;
        let mut takers: SecondaryMap<ObjectId, Option<Option<OriginId>>> = SecondaryMap::new();
        for (id, instance) in heap.instances.iter() {
            let Some(facts) = methods.get(instance.method) else { continue };
            if heap.threads_of(id).iter().all(is_initializer) {
                continue;
            }
            let one = self.unique_thread_of(heap, id);
            let mut take = |objects: &[ObjectId]| {
                for &object in objects {
                    let taker = &mut takers[object];
                    *taker = match *taker {
                        None => Some(one),
                        Some(known) if known == one => Some(known),
                        Some(_) => Some(None),
                    };
                }
            };
            if facts.is_synchronized {
                let class_lock = class_locks.get(&instance.method).copied();
                take(class_lock.or(instance.receiver).as_slice());
            }
            for (statement, data) in facts.body.statements.iter() {
                match data.operation {
                    Operation::MonitorEnter(value) => take(heap.points_to(id, value)),
                    Operation::Parameter(0) if facts.is_synchronized && !facts.is_static => {
                        take(data.result.map_or(&[], |this| heap.points_to(id, this)));
                    }
                    Operation::Invoke { .. } => {
                        for &call in heap.models_at(id, statement) {
                            for effect in &call.model.effects {
                                if let Effect::Acquire { lock, .. } = effect {
                                    take(&heap.resolve(program, id, statement, call, lock));
                                }
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        for (object, taker) in takers.iter() {
            if *taker == Some(None) {
                self.contended.insert(object);
            }
        }
    }

    /// Finds out about executors and containers, and where their tasks are waited for.
    fn find_groups(&mut self, program: &Program<'_>, heap: &Heap<'_>) {
        for (id, instance) in heap.instances.iter() {
            let Some(body) = program.lowered_body(instance.method) else { continue };
            for statement in body.statements.keys() {
                for &call in heap.models_at(id, statement) {
                    for effect in &call.model.effects {
                        let objects = |place| heap.resolve(program, id, statement, call, place);
                        let objects = match effect {
                            Effect::Serial(group) => {
                                self.serial.extend(objects(group));
                                continue;
                            }
                            Effect::Limited(place) => {
                                self.limited.extend(objects(place));
                                continue;
                            }
                            Effect::Receive {
                                within: Some(container),
                                blocking: Blocking::Forever,
                                ..
                            } => {
                                self.awaited.extend(objects(container));
                                continue;
                            }
                            Effect::Join { group, .. } => objects(group),
                            _ => continue,
                        };
                        for thread in self.in_groups(&objects) {
                            let site = (instance.method, statement);
                            let sites = &mut self.join_sites[thread];
                            if !sites.contains(&site) {
                                sites.push(site);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Whether one start runs many times.
pub(crate) fn repeats(kind: OriginKind) -> bool {
    use StartKind::{ParallelStream, PeriodicTask};
    matches!(kind, OriginKind::Started(ParallelStream | PeriodicTask))
}

/// Whether a place is one object, not all that are in a container.
fn is_single(place: &ModelPlace) -> bool {
    match place {
        ModelPlace::Element(_) | ModelPlace::Variable { .. } => false,
        ModelPlace::Slot(inner, name) => {
            !matches!(&**name, "element" | "key" | "value") && is_single(inner)
        }
        _ => true,
    }
}

/// The methods that may be executed more than once by one thread.
fn repeated(heap: &Heap<'_>, methods: &Methods) -> EntitySet<InstanceId> {
    let mut callers: SecondaryMap<InstanceId, u8> = SecondaryMap::new();
    let mut repeated = EntitySet::new();
    let mut open = Vec::new();
    for origin in heap.origins.values() {
        for &entry in &origin.entries {
            callers[entry] = callers[entry].saturating_add(1);
        }
    }
    for id in heap.instances.keys() {
        let facts = methods.get(heap.instances[id].method);
        for call in heap.calls_of(id) {
            if !is_followed(heap, id, call.callee, call.kind) {
                continue;
            }
            callers[call.callee] = callers[call.callee].saturating_add(1);
            let is_loop = call.kind == EdgeKind::Callback
                || facts.is_none_or(|facts| facts.is_in_cycle(call.statement));
            if (is_loop || callers[call.callee] > 1) && repeated.insert(call.callee) {
                open.push(call.callee);
            }
        }
    }
    for id in recursive(heap) {
        if repeated.insert(id) {
            open.push(id);
        }
    }
    while let Some(id) = open.pop() {
        for call in heap.calls_of(id) {
            if is_followed(heap, id, call.callee, call.kind) && repeated.insert(call.callee) {
                open.push(call.callee);
            }
        }
    }
    repeated
}

/// Whether a call is part of the caller's thread; class initializers are threads of their own.
pub(crate) fn is_followed(
    heap: &Heap<'_>,
    caller: InstanceId,
    callee: InstanceId,
    kind: EdgeKind,
) -> bool {
    kind.is_within_thread()
        && (kind != EdgeKind::ClassInit || heap.threads_of(caller) == heap.threads_of(callee))
}

/// The methods that may call themselves, directly or not. A method that calls itself within its thread
/// has a caller in its own component: one besides the call that enters it, so that it was counted
/// above already unless nothing enters it.
fn recursive(heap: &Heap<'_>) -> Vec<InstanceId> {
    // Depth first, with the methods on the way marked: an edge to one of them closes a cycle, and the
    // method that it leads to has at least that call and the one by which it was entered.
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let mut state: SecondaryMap<InstanceId, u8> = SecondaryMap::new();
    let mut found = Vec::new();
    for root in heap.instances.keys() {
        if state[root] != NEW {
            continue;
        }
        state[root] = OPEN;
        let mut stack = vec![(root, 0)];
        while let Some((id, next)) = stack.last_mut() {
            let (id, calls) = (*id, heap.calls_of(*id));
            let Some(call) = calls.get(*next) else {
                state[id] = DONE;
                stack.pop();
                continue;
            };
            *next += 1;
            if !is_followed(heap, id, call.callee, call.kind) {
                continue;
            }
            match state[call.callee] {
                NEW => {
                    state[call.callee] = OPEN;
                    stack.push((call.callee, 0));
                }
                OPEN => found.push(call.callee),
                _ => {}
            }
        }
    }
    found
}

/// A short name of an abstract thread for people.
pub(crate) fn name(program: &Program<'_>, heap: &Heap<'_>, thread: OriginId) -> String {
    use unsnarl_classpath::Role;
    let origin = &heap.origins[thread];
    let kind = match origin.kind {
        OriginKind::Main => return "main".to_owned(),
        OriginKind::Client => return "client".to_owned(),
        OriginKind::Init => return "class initializer".to_owned(),
        OriginKind::Mixed => return "any thread".to_owned(),
        OriginKind::Later => "callback".to_owned(),
        OriginKind::Started(kind) => kind.word().replace('-', " "),
    };
    let class = origin.receiver.and_then(|receiver| heap.objects[receiver].object.class());
    if let Some(class) = class
        && !matches!(program.classes()[class].origin, unsnarl_program::Origin::Lambda(_))
        && program.role(class) == Some(Role::Input)
    {
        let name = program.class_text(class);
        let simple = name.rsplit(['.', '$']).next().unwrap_or(&name);
        if !simple.is_empty() && !simple.starts_with(|first: char| first.is_ascii_digit()) {
            return simple.to_owned();
        }
    }
    let Some(start) = origin.start else { return kind };
    match place_of(program, heap, start.instance, start.statement) {
        Some(place) => format!("{kind} at {place}"),
        None => kind,
    }
}

/// `File.java:12`, of the nearest caller that has lines.
fn place_of(
    program: &Program<'_>,
    heap: &Heap<'_>,
    instance: InstanceId,
    statement: StatementId,
) -> Option<String> {
    let method = heap.instances[instance].method;
    let class = program.class_around(program.methods()[method].class);
    let file = program.source_file(class)?;
    let line = program.lowered_body(method)?.statements[statement].line;
    Some(if line == 0 { file } else { format!("{file}:{line}") })
}

/// Numbers things that are found again by their value; small and sorted.
pub(crate) fn sorted<T: EntityId>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.sort_unstable();
    items.dedup();
    items
}
