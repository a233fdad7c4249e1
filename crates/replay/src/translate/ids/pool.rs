//! New ids: those of the dead first, so that a reader needs memory for what lives and not for all that ever lived.

use unsnarl_entity::EntityId;
use unsnarl_events::{
    Channel, ChannelId, Lock, LockId, Object, ObjectId, Tables, Variable, VariableId,
};

use super::fields::GROUP;

/// The ids that can be given again.
#[derive(Debug, Default)]
pub(crate) struct IdPool {
    objects: Vec<ObjectId>,
    /// The first of as many consecutive ids as the index says.
    variables: [Vec<VariableId>; GROUP + 1],
    locks: Vec<LockId>,
    channels: Vec<ChannelId>,
    /// How many living variables were accessed, now and at most.
    accessed: usize,
    most_accessed: usize,
}

impl IdPool {
    pub(crate) fn new_object(&mut self, object: Object, tables: &mut Tables) -> ObjectId {
        let Some(free) = self.objects.pop() else { return tables.objects.push(object) };
        tables.objects[free] = object;
        free
    }

    /// An id for a variable that has none and is accessed.
    pub(crate) fn new_variable(&mut self, variable: Variable, tables: &mut Tables) -> VariableId {
        let id = self.reserve([variable].into_iter(), tables);
        self.is_accessed(tables);
        id
    }

    /// Consecutive ids for variables: the first of them.
    pub(crate) fn reserve(
        &mut self,
        variables: impl ExactSizeIterator<Item = Variable>,
        tables: &mut Tables,
    ) -> VariableId {
        match self.variables[variables.len()].pop() {
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

    /// A variable is accessed for the first time.
    pub(crate) fn is_accessed(&mut self, tables: &mut Tables) {
        self.accessed += 1;
        self.most_accessed = self.most_accessed.max(self.accessed);
        tables.reserved_variables = tables.variables.len() - self.most_accessed;
    }

    pub(crate) fn new_lock(&mut self, lock: Lock, tables: &mut Tables) -> LockId {
        let Some(free) = self.locks.pop() else { return tables.locks.push(lock) };
        tables.locks[free] = lock;
        free
    }

    pub(crate) fn new_channel(&mut self, channel: Channel, tables: &mut Tables) -> ChannelId {
        let Some(free) = self.channels.pop() else { return tables.channels.push(channel) };
        tables.channels[free] = channel;
        free
    }

    /// Variables that were accessed have died.
    pub(crate) fn accessed_died(&mut self, count: usize) {
        self.accessed -= count;
    }

    pub(crate) fn free_variables(&mut self, first: VariableId, count: usize) {
        self.variables[count].push(first);
    }

    pub(crate) fn free_objects(&mut self, mut objects: Vec<ObjectId>) {
        self.objects.append(&mut objects);
    }

    pub(crate) fn free_locks<'l>(&mut self, locks: impl IntoIterator<Item = &'l LockId>) {
        self.locks.extend(locks);
    }

    pub(crate) fn free_channels(&mut self, channels: &[ChannelId]) {
        self.channels.extend(channels);
    }
}
