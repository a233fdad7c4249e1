//! Deadlocks that a reordering shows which preserves synchronization.
//!
//! Acquisitions that are alike (same thread, same lock, same locks held) are one node; a cycle of nodes is a pattern. Of
//! the acquisitions of each node the first is taken that is not in the closure of what comes before all: the closure only
//! grows, so each is looked at once [Tunc23 §4].

use std::collections::BTreeMap;

use unsnarl_events::LockId;

use super::closure::Closure;
use super::window::{Mode, Window};

/// The longest cycle that is looked for, and how many patterns at most.
const LONGEST: usize = 6;
const PATTERNS: usize = 10_000;

/// Acquisitions that wait for each other.
#[derive(Clone, Debug)]
pub(crate) struct Deadlock {
    /// The positions of the acquisitions: each wants a lock that the thread of the next one holds.
    pub(crate) acquisitions: Vec<u32>,
    /// What comes before all of them.
    pub(crate) before: Closure,
}

/// Acquisitions of one thread that are alike.
struct Node {
    thread: usize,
    lock: LockId,
    mode: Mode,
    held: Vec<(LockId, Mode)>,
    events: Vec<u32>,
}

/// One deadlock for every pattern that can happen.
pub(crate) fn deadlocks(window: &Window) -> Vec<Deadlock> {
    let mut alike: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for acquisition in &window.acquisitions {
        let mut held: Vec<_> =
            acquisition.held.iter().map(|&(lock, mode, _)| (lock, mode)).collect();
        held.sort_unstable();
        let thread = window.places[acquisition.event as usize].thread;
        let key = (thread, acquisition.lock, acquisition.mode, held);
        alike.entry(key).or_default().push(acquisition.event);
    }
    let nodes: Vec<Node> = alike
        .into_iter()
        .map(|((thread, lock, mode, held), events)| Node { thread, lock, mode, held, events })
        .collect();
    let mut search =
        Search { window, nodes: &nodes, path: Vec::new(), patterns: 0, found: Vec::new() };
    for first in 0..nodes.len() {
        search.path.push(first);
        search.extend();
        search.path.pop();
    }
    search.found
}

struct Search<'w> {
    window: &'w Window,
    nodes: &'w [Node],
    /// A chain of nodes that each want what the next one holds. Its first node has the smallest number.
    path: Vec<usize>,
    patterns: usize,
    found: Vec<Deadlock>,
}

impl Search<'_> {
    fn extend(&mut self) {
        let (Some(&first), Some(&last)) = (self.path.first(), self.path.last()) else { return };
        for next in first..self.nodes.len() {
            if self.patterns >= PATTERNS || !wants_what(&self.nodes[last], &self.nodes[next]) {
                continue;
            }
            if next == first && self.path.len() > 1 {
                self.patterns += 1;
                self.found.extend(self.check());
            } else if next != first && self.path.len() < LONGEST && self.fits(next) {
                self.path.push(next);
                self.extend();
                self.path.pop();
            }
        }
    }

    /// Whether a node can be in a deadlock with those of the path: another thread, another lock, nothing held in common.
    fn fits(&self, next: usize) -> bool {
        let next = &self.nodes[next];
        self.path
            .iter()
            .map(|&one| &self.nodes[one])
            .all(|one| one.thread != next.thread && one.lock != next.lock && !have_gate(one, next))
    }

    /// The first acquisitions of a pattern that can all be waited for at the same time.
    fn check(&self) -> Option<Deadlock> {
        let window = self.window;
        let mut before = Closure::new(window);
        let mut next = vec![0; self.path.len()];
        for (&node, &index) in self.path.iter().zip(&next) {
            before.add_before(window, self.nodes[node].events[index]);
        }
        loop {
            let current = |place: usize, next: &[usize]| {
                self.nodes[self.path[place]].events.get(next[place]).copied()
            };
            let mut moved = false;
            for place in 0..self.path.len() {
                while before.contains(window, current(place, &next)?) {
                    next[place] += 1;
                    before.add_before(window, current(place, &next)?);
                    moved = true;
                }
            }
            if !moved {
                let acquisitions = (0..self.path.len()).filter_map(|place| current(place, &next));
                return Some(Deadlock { acquisitions: acquisitions.collect(), before });
            }
        }
    }
}

fn wants_what(one: &Node, other: &Node) -> bool {
    other.held.iter().any(|(lock, mode)| *lock == one.lock && mode.excludes(one.mode))
}

fn have_gate(one: &Node, other: &Node) -> bool {
    one.held.iter().any(|(lock, mode)| {
        other.held.iter().any(|(its, its_mode)| its == lock && mode.excludes(*its_mode))
    })
}
