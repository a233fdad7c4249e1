//! The `Thread` objects of threads.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_events::ThreadId;

use super::call::Value;

/// The `Thread` objects that occurred in events.
#[derive(Debug, Default)]
pub(crate) struct ThreadObjects {
    threads: FxHashMap<Value, ThreadId>,
    objects: FxHashMap<ThreadId, Value>,
    ended: FxHashSet<ThreadId>,
}

impl ThreadObjects {
    pub(crate) fn insert(&mut self, object: Value, thread: ThreadId) {
        self.threads.insert(object, thread);
        self.objects.insert(thread, object);
    }

    pub(crate) fn object(&self, thread: ThreadId) -> Option<Value> {
        self.objects.get(&thread).copied()
    }

    pub(crate) fn is_thread(&self, value: Value) -> bool {
        self.threads.contains_key(&value)
    }

    pub(crate) fn end(&mut self, thread: ThreadId) {
        self.ended.insert(thread);
    }

    /// The thread of an object, if it has ended.
    pub(crate) fn ended(&self, object: Value) -> Option<ThreadId> {
        self.threads.get(&object).copied().filter(|thread| self.ended.contains(thread))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Value, ThreadId)> {
        self.threads.iter().map(|(&object, &thread)| (object, thread))
    }

    pub(super) fn retain(&mut self, stays: impl Fn(Value) -> bool) {
        self.threads.retain(|object, _| stays(*object));
        self.objects.retain(|_, object| stays(*object));
    }
}
