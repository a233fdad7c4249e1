//! What is left of a trace for detectors that do not look at accesses: nearly all events are accesses, and to pass over
//! them costs each such detector as much as to look at them.
//!
//! Of the accesses of one thread that follow each other the first stays, since it shows that the thread goes on.

use unsnarl_events::{Event, ThreadId};

/// Events without the accesses that repeat that a thread goes on.
#[derive(Debug, Default)]
pub struct Outline {
    events: Vec<Event>,
}

impl Outline {
    /// Appends what is left of further events.
    pub fn add(&mut self, events: &[Event]) {
        let mut accessing: Option<ThreadId> = None;
        for event in events {
            let is_access = event.operation.is_access();
            if is_access && accessing == Some(event.thread) {
                continue;
            }
            accessing = is_access.then_some(event.thread);
            self.events.push(*event);
        }
    }

    /// What is left.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.events.clear();
    }
}
