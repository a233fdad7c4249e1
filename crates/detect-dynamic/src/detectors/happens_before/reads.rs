//! Concurrent reads of variables without a race: of every slot the last.
//!
//! Most such variables are read by a few threads, whose reads then lie in one line of a cache; others have a list.

use unsnarl_entity::prefetch;
use unsnarl_trace_analysis::clocks::Epoch;
use unsnarl_trace_analysis::last_access::{LastAccess, put};

use super::pool::Pool;

/// How many slots are few.
const FEW: usize = 4;

/// The reads of all variables that have such.
#[derive(Default)]
pub(super) struct Reads {
    few: Pool<Few>,
    many: Pool<Vec<LastAccess>>,
}

/// Where the reads of a variable are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadsOf {
    Few(u32),
    Many(u32),
}

/// In the order of their slots; after them such as never were.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Few([LastAccess; FEW]);

impl Default for Few {
    fn default() -> Self {
        Self([LastAccess::never(); FEW])
    }
}

impl Few {
    fn lasts(&self) -> &[LastAccess] {
        let count = self.0.iter().position(|last| last.epoch == Epoch::NEVER);
        &self.0[..count.unwrap_or(FEW)]
    }

    /// Puts a read among those of other slots, in their order. False if there is no room.
    fn put(&mut self, last: LastAccess) -> bool {
        let slot = last.epoch.slot();
        let is_place = |it: &LastAccess| it.epoch == Epoch::NEVER || it.epoch.slot() >= slot;
        let Some(place) = self.0.iter().position(is_place) else { return false };
        let found = self.0[place].epoch;
        if found != Epoch::NEVER && found.slot() != slot {
            if self.0[FEW - 1].epoch != Epoch::NEVER {
                return false;
            }
            self.0.copy_within(place..FEW - 1, place + 1);
        }
        self.0[place] = last;
        true
    }
}

impl Reads {
    /// Begins with two reads of different slots.
    pub(super) fn begin(&mut self, one: LastAccess, other: LastAccess) -> ReadsOf {
        let mut few = Few::default();
        few.put(one);
        few.put(other);
        ReadsOf::Few(self.few.put(few))
    }

    /// A further read, and where the reads are then.
    pub(super) fn add(&mut self, reads: ReadsOf, last: LastAccess) -> ReadsOf {
        match reads {
            ReadsOf::Few(place) => {
                let few = self.few.get_mut(place);
                if few.put(last) {
                    return reads;
                }
                let mut many = few.0.to_vec();
                put(&mut many, last);
                self.few.give_back(place);
                ReadsOf::Many(self.many.put(many))
            }
            ReadsOf::Many(place) => {
                put(self.many.get_mut(place), last);
                reads
            }
        }
    }

    pub(super) fn of(&self, reads: ReadsOf) -> &[LastAccess] {
        match reads {
            ReadsOf::Few(place) => self.few.get(place).lasts(),
            ReadsOf::Many(place) => self.many.get(place),
        }
    }

    /// The same reads for another variable.
    pub(super) fn copy(&mut self, reads: ReadsOf) -> ReadsOf {
        match reads {
            ReadsOf::Few(place) => ReadsOf::Few(self.few.put(*self.few.get(place))),
            ReadsOf::Many(place) => {
                let copied = self.many.get(place).clone();
                ReadsOf::Many(self.many.put(copied))
            }
        }
    }

    pub(super) fn give_back(&mut self, reads: ReadsOf) {
        match reads {
            ReadsOf::Few(place) => self.few.give_back(place),
            ReadsOf::Many(place) => {
                *self.many.get_mut(place) = Vec::new();
                self.many.give_back(place);
            }
        }
    }

    /// The reads of all variables, and some that nobody refers to any more.
    pub(super) fn lasts(&mut self) -> impl Iterator<Item = &mut LastAccess> {
        let Self { few, many } = self;
        few.values_mut().flat_map(|few| &mut few.0).chain(many.values_mut().flatten())
    }

    /// Asks memory for the reads of a few slots, which will be looked at soon.
    #[inline]
    pub(super) fn prefetch(&self, place: u32) {
        prefetch(self.few.get(place));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unsnarl_entity::EntityId;
    use unsnarl_events::SiteId;

    use super::*;
    use unsnarl_trace_analysis::clocks::SlotId;
    use unsnarl_trace_analysis::thread_contexts::ContextId;

    fn last(slot: usize, time: u64) -> LastAccess {
        let epoch = Epoch::new(SlotId::from_index(slot), time);
        LastAccess { epoch, site: SiteId::from_index(time as usize), context: ContextId::default() }
    }

    proptest! {
        #[test]
        fn of_every_slot_the_last_is_kept(slots in prop::collection::vec(0..7_usize, 2..20)) {
            prop_assume!(slots[0] != slots[1]);
            let all: Vec<LastAccess> = slots.iter().zip(1..).map(|(&slot, time)| last(slot, time)).collect();
            let mut reads = Reads::default();
            let mut of = reads.begin(all[0], all[1]);
            let mut expected = Vec::new();
            put(&mut expected, all[0]);
            put(&mut expected, all[1]);
            for &last in &all[2..] {
                of = reads.add(of, last);
                put(&mut expected, last);
                prop_assert_eq!(reads.of(of), &expected[..]);
            }
            let copied = reads.copy(of);
            reads.give_back(of);
            prop_assert_eq!(reads.of(copied), &expected[..]);
        }
    }
}
