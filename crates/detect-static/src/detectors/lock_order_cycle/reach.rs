//! Which acquisitions the search for long cycles has to visit: only those in a strongly connected component with the
//! first one, and only as far from it as leaves room for the way back. Most paths would otherwise lead nowhere.

use std::collections::VecDeque;

use unsnarl_entity::components;

/// The acquisitions that may come before each in a cycle.
pub(crate) struct Predecessors {
    before: Vec<Vec<usize>>,
}

impl Predecessors {
    /// From those that may come after each.
    pub(crate) fn new(after: &[Vec<usize>]) -> Self {
        let mut circle_of = vec![0; after.len()];
        let circles = components(after.len(), |node| &after[node]);
        for (number, circle) in circles.iter().enumerate() {
            circle.iter().for_each(|&node| circle_of[node] = number);
        }
        let mut before = vec![Vec::new(); after.len()];
        for (node, after) in after.iter().enumerate() {
            for &next in after.iter().filter(|&&next| circle_of[next] == circle_of[node]) {
                before[next].push(node);
            }
        }
        Self { before }
    }

    /// How many steps it takes at least to come to one of them; nothing if it cannot be come to.
    pub(crate) fn distances(&self, to: usize) -> Vec<Option<usize>> {
        let mut distances = vec![None; self.before.len()];
        let mut open = VecDeque::from([(to, 0)]);
        while let Some((node, distance)) = open.pop_front() {
            for &before in &self.before[node] {
                if distances[before].is_none() {
                    distances[before] = Some(distance + 1);
                    open.push_back((before, distance + 1));
                }
            }
        }
        distances
    }
}
