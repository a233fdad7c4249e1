//! Races that a reordering shows which preserves synchronization.
//!
//! For two threads and a variable the accesses of each are gone through in their order: the closure of what comes before
//! two of them grows with both, so an access that is in it once is in it for ever. So every access is looked at a few
//! times only (POPL 2021, section 4).

use rustc_hash::FxHashMap;
use unsnarl_trace::{Operation, VariableId};

use super::closure::Closure;
use super::window::Window;

/// Two accesses that can come one directly behind the other, in both orders.
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
    reads: FxHashMap<usize, Vec<u32>>,
    writes: FxHashMap<usize, Vec<u32>>,
}

/// For every access that races with an earlier one of a thread the first such race, in the order of the later accesses.
pub(crate) fn races(window: &Window) -> Vec<PredictedRace> {
    let mut variables: FxHashMap<VariableId, Accesses> = FxHashMap::default();
    for (position, event) in (0..).zip(&window.events) {
        let thread = window.places[position as usize].thread;
        match event.operation {
            Operation::Read(variable) => {
                variables.entry(variable).or_default().reads.entry(thread).or_default()
            }
            Operation::Write(variable) => {
                variables.entry(variable).or_default().writes.entry(thread).or_default()
            }
            _ => continue,
        }
        .push(position);
    }
    let mut found = Vec::new();
    for Accesses { reads, writes } in variables.values() {
        for (earlier, later) in [(writes, writes), (writes, reads), (reads, writes)] {
            for (one, its) in earlier {
                for (_, others) in later.iter().filter(|(other, _)| *other != one) {
                    of_two_threads(window, its, others, &mut found);
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
