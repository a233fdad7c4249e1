//! Values with places that are used again.

use unsnarl_entity::{EntityId, PagedMap, entity_id};

entity_id! {
    /// A place.
    struct PoolIndex("pool index");
}

/// Values, each at a place.
#[derive(Debug)]
pub(super) struct Pool<V> {
    values: PagedMap<PoolIndex, V>,
    count: u32,
    free: Vec<u32>,
}

impl<V: Default> Default for Pool<V> {
    fn default() -> Self {
        Self { values: PagedMap::new(), count: 0, free: Vec::new() }
    }
}

impl<V: Default> Pool<V> {
    /// Keeps a value. Its place.
    pub(super) fn put(&mut self, value: V) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.count = self.count.checked_add(1).expect("no more places than variables");
            self.count - 1
        });
        *self.get_mut(place) = value;
        place
    }

    #[inline]
    pub(super) fn get(&self, place: u32) -> &V {
        &self.values[PoolIndex::from_index(place as usize)]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, place: u32) -> &mut V {
        &mut self.values[PoolIndex::from_index(place as usize)]
    }

    /// The values at all places, also at those that are free.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.values.values_mut()
    }

    /// Nobody needs what is at the place any more.
    pub(super) fn give_back(&mut self, place: u32) {
        self.free.push(place);
    }
}
