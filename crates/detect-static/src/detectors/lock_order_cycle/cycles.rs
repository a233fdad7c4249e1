//! The cycles of the lock-order graph: threads of which each waits for a lock that the next one holds, the last one for
//! that of the first. They can be at all of these acquisitions at once: nothing orders any two of them, and no two hold a
//! lock that certainly excludes the other (a gate).
//!
//! Which cycles are reported is decided by the sites of their acquisitions ([`unsnarl_findings::lock_cycle`]).
//! All cycles of one and two sites are looked for; a dense graph has more of the longer ones than can be enumerated, so
//! of those one is looked for that leads through each acquisition that is in no cycle yet. Where many acquisitions
//! are alike, so that each could stand for each, every one is reported, but not all combinations of them.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_findings::lock_cycle::{CycleSet, CycleSets, cycle_set};
use unsnarl_program::heap::ObjectId;
use unsnarl_symbolic::{Execution, LockEventId, LockMoment};

use super::graph::{Situation, Waiting, waiting};
use super::reach::Predecessors;
use crate::Input;
use crate::code::Site;

/// How many pairs of acquisitions are compared.
const MOST_COMPARISONS: usize = 1_000_000;
/// How many of them to find one of the longer cycles.
const MOST_FOR_ONE: usize = 2_000;
/// How many threads a cycle may take.
const LONGEST: usize = 16;
/// Up to how many combinations of acquisitions that are alike are reported.
const MOST_COMBINATIONS: usize = 16;

/// A thread that holds a lock waits for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockOrderEdge {
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
    pub(crate) cycles: Vec<Vec<LockOrderEdge>>,
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
    Cycles { cycles: search.least(), is_cut_short: search.is_cut_short }
}

/// A thread in a situation of the graph, which holds a lock and waits for another one.
#[derive(Clone, Copy, Debug)]
struct Link {
    node: usize,
    held: ObjectId,
    acquired: ObjectId,
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
    found: Vec<Vec<Link>>,
    /// The nodes of each cycle that was found.
    node_sets: CycleSets<usize>,
    /// The sites of all of them.
    sites: FxHashSet<Site>,
}

impl<'s, 'm> Search<'s, 'm> {
    fn new(execution: &'s Execution<'m>, nodes: &'s [Waiting]) -> Self {
        let mut holders: FxHashMap<ObjectId, Vec<usize>> = FxHashMap::default();
        for (number, node) in nodes.iter().enumerate() {
            for &lock in node.situation.held.iter() {
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
            found: Vec::new(),
            node_sets: CycleSets::default(),
            sites: FxHashSet::default(),
        }
    }

    fn situation(&self, node: usize) -> &'s Situation {
        &self.nodes[node].situation
    }

    fn add(&mut self, cycle: Vec<Link>) {
        self.node_sets.add(cycle_set(cycle.iter().map(|link| link.node)));
        let nodes = cycle.iter().map(|link| &self.nodes[link.node]);
        self.sites.extend(nodes.flat_map(Waiting::sites));
        self.found.push(cycle);
    }

    /// Two threads in the same situation, with the same locks the other way round.
    fn alone(&mut self, node: usize) {
        self.pair(node, node);
    }

    /// Two threads in different situations.
    fn pairs(&mut self, one: usize) {
        for other in self.holders_of(&self.situation(one).acquired) {
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
        if self.node_sets.has_subset_of(&cycle_set([one, other].into_iter())) || !self.may_compare()
        {
            return;
        }
        let (first, second) = (self.situation(one), self.situation(other));
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
            let first = Link { node: one, held, acquired };
            self.add(vec![first, Link { node: other, held: acquired, acquired: held }]);
        }
    }

    /// Cycles of three and more threads.
    fn all_longer(&mut self) {
        let starts: Vec<usize> =
            (0..self.nodes.len()).filter(|&node| !self.is_everywhere_in_a_cycle(node)).collect();
        if starts.is_empty() {
            return;
        }
        let after: Vec<Vec<usize>> = (0..self.nodes.len()).map(|node| self.after(node)).collect();
        let predecessors = Predecessors::new(&after);
        starts.into_iter().for_each(|node| self.longer(node, &predecessors));
    }

    /// Whether there is a cycle through each of the sites.
    fn is_everywhere_in_a_cycle(&self, node: usize) -> bool {
        self.nodes[node].sites().all(|site| self.sites.contains(&site))
    }

    /// What may come after a node in a cycle.
    fn after(&mut self, one: usize) -> Vec<usize> {
        let mut others = self.holders_of(&self.situation(one).acquired);
        others.retain(|&other| {
            other != one
                && self.may_compare()
                && self.situation(one).has_to_wait_for(self.situation(other))
                && self.can_overlap(one, other)
                && !self.common(one, other).is_empty()
        });
        others
    }

    /// A cycle of three and more threads through a node that is in no cycle yet.
    fn longer(&mut self, start: usize, predecessors: &Predecessors) {
        if self.is_everywhere_in_a_cycle(start) {
            return;
        }
        let distances = predecessors.distances(start);
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
                self.add(path.links(held));
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
            if !self.situation(last).has_to_wait_for(self.situation(start)) {
                return None;
            }
            let back = self.common(last, start);
            return back.into_iter().find(|lock| !path.locks.contains(lock));
        }
        for &lock in self.situation(last).acquired.iter() {
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
        if path.nodes.contains(&next) || !self.situation(last).has_to_wait_for(self.situation(next))
        {
            return false;
        }
        let all = cycle_set(path.nodes.iter().copied().chain([next]));
        !self.node_sets.has_subset_of(&all)
            && path.nodes.iter().all(|&before| self.can_overlap(before, next))
            && self.is_met(last, next, lock)
    }

    /// The locks that one waits for and the other holds, if both can be there at once.
    fn common(&self, one: usize, other: usize) -> Vec<ObjectId> {
        let (waiting, holding) = (self.situation(one), self.situation(other));
        let common = waiting.acquired.iter().copied();
        let common = common.filter(|lock| holding.held.binary_search(lock).is_ok());
        common.filter(|&lock| self.is_met(one, other, lock)).collect()
    }

    fn is_met(&self, one: usize, other: usize, lock: ObjectId) -> bool {
        let [one, other] = [one, other].map(|node| self.nodes[node].acquisitions[0].event);
        self.execution.lock_order(Some(lock), one, other).is_none()
    }

    fn can_overlap(&mut self, one: usize, other: usize) -> bool {
        self.comparisons += 1;
        let [first, second] = [one, other].map(|node| self.nodes[node].acquisitions[0].event);
        let (one, other) = (self.situation(one), self.situation(other));
        let overlaps = self.overlaps.entry((one.moment, other.moment));
        *overlaps.or_insert_with(|| self.execution.lock_order(None, first, second).is_none())
            && !one.has_gate(other)
    }

    fn may_compare(&mut self) -> bool {
        let may = self.comparisons <= MOST_COMPARISONS;
        self.is_cut_short |= !may;
        may
    }

    /// The cycles by their sites, without those that contain another.
    fn least(&self) -> Vec<Vec<LockOrderEdge>> {
        let mut sites: CycleSets<Site> = CycleSets::default();
        let mut cycles: Vec<(CycleSet<Site>, Vec<LockOrderEdge>)> = Vec::new();
        for links in &self.found {
            for chosen in self.combinations(links) {
                let at = links.iter().zip(&chosen);
                let at = at.map(|(link, &number)| &self.nodes[link.node].acquisitions[number]);
                let set = cycle_set(at.clone().map(|acquisition| acquisition.site));
                if sites.has_subset_of(&set) {
                    continue;
                }
                let steps = links.iter().zip(at).map(|(&Link { held, acquired, .. }, at)| {
                    LockOrderEdge { event: at.event, held, guard: at.guard, acquired }
                });
                cycles.push((set.clone(), steps.collect()));
                sites.add(set);
            }
        }
        cycles.retain(|(set, _)| !sites.has_smaller_subset_of(set));
        cycles.into_iter().map(|(_, cycle)| cycle).collect()
    }

    /// Which of the acquisitions of each node to report together: all combinations, or if those are many, each
    /// acquisition once.
    fn combinations(&self, links: &[Link]) -> Vec<Vec<usize>> {
        let count = |link: &Link| self.nodes[link.node].acquisitions.len();
        let is_alone = links.iter().all(|link| link.node == links[0].node);
        let product = links.iter().try_fold(1, |product: usize, link| {
            Some(product * count(link)).filter(|&product| product <= MOST_COMBINATIONS)
        });
        match product {
            Some(product) if !is_alone => {
                let combination = |mut number: usize| -> Vec<usize> {
                    let chosen = links.iter().map(|link| {
                        let chosen = number % count(link);
                        number /= count(link);
                        chosen
                    });
                    chosen.collect()
                };
                (0..product).map(combination).collect()
            }
            _ => {
                let most = links.iter().map(count).max().unwrap_or(0);
                let together = |number| links.iter().map(|link| number % count(link)).collect();
                (0..most).map(together).collect()
            }
        }
    }
}

/// Threads of which each waits for a lock that the next one holds.
struct Path<'d> {
    nodes: Vec<usize>,
    /// The locks between them.
    locks: Vec<ObjectId>,
    /// How far it is from each node to the first of the path.
    distances: &'d [Option<usize>],
    longest: usize,
    /// There are longer ones.
    is_deeper: bool,
}

impl Path<'_> {
    /// Whether the path can lead on to a node and is not too long then when it comes back.
    fn is_near(&mut self, next: usize) -> bool {
        let Some(distance) = self.distances[next] else { return false };
        let is_near = self.nodes.len() + distance <= self.longest;
        self.is_deeper |= !is_near;
        is_near
    }

    /// The links of a closed path; the first holds the lock that the last one waits for.
    fn links(&self, first: ObjectId) -> Vec<Link> {
        let held = [first].into_iter().chain(self.locks.iter().copied());
        let acquired = self.locks.iter().copied().chain([first]);
        let links = self.nodes.iter().zip(held.zip(acquired));
        links.map(|(&node, (held, acquired))| Link { node, held, acquired }).collect()
    }
}

fn is_common(one: &[ObjectId], other: &[ObjectId]) -> bool {
    one.iter().any(|object| other.binary_search(object).is_ok())
}
