use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use crate::{EntityId, prefetch};

/// How many notes lie together.
const PAGE: usize = 4096;

/// A note on very many entities, as a [`SecondaryMap`](crate::SecondaryMap) has them. Notes lie in pages that never move: to
/// copy all whenever there is no more room, into memory that nobody has touched yet, costs more than to find the page.
#[derive(Debug)]
pub struct PagedMap<K, V> {
    pages: Vec<Box<[V; PAGE]>>,
    default: V,
    key: PhantomData<K>,
}

impl<K: EntityId, V: Default> PagedMap<K, V> {
    /// A map in which every entity has the note `V::default()`.
    pub fn new() -> Self {
        Self { pages: Vec::new(), default: V::default(), key: PhantomData }
    }

    /// For how many entities there is room.
    #[inline]
    pub fn room(&self) -> usize {
        self.pages.len() * PAGE
    }

    /// The notes of all entities for which there is room.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.pages.iter_mut().flat_map(|page| page.iter_mut())
    }

    /// Asks memory for the note of an entity that will be looked at soon.
    #[inline(always)]
    pub fn prefetch(&self, key: K) {
        if let Some(page) = self.pages.get(key.index() / PAGE) {
            prefetch(&page[key.index() % PAGE]);
        }
    }

    #[cold]
    fn grow(&mut self, pages: usize) {
        self.pages.resize_with(pages, || {
            let page: Box<[V]> = std::iter::repeat_with(V::default).take(PAGE).collect();
            page.try_into().unwrap_or_else(|_| unreachable!("it was made with this length"))
        });
    }
}

impl<K: EntityId, V: Default> Default for PagedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: EntityId, V> Index<K> for PagedMap<K, V> {
    type Output = V;

    #[inline]
    fn index(&self, key: K) -> &V {
        match self.pages.get(key.index() / PAGE) {
            Some(page) => &page[key.index() % PAGE],
            None => &self.default,
        }
    }
}

impl<K: EntityId, V: Default> IndexMut<K> for PagedMap<K, V> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut V {
        let page = key.index() / PAGE;
        if page >= self.pages.len() {
            self.grow(page + 1);
        }
        &mut self.pages[page][key.index() % PAGE]
    }
}
