//! Cycles in what threads hold and acquire.
//!
//! A [`NestedAcquisition`] is a thread that holds locks and acquires another one. Steps form a cycle if each acquires a lock that the
//! next one holds, the last one that of the first, and all of them can be at that point at once: they are of different
//! threads, they can overlap, and no two of them hold a lock that excludes the other (a gate).
//!
//! A cycle is reported by its places. Of two cycles where the places of one are among those of the other, the first is reported:
//! a thousand philosophers who take their forks at the same place are one cycle, and what goes around two cycles is none
//! of its own. The search looks for the shortest cycles first and is cut short after a number of comparisons.

use rustc_hash::FxHashMap;
use unsnarl_entity::entity_id;
use unsnarl_events::ThreadId;
use unsnarl_findings::lock_cycle::{CycleSet, CycleSets, cycle_set};
use unsnarl_trace_analysis::locksets::Held;
use unsnarl_trace_analysis::retained_locks::RetainedLockId;

entity_id! {
    /// Where a lock is acquired.
    pub(crate) struct AcquisitionSiteId("place");
}

/// A thread holds locks and acquires another one.
#[derive(Clone, Debug)]
pub(crate) struct NestedAcquisition {
    pub(crate) thread: ThreadId,
    pub(crate) held: Vec<Held>,
    pub(crate) acquired: Held,
    pub(crate) place: AcquisitionSiteId,
}

impl NestedAcquisition {
    /// Whether it has to wait for a thread that is at `other`.
    fn waits_for(&self, other: &Self) -> bool {
        other.held.iter().any(|held| held.excludes(self.acquired))
    }

    /// Whether two threads can be at these steps at once, as far as locks show.
    fn allows(&self, other: &Self) -> bool {
        let excludes = |held: &Held| other.held.iter().any(|others| others.excludes(*held));
        self.thread != other.thread && !self.held.iter().any(excludes)
    }
}

/// How many pairs of steps are compared. A dense graph has more cycles than can be enumerated.
const MOST_COMPARISONS: u64 = 20_000_000;

/// The search for cycles.
pub(crate) struct Search<'a> {
    steps: &'a [NestedAcquisition],
    /// The steps that hold a lock, of those that can be in a cycle.
    holders: FxHashMap<RetainedLockId, Vec<usize>>,
    comparisons: u64,
    /// The cycles so far, with their places.
    found: Vec<(CycleSet<AcquisitionSiteId>, Vec<usize>)>,
    /// The places of each.
    places: CycleSets<AcquisitionSiteId>,
}

impl<'a> Search<'a> {
    /// Leaves out what cannot be in a cycle.
    pub(crate) fn new(steps: &'a [NestedAcquisition]) -> Self {
        let mut holders: FxHashMap<RetainedLockId, Vec<usize>> = FxHashMap::default();
        for (index, is_in) in in_cycles(steps, |_| false).into_iter().enumerate() {
            if is_in {
                for held in &steps[index].held {
                    let of_lock = holders.entry(held.lock).or_default();
                    if of_lock.last() != Some(&index) {
                        of_lock.push(index);
                    }
                }
            }
        }
        Self { steps, holders, comparisons: 0, found: Vec::new(), places: CycleSets::default() }
    }

    /// Looks for cycles of steps that can all overlap; those that were found before stay.
    pub(crate) fn run(&mut self, overlap: impl Fn(usize, usize) -> bool) {
        for longest in [2, usize::MAX] {
            for start in 0..self.steps.len() {
                self.from(start, longest, &overlap);
            }
        }
    }

    /// The cycles as indices of steps, each of which acquires what the next one holds.
    pub(crate) fn cycles(&self) -> impl Iterator<Item = &[usize]> {
        let least =
            self.found.iter().filter(|(places, _)| !self.places.has_smaller_subset_of(places));
        least.map(|(_, cycle)| cycle.as_slice())
    }

    /// Whether there may be more.
    pub(crate) fn was_cut_short(&self) -> bool {
        self.comparisons > MOST_COMPARISONS
    }

    /// The cycles in which `start` is the first of all steps.
    fn from(&mut self, start: usize, longest: usize, overlap: &impl Fn(usize, usize) -> bool) {
        let mut path = vec![start];
        if self.is_told(&path) {
            return;
        }
        // For every step of the path, how many of those that may follow it were tried.
        let mut tried = vec![0];
        while let (Some(&last), Some(next)) = (path.last(), tried.last_mut()) {
            if self.was_cut_short() {
                return;
            }
            let following = self.holders.get(&self.steps[last].acquired.lock);
            let candidate = following.and_then(|following| following.get(*next)).copied();
            *next += 1;
            match candidate {
                None => {
                    path.pop();
                    tried.pop();
                }
                Some(candidate) if candidate == start && path.len() > 1 => {
                    if self.steps[last].waits_for(&self.steps[start]) && !self.is_told(&path) {
                        let places = self.places_of(&path);
                        self.places.add(places.clone());
                        self.found.push((places, path.clone()));
                    }
                }
                Some(candidate) if candidate > start && path.len() < longest => {
                    if self.can_follow(candidate, &path, overlap) {
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

    fn can_follow(
        &mut self,
        candidate: usize,
        path: &[usize],
        overlap: &impl Fn(usize, usize) -> bool,
    ) -> bool {
        self.comparisons += path.len() as u64;
        let step = &self.steps[candidate];
        let waits = path.last().is_some_and(|&last| self.steps[last].waits_for(step));
        waits
            && path.iter().all(|&other| {
                let before = &self.steps[other];
                before.acquired.lock != step.acquired.lock
                    && before.allows(step)
                    && overlap(other, candidate)
            })
    }

    /// Whether a cycle with these steps would say nothing new.
    fn is_told(&mut self, path: &[usize]) -> bool {
        self.comparisons += self.found.len() as u64;
        self.places.has_subset_of(&self.places_of(path))
    }

    fn places_of(&self, path: &[usize]) -> CycleSet<AcquisitionSiteId> {
        cycle_set(path.iter().map(|&index| self.steps[index].place))
    }
}

/// Which steps are left when those are taken away again and again that nobody waits for, or that wait for nobody. For some
/// locks others may still come.
pub(crate) fn in_cycles(
    steps: &[NestedAcquisition],
    may_come: impl Fn(RetainedLockId) -> bool,
) -> Vec<bool> {
    let mut holding: FxHashMap<RetainedLockId, Vec<usize>> = FxHashMap::default();
    let mut acquiring: FxHashMap<RetainedLockId, Vec<usize>> = FxHashMap::default();
    for (index, step) in steps.iter().enumerate() {
        step.held.iter().for_each(|held| holding.entry(held.lock).or_default().push(index));
        acquiring.entry(step.acquired.lock).or_default().push(index);
    }
    let mut is_in = vec![true; steps.len()];
    let mut pending: Vec<usize> = (0..steps.len()).collect();
    let none = Vec::new();
    while let Some(index) = pending.pop() {
        let step = &steps[index];
        let holders = holding.get(&step.acquired.lock).unwrap_or(&none);
        let acquirers =
            || step.held.iter().flat_map(|held| acquiring.get(&held.lock).unwrap_or(&none));
        let is_left = |&other: &usize| is_in[other];
        let waits = may_come(step.acquired.lock) || holders.iter().any(is_left);
        let is_waited_for =
            step.held.iter().any(|held| may_come(held.lock)) || acquirers().any(is_left);
        if is_in[index] && !(waits && is_waited_for) {
            is_in[index] = false;
            pending.extend(holders.iter().chain(acquirers()).filter(|&&other| is_in[other]));
        }
    }
    is_in
}
