//! Class initializers: what they did happens before all code that needs the class to be initialized.
//!
//! The end of an initializer sends on a channel of its class. A thread receives from it once, at its first event that shows
//! that the class is initialized: in a static method or a constructor of the class, or at an access to a static field.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_entity::{EntityId, SecondaryMap};
use unsnarl_events::{Channel, ChannelId, Event, NameId, Operation, SiteId, ThreadId};

use super::emitter::Emitter;
use crate::recent::Recent;

/// The initializers that have ended, and the threads that know it.
#[derive(Debug)]
pub(super) struct Initializers {
    /// The channels of classes whose initializer has ended.
    ended: FxHashMap<NameId, ChannelId>,
    /// The initializers whose end a thread has received.
    received: SecondaryMap<ThreadId, FxHashSet<NameId>>,
    /// How many initializers had ended when a thread had received from all that a site needs.
    settled: Recent<(ThreadId, SiteId), usize>,
}

impl Default for Initializers {
    fn default() -> Self {
        Self {
            ended: FxHashMap::default(),
            received: SecondaryMap::default(),
            settled: Recent::new(),
        }
    }
}

impl Initializers {
    /// The thread is at a site: the classes are initialized without which its code would not run.
    #[inline]
    pub(super) fn receive_needed(&mut self, emit: &mut Emitter<'_>) {
        if !emit.resolver.sites.needed_classes(emit.site).is_empty()
            && !self.is_settled(emit.thread, emit.site)
        {
            self.receive_all(emit);
        }
    }

    fn receive_all(&mut self, emit: &mut Emitter<'_>) {
        let Emitter { resolver, thread, site, out, .. } = emit;
        let (thread, site) = (*thread, *site);
        for class in resolver.sites.needed_classes(site) {
            if let Some(&channel) = self.ended.get(class)
                && self.received[thread].insert(*class)
            {
                out.push(Event { thread, site, operation: Operation::Receive(channel) });
            }
        }
        self.settled.set((thread, site), spread(thread, site), self.ended.len());
    }

    /// Whether a thread has recently received from all initializers that a site needs.
    #[inline]
    pub(super) fn is_settled(&self, thread: ThreadId, site: SiteId) -> bool {
        let settled = self.settled.get((thread, site), spread(thread, site));
        settled == Some(self.ended.len())
    }

    /// The thread accesses a static field of a class.
    pub(super) fn receive(&mut self, class: NameId, emit: &mut Emitter<'_>) {
        if let Some(&channel) = self.ended.get(&class)
            && self.received[emit.thread].insert(class)
        {
            emit.push(Operation::Receive(channel));
        }
    }

    /// The thread has initialized a class.
    pub(super) fn end(&mut self, class: NameId, emit: &mut Emitter<'_>) {
        self.received[emit.thread].insert(class);
        let tables = &mut emit.resolver.tables;
        let channel = *self.ended.entry(class).or_insert_with(|| {
            let text = [b"initialization of ", &tables.names[class]].concat();
            let name = tables.names.intern(&text);
            tables.channels.push(Channel::Named(name))
        });
        emit.push(Operation::Send(channel));
    }

    /// The thread has ended.
    pub(super) fn forget_thread(&mut self, thread: ThreadId) {
        self.received[thread] = FxHashSet::default();
    }
}

fn spread(thread: ThreadId, site: SiteId) -> u64 {
    (thread.index() as u64) << 32 | site.index() as u64
}
