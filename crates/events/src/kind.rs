//! The kinds of events, by which an analysis says what it must see.

use std::fmt;

use crate::Operation;

/// A kind of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// Reads and writes of variables.
    Access,
    /// Acquiring and releasing locks, also by waiting.
    Lock,
    /// Requests for locks, and notifications.
    Contention,
    /// Forks and joins.
    Thread,
    /// Starts and ends of threads.
    Lifetime,
    /// Sending to and receiving from channels.
    Channel,
    /// Entering and leaving methods.
    Method,
    /// Where objects are made.
    Allocation,
    /// Where references are stored.
    Reference,
    /// Begins and ends of transactions.
    Transaction,
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Access,
        Self::Lock,
        Self::Contention,
        Self::Thread,
        Self::Lifetime,
        Self::Channel,
        Self::Method,
        Self::Allocation,
        Self::Reference,
        Self::Transaction,
    ];

    /// The kind of an operation.
    #[must_use]
    pub fn of(operation: Operation) -> Self {
        use Operation as O;
        match operation {
            O::Read(_)
            | O::Write(_)
            | O::Forget(_)
            | O::ReadElements(_)
            | O::WriteElements(_)
            | O::ForgetElements(_) => Self::Access,
            O::Acquire(_)
            | O::Release(_)
            | O::AcquireShared(_)
            | O::ReleaseShared(_)
            | O::Wait(_)
            | O::Wake(_)
            | O::ForgetLock(_)
            | O::Swept => Self::Lock,
            O::Request(_) | O::Notify(_) => Self::Contention,
            O::Fork(_) | O::Join(_) => Self::Thread,
            O::Start | O::End => Self::Lifetime,
            O::Send(_) | O::Receive(_) | O::ForgetChannel(_) => Self::Channel,
            O::Enter(_) | O::Exit(_) => Self::Method,
            O::Allocate(_) => Self::Allocation,
            O::Store(_) => Self::Reference,
            O::TransactionBegin | O::TransactionEnd => Self::Transaction,
        }
    }
}

/// A set of kinds of events.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct EventKinds(u16);

impl EventKinds {
    /// No kind at all.
    pub const NONE: Self = Self(0);
    /// Every kind.
    pub const ALL: Self = Self::of(&EventKind::ALL);

    /// These kinds.
    #[must_use]
    pub const fn of(kinds: &[EventKind]) -> Self {
        let (mut set, mut index) = (0, 0);
        while index < kinds.len() {
            set |= 1 << kinds[index] as u16;
            index += 1;
        }
        Self(set)
    }

    /// Whether a kind is among them.
    #[must_use]
    pub const fn contains(self, kind: EventKind) -> bool {
        self.0 & 1 << kind as u16 != 0
    }

    /// The kinds that are in either set.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The kinds, in the order of [`EventKind::ALL`].
    pub fn iter(self) -> impl Iterator<Item = EventKind> {
        EventKind::ALL.into_iter().filter(move |&kind| self.contains(kind))
    }
}

impl fmt::Debug for EventKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
