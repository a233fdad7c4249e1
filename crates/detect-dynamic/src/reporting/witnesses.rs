//! Accesses to a variable that show why no lock protects it: for a detector that only knows locksets, two accesses of
//! each kind are enough to name one of another thread.

use unsnarl_trace_analysis::locksets::Locksets;
use unsnarl_trace_analysis::protections::Protections;
use unsnarl_trace_analysis::thread_contexts::{AccessMode, AccessRecord};

use crate::reporting::timeline::Moment;

/// The last read, the last read by another thread than that, and the same of writes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Witnesses {
    reads: [Option<(AccessRecord, Moment)>; 2],
    writes: [Option<(AccessRecord, Moment)>; 2],
}

impl Witnesses {
    /// Takes in an access, and when it was.
    pub(crate) fn add(&mut self, seen: AccessRecord, at: Moment) {
        let of_kind = match seen.kind {
            AccessMode::Read => &mut self.reads,
            AccessMode::Write => &mut self.writes,
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
        seen: &AccessRecord,
        protections: &mut Protections,
        locksets: &Locksets,
    ) -> Option<(AccessRecord, Moment)> {
        let own = protections.of(seen, locksets);
        // Of those that are worth the same, the last one.
        let others = self.reads.iter().rev().chain(self.writes.iter().rev()).flatten();
        let others = others.filter(|(other, _)| other.thread != seen.thread);
        let by_worth = |(other, _): &&(AccessRecord, Moment)| {
            let conflicts = other.kind == AccessMode::Write || seen.kind == AccessMode::Write;
            let protection = protections.of(other, locksets);
            (conflicts, protections.are_apart(own, protection))
        };
        others.max_by_key(by_worth).copied()
    }
}
