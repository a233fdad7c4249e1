//! What the library's state forgets when objects and locks have died.
//!
//! A dead object stays known as long as something that lives leads to it: whoever joins a future joins what that waited for.

use rustc_hash::FxHashSet;
use unsnarl_events::{Channel, Object};

use super::LibraryCalls;
use super::call::Value;
use super::channels::Key;
use crate::translate::lifetimes::Retired;
use crate::translate::resolver::Resolver;

impl LibraryCalls {
    /// Forgets dead objects and the retired locks, and adds the channels that no call can name any more to the retired ones.
    pub(crate) fn retire(
        &mut self,
        is_alive: impl Fn(u64) -> bool,
        resolver: &mut Resolver,
        retired: &mut Retired,
    ) {
        let Resolver { requested, tables, objects, .. } = resolver;
        if requested.reports_retired {
            for (object, thread) in self.threads.iter() {
                if !is_alive(object.0) {
                    tables.thread_objects[thread] = None;
                }
            }
        }
        self.forget(|value| value.is_object() && is_alive(value.0), retired);
        // Through a dead object something may still be ordered; of its name the class is left.
        for channel in self.channels.iter() {
            if let Channel::Object(object) = tables.channels[channel] {
                let Object { class, number } = tables.objects[object];
                if objects.get(number) != Some(object) {
                    tables.channels[channel] = Channel::Named(class);
                }
            }
        }
    }

    fn forget(&mut self, is_alive: impl Fn(Value) -> bool, retired: &mut Retired) {
        let reached = self.reached(&is_alive);
        let stays = |value: Value| is_alive(value) || reached.contains(&value);
        let Retired { locks: dead_locks, channels: dead_channels } = retired;
        self.slots.retain(stays);
        self.tasks.retain(stays);
        self.handles.retain(stays);
        self.threads.retain(stays);
        self.held.retain(stays, dead_locks);
        let attached = self.tasks.attached();
        self.channels.retain(|key, channel| {
            let can_be_named = match key {
                Key::Locks(lock) => !dead_locks.contains(lock),
                key => key.values().into_iter().flatten().all(stays),
            };
            let is_kept = can_be_named || attached.contains(&channel);
            if !is_kept {
                dead_channels.push(channel);
            }
            is_kept
        });
    }

    /// What is not alive, and is led to by something that is, or by what threads are in the middle of.
    fn reached(&self, is_alive: impl Fn(Value) -> bool) -> FxHashSet<Value> {
        let sources = self.slots.keys().chain(self.tasks.keys());
        let mut pending: Vec<Value> = sources.filter(|&of| is_alive(of)).collect();
        let mut reached = self.slots.statics();
        reached.extend(self.calls.iter().flat_map(|(_, calls)| calls.values()));
        pending.extend(&reached);
        while let Some(of) = pending.pop() {
            for to in self.slots.reached_from(of).chain(self.tasks.reached_from(of)) {
                if !is_alive(to) && reached.insert(to) {
                    pending.push(to);
                }
            }
        }
        reached
    }
}
