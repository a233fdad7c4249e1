//! Values by the ids of objects. These are given one after the other, so arrays serve better than a hash map.

use rustc_hash::FxHashMap;
use unsnarl_entity::prefetch;

/// How many ids a page has.
const PAGE: usize = 1024;
/// Ids beyond so many pages are not of this recorder, or damaged.
const MOST_PAGES: u64 = 1 << 22;

/// Values by the ids of objects. Without one of its own an id has the default.
#[derive(Debug)]
pub(crate) struct Pages<V> {
    pages: Vec<Option<Box<[V; PAGE]>>>,
    others: FxHashMap<u64, V>,
}

impl<V> Default for Pages<V> {
    fn default() -> Self {
        Self { pages: Vec::new(), others: FxHashMap::default() }
    }
}

impl<V: Copy + Default> Pages<V> {
    #[inline]
    pub(crate) fn get(&self, id: u64) -> Option<&V> {
        let (page, place) = place(id);
        if page >= MOST_PAGES {
            return self.others.get(&id);
        }
        Some(&self.pages.get(page as usize)?.as_ref()?[place])
    }

    pub(crate) fn get_mut(&mut self, id: u64) -> &mut V {
        let (page, place) = place(id);
        if page >= MOST_PAGES {
            return self.others.entry(id).or_default();
        }
        let page = page as usize;
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        &mut self.pages[page].get_or_insert_with(|| Box::new([V::default(); PAGE]))[place]
    }

    /// Prefetches the value of a word, if the word is an id that has one.
    #[inline(always)]
    pub(crate) fn prefetch(&self, word: u64) {
        let (page, place) = place(word);
        if let Some(Some(page)) = self.pages.get(page as usize) {
            prefetch(&page[place]);
        }
    }

    /// Visits all values, ordered by their ids except for damaged ones. A page goes of which none is to be kept.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(u64, &mut V) -> bool) {
        for (number, page) in self.pages.iter_mut().enumerate() {
            let Some(values) = page else { continue };
            let mut is_kept = false;
            for (place, value) in values.iter_mut().enumerate() {
                is_kept |= keep((number * PAGE + place) as u64, value);
            }
            if !is_kept {
                *page = None;
            }
        }
        self.others.retain(|&id, value| keep(id, value));
    }
}

#[inline]
fn place(id: u64) -> (u64, usize) {
    (id / PAGE as u64, (id % PAGE as u64) as usize)
}
