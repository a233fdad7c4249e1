//! Races that a reordering shows which preserves synchronization.
//!
//! For two threads and a variable the accesses of each are gone through in their order: the closure of what comes before
//! two of them grows with both, so an access that is in it once is in it forever. So every access is looked at a few
//! times only [Mathur21 §4]. Two threads that hold a lock at all of their accesses are not looked at: closures
//! would only find out that they exclude each other, and most variables are like that.

use rustc_hash::FxHashMap;
use unsnarl_events::{LockId, Operation, VariableId};

use super::closure::Closure;
use super::window::{HeldLocks, Mode, Window};

/// Two accesses that can come one directly after the other, in both orders.
#[derive(Clone, Debug)]
pub(crate) struct PredictedRace {
    /// Their positions in the window.
    pub(crate) earlier: u32,
    pub(crate) later: u32,
    /// What comes before both.
    pub(crate) before: Closure,
}

/// The accesses of a variable, by thread.
#[derive(Default)]
struct Accesses {
    reads: FxHashMap<usize, OfThread>,
    writes: FxHashMap<usize, OfThread>,
}

/// Accesses of one thread, and the locks that it holds at all of them.
#[derive(Default)]
struct OfThread {
    positions: Vec<u32>,
    locks: Vec<(LockId, Mode)>,
}

impl OfThread {
    fn add(&mut self, position: u32, held: impl Iterator<Item = (LockId, Mode)>) {
        let held: Vec<_> = held.collect();
        match self.positions.is_empty() {
            true => self.locks = held,
            false => self.locks.retain(|lock| held.contains(lock)),
        }
        self.positions.push(position);
    }

    /// Whether the thread can never be at one of its accesses while the other thread is at one of its own.
    fn excludes(&self, other: &Self) -> bool {
        self.locks.iter().any(|(lock, mode)| {
            other.locks.iter().any(|(its, its_mode)| lock == its && mode.excludes(*its_mode))
        })
    }
}

/// For every access that races with an earlier one of a thread the first such race, in the order of the later accesses.
pub(crate) fn races(window: &Window) -> Vec<PredictedRace> {
    let mut variables: FxHashMap<VariableId, Accesses> = FxHashMap::default();
    let mut held: HeldLocks = window.held.clone();
    for (position, event) in (0..).zip(&window.events) {
        held.on(event, position);
        let thread = window.places[position as usize].thread;
        let accesses = match event.operation {
            Operation::Read(variable) => {
                variables.entry(variable).or_default().reads.entry(thread).or_default()
            }
            Operation::Write(variable) => {
                variables.entry(variable).or_default().writes.entry(thread).or_default()
            }
            _ => continue,
        };
        accesses.add(position, held.of(event.thread).map(|(lock, mode, _)| (lock, mode)));
    }
    let mut found = Vec::new();
    for Accesses { reads, writes } in variables.values() {
        for (earlier, later) in [(writes, writes), (writes, reads), (reads, writes)] {
            for (one, its) in earlier {
                let others = later.iter().filter(|(other, _)| *other != one);
                for (_, others) in others.filter(|(_, others)| !its.excludes(others)) {
                    of_two_threads(window, &its.positions, &others.positions, &mut found);
                }
            }
        }
    }
    found.sort_unstable_by_key(|race| (race.later, race.earlier));
    found
}

fn of_two_threads(window: &Window, earlier: &[u32], later: &[u32], found: &mut Vec<PredictedRace>) {
    let mut before = Closure::new(window);
    let mut candidates = earlier.iter().copied().peekable();
    for &second in later {
        before.add_before(window, second);
        while let Some(&first) = candidates.peek().filter(|&&first| first < second) {
            before.add_before(window, first);
            if before.contains(window, first) {
                candidates.next();
                continue;
            }
            if !before.contains(window, second) {
                let before = before.clone();
                found.push(PredictedRace { earlier: first, later: second, before });
            }
            break;
        }
    }
}
