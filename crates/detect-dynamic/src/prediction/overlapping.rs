//! Windows that overlap by half.

use unsnarl_events::{Event, EventKind, EventKinds, Filter, Filters, Operation};
use unsnarl_trace_analysis::{Needs, Options};

use super::window::{HeldLocks, Window};

/// How many events a window has: an option of the predicting detectors. What a prediction takes grows faster than that.
#[derive(Clone, Copy, Debug)]
pub struct WindowSize(pub usize);

impl Default for WindowSize {
    fn default() -> Self {
        Self(1 << 15)
    }
}

/// What detectors of predictions must see.
pub(crate) const NEEDS: Needs = Needs {
    events: Needs::ACCESSES.events.or(EventKinds::of(&[EventKind::Contention])),
    tolerates: Filters::of(&[Filter::Escape]),
    exact: true,
    ..Needs::ACCESSES
};

/// Whether a reordering has to do with such an event. Others are not in windows.
pub(crate) fn concerns(operation: Operation) -> bool {
    NEEDS.events.contains(EventKind::of(operation))
}

/// The events of the window that grows.
#[derive(Debug, Default)]
pub(crate) struct Overlapping {
    size: WindowSize,
    events: Vec<Event>,
    /// The locks that are held before the first of them.
    held: HeldLocks,
}

impl Overlapping {
    /// Windows of the size that was chosen.
    pub(crate) fn new(options: &Options) -> Self {
        let WindowSize(size) = options.own().copied().unwrap_or_default();
        Self { size: WindowSize(size.max(2)), ..Self::default() }
    }

    /// Adds an event. With it a window may be full, whose second half then begins the next one.
    pub(crate) fn add(&mut self, event: Event) -> Option<Window> {
        self.events.push(event);
        let WindowSize(size) = self.size;
        if self.events.len() < size {
            return None;
        }
        let held = self.held.clone().after(&self.events[..size / 2]);
        let kept = self.events[size / 2..].to_vec();
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
