//! From the solved equations to the heap shape graph.

use rustc_hash::FxHashMap;
use unsnarl_entity::{EntityId, PrimaryMap, SecondaryMap};
use unsnarl_models::Models;

use super::EdgeKind;
use super::build::{Builder, Precision, build};
use super::entries::EntryPoints;
use super::object::{ObjectId, ObjectSet};
use super::solver::{NodeId, Solver};
use super::threads::Threads;
use crate::heap::{Call, Heap, HeapObject, InstanceId, OriginKind, SetId};
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
    let mut values = SecondaryMap::new();
    for (instance, &data) in builder.instances.iter() {
        if let Some(first) = builder.values[instance]
            && let Some(body) = builder.program.lowered_body(data.method)
        {
            let nodes = (0..body.values.len()).map(|index| Solver::offset(first, index));
            let own: Vec<SetId> =
                nodes.map(|node| sets.intern(builder.solver.objects_in(node))).collect();
            values[instance] = own.into_boxed_slice();
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
            "the program is very large; methods are not told apart by the objects they are called on"
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
            },
        }
    });
    let objects = objects.collect::<Vec<_>>();
    let calls = flat_calls(&builder);
    let mut heap = Heap {
        gaps: builder.graph.gaps,
        widened,
        calls,
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
    for (_, &instance) in builder.instances.iter() {
        heap.instances.push(instance);
    }
    heap.origins = builder.threads.all;
    heap.models = builder.model_calls;
    for calls in heap.models.values_mut() {
        calls.sort_by_key(|call| (call.method, call.model.effects.len()));
    }
    heap
}

/// The calls, with those of very many targets and of modelled methods that call back told as if the
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
        for behind in from.get(&call.callee).into_iter().flatten() {
            if is_hub != (behind.kind == EdgeKind::Target) {
                continue;
            }
            let kind = if is_hub { EdgeKind::Call } else { behind.kind };
            calls.push(Call { kind, callee: behind.callee, ..call });
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
}

impl Sets {
    fn new() -> Self {
        let mut sets = Self { all: PrimaryMap::new(), known: FxHashMap::default() };
        sets.intern(&ObjectSet::default());
        sets
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
        nodes
            .into_iter()
            .map(|(key, node)| (key, self.intern(builder.solver.objects_in(node))))
            .collect()
    }
}
