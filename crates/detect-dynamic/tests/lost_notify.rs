//! Notifications that come before anybody waits.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::{run, tables};
use unsnarl_entity::EntityId;
use unsnarl_events::{Event, LockId, Operation, SiteId, ThreadId};
use unsnarl_findings::{AccessKind, Finding, Severity};
use unsnarl_trace_analysis::Options;

const LOCK: usize = 1;

fn found(steps: &[(usize, Operation)], untested: &[usize]) -> Vec<Finding> {
    let event = |(position, &(thread, operation)): (usize, &(usize, Operation))| Event {
        thread: ThreadId::from_index(thread),
        site: SiteId::from_index(position),
        operation,
    };
    let events: Vec<Event> = steps.iter().enumerate().map(event).collect();
    let mut tables = tables();
    tables.untested_waits.extend(untested.iter().map(|&site| SiteId::from_index(site)));
    run("lost-notify", Options::default(), &events, &tables).1.findings
}

/// What a thread does with the lock, between acquiring and releasing it.
fn locked(thread: usize, inside: &[Operation]) -> Vec<(usize, Operation)> {
    let lock = LockId::from_index(LOCK);
    let around = [&[Operation::Acquire(lock)], inside, &[Operation::Release(lock)]].concat();
    around.into_iter().map(|operation| (thread, operation)).collect()
}

#[test]
fn a_wait_that_comes_too_late_and_tests_nothing_is_told() {
    use Operation::{Notify, Wait, Wake};
    let lock = LockId::from_index(LOCK);
    let late = [locked(0, &[Notify(lock)]), locked(1, &[Wait(lock), Wake(lock)])].concat();
    let [finding] = &found(&late, &[4])[..] else { panic!("one finding") };
    assert_eq!(finding.severity, Severity::Note, "it was late and not lost");
    let kinds: Vec<AccessKind> = finding.accesses.iter().map(|access| access.kind).collect();
    assert_eq!(kinds, [AccessKind::Wait, AccessKind::Notify]);

    let [finding] = &found(&late[..5], &[4])[..] else { panic!("one finding") };
    assert_ne!(finding.severity, Severity::Note, "it waits for ever");
    assert_eq!(found(&late, &[]), [], "something was tested");
}

#[test]
fn other_waits_are_not() {
    use Operation::{Acquire, Notify, Wait, Wake};
    let lock = LockId::from_index(LOCK);
    let notifies = |thread| locked(thread, &[Notify(lock)]);
    let own = [notifies(1), locked(1, &[Wait(lock), Wake(lock)])].concat();
    let before = [vec![(1, Acquire(lock)), (1, Wait(lock))], notifies(0)].concat();
    let again = [notifies(0), vec![(1, Acquire(lock)), (1, Wait(lock))], notifies(0)].concat();
    let inside = [notifies(0), locked(1, &[Acquire(lock), Wait(lock), Wake(lock)])].concat();
    let other = LockId::from_index(LOCK + 1);
    let elsewhere = [locked(0, &[Notify(other)]), locked(1, &[Wait(lock), Wake(lock)])].concat();
    for (name, trace) in [
        ("who notified itself", own),
        ("somebody was notified", before),
        ("another notification came", again),
        ("a caller may have tested", inside),
        ("another object was notified", elsewhere),
    ] {
        let all: Vec<usize> = (0..trace.len()).collect();
        assert_eq!(found(&trace, &all), [], "{name}");
    }
}
