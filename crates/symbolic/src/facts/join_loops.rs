//! Threads that are collected in a container until a loop joins all of them.
//!
//! [vonPraun04 §4.1] takes a single join of an abstract thread to wait for all of its instances. That is certain,
//! not assumed, where every instance is put into an array or collection from which nothing is ever taken
//! away, and a loop that goes over the whole of it joins each element. The container is one object for the
//! whole run, or the method that joins has made it when no instance was running.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_entity::EntityId;
use unsnarl_models::{Effect, ModelPlace};
use unsnarl_program::Program;
use unsnarl_program::body::{Operation, StatementId, Value};
use unsnarl_program::heap::{Heap, InstanceId, ObjectId, OriginId};

use crate::facts::access::{is_unconditional, value_of};
use crate::facts::containers::Containers;
use crate::facts::may_effects::MayEffectsByMethod;
use crate::facts::method::{Loop, MethodFacts, Methods};
use crate::facts::sweep::{Sweep, container_of, is_avoidable, put_by};
use crate::facts::threads::{Threads, repeats, sorted};

/// More containers of threads than this are not worth to be looked at.
const CONTAINERS: usize = 64;

/// Which threads are collected where, and which loops join them.
#[derive(Debug, Default)]
pub(crate) struct JoinLoops {
    loops: FxHashMap<InstanceId, Vec<JoinLoop>>,
    /// The threads of which a method puts instances into a container that it makes itself.
    made: FxHashMap<(InstanceId, Value), Vec<OriginId>>,
    /// The containers that the method makes itself and that a start puts its thread into.
    put_into: FxHashMap<(InstanceId, StatementId), Vec<(Value, OriginId)>>,
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

/// A loop that joins every element of a container, as far as the method alone shows.
struct Candidate {
    instance: InstanceId,
    sweep: Sweep,
    threads: Vec<OriginId>,
}

impl JoinLoops {
    pub(crate) fn new(
        program: &Program<'_>,
        heap: &Heap<'_>,
        methods: &Methods,
        threads: &Threads,
        may_effects: &MayEffectsByMethod,
    ) -> Self {
        let join_loops = Self::default();
        let mut finder = Finder { program, heap, methods, threads, may_effects, join_loops };
        finder.find();
        finder.join_loops
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

    /// The threads that have ended when a loop has, given those that are collected in the containers that
    /// the method has made.
    pub(crate) fn joined_by(
        &self,
        instance: InstanceId,
        number: usize,
        collected: &[(Value, OriginId)],
    ) -> Vec<OriginId> {
        let loops = self.loops.get(&instance).into_iter().flatten();
        let mut joined = Vec::new();
        for found in loops.filter(|found| found.number == number) {
            let is_joined = |thread: &&OriginId| {
                found.all.contains(thread)
                    || found.made.is_some_and(|made| collected.contains(&(made, **thread)))
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
    may_effects: &'f MayEffectsByMethod,
    join_loops: JoinLoops,
}

impl<'f> Finder<'f, '_> {
    fn find(&mut self) {
        let candidates = self.candidates();
        let objects = candidates
            .iter()
            .flat_map(|found| self.heap.points_to(found.instance, found.sweep.container));
        let objects = sorted(objects.copied());
        if objects.is_empty() || objects.len() > CONTAINERS {
            return;
        }
        let containers = Containers::new(
            self.program,
            self.heap,
            self.methods,
            self.threads,
            objects.iter().copied(),
        );
        let tame: FxHashSet<ObjectId> =
            objects.into_iter().filter(|&object| containers.is_tame(object)).collect();
        let joined = sorted(candidates.iter().flat_map(|found| found.threads.iter().copied()));
        let mut everywhere: FxHashMap<OriginId, Option<ObjectId>> = FxHashMap::default();
        for &thread in &joined {
            let container = self.find_puts(thread, &tame);
            everywhere.insert(thread, container);
        }
        for found in &candidates {
            let objects = self.heap.points_to(found.instance, found.sweep.container);
            let is_whole = !objects.is_empty()
                && objects.iter().all(|&object| {
                    tame.contains(&object)
                        && containers.goes_to_end(object, found.instance, &found.sweep)
                });
            if is_whole {
                self.add_loop(found, objects, &everywhere);
            }
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
                    self.join_loops.put_into.entry((instance, start)).or_default().push(put);
                    let made = self.join_loops.made.entry((instance, container)).or_default();
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
        let element = |group: &ModelPlace| value_of(facts, self.program, start, call, group);
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

    fn add_loop(
        &mut self,
        found: &Candidate,
        objects: &[ObjectId],
        everywhere: &FxHashMap<OriginId, Option<ObjectId>>,
    ) {
        let Candidate { instance, sweep, threads } = found;
        let Some(facts) = self.facts(*instance) else { return };
        let around = &facts.loops[sweep.number];
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
        self.join_loops.loops.entry(*instance).or_default().push(found);
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
                is_inside(call.statement) && self.may_effects.may_start(call.callee, thread)
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
