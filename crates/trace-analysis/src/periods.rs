//! Thread periods: which parts of threads can overlap, whatever the order in which locks are acquired.
//!
//! After [Wang06 §4], where a period ends at a start, a join or a barrier. Here everything counts
//! that orders threads other than locks; latches, futures and queues are to modern programs what barriers were.

use unsnarl_events::{Event, Operation, ThreadId};

use crate::clocks::{Clocks, ThreadClock};

/// The periods of all threads.
#[derive(Debug, Default)]
pub struct Periods(Clocks);

impl Periods {
    /// Takes in what an event orders.
    #[inline]
    pub fn on(&mut self, event: &Event) {
        use Operation::{End, ForgetChannel, Fork, Join, Receive, Send};
        match event.operation {
            Fork(_) | Join(_) | End | Send(_) | Receive(_) | ForgetChannel(_) => self.0.on(event),
            _ => {}
        }
    }

    /// The period that a thread is in: two are concurrent if neither knows when the other was.
    #[inline]
    pub fn of(&mut self, thread: ThreadId) -> &ThreadClock {
        self.0.of(thread)
    }
}
