//! Objects that belong to one instance of a thread [vonPraun04 §3.4.3]: the object that the
//! thread runs on, if nobody else has it, and what can be reached from there and from nowhere else.
//!
//! Von Praun has two algorithms, one by accesses and one by confinement. Both ask the same of the heap
//! here: a thread gets hold of an object only by loading it from an object that is confined already, by
//! making it, or as the object that it runs on. What was made by somebody else must moreover have been
//! stored into one host only.

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_entity::EntitySet;
use unsnarl_program::heap::{Heap, ObjectId, OriginId, Variable};

use crate::facts::hosts::Hosts;
use crate::facts::sharing::SharingFacts;

/// The objects that belong to an instance of a thread, with the thread.
pub(crate) fn confined(
    heap: &Heap<'_>,
    sharing: &SharingFacts,
    hosts: &Hosts,
    seen_receivers: &EntitySet<OriginId>,
) -> FxHashSet<(OriginId, ObjectId)> {
    let is_seen = |_: ObjectId, variable: Variable| Some(variable) != sharing.per_thread;
    let globals: EntitySet<ObjectId> =
        heap.static_fields().flat_map(|(_, objects)| objects.iter().copied()).collect();
    let mut made: FxHashMap<OriginId, Vec<ObjectId>> = FxHashMap::default();
    for (id, object) in heap.objects.iter() {
        if let Some(origin) = object.origin {
            made.entry(origin).or_default().push(id);
        }
    }
    let roots = heap.origins.iter().filter_map(|(thread, origin)| {
        let root = origin.receiver?;
        let is_own = !seen_receivers.contains(thread)
            && !sharing.is_loaded(thread, root)
            && heap.objects[root].origin != Some(thread);
        is_own.then_some((thread, root))
    });
    let roots: Vec<(OriginId, ObjectId)> = roots.collect();
    let inside_of = |&(thread, root): &(OriginId, ObjectId)| {
        let own = made.get(&thread).into_iter().flatten().copied();
        let mut inside = heap.reachable(own.chain([root]), is_seen);
        let is_own = |object: ObjectId| heap.objects[object].origin == Some(thread);
        // Who is held by somebody outside is outside. Who else holds the object that the thread runs on
        // does not matter to the thread.
        let outside = heap.objects.keys().filter(|&object| !inside.contains(object));
        let mut open: Vec<ObjectId> = globals.iter().collect();
        if heap.widened.is_empty() {
            for holder in outside {
                let is_used = sharing.is_touched_by(holder, thread);
                let variables = heap.references_of(holder);
                for (variable, held) in variables.filter(|&(name, _)| is_seen(holder, name)) {
                    // What is in another host is another object, if the thread does not take it from
                    // there.
                    let is_other =
                        |object: ObjectId| !is_used && hosts.is_hosted_in(object, variable);
                    open.extend(held.iter().copied().filter(|&object| !is_other(object)));
                }
            }
        } else {
            heap.each_set(outside, is_seen, |held| open.extend_from_slice(held));
        }
        // What was made by somebody else must have been stored into one host only.
        for object in inside.iter() {
            if object == root || is_own(object) {
                continue;
            }
            if heap.objects[object].made.is_none() {
                open.push(object);
            }
        }
        // What the thread itself makes refers to what the thread itself has.
        let mut known: FxHashSet<(Variable, *const ObjectId)> = FxHashSet::default();
        for holder in inside.iter().filter(|&holder| !is_own(holder)) {
            let variables = heap.references_of(holder);
            let variables = variables.filter(|&(name, _)| is_seen(holder, name));
            for (variable, held) in variables.filter(|it| known.insert((it.0, it.1.as_ptr()))) {
                let foreign = held.iter().copied().filter(|&object| !is_own(object));
                open.extend(foreign.filter(|&object| !hosts.is_hosted_in(object, variable)));
            }
        }
        while let Some(object) = open.pop() {
            if object != root && inside.remove(object) {
                heap.each_set([object], is_seen, |held| open.extend_from_slice(held));
            }
        }
        (thread, inside)
    };
    let found: Vec<_> = roots.par_iter().map(inside_of).collect();
    found.iter().flat_map(|(thread, inside)| inside.iter().map(|it| (*thread, it))).collect()
}
