//! A reordering after which two accesses come next: one that preserves synchronization, else one that a search finds.
//!
//! The search goes through the events that the accesses depend on, with a budget: from what has happened so far it tries
//! what the threads can do next, in the order of the trace first, and goes back where it gets stuck.

use rustc_hash::FxHashSet;

use super::closure::Closure;
use super::replay::Replay;
use super::window::{Prefix, Window, join};

/// How many steps a search takes at most, and how many events it looks at.
const STEPS: usize = 5_000;
const EVENTS: u32 = 2_000;

/// Such a reordering, if one is found.
pub(crate) fn witness(window: &Window, pair: [u32; 2]) -> Option<Vec<u32>> {
    let mut before = Closure::new(window);
    pair.iter().for_each(|&position| before.add_before(window, position));
    if pair.iter().all(|&position| !before.contains(window, position)) {
        return Some(before.events(window));
    }
    let mut needed = window.before(pair[0]);
    join(&mut needed, &window.before(pair[1]));
    let depends = pair.iter().any(|&position| {
        let place = window.places[position as usize];
        needed[place.thread] >= place.local
    });
    if depends || needed.iter().sum::<u32>() > EVENTS {
        return None;
    }
    let mut most: Prefix = window.by_thread.iter().map(|all| all.len() as u32).collect();
    for position in pair {
        let place = window.places[position as usize];
        most[place.thread] = place.local - 1;
    }
    let mut search = Search { window, needed, most, order: Vec::new(), seen: FxHashSet::default() };
    search.go(&Replay::new(window)).then_some(search.order)
}

struct Search<'w> {
    window: &'w Window,
    /// How far every thread has to go at least; it may go on to give a lock back, but not past the pair.
    needed: Prefix,
    most: Prefix,
    order: Vec<u32>,
    /// From where it was tried already.
    seen: FxHashSet<Prefix>,
}

impl Search<'_> {
    /// Goes on until all that is needed has happened.
    fn go(&mut self, replay: &Replay<'_>) -> bool {
        if replay.done.iter().zip(&self.needed).all(|(done, needed)| done >= needed) {
            return true;
        }
        if self.seen.len() >= STEPS || !self.seen.insert(replay.done.clone()) {
            return false;
        }
        let mut next: Vec<(bool, u32)> = Vec::new();
        for (thread, &done) in replay.done.iter().enumerate() {
            let is_extra = done >= self.needed[thread];
            if done < self.most[thread] && (!is_extra || replay.holds_locks(thread)) {
                next.push((is_extra, self.window.by_thread[thread][done as usize]));
            }
        }
        // What is needed first, in the order of the trace.
        next.sort_unstable();
        for (_, position) in next {
            let mut replay = replay.clone();
            if !replay.step(position) {
                continue;
            }
            self.order.push(position);
            if self.go(&replay) {
                return true;
            }
            self.order.pop();
        }
        false
    }
}
