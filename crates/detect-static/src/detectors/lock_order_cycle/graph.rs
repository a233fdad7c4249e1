//! The lock-order graph [vonPraun04 §6.2.3]: who waits for which lock while holding which.
//!
//! Its nodes are threads that wait for a lock while they hold another. One leads to the next if the lock that it waits for
//! may be the one that the next holds. Both may be one of several objects: these are kept together as long as the
//! execution does, since large programs have many times more pairs of objects than acquisitions. Acquisitions at the same
//! moment with the same locks are one node, wherever they are in the code. Unlike in von Praun's graph, whose
//! locks are taken for single objects, a lock that stands for several can lead to itself.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use unsnarl_models::LockMode;
use unsnarl_program::MethodId;
use unsnarl_program::heap::ObjectId;
use unsnarl_symbolic::{Execution, LockAction, LockEvent, LockEventId, LockMoment};

use crate::Input;
use crate::code::Site;
use crate::conflicts::judged_objects;
use crate::locks::acquisition::is_ordered;
use crate::wording::describe::Describe;

/// In how many situations the same acquisition with the same locks is looked at.
const MOST_SITUATIONS: usize = 4;

/// A thread that holds a lock waits for another one.
pub(crate) struct Waiting {
    /// Where it does so, each place once. Never empty.
    pub(crate) acquisitions: Vec<Acquisition>,
    pub(crate) situation: Situation,
}

impl Waiting {
    pub(crate) fn sites(&self) -> impl Iterator<Item = Site> {
        self.acquisitions.iter().map(|acquisition| acquisition.site)
    }
}

/// One acquisition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acquisition {
    pub(crate) event: LockEventId,
    pub(crate) site: Site,
    /// Which of the held locks of the event it is about.
    pub(crate) guard: usize,
}

/// What decides who has to wait for whom.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Situation {
    pub(crate) moment: LockMoment,
    /// What the held lock may be; sorted.
    pub(crate) held: Arc<[ObjectId]>,
    held_mode: LockMode,
    /// What the acquired lock may be; sorted.
    pub(crate) acquired: Arc<[ObjectId]>,
    acquired_mode: LockMode,
    /// The single objects that are held as well.
    gates: SmallVec<[(ObjectId, LockMode); 2]>,
}

impl Situation {
    /// Whether a thread that waits here has to wait for one that waits there, if the lock is the same object.
    pub(crate) fn has_to_wait_for(&self, other: &Self) -> bool {
        excludes(self.acquired_mode, other.held_mode)
    }

    /// Whether a lock is held in both that certainly excludes one of them.
    pub(crate) fn has_gate(&self, other: &Self) -> bool {
        self.gates.iter().any(|&(gate, mode)| {
            other.gates.iter().any(|&(lock, other)| lock == gate && excludes(mode, other))
        })
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
    for node in &mut nodes {
        node.acquisitions.retain(|acquisition| {
            let event = describe.lock_event(acquisition.event);
            let at = (event.instance, event.statement);
            !*known.entry(at).or_insert_with(|| is_ordered(describe, event))
        });
    }
    nodes.retain(|node| !node.acquisitions.is_empty());
    in_cycles(nodes)
}

fn all(input: &Input<'_, '_>) -> Vec<Waiting> {
    let describe = input.describe;
    let mut times: FxHashMap<_, usize> = FxHashMap::default();
    let mut numbers: FxHashMap<Situation, usize> = FxHashMap::default();
    let mut nodes: Vec<Waiting> = Vec::new();
    for (event, data) in describe.execution.lock_events.iter() {
        let LockAction::Acquire(acquired_mode) = data.action else { continue };
        if data.held.is_empty() {
            continue;
        }
        let acquired = of_interest(describe, data, input.lock_index().objects(describe, data));
        if acquired.is_empty() {
            continue;
        }
        let site = (describe.method_of(data.instance), data.statement);
        let gates = gates(describe.execution, data);
        for (guard, lock) in data.held.iter().enumerate() {
            let held = match lock.objects.len() == judged_objects(&lock.objects).len() {
                true => Arc::clone(&lock.objects),
                false => judged_objects(&lock.objects).into(),
            };
            let at = (data.thread, site, Arc::clone(&held), lock.mode, Arc::clone(&acquired));
            let times = times.entry(at).or_default();
            *times += 1;
            if *times > MOST_SITUATIONS {
                continue;
            }
            let (moment, held_mode) = (data.moment(), lock.mode);
            let (acquired, gates) = (Arc::clone(&acquired), gates.clone());
            let situation = Situation { moment, held, held_mode, acquired, acquired_mode, gates };
            let number = *numbers.entry(situation).or_insert_with_key(|situation| {
                nodes.push(Waiting { acquisitions: Vec::new(), situation: situation.clone() });
                nodes.len() - 1
            });
            let acquisitions = &mut nodes[number].acquisitions;
            if acquisitions.iter().all(|known| known.site != site) {
                acquisitions.push(Acquisition { event, site, guard });
            }
        }
    }
    nodes
}

/// The locks held that are single objects.
fn gates(execution: &Execution<'_>, event: &LockEvent) -> SmallVec<[(ObjectId, LockMode); 2]> {
    let single = event.held.iter().filter_map(|gate| match gate.objects[..] {
        [lock] if execution.is_unique(lock) => Some((lock, gate.mode)),
        _ => None,
    });
    single.collect()
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
            nodes.iter().flat_map(|it| it.situation.held.iter().copied()).collect();
        let acquired: FxHashSet<ObjectId> =
            nodes.iter().flat_map(|it| it.situation.acquired.iter().copied()).collect();
        let before = nodes.len();
        nodes.retain(|node| {
            node.situation.acquired.iter().any(|lock| held.contains(lock))
                && node.situation.held.iter().any(|lock| acquired.contains(lock))
        });
        if nodes.len() == before {
            return nodes;
        }
    }
}
