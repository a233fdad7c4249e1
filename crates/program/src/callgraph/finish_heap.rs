//! From the solved equations to the heap shape graph.

use rustc_hash::FxHashMap;
use smallvec::smallvec;
use unsnarl_entity::{EntityId, PrimaryMap, SecondaryMap};
use unsnarl_models::Models;

use super::EdgeKind;
use super::build::{Builder, Precision, build};
use super::entries::EntryPoints;
use super::object::{ObjectId, ObjectSet};
use super::solver::{NodeId, Solver};
use super::threads::Threads;
use crate::heap::{Call, Heap, HeapObject, InstanceId, OriginId, OriginKind, SetId};
use crate::program::Program;

/// Solves a program on the heap.
pub(crate) fn solve_heap<'m>(
    program: &mut Program<'_>,
    models: &'m Models,
    entries: &EntryPoints,
    is_library: bool,
) -> Heap<'m> {
    let mut builder = build(program, models, entries, Precision::Heap);
    if is_library {
        builder.threads.all[Threads::main()].kind = OriginKind::Client;
    }
    let mut sets = Sets::new();
    let mut values: SecondaryMap<InstanceId, Box<[SetId]>> = SecondaryMap::new();
    for (instance, &data) in builder.instances.iter() {
        if let Some(first) = builder.values[instance]
            && let Some(body) = builder.program.lowered_body(data.method)
        {
            let nodes = (0..body.values.len()).map(|index| Solver::offset(first, index));
            let own: Vec<SetId> = nodes.map(|node| sets.of_node(&builder.solver, node)).collect();
            values[instance] = own.into();
        }
    }
    let mut widened = Vec::new();
    if builder.threads.is_widened {
        widened.push(
            "the program starts very many kinds of threads; those of one start are taken together"
                .to_owned(),
        );
    }
    if builder.is_full() {
        widened.push(
            "the program is very large: far from where its threads begin, the objects of a statement \
             are not told apart by thread and by the object on whose behalf they are made"
                .to_owned(),
        );
    }
    let contents = sets.of_all(&builder, builder.slots.iter());
    let statics = sets.of_all(&builder, builder.fields.iter());
    let static_places = sets.of_all(&builder, builder.statics.iter());
    let objects = builder.solver.objects.all.iter().map(|(_, &object)| {
        let made = object.made();
        HeapObject {
            object,
            made: made.map(|(method, statement, _)| (method, statement)),
            origin: match object {
                super::Object::OfThread { origin, .. } => Some(origin),
                _ => made.and_then(|(_, _, context)| context.origin),
            }
            .filter(|&origin| origin != Threads::mixed()),
        }
    });
    let objects = objects.collect::<Vec<_>>();
    let calls = flat_calls(&builder);
    let mut call_starts = vec![0; builder.instances.len() + 1];
    for call in &calls {
        call_starts[call.caller.index() + 1] += 1;
    }
    for at in 1..call_starts.len() {
        call_starts[at] += call_starts[at - 1];
    }
    let mut heap = Heap {
        gaps: builder.graph.gaps,
        widened,
        calls,
        call_starts,
        sets: sets.all,
        values,
        contents,
        statics,
        static_places,
        ..Heap::default()
    };
    for object in objects {
        heap.objects.push(object);
    }
    for (&(object, variable), &set) in &heap.contents {
        if !heap.sets[set].is_empty() {
            heap.variables[object].push((variable, set));
        }
    }
    for object in heap.objects.keys() {
        heap.variables[object].sort_unstable();
    }
    for (_, &instance) in builder.instances.iter() {
        heap.instances.push(instance);
    }
    heap.origins = builder.threads.all;
    heap.models = builder.model_calls;
    for calls in heap.models.values_mut() {
        calls.sort_by_key(|call| (call.method, call.model.effects.len()));
    }
    find_threads(&mut heap);
    heap
}

/// Which threads run which method: those that are not distinguished by thread are run by whoever calls them.
fn find_threads(heap: &mut Heap<'_>) {
    let mixed = Threads::mixed();
    let mut open: Vec<(InstanceId, OriginId)> = Vec::new();
    for (id, instance) in heap.instances.iter().filter(|(_, instance)| instance.origin != mixed) {
        heap.threads[id] = smallvec![instance.origin];
        open.push((id, instance.origin));
    }
    while let Some((instance, thread)) = open.pop() {
        for index in heap.calls_range(instance) {
            let Call { callee, kind, .. } = heap.calls[index];
            if heap.instances[callee].origin != mixed {
                continue;
            }
            let thread = if kind == EdgeKind::ClassInit { Threads::init() } else { thread };
            if let Err(at) = heap.threads[callee].binary_search(&thread) {
                heap.threads[callee].insert(at, thread);
                open.push((callee, thread));
            }
        }
    }
}

/// The calls, with those of very many targets and of modelled methods that call back written as if the
/// statement itself made them.
fn flat_calls(builder: &Builder<'_, '_, '_>) -> Vec<Call> {
    let mut from: FxHashMap<InstanceId, Vec<Call>> = FxHashMap::default();
    for &call in &builder.calls {
        let has_body = builder.values[call.caller].is_some();
        if call.kind == EdgeKind::Target || !has_body {
            from.entry(call.caller).or_default().push(call);
        }
    }
    let mut calls = Vec::new();
    for &call in &builder.calls {
        if call.kind == EdgeKind::Target || builder.values[call.caller].is_none() {
            continue;
        }
        let is_hub = call.kind == EdgeKind::Dispatch;
        if !is_hub && builder.values[call.callee].is_some() {
            calls.push(call);
            continue;
        }
        for found in from.get(&call.callee).into_iter().flatten() {
            if is_hub != (found.kind == EdgeKind::Target) {
                continue;
            }
            let kind = if is_hub { EdgeKind::Call } else { found.kind };
            calls.push(Call { kind, callee: found.callee, ..call });
        }
    }
    calls.sort_unstable();
    calls.dedup();
    calls
}

/// Sets of objects, equal ones once.
struct Sets {
    all: PrimaryMap<SetId, Box<[ObjectId]>>,
    known: FxHashMap<Box<[ObjectId]>, SetId>,
    of_nodes: FxHashMap<NodeId, SetId>,
}

impl Sets {
    fn new() -> Self {
        let mut sets = Self {
            all: PrimaryMap::new(),
            known: FxHashMap::default(),
            of_nodes: FxHashMap::default(),
        };
        sets.intern(&ObjectSet::default());
        sets
    }

    fn of_node(&mut self, solver: &Solver, node: NodeId) -> SetId {
        let node = solver.representative(node);
        if let Some(&known) = self.of_nodes.get(&node) {
            return known;
        }
        let set = self.intern(solver.objects_in(node));
        self.of_nodes.insert(node, set);
        set
    }

    fn intern(&mut self, set: &ObjectSet) -> SetId {
        if set.is_empty() && !self.all.is_empty() {
            return SetId::from_index(0);
        }
        let mut objects = set.to_vec();
        objects.sort_unstable();
        let objects = objects.into_boxed_slice();
        match self.known.get(&objects) {
            Some(&set) => set,
            None => {
                let set = self.all.push(objects.clone());
                self.known.insert(objects, set);
                set
            }
        }
    }

    fn of_all<'n, K: Copy + Eq + std::hash::Hash + Ord + 'n>(
        &mut self,
        builder: &Builder<'_, '_, '_>,
        nodes: impl Iterator<Item = (&'n K, &'n NodeId)>,
    ) -> FxHashMap<K, SetId> {
        let mut nodes: Vec<(K, NodeId)> = nodes.map(|(&key, &node)| (key, node)).collect();
        nodes.sort_unstable();
        nodes.into_iter().map(|(key, node)| (key, self.of_node(&builder.solver, node))).collect()
    }
}
