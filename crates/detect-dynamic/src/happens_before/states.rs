//! What is known about the accesses to a variable, and what a further access makes of it.

use crate::clocks::{Epoch, ThreadClock};
use crate::lasts::{Last, put};
use crate::races::Kind;

/// What is known about the accesses to a variable so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum State {
    /// There was none.
    #[default]
    Untouched,
    /// No race, and the last read, if any, comes after all others.
    Ordered { write: Last, read: Last },
    /// No race, and concurrent reads since the last write: their place in the pool.
    ReadShared { write: Last, reads: u32 },
    /// There was a race; the place of the history in its pool.
    Racy(u32),
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
        match *state {
            State::Untouched => *state = State::Ordered { write: Last::never(), read: last },
            State::Ordered { read, .. } if read.epoch == last.epoch => {}
            State::Ordered { write, ref mut read } if write.is_known(clock) => {
                if read.is_known(clock) {
                    *read = last;
                } else {
                    let reads = self.take_reads();
                    put(&mut self.reads.values[reads as usize], *read);
                    put(&mut self.reads.values[reads as usize], last);
                    *state = State::ReadShared { write, reads };
                }
            }
            State::ReadShared { write, reads } if write.is_known(clock) => {
                put(&mut self.reads.values[reads as usize], last);
            }
            _ => return false,
        }
        true
    }

    /// A write at `last` by the thread with the clock. False if the variable has had a race, or has one now.
    #[inline(always)]
    pub(super) fn write(&mut self, state: &mut State, last: Last, clock: &ThreadClock) -> bool {
        match *state {
            State::Untouched => *state = State::Ordered { write: last, read: Last::never() },
            State::Ordered { write, .. } if write.epoch == last.epoch => {}
            State::Ordered { ref mut write, read }
                if write.is_known(clock) && read.is_known(clock) =>
            {
                *write = last;
            }
            State::ReadShared { write, reads }
                if write.is_known(clock)
                    && self.reads.values[reads as usize]
                        .iter()
                        .all(|read| read.is_known(clock)) =>
            {
                self.give_back_reads(reads);
                *state = State::Ordered { write: last, read: Last::never() };
            }
            _ => return false,
        }
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
        match *state {
            State::Racy(place) => return place,
            State::Untouched => {}
            State::Ordered { write, read } => {
                put(&mut history.writes, write);
                put(&mut history.reads, read);
            }
            State::ReadShared { write, reads } => {
                put(&mut history.writes, write);
                history.reads.clone_from(&self.reads.values[reads as usize]);
                self.give_back_reads(reads);
            }
        }
        let place = self.histories.put(history);
        *state = State::Racy(place);
        place
    }

    /// Whether an access at that time would change nothing.
    #[inline]
    pub(super) fn is_repeated(state: &State, kind: Kind, last: Last) -> bool {
        match (state, kind) {
            (State::Ordered { read, .. }, Kind::Read) => read.epoch == last.epoch,
            (State::Ordered { write, .. }, Kind::Write) => write.epoch == last.epoch,
            _ => false,
        }
    }

    /// Looks at what a state refers to, so that it is at hand when the state is. Whether there is anything.
    #[inline]
    pub(super) fn fetch(&self, state: &State) -> bool {
        match state {
            State::Untouched => false,
            State::Ordered { .. } | State::Racy(_) => true,
            State::ReadShared { reads, .. } => self.reads.values[*reads as usize]
                .first()
                .is_some_and(|it| it.epoch == Epoch::NEVER),
        }
    }

    /// The same state for another variable.
    pub(super) fn copy(&mut self, state: State) -> State {
        match state {
            State::Untouched | State::Ordered { .. } => state,
            State::ReadShared { write, reads: place } => {
                let reads = self.take_reads();
                let copied = self.reads.values[place as usize].clone();
                self.reads.values[reads as usize] = copied;
                State::ReadShared { write, reads }
            }
            State::Racy(place) => {
                let history = self.histories.values[place as usize].clone();
                State::Racy(self.histories.put(history))
            }
        }
    }

    /// Whether two variables cannot be told apart.
    #[inline]
    pub(super) fn are_same(&self, one: State, other: State) -> bool {
        match (one, other) {
            (State::Untouched, State::Untouched) => true,
            (State::Ordered { write, read }, State::Ordered { write: writes, read: reads }) => {
                write == writes && read == reads
            }
            (
                State::ReadShared { write, reads },
                State::ReadShared { write: other_write, reads: other_reads },
            ) => {
                let values = &self.reads.values;
                write == other_write && values[reads as usize] == values[other_reads as usize]
            }
            (State::Racy(one), State::Racy(other)) => {
                self.histories.values[one as usize] == self.histories.values[other as usize]
            }
            _ => false,
        }
    }

    /// The variable is gone.
    pub(super) fn forget(&mut self, state: State) {
        match state {
            State::Untouched | State::Ordered { .. } => {}
            State::ReadShared { reads, .. } => self.give_back_reads(reads),
            State::Racy(place) => {
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
