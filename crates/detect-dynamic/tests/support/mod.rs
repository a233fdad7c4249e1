//! Small traces, and what they mean by definition.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use unsnarl_detect_dynamic::DETECTORS;
use unsnarl_entity::EntityId;
use unsnarl_events::{
    Channel, ChannelId, Container, Event, Lock, LockId, Method, MethodId, ObjectId, Operation,
    SiteId, Sites, Store, StoreId, Tables, Thread, ThreadId, Variable, VariableId,
};
use unsnarl_trace_analysis::{AnalysisEntry, Flagged, Options, Outcome};

/// So many random cases. None is remembered: a failure becomes a test of its own.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A detector by its name.
pub(crate) fn entry(name: &str) -> &'static AnalysisEntry {
    DETECTORS.iter().find(|entry| entry.name == name).unwrap()
}

/// Shows events to a detector, in parts, so that nothing depends on where a batch ends.
pub(crate) fn run(
    name: &str,
    options: Options,
    events: &[Event],
    tables: &Tables,
) -> (Vec<Flagged>, Outcome) {
    let mut detector = (entry(name).make)(&options);
    let mut racing = Vec::new();
    for part in events.chunks(7) {
        detector.on_batch(part, tables, &mut racing);
    }
    (racing, detector.finish(tables))
}

/// The positions of the events that a detector tells, in traces whose sites are positions.
pub(crate) fn told(name: &str, events: &[Event]) -> Vec<usize> {
    let (racing, _) = run(name, Options::default(), events, &tables());
    racing.iter().map(|event| event.site.index()).collect()
}

/// Tables in which everything has a name and sites are numbers.
pub(crate) fn tables() -> Tables {
    let mut tables = Tables { sites: Sites::Numbered, ..Tables::default() };
    for index in 0..6 {
        let name = tables.names.intern(format!("T{index}").as_bytes());
        tables.threads.push(Thread { name });
        let name = tables.names.intern(format!("V{index}").as_bytes());
        tables.variables.push(Variable::Named(name));
        tables.locks.push(Lock::Named(name));
        tables.channels.push(Channel::Named(name));
        tables.methods.push(Method { class: Some(name), name, descriptor: None, file: None });
        let value = ObjectId::from_index(index);
        tables.stores.intern(Store { into: Container::Unknown, value });
    }
    tables
}

/// `happens_before[i][j]`: event `i` happens before event `j`.
pub(crate) fn closure(
    events: &[Event],
    is_edge: impl Fn(&Event, &Event) -> bool,
) -> Vec<Vec<bool>> {
    let count = events.len();
    let mut before = vec![vec![false; count]; count];
    for later in 0..count {
        for earlier in 0..later {
            before[earlier][later] = is_edge(&events[earlier], &events[later]);
        }
    }
    for middle in 0..count {
        for earlier in 0..middle {
            for later in middle + 1..count {
                if before[earlier][middle] && before[middle][later] {
                    before[earlier][later] = true;
                }
            }
        }
    }
    before
}

/// Whether the definition orders an earlier event directly before a later one.
pub(crate) fn is_edge(earlier: &Event, later: &Event) -> bool {
    use Operation::*;
    earlier.thread == later.thread
        || matches!(earlier.operation, Fork(child) if child == later.thread)
        || matches!(later.operation, Join(child) if child == earlier.thread)
        || match (earlier.operation, later.operation) {
            (Release(released) | Wait(released), Acquire(acquired) | Wake(acquired))
            | (Release(released) | Wait(released), AcquireShared(acquired))
            | (ReleaseShared(released), Acquire(acquired) | Wake(acquired)) => released == acquired,
            (Send(sent), Receive(received)) => sent == received,
            // Between the two is all that the thread did, even if none of it is in the trace.
            (Fork(started), Join(joined)) => started == joined,
            _ => false,
        }
}

pub(crate) fn variable_of(event: &Event) -> Option<(VariableId, bool)> {
    match event.operation {
        Operation::Read(variable) => Some((variable, false)),
        Operation::Write(variable) => Some((variable, true)),
        _ => None,
    }
}

fn operation() -> impl Strategy<Value = Operation> {
    (0..31, 0..3_usize).prop_map(|(kind, number)| {
        let lock = LockId::from_index(number);
        match kind {
            0..5 => Operation::Read(VariableId::from_index(number)),
            5..9 => Operation::Write(VariableId::from_index(number)),
            9 | 10 => Operation::Acquire(lock),
            11 | 12 => Operation::Release(lock),
            13 => Operation::AcquireShared(lock),
            14 => Operation::ReleaseShared(lock),
            15 => Operation::Wait(lock),
            16 => Operation::Wake(lock),
            17 => Operation::Fork(ThreadId::from_index(number + 1)),
            18 => Operation::Join(ThreadId::from_index(number + 1)),
            19 => Operation::Send(ChannelId::from_index(number)),
            20 => Operation::Receive(ChannelId::from_index(number)),
            21 => Operation::Notify(lock),
            22 => Operation::Allocate(ObjectId::from_index(number)),
            23 => Operation::Request(lock),
            24 => Operation::Enter(MethodId::from_index(number)),
            25 => Operation::Exit(MethodId::from_index(number)),
            26 => Operation::Store(StoreId::from_index(number)),
            27 => Operation::TransactionBegin,
            28 => Operation::TransactionEnd,
            29 => Operation::Start,
            _ => Operation::End,
        }
    })
}

/// Events whose sites are their positions. They need not be well-formed: the definition holds for
/// every sequence.
pub(crate) fn trace() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec((0..5_usize, operation()), 0..50).prop_map(|steps| {
        let event = |(position, (thread, operation))| Event {
            thread: ThreadId::from_index(thread),
            site: SiteId::from_index(position),
            operation,
        };
        steps.into_iter().enumerate().map(event).collect()
    })
}

/// A lock of a thread, and whether it is shared with others.
pub(crate) type Holding = (LockId, bool);

/// What a thread holds, each lock as often as it was entered, and what it holds again when it has ended waiting.
#[derive(Clone, Default)]
struct Holder {
    held: Vec<Holding>,
    waits: Option<(LockId, Vec<Holding>)>,
}

/// The events that are possible one after another, as far as locks go, each with what its thread holds before it.
pub(crate) fn well_formed(events: Vec<Event>) -> Vec<(Event, Vec<Holding>)> {
    use Operation::*;
    let mut threads: BTreeMap<ThreadId, Holder> = BTreeMap::new();
    let mut kept = Vec::new();
    for event in events {
        let others = |excludes: &dyn Fn(Holding) -> bool| {
            let others = threads.iter().filter(|(thread, _)| **thread != event.thread);
            !others.flat_map(|(_, other)| &other.held).any(|&held| excludes(held))
        };
        let own = threads.get(&event.thread).cloned().unwrap_or_default();
        let has = |holding: Holding| own.held.contains(&holding);
        let mut new = own.clone();
        let is_possible = match event.operation {
            Wake(lock) => match new.waits.take() {
                Some((waited, held)) if waited == lock => {
                    new.held = held;
                    others(&|held| held.0 == lock)
                }
                _ => false,
            },
            _ if own.waits.is_some() => false,
            Acquire(lock) => {
                new.held.push((lock, false));
                (has((lock, false)) || !has((lock, true))) && others(&|held| held.0 == lock)
            }
            AcquireShared(lock) => {
                new.held.push((lock, true));
                others(&|held| held == (lock, false))
            }
            Release(lock) | ReleaseShared(lock) => {
                let released = (lock, matches!(event.operation, ReleaseShared(_)));
                match own.held.iter().rposition(|&held| held == released) {
                    Some(position) => {
                        new.held.remove(position);
                        true
                    }
                    None => false,
                }
            }
            Wait(lock) => {
                new.waits = Some((lock, own.held.clone()));
                new.held.retain(|held| held.0 != lock);
                has((lock, false)) && !has((lock, true))
            }
            _ => true,
        };
        if is_possible {
            threads.insert(event.thread, new);
            kept.push((event, own.held));
        }
    }
    kept
}

/// Traces in which locks exclude each other. The sites are the positions.
pub(crate) fn well_formed_trace() -> impl Strategy<Value = Vec<(Event, Vec<Holding>)>> {
    trace().prop_map(|events| {
        let mut kept = well_formed(events);
        for (position, (event, _)) in kept.iter_mut().enumerate() {
            event.site = SiteId::from_index(position);
        }
        kept
    })
}

/// Whether start, join or a channel orders an earlier event directly before a later one.
pub(crate) fn is_edge_of_periods(earlier: &Event, later: &Event) -> bool {
    let is_of_lock = |event: &Event| {
        use Operation::*;
        matches!(
            event.operation,
            Acquire(_) | Release(_) | AcquireShared(_) | ReleaseShared(_) | Wait(_) | Wake(_)
        )
    };
    earlier.thread == later.thread
        || !is_of_lock(earlier) && !is_of_lock(later) && is_edge(earlier, later)
        || matches!(earlier.operation, Operation::Fork(child) if child == later.thread)
        || matches!(later.operation, Operation::Join(child) if child == earlier.thread)
}
