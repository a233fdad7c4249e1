//! Sets of what makes up cycles of locks, to ask whether one of them is within another.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A few elements, sorted, each once.
pub(crate) type Set<K> = SmallVec<[K; 2]>;

/// The set of some elements.
pub(crate) fn set<K: Ord>(elements: impl Iterator<Item = K>) -> Set<K> {
    let mut set: Set<K> = elements.collect();
    set.sort_unstable();
    set.dedup();
    set
}

/// Sets that can be found by what contains them.
pub(crate) struct Sets<K> {
    sets: Vec<Set<K>>,
    /// The sets by their first element.
    by_first: FxHashMap<K, Vec<usize>>,
}

impl<K> Default for Sets<K> {
    fn default() -> Self {
        Self { sets: Vec::new(), by_first: FxHashMap::default() }
    }
}

impl<K: Copy + Ord + Hash> Sets<K> {
    /// Adds a set that is not empty.
    pub(crate) fn add(&mut self, set: Set<K>) {
        self.by_first.entry(set[0]).or_default().push(self.sets.len());
        self.sets.push(set);
    }

    /// Whether all elements of one of the sets are in this one.
    pub(crate) fn has_within(&self, set: &Set<K>) -> bool {
        self.within(set).next().is_some()
    }

    /// The same of one that has fewer elements.
    pub(crate) fn has_smaller_within(&self, set: &Set<K>) -> bool {
        self.within(set).any(|other| other.len() < set.len())
    }

    fn within<'s>(&'s self, set: &'s Set<K>) -> impl Iterator<Item = &'s Set<K>> {
        let firsts = set.iter().filter_map(|element| self.by_first.get(element)).flatten();
        let sets = firsts.map(|&other| &self.sets[other]);
        sets.filter(|other| other.iter().all(|element| set.binary_search(element).is_ok()))
    }
}
