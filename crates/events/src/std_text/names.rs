//! The ids of the names that have occurred in a trace.

use unsnarl_entity::EntityId;

use super::plain::{PlainLine, Word};
use crate::ids::Names;
use crate::{
    Channel, ChannelId, Event, Lock, LockId, Method, MethodId, NameId, Operation, SiteId, Tables,
    Thread, ThreadId, Variable, VariableId,
};

/// The ids of the names that have occurred.
pub(super) struct Ids {
    threads: Names<ThreadId>,
    locks: Names<LockId>,
    variables: Names<VariableId>,
    channels: Names<ChannelId>,
    methods: Names<MethodId>,
}

impl Default for Ids {
    fn default() -> Self {
        Self {
            threads: Names::expecting(b'T'),
            locks: Names::expecting(b'L'),
            variables: Names::expecting(b'V'),
            channels: Names::expecting(b'C'),
            methods: Names::expecting(b'M'),
        }
    }
}

impl Ids {
    /// The event of a plain line.
    #[inline]
    pub(super) fn event(&mut self, line: PlainLine, tables: &mut Tables) -> Event {
        let target = u64::from(line.target);
        let operation = match line.word {
            Word::Read => {
                Operation::Read(self.variables.id_of_number(target, tables, new_variable))
            }
            Word::Write => {
                Operation::Write(self.variables.id_of_number(target, tables, new_variable))
            }
            Word::Acquire => Operation::Acquire(self.locks.id_of_number(target, tables, new_lock)),
            Word::Release => Operation::Release(self.locks.id_of_number(target, tables, new_lock)),
            Word::Fork => Operation::Fork(self.threads.id_of_number(target, tables, new_thread)),
            Word::Join => Operation::Join(self.threads.id_of_number(target, tables, new_thread)),
        };
        let thread = self.threads.id_of_number(u64::from(line.thread), tables, new_thread);
        Event { thread, site: SiteId::from_index(line.location as usize), operation }
    }

    pub(super) fn thread(&mut self, name: &[u8], tables: &mut Tables) -> ThreadId {
        self.threads.id(name, tables, new_thread)
    }

    pub(super) fn variable(&mut self, name: &[u8], tables: &mut Tables) -> VariableId {
        self.variables.id(name, tables, new_variable)
    }

    pub(super) fn lock(&mut self, name: &[u8], tables: &mut Tables) -> LockId {
        self.locks.id(name, tables, new_lock)
    }

    pub(super) fn channel(&mut self, name: &[u8], tables: &mut Tables) -> ChannelId {
        self.channels.id(name, tables, |tables, name| tables.channels.push(Channel::Named(name)))
    }

    pub(super) fn method(&mut self, name: &[u8], tables: &mut Tables) -> MethodId {
        self.methods.id(name, tables, |tables, name| {
            tables.methods.push(Method { class: None, name, descriptor: None, file: None })
        })
    }
}

fn new_thread(tables: &mut Tables, name: NameId) -> ThreadId {
    tables.threads.push(Thread { name })
}

fn new_variable(tables: &mut Tables, name: NameId) -> VariableId {
    tables.variables.push(Variable::Named(name))
}

fn new_lock(tables: &mut Tables, name: NameId) -> LockId {
    tables.locks.push(Lock::Named(name))
}
