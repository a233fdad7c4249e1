//! For every slot, the time up to which its steps are known.
//!
//! The first slots, and most programs have no others, are a plain array. The rest is a tree that clocks
//! share: when a hundred thousand threads pass a lock on, each knows of all before it, and each clock differs from
//! the one before in a single path. Joining clocks that have most in common looks at what differs alone.

use std::sync::Arc;

/// How many slots are in the array.
const FLAT: usize = 64;
/// How many children a node of the tree has, and how many times a leaf.
const FAN: usize = 32;

/// Nothing is known at time 0.
#[derive(Debug, Default)]
pub struct VectorClock {
    flat: Vec<u64>,
    rest: Option<Tree>,
}

impl Clone for VectorClock {
    fn clone(&self) -> Self {
        Self { flat: self.flat.clone(), rest: self.rest.clone() }
    }

    /// Uses memory again, which most that is published needs.
    #[inline]
    fn clone_from(&mut self, other: &Self) {
        self.flat.clone_from(&other.flat);
        self.rest.clone_from(&other.rest);
    }
}

impl VectorClock {
    /// The time up to which a slot is known.
    #[inline]
    pub fn time(&self, slot: usize) -> u64 {
        match slot.checked_sub(FLAT) {
            None => self.flat.get(slot).copied().unwrap_or(0),
            Some(index) => self.rest.as_ref().map_or(0, |rest| rest.get(index)),
        }
    }

    /// The same, but 0 for all slots that are not in the array.
    #[inline(always)]
    pub fn near_time(&self, slot: usize) -> u64 {
        self.flat.get(slot).copied().unwrap_or(0)
    }

    /// Takes over a time of one slot and what comes before it there.
    #[inline]
    pub fn add(&mut self, slot: usize, time: u64) {
        match slot.checked_sub(FLAT) {
            None => self.add_near(slot, time),
            Some(index) => {
                if self.time(slot) < time {
                    self.rest.get_or_insert_with(Tree::default).set(index, time);
                }
            }
        }
    }

    /// The same, if the slot is one of the array.
    #[inline]
    pub fn add_near(&mut self, slot: usize, time: u64) {
        if slot >= FLAT {
            return;
        }
        if slot >= self.flat.len() {
            self.flat.resize(slot + 1, 0);
        }
        self.flat[slot] = self.flat[slot].max(time);
    }

    /// A later time of a slot in the array has not been.
    pub fn take_back_near(&mut self, slot: usize, time: u64) {
        if let Some(known) = self.flat.get_mut(slot) {
            *known = time;
        }
    }

    /// Whether all that `other` knows is known for certain: the quick answer may be no although it is.
    pub fn covers(&self, other: &Self) -> bool {
        let is_same = match (&self.rest, &other.rest) {
            (_, None) => true,
            (Some(own), Some(others)) => Arc::ptr_eq(&own.root, &others.root),
            (None, Some(_)) => false,
        };
        is_same
            && other.flat.len() <= self.flat.len()
            && self.flat.iter().zip(&other.flat).all(|(own, others)| own >= others)
    }

    /// Takes over all that `other` knows.
    #[inline]
    pub fn join(&mut self, other: &Self) {
        if other.flat.len() > self.flat.len() {
            self.flat.resize(other.flat.len(), 0);
        }
        for (own, &others) in self.flat.iter_mut().zip(&other.flat) {
            *own = (*own).max(others);
        }
        if let Some(others) = &other.rest {
            match &mut self.rest {
                Some(rest) => rest.join(others),
                None => self.rest = Some(others.clone()),
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Tree {
    /// How many levels of branches are above the leaves.
    height: u32,
    root: Arc<Node>,
}

#[derive(Clone, Debug)]
enum Node {
    Leaf([u64; FAN]),
    Branch([Option<Arc<Node>>; FAN]),
}

impl Default for Tree {
    fn default() -> Self {
        Self { height: 0, root: Arc::new(Node::Leaf([0; FAN])) }
    }
}

impl Tree {
    fn get(&self, index: usize) -> u64 {
        if index >= capacity(self.height) {
            return 0;
        }
        let (mut node, mut height) = (&self.root, self.height);
        loop {
            match &**node {
                Node::Leaf(times) => return times[index % FAN],
                Node::Branch(children) => match &children[position(index, height)] {
                    Some(child) => node = child,
                    None => return 0,
                },
            }
            height -= 1;
        }
    }

    fn set(&mut self, index: usize, time: u64) {
        while index >= capacity(self.height) {
            self.grow();
        }
        let (mut node, mut height) = (&mut self.root, self.height);
        loop {
            match Arc::make_mut(node) {
                Node::Leaf(times) => {
                    times[index % FAN] = time;
                    return;
                }
                Node::Branch(children) => {
                    let child = &mut children[position(index, height)];
                    height -= 1;
                    node = child.get_or_insert_with(|| Arc::new(Node::empty(height)));
                }
            }
        }
    }

    fn join(&mut self, other: &Self) {
        if other.height <= self.height {
            let joined = match self.first_at(other.height) {
                None => Arc::clone(&other.root),
                Some(lower) => {
                    let mut joined = Arc::clone(lower);
                    join(&mut joined, &other.root);
                    joined
                }
            };
            self.set_first_at(other.height, joined);
        } else {
            while self.height < other.height {
                self.grow();
            }
            join(&mut self.root, &other.root);
        }
    }

    /// One more level above.
    fn grow(&mut self) {
        let mut children = [const { None }; FAN];
        children[0] = Some(Arc::clone(&self.root));
        self.root = Arc::new(Node::Branch(children));
        self.height += 1;
    }

    /// The node of this height on the way to the first time.
    fn first_at(&self, height: u32) -> Option<&Arc<Node>> {
        let mut node = &self.root;
        for _ in height..self.height {
            let Node::Branch(children) = &**node else { return None };
            node = children[0].as_ref()?;
        }
        Some(node)
    }

    fn set_first_at(&mut self, height: u32, new: Arc<Node>) {
        if self.first_at(height).is_some_and(|node| Arc::ptr_eq(node, &new)) {
            return;
        }
        let mut node = &mut self.root;
        for level in (height..self.height).rev() {
            let Node::Branch(children) = Arc::make_mut(node) else { return };
            node = children[0].get_or_insert_with(|| Arc::new(Node::empty(level)));
        }
        *node = new;
    }
}

impl Node {
    fn empty(height: u32) -> Self {
        if height == 0 { Self::Leaf([0; FAN]) } else { Self::Branch([const { None }; FAN]) }
    }
}

/// How many times a tree of this height has.
fn capacity(height: u32) -> usize {
    FAN.saturating_pow(height + 1)
}

/// Which child of a branch of this height leads to an index.
fn position(index: usize, height: u32) -> usize {
    index / capacity(height - 1) % FAN
}

/// Makes `own` the later of both everywhere. What is the same as in `other` is shared with it.
fn join(own: &mut Arc<Node>, other: &Arc<Node>) {
    if Arc::ptr_eq(own, other) {
        return;
    }
    let joined = match (&**own, &**other) {
        (Node::Leaf(ours), Node::Leaf(others)) => {
            let later: [u64; FAN] = std::array::from_fn(|index| ours[index].max(others[index]));
            if later == *others {
                Arc::clone(other)
            } else if later == *ours {
                return;
            } else {
                Arc::new(Node::Leaf(later))
            }
        }
        (Node::Branch(ours), Node::Branch(others)) => {
            let later: [Option<Arc<Node>>; FAN] =
                std::array::from_fn(|index| match (&ours[index], &others[index]) {
                    (Some(our), Some(others)) => {
                        let mut joined = Arc::clone(our);
                        join(&mut joined, others);
                        Some(joined)
                    }
                    (our, others) => our.as_ref().or(others.as_ref()).cloned(),
                });
            if same(&later, others) {
                Arc::clone(other)
            } else if same(&later, ours) {
                return;
            } else {
                Arc::new(Node::Branch(later))
            }
        }
        // Both are of the same height.
        _ => return,
    };
    *own = joined;
}

fn same(one: &[Option<Arc<Node>>; FAN], other: &[Option<Arc<Node>>; FAN]) -> bool {
    one.iter().zip(other).all(|pair| match pair {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum ClockOperation {
        Add(usize, usize, u64),
        Join(usize, usize),
        Copy(usize, usize),
    }

    fn step() -> impl Strategy<Value = ClockOperation> {
        let slot = prop_oneof![0..8_usize, 60..100_usize, 0..5000_usize, 0..3_000_000_usize];
        prop_oneof![
            (0..3_usize, slot, 1..9_u64)
                .prop_map(|(clock, slot, time)| ClockOperation::Add(clock, slot, time)),
            (0..3_usize, 0..3_usize).prop_map(|(one, other)| ClockOperation::Join(one, other)),
            (0..3_usize, 0..3_usize).prop_map(|(one, other)| ClockOperation::Copy(one, other)),
        ]
    }

    proptest! {
        #[test]
        fn it_is_the_same_as_a_map(steps in prop::collection::vec(step(), 0..60)) {
            let mut clocks: [VectorClock; 3] = Default::default();
            let mut maps: [BTreeMap<usize, u64>; 3] = Default::default();
            for step in steps {
                match step {
                    ClockOperation::Add(clock, slot, time) => {
                        clocks[clock].add(slot, time);
                        let known = maps[clock].entry(slot).or_default();
                        *known = time.max(*known);
                    }
                    ClockOperation::Join(one, other) => {
                        let from = clocks[other].clone();
                        clocks[one].join(&from);
                        for (slot, time) in maps[other].clone() {
                            let known = maps[one].entry(slot).or_default();
                            *known = time.max(*known);
                        }
                    }
                    ClockOperation::Copy(one, other) => {
                        clocks[one] = clocks[other].clone();
                        maps[one] = maps[other].clone();
                    }
                }
            }
            for (clock, map) in clocks.iter().zip(&maps) {
                for (&slot, &time) in map {
                    prop_assert_eq!(clock.time(slot), time);
                    for near in [slot.saturating_sub(1), slot + 1, slot + 32, slot + 1024] {
                        prop_assert_eq!(clock.time(near), map.get(&near).copied().unwrap_or(0));
                    }
                }
            }
        }
    }

    /// A lock that is passed on costs a path each time, not a clock.
    #[test]
    fn clocks_that_follow_each_other_share() {
        let mut lock = VectorClock::default();
        for slot in 0..100_000 {
            let mut thread = VectorClock::default();
            thread.join(&lock);
            thread.add(slot, 1);
            lock.join(&thread);
            if let (Some(thread), Some(lock)) = (&thread.rest, &lock.rest) {
                assert!(Arc::ptr_eq(&thread.root, &lock.root));
            }
        }
        assert!((0..100_000).all(|slot| lock.time(slot) == 1));
    }
}
