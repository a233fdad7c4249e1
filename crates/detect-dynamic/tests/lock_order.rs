//! The detector `lock-order` against the definition of a cycle, by trying all sequences of steps of small traces.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use support::{Holding, closure, is_edge_of_periods, run, tables, well_formed};
use unsnarl_entity::EntityId;
use unsnarl_events::{ChannelId, Event, Lock, LockId, Operation, SiteId, Thread, ThreadId};
use unsnarl_findings::{Finding, Frame, Severity};
use unsnarl_trace_analysis::{Options, Outcome};

/// What a thread does in one go: take locks one after another and give them back.
#[derive(Clone, Debug)]
enum Part {
    Locks { taken: Vec<(Holding, usize)>, waits: bool },
    Alone(Operation),
}

fn part() -> impl Strategy<Value = Part> {
    let lock = (0..4_usize, prop::bool::weighted(0.2), 0..4_usize)
        .prop_map(|(lock, is_shared, site)| ((LockId::from_index(lock), is_shared), site));
    let taken = prop::collection::vec(lock, 2..4);
    prop_oneof![
        8 => (taken, prop::bool::weighted(0.2)).prop_map(|(taken, waits)| Part::Locks { taken, waits }),
        1 => (1..4_usize).prop_map(|it| Part::Alone(Operation::Fork(ThreadId::from_index(it)))),
        1 => (1..4_usize).prop_map(|it| Part::Alone(Operation::Join(ThreadId::from_index(it)))),
        1 => (0..2_usize).prop_map(|it| Part::Alone(Operation::Send(ChannelId::from_index(it)))),
        1 => (0..2_usize).prop_map(|it| Part::Alone(Operation::Receive(ChannelId::from_index(it)))),
    ]
}

fn events(parts: &[(usize, Part)]) -> Vec<Event> {
    let mut events = Vec::new();
    for (thread, part) in parts {
        let mut add = |operation, site| {
            let (thread, site) = (ThreadId::from_index(*thread), SiteId::from_index(site));
            events.push(Event { thread, site, operation });
        };
        match part {
            Part::Alone(operation) => add(*operation, 9),
            Part::Locks { taken, waits } => {
                for &((lock, is_shared), site) in taken {
                    let acquire =
                        if is_shared { Operation::AcquireShared } else { Operation::Acquire };
                    add(acquire(lock), site);
                }
                if *waits {
                    add(Operation::Wait(taken[0].0.0), 4);
                    add(Operation::Wake(taken[0].0.0), 5);
                }
                for &((lock, is_shared), _) in taken.iter().rev() {
                    let release =
                        if is_shared { Operation::ReleaseShared } else { Operation::Release };
                    add(release(lock), 9);
                }
            }
        }
    }
    events
}

/// A thread holds locks and acquires another one, at a position of the trace.
struct LockStep {
    position: usize,
    event: Event,
    held: Vec<Holding>,
    acquired: Holding,
}

fn steps(trace: &[(Event, Vec<Holding>)]) -> Vec<LockStep> {
    let mut steps = Vec::new();
    for (position, (event, held)) in trace.iter().enumerate() {
        let acquired = match event.operation {
            Operation::Acquire(lock) | Operation::Wake(lock) => (lock, false),
            Operation::AcquireShared(lock) => (lock, true),
            _ => continue,
        };
        let is_first = held.iter().all(|held| held.0 != acquired.0);
        if !held.is_empty() && is_first {
            steps.push(LockStep { position, event: *event, held: held.clone(), acquired });
        }
    }
    steps
}

fn exclude(one: Holding, other: Holding) -> bool {
    one.0 == other.0 && !(one.1 && other.1)
}

/// The places of all cycles.
fn cycles(steps: &[LockStep], before: &[Vec<bool>]) -> BTreeSet<BTreeSet<usize>> {
    let can_meet = |one: &LockStep, other: &LockStep| {
        let order = (one.position.min(other.position), one.position.max(other.position));
        one.event.thread != other.event.thread
            && one.acquired.0 != other.acquired.0
            && !before[order.0][order.1]
            && !one.held.iter().any(|&held| other.held.iter().any(|&others| exclude(held, others)))
    };
    let waits_for = |one: &LockStep, other: &LockStep| {
        other.held.iter().any(|&held| exclude(held, one.acquired))
    };
    let mut found = BTreeSet::new();
    let mut paths: Vec<Vec<&LockStep>> = steps.iter().map(|step| vec![step]).collect();
    while let Some(path) = paths.pop() {
        let last = path[path.len() - 1];
        if path.len() > 1 && waits_for(last, path[0]) {
            found.insert(path.iter().map(|step| step.event.site.index()).collect());
        }
        for step in steps {
            if waits_for(last, step) && path.iter().all(|other| can_meet(other, step)) {
                paths.push(path.iter().copied().chain([step]).collect());
            }
        }
    }
    found
}

/// The sets in which no other one is contained.
fn least(sets: &BTreeSet<BTreeSet<usize>>) -> BTreeSet<BTreeSet<usize>> {
    let is_least = |set: &&BTreeSet<usize>| !sets.iter().any(|it| it != *set && it.is_subset(set));
    sets.iter().filter(is_least).cloned().collect()
}

fn places(finding: &Finding) -> BTreeSet<usize> {
    let place = |frame: Option<&Frame>| match frame {
        Some(Frame::Location(number)) => usize::try_from(*number).unwrap(),
        other => panic!("{other:?}"),
    };
    finding.accesses.iter().map(|access| place(access.site())).collect()
}

fn check(events: &[Event]) -> Outcome {
    run("lock-order", Options::default(), events, &tables()).1
}

proptest! {
    #![proptest_config(support::cases(3000))]

    #[test]
    fn the_least_cycles_are_told(parts in prop::collection::vec((0..4_usize, part()), 0..9)) {
        let trace = well_formed(events(&parts));
        let events: Vec<Event> = trace.iter().map(|(event, _)| *event).collect();
        let steps = steps(&trace);
        let is_start = |one: &Event, other: &Event| {
            let is_channel = |event: &Event| {
                matches!(event.operation, Operation::Send(_) | Operation::Receive(_))
            };
            one.thread == other.thread
                || !is_channel(one) && !is_channel(other) && is_edge_of_periods(one, other)
                || matches!(one.operation, Operation::Fork(child) if child == other.thread)
                || matches!(other.operation, Operation::Join(child) if child == one.thread)
        };
        let possible = cycles(&steps, &closure(&events, is_start));
        let likely = cycles(&steps, &closure(&events, is_edge_of_periods));
        let checked = check(&events);
        let told: BTreeMap<BTreeSet<usize>, Severity> =
            checked.findings.iter().map(|it| (places(it), it.severity)).collect();
        prop_assert_eq!(told.len(), checked.findings.len());
        prop_assert_eq!(told.keys().cloned().collect::<BTreeSet<_>>(), least(&possible));
        for (places, severity) in told {
            prop_assert_eq!(severity == Severity::Error, likely.contains(&places));
        }
        for finding in &checked.findings {
            let locks = finding.subject.as_locks();
            prop_assert_eq!(locks.len(), finding.accesses.len());
            for (access, lock) in finding.accesses.iter().zip(locks) {
                prop_assert!(access.locks.contains(lock), "{}", &finding.message);
            }
        }
    }
}

/// Every philosopher takes the fork at the left and then the one at the right.
fn philosophers(count: usize) -> Vec<Part> {
    let fork = |number: usize| (LockId::from_index(number % count), false);
    let philosopher = |number| Part::Locks {
        taken: vec![(fork(number), 1), (fork(number + 1), 2)],
        waits: false,
    };
    (0..count).map(philosopher).collect()
}

#[test]
fn a_thousand_philosophers_are_one_finding() {
    let mut tables = tables();
    let name = tables.names.intern(b"fork");
    for _ in 0..1000 {
        tables.locks.push(Lock::Named(name));
        tables.threads.push(Thread { name });
    }
    let parts: Vec<(usize, Part)> = philosophers(1000).into_iter().enumerate().collect();
    let checked = run("lock-order", Options::default(), &events(&parts), &tables).1;
    let [finding] = checked.findings.as_slice() else { panic!("{}", checked.findings.len()) };
    assert_eq!(finding.subject.as_locks().len(), 1000);
    assert_eq!(finding.accesses.len(), 1000);
    assert_eq!(checked.notes, Vec::<String>::new());

    // One of them takes the right one first.
    let mut parts = parts;
    let Part::Locks { taken, .. } = &mut parts[0].1 else { panic!("they take locks") };
    taken.reverse();
    let checked = run("lock-order", Options::default(), &events(&parts), &tables).1;
    assert_eq!(checked.findings, []);
}

#[test]
fn a_cycle_is_told_with_its_locks_threads_and_places() {
    let parts: Vec<(usize, Part)> = philosophers(2).into_iter().enumerate().collect();
    let checked = check(&events(&parts));
    let [finding] = checked.findings.as_slice() else { panic!("{}", checked.findings.len()) };
    assert_eq!(finding.subject.to_string(), "V0 -> V1 -> V0");
    assert_eq!(
        finding.message,
        "T0 holds V0 and acquires V1 at location 2, T1 holds V1 and acquires V0 at location 2: they \
         can wait for each other for ever"
    );
}

/// Many locks, which many threads take in any order at different places: the search ends.
#[test]
fn a_dense_graph_is_searched_for_a_bounded_time() {
    let mut tables = tables();
    let name = tables.names.intern(b"name");
    let mut parts = Vec::new();
    for thread in 0..40 {
        tables.threads.push(Thread { name });
        tables.locks.push(Lock::Named(name));
        for other in 0..40 {
            let taken =
                [thread, other].map(|it| ((LockId::from_index(it), false), thread * 40 + other));
            parts.push((thread, Part::Locks { taken: taken.to_vec(), waits: false }));
        }
    }
    let trace = well_formed(events(&parts));
    let events: Vec<Event> = trace.into_iter().map(|(event, _)| event).collect();
    let checked = run("lock-order", Options::default(), &events, &tables).1;
    // Every two threads have a cycle of their own; all others have these as parts or are too many.
    assert!(checked.findings.len() >= 40 * 39 / 2, "{}", checked.findings.len());
}
