//! The cycles of the lock-order graph: threads of which each waits for a lock that the next one holds, the last one for
//! that of the first. They can be at all of these acquisitions at once: nothing orders any two of them, and no two hold a
//! lock that certainly excludes the other (a gate).
//!
//! A cycle is told by its places. Of two cycles where the places of one are among those of the other, the first is told.
//! All cycles of one and two places are looked for; a dense graph has more of the longer ones than can be enumerated, so
//! of those one is looked for that leads through each acquisition that no cycle was told of yet.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use unsnarl_program::heap::ObjectId;
use unsnarl_symbolic::{Execution, LockEventId, LockMoment};

use crate::Input;
use crate::lock_graph::{Place, Waiting, has_gate, waiting};
use crate::lock_ways::Ways;

/// How many pairs of acquisitions are compared.
const MOST_COMPARISONS: usize = 1_000_000;
/// How many of them to find one of the longer cycles.
const MOST_FOR_ONE: usize = 2_000;
/// How many threads a cycle may take.
const LONGEST: usize = 16;

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
pub(crate) fn cycles(input: &Input<'_, '_>) -> Cycles {
    let nodes = waiting(input);
    let mut search = Search::new(input.describe.execution, &nodes);
    (0..nodes.len()).for_each(|node| search.alone(node));
    (0..nodes.len()).for_each(|node| search.pairs(node));
    search.all_longer();
    let cycles = search.found.least();
    Cycles { cycles, is_cut_short: search.is_cut_short }
}

/// The places of a cycle, sorted.
type Places = SmallVec<[Place; 2]>;

/// The cycles that were found.
#[derive(Default)]
struct Found {
    cycles: Vec<(Places, Vec<Step>)>,
    /// The cycles by their first place.
    by_first: FxHashMap<Place, Vec<usize>>,
    places: FxHashSet<Place>,
}

impl Found {
    fn add(&mut self, places: Places, cycle: Vec<Step>) {
        self.by_first.entry(places[0]).or_default().push(self.cycles.len());
        self.places.extend(places.iter().copied());
        self.cycles.push((places, cycle));
    }

    /// Whether a cycle at these places would say nothing new.
    fn is_told(&self, places: &Places) -> bool {
        self.within(places).next().is_some()
    }

    /// The cycles all of whose places are among these.
    fn within<'f>(&'f self, places: &'f Places) -> impl Iterator<Item = &'f Places> {
        let firsts = places.iter().filter_map(|place| self.by_first.get(place)).flatten();
        let all = firsts.map(|&cycle| &self.cycles[cycle].0);
        all.filter(|found| found.iter().all(|place| places.binary_search(place).is_ok()))
    }

    /// The cycles that have no other within.
    fn least(&self) -> Vec<Vec<Step>> {
        let is_least =
            |places: &Places| !self.within(places).any(|other| other.len() < places.len());
        let least = self.cycles.iter().filter(|(places, _)| is_least(places));
        least.map(|(_, cycle)| cycle.clone()).collect()
    }
}

/// The search for cycles.
struct Search<'s, 'm> {
    execution: &'s Execution<'m>,
    nodes: &'s [Waiting],
    /// Who holds a lock.
    holders: FxHashMap<ObjectId, Vec<usize>>,
    /// Whether two moments can be at once, whichever locks the acquisitions then are about.
    overlaps: FxHashMap<(LockMoment, LockMoment), bool>,
    comparisons: usize,
    is_cut_short: bool,
    found: Found,
}

impl<'s, 'm> Search<'s, 'm> {
    fn new(execution: &'s Execution<'m>, nodes: &'s [Waiting]) -> Self {
        let mut holders: FxHashMap<ObjectId, Vec<usize>> = FxHashMap::default();
        for (number, node) in nodes.iter().enumerate() {
            for &lock in node.held.iter() {
                holders.entry(lock).or_default().push(number);
            }
        }
        Self {
            execution,
            nodes,
            holders,
            overlaps: FxHashMap::default(),
            comparisons: 0,
            is_cut_short: false,
            found: Found::default(),
        }
    }

    /// Two threads at the same place, with the same locks the other way round.
    fn alone(&mut self, node: usize) {
        self.pair(node, node);
    }

    /// Two threads at different places.
    fn pairs(&mut self, one: usize) {
        for other in self.holders_of(&self.nodes[one].acquired) {
            if other > one {
                self.pair(one, other);
            }
        }
    }

    /// Who holds one of some locks; sorted.
    fn holders_of(&self, locks: &[ObjectId]) -> Vec<usize> {
        let holders = locks.iter().filter_map(|lock| self.holders.get(lock));
        let mut holders: Vec<usize> = holders.flatten().copied().collect();
        holders.sort_unstable();
        holders.dedup();
        holders
    }

    fn pair(&mut self, one: usize, other: usize) {
        if self.found.is_told(&self.places(&[one, other])) || !self.may_compare() {
            return;
        }
        let (first, second) = (&self.nodes[one], &self.nodes[other]);
        if !first.has_to_wait_for(second)
            || !second.has_to_wait_for(first)
            || !is_common(&first.held, &second.acquired)
            || !self.can_overlap(one, other)
        {
            return;
        }
        let forth = self.common(one, other);
        let back = self.common(other, one);
        let is_possible =
            |held: ObjectId, acquired| held != acquired || !self.execution.is_unique(held);
        let locks = back.iter().find_map(|&held| {
            let mut acquired = forth.iter().copied();
            Some((held, acquired.find(|&acquired| is_possible(held, acquired))?))
        });
        if let Some((held, acquired)) = locks {
            let steps = vec![self.step(one, held, acquired), self.step(other, acquired, held)];
            self.found.add(self.places(&[one, other]), steps);
        }
    }

    /// Cycles of three and more threads.
    fn all_longer(&mut self) {
        let is_told = |node: &Waiting| self.found.places.contains(&node.place);
        if self.nodes.iter().all(is_told) {
            return;
        }
        let after: Vec<Vec<usize>> = (0..self.nodes.len()).map(|node| self.after(node)).collect();
        let ways = Ways::new(&after);
        (0..self.nodes.len()).for_each(|node| self.longer(node, &ways));
    }

    /// The acquisitions that may come after one in a cycle.
    fn after(&mut self, one: usize) -> Vec<usize> {
        let nodes = self.nodes;
        let mut others = self.holders_of(&nodes[one].acquired);
        others.retain(|&other| {
            other != one
                && self.may_compare()
                && nodes[one].has_to_wait_for(&nodes[other])
                && self.can_overlap(one, other)
                && !self.common(one, other).is_empty()
        });
        others
    }

    /// A cycle of three and more threads through an acquisition that no cycle was told of yet.
    fn longer(&mut self, start: usize, ways: &Ways) {
        if self.found.places.contains(&self.nodes[start].place) {
            return;
        }
        let distances = ways.distances(start);
        let Some(shortest) = distances[start] else { return };
        let before = self.comparisons;
        for longest in shortest.max(3)..=LONGEST {
            if !self.may_compare() {
                return;
            }
            let (nodes, locks, distances) = (vec![start], Vec::new(), &distances[..]);
            let mut path = Path { nodes, locks, distances, longest, is_deeper: false };
            let most = before + MOST_FOR_ONE;
            if let Some(held) = self.close(&mut path, most) {
                let steps = path.steps(self, held);
                self.found.add(self.places(&path.nodes), steps);
                return;
            }
            if self.comparisons > most {
                self.is_cut_short = true;
                return;
            }
            if !path.is_deeper {
                return;
            }
        }
    }

    /// Makes a path longer until its last step waits for a lock that its first one holds, which is returned.
    fn close(&mut self, path: &mut Path<'_>, most: usize) -> Option<ObjectId> {
        let (&start, &last) = (path.nodes.first()?, path.nodes.last()?);
        if path.nodes.len() == path.longest {
            path.is_deeper = true;
            if !self.nodes[last].has_to_wait_for(&self.nodes[start]) {
                return None;
            }
            let back = self.common(last, start);
            return back.into_iter().find(|lock| !path.locks.contains(lock));
        }
        let nodes = self.nodes;
        for &lock in nodes[last].acquired.iter() {
            if path.locks.contains(&lock) {
                continue;
            }
            for number in 0..self.holders.get(&lock).map_or(0, Vec::len) {
                if self.comparisons > most {
                    return None;
                }
                let next = self.holders[&lock][number];
                if !path.is_near(next) || !self.can_follow(path, next, lock) {
                    continue;
                }
                path.nodes.push(next);
                path.locks.push(lock);
                let closed = self.close(path, most);
                if closed.is_some() {
                    return closed;
                }
                path.nodes.pop();
                path.locks.pop();
            }
        }
        None
    }

    fn can_follow(&mut self, path: &Path<'_>, next: usize, lock: ObjectId) -> bool {
        let Some(&last) = path.nodes.last() else { return false };
        self.comparisons += 1;
        if path.nodes.contains(&next) || !self.nodes[last].has_to_wait_for(&self.nodes[next]) {
            return false;
        }
        let mut all = path.nodes.clone();
        all.push(next);
        !self.found.is_told(&self.places(&all))
            && path.nodes.iter().all(|&before| self.can_overlap(before, next))
            && self.is_met(last, next, lock)
    }

    /// The locks that one waits for and the other holds, if both can be there at once.
    fn common(&self, one: usize, other: usize) -> Vec<ObjectId> {
        let (waiting, holding) = (&self.nodes[one], &self.nodes[other]);
        let common = waiting.acquired.iter().copied();
        let common = common.filter(|lock| holding.held.binary_search(lock).is_ok());
        common.filter(|&lock| self.is_met(one, other, lock)).collect()
    }

    fn is_met(&self, one: usize, other: usize, lock: ObjectId) -> bool {
        let [one, other] = [one, other].map(|node| self.nodes[node].event);
        self.execution.lock_order(Some(lock), one, other).is_none()
    }

    fn can_overlap(&mut self, one: usize, other: usize) -> bool {
        self.comparisons += 1;
        let execution = self.execution;
        let [one, other] = [one, other].map(|node| self.nodes[node].event);
        let moments = (execution.lock_events[one].moment(), execution.lock_events[other].moment());
        let overlaps = self.overlaps.entry(moments);
        *overlaps.or_insert_with(|| execution.lock_order(None, one, other).is_none())
            && !has_gate(execution, one, other)
    }

    fn may_compare(&mut self) -> bool {
        let may = self.comparisons <= MOST_COMPARISONS;
        self.is_cut_short |= !may;
        may
    }

    fn places(&self, nodes: &[usize]) -> Places {
        let mut places: Places = nodes.iter().map(|&node| self.nodes[node].place).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    fn step(&self, node: usize, held: ObjectId, acquired: ObjectId) -> Step {
        let &Waiting { event, guard, .. } = &self.nodes[node];
        Step { event, held, guard, acquired }
    }
}

/// Threads of which each waits for a lock that the next one holds.
struct Path<'d> {
    nodes: Vec<usize>,
    /// The locks between them.
    locks: Vec<ObjectId>,
    /// How far it is from each acquisition to the first of the path.
    distances: &'d [Option<usize>],
    longest: usize,
    /// There are longer ones.
    is_deeper: bool,
}

impl Path<'_> {
    /// Whether the path can lead on to an acquisition and is not too long then when it comes back.
    fn is_near(&mut self, next: usize) -> bool {
        let Some(distance) = self.distances[next] else { return false };
        let is_near = self.nodes.len() + distance <= self.longest;
        self.is_deeper |= !is_near;
        is_near
    }

    /// The steps of a closed path; the first holds the lock that the last one waits for.
    fn steps(&self, search: &Search<'_, '_>, first: ObjectId) -> Vec<Step> {
        let held = [first].into_iter().chain(self.locks.iter().copied());
        let acquired = self.locks.iter().copied().chain([first]);
        let steps = self.nodes.iter().zip(held.zip(acquired));
        steps.map(|(&node, (held, acquired))| search.step(node, held, acquired)).collect()
    }
}

fn is_common(one: &[ObjectId], other: &[ObjectId]) -> bool {
    one.iter().any(|object| other.binary_search(object).is_ok())
}
