//! Stale values against their definition, computed from the whole trace at every write.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use support::{Holding, closure, is_edge_of_periods, run, tables, variable_of, well_formed_trace};
use unsnarl_events::{Event, LockId, Operation};
use unsnarl_trace_analysis::Options;

type Trace = [(Event, Vec<Holding>)];

fn locks(held: &[Holding]) -> BTreeSet<LockId> {
    held.iter().map(|held| held.0).collect()
}

/// Whether a thread holds a lock at every event of its own from one to another, and does not wait for it.
fn is_kept(trace: &Trace, from: usize, to: usize, lock: LockId) -> bool {
    let thread = trace[from].0.thread;
    let own = trace[from..=to].iter().filter(|(event, _)| event.thread == thread);
    own.clone().all(|(_, held)| locks(held).contains(&lock))
        && !own.clone().any(|(event, _)| event.operation == Operation::Wait(lock))
}

/// The writes that come late.
fn expected(trace: &Trace, before: &[Vec<bool>]) -> BTreeSet<usize> {
    let mut late = BTreeSet::new();
    for (position, (event, held)) in trace.iter().enumerate() {
        let Some((variable, true)) = variable_of(event) else { continue };
        let is_own = |other: &Event| {
            other.thread == event.thread && variable_of(other).is_some_and(|it| it.0 == variable)
        };
        let Some(read) = trace[..position].iter().rposition(|(other, _)| is_own(other)) else {
            continue;
        };
        if variable_of(&trace[read].0) != Some((variable, false)) {
            continue;
        }
        let at_both = &locks(&trace[read].1) & &locks(held);
        let (kept, reopened): (BTreeSet<LockId>, BTreeSet<LockId>) =
            at_both.into_iter().partition(|&lock| is_kept(trace, read, position, lock));
        let comes_between = trace.iter().enumerate().any(|(other, (write, held))| {
            let (first, second) = (position.min(other), position.max(other));
            write.thread != event.thread
                && variable_of(write) == Some((variable, true))
                && !locks(held).is_disjoint(&reopened)
                && locks(held).is_disjoint(&kept)
                && !before[first][second]
        });
        if comes_between {
            late.insert(position);
        }
    }
    late
}

proptest! {
    #![proptest_config(support::cases(3000))]

    #[test]
    fn a_write_is_told_exactly_if_the_definition_says_so(trace in well_formed_trace()) {
        let events: Vec<Event> = trace.iter().map(|(event, _)| *event).collect();
        let before = closure(&events, is_edge_of_periods);
        let (racing, checked) = run("stale-value", Options::default(), &events, &tables());
        let told = racing.iter().chain(&checked.flagged);
        // The sites of a well-formed trace are positions in the one that it was made of.
        let position = |site| events.iter().position(|event| event.site == site).unwrap();
        let told: BTreeSet<usize> = told.map(|event| position(event.site)).collect();
        prop_assert_eq!(&told, &expected(&trace, &before));
        prop_assert_eq!(told.len(), checked.findings.len());
    }
}
