//! What is forgotten when objects have died: their variables, whose ids are then given to others.
//!
//! The same goes for the locks and channels of dead objects, if whoever reads understands it
//! ([`unsnarl_events::Source::report_retired`]); else these objects are kept, since detectors name them. Objects that an
//! allocation or a stored reference names are always kept.

use rustc_hash::FxHashSet;
use unsnarl_entity::SecondaryMap;
use unsnarl_events::{ChannelId, Event, LockId, ObjectId, Operation, Variable};

use super::Translator;
use super::resolver::Resolver;

/// What is known about the lives of objects.
#[derive(Debug, Default)]
pub(super) struct Lifetimes {
    /// Objects that something other than a variable names.
    named: SecondaryMap<ObjectId, bool>,
    /// Arrays whose elements are known without being variables.
    with_elements: SecondaryMap<ObjectId, bool>,
    /// The objects that have occurred for the first time, or in a call, since the current sweep began.
    new: Option<FxHashSet<u64>>,
}

impl Lifetimes {
    pub(super) fn name(&mut self, object: ObjectId) {
        self.named[object] = true;
    }

    pub(super) fn has_elements(&mut self, array: ObjectId) {
        self.with_elements[array] = true;
    }

    /// An object occurs in a call or for the first time, so that it may live even if the current sweep does not list it.
    #[inline]
    pub(super) fn occurs(&mut self, object: u64) {
        if let Some(new) = &mut self.new {
            new.insert(object);
        }
    }
}

/// The locks and channels that are gone with dead objects.
#[derive(Debug, Default)]
pub(super) struct Retired {
    pub(super) locks: FxHashSet<LockId>,
    pub(super) channels: Vec<ChannelId>,
}

impl Translator {
    /// What occurs for the first time from now on may live even if the list does not have it.
    pub(crate) fn sweep_begins(&mut self) {
        self.resolver.lifetimes.new = Some(FxHashSet::default());
    }

    /// Forgets the objects that occurred before the sweep began and are not among the `living`.
    pub(crate) fn sweep_ends(
        &mut self,
        thread: u64,
        living: &FxHashSet<u64>,
        out: &mut Vec<Event>,
    ) {
        let Self { resolver, library, .. } = self;
        let Some(new) = resolver.lifetimes.new.take() else { return };
        let (thread, site) = (resolver.thread(thread), resolver.site(0));
        let mut push = |operation| out.push(Event { thread, site, operation });
        let is_alive = |id: u64| living.contains(&id) || new.contains(&id);
        let mut retired = resolver.retire(is_alive, &mut push);
        library.retire(is_alive, resolver, &mut retired);
        if resolver.requested.reports_retired {
            resolver.report(&retired, push);
        }
    }
}

impl Resolver {
    /// Forgets dead objects and their variables, reports the latter, and returns the locks and channels that are gone.
    fn retire(
        &mut self,
        is_alive: impl Fn(u64) -> bool,
        mut push: impl FnMut(Operation),
    ) -> Retired {
        if !self.requested.reports_retired {
            for variable in self.volatiles.keys() {
                if let Variable::Field(object, _) = self.tables.variables[*variable] {
                    self.lifetimes.name(object);
                }
            }
        }
        let Self { objects, variables, lifetimes, descriptions, volatiles, locks, pool, .. } = self;
        let (mut dead, mut known_of_dead) = (Vec::new(), Vec::new());
        objects.retain(
            |id, object| is_alive(id) || lifetimes.named[object],
            |object, known| {
                dead.push(object);
                known_of_dead.push(known);
            },
        );
        descriptions.class_of.retain(|id, class| {
            let is_kept = *class != 0 && (is_alive(id) || objects.get(id).is_some());
            if !is_kept {
                *class = 0;
            }
            is_kept
        });
        let mut channels = Vec::new();
        let mut count = 0;
        let mut forget = |id| {
            count += 1;
            push(Operation::Forget(id));
            channels.extend(volatiles.remove(&id));
        };
        for known in known_of_dead {
            objects.forget(known, &mut forget, |first, count| pool.free_variables(first, count));
        }
        variables.forget(&dead, |id| {
            pool.free_variables(id, 1);
            forget(id);
        });
        pool.accessed_died(count);
        for &array in &dead {
            if std::mem::take(&mut lifetimes.with_elements[array]) {
                push(Operation::ForgetElements(array));
            }
        }
        let locks = locks.retire(&dead);
        pool.free_objects(dead);
        Retired { locks, channels }
    }

    /// Reports locks and channels that are gone, and lets their ids be given again.
    fn report(&mut self, Retired { locks, channels }: &Retired, mut push: impl FnMut(Operation)) {
        if locks.is_empty() && channels.is_empty() {
            return;
        }
        locks.iter().for_each(|&lock| push(Operation::ForgetLock(lock)));
        channels.iter().for_each(|&channel| push(Operation::ForgetChannel(channel)));
        push(Operation::Swept);
        self.pool.free_locks(locks);
        self.pool.free_channels(channels);
    }
}
