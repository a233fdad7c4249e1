//! What is known about the accesses to a variable, and what a further access makes of it.

use unsnarl_entity::EntityId;
use unsnarl_trace::SiteId;

use crate::clocks::{Epoch, ThreadClock};
use crate::lasts::{Last, put};
use crate::races::Kind;

/// What is known about the accesses to a variable so far: the last write and the last read, each of which may never have
/// been. It has 32 bytes, half a line of a cache; so what is else to be said of a few variables is marked in the place of
/// these two.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    write: Last,
    read: Last,
}

/// What a state stands for.
enum Known {
    /// No race, and the last read, if any, comes after all others.
    Ordered { write: Last, read: Last },
    /// No race, and concurrent reads since the last write: their place in the pool.
    ReadShared { write: Last, reads: u32 },
    /// There was a race; the place of the history in its pool.
    Racy(u32),
}

/// In the place of the last read, or of both.
const READ_SHARED: Epoch = Epoch::MARKS[0];
const RACY: Epoch = Epoch::MARKS[1];

impl Default for State {
    /// There was no access.
    fn default() -> Self {
        Self { write: Last::never(), read: Last::never() }
    }
}

impl State {
    pub(super) fn is_racy(&self) -> bool {
        self.write.epoch == RACY
    }

    pub(super) fn is_untouched(&self) -> bool {
        self.write.epoch == Epoch::NEVER && self.read.epoch == Epoch::NEVER
    }

    fn read_shared(write: Last, reads: u32) -> Self {
        Self { write, read: mark(READ_SHARED, reads) }
    }

    fn racy(history: u32) -> Self {
        Self { write: mark(RACY, history), read: mark(RACY, history) }
    }

    fn known(self) -> Known {
        let Self { write, read } = self;
        match (write.epoch, read.epoch) {
            (RACY, _) => Known::Racy(write.site.index() as u32),
            (_, READ_SHARED) => Known::ReadShared { write, reads: read.site.index() as u32 },
            _ => Known::Ordered { write, read },
        }
    }
}

/// A place in a pool, where otherwise an access is.
fn mark(mark: Epoch, place: u32) -> Last {
    Last { epoch: mark, site: SiteId::from_index(place as usize), ..Last::never() }
}

/// What states refer to.
#[derive(Default)]
pub(super) struct States {
    /// Reads by several threads of variables without a race, of every slot the last, at the index of the slot.
    reads: Pool<Vec<Last>>,
    /// Everything about variables with a race.
    histories: Pool<History>,
}

/// The last accesses of every slot, at the index of the slot.
#[derive(Clone, Debug, Default, PartialEq)]
struct History {
    writes: Vec<Last>,
    reads: Vec<Last>,
}

/// Values with places that are used again.
#[derive(Default)]
struct Pool<V> {
    values: Vec<V>,
    free: Vec<u32>,
}

impl<V> Pool<V> {
    fn put(&mut self, value: V) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.values[place as usize] = value;
                place
            }
            None => {
                self.values.push(value);
                u32::try_from(self.values.len() - 1).expect("no more places than variables")
            }
        }
    }
}

impl States {
    /// A read at `last` by the thread with the clock. False if the variable has had a race, or has one now.
    #[inline(always)]
    pub(super) fn read(&mut self, state: &mut State, last: Last, clock: &ThreadClock) -> bool {
        if state.read.epoch == last.epoch {
            return true;
        }
        // Nobody knows a mark.
        if !state.write.is_known(clock) {
            return false;
        }
        if state.read.is_known(clock) {
            state.read = last;
        } else {
            self.read_too(state, last);
        }
        true
    }

    /// A further read, which not all others come before.
    #[inline(never)]
    fn read_too(&mut self, state: &mut State, last: Last) {
        match state.known() {
            Known::ReadShared { reads, .. } => put(&mut self.reads.values[reads as usize], last),
            Known::Ordered { write, read } => {
                let reads = self.take_reads();
                put(&mut self.reads.values[reads as usize], read);
                put(&mut self.reads.values[reads as usize], last);
                *state = State::read_shared(write, reads);
            }
            Known::Racy(_) => {}
        }
    }

    /// A write at `last` by the thread with the clock. False if the variable has had a race, or has one now.
    #[inline(always)]
    pub(super) fn write(&mut self, state: &mut State, last: Last, clock: &ThreadClock) -> bool {
        if state.write.epoch == last.epoch && state.read.epoch != READ_SHARED {
            return true;
        }
        if !state.write.is_known(clock) {
            return false;
        }
        if state.read.is_known(clock) {
            state.write = last;
            return true;
        }
        self.write_behind_reads(state, last, clock)
    }

    /// A write that the last read does not come before, or not that alone.
    #[inline(never)]
    fn write_behind_reads(&mut self, state: &mut State, last: Last, clock: &ThreadClock) -> bool {
        let Known::ReadShared { reads, .. } = state.known() else { return false };
        if !self.reads.values[reads as usize].iter().all(|read| read.is_known(clock)) {
            return false;
        }
        self.give_back_reads(reads);
        *state = State { write: last, read: Last::never() };
        true
    }

    /// An access to a variable that has had a race, or has one now: the earlier accesses that nothing orders before it.
    pub(super) fn race(
        &mut self,
        state: &mut State,
        kind: Kind,
        last: Last,
        clock: &ThreadClock,
    ) -> Vec<(Last, Kind)> {
        let history = self.history(state);
        let History { writes, reads } = &mut self.histories.values[history as usize];
        let mut unordered: Vec<(Last, Kind)> =
            writes.iter().map(|&write| (write, Kind::Write)).collect();
        if kind == Kind::Write {
            unordered.extend(reads.iter().map(|&read| (read, Kind::Read)));
        }
        unordered.retain(|(earlier, _)| !earlier.is_known(clock));
        match kind {
            Kind::Read => put(reads, last),
            Kind::Write => put(writes, last),
        }
        unordered
    }

    /// The place of a variable's full history, which begins with what the epochs know.
    fn history(&mut self, state: &mut State) -> u32 {
        let mut history = History::default();
        match state.known() {
            Known::Racy(place) => return place,
            Known::Ordered { write, read } => {
                put(&mut history.writes, write);
                put(&mut history.reads, read);
            }
            Known::ReadShared { write, reads } => {
                put(&mut history.writes, write);
                history.reads.clone_from(&self.reads.values[reads as usize]);
                self.give_back_reads(reads);
            }
        }
        let place = self.histories.put(history);
        *state = State::racy(place);
        place
    }

    /// Whether an access at that time would change nothing.
    #[inline]
    pub(super) fn is_repeated(state: &State, kind: Kind, last: Last) -> bool {
        match kind {
            Kind::Read => state.read.epoch == last.epoch,
            Kind::Write => state.write.epoch == last.epoch && state.read.epoch != READ_SHARED,
        }
    }

    /// The same state for another variable.
    pub(super) fn copy(&mut self, state: State) -> State {
        match state.known() {
            Known::Ordered { .. } => state,
            Known::ReadShared { write, reads: place } => {
                let reads = self.take_reads();
                let copied = self.reads.values[place as usize].clone();
                self.reads.values[reads as usize] = copied;
                State::read_shared(write, reads)
            }
            Known::Racy(place) => {
                let history = self.histories.values[place as usize].clone();
                State::racy(self.histories.put(history))
            }
        }
    }

    /// Whether two variables cannot be told apart.
    #[inline]
    pub(super) fn are_same(&self, one: State, other: State) -> bool {
        match (one.known(), other.known()) {
            (
                Known::Ordered { write, read },
                Known::Ordered { write: other_write, read: other_read },
            ) => write == other_write && read == other_read,
            (
                Known::ReadShared { write, reads },
                Known::ReadShared { write: other_write, reads: other_reads },
            ) => {
                let values = &self.reads.values;
                write == other_write && values[reads as usize] == values[other_reads as usize]
            }
            (Known::Racy(one), Known::Racy(other)) => {
                self.histories.values[one as usize] == self.histories.values[other as usize]
            }
            _ => false,
        }
    }

    /// The variable is gone.
    pub(super) fn forget(&mut self, state: State) {
        match state.known() {
            Known::Ordered { .. } => {}
            Known::ReadShared { reads, .. } => self.give_back_reads(reads),
            Known::Racy(place) => {
                self.histories.values[place as usize] = History::default();
                self.histories.free.push(place);
            }
        }
    }

    /// A place without reads. Places keep their memory.
    fn take_reads(&mut self) -> u32 {
        self.reads.free.pop().unwrap_or_else(|| self.reads.put(Vec::new()))
    }

    fn give_back_reads(&mut self, place: u32) {
        self.reads.values[place as usize].clear();
        self.reads.free.push(place);
    }
}
