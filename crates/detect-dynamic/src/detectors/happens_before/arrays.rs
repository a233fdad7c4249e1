//! The states of the elements of arrays. Loops access elements at equal distances, so that neighbours, or every second
//! element, have the same state: one state stands for all of them until they are accessed differently.
//!
//! The idea is that of [Wilcox15, compressed shadow states]. An array is cut into blocks. The elements of a block are put in an order in which
//! those at the distance of its accesses are neighbours, and runs of neighbours share a state. A block that has too many
//! runs has a state for each element, until all are the same again.
//!
//! Guarantees: what is reported about an access to many elements is what would be reported about one access to each of them, in
//! their order.

use unsnarl_entity::{SecondaryMap, prefetch};
use unsnarl_events::{Elements, ObjectId};
use unsnarl_trace_analysis::clocks::ThreadClock;
use unsnarl_trace_analysis::last_access::LastAccess;
use unsnarl_trace_analysis::thread_contexts::AccessMode;

use super::pool::Pool;
use super::states::{State, States};

/// How many elements a block has.
const BLOCK: usize = 1 << BLOCK_BITS;
const BLOCK_BITS: u32 = 10;
/// The largest distance, as a power of two, at which elements are made neighbours.
const MOST_SHIFT: u32 = 3;
/// How many elements an access must have so that others are made neighbours for it.
const FEW: usize = 16;
/// A block has states for each element if it has more runs than this and one for so many elements. One of few elements has
/// them as soon as they are accessed differently.
const SOME_RUNS: usize = 4;
const ELEMENTS_IN_RUN: usize = 16;

/// The elements of all arrays.
#[derive(Default)]
pub(super) struct Arrays {
    /// One more than the place of an array; 0 if no element was accessed. Most objects are no arrays.
    places: SecondaryMap<ObjectId, u32>,
    arrays: Pool<OfArray>,
}

/// The elements of an array: those of most arrays are in one block, which lies in a line of a cache.
#[derive(Default)]
#[repr(align(64))]
struct OfArray {
    first: Block,
    others: Vec<Block>,
}

/// What elements are accessed by, and what comes of it.
struct Access<'a> {
    states: &'a mut States,
    clock: &'a ThreadClock,
    kind: AccessMode,
    last: LastAccess,
    raced: Option<Box<Raced>>,
}

/// What an access to elements that have had a race, or have one now, tells.
#[derive(Default)]
pub(super) struct Raced {
    /// Elements that race, with the earlier accesses that they race with.
    pub(super) races: Vec<Race>,
    /// How many elements race for the first time.
    pub(super) newly_racy: u64,
}

/// Elements that race with the same earlier accesses.
pub(super) struct Race {
    pub(super) elements: Stride,
    pub(super) unordered: Vec<(LastAccess, AccessMode)>,
}

/// Indices at equal distances, the lowest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stride {
    first: usize,
    step: usize,
    count: usize,
}

impl Stride {
    pub(super) fn indices(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |number| self.first + number * self.step)
    }

    fn after(self, base: usize) -> Self {
        Self { first: base + self.first, ..self }
    }
}

#[derive(Clone, Debug)]
enum Block {
    /// The elements at a distance of two to the power of `shift` are neighbours; what is after the last run is
    /// untouched, and so is every element from `length` on.
    Runs { shift: u32, length: usize, runs: Vec<Run> },
    /// A state for each of the first elements.
    Each(Vec<State>),
}

/// Neighbours with the same state, up to a position and after the run before.
#[derive(Clone, Copy, Debug)]
struct Run {
    end: u32,
    state: State,
}

impl Default for Block {
    fn default() -> Self {
        Self::Runs { shift: 0, length: 0, runs: Vec::new() }
    }
}

impl Arrays {
    /// An access at `last` by the thread with the clock. What it tells, unless the elements never had a race.
    #[inline(never)]
    pub(super) fn access(
        &mut self,
        elements: Elements,
        kind: AccessMode,
        last: LastAccess,
        clock: &ThreadClock,
        states: &mut States,
    ) -> Option<Box<Raced>> {
        let OfArray { first, others } = self.array(elements.array());
        let mut access = Access { states, clock, kind, last, raced: None };
        if let Some(state) = single(first, elements) {
            if !state.is_repeated(kind == AccessMode::Write, last.epoch) {
                let index = elements.lowest() as usize;
                access.on(state, Stride { first: index, step: 1, count: 1 });
            }
            return access.raced;
        }
        let (lowest, highest) = (elements.lowest() as usize, elements.highest() as usize);
        let step = elements.step() as usize;
        let last_block = highest >> BLOCK_BITS;
        if others.len() < last_block {
            others.resize_with(last_block, Block::default);
        }
        let mut next = lowest;
        while next <= highest {
            let number = next >> BLOCK_BITS;
            let base = number << BLOCK_BITS;
            let end = (highest + 1).min(base + BLOCK);
            let count = (end - next).div_ceil(step);
            let block = if number == 0 { &mut *first } else { &mut others[number - 1] };
            block.access(Stride { first: next - base, step, count }, base, &mut access);
            next += count * step;
        }
        access.raced
    }

    #[inline(always)]
    fn array(&mut self, array: ObjectId) -> &mut OfArray {
        let place = &mut self.places[array];
        if *place == 0 {
            *place = self.arrays.put(OfArray::default()) + 1;
        }
        self.arrays.get_mut(*place - 1)
    }

    /// Asks memory for where an array is that will be accessed soon.
    #[inline(always)]
    pub(super) fn prefetch_place(&self, array: ObjectId) {
        self.places.prefetch(array);
    }

    /// The same for what is known of it, when its place has come.
    #[inline(always)]
    pub(super) fn prefetch(&self, array: ObjectId) {
        if let Some(place) = self.places[array].checked_sub(1) {
            prefetch(self.arrays.get(place));
        }
    }

    /// The same for the state of an element, when that has come.
    #[inline(always)]
    pub(super) fn prefetch_state(&self, elements: Elements) {
        if let Some(place) = self.places[elements.array()].checked_sub(1)
            && let Block::Each(each) = &self.arrays.get(place).first
            && let Some(state) = each.get(elements.lowest() as usize)
        {
            prefetch(state);
        }
    }

    /// The states of all elements.
    pub(super) fn states(&mut self) -> impl Iterator<Item = &mut State> {
        self.arrays
            .values_mut()
            .flat_map(|array| std::iter::once(&mut array.first).chain(&mut array.others))
            .flat_map(|block| {
                let (runs, each) = match block {
                    Block::Runs { runs, .. } => (Some(runs), None),
                    Block::Each(each) => (None, Some(each)),
                };
                let of_runs = runs.into_iter().flatten().map(|run| &mut run.state);
                of_runs.chain(each.into_iter().flatten())
            })
    }

    /// The array is gone.
    pub(super) fn forget(&mut self, array: ObjectId, states: &mut States) {
        let Some(place) = std::mem::take(&mut self.places[array]).checked_sub(1) else { return };
        let OfArray { first, others } = std::mem::take(self.arrays.get_mut(place));
        self.arrays.give_back(place);
        for block in std::iter::once(first).chain(others) {
            match block {
                Block::Runs { runs, .. } => runs.iter().for_each(|run| states.forget(run.state)),
                Block::Each(each) => each.into_iter().for_each(|state| states.forget(state)),
            }
        }
    }
}

/// The state of a single element that has one for itself: most accesses are to such.
#[inline(always)]
fn single(first: &mut Block, elements: Elements) -> Option<&mut State> {
    match first {
        // All of one are joined.
        Block::Each(each) if elements.len() == 1 && each.len() > 1 => {
            each.get_mut(elements.lowest() as usize)
        }
        _ => None,
    }
}

impl Block {
    /// An access to some of the elements, which have `base` elements before them.
    fn access(&mut self, elements: Stride, base: usize, access: &mut Access<'_>) {
        let needed = elements.first + (elements.count - 1) * elements.step + 1;
        match self {
            Self::Each(each) => {
                if each.len() < needed {
                    each.resize(needed, State::default());
                }
                for index in elements.indices() {
                    let element = Stride { first: index, step: 1, count: 1 };
                    access.on(&mut each[index], element.after(base));
                }
                if elements.count == each.len() {
                    self.join(access.states);
                }
            }
            Self::Runs { shift, length, runs } => {
                *length = needed.max(*length);
                let wanted = elements.step.trailing_zeros();
                let is_power = elements.step.is_power_of_two() && wanted <= MOST_SHIFT;
                if is_power && wanted > *shift && elements.count >= FEW {
                    *runs = rearranged(runs, *length, [*shift, wanted], access.states);
                    *shift = wanted;
                }
                for_neighbours(elements, *shift, |neighbours| {
                    on_runs(runs, neighbours, *shift, base, access);
                });
                let some = if *length < ELEMENTS_IN_RUN { 1 } else { SOME_RUNS };
                if runs.len() > some + *length / ELEMENTS_IN_RUN {
                    self.separate(access.states);
                }
            }
        }
    }

    /// From now on every element has its own state.
    fn separate(&mut self, states: &mut States) {
        let Self::Runs { shift, length, runs } = self else { return };
        let each = (0..*length).map(|index| {
            let run = runs.get(run_of(index, *shift, runs));
            run.map_or(State::default(), |run| states.copy(run.state))
        });
        let each = each.collect();
        runs.iter().for_each(|run| states.forget(run.state));
        *self = Self::Each(each);
    }

    /// From now on all elements share a state, if that is the same for all.
    fn join(&mut self, states: &mut States) {
        let Self::Each(each) = self else { return };
        let Some((&state, others)) = each.split_first() else { return };
        if others.iter().all(|&other| states.are_same(state, other)) {
            others.iter().for_each(|&other| states.forget(other));
            let runs = vec![Run { end: each.len() as u32, state }];
            *self = Self::Runs { shift: 0, length: each.len(), runs };
        }
    }
}

impl Access<'_> {
    #[inline]
    fn on(&mut self, state: &mut State, elements: Stride) {
        let Self { states, clock, kind, last, .. } = self;
        if state.access(*kind == AccessMode::Write, *last, clock) {
            return;
        }
        if !states.access(state, *kind, *last, clock) {
            self.race(state, elements);
        }
    }

    #[cold]
    fn race(&mut self, state: &mut State, elements: Stride) {
        let raced = self.raced.get_or_insert_default();
        if !state.is_racy() {
            raced.newly_racy += elements.count as u64;
        }
        let unordered = self.states.race(state, self.kind, self.last, self.clock);
        if !unordered.is_empty() {
            raced.races.push(Race { elements, unordered });
        }
    }
}

/// The place of an element among its neighbours: those at a distance of two to the power of `shift` stand together.
#[inline]
fn place(index: usize, shift: u32) -> usize {
    let class = index & ((1 << shift) - 1);
    (class << (BLOCK_BITS - shift)) + (index >> shift)
}

/// The element at a place.
#[inline]
fn index(place: usize, shift: u32) -> usize {
    let among = place & ((1 << (BLOCK_BITS - shift)) - 1);
    (among << shift) + (place >> (BLOCK_BITS - shift))
}

/// The number of the run that an element belongs to; that after the last if it is untouched.
fn run_of(index: usize, shift: u32, runs: &[Run]) -> usize {
    let place = place(index, shift) as u32;
    runs.partition_point(|run| run.end <= place)
}

/// CallStacks for places that are neighbours: all of the elements together, if they can be had so, and else each.
fn for_neighbours(elements: Stride, shift: u32, mut on: impl FnMut(std::ops::Range<usize>)) {
    let Stride { first, step, count } = elements;
    let distance = 1_usize << shift;
    if step == distance || count == 1 {
        let begin = place(first, shift);
        return on(begin..begin + count);
    }
    if !distance.is_multiple_of(step) {
        for index in elements.indices() {
            let place = place(index, shift);
            on(place..place + 1);
        }
        return;
    }
    let classes = distance / step;
    for class in 0..classes.min(count) {
        let begin = place(first + class * step, shift);
        on(begin..begin + (count - class).div_ceil(classes));
    }
}

/// An access to neighbours.
fn on_runs(
    runs: &mut Vec<Run>,
    neighbours: std::ops::Range<usize>,
    shift: u32,
    base: usize,
    access: &mut Access<'_>,
) {
    let (begin, end) = (neighbours.start as u32, neighbours.end as u32);
    match runs.last_mut() {
        Some(last) if last.end >= end => {}
        Some(Run { end: known, state }) if state.is_untouched() => *known = end,
        _ => runs.push(Run { end, state: State::default() }),
    }
    let first = runs.partition_point(|run| run.end <= begin);
    let mut at = first;
    let mut start = if at == 0 { 0 } else { runs[at - 1].end };
    let mut has_changed = false;
    while start < end {
        let Run { end: run_end, state } = runs[at];
        if !state.is_repeated(access.kind == AccessMode::Write, access.last.epoch) {
            has_changed = true;
            if start < begin {
                runs.insert(at, Run { end: begin, state: access.states.copy(state) });
                (at, start) = (at + 1, begin);
            }
            if run_end > end {
                runs.insert(at, Run { end, state: access.states.copy(state) });
            }
            let from = start.max(begin) as usize;
            let elements = Stride {
                first: index(from, shift),
                step: 1 << shift,
                count: runs[at].end as usize - from,
            };
            access.on(&mut runs[at].state, elements.after(base));
        }
        start = runs[at].end;
        at += 1;
    }
    if has_changed {
        merge(runs, first.saturating_sub(1)..at + 1, access.states);
    }
}

/// Makes one of runs that are next to each other and the same.
fn merge(runs: &mut Vec<Run>, range: std::ops::Range<usize>, states: &mut States) {
    let mut kept = range.start;
    let end = range.end.min(runs.len());
    for at in range.start + 1..end {
        if states.are_same(runs[kept].state, runs[at].state) {
            states.forget(runs[at].state);
            runs[kept].end = runs[at].end;
        } else {
            kept += 1;
            runs[kept] = runs[at];
        }
    }
    if kept + 1 < end {
        runs.drain(kept + 1..end);
    }
}

/// The runs of the same elements in the order of another shift.
fn rearranged(runs: &[Run], length: usize, [from, to]: [u32; 2], states: &mut States) -> Vec<Run> {
    let mut new: Vec<Run> = Vec::new();
    for class in 0..1 << to {
        let mut last = None;
        for index in (class..length).step_by(1 << to) {
            let run = run_of(index, from, runs);
            if last != Some(run) {
                let state = runs.get(run).map_or(State::default(), |run| states.copy(run.state));
                new.push(Run { end: 0, state });
                last = Some(run);
            }
            if let Some(run) = new.last_mut() {
                run.end = place(index, to) as u32 + 1;
            }
        }
        let end = ((class + 1) << (BLOCK_BITS - to)) as u32;
        if new.last().is_none_or(|run| run.end < end) {
            new.push(Run { end, state: State::default() });
        }
    }
    runs.iter().for_each(|run| states.forget(run.state));
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_has_one_line_of_a_cache() {
        assert_eq!(size_of::<OfArray>(), 64);
    }
}
