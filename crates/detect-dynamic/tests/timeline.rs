//! The time lines of races against the trace that they are of.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use support::{is_edge, run, tables, well_formed_trace};
use unsnarl_entity::EntityId;
use unsnarl_events::{ChannelId, Event, LockId, Operation, SiteId, ThreadId, VariableId};
use unsnarl_findings::{Finding, Frame, StepKind, TimelineStep};
use unsnarl_trace_analysis::Options;

/// Where in a trace something is whose sites are positions.
fn position(frame: Option<&Frame>) -> usize {
    match frame {
        Some(Frame::Location(number)) => usize::try_from(*number).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The positions of the steps of a finding, accesses included.
fn positions(finding: &Finding) -> Vec<usize> {
    let of = |step: &TimelineStep| match step.kind {
        StepKind::Access => position(finding.accesses[step.lane].site()),
        _ => position(step.site.as_ref()),
    };
    finding.timeline.iter().map(of).collect()
}

fn check(finding: &Finding, events: &[Event]) {
    let (steps, positions) = (&finding.timeline, positions(finding));
    for lane in [0, 1] {
        let own = || (0..steps.len()).filter(|&step| steps[step].lane == lane);
        assert_eq!(own().filter(|&step| steps[step].kind == StepKind::Access).count(), 1);
        assert!(own().count() <= 10, "eight steps, the access, and what began the thread");
        assert!(own().map(|step| positions[step]).is_sorted(), "{finding:?}");
        let thread = events[position(finding.accesses[lane].site())].thread;
        for step in own() {
            let event = events[positions[step]];
            match steps[step].kind {
                StepKind::Begin => assert_eq!(event.operation, Operation::Fork(thread)),
                _ => assert_eq!(event.thread, thread),
            }
        }
    }
    let synchronizing = (0..steps.len()).filter(|&step| steps[step].kind != StepKind::Access);
    assert!(synchronizing.map(|step| positions[step]).is_sorted());
    for (position, step) in steps.iter().enumerate() {
        let Some(after) = step.after else { continue };
        assert!(after < position && steps[after].lane != step.lane);
        let [one, other] = [after, position].map(|step| events[positions[step]]);
        assert!(step.kind == StepKind::Begin && one == other || is_edge(&one, &other), "{step:?}");
    }
}

/// Whether steps and arrows lead from the first access to the second.
fn is_ordered(steps: &[TimelineStep]) -> bool {
    let first = steps.iter().position(|it| it.kind == StepKind::Access && it.lane == 0).unwrap();
    let mut reached = vec![false; steps.len()];
    reached[first] = true;
    for (position, step) in steps.iter().enumerate() {
        let own = (first..position).any(|other| reached[other] && steps[other].lane == step.lane);
        reached[position] |= own || step.after.is_some_and(|after| reached[after]);
    }
    (0..steps.len()).any(|it| reached[it] && steps[it].kind == StepKind::Access && it != first)
}

/// The events without starts of threads that have done something, or were started. The sites are the positions.
fn started_first(events: impl Iterator<Item = Event>) -> Vec<Event> {
    let mut known = BTreeSet::new();
    let mut kept = Vec::new();
    for event in events {
        known.insert(event.thread);
        let is_late = matches!(event.operation, Operation::Fork(child) if !known.insert(child));
        if !is_late {
            kept.push(Event { site: SiteId::from_index(kept.len()), ..event });
        }
    }
    kept
}

proptest! {
    #![proptest_config(support::cases(2000))]

    #[test]
    fn time_lines_are_true(trace in well_formed_trace()) {
        let events = started_first(trace.into_iter().map(|(event, _)| event));
        let names = ["happens-before", "sync-preserving", "eraser", "two-lockset", "multilockset", "object-race"];
        for (name, all) in names.into_iter().flat_map(|name| [(name, false), (name, true)]) {
            let (_, checked) = run(name, Options::new(all), &events, &tables());
            for finding in &checked.findings {
                check(finding, &events);
                match name {
                    "happens-before" => prop_assert!(!is_ordered(&finding.timeline)),
                    "sync-preserving" => {}
                    _ => prop_assert!(positions(finding).is_sorted()),
                }
            }
        }
    }
}

/// `0 acquire V1`, with the position of what it comes after.
fn lines(steps: &[TimelineStep]) -> Vec<String> {
    let line = |step: &TimelineStep| {
        let on = step.on.as_ref().map_or_else(String::new, |on| format!(" {on}"));
        let after = step.after.map_or_else(String::new, |after| format!(" after {after}"));
        let gap = if step.is_behind_gap { " behind a gap" } else { "" };
        format!("{} {}{on}{after}{gap}", step.lane, step.kind)
    };
    steps.iter().map(line).collect()
}

fn told(name: &str, steps: &[(usize, Operation)]) -> Vec<String> {
    let event = |(position, &(thread, operation)): (usize, &(usize, Operation))| Event {
        thread: ThreadId::from_index(thread),
        site: SiteId::from_index(position),
        operation,
    };
    let events: Vec<Event> = steps.iter().enumerate().map(event).collect();
    let (_, checked) = run(name, Options::default(), &events, &tables());
    let [finding] = checked.findings.as_slice() else { panic!("{:?}", checked.findings) };
    lines(&finding.timeline)
}

#[test]
fn what_both_threads_did_is_told_with_the_order_that_there_was() {
    use Operation::{Acquire, Fork, Receive, Release, Send, Write};
    let (one, two) = (LockId::from_index(1), LockId::from_index(2));
    let (flag, shared) = (ChannelId::from_index(3), VariableId::from_index(0));
    let trace = [
        (0, Fork(ThreadId::from_index(1))),
        (1, Acquire(one)),
        (1, Release(one)),
        (0, Acquire(one)),
        (0, Acquire(one)),
        (0, Write(shared)),
        (0, Release(one)),
        (0, Release(one)),
        (0, Send(flag)),
        (1, Acquire(two)),
        (1, Receive(ChannelId::from_index(4))),
        (1, Receive(ChannelId::from_index(4))),
        (1, Write(shared)),
    ];
    let expected = [
        "0 start T1",
        "1 begin T0 after 0",
        "1 acquire V1",
        "1 release V1",
        "0 acquire V1 after 3",
        "0 access",
        "0 release V1",
        "0 send V3",
        "1 acquire V2",
        "1 receive V4",
        "1 access",
    ];
    assert_eq!(told("happens-before", &trace), expected);
}

#[test]
fn what_is_long_ago_is_behind_a_gap() {
    use Operation::{Acquire, Release, Write};
    let (lock, shared) = (LockId::from_index(1), VariableId::from_index(0));
    let mut trace = vec![(0, Write(shared))];
    trace.extend((0..10).flat_map(|_| [(0, Acquire(lock)), (0, Release(lock))]));
    trace.push((1, Write(shared)));
    let told = told("happens-before", &trace);
    assert_eq!(told[..3], ["0 access", "0 acquire V1 behind a gap", "0 release V1"]);
    assert_eq!(told.len(), 10);
}

#[test]
fn an_access_without_a_common_lock_stands_among_the_steps_of_the_other_thread() {
    use Operation::{Acquire, Fork, Read, Release, Write};
    let [one, two] = [1, 2].map(LockId::from_index);
    let shared = VariableId::from_index(0);
    let mut trace = vec![
        (0, Fork(ThreadId::from_index(1))),
        (1, Read(shared)),
        (0, Acquire(one)),
        (1, Acquire(two)),
        (0, Write(shared)),
        (1, Release(two)),
        (0, Release(one)),
        (1, Acquire(two)),
    ];
    trace.push((1, Write(shared)));
    let expected = [
        "0 start T1",
        "1 begin T0 after 0",
        "0 acquire V1",
        "1 acquire V2",
        "0 access",
        "1 release V2",
        "0 release V1",
        "1 acquire V2",
        "1 access",
    ];
    for name in ["eraser", "two-lockset", "object-race"] {
        assert_eq!(told(name, &trace), expected, "{name}");
    }
}

#[test]
fn a_predicted_race_shows_the_order_that_the_run_had() {
    use Operation::{Acquire, Release, Write};
    let (lock, shared) = (LockId::from_index(1), VariableId::from_index(0));
    let trace = [
        (0, Write(shared)),
        (0, Acquire(lock)),
        (0, Release(lock)),
        (1, Acquire(lock)),
        (1, Acquire(lock)),
        (1, Release(lock)),
        (1, Release(lock)),
        (1, Write(shared)),
    ];
    let expected = [
        "0 access",
        "0 acquire V1",
        "0 release V1",
        "1 acquire V1 after 2",
        "1 release V1",
        "1 access",
    ];
    assert_eq!(told("sync-preserving", &trace), expected);
}
