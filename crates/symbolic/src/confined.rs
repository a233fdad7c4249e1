//! Objects that belong to one instance of a thread (seed 000, section 3.4.3): the object that the
//! thread runs on, if nobody else has it, and what can be reached from there and from nowhere else.
//!
//! The seed has two algorithms, one by accesses and one by confinement. Both ask the same of the heap
//! here: a thread gets hold of an object only by loading it from an object that is confined already, by
//! making it, or as the object that it runs on. What was made by somebody else must moreover have been
//! stored into one host only.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_entity::EntitySet;
use unsnarl_program::Program;
use unsnarl_program::heap::{Heap, ObjectId, OriginId, Variable};

use crate::hosts::Hosts;
use crate::sharing::SharingFacts;

/// The objects that belong to an instance of a thread, with the thread.
pub(crate) fn confined(
    program: &Program<'_>,
    heap: &Heap<'_>,
    sharing: &SharingFacts,
    hosts: &Hosts,
    seen_receivers: &EntitySet<OriginId>,
) -> FxHashSet<(OriginId, ObjectId)> {
    let per_thread = program.names.find_symbol(b"per thread").map(Variable::Slot);
    let mut holders: FxHashMap<ObjectId, Vec<(ObjectId, Variable)>> = FxHashMap::default();
    for (holder, variable, objects) in heap.references() {
        if Some(variable) != per_thread {
            for &object in objects {
                holders.entry(object).or_default().push((holder, variable));
            }
        }
    }
    let globals: EntitySet<ObjectId> =
        heap.static_fields().flat_map(|(_, objects)| objects.iter().copied()).collect();
    let mut made: FxHashMap<OriginId, Vec<ObjectId>> = FxHashMap::default();
    for (id, object) in heap.objects.iter() {
        if let Some(origin) = object.origin {
            made.entry(origin).or_default().push(id);
        }
    }
    let mut found = FxHashSet::default();
    for (thread, origin) in heap.origins.iter() {
        let Some(root) = origin.receiver else { continue };
        let is_own = !seen_receivers.contains(thread)
            && !sharing.loaded.contains(&(thread, root))
            && heap.objects[root].origin != Some(thread);
        if !is_own {
            continue;
        }
        let mut inside: EntitySet<ObjectId> = EntitySet::from_iter([root]);
        let mut open = vec![root];
        for &object in made.get(&thread).into_iter().flatten() {
            if inside.insert(object) {
                open.push(object);
            }
        }
        while let Some(object) = open.pop() {
            let next = sharing.referred[object].iter().copied();
            open.extend(next.filter(|&next| inside.insert(next)));
        }
        let is_held_inside = |object: ObjectId, inside: &EntitySet<ObjectId>| {
            let is_own = heap.objects[object].origin == Some(thread);
            !globals.contains(object)
                && (is_own || heap.objects[object].made.is_some())
                && holders.get(&object).into_iter().flatten().all(|&(holder, variable)| {
                    let is_hosted = match variable {
                        Variable::Field(field) => hosts.is_hosted_in(object, field),
                        Variable::Slot(_) => false,
                    };
                    // What the thread itself makes refers to what the thread itself has.
                    let is_by_own = heap.objects[holder].origin == Some(thread);
                    inside.contains(holder) && (is_own || is_by_own || is_hosted)
                })
        };
        let mut open: Vec<ObjectId> = inside.iter().collect();
        while let Some(object) = open.pop() {
            // Who else holds the object that the thread runs on does not matter to the thread.
            if object != root && inside.contains(object) && !is_held_inside(object, &inside) {
                inside.remove(object);
                open.extend(sharing.referred[object].iter().copied());
            }
        }
        found.extend(inside.iter().map(|object| (thread, object)));
    }
    found
}
