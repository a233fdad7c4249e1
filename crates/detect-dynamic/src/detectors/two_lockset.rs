//! Variables whose writes no lock protects against all accesses, or whose reads none protects against the writes.
//!
//! After Atomizer [Flanagan04, race analysis] as [Wang06 §5.4] describes it: of every variable the locks held at all accesses and those held
//! at all writes. A read must hold one of the latter, for a write there must be one of the former. So readers may take
//! one of several locks if writers take all of them, as long as the readers agree.
//!
//! Deviations: as in Eraser, what the first thread does alone is initialization. A lock that is held together with other
//! readers protects reads alone.
//!
//! Guarantees: an access is reported exactly if that condition fails.
//!
//! Misses and reports wrongly: as [`super::eraser`], but a read with a lock of all writes is never reported, whatever locks
//! other reads hold.

use unsnarl_events::ThreadId;
use unsnarl_findings::{Evidence, Rule};
use unsnarl_trace_analysis::protections::{ProtectionId, Protections};
use unsnarl_trace_analysis::thread_contexts::{AccessMode, AccessRecord};
use unsnarl_trace_analysis::{AnalysisEntry, Needs};

use crate::reporting::lockset_detector::{LocksetDetector, LocksetState};
use crate::reporting::races::RaceWording;

/// The line in the table.
pub(crate) const ENTRY: AnalysisEntry = AnalysisEntry {
    name: "two-lockset",
    rule: Rule::LocksetRace,
    summary: "the same with locks that protect writes apart from those that protect all accesses",
    is_default: false,
    needs: |_| Needs::ACCESSES,
    make: |options| Box::new(LocksetDetector::<TwoLockset>::new(options)),
};

/// What is known of a variable.
#[derive(Clone, Copy, Debug, Default)]
enum TwoLockset {
    /// Nobody has accessed it.
    #[default]
    Virgin,
    /// One thread alone has accessed it.
    Exclusive(ThreadId),
    /// Several have; since the second came, these locks were held at all accesses and at all writes. None stands
    /// for all locks.
    Shared { accesses: Option<ProtectionId>, writes: Option<ProtectionId> },
}

impl LocksetState for TwoLockset {
    const WORDING: RaceWording = RaceWording {
        rule: Rule::LocksetRace,
        evidence: Evidence::Predicted,
        detector: "dynamic/two-lockset",
        verdict: "and no lock keeps the writes apart from all accesses to it",
    };

    fn stays_protected(
        &mut self,
        access: &AccessRecord,
        held: ProtectionId,
        protections: &mut Protections,
    ) -> bool {
        let (accesses, writes) = match *self {
            Self::Exclusive(owner) if owner != access.thread => (None, None),
            Self::Shared { accesses, writes } => (accesses, writes),
            Self::Virgin | Self::Exclusive(_) => {
                *self = Self::Exclusive(access.thread);
                return true;
            }
        };
        let accesses = protections.refined(accesses, held);
        let (writes, is_protected) = match access.kind {
            AccessMode::Read => {
                (writes, writes.is_none_or(|writes| !protections.are_apart(writes, held)))
            }
            AccessMode::Write => {
                (Some(protections.refined(writes, held)), !protections.is_empty(accesses))
            }
        };
        *self = Self::Shared { accesses: Some(accesses), writes };
        is_protected
    }
}
