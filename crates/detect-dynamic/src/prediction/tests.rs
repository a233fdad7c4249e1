//! Predictions against all reorderings of small traces, by the definition.

use std::collections::BTreeSet;

use proptest::prelude::*;
use unsnarl_entity::EntityId;
use unsnarl_events::{ChannelId, Event, LockId, Operation, SiteId, ThreadId, VariableId};

use super::*;

const THREADS: usize = 3;

/// A step that a thread tries; what is not possible is left out.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    thread: usize,
    kind: u8,
    number: usize,
}

fn trace(most: usize) -> impl Strategy<Value = Vec<Event>> {
    let attempt = (0..THREADS, 0..14_u8, 0..2_usize).prop_map(|(thread, kind, number)| Attempt {
        thread,
        kind,
        number,
    });
    prop::collection::vec(attempt, 0..2 * most)
        .prop_map(move |attempts| well_formed(&attempts, most))
}

/// A trace that a program can have: locks exclude each other, threads begin when they are started and are joined when they
/// have ended.
fn well_formed(attempts: &[Attempt], most: usize) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let mut held: Vec<Vec<(usize, bool)>> = vec![Vec::new(); THREADS];
    let mut forked = [false; THREADS];
    let mut joined = [false; THREADS];
    for &Attempt { thread, kind, number } in attempts {
        let has_events = |thread| events.iter().any(|it: &Event| it.thread.index() == thread);
        if events.len() == most || joined[thread] {
            continue;
        }
        let lock = LockId::from_index(number);
        let free = |exclusive: bool| {
            held.iter().enumerate().all(|(other, locks)| {
                other == thread || locks.iter().all(|&(it, is)| it != number || !is && !exclusive)
            }) && held[thread].iter().all(|&(it, _)| it != number)
        };
        let child = (thread + 1) % THREADS;
        let operation = match kind {
            0..3 => Operation::Read(VariableId::from_index(number)),
            3..6 => Operation::Write(VariableId::from_index(number)),
            6 | 7 if free(true) => {
                held[thread].push((number, true));
                Operation::Acquire(lock)
            }
            8 if free(false) => {
                held[thread].push((number, false));
                Operation::AcquireShared(lock)
            }
            6..10 if !held[thread].is_empty() => match held[thread].pop() {
                Some((number, true)) => Operation::Release(LockId::from_index(number)),
                Some((number, false)) => Operation::ReleaseShared(LockId::from_index(number)),
                None => continue,
            },
            10 => Operation::Send(ChannelId::from_index(number)),
            11 => Operation::Receive(ChannelId::from_index(number)),
            12 if !has_events(child) && !forked[child] => {
                forked[child] = true;
                Operation::Fork(ThreadId::from_index(child))
            }
            13 if has_events(child) && held[child].is_empty() => {
                joined[child] = true;
                Operation::Join(ThreadId::from_index(child))
            }
            _ => continue,
        };
        events.push(Event {
            thread: ThreadId::from_index(thread),
            site: SiteId::from_index(events.len()),
            operation,
        });
    }
    events
}

/// Whether an order of events keeps to the definition of a reordering, and whether it preserves synchronization.
fn is_reordering(events: &[Event], order: &[usize]) -> Option<bool> {
    let place = |event: usize| order.iter().position(|&it| it == event);
    let mut preserves = true;
    for (at, &one) in order.iter().enumerate() {
        let event = events[one];
        for (earlier, other) in events[..one].iter().enumerate() {
            let must = other.thread == event.thread
                || matches!(other.operation, Operation::Fork(child) if child == event.thread)
                || matches!(event.operation, Operation::Join(child) if child == other.thread)
                || matches!((other.operation, event.operation),
                    (Operation::Send(one), Operation::Receive(two)) if one == two);
            if must && place(earlier).is_none_or(|it| it > at) {
                return None;
            }
        }
        if let Operation::Receive(channel) = event.operation {
            let sends =
                order[..at].iter().filter(|&&it| events[it].operation == Operation::Send(channel));
            if sends.into_iter().any(|&send| send > one) {
                return None;
            }
        }
        if let Operation::Read(variable) = event.operation {
            let is_write = |it: usize| events[it].operation == Operation::Write(variable);
            let original = (0..one).rev().find(|&it| is_write(it));
            let now = order[..at].iter().rev().copied().find(|&it| is_write(it));
            if original != now {
                return None;
            }
        }
        let (Operation::Acquire(lock) | Operation::AcquireShared(lock)) = event.operation else {
            continue;
        };
        let exclusive = event.operation == Operation::Acquire(lock);
        // Who has it now.
        for thread in (0..THREADS).filter(|&thread| thread != event.thread.index()) {
            let of_lock = order[..at].iter().rev().map(|&it| events[it]).find(|it| {
                it.thread.index() == thread
                    && [
                        Operation::Acquire(lock),
                        Operation::Release(lock),
                        Operation::AcquireShared(lock),
                        Operation::ReleaseShared(lock),
                    ]
                    .contains(&it.operation)
            });
            match of_lock.map(|it| it.operation) {
                Some(Operation::Acquire(_)) => return None,
                Some(Operation::AcquireShared(_)) if exclusive => return None,
                _ => {}
            }
        }
        // Sections that exclude each other come as they did.
        preserves &= order[..at].iter().all(|&it| match events[it].operation {
            Operation::Acquire(other) => other != lock || it < one,
            Operation::AcquireShared(other) => other != lock || !exclusive || it < one,
            _ => true,
        });
    }
    Some(preserves)
}

/// All orders of beginnings of threads that are reorderings; with the next event of every thread.
fn reorderings(events: &[Event], each: &mut impl FnMut(&[usize], &[Option<usize>], bool)) {
    fn next_of(events: &[Event], order: &[usize]) -> Vec<Option<usize>> {
        let next = |thread: usize| {
            let starts =
                |it: &usize| events[*it].operation == Operation::Fork(ThreadId::from_index(thread));
            let next = (0..events.len())
                .find(|it| events[*it].thread.index() == thread && !order.contains(it))?;
            (0..next).filter(starts).all(|start| order.contains(&start)).then_some(next)
        };
        (0..THREADS).map(next).collect()
    }
    fn go(
        events: &[Event],
        order: &mut Vec<usize>,
        each: &mut impl FnMut(&[usize], &[Option<usize>], bool),
    ) {
        let Some(preserves) = is_reordering(events, order) else { return };
        let next = next_of(events, order);
        each(order, &next, preserves);
        for event in next.into_iter().flatten() {
            order.push(event);
            go(events, order, each);
            order.pop();
        }
    }
    go(events, &mut Vec::new(), each);
}

fn conflict(one: Event, two: Event) -> bool {
    use Operation::{Read, Write};
    match (one.operation, two.operation) {
        (Write(one), Write(two)) | (Write(one), Read(two)) | (Read(one), Write(two)) => one == two,
        _ => false,
    }
}

/// The later accesses of races in all reorderings, and in those that preserve synchronization.
fn all_races(events: &[Event]) -> [BTreeSet<(usize, usize)>; 2] {
    let (mut all, mut preserving) = (BTreeSet::new(), BTreeSet::new());
    reorderings(events, &mut |_, next, preserves| {
        for one in next.iter().flatten() {
            for two in next.iter().flatten().filter(|two| one < *two) {
                if conflict(events[*one], events[*two]) {
                    all.insert((*one, *two));
                    if preserves {
                        preserving.insert((*one, *two));
                    }
                }
            }
        }
    });
    [all, preserving]
}

/// The cycles of threads that wait for each other's locks.
fn all_deadlocks(events: &[Event]) -> [BTreeSet<BTreeSet<usize>>; 2] {
    let (mut all, mut preserving) = (BTreeSet::new(), BTreeSet::new());
    reorderings(events, &mut |order, next, preserves| {
        let holders = |lock: LockId, wanted_shared: bool| -> BTreeSet<usize> {
            let mut holders = BTreeSet::new();
            for &it in order {
                let thread = events[it].thread.index();
                match events[it].operation {
                    Operation::Acquire(it) if it == lock => {
                        holders.insert((thread, true));
                    }
                    Operation::AcquireShared(it) if it == lock => {
                        holders.insert((thread, false));
                    }
                    Operation::Release(it) | Operation::ReleaseShared(it) if it == lock => {
                        holders.retain(|(other, _)| *other != thread);
                    }
                    _ => {}
                }
            }
            holders
                .into_iter()
                .filter(|(_, exclusive)| !wanted_shared || *exclusive)
                .map(|(it, _)| it)
                .collect()
        };
        let blocked_by: Vec<BTreeSet<usize>> = next
            .iter()
            .map(|event| match event.map(|event| events[event].operation) {
                Some(Operation::Acquire(lock)) => holders(lock, false),
                Some(Operation::AcquireShared(lock)) => holders(lock, true),
                _ => BTreeSet::new(),
            })
            .collect();
        // Simple cycles of two and three threads.
        for one in 0..THREADS {
            for two in blocked_by[one].iter().copied().filter(|two| *two != one) {
                let mut cycles = Vec::new();
                if blocked_by[two].contains(&one) {
                    cycles.push(BTreeSet::from([one, two]));
                }
                for three in blocked_by[two].iter().copied().filter(|it| *it != one && *it != two) {
                    if blocked_by[three].contains(&one) {
                        cycles.push(BTreeSet::from([one, two, three]));
                    }
                }
                for cycle in cycles {
                    let cycle: BTreeSet<usize> = cycle.iter().filter_map(|&it| next[it]).collect();
                    if preserves {
                        preserving.insert(cycle.clone());
                    }
                    all.insert(cycle);
                }
            }
        }
    });
    [all, preserving]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// An access races in a reordering that preserves synchronization exactly if it is predicted to, and every
    /// prediction has a reordering that shows it.
    #[test]
    fn races_are_those_of_the_definition(events in trace(9)) {
        let window = Window::new(events.clone(), HeldLocks::default());
        let [all, preserving] = all_races(&events);
        let found = races(&window);
        let later: BTreeSet<usize> = found.iter().map(|race| race.later as usize).collect();
        let expected: BTreeSet<usize> = preserving.iter().map(|(_, later)| *later).collect();
        prop_assert_eq!(later, expected);
        for race in &found {
            prop_assert!(all.contains(&(race.earlier as usize, race.later as usize)));
            let enabled = replay(&window, &race.before.events(&window)).unwrap();
            prop_assert!(enabled.is_next(race.earlier) && enabled.is_next(race.later));
        }
    }

    #[test]
    fn deadlocks_are_those_of_the_definition(events in trace(10)) {
        let window = Window::new(events.clone(), HeldLocks::default());
        let [all, preserving] = all_deadlocks(&events);
        let found = deadlocks(&window);
        for deadlock in &found {
            let cycle: BTreeSet<usize> = deadlock.acquisitions.iter().map(|&it| it as usize).collect();
            prop_assert!(all.contains(&cycle), "{:?}", deadlock.acquisitions);
            prop_assert!(replay(&window, &deadlock.before.events(&window)).is_some());
        }
        prop_assert_eq!(found.is_empty(), preserving.is_empty());
    }

    /// The check that every prediction has to pass accepts reorderings and nothing else.
    #[test]
    fn a_replay_accepts_reorderings_only(
        (events, order) in trace(8).prop_flat_map(|events| {
            let positions: Vec<u32> = (0..events.len() as u32).collect();
            let orders = prop::sample::subsequence(positions.clone(), 0..=positions.len()).prop_shuffle();
            (Just(events), prop_oneof![orders, (0..=positions.len()).prop_map(move |end| positions[..end].to_vec())])
        })
    ) {
        let window = Window::new(events.clone(), HeldLocks::default());
        let positions: Vec<usize> = order.iter().map(|&it| it as usize).collect();
        prop_assert_eq!(replay(&window, &order).is_some(), is_reordering(&events, &positions).is_some());
    }

    /// A window that begins in the middle predicts nothing that the whole trace does not allow.
    #[test]
    fn windows_predict_nothing_more(events in trace(9), cut in 0..9_usize) {
        let cut = cut.min(events.len());
        let [all, _] = all_races(&events);
        let held = HeldLocks::default().after(&events[..cut]);
        let window = Window::new(events[cut..].to_vec(), held);
        for race in races(&window) {
            prop_assert!(replay(&window, &race.before.events(&window)).is_some());
            let pair = (race.earlier as usize + cut, race.later as usize + cut);
            prop_assert!(all.contains(&pair), "{pair:?}");
        }
    }
}
