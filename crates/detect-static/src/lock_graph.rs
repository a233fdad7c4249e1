//! The lock-order graph (seed 000, section 6.2.3): who waits for which lock while holding which.
//!
//! Its nodes are threads that wait for a lock while they hold another. One leads to the next if the lock that it waits for
//! may be the one that the next holds. Both may be one of several objects: these are kept together as long as the
//! execution does, since large programs have many times more pairs of objects than acquisitions. Unlike in the seed, whose
//! locks are taken for single objects, a lock that stands for several can lead to itself.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_models::LockMode;
use unsnarl_program::MethodId;
use unsnarl_program::body::StatementId;
use unsnarl_program::heap::ObjectId;
use unsnarl_symbolic::{Action, Execution, LockEvent, LockEventId};

use crate::Input;
use crate::conflict::judged_objects;
use crate::describe::Describe;
use crate::lock_code::is_ordered;

/// In how many situations the same acquisition with the same locks is looked at.
const MOST_SITUATIONS: usize = 4;

/// Where a lock is acquired.
pub(crate) type Place = (MethodId, StatementId);

/// A thread that holds a lock waits for another one.
pub(crate) struct Waiting {
    pub(crate) event: LockEventId,
    pub(crate) place: Place,
    /// Which of the held locks of the event it is about.
    pub(crate) guard: usize,
    /// What the held lock may be; sorted.
    pub(crate) held: Arc<[ObjectId]>,
    held_mode: LockMode,
    /// What the acquired lock may be; sorted.
    pub(crate) acquired: Arc<[ObjectId]>,
    acquired_mode: LockMode,
}

impl Waiting {
    /// Whether a thread that waits here has to wait for one that waits there, if the lock is the same object.
    pub(crate) fn has_to_wait_for(&self, other: &Self) -> bool {
        excludes(self.acquired_mode, other.held_mode)
    }
}

/// Whether two threads cannot have a lock in these ways at once.
fn excludes(one: LockMode, other: LockMode) -> bool {
    !(one == LockMode::Shared && other == LockMode::Shared)
        && one != LockMode::Optimistic
        && other != LockMode::Optimistic
}

/// The nodes of the graph that may be part of a cycle.
pub(crate) fn waiting(input: &Input<'_, '_>) -> Vec<Waiting> {
    let describe = input.describe;
    let mut nodes = in_cycles(all(input));
    let mut known: FxHashMap<_, bool> = FxHashMap::default();
    nodes.retain(|node| {
        let event = describe.lock_event(node.event);
        let at = (event.instance, event.statement);
        !*known.entry(at).or_insert_with(|| is_ordered(describe, event))
    });
    in_cycles(nodes)
}

fn all(input: &Input<'_, '_>) -> Vec<Waiting> {
    let describe = input.describe;
    let mut situations: FxHashMap<_, usize> = FxHashMap::default();
    let mut nodes = Vec::new();
    for (event, data) in describe.execution.lock_events.iter() {
        let Action::Acquire(acquired_mode) = data.action else { continue };
        if data.held.is_empty() {
            continue;
        }
        let acquired = of_interest(describe, data, input.lock_index().objects(describe, data));
        if acquired.is_empty() {
            continue;
        }
        let place = (describe.method_of(data.instance), data.statement);
        for (guard, lock) in data.held.iter().enumerate() {
            let held = match lock.objects.len() == judged_objects(&lock.objects).len() {
                true => Arc::clone(&lock.objects),
                false => judged_objects(&lock.objects).into(),
            };
            let situation =
                (data.thread, place, Arc::clone(&held), lock.mode, Arc::clone(&acquired));
            let times = situations.entry(situation).or_default();
            *times += 1;
            if *times <= MOST_SITUATIONS {
                let (held_mode, acquired) = (lock.mode, Arc::clone(&acquired));
                nodes.push(Waiting {
                    event,
                    place,
                    guard,
                    held,
                    held_mode,
                    acquired,
                    acquired_mode,
                });
            }
        }
    }
    nodes
}

/// The locks that an acquisition may be of, if the code of the input acquires them or made them.
fn of_interest(
    describe: &Describe<'_, '_>,
    event: &LockEvent,
    locks: Arc<[ObjectId]>,
) -> Arc<[ObjectId]> {
    let is_input = |method: MethodId| describe.is_input(describe.program.methods()[method].class);
    let objects = &describe.execution.heap.objects;
    let is_made = |lock: &ObjectId| objects[*lock].made.is_some_and(|(method, _)| is_input(method));
    match is_input(describe.method_of(event.instance)) {
        true if judged_objects(&locks).len() == locks.len() => locks,
        true => judged_objects(&locks).into(),
        false => judged_objects(&locks).iter().copied().filter(is_made).collect(),
    }
}

/// The nodes that are left when those are taken away again and again that nobody waits for, or that wait for nobody.
fn in_cycles(mut nodes: Vec<Waiting>) -> Vec<Waiting> {
    loop {
        let held: FxHashSet<ObjectId> =
            nodes.iter().flat_map(|it| it.held.iter().copied()).collect();
        let acquired: FxHashSet<ObjectId> =
            nodes.iter().flat_map(|it| it.acquired.iter().copied()).collect();
        let before = nodes.len();
        nodes.retain(|node| {
            node.acquired.iter().any(|lock| held.contains(lock))
                && node.held.iter().any(|lock| acquired.contains(lock))
        });
        if nodes.len() == before {
            return nodes;
        }
    }
}

/// Whether two acquisitions are made with a lock held that certainly excludes one of them.
pub(crate) fn has_gate(execution: &Execution<'_>, one: LockEventId, other: LockEventId) -> bool {
    let [one, other] = [one, other].map(|event| &execution.lock_events[event].held);
    one.iter().any(|gate| {
        let is_one = matches!(gate.objects[..], [lock] if execution.is_unique(lock));
        let mut others = other.iter();
        is_one && others.any(|held| held.objects == gate.objects && excludes(held.mode, gate.mode))
    })
}
