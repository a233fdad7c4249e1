//! What is forgotten when objects have died: their variables, whose ids are then given to others, so that a reader needs
//! memory for what lives and not for all that ever lived.
//!
//! The same goes for the locks and channels of dead objects, if whoever reads understands it ([`unsnarl_events::Source::tell_dead`]);
//! else these objects are kept, since detectors name them. Always kept is what an allocation or a stored reference names.

use rustc_hash::FxHashSet;
use unsnarl_entity::{EntityId, SecondaryMap};
use unsnarl_events::{
    Channel, ChannelId, Event, Lock, LockId, Object, ObjectId, Operation, Tables, ThreadId,
    Variable, VariableId,
};

use super::Translator;
use super::ids::objects::GROUP;
use super::library::Value;

/// What is known about the lives of objects.
#[derive(Debug, Default)]
pub(super) struct Lives {
    /// Objects that something other than a variable names.
    named: SecondaryMap<ObjectId, bool>,
    /// Arrays whose elements are known without being variables.
    with_elements: SecondaryMap<ObjectId, bool>,
    /// The objects that were seen for the first time, or in a call, since the sweep began that is under way.
    new: Option<FxHashSet<u64>>,
    /// Ids that can be given again; of variables the first of so many as the index says.
    pub(super) free_objects: Vec<ObjectId>,
    free_variables: [Vec<VariableId>; GROUP + 1],
    free_locks: Vec<LockId>,
    free_channels: Vec<ChannelId>,
    /// How many variables were accessed and are not forgotten, and how many that were at most.
    accessed: usize,
    most_accessed: usize,
}

impl Lives {
    pub(super) fn name(&mut self, object: ObjectId) {
        self.named[object] = true;
    }

    pub(super) fn has_elements(&mut self, array: ObjectId) {
        self.with_elements[array] = true;
    }

    /// An id for a variable that has none and is accessed.
    pub(super) fn new_variable(&mut self, variable: Variable, tables: &mut Tables) -> VariableId {
        let id = self.reserve([variable].into_iter(), tables);
        self.is_accessed(tables);
        id
    }

    /// Ids for variables that stand behind each other: the first of them.
    pub(super) fn reserve(
        &mut self,
        variables: impl ExactSizeIterator<Item = Variable>,
        tables: &mut Tables,
    ) -> VariableId {
        match self.free_variables[variables.len()].pop() {
            Some(free) => {
                for (number, variable) in variables.enumerate() {
                    tables.variables[VariableId::from_index(free.index() + number)] = variable;
                }
                free
            }
            None => {
                let first = VariableId::from_index(tables.variables.len());
                for variable in variables {
                    tables.variables.push(variable);
                }
                first
            }
        }
    }

    pub(super) fn new_lock(&mut self, lock: Lock, tables: &mut Tables) -> LockId {
        let Some(free) = self.free_locks.pop() else { return tables.locks.push(lock) };
        tables.locks[free] = lock;
        free
    }

    pub(super) fn new_channel(&mut self, channel: Channel, tables: &mut Tables) -> ChannelId {
        let Some(free) = self.free_channels.pop() else { return tables.channels.push(channel) };
        tables.channels[free] = channel;
        free
    }

    /// A variable is accessed for the first time.
    pub(super) fn is_accessed(&mut self, tables: &mut Tables) {
        self.accessed += 1;
        self.most_accessed = self.most_accessed.max(self.accessed);
        tables.reserved_variables = tables.variables.len() - self.most_accessed;
    }

    fn forget(&mut self, first: VariableId, count: usize) {
        self.free_variables[count].push(first);
    }

    /// An object does something or is seen for the first time, so that it may live though no list has it.
    #[inline]
    pub(super) fn seen(&mut self, object: u64) {
        if let Some(new) = &mut self.new {
            new.insert(object);
        }
    }
}

impl Translator {
    /// What is seen first from now on may live even if the list does not have it.
    pub(in super::super) fn sweep_begins(&mut self) {
        self.lives.new = Some(FxHashSet::default());
    }

    /// Forgets the objects that were seen before the sweep began and are not among the `living`.
    pub(in super::super) fn sweep_ends(
        &mut self,
        thread: u64,
        living: &FxHashSet<u64>,
        out: &mut Vec<Event>,
    ) {
        let Some(new) = self.lives.new.take() else { return };
        let (thread, site) = (self.thread(thread), self.site(0));
        let is_alive = |id: u64| living.contains(&id) || new.contains(&id);
        if !self.tells_dead {
            for variable in self.volatiles.keys() {
                if let Variable::Field(object, _) = self.tables.variables[*variable] {
                    self.lives.name(object);
                }
            }
        }
        let Self { objects, variables, lives, descriptions, volatiles, locks, .. } = self;
        let (mut dead, mut known_of_dead) = (Vec::new(), Vec::new());
        objects.retain(
            |id, object| is_alive(id) || lives.named[object],
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
        let mut tell = |operation| out.push(Event { thread, site, operation });
        let mut dead_channels = Vec::new();
        let mut forgotten = 0;
        let mut forget = |id| {
            forgotten += 1;
            tell(Operation::Forget(id));
            dead_channels.extend(volatiles.remove(&id));
        };
        for known in known_of_dead {
            objects.forget(known, &mut forget, |first, count| lives.forget(first, count));
        }
        variables.forget(&dead, |id| {
            lives.forget(id, 1);
            forget(id);
        });
        lives.accessed -= forgotten;
        for &array in &dead {
            if std::mem::take(&mut lives.with_elements[array]) {
                tell(Operation::ForgetElements(array));
            }
        }
        let mut dead_locks = FxHashSet::default();
        for &object in &dead {
            if locks[object].is_some() {
                dead_locks.extend(locks[object].take());
            }
        }
        lives.free_objects.append(&mut dead);
        self.forget_orders(is_alive, &dead_locks, &mut dead_channels);
        if self.tells_dead {
            self.tell_orders(thread, &dead_locks, &dead_channels, out);
        }
    }

    /// Forgets what dead objects and locks are to the library, and says which channels are gone with them.
    fn forget_orders(
        &mut self,
        is_alive: impl Fn(u64) -> bool,
        dead_locks: &FxHashSet<LockId>,
        dead_channels: &mut Vec<ChannelId>,
    ) {
        let Self { orders, tables, calls, objects, tells_dead, .. } = self;
        for (object, &thread) in &orders.threads {
            if *tells_dead && !is_alive(object.0) {
                tables.thread_objects[thread] = None;
            }
        }
        let in_use = calls.iter().flat_map(|(_, in_thread)| in_thread.values());
        let is_alive = |value: Value| value.is_object() && is_alive(value.0);
        orders.forget(is_alive, in_use, dead_locks, |channel| dead_channels.push(channel));
        // Through a dead object something may still be ordered; of its name the class is left.
        for &channel in orders.channels.values() {
            if let Channel::Object(object) = tables.channels[channel] {
                let Object { class, number } = tables.objects[object];
                if objects.get(number) != Some(object) {
                    tables.channels[channel] = Channel::Named(class);
                }
            }
        }
    }

    fn tell_orders(
        &mut self,
        thread: ThreadId,
        locks: &FxHashSet<LockId>,
        channels: &[ChannelId],
        out: &mut Vec<Event>,
    ) {
        if locks.is_empty() && channels.is_empty() {
            return;
        }
        let site = self.site(0);
        let mut tell = |operation| out.push(Event { thread, site, operation });
        locks.iter().for_each(|&lock| tell(Operation::ForgetLock(lock)));
        channels.iter().for_each(|&channel| tell(Operation::ForgetChannel(channel)));
        tell(Operation::Swept);
        self.lives.free_locks.extend(locks);
        self.lives.free_channels.extend(channels);
    }
}
