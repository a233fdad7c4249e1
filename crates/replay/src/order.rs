//! Which thread is next: numbers are consecutive, and each occurs once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How far after the expected number a number may be to be found in the array. Those of threads that wait long are further.
const WINDOW: u64 = 1 << 12;

/// The next numbers of streams, the lowest first, and the lower stream first if a damaged session has a number twice.
#[derive(Debug)]
pub(super) struct Order {
    /// All numbers below were delivered.
    expected: u64,
    /// Streams, plus one, by the last bits of their numbers, which are less than [`WINDOW`] after the expected one; 0 if there
    /// is none.
    near: Box<[u32]>,
    in_near: usize,
    /// All others: those that are far after it, and those of damaged sessions that come twice or too late.
    others: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Order {
    pub(super) fn new() -> Self {
        let near = vec![0; WINDOW as usize].into();
        Self { expected: 1, near, in_near: 0, others: BinaryHeap::new() }
    }

    pub(super) fn expected(&self) -> u64 {
        self.expected
    }

    /// A stream goes on with a number.
    #[inline]
    pub(super) fn add(&mut self, number: u64, stream: usize) {
        let is_near = number.checked_sub(self.expected).is_some_and(|distance| distance < WINDOW);
        match (&mut self.near[slot(number)], u32::try_from(stream + 1)) {
            (found @ 0, Ok(stream)) if is_near => {
                *found = stream;
                self.in_near += 1;
            }
            _ => self.others.push(Reverse((number, stream))),
        }
    }

    /// The stream that is next, if no number before its own is missing.
    #[inline]
    pub(super) fn next(&self) -> Option<usize> {
        Some(self.due()?.1)
    }

    /// The same, which is taken out: it goes on, and so does what is expected.
    #[inline]
    pub(super) fn take(&mut self) -> Option<usize> {
        let (number, stream) = self.due()?;
        if number == self.expected {
            let near = std::mem::take(&mut self.near[slot(number)]);
            self.in_near -= usize::from(near != 0);
            if near as usize != stream + 1 {
                self.take_other(near);
            }
            self.expected = number.saturating_add(1);
        } else {
            self.others.pop();
        }
        Some(stream)
    }

    /// The first of the others is taken. One that was near, if there is any, has the same number and comes too late by that.
    #[cold]
    fn take_other(&mut self, near: u32) {
        self.others.pop();
        if let Some(stream) = near.checked_sub(1) {
            self.others.push(Reverse((self.expected, stream as usize)));
        }
    }

    #[inline]
    fn due(&self) -> Option<(u64, usize)> {
        let near = self.near[slot(self.expected)].checked_sub(1);
        let near = near.map(|stream| (self.expected, stream as usize));
        match self.others.peek() {
            Some(&Reverse(other)) if other.0 <= self.expected => {
                Some(near.map_or(other, |near| near.min(other)))
            }
            _ => near,
        }
    }

    /// The lowest number.
    pub(super) fn first(&self) -> Option<u64> {
        let other = self.others.peek().map(|&Reverse((number, _))| number);
        let is_there = |number: &u64| self.near[slot(*number)] != 0;
        let near = match self.in_near {
            0 => None,
            _ => (self.expected..=self.expected.saturating_add(WINDOW - 1)).find(is_there),
        };
        near.into_iter().chain(other).min()
    }

    /// No number before the first one comes any more. Whether there is one.
    pub(super) fn skip_to_first(&mut self) -> bool {
        let first = self.first();
        self.expected = first.unwrap_or(self.expected);
        first.is_some()
    }
}

fn slot(number: u64) -> usize {
    (number % WINDOW) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Numbers that come in their order, twice, never, far ahead and too late.
        #[test]
        fn it_is_the_same_as_a_heap(
            numbers in prop::collection::vec((0..40_u64, 0..4_usize), 0..60),
            strange in prop::collection::vec(prop_oneof![4000..9000_u64, Just(u64::MAX), Just(u64::MAX - 1)], 0..8),
            taken in prop::collection::vec(any::<bool>(), 68),
        ) {
            let mut order = Order::new();
            let mut expected = 1;
            let mut heap = BinaryHeap::new();
            let strange = strange.into_iter().zip([7, 8, 9].into_iter().cycle());
            for ((number, stream), is_taken) in numbers.into_iter().chain(strange).zip(taken) {
                order.add(number, stream);
                heap.push(Reverse((number, stream)));
                if is_taken {
                    take_one(&mut order, &mut heap, &mut expected)?;
                }
            }
            while !heap.is_empty() {
                take_one(&mut order, &mut heap, &mut expected)?;
            }
            prop_assert_eq!(order.next(), None);
            prop_assert!(!order.skip_to_first());
        }
    }

    fn take_one(
        order: &mut Order,
        heap: &mut BinaryHeap<Reverse<(u64, usize)>>,
        expected: &mut u64,
    ) -> Result<(), TestCaseError> {
        let Some(&Reverse((number, stream))) = heap.peek() else { return Ok(()) };
        prop_assert_eq!(order.first(), Some(number));
        if number > *expected {
            prop_assert_eq!(order.next(), None);
            prop_assert!(order.skip_to_first());
            *expected = number;
        }
        heap.pop();
        *expected = number.saturating_add(1).max(*expected);
        prop_assert_eq!(order.next(), Some(stream));
        prop_assert_eq!(order.take(), Some(stream));
        prop_assert_eq!(order.expected(), *expected);
        Ok(())
    }
}
