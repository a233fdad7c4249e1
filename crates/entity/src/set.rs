use std::marker::PhantomData;

use fixedbitset::FixedBitSet;

use crate::EntityId;

/// A dense set of entities: one bit for each up to the highest member.
#[derive(Clone, Debug)]
pub struct EntitySet<K> {
    bits: FixedBitSet,
    key: PhantomData<K>,
}

impl<K: EntityId> EntitySet<K> {
    /// The empty set.
    pub fn new() -> Self {
        Self { bits: FixedBitSet::new(), key: PhantomData }
    }

    /// Adds `key`; says whether it is new.
    pub fn insert(&mut self, key: K) -> bool {
        self.bits.grow(key.index() + 1);
        !self.bits.put(key.index())
    }

    /// Removes `key`; says whether it was there.
    pub fn remove(&mut self, key: K) -> bool {
        let was_there = self.contains(key);
        if was_there {
            self.bits.remove(key.index());
        }
        was_there
    }

    /// Whether `key` is a member.
    pub fn contains(&self, key: K) -> bool {
        self.bits.contains(key.index())
    }

    /// Adds all members of `other`; says whether any of them is new.
    pub fn union_with(&mut self, other: &Self) -> bool {
        let grows = !other.bits.is_subset(&self.bits);
        if grows {
            self.bits.union_with(&other.bits);
        }
        grows
    }

    /// Keeps only what `other` has as well.
    pub fn intersect_with(&mut self, other: &Self) {
        self.bits.intersect_with(&other.bits);
    }

    /// Whether every member is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.bits.is_subset(&other.bits)
    }

    /// The members, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = K> + '_ {
        self.bits.ones().map(K::from_index)
    }

    /// How many members there are. Counts bits: linear in the highest id.
    pub fn len(&self) -> usize {
        self.bits.count_ones(..)
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.bits.is_clear()
    }

    /// Removes all members; keeps the memory.
    pub fn clear(&mut self) {
        self.bits.clear();
    }
}

impl<K: EntityId> Default for EntitySet<K> {
    fn default() -> Self {
        Self::new()
    }
}

/// Sets are equal when they have the same members, however large their storage is.
impl<K: EntityId> PartialEq for EntitySet<K> {
    fn eq(&self, other: &Self) -> bool {
        self.bits.is_subset(&other.bits) && other.bits.is_subset(&self.bits)
    }
}

impl<K: EntityId> Eq for EntitySet<K> {}

impl<K: EntityId> FromIterator<K> for EntitySet<K> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut set = Self::new();
        set.extend(keys);
        set
    }
}

impl<K: EntityId> Extend<K> for EntitySet<K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert(key);
        }
    }
}
