//! The ids of locks.

use rustc_hash::FxHashSet;
use unsnarl_entity::SecondaryMap;
use unsnarl_events::{Lock, LockId, ObjectId, Tables};

use super::IdPool;
use crate::recent::Recent;

/// The locks of objects.
#[derive(Debug)]
pub(crate) struct LockIds {
    by_object: SecondaryMap<ObjectId, Option<LockId>>,
    /// The locks of recently acquired or released objects, by their ids in the recording: a lock keeps its id.
    recent: Recent<u64, LockId>,
}

impl Default for LockIds {
    fn default() -> Self {
        Self { by_object: SecondaryMap::default(), recent: Recent::new() }
    }
}

impl LockIds {
    /// The lock of the object with an id, if it was asked for recently.
    #[inline]
    pub(crate) fn recent(&self, id: u64) -> Option<LockId> {
        self.recent.get(id, id)
    }

    /// The lock of an object, whose id in the recording is `id`.
    pub(crate) fn id(
        &mut self,
        id: u64,
        object: ObjectId,
        pool: &mut IdPool,
        tables: &mut Tables,
    ) -> LockId {
        let lock = *self.by_object[object]
            .get_or_insert_with(|| pool.new_lock(Lock::Object(object), tables));
        self.recent.set(id, id, lock);
        lock
    }

    /// Forgets the locks of dead objects, and returns them.
    pub(crate) fn retire(&mut self, objects: &[ObjectId]) -> FxHashSet<LockId> {
        let mut retired = FxHashSet::default();
        for &object in objects {
            if self.by_object[object].is_some() {
                retired.extend(self.by_object[object].take());
            }
        }
        retired
    }
}
