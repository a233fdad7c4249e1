//! Accesses to a variable that show why no lock protects it: for a detector that only knows locksets, two accesses of
//! each kind are enough to name one of another thread.

use crate::locksets::Locksets;
use crate::protections::Protections;
use crate::races::{Kind, Seen};
use crate::steps::Moment;

/// The last read, the last read by another thread than that, and the same of writes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Witnesses {
    reads: [Option<(Seen, Moment)>; 2],
    writes: [Option<(Seen, Moment)>; 2],
}

impl Witnesses {
    /// Takes in an access, and when it was.
    pub(crate) fn add(&mut self, seen: Seen, at: Moment) {
        let of_kind = match seen.kind {
            Kind::Read => &mut self.reads,
            Kind::Write => &mut self.writes,
        };
        if of_kind[0].is_some_and(|(last, _)| last.thread != seen.thread) {
            of_kind[1] = of_kind[0];
        }
        of_kind[0] = Some((seen, at));
    }

    /// Takes in what others have.
    pub(crate) fn add_all(&mut self, others: &Self) {
        let others = others.reads.iter().rev().chain(others.writes.iter().rev());
        others.flatten().for_each(|&(seen, at)| self.add(seen, at));
    }

    /// The access of another thread that shows best what is wrong with this one: one that conflicts with it, and
    /// shares no lock with it.
    pub(crate) fn against(
        &self,
        seen: &Seen,
        protections: &mut Protections,
        locksets: &Locksets,
    ) -> Option<(Seen, Moment)> {
        let own = protections.of(seen, locksets);
        // Of those that are worth the same, the last one.
        let others = self.reads.iter().rev().chain(self.writes.iter().rev()).flatten();
        let others = others.filter(|(other, _)| other.thread != seen.thread);
        let by_worth = |(other, _): &&(Seen, Moment)| {
            let conflicts = other.kind == Kind::Write || seen.kind == Kind::Write;
            let protection = protections.of(other, locksets);
            (conflicts, protections.are_apart(own, protection))
        };
        others.max_by_key(by_worth).copied()
    }
}
