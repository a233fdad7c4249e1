use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use crate::{EntityId, prefetch};

/// A note on entities that a [`PrimaryMap`](crate::PrimaryMap) owns. An entity without a note of
/// its own has the default.
#[derive(Clone, Debug)]
pub struct SecondaryMap<K, V> {
    items: Vec<V>,
    default: V,
    key: PhantomData<K>,
}

impl<K: EntityId, V: Clone> SecondaryMap<K, V> {
    /// A map in which every entity has the note `default`.
    pub fn with_default(default: V) -> Self {
        Self { items: Vec::new(), default, key: PhantomData }
    }

    /// Back to the state in which every entity has the default; keeps the memory.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// Asks memory for the note of an entity that will be looked at soon.
    #[inline(always)]
    pub fn prefetch(&self, key: K) {
        if let Some(value) = self.items.get(key.index()) {
            prefetch(value);
        }
    }

    /// Gives an entity the default.
    pub fn reset(&mut self, key: K) {
        if let Some(value) = self.items.get_mut(key.index()) {
            *value = self.default.clone();
        }
    }

    /// The notes up to the highest id that was ever written to.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, V> {
        self.items.iter_mut()
    }

    /// Ids and notes up to the highest id that was ever written to.
    pub fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.items.iter().enumerate().map(|(index, value)| (K::from_index(index), value))
    }
}

impl<K: EntityId, V: Clone + Default> SecondaryMap<K, V> {
    /// A map in which every entity has the note `V::default()`.
    pub fn new() -> Self {
        Self::with_default(V::default())
    }
}

impl<K: EntityId, V: Clone + Default> Default for SecondaryMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: EntityId, V> Index<K> for SecondaryMap<K, V> {
    type Output = V;

    #[inline]
    fn index(&self, key: K) -> &V {
        self.items.get(key.index()).unwrap_or(&self.default)
    }
}

impl<K: EntityId, V: Clone> SecondaryMap<K, V> {
    #[cold]
    fn grow(&mut self, index: usize) {
        self.items.resize(index + 1, self.default.clone());
    }
}

impl<K: EntityId, V: Clone> IndexMut<K> for SecondaryMap<K, V> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut V {
        let index = key.index();
        if index >= self.items.len() {
            self.grow(index);
        }
        &mut self.items[index]
    }
}
