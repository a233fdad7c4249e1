//! The ids of threads.

use unsnarl_events::{Numbers, Tables, Thread, ThreadId};

use crate::translate::descriptions::Descriptions;

/// Threads by their numbers.
#[derive(Debug, Default)]
pub(crate) struct ThreadIds {
    known: Numbers<ThreadId>,
    /// The thread of the last lookup: events of a thread come together.
    last: Option<(u64, ThreadId)>,
}

impl ThreadIds {
    pub(crate) fn get(&self, number: u64) -> Option<ThreadId> {
        self.known.get(number)
    }

    #[inline]
    pub(crate) fn id(
        &mut self,
        number: u64,
        descriptions: &Descriptions,
        tables: &mut Tables,
    ) -> ThreadId {
        match self.last {
            Some((last, thread)) if last == number => return thread,
            _ => {}
        }
        let thread = self.find(number, descriptions, tables);
        self.last = Some((number, thread));
        thread
    }

    fn find(&mut self, number: u64, descriptions: &Descriptions, tables: &mut Tables) -> ThreadId {
        self.known.id(number, || {
            let name = tables.names.intern(&descriptions.thread_name(number));
            let thread = tables.threads.push(Thread { name });
            tables.daemons[thread] = descriptions.daemons.contains(&number);
            thread
        })
    }

    /// A thread begins: it has the name that its starter did not know yet.
    pub(crate) fn rename(&self, number: u64, descriptions: &Descriptions, tables: &mut Tables) {
        if let Some(thread) = self.get(number)
            && descriptions.thread_names.contains_key(&number)
        {
            tables.threads[thread].name = tables.names.intern(&descriptions.thread_name(number));
            tables.daemons[thread] = descriptions.daemons.contains(&number);
        }
    }
}
