//! Acquisitions of locks that wait for each other, as a finding.

use unsnarl_events::{SiteId, Tables, ThreadId};
use unsnarl_findings::lock_cycle::{WaitingThread, cycle_message};
use unsnarl_findings::{Access, AccessKind, Evidence, Finding, Lock, Rule, Subject, hints};
use unsnarl_trace_analysis::call_stacks::CallStackId;
use unsnarl_trace_analysis::describe::place;
use unsnarl_trace_analysis::locksets::{Held, LocksetId};
use unsnarl_trace_analysis::thread_contexts::{Retained, ThreadContexts};

/// A thread holds locks and acquires another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Acquisition {
    pub(crate) thread: ThreadId,
    pub(crate) held: LocksetId,
    pub(crate) acquired: Held,
    pub(crate) site: SiteId,
    pub(crate) calls: CallStackId,
}

impl Acquisition {
    /// Shows what it keeps.
    pub(crate) fn show(&mut self, kept: &mut Retained<'_, '_>) {
        kept.locks.set(&mut self.held);
        kept.locks.lock(&mut self.acquired.lock);
    }
}

/// What a detector says about its cycles.
pub(crate) struct Cycle {
    pub(crate) detector: &'static str,
    pub(crate) evidence: Evidence,
    /// The end of the message.
    pub(crate) verdict: &'static str,
}

/// The finding of a cycle. At the position of a lock is the access that holds it and acquires the next one.
pub(crate) fn finding(
    wording: &Cycle,
    cycle: &[Acquisition],
    contexts: &ThreadContexts,
    tables: &Tables,
) -> Finding {
    let before = cycle.iter().cycle().skip(cycle.len() - 1);
    let locks = before.zip(cycle).map(|(before, _)| contexts.lock(before.acquired.lock, tables));
    let locks: Vec<Lock> = locks.collect();
    let accesses: Vec<Access> = cycle
        .iter()
        .map(|&Acquisition { thread, held, site, calls, .. }| {
            contexts.describe(AccessKind::Acquire, thread, (site, calls), held, tables)
        })
        .collect();
    let next = locks.iter().cycle().skip(1);
    let waiting: Vec<WaitingThread> = accesses
        .iter()
        .zip(locks.iter().zip(next))
        .map(|(access, (held, acquired))| WaitingThread {
            thread: access.thread.clone().unwrap_or_else(|| "a thread".to_owned()),
            held: held.to_string(),
            acquired: acquired.to_string(),
            site: access.site().map_or_else(String::new, place),
        })
        .collect();
    let message = cycle_message(waiting.into_iter(), wording.verdict);
    let mut locks = locks.into_iter();
    let first = locks.next().expect("a cycle has locks");
    let subject = Subject::locks(first, locks);
    let (rule, evidence) = (Rule::LockOrderCycle, wording.evidence);
    let mut finding = Finding::new(rule, subject, evidence, wording.detector, message, accesses);
    finding.hint = Some(hints::LOCK_IN_ONE_ORDER.to_owned());
    finding
}
