//! What two threads of a run did to synchronize, around the accesses of a finding: why nothing of it orders the two.

use std::fmt;

use crate::Frame;

/// One step of one of two threads. Steps are listed in the order of the run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimelineStep {
    /// Whose step it is: the position, in the finding, of the access that the same thread makes.
    pub lane: usize,
    /// What the thread does.
    pub kind: StepKind,
    /// What it does it with: a lock, a thread, a variable. None for an access.
    pub on: Option<String>,
    /// Where, if that is known. None for an access, which has a stack.
    pub site: Option<Frame>,
    /// The step of the other thread that this one comes after because of what both did it with, by its position in
    /// the list.
    pub after: Option<usize>,
    /// Whether the thread may have done more to synchronize between its step before and this one.
    pub is_behind_gap: bool,
}

/// What a thread does in a [`TimelineStep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepKind {
    /// Makes the access.
    Access,
    /// Is started by another thread.
    Begin,
    /// Has acquired a lock.
    Acquire,
    /// Releases a lock.
    Release,
    /// Has acquired a lock that other readers may hold at the same time.
    AcquireShared,
    /// Releases its share of a lock.
    ReleaseShared,
    /// Releases a lock to wait for a notification.
    Wait,
    /// Has ended waiting, and has the lock again.
    Wake,
    /// Starts a thread.
    Start,
    /// Has seen the end of a thread.
    Join,
    /// Writes a volatile variable.
    VolatileWrite,
    /// Reads a volatile variable.
    VolatileRead,
    /// Gives what it did so far to whoever receives: counts down a latch, puts into a queue.
    Send,
    /// Takes what was sent so far.
    Receive,
}

impl StepKind {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::Access,
        Self::Begin,
        Self::Acquire,
        Self::Release,
        Self::AcquireShared,
        Self::ReleaseShared,
        Self::Wait,
        Self::Wake,
        Self::Start,
        Self::Join,
        Self::VolatileWrite,
        Self::VolatileRead,
        Self::Send,
        Self::Receive,
    ];

    /// The name used in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Begin => "begin",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::AcquireShared => "acquire-shared",
            Self::ReleaseShared => "release-shared",
            Self::Wait => "wait",
            Self::Wake => "wake",
            Self::Start => "start",
            Self::Join => "join",
            Self::VolatileWrite => "volatile-write",
            Self::VolatileRead => "volatile-read",
            Self::Send => "send",
            Self::Receive => "receive",
        }
    }
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
