//! What is known about the accesses to a variable, and what a further access makes of it.

use unsnarl_entity::EntityId;
use unsnarl_events::SiteId;
use unsnarl_trace_analysis::clocks::{Epoch, ThreadClock};
use unsnarl_trace_analysis::last_access::{LastAccess, put};
use unsnarl_trace_analysis::thread_contexts::AccessMode;

use super::pool::Pool;
use super::reads::{Reads, ReadsOf};

/// What is known about the accesses to a variable so far: the last write and the last read, each of which may never have
/// been. It has 32 bytes, half a line of a cache; so what is else to be said of a few variables is marked in the place of
/// these two.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    write: LastAccess,
    read: LastAccess,
}

/// What a state stands for.
enum Known {
    /// No race, and the last read, if any, comes after all others.
    Ordered { write: LastAccess, read: LastAccess },
    /// No race, and concurrent reads since the last write.
    ReadShared { write: LastAccess, reads: ReadsOf },
    /// There was a race; the place of the history in its pool.
    Racy(u32),
}

/// In the place of the last read, or of both.
const READ_BY_FEW: Epoch = Epoch::MARKS[0];
const READ_BY_MANY: Epoch = Epoch::MARKS[1];
const RACY: Epoch = Epoch::MARKS[2];

impl Default for State {
    /// There was no access.
    fn default() -> Self {
        Self { write: LastAccess::never(), read: LastAccess::never() }
    }
}

impl State {
    /// What is in it; where it has marks, accesses that never were.
    pub(super) fn lasts(&mut self) -> impl Iterator<Item = &mut LastAccess> {
        [&mut self.write, &mut self.read].into_iter()
    }

    pub(super) fn is_racy(&self) -> bool {
        self.write.epoch == RACY
    }

    pub(super) fn is_untouched(&self) -> bool {
        self.write.epoch == Epoch::NEVER && self.read.epoch == Epoch::NEVER
    }

    /// Whether an access at that time would change nothing.
    #[inline(always)]
    pub(super) fn is_repeated(&self, is_write: bool, now: Epoch) -> bool {
        match is_write {
            false => self.read.epoch == now,
            true => self.write.epoch == now && !self.is_read_shared(),
        }
    }

    /// An access at `last` by the thread with the clock, if it certainly comes after all others: then it is done. Nothing
    /// in here can be foreseen by a processor that guesses, so that there is one jump alone, which is hardly ever taken.
    #[inline(always)]
    pub(super) fn access(&mut self, is_write: bool, last: LastAccess, clock: &ThreadClock) -> bool {
        let Self { write, read } = self;
        let is_ordered = clock.surely_knows(write.epoch) & clock.surely_knows(read.epoch);
        if is_ordered {
            let own = if is_write { write } else { read };
            // Of the accesses in an epoch the first is kept.
            *own = if own.epoch == last.epoch { *own } else { last };
        }
        is_ordered
    }

    fn read_shared(write: LastAccess, reads: ReadsOf) -> Self {
        let read = match reads {
            ReadsOf::Few(place) => mark(READ_BY_FEW, place),
            ReadsOf::Many(place) => mark(READ_BY_MANY, place),
        };
        Self { write, read }
    }

    fn is_read_shared(&self) -> bool {
        self.read.epoch == READ_BY_FEW || self.read.epoch == READ_BY_MANY
    }

    fn racy(history: u32) -> Self {
        Self { write: mark(RACY, history), read: mark(RACY, history) }
    }

    fn known(self) -> Known {
        let Self { write, read } = self;
        match (write.epoch, read.epoch) {
            (RACY, _) => Known::Racy(write.site.index() as u32),
            (_, READ_BY_FEW) => {
                Known::ReadShared { write, reads: ReadsOf::Few(read.site.index() as u32) }
            }
            (_, READ_BY_MANY) => {
                Known::ReadShared { write, reads: ReadsOf::Many(read.site.index() as u32) }
            }
            _ => Known::Ordered { write, read },
        }
    }
}

/// A place in a pool, where otherwise an access is.
fn mark(mark: Epoch, place: u32) -> LastAccess {
    LastAccess { epoch: mark, site: SiteId::from_index(place as usize), ..LastAccess::never() }
}

/// What states refer to.
#[derive(Default)]
pub(super) struct States {
    reads: Reads,
    /// Everything about variables with a race.
    histories: Pool<History>,
}

/// The last accesses of every slot, in the order of slots.
#[derive(Clone, Debug, Default, PartialEq)]
struct History {
    writes: Vec<LastAccess>,
    reads: Vec<LastAccess>,
}

impl States {
    /// An access at `last` by the thread with the clock. False if the variable has had a race, or has one now.
    #[inline]
    pub(super) fn access(
        &mut self,
        state: &mut State,
        kind: AccessMode,
        last: LastAccess,
        clock: &ThreadClock,
    ) -> bool {
        match kind {
            AccessMode::Read => self.read(state, last, clock),
            AccessMode::Write => self.write(state, last, clock),
        }
    }

    #[inline]
    fn read(&mut self, state: &mut State, last: LastAccess, clock: &ThreadClock) -> bool {
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
    fn read_too(&mut self, state: &mut State, last: LastAccess) {
        match state.known() {
            Known::ReadShared { write, reads } => {
                *state = State::read_shared(write, self.reads.add(reads, last));
            }
            Known::Ordered { write, read } => {
                *state = State::read_shared(write, self.reads.begin(read, last));
            }
            Known::Racy(_) => {}
        }
    }

    #[inline]
    fn write(&mut self, state: &mut State, last: LastAccess, clock: &ThreadClock) -> bool {
        if state.write.epoch == last.epoch && !state.is_read_shared() {
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
    fn write_behind_reads(
        &mut self,
        state: &mut State,
        last: LastAccess,
        clock: &ThreadClock,
    ) -> bool {
        let Known::ReadShared { reads, .. } = state.known() else { return false };
        if !self.reads.of(reads).iter().all(|read| read.is_known(clock)) {
            return false;
        }
        self.reads.give_back(reads);
        *state = State { write: last, read: LastAccess::never() };
        true
    }

    /// An access to a variable that has had a race, or has one now: the earlier accesses that nothing orders before it.
    pub(super) fn race(
        &mut self,
        state: &mut State,
        kind: AccessMode,
        last: LastAccess,
        clock: &ThreadClock,
    ) -> Vec<(LastAccess, AccessMode)> {
        let history = self.history(state);
        let History { writes, reads } = self.histories.get_mut(history);
        let conflicting = if kind == AccessMode::Write { &reads[..] } else { &[] };
        let earlier = writes.iter().map(|&write| (write, AccessMode::Write));
        let earlier = earlier.chain(conflicting.iter().map(|&read| (read, AccessMode::Read)));
        // Nearly always there is none.
        let unordered = earlier.filter(|(earlier, _)| !earlier.is_known(clock)).collect();
        match kind {
            AccessMode::Read => put(reads, last),
            AccessMode::Write => put(writes, last),
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
                history.reads = self.reads.of(reads).to_vec();
                self.reads.give_back(reads);
            }
        }
        let place = self.histories.put(history);
        *state = State::racy(place);
        place
    }

    /// The same state for another variable.
    pub(super) fn copy(&mut self, state: State) -> State {
        match state.known() {
            Known::Ordered { .. } => state,
            Known::ReadShared { write, reads } => State::read_shared(write, self.reads.copy(reads)),
            Known::Racy(place) => {
                let history = self.histories.get(place).clone();
                State::racy(self.histories.put(history))
            }
        }
    }

    /// Whether two variables cannot be distinguished.
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
            ) => write == other_write && self.reads.of(reads) == self.reads.of(other_reads),
            (Known::Racy(one), Known::Racy(other)) => {
                self.histories.get(one) == self.histories.get(other)
            }
            _ => false,
        }
    }

    /// The variable is gone.
    pub(super) fn forget(&mut self, state: State) {
        match state.known() {
            Known::Ordered { .. } => {}
            Known::ReadShared { reads, .. } => self.reads.give_back(reads),
            Known::Racy(place) => {
                *self.histories.get_mut(place) = History::default();
                self.histories.give_back(place);
            }
        }
    }

    /// All accesses that states refer to.
    pub(super) fn lasts(&mut self) -> impl Iterator<Item = &mut LastAccess> {
        let Self { reads, histories } = self;
        let in_histories =
            histories.values_mut().flat_map(|it| it.writes.iter_mut().chain(&mut it.reads));
        reads.lasts().chain(in_histories)
    }

    /// Asks memory for what a state refers to, if that is needed as often as the state.
    #[inline(always)]
    pub(super) fn prefetch(&self, state: &State) {
        if state.read.epoch == READ_BY_FEW {
            self.reads.prefetch(state.read.site.index() as u32);
        }
    }
}
