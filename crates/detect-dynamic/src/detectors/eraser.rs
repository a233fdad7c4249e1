//! Variables that no lock protects at all accesses.
//!
//! After [Savage97 §2], as [Wood08 §2.2.1, algorithm 2.1] and [Wang06 §5.4] describe it. While one thread
//! alone uses a variable, it is being initialized. From the second thread on, the locks held at all accesses are
//! kept; when none is left and the variable was written after its initialization, the access is reported.
//!
//! Deviations: from [Wood08 §2.2.1], whose algorithm has no state for variables that are shared and only read, so that it
//! reports a first read by a second thread as well. A lock that is held together with other readers protects reads alone.
//!
//! Guarantees: an access is reported exactly if the variable is shared and modified, and no lock is left.
//!
//! Misses: what the first thread does before a second one comes is taken for initialization, so that a read by the
//! second thread is never reported against it. Reports although it is right: every order that is not made by locks: start and
//! join, volatile variables, queues; a variable that changes its lock.

use unsnarl_events::ThreadId;
use unsnarl_findings::{Evidence, Rule};
use unsnarl_trace_analysis::protections::{ProtectionId, Protections};
use unsnarl_trace_analysis::thread_contexts::{AccessMode, AccessRecord};
use unsnarl_trace_analysis::{AnalysisEntry, Needs};

use crate::reporting::lockset_detector::{LocksetDetector, LocksetState};
use crate::reporting::races::RaceWording;

/// The line in the table.
pub(crate) const ENTRY: AnalysisEntry = AnalysisEntry {
    name: "eraser",
    rule: Rule::LocksetRace,
    summary: "variables that no lock protects at all accesses",
    is_default: false,
    needs: |_| Needs::ACCESSES,
    make: |options| Box::new(LocksetDetector::<Eraser>::new(options)),
};

/// What Eraser knows of a variable.
#[derive(Clone, Copy, Debug, Default)]
enum Eraser {
    /// Nobody has accessed it.
    #[default]
    Virgin,
    /// One thread alone has accessed it.
    Exclusive(ThreadId),
    /// Several have, and since the second came it was only read; the locks held at all accesses since then.
    Shared(ProtectionId),
    /// Several have, and it was written since.
    SharedModified(ProtectionId),
}

impl LocksetState for Eraser {
    const WORDING: RaceWording = RaceWording {
        rule: Rule::LocksetRace,
        evidence: Evidence::Predicted,
        detector: "dynamic/eraser",
        verdict: "and no lock is held at all accesses to it",
    };

    fn stays_protected(
        &mut self,
        access: &AccessRecord,
        held: ProtectionId,
        protections: &mut Protections,
    ) -> bool {
        use Eraser::{Exclusive, Shared, SharedModified, Virgin};
        *self = match (*self, access.kind) {
            (Virgin, _) => Exclusive(access.thread),
            (Exclusive(owner), _) if owner == access.thread => Exclusive(owner),
            (Exclusive(_), AccessMode::Read) => Shared(held),
            (Exclusive(_), AccessMode::Write) => SharedModified(held),
            (Shared(locks), AccessMode::Read) => Shared(protections.common(locks, held)),
            (Shared(locks), AccessMode::Write) | (SharedModified(locks), _) => {
                SharedModified(protections.common(locks, held))
            }
        };
        !matches!(*self, SharedModified(locks) if protections.is_empty(locks))
    }
}
