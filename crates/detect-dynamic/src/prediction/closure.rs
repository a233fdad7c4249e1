//! What must have happened before given events in every reordering that preserves synchronization.

use super::window::{Position, Prefix, Section, Window, join};

/// A set of events that is closed: with an event all that it depends on is in it, and of two critical sections of a lock
/// that it has the beginnings of it has the end of the first. It only grows.
#[derive(Clone, Debug)]
pub(crate) struct Closure {
    prefix: Prefix,
    /// Whether there is no such reordering at all.
    impossible: bool,
}

impl Closure {
    pub(crate) fn new(window: &Window) -> Self {
        Self { prefix: vec![0; window.thread_count()], impossible: false }
    }

    /// Adds all that must come before an event.
    pub(crate) fn add_before(&mut self, window: &Window, position: u32) {
        join(&mut self.prefix, &window.before(position));
        self.close(window);
    }

    pub(crate) fn contains(&self, window: &Window, position: u32) -> bool {
        let Position { thread, local } = window.places[position as usize];
        self.impossible || self.prefix[thread] >= local
    }

    /// Its events, in the order of the trace: a reordering.
    pub(crate) fn events(&self, window: &Window) -> Vec<u32> {
        let of_threads = self.prefix.iter().zip(&window.by_thread);
        let mut events: Vec<u32> =
            of_threads.flat_map(|(&count, all)| all[..count as usize].iter().copied()).collect();
        events.sort_unstable();
        events
    }

    fn close(&mut self, window: &Window) {
        while !self.impossible && self.add_ends(window) {}
    }

    /// Adds the ends of critical sections that others follow. Whether there were any.
    fn add_ends(&mut self, window: &Window) -> bool {
        let mut grown = false;
        let mut last: Vec<(usize, super::window::Mode, Section)> = Vec::new();
        for lock in &window.contended {
            last.clear();
            for sections in &window.sections[lock] {
                let count = self.prefix[sections.thread];
                let index = sections.all.partition_point(|it| it.acquire_local <= count);
                if let Some(index) = index.checked_sub(1) {
                    last.push((sections.thread, sections.mode, sections.all[index]));
                }
            }
            for &(thread, mode, section) in &last {
                let is_followed = last.iter().any(|(other, its_mode, its)| {
                    *other != thread && mode.excludes(*its_mode) && section.began_before(its)
                });
                if !is_followed {
                    continue;
                }
                let Some(release) = section.release else {
                    self.impossible = true;
                    return false;
                };
                if self.prefix[thread] < window.places[release as usize].local {
                    join(&mut self.prefix, &window.with(release));
                    grown = true;
                }
            }
        }
        grown
    }
}
