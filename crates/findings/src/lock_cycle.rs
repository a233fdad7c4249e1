//! Cycles of threads that wait for each other's locks: which of them are reported, and in which words.
//!
//! A cycle is reported by the sites of its acquisitions. Of two cycles where the sites of one are among those of the other,
//! only the one with fewer sites is reported: a thousand philosophers who take their forks at the same site are one cycle,
//! and what goes around two cycles is not one of its own.

use std::fmt;
use std::hash::Hash;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// How many acquisitions a message names.
const MOST_NAMED: usize = 3;

/// The end of the message about a cycle that has not happened, but can.
pub const CAN_WAIT: &str = "they can wait for each other for ever";

/// The sites of a cycle, or whatever else it consists of: sorted, each once.
pub type CycleSet<K> = SmallVec<[K; 2]>;

/// The set of some sites.
pub fn cycle_set<K: Ord>(sites: impl Iterator<Item = K>) -> CycleSet<K> {
    let mut set: CycleSet<K> = sites.collect();
    set.sort_unstable();
    set.dedup();
    set
}

/// The cycles that were found, to be asked whether another one says anything new.
#[derive(Debug)]
pub struct CycleSets<K> {
    sets: Vec<CycleSet<K>>,
    /// The sets by their first element.
    by_first: FxHashMap<K, Vec<usize>>,
}

impl<K> Default for CycleSets<K> {
    fn default() -> Self {
        Self { sets: Vec::new(), by_first: FxHashMap::default() }
    }
}

impl<K: Copy + Ord + Hash> CycleSets<K> {
    /// Adds a set that is not empty.
    pub fn add(&mut self, set: CycleSet<K>) {
        self.by_first.entry(set[0]).or_default().push(self.sets.len());
        self.sets.push(set);
    }

    /// Whether a cycle with these sites, and perhaps more, says nothing new: all sites of a known one are among them.
    pub fn has_subset_of(&self, set: &CycleSet<K>) -> bool {
        self.subsets_of(set).next().is_some()
    }

    /// Whether a known cycle with fewer sites is reported instead of this one.
    pub fn has_smaller_subset_of(&self, set: &CycleSet<K>) -> bool {
        self.subsets_of(set).any(|other| other.len() < set.len())
    }

    fn subsets_of<'s>(&'s self, set: &'s CycleSet<K>) -> impl Iterator<Item = &'s CycleSet<K>> {
        let firsts = set.iter().filter_map(|element| self.by_first.get(element)).flatten();
        let sets = firsts.map(|&other| &self.sets[other]);
        sets.filter(|other| other.iter().all(|element| set.binary_search(element).is_ok()))
    }
}

/// A thread of a cycle, in words: it holds a lock and waits for the next one.
#[derive(Debug)]
pub struct WaitingThread {
    /// How the thread is called.
    pub thread: String,
    /// The lock that it holds.
    pub held: String,
    /// The lock that it waits for.
    pub acquired: String,
    /// Where it does so.
    pub site: String,
}

impl fmt::Display for WaitingThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { thread, held, acquired, site } = self;
        write!(f, "{thread} holds {held} and acquires {acquired} at {site}")
    }
}

/// The message about a cycle: who waits for whom, as far as the first few threads, and the verdict.
pub fn cycle_message(cycle: impl ExactSizeIterator<Item = WaitingThread>, verdict: &str) -> String {
    let more = match cycle.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(", and so on with {more} more"),
    };
    let named: Vec<String> = cycle.take(MOST_NAMED).map(|it| it.to_string()).collect();
    format!("{}{more}: {verdict}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cycle_with_fewer_sites_wins() {
        let mut sets = CycleSets::default();
        let large = cycle_set([3, 1, 2, 1].into_iter());
        assert_eq!(large[..], [1, 2, 3]);
        sets.add(large.clone());
        assert!(sets.has_subset_of(&large) && !sets.has_smaller_subset_of(&large));
        assert!(!sets.has_subset_of(&cycle_set([1, 2, 4].into_iter())));
        sets.add(cycle_set([2, 3].into_iter()));
        assert!(sets.has_smaller_subset_of(&large));
        assert!(sets.has_subset_of(&cycle_set([2, 3, 4].into_iter())));
    }

    #[test]
    fn a_message_names_the_first_threads() {
        let waiting = |number: usize| WaitingThread {
            thread: format!("t{number}"),
            held: format!("l{number}"),
            acquired: format!("l{}", number + 1),
            site: format!("A.java:{number}"),
        };
        assert_eq!(
            cycle_message((1..3).map(waiting), CAN_WAIT),
            "t1 holds l1 and acquires l2 at A.java:1, t2 holds l2 and acquires l3 at A.java:2: \
             they can wait for each other for ever"
        );
        let long = cycle_message((1..6).map(waiting), "stuck");
        assert!(long.ends_with("at A.java:3, and so on with 2 more: stuck"), "{long}");
    }
}
