//! The detectors that look at locksets against their definitions, computed from the whole past at every event.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use support::{
    Holding, closure, is_edge_of_periods, run, tables, told, variable_of, well_formed_trace,
};
use unsnarl_entity::EntityId;
use unsnarl_events::{
    Container, Event, Field, LockId, Object, Operation, SiteId, Store, ThreadId, Variable,
    VariableId,
};
use unsnarl_trace_analysis::Options;

/// An access to one variable.
struct Access {
    position: usize,
    thread: ThreadId,
    is_write: bool,
    protection: BTreeSet<LockId>,
}

/// The accesses to each variable, in order.
fn accesses(trace: &[(Event, Vec<Holding>)]) -> Vec<Vec<Access>> {
    let mut variables: Vec<Vec<Access>> = (0..3).map(|_| Vec::new()).collect();
    for (position, (event, held)) in trace.iter().enumerate() {
        let Some((variable, is_write)) = variable_of(event) else { continue };
        let protecting = held.iter().filter(|&&(_, is_shared)| !(is_write && is_shared));
        let protection = protecting.map(|held| held.0).collect();
        let access = Access { position, thread: event.thread, is_write, protection };
        variables[variable.index()].push(access);
    }
    variables
}

fn common<'a>(accesses: impl Iterator<Item = &'a Access>) -> Option<BTreeSet<LockId>> {
    accesses.map(|access| access.protection.clone()).reduce(|one, other| &one & &other)
}

/// The accesses since a second thread came.
fn shared(past: &[Access]) -> &[Access] {
    let second = past.iter().position(|access| access.thread != past[0].thread);
    &past[second.unwrap_or(past.len())..]
}

fn eraser(past: &[Access]) -> bool {
    let shared = shared(past);
    shared.iter().any(|access| access.is_write) && common(shared.iter()).unwrap().is_empty()
}

fn two_lockset(past: &[Access]) -> bool {
    let shared = shared(past);
    let Some(now) = shared.last() else { return false };
    match now.is_write {
        true => common(shared.iter()).unwrap().is_empty(),
        false => common(shared.iter().filter(|access| access.is_write))
            .is_some_and(|writes| writes.is_disjoint(&now.protection)),
    }
}

fn multilockset(past: &[Access], before: &[Vec<bool>]) -> bool {
    let (writes, reads): (Vec<&Access>, Vec<&Access>) =
        past.iter().partition(|access| access.is_write);
    let are_concurrent = |ones: &[&Access], others: &[&Access]| {
        ones.iter().any(|one| {
            let mut others = others.iter();
            others.any(|other| {
                let (first, second) =
                    (one.position.min(other.position), one.position.max(other.position));
                first != second && !before[first][second]
            })
        })
    };
    match common(writes.iter().copied()) {
        None => false,
        Some(locks) if locks.is_empty() => {
            are_concurrent(&writes, &writes) || are_concurrent(&writes, &reads)
        }
        Some(locks) => {
            reads.iter().any(|read| read.protection.is_disjoint(&locks))
                && are_concurrent(&writes, &reads)
        }
    }
}

fn expected(trace: &[(Event, Vec<Holding>)], is_told: impl Fn(&[Access]) -> bool) -> Vec<usize> {
    let mut told: Vec<usize> = Vec::new();
    for accesses in accesses(trace) {
        let pasts = (1..=accesses.len()).map(|count| &accesses[..count]);
        told.extend(pasts.filter(|past| is_told(past)).map(|past| past[past.len() - 1].position));
    }
    told.sort_unstable();
    told
}

proptest! {
    #![proptest_config(support::cases(3000))]

    #[test]
    fn an_access_is_told_exactly_if_its_definition_says_so(trace in well_formed_trace()) {
        let events: Vec<Event> = trace.iter().map(|(event, _)| *event).collect();
        let before = closure(&events, is_edge_of_periods);
        prop_assert_eq!(told("eraser", &events), expected(&trace, eraser));
        prop_assert_eq!(told("two-lockset", &events), expected(&trace, two_lockset));
        let by_periods = expected(&trace, |past| multilockset(past, &before));
        prop_assert_eq!(told("multilockset", &events), by_periods);
    }

    /// Every variable that is told is in a finding, with two accesses to it by two threads.
    #[test]
    fn a_told_variable_has_a_finding(trace in well_formed_trace()) {
        let events: Vec<Event> = trace.iter().map(|(event, _)| *event).collect();
        for name in ["eraser", "two-lockset", "multilockset"] {
            let (racing, checked) = run(name, Options::default(), &events, &tables());
            let told: BTreeSet<String> =
                racing.iter().map(|event| event.variable(&tables()).field).collect();
            let found: BTreeSet<String> = checked
                .findings
                .iter()
                .map(|finding| finding.subject.as_variable().unwrap().field.clone())
                .collect();
            prop_assert_eq!(told, found, "{}", name);
            for finding in &checked.findings {
                prop_assert_ne!(&finding.accesses[0].thread, &finding.accesses[1].thread);
            }
        }
    }
}

/// What its maker does to an object counts from when others can know it, also if none of them has used it yet.
#[test]
fn what_happens_before_an_object_escapes_does_not_count() {
    use Operation::{Acquire, Allocate, Release, Write};
    let mut tables = tables();
    let name = tables.names.intern(b"name");
    let field = tables.fields.push(Field { class: name, name, is_final: false });
    let object = tables.objects.push(Object { class: name, number: 1 });
    let variable = tables.variables.push(Variable::Field(object, field));
    let published = Store { into: Container::Static(field), value: object };
    let publish = Operation::Store(tables.stores.intern(published));
    let (lock, write) = (LockId::from_index(0), Write(variable));
    let locked = [(1, Acquire(lock)), (1, write), (1, Release(lock))];
    let told = |steps: &[(usize, Operation)]| {
        let steps = [&[(0, Allocate(object))], steps, &locked].concat();
        let (racing, _) = run("multilockset", Options::default(), &events(&steps), &tables);
        racing.len()
    };
    assert_eq!(told(&[(0, write), (0, publish)]), 0);
    assert_eq!(told(&[(0, publish), (0, write)]), 1);
}

fn events(steps: &[(usize, Operation)]) -> Vec<Event> {
    let event = |(position, &(thread, operation))| Event {
        thread: ThreadId::from_index(thread),
        site: SiteId::from_index(position),
        operation,
    };
    steps.iter().enumerate().map(event).collect()
}

/// The pair that is shown conflicts and shares no lock, although the last access before does not conflict.
#[test]
fn a_finding_shows_accesses_that_share_no_lock() {
    use Operation::{Acquire, Read, Release, Write};
    let (lock, variable) = (LockId::from_index(0), VariableId::from_index(0));
    let steps = [
        (0, Write(variable)),
        (1, Acquire(lock)),
        (1, Write(variable)),
        (1, Release(lock)),
        (2, Read(variable)),
        (3, Read(variable)),
    ];
    let events = events(&steps);
    let messages = |all| -> Vec<String> {
        let (_, checked) = run("eraser", Options::new(all), &events, &tables());
        checked.findings.into_iter().map(|finding| finding.message).collect()
    };
    let first = "V0 is written by T1 at location 2 and read by T2 at location 4, and no lock is held at \
                 all accesses to it";
    let second = "V0 is written by T1 at location 2 and read by T3 at location 5, and no lock is held at \
                  all accesses to it";
    assert_eq!(messages(false), [first]);
    assert_eq!(messages(true), [first, second]);
}
