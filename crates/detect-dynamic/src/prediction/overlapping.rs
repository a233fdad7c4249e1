//! Windows that overlap by half.

use unsnarl_trace::{Event, Filter, Operation};

use super::window::{HeldLocks, Window};
use crate::detector::{EventKind, Needs, kind_of};

/// How many events a window has. What a prediction takes grows faster than that.
const EVENTS: usize = 1 << 15;

/// What detectors of predictions must see.
pub(crate) const NEEDS: Needs = Needs {
    events: &[
        EventKind::Access,
        EventKind::Lock,
        EventKind::Contention,
        EventKind::Thread,
        EventKind::Channel,
    ],
    tolerates: &[Filter::Escape],
    exact: true,
};

/// Whether a reordering has to do with such an event. Others are not in windows.
pub(crate) fn concerns(operation: Operation) -> bool {
    NEEDS.events.contains(&kind_of(operation))
}

/// The events of the window that grows.
#[derive(Debug, Default)]
pub(crate) struct Overlapping {
    events: Vec<Event>,
    /// The locks that are held before the first of them.
    held: HeldLocks,
}

impl Overlapping {
    /// Adds an event. With it a window may be full, whose second half then begins the next one.
    pub(crate) fn add(&mut self, event: Event) -> Option<Window> {
        self.events.push(event);
        if self.events.len() < EVENTS {
            return None;
        }
        let held = self.held.clone().behind(&self.events[..EVENTS / 2]);
        let kept = self.events[EVENTS / 2..].to_vec();
        let events = std::mem::replace(&mut self.events, kept);
        Some(Window::new(events, std::mem::replace(&mut self.held, held)))
    }

    /// How many events are in the window that grows.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// The window that grows, as it is at the end.
    pub(crate) fn rest(&mut self) -> Window {
        let events = std::mem::take(&mut self.events);
        Window::new(events, std::mem::take(&mut self.held))
    }
}
