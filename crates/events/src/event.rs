//! One step of one thread.

use unsnarl_entity::entity_id;

use crate::Elements;

entity_id! {
    /// A thread of the traced program. No two threads of a trace share one, also when the first has
    /// ended before the second begins.
    pub struct ThreadId("thread");
    /// A lock: the monitor of an object, or one of `java.util.concurrent`.
    pub struct LockId("lock");
    /// A field of one object, a static field, or one element of one array.
    pub struct VariableId("variable");
    /// Something other than a lock through which threads order each other: a volatile variable, a
    /// latch, a queue, a future.
    pub struct ChannelId("channel");
    /// A place in the code.
    pub struct SiteId("site");
    /// A method of the traced program.
    pub struct MethodId("method");
    /// A field as its class declares it.
    pub struct FieldId("field");
    /// An object of the traced program.
    pub struct ObjectId("object");
    /// A reference that was stored.
    pub struct StoreId("store");
    /// A name. Names are bytes until they are shown.
    pub struct NameId("name");
}

/// One step of one thread, in 20 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// Who does it.
    pub thread: ThreadId,
    /// Where in the code.
    pub site: SiteId,
    /// What is done.
    pub operation: Operation,
}

/// What a thread does in an [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Reads a variable.
    Read(VariableId),
    /// Writes a variable.
    Write(VariableId),
    /// Has acquired a lock, for itself alone. Entering a lock again that the thread holds already is
    /// an event as well; it orders nothing new.
    Acquire(LockId),
    /// Is about to release a lock that it has for itself alone.
    Release(LockId),
    /// Has acquired a lock that other readers may hold at the same time.
    AcquireShared(LockId),
    /// Is about to release its share of a lock.
    ReleaseShared(LockId),
    /// Is about to acquire a lock, and may have to wait for it. Orders nothing.
    Request(LockId),
    /// Is about to wait for a notification: releases the lock, however often it was entered.
    Wait(LockId),
    /// Has ended waiting, for whatever reason, and has the lock again.
    Wake(LockId),
    /// Notifies threads that wait. The lock, which the thread holds, orders; this does not.
    Notify(LockId),
    /// Is about to start a thread. What the starter did before comes before all that the new thread
    /// does.
    Fork(ThreadId),
    /// Has seen the end of a thread. All that this thread did comes before what follows.
    Join(ThreadId),
    /// Is about to publish what it did so far to whoever receives from the channel later: a volatile
    /// write, counting down a latch, putting into a queue. What others sent before stays in it.
    Send(ChannelId),
    /// Has taken over what was sent to the channel so far: a volatile read, an await that returned.
    Receive(ChannelId),
    /// The first event of a thread.
    Start,
    /// The last event of a thread.
    End,
    /// A method is entered.
    Enter(MethodId),
    /// A method is left, also by an exception.
    Exit(MethodId),
    /// Has made an object, which nobody else knows. It may be recorded when the construction begins, and once more
    /// after it, at the place of the `new`. [`Tables::makers`](crate::Tables::makers) has on whose behalf.
    Allocate(ObjectId),
    /// Is about to store a reference.
    Store(StoreId),
    /// Reads elements of an array, one after another. Who does not [ask for it](crate::Source::keep_elements) gets a
    /// [`Read`](Self::Read) for each.
    ReadElements(Elements),
    /// Writes elements of an array, one after another.
    WriteElements(Elements),
    /// The array is gone: what is known about its elements can be forgotten. Its id may come again, for another object, in
    /// a later batch of events.
    ForgetElements(ObjectId),
    /// The variable is gone, with its object: what is known about it can be forgotten. Its id may come again, for another
    /// variable, in a later batch of events.
    Forget(VariableId),
    /// The lock is gone, with its object: nobody acquires it any more. Its id may come again, for another lock, in a later
    /// batch of events. Delivered to readers that [ask for it](crate::Source::report_retired).
    ForgetLock(LockId),
    /// The channel is gone, as a lock may be.
    ForgetChannel(ChannelId),
    /// The locks and channels that are gone have been named; all tables still have them. The last event of its batch.
    Swept,
    /// A block begins that is meant to be atomic (`begin` in STD).
    TransactionBegin,
    /// The block ends (`end` in STD).
    TransactionEnd,
}

impl Operation {
    /// Whether it reads or writes variables or elements.
    #[must_use]
    pub fn is_access(self) -> bool {
        use Operation::{Read, ReadElements, Write, WriteElements};
        matches!(self, Read(_) | Write(_) | ReadElements(_) | WriteElements(_))
    }

    /// Whether it says that something is gone.
    #[must_use]
    pub fn forgets(self) -> bool {
        use Operation::{Forget, ForgetChannel, ForgetElements, ForgetLock, Swept};
        matches!(self, Forget(_) | ForgetElements(_) | ForgetLock(_) | ForgetChannel(_) | Swept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_20_bytes() {
        assert_eq!(size_of::<Event>(), 20);
    }
}
