//! The lock events by what is done and with which object: who asks for partners of an event does not look through all.

use rustc_hash::FxHashMap;
use unsnarl_program::heap::ObjectId;
use unsnarl_symbolic::{Action, Execution, LockEventId};

/// The lock events with each object.
#[derive(Default)]
pub(crate) struct LockIndex {
    acquires: ByObject,
    notifies: ByObject,
    sends: ByObject,
}

type ByObject = FxHashMap<ObjectId, Vec<LockEventId>>;

impl LockIndex {
    pub(crate) fn new(execution: &Execution<'_>) -> Self {
        let mut index = Self::default();
        for (id, event) in execution.lock_events.iter() {
            let events = match event.action {
                Action::Acquire(_) => &mut index.acquires,
                Action::Notify => &mut index.notifies,
                Action::Send => &mut index.sends,
                Action::Wait { .. } | Action::Receive | Action::Join | Action::Initialize(_) => {
                    continue;
                }
            };
            for &object in event.objects.iter() {
                events.entry(object).or_default().push(id);
            }
        }
        index
    }

    /// The acquisitions of one of these locks; sorted.
    pub(crate) fn acquires(&self, locks: impl Iterator<Item = ObjectId>) -> Vec<LockEventId> {
        with_any(&self.acquires, locks)
    }

    /// What notifies one of these objects; sorted.
    pub(crate) fn notifies(&self, objects: &[ObjectId]) -> Vec<LockEventId> {
        with_any(&self.notifies, objects.iter().copied())
    }

    /// What sends a signal by one of these objects; sorted.
    pub(crate) fn sends(&self, objects: &[ObjectId]) -> Vec<LockEventId> {
        with_any(&self.sends, objects.iter().copied())
    }
}

fn with_any(events: &ByObject, objects: impl Iterator<Item = ObjectId>) -> Vec<LockEventId> {
    let found = objects.filter_map(|object| events.get(&object));
    let mut found: Vec<LockEventId> = found.flatten().copied().collect();
    found.sort_unstable();
    found.dedup();
    found
}
