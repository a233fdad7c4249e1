//! The lock-order graph (seed 000, section 6.2.3) and its cycles.
//!
//! An edge is a [`Step`]: a thread that holds one lock waits for another. Unlike in the seed, whose locks are taken for
//! single objects, a lock that stands for several can have an edge to itself. Steps form a cycle if each waits for a
//! lock that the next one holds, the last one for that of the first, and threads can be at all of them at once: nothing
//! orders any two of them, and no two hold a lock that certainly excludes the other (a gate).
//!
//! A cycle is told by its places. Of two cycles where the places of one are among those of the other, the first is told.
//! The search looks for short cycles first and is cut short after a number of comparisons.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_models::LockMode;
use unsnarl_program::MethodId;
use unsnarl_program::body::StatementId;
use unsnarl_program::heap::ObjectId;
use unsnarl_symbolic::{Action, Execution, LockEvent, LockEventId};

use crate::conflict::judged_objects;
use crate::describe::Describe;
use crate::lock_code::is_ordered;

/// How many pairs of steps are compared. A dense graph has more cycles than can be enumerated.
const MOST_COMPARISONS: usize = 2_000_000;
/// In how many situations the same step is looked at.
const MOST_SITUATIONS: usize = 4;

/// A thread that holds a lock waits for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The acquisition.
    pub(crate) event: LockEventId,
    /// The lock that is held.
    pub(crate) held: ObjectId,
    /// Which of the held locks of the event that is.
    pub(crate) guard: usize,
    /// The lock that is acquired.
    pub(crate) acquired: ObjectId,
}

/// The cycles of the graph.
pub(crate) struct Cycles {
    /// At the position of a lock is the step that holds it and acquires the next one.
    pub(crate) cycles: Vec<Vec<Step>>,
    /// There may be more.
    pub(crate) is_cut_short: bool,
}

/// Finds the cycles.
pub(crate) fn cycles(describe: &Describe<'_, '_>) -> Cycles {
    let steps = in_cycles(steps(describe));
    let mut search = Search::new(describe.execution, &steps);
    for longest in [1, 2, usize::MAX] {
        for start in 0..steps.len() {
            search.search(start, longest);
        }
    }
    let is_least = |places: &BTreeSet<Place>| {
        let mut others = search.found.iter().map(|(other, _)| other);
        !others.any(|other| other.len() < places.len() && other.is_subset(places))
    };
    let least = search.found.iter().filter(|(places, _)| is_least(places));
    let cycles = least.map(|(_, cycle)| cycle.iter().map(|&step| steps[step]).collect()).collect();
    Cycles { cycles, is_cut_short: search.comparisons > MOST_COMPARISONS }
}

/// Where a step is made.
type Place = (MethodId, StatementId);

fn place(execution: &Execution<'_>, event: &LockEvent) -> Place {
    (execution.heap.instances[event.instance].method, event.statement)
}

/// How an event acquires its lock, if it does.
fn acquired_mode(event: &LockEvent) -> Option<LockMode> {
    match event.action {
        Action::Acquire(mode) => Some(mode),
        _ => None,
    }
}

/// Whether two threads cannot have a lock in these ways at once.
fn excludes(one: LockMode, other: LockMode) -> bool {
    !(one == LockMode::Shared && other == LockMode::Shared)
        && one != LockMode::Optimistic
        && other != LockMode::Optimistic
}

fn steps(describe: &Describe<'_, '_>) -> Vec<Step> {
    let execution = describe.execution;
    let mut situations: FxHashMap<_, usize> = FxHashMap::default();
    let mut ordered: FxHashMap<_, bool> = FxHashMap::default();
    let mut steps = Vec::new();
    for (event, data) in execution.lock_events.iter() {
        if acquired_mode(data).is_none() || data.held.is_empty() {
            continue;
        }
        let at = (data.instance, data.statement);
        if *ordered.entry(at).or_insert_with(|| is_ordered(describe, data)) {
            continue;
        }
        for (guard, held) in data.held.iter().enumerate() {
            for &from in judged_objects(&held.objects) {
                for &to in judged_objects(&data.objects) {
                    let is_same = from == to && execution.is_unique(from);
                    if is_same || !is_of_interest(describe, data, to) {
                        continue;
                    }
                    let times = situations
                        .entry((data.thread, place(execution, data), from, to, held.mode))
                        .or_default();
                    *times += 1;
                    if *times <= MOST_SITUATIONS {
                        steps.push(Step { event, held: from, guard, acquired: to });
                    }
                }
            }
        }
    }
    steps
}

/// Whether the code of the input acquires the lock, or made it.
fn is_of_interest(describe: &Describe<'_, '_>, event: &LockEvent, lock: ObjectId) -> bool {
    let is_input = |method: MethodId| describe.is_input(describe.program.methods()[method].class);
    is_input(describe.method_of(event.instance))
        || describe.execution.heap.objects[lock].made.is_some_and(|(method, _)| is_input(method))
}

/// The steps that are left when those are taken away again and again that nobody waits for, or that wait for nobody.
fn in_cycles(mut steps: Vec<Step>) -> Vec<Step> {
    loop {
        let held: FxHashSet<ObjectId> = steps.iter().map(|step| step.held).collect();
        let acquired: FxHashSet<ObjectId> = steps.iter().map(|step| step.acquired).collect();
        let before = steps.len();
        steps.retain(|step| held.contains(&step.acquired) && acquired.contains(&step.held));
        if steps.len() == before {
            return steps;
        }
    }
}

/// The search for cycles.
struct Search<'s, 'm> {
    execution: &'s Execution<'m>,
    steps: &'s [Step],
    holders: BTreeMap<ObjectId, Vec<usize>>,
    comparisons: usize,
    /// Whether two steps can be at once.
    overlaps: FxHashMap<(usize, usize), bool>,
    found: Vec<(BTreeSet<Place>, Vec<usize>)>,
}

impl<'s, 'm> Search<'s, 'm> {
    fn new(execution: &'s Execution<'m>, steps: &'s [Step]) -> Self {
        let mut holders: BTreeMap<ObjectId, Vec<usize>> = BTreeMap::new();
        for (index, step) in steps.iter().enumerate() {
            holders.entry(step.held).or_default().push(index);
        }
        let (overlaps, found) = (FxHashMap::default(), Vec::new());
        Self { execution, steps, holders, comparisons: 0, overlaps, found }
    }

    /// Looks for the cycles in which `start` is the first of all steps.
    fn search(&mut self, start: usize, longest: usize) {
        if self.steps[start].held == self.steps[start].acquired {
            self.search_loop(start, longest);
        } else if longest > 1 {
            self.search_edge(start, longest);
        }
    }

    /// A step between two locks that one abstract lock stands for: a second thread takes them the other way round, in
    /// the same place or in another one.
    fn search_loop(&mut self, start: usize, longest: usize) {
        let lock = self.steps[start].held;
        let others = match longest {
            1 => vec![start],
            _ => self.holders[&lock].iter().copied().filter(|&other| other > start).collect(),
        };
        for other in others {
            if self.steps[other].acquired == lock
                && !self.is_told(&[start, other])
                && self.waits_for(start, other)
                && self.waits_for(other, start)
                && self.can_overlap(start, other)
            {
                self.note(vec![start, other]);
            }
        }
    }

    fn search_edge(&mut self, start: usize, longest: usize) {
        let mut path = vec![start];
        if self.is_told(&path) {
            return;
        }
        // For every step of the path, how many of those that may follow it were tried.
        let mut tried = vec![0];
        while let (Some(&last), Some(next)) = (path.last(), tried.last_mut()) {
            if self.comparisons > MOST_COMPARISONS {
                return;
            }
            let following = self.holders.get(&self.steps[last].acquired);
            let candidate = following.and_then(|following| following.get(*next)).copied();
            *next += 1;
            match candidate {
                None => {
                    path.pop();
                    tried.pop();
                }
                Some(candidate) if candidate == start && path.len() > 1 => {
                    if self.waits_for(last, start) && !self.is_told(&path) {
                        self.note(path.clone());
                    }
                }
                Some(candidate) if candidate > start && path.len() < longest => {
                    if self.can_follow(candidate, &path) {
                        path.push(candidate);
                        tried.push(0);
                        if self.is_told(&path) {
                            path.pop();
                            tried.pop();
                        }
                    }
                }
                Some(_) => {}
            }
        }
    }

    fn can_follow(&mut self, candidate: usize, path: &[usize]) -> bool {
        self.comparisons += path.len();
        let step = self.steps[candidate];
        step.held != step.acquired
            && path.last().is_some_and(|&last| self.waits_for(last, candidate))
            && path.iter().all(|&before| {
                self.steps[before].acquired != step.acquired && self.can_overlap(before, candidate)
            })
    }

    /// Whether a thread at one step has to wait for a thread that is at the other, if the lock is the same object.
    fn waits_for(&self, one: usize, other: usize) -> bool {
        let (one, other) = (self.steps[one], self.steps[other]);
        let event = &self.execution.lock_events[other.event];
        let held = event.held[other.guard].mode;
        let wanted = acquired_mode(&self.execution.lock_events[one.event]);
        wanted.is_some_and(|wanted| excludes(wanted, held))
    }

    fn can_overlap(&mut self, one: usize, other: usize) -> bool {
        self.comparisons += 1;
        if let Some(&known) = self.overlaps.get(&(one, other)) {
            return known;
        }
        let (first, second) = (self.steps[one], self.steps[other]);
        let execution = self.execution;
        let is_apart = |lock| execution.lock_order(Some(lock), first.event, second.event).is_some();
        let can = !is_apart(first.acquired)
            && !is_apart(second.acquired)
            && !has_gate(execution, first.event, second.event);
        self.overlaps.insert((one, other), can);
        can
    }

    fn note(&mut self, cycle: Vec<usize>) {
        let places = self.places(&cycle);
        self.found.push((places, cycle));
    }

    fn places(&self, path: &[usize]) -> BTreeSet<Place> {
        let events = path.iter().map(|&step| &self.execution.lock_events[self.steps[step].event]);
        events.map(|event| place(self.execution, event)).collect()
    }

    /// Whether a cycle with these steps would say nothing new.
    fn is_told(&mut self, path: &[usize]) -> bool {
        self.comparisons += self.found.len();
        let places = self.places(path);
        self.found.iter().any(|(found, _)| found.is_subset(&places))
    }
}

/// Whether two acquisitions are made with a lock held that certainly excludes one of them.
fn has_gate(execution: &Execution<'_>, one: LockEventId, other: LockEventId) -> bool {
    let [one, other] = [one, other].map(|event| &execution.lock_events[event].held);
    one.iter().any(|gate| {
        let is_one = matches!(gate.objects[..], [lock] if execution.is_unique(lock));
        let mut others = other.iter();
        is_one && others.any(|held| held.objects == gate.objects && excludes(held.mode, gate.mode))
    })
}
