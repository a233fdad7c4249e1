//! The detector `wcp` against the definition, computed by brute force on small traces.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use unsnarl_entity::EntityId;
use unsnarl_events::{Event, LockId, Operation, SiteId, ThreadId, VariableId};
use unsnarl_trace_analysis::Options;

const THREADS: usize = 3;

/// The positions of the events that the detector leaves unordered with an earlier one.
fn told(events: &[Event]) -> BTreeSet<usize> {
    let (mut racing, checked) = support::run("wcp", Options::default(), events, &support::tables());
    racing.extend(checked.flagged);
    racing.iter().map(|event| event.site.index()).collect()
}

/// A critical section: its first event, and its release or the end of the trace.
struct Section {
    lock: LockId,
    thread: ThreadId,
    acquire: usize,
    release: Option<usize>,
}

fn sections(events: &[Event]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for (position, event) in events.iter().enumerate() {
        match event.operation {
            Operation::Acquire(lock) => sections.push(Section {
                lock,
                thread: event.thread,
                acquire: position,
                release: None,
            }),
            Operation::Release(lock) => {
                let open = sections.iter_mut().rfind(|it| it.lock == lock && it.release.is_none());
                open.unwrap().release = Some(position);
            }
            _ => {}
        }
    }
    sections
}

fn conflict(one: Event, two: Event) -> bool {
    use Operation::{Read, Write};
    match (one.operation, two.operation) {
        (Write(one), Write(two)) | (Write(one), Read(two)) | (Read(one), Write(two)) => one == two,
        _ => false,
    }
}

/// `before[i][j]`: event `i` comes before `j` by WCP or by the order of threads, their starts and joins.
fn weakly_before(events: &[Event]) -> Vec<Vec<bool>> {
    let count = events.len();
    let hard = |one: usize, two: usize| {
        one < two
            && (events[one].thread == events[two].thread
                || matches!(events[one].operation, Operation::Fork(child) if child == events[two].thread)
                || matches!(events[two].operation, Operation::Join(child) if child == events[one].thread))
    };
    let mut order = vec![vec![false; count]; count];
    let mut happens = order.clone();
    for one in 0..count {
        for two in one..count {
            order[one][two] = one == two || hard(one, two);
            happens[one][two] = order[one][two]
                || matches!((events[one].operation, events[two].operation),
                    (Operation::Release(one), Operation::Acquire(two)) if one == two);
        }
    }
    close(&mut order);
    close(&mut happens);
    let sections = sections(events);
    let is_in = |section: &Section, event: usize| {
        events[event].thread == section.thread
            && event >= section.acquire
            && section.release.is_none_or(|release| event <= release)
    };
    let mut weak = vec![vec![false; count]; count];
    loop {
        let known = weak.clone();
        for first in &sections {
            let Some(release) = first.release else { continue };
            for second in sections.iter().filter(|it| {
                it.lock == first.lock && it.thread != first.thread && it.acquire > release
            }) {
                for one in (0..count).filter(|&it| is_in(first, it)) {
                    for two in (0..count).filter(|&it| is_in(second, it)) {
                        weak[release][two] |= conflict(events[one], events[two]);
                        if let Some(end) = second.release {
                            weak[release][end] |= weak[one][two];
                        }
                    }
                }
            }
        }
        // Composed with happens-before on both sides, and with the order of threads.
        for one in 0..count {
            for two in 0..count {
                if known[one][two] {
                    for other in 0..count {
                        weak[other][two] |= happens[other][one];
                        weak[one][other] |= happens[two][other];
                    }
                }
            }
        }
        if weak == known {
            break;
        }
    }
    for one in 0..count {
        for two in 0..count {
            weak[one][two] |= order[one][two];
        }
    }
    close(&mut weak);
    weak
}

fn close(relation: &mut [Vec<bool>]) {
    for middle in 0..relation.len() {
        let behind = relation[middle].clone();
        for row in relation.iter_mut().filter(|row| row[middle]) {
            row.iter_mut().zip(&behind).for_each(|(one, other)| *one |= other);
        }
    }
}

fn racing(events: &[Event]) -> BTreeSet<usize> {
    let before = weakly_before(events);
    let is_racing = |&later: &usize| {
        (0..later).any(|earlier| {
            events[earlier].thread != events[later].thread
                && conflict(events[earlier], events[later])
                && !before[earlier][later]
        })
    };
    (0..events.len()).filter(is_racing).collect()
}

/// Traces that a program can have, with locks that are not entered again.
fn trace() -> impl Strategy<Value = Vec<Event>> {
    let attempt = (0..THREADS, 0..11_u8, 0..2_usize);
    prop::collection::vec(attempt, 0..40).prop_map(|attempts| {
        let mut events: Vec<Event> = Vec::new();
        let mut held: Vec<Vec<usize>> = vec![Vec::new(); THREADS];
        let mut joined = [false; THREADS];
        for (thread, kind, number) in attempts {
            let has_events = |thread| events.iter().any(|it: &Event| it.thread.index() == thread);
            let is_free = held.iter().all(|locks| !locks.contains(&number));
            let child = (thread + 1) % THREADS;
            if joined[thread] {
                continue;
            }
            let operation = match kind {
                0..2 => Operation::Read(VariableId::from_index(number)),
                2..4 => Operation::Write(VariableId::from_index(number)),
                4..7 if is_free => {
                    held[thread].push(number);
                    Operation::Acquire(LockId::from_index(number))
                }
                7..9 => match held[thread].pop() {
                    Some(number) => Operation::Release(LockId::from_index(number)),
                    None => continue,
                },
                9 if !has_events(child) => Operation::Fork(ThreadId::from_index(child)),
                10 if has_events(child) && held[child].is_empty() => {
                    joined[child] = true;
                    Operation::Join(ThreadId::from_index(child))
                }
                _ => continue,
            };
            let site = SiteId::from_index(events.len());
            events.push(Event { thread: ThreadId::from_index(thread), site, operation });
        }
        events
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn events_are_those_of_the_definition(events in trace()) {
        prop_assert_eq!(told(&events), racing(&events));
    }
}
