//! Sets of lock views. Most steps of methods have one of few sets below them: each is kept once, and so is what follows
//! from it.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use unsnarl_entity::{EntitySet, UniqueMap, entity_id};

use super::views::ViewId;

entity_id! {
    /// A set of lock views.
    pub(super) struct ViewsId("views");
}

/// The sets that there are.
#[derive(Default)]
pub(super) struct ViewSets {
    sets: UniqueMap<ViewsId, Rc<[ViewId]>>,
    unions: FxHashMap<Box<[ViewsId]>, ViewsId>,
}

impl ViewSets {
    pub(super) fn of(&mut self, views: impl IntoIterator<Item = ViewId>) -> ViewsId {
        let views: EntitySet<ViewId> = views.into_iter().collect();
        self.sets.intern(views.iter().collect())
    }

    pub(super) fn union(&mut self, sets: impl IntoIterator<Item = ViewsId>) -> ViewsId {
        let mut sets: Vec<ViewsId> =
            sets.into_iter().filter(|&set| !self.sets[set].is_empty()).collect();
        sets.sort_unstable();
        sets.dedup();
        if let [only] = sets[..] {
            return only;
        }
        if let Some(&known) = self.unions.get(&sets[..]) {
            return known;
        }
        let all: Vec<Rc<[ViewId]>> = sets.iter().map(|&set| self.views(set)).collect();
        let union = self.of(all.iter().flat_map(|views| views.iter().copied()));
        self.unions.insert(sets.into(), union);
        union
    }

    /// The members of a set, sorted.
    pub(super) fn views(&self, set: ViewsId) -> Rc<[ViewId]> {
        Rc::clone(&self.sets[set])
    }
}
