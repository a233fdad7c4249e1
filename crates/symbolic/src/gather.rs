//! Threads that are gathered in a container until a loop joins all of them.
//!
//! Section 4.1 takes a single join of an abstract thread to wait for all of its instances. That is certain,
//! not assumed, where every instance is put into an array or collection from which nothing is ever taken
//! away, and a loop that goes over the whole of it joins each element. The container is one object for the
//! whole run, or the method that joins has made it when no instance was running.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_entity::{EntityId, EntitySet, SecondaryMap};
use unsnarl_models::{Effect, Place};
use unsnarl_program::body::{InvokeKind, Operation, StatementId, Value};
use unsnarl_program::heap::{Heap, InstanceId, ObjectId, OriginId};
use unsnarl_program::{MethodId, Program};

use crate::access::{is_unconditional, value_of};
use crate::method::{Loop, MethodFacts, Methods};
use crate::sweep::{
    Bound, Sweep, constant, container_of, counted, invoked, is_avoidable, is_only_iterated,
    is_same, put_by,
};
use crate::threads::{Threads, is_followed, repeats, sorted};

/// More containers of threads than this are not worth to be looked at.
const CONTAINERS: usize = 64;

/// The collections that keep what is added to them, each time that it is.
const GROWING: [&[u8]; 7] = [
    b"java/util/ArrayList",
    b"java/util/LinkedList",
    b"java/util/Vector",
    b"java/util/ArrayDeque",
    b"java/util/concurrent/CopyOnWriteArrayList",
    b"java/util/concurrent/ConcurrentLinkedQueue",
    b"java/util/concurrent/ConcurrentLinkedDeque",
];

/// The methods of collections that take nothing away; what they return is not asked, but for iterators.
const HARMLESS: [&[u8]; 24] = [
    b"<init>",
    b"add",
    b"addAll",
    b"addFirst",
    b"addLast",
    b"offer",
    b"offerFirst",
    b"offerLast",
    b"push",
    b"get",
    b"getFirst",
    b"getLast",
    b"peek",
    b"size",
    b"isEmpty",
    b"contains",
    b"indexOf",
    b"iterator",
    b"forEach",
    b"stream",
    b"toArray",
    b"toString",
    b"hashCode",
    b"ensureCapacity",
];

/// Which threads are gathered where.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    loops: FxHashMap<InstanceId, Vec<JoinLoop>>,
    /// The threads of which a method puts instances into a container that it makes itself.
    made: FxHashMap<(InstanceId, Value), Vec<OriginId>>,
    /// The containers that the method makes itself and that a start puts its thread into.
    put_into: FxHashMap<(InstanceId, StatementId), Vec<(Value, OriginId)>>,
    /// The methods that may start a thread, themselves or by what they call.
    starting: FxHashMap<OriginId, EntitySet<InstanceId>>,
}

/// A loop that joins every element of a container.
#[derive(Debug)]
struct JoinLoop {
    /// Which of the loops of the method.
    number: usize,
    /// The container, if the method makes it itself.
    made: Option<Value>,
    /// The threads that the elements stand for.
    threads: Vec<OriginId>,
    /// Those of them that are in that container wherever they are started.
    all: Vec<OriginId>,
}

/// A loop that joins every element of a container, as far as the method alone tells.
struct Candidate {
    instance: InstanceId,
    sweep: Sweep,
    threads: Vec<OriginId>,
}

/// What happens to an array or collection.
#[derive(Default)]
struct Container {
    /// The stores into an array.
    stores: Vec<(InstanceId, StatementId)>,
    /// Somebody may take elements away.
    is_wild: bool,
}

impl Gathered {
    pub(crate) fn new(
        program: &Program<'_>,
        heap: &Heap<'_>,
        methods: &Methods,
        threads: &Threads,
    ) -> Self {
        let mut finder = Finder {
            program,
            heap,
            methods,
            threads,
            containers: FxHashMap::default(),
            gathered: Self::default(),
        };
        finder.find();
        finder.gathered
    }

    /// The threads that a container is for that a method makes.
    pub(crate) fn made(&self, instance: InstanceId, container: Value) -> &[OriginId] {
        self.made.get(&(instance, container)).map_or(&[], Vec::as_slice)
    }

    /// Whether a start puts its thread into a container that the method has made.
    pub(crate) fn is_put(
        &self,
        instance: InstanceId,
        start: StatementId,
        put: (Value, OriginId),
    ) -> bool {
        self.put_into.get(&(instance, start)).is_some_and(|known| known.contains(&put))
    }

    /// Whether a method may start a thread, itself or by what it calls.
    pub(crate) fn may_start(&self, instance: InstanceId, thread: OriginId) -> bool {
        self.starting.get(&thread).is_none_or(|starting| starting.contains(instance))
    }

    /// The threads that have ended when a loop has, given those that are gathered in the containers that
    /// the method has made.
    pub(crate) fn joined_by(
        &self,
        instance: InstanceId,
        number: usize,
        gathered: &[(Value, OriginId)],
    ) -> Vec<OriginId> {
        let loops = self.loops.get(&instance).into_iter().flatten();
        let mut joined = Vec::new();
        for found in loops.filter(|found| found.number == number) {
            let is_joined = |thread: &&OriginId| {
                found.all.contains(thread)
                    || found.made.is_some_and(|made| gathered.contains(&(made, **thread)))
            };
            joined.extend(found.threads.iter().filter(is_joined));
        }
        joined
    }
}

struct Finder<'f, 'm> {
    program: &'f Program<'f>,
    heap: &'f Heap<'m>,
    methods: &'f Methods,
    threads: &'f Threads,
    containers: FxHashMap<ObjectId, Container>,
    gathered: Gathered,
}

impl<'f> Finder<'f, '_> {
    fn find(&mut self) {
        let candidates = self.candidates();
        let containers = candidates
            .iter()
            .flat_map(|found| self.heap.points_to(found.instance, found.sweep.container));
        self.containers = containers.map(|&object| (object, Container::default())).collect();
        if self.containers.is_empty() || self.containers.len() > CONTAINERS {
            return;
        }
        self.find_uses();
        let tame: FxHashSet<ObjectId> =
            self.containers.keys().copied().filter(|&object| self.is_tame(object)).collect();
        let joined = sorted(candidates.iter().flat_map(|found| found.threads.iter().copied()));
        let mut everywhere: FxHashMap<OriginId, Option<ObjectId>> = FxHashMap::default();
        for &thread in &joined {
            let container = self.find_puts(thread, &tame);
            everywhere.insert(thread, container);
        }
        self.find_starting(&joined);
        for found in &candidates {
            self.add_loop(found, &tame, &everywhere);
        }
    }

    fn facts(&self, instance: InstanceId) -> Option<&'f MethodFacts> {
        self.methods.get(self.heap.instances[instance].method).map(|facts| &**facts)
    }

    /// The loops each round of which certainly joins another element of a container.
    fn candidates(&self) -> Vec<Candidate> {
        let mut found = Vec::new();
        for instance in self.heap.instances.keys() {
            let Some(facts) = self.facts(instance).filter(|facts| !facts.loops.is_empty()) else {
                continue;
            };
            for id in facts.body.statements.keys() {
                if !facts.is_in_cycle(id) {
                    continue;
                }
                // Whichever method is called there, it waits.
                let &[call] = self.heap.models_at(instance, id) else { continue };
                for effect in &call.model.effects {
                    let Effect::Join { group, when, .. } = effect else { continue };
                    if is_unconditional(when)
                        && let Some(element) = value_of(facts, self.program, id, call, group)
                        && let Some(sweep) = Sweep::of(self.program, facts, element)
                        && is_in_every_round(facts, &facts.loops[sweep.number], id)
                    {
                        let objects = self.heap.points_to(instance, element);
                        let threads = self.threads.in_groups(objects);
                        found.push(Candidate { instance, sweep, threads });
                    }
                }
            }
        }
        found
    }

    /// Notes what the program does with the containers.
    fn find_uses(&mut self) {
        let mut objects: Vec<ObjectId> = self.containers.keys().copied().collect();
        objects.sort_unstable();
        let mut stores = Vec::new();
        let mut wild = Vec::new();
        for instance in self.heap.instances.keys() {
            let Some(facts) = self.facts(instance) else { continue };
            let meant = |value: Value| {
                let may = self.heap.points_to(instance, value);
                objects.iter().copied().filter(|object| may.binary_search(object).is_ok())
            };
            for (id, statement) in facts.body.statements.iter() {
                match &statement.operation {
                    Operation::ArrayStore { array, .. } => {
                        stores.extend(meant(*array).map(|object| (object, (instance, id))));
                    }
                    Operation::InvokeDynamic { arguments, .. } => {
                        wild.extend(arguments.iter().flat_map(|&argument| meant(argument)));
                    }
                    Operation::Invoke { kind, arguments, .. } => {
                        // What has a body is looked at there.
                        let is_seen = self.heap.models_at(instance, id).is_empty()
                            && !self.heap.calls_at(instance, id).is_empty();
                        for (position, &argument) in arguments.iter().enumerate() {
                            let is_receiver = position == 0 && *kind != InvokeKind::Static;
                            let is_fine = is_seen
                                || is_receiver && self.is_harmless(facts, id, statement.result);
                            if !is_fine {
                                wild.extend(meant(argument));
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        for (object, store) in stores {
            if let Some(container) = self.containers.get_mut(&object) {
                container.stores.push(store);
            }
        }
        for object in wild {
            if let Some(container) = self.containers.get_mut(&object) {
                container.is_wild = true;
            }
        }
    }

    /// Whether a call on a collection takes nothing away.
    fn is_harmless(&self, facts: &MethodFacts, call: StatementId, result: Option<Value>) -> bool {
        let Some((name, _)) = invoked(self.program, facts, call) else { return false };
        let is_iterator = name == b"iterator";
        HARMLESS.contains(&name)
            && (!is_iterator
                || result.is_none_or(|made| is_only_iterated(self.program, facts, made)))
    }

    /// Whether what is once in a container stays there.
    fn is_tame(&self, object: ObjectId) -> bool {
        let Some(container) = self.containers.get(&object).filter(|known| !known.is_wild) else {
            return false;
        };
        match self.heap.objects[object].object.class() {
            Some(class) => {
                let name = self.program.classes()[class].name;
                GROWING.contains(&self.program.names.bytes(name))
            }
            None => self.is_filled_once(object, container),
        }
    }

    /// Whether no element of an array is stored to twice.
    fn is_filled_once(&self, object: ObjectId, container: &Container) -> bool {
        let Some(made) = self.heap.objects[object].made else { return false };
        let mut sites: Vec<(MethodId, StatementId)> = Vec::new();
        let mut numbers: Vec<Option<i32>> = Vec::new();
        let mut is_known = true;
        for &(instance, id) in &container.stores {
            let Some(facts) = self.facts(instance) else { return false };
            let Operation::ArrayStore { array, index, .. } = facts.body.statements[id].operation
            else {
                return false;
            };
            let method = self.heap.instances[instance].method;
            let number = constant(facts, index);
            let own = match number {
                Some(_) => None,
                None => match counted(facts, index) {
                    Some((own, _)) => Some(own),
                    None => return false,
                },
            };
            let block = facts.block_of(id);
            let mut around = facts
                .loops
                .iter()
                .enumerate()
                .filter(|(at, found)| Some(*at) != own && found.blocks.contains(block));
            let is_own = made.0 == method
                && facts.body.statements[made.1].result == Some(facts.uncast(array));
            let is_again = sites.contains(&(method, id));
            is_known &= if is_own {
                let made_in = facts.block_of(made.1);
                around.all(|(_, found)| found.blocks.contains(made_in))
            } else {
                around.next().is_none() && !is_again && !self.threads.repeated.contains(instance)
            };
            if !is_again {
                sites.push((method, id));
                numbers.push(number);
            }
        }
        let mut distinct: Vec<i32> = numbers.iter().copied().flatten().collect();
        distinct.sort_unstable();
        distinct.dedup();
        is_known && (sites.len() <= 1 || distinct.len() == sites.len())
    }

    /// Notes which starts put a thread into a container of the method itself; the one object into which
    /// all of them do, if there is one.
    fn find_puts(&mut self, thread: OriginId, tame: &FxHashSet<ObjectId>) -> Option<ObjectId> {
        if repeats(self.heap.origins[thread].kind) {
            return None;
        }
        let mut common: Option<Vec<ObjectId>> = None;
        for &(instance, start) in &self.threads.starts[thread] {
            let containers = self.containers_of_start(thread, instance, start);
            let mut single = Vec::new();
            for container in containers {
                let objects = self.heap.points_to(instance, container);
                if objects.is_empty() || !objects.iter().all(|object| tame.contains(object)) {
                    continue;
                }
                if let &[object] = objects
                    && self.threads.unique_objects.contains(object)
                {
                    single.push(object);
                }
                if self.is_made_here(instance, container) {
                    let put = (container, thread);
                    self.gathered.put_into.entry((instance, start)).or_default().push(put);
                    let made = self.gathered.made.entry((instance, container)).or_default();
                    if !made.contains(&thread) {
                        made.push(thread);
                    }
                }
            }
            match &mut common {
                None => common = Some(single),
                Some(common) => common.retain(|object| single.contains(object)),
            }
        }
        common?.first().copied()
    }

    fn is_made_here(&self, instance: InstanceId, container: Value) -> bool {
        self.facts(instance).is_some_and(|facts| {
            matches!(
                facts.body.definition(container).operation,
                Operation::New(_) | Operation::NewArray { .. }
            )
        })
    }

    /// The containers that the object by which a thread is joined is in when it is started, or is put
    /// into before anybody joins.
    fn containers_of_start(
        &self,
        thread: OriginId,
        instance: InstanceId,
        start: StatementId,
    ) -> Vec<Value> {
        let (Some(facts), Some(site)) = (self.facts(instance), self.heap.origins[thread].start)
        else {
            return Vec::new();
        };
        let Effect::Start { groups, .. } = site.effect else { return Vec::new() };
        let &[call] = self.heap.models_at(instance, start) else { return Vec::new() };
        if call.method != site.method {
            return Vec::new();
        }
        let element = |group: &Place| value_of(facts, self.program, start, call, group);
        let mut containers = Vec::new();
        for element in groups.iter().filter_map(element) {
            let element = facts.uncast(element);
            containers.extend(container_of(self.program, facts, element).map(|c| facts.uncast(c)));
            for id in facts.body.statements.keys() {
                if let Some((container, put)) = put_by(self.program, facts, id)
                    && facts.uncast(put) == element
                    && (!is_avoidable(facts, None, id, None, |found| found == start)
                        || self.is_put_after(facts, instance, (start, id), element))
                {
                    containers.push(facts.uncast(container));
                }
            }
        }
        containers.sort_unstable();
        containers.dedup();
        containers
    }

    /// Whether what was started is put into its container before anything else happens that matters: a
    /// loop, a call of a method of the program, the end of the method, or another such start.
    fn is_put_after(
        &self,
        facts: &MethodFacts,
        instance: InstanceId,
        (start, put): (StatementId, StatementId),
        element: Value,
    ) -> bool {
        !is_avoidable(facts, Some(start), put, None, |id| {
            let is_head =
                facts.loops.iter().any(|found| facts.body.blocks[found.header].start == id);
            let statement = &facts.body.statements[id];
            let calls = self.heap.calls_at(instance, id);
            is_head
                || id == start
                || statement.result == Some(element)
                || matches!(statement.operation, Operation::Return(_))
                || id != put && !calls.is_empty()
        })
    }

    /// Finds the methods that may start threads, themselves or by what they call.
    fn find_starting(&mut self, joined: &[OriginId]) {
        let mut callers: SecondaryMap<InstanceId, Vec<InstanceId>> = SecondaryMap::new();
        for caller in self.heap.instances.keys() {
            for call in self.heap.calls_of(caller) {
                if is_followed(self.heap, caller, call.callee, call.kind) {
                    callers[call.callee].push(caller);
                }
            }
        }
        for &thread in joined {
            let mut starting: EntitySet<InstanceId> = EntitySet::new();
            let mut open: Vec<InstanceId> =
                self.threads.starts[thread].iter().map(|&(instance, _)| instance).collect();
            while let Some(instance) = open.pop() {
                if starting.insert(instance) {
                    open.extend(&callers[instance]);
                }
            }
            self.gathered.starting.insert(thread, starting);
        }
    }

    fn add_loop(
        &mut self,
        found: &Candidate,
        tame: &FxHashSet<ObjectId>,
        everywhere: &FxHashMap<OriginId, Option<ObjectId>>,
    ) {
        let Candidate { instance, sweep, threads } = found;
        let Some(facts) = self.facts(*instance) else { return };
        let around = &facts.loops[sweep.number];
        let objects = self.heap.points_to(*instance, sweep.container);
        let is_whole = !objects.is_empty()
            && objects.iter().all(|object| {
                tame.contains(object) && self.goes_to_end(*object, *instance, sweep.bound)
            });
        if !is_whole {
            return;
        }
        let container = facts.uncast(sweep.container);
        let made_in = facts.block_of(facts.body.values[container].definition);
        let is_made = self.is_made_here(*instance, container) && !around.blocks.contains(made_in);
        let is_only = |thread: &OriginId| matches!(objects, [object] if everywhere.get(thread) == Some(&Some(*object)));
        // A thread that is started in a round was perhaps joined before that.
        let threads: Vec<OriginId> = threads
            .iter()
            .copied()
            .filter(|&thread| !self.starts_within(*instance, facts, around, thread))
            .collect();
        let all = threads.iter().copied().filter(is_only).collect();
        let number = sweep.number;
        let found = JoinLoop { number, made: is_made.then_some(container), threads, all };
        self.gathered.loops.entry(*instance).or_default().push(found);
    }

    /// Whether a loop starts a thread.
    fn starts_within(
        &self,
        instance: InstanceId,
        facts: &MethodFacts,
        around: &Loop,
        thread: OriginId,
    ) -> bool {
        let is_inside = |id: StatementId| around.blocks.contains(facts.block_of(id));
        let mut starts = self.threads.starts[thread].iter();
        starts.any(|&(starter, id)| starter == instance && is_inside(id))
            || self.heap.calls_of(instance).iter().any(|call| {
                is_inside(call.statement) && self.gathered.may_start(call.callee, thread)
            })
    }

    /// Whether a loop comes to the last element that is ever stored.
    fn goes_to_end(&self, object: ObjectId, instance: InstanceId, bound: Bound) -> bool {
        let Bound::Before(bound) = bound else { return true };
        let method = self.heap.instances[instance].method;
        let Some(facts) = self.facts(instance) else { return false };
        let number = constant(facts, bound);
        let is_bound = |other_method: MethodId, other_facts: &MethodFacts, other: Value| {
            other_method == method && is_same(facts, bound, other)
                || number.is_some() && number == constant(other_facts, other)
        };
        if let Some((maker, id)) = self.heap.objects[object].made
            && let Some(made) = self.methods.get(maker)
            && let Operation::NewArray { lengths, .. } = &made.body.statements[id].operation
            && lengths.first().is_some_and(|&length| is_bound(maker, made, length))
        {
            return true;
        }
        let Some(container) = self.containers.get(&object) else { return false };
        container.stores.iter().all(|&(storing, id)| {
            let Some(stored) = self.facts(storing) else { return false };
            match stored.body.statements[id].operation {
                Operation::ArrayStore { index, .. } => {
                    counted(stored, index).is_some_and(|(_, end)| {
                        is_bound(self.heap.instances[storing].method, stored, end)
                    })
                }
                _ => false,
            }
        })
    }
}

/// Whether no round of a loop gets around a statement.
fn is_in_every_round(facts: &MethodFacts, around: &Loop, statement: StatementId) -> bool {
    let head = facts.body.blocks[around.header].start;
    around.blocks.contains(facts.block_of(statement))
        && statement.index() > head.index()
        && !is_avoidable(facts, Some(head), statement, Some(&around.blocks), |id| id == head)
}
