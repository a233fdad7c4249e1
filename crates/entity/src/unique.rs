use std::hash::{BuildHasherDefault, Hash};
use std::marker::PhantomData;
use std::ops::Index;

use indexmap::IndexSet;
use rustc_hash::FxHasher;

use crate::EntityId;

/// Gives equal values one id: a [`PrimaryMap`](crate::PrimaryMap) in which no value occurs twice.
#[derive(Clone, Debug)]
pub struct UniqueMap<K, V> {
    items: IndexSet<V, BuildHasherDefault<FxHasher>>,
    key: PhantomData<K>,
}

impl<K: EntityId, V: Eq + Hash> UniqueMap<K, V> {
    /// An empty map.
    pub fn new() -> Self {
        Self { items: IndexSet::default(), key: PhantomData }
    }

    /// The id of `value`, created if it is the first of its kind.
    pub fn intern(&mut self, value: V) -> K {
        K::from_index(self.items.insert_full(value).0)
    }

    /// The id of `value` if it has one.
    pub fn find(&self, value: &V) -> Option<K> {
        self.items.get_index_of(value).map(K::from_index)
    }

    /// How many different values there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The ids, in order of creation. The iterator does not borrow the map.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator + use<K, V> {
        (0..self.items.len()).map(K::from_index)
    }

    /// Ids and values, in order of creation.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (K, &V)> {
        self.items.iter().enumerate().map(|(index, value)| (K::from_index(index), value))
    }
}

impl<K: EntityId, V: Eq + Hash> Default for UniqueMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> Index<K> for UniqueMap<K, V>
where
    K: EntityId,
{
    type Output = V;

    fn index(&self, key: K) -> &V {
        self.items.get_index(key.index()).expect("an id of this map")
    }
}
