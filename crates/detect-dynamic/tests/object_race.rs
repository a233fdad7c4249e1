//! Races on objects against their definition, computed from the whole past of an object at every event.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use support::{Holding, run, variable_of, well_formed_trace};
use unsnarl_entity::{EntityId, PrimaryMap};
use unsnarl_events::{
    Event, Field, LockId, Object, ObjectId, Operation, SiteId, Tables, ThreadId, Variable,
    VariableId,
};
use unsnarl_trace_analysis::Options;

const LEFT: usize = 0;
const RIGHT: usize = 1;
const ELEMENT: usize = 3;

/// Two fields of an object, a static field, and two elements of an array.
fn tables() -> Tables {
    let mut tables = support::tables();
    let class = tables.names.intern(b"Pair");
    let [pair, array] = [1, 2].map(|number| tables.objects.push(Object { class, number }));
    let fields = ["left", "right", "count"].map(|name| {
        let name = tables.names.intern(name.as_bytes());
        tables.fields.push(Field { class, name, is_final: false })
    });
    tables.variables = PrimaryMap::new();
    tables.variables.push(Variable::Field(pair, fields[0]));
    tables.variables.push(Variable::Field(pair, fields[1]));
    tables.variables.push(Variable::Static(fields[2]));
    tables.variables.push(Variable::Element(array, 0));
    tables.variables.push(Variable::Element(array, 1));
    tables
}

/// The variables of the object that a variable belongs to.
fn siblings(variable: VariableId) -> Vec<VariableId> {
    let siblings = match variable.index() {
        LEFT | RIGHT => LEFT..=RIGHT,
        index => index..=index,
    };
    siblings.map(VariableId::from_index).collect()
}

/// The same trace, in which the object is made where a thread notifies, and an object dies where something is sent.
fn with_lives(trace: &[(Event, Vec<Holding>)]) -> Vec<(Event, Vec<Holding>)> {
    let mut lives = Vec::new();
    for (event, held) in trace {
        let operations = match event.operation {
            Operation::Notify(_) => vec![Operation::Allocate(ObjectId::from_index(0))],
            Operation::Send(channel) => {
                let dead = siblings(VariableId::from_index(channel.index()));
                dead.into_iter().map(Operation::Forget).collect()
            }
            other => vec![other],
        };
        let event = |operation| (Event { operation, ..*event }, held.clone());
        lives.extend(operations.into_iter().map(event));
    }
    lives
}

/// Whether the definition says that an object was accessed wrongly, by all that happened to it.
fn is_race(life: &[&(Event, Vec<Holding>)]) -> bool {
    let is_access = |event: &Event| variable_of(event).is_some();
    let first = life.iter().position(|(event, _)| is_access(event)).unwrap();
    let owner = life[first.saturating_sub(1)].0.thread;
    let accesses = life.iter().filter(|(event, _)| is_access(event));
    let handed_on: Vec<_> = accesses.skip_while(|(event, _)| event.thread == owner).collect();
    let written: BTreeSet<VariableId> = handed_on
        .iter()
        .filter_map(|(event, _)| variable_of(event).filter(|access| access.1))
        .map(|(variable, _)| variable)
        .collect();
    let mut threads = BTreeSet::new();
    let mut locksets: Vec<BTreeSet<LockId>> = Vec::new();
    for (event, held) in handed_on {
        let (variable, is_write) = variable_of(event).unwrap();
        if written.contains(&variable) {
            threads.insert(event.thread);
            let protecting = held.iter().filter(|held| !(is_write && held.1));
            locksets.push(protecting.map(|held| held.0).collect());
        }
    }
    let common = locksets.into_iter().reduce(|one, other| &one & &other);
    threads.len() > 1 && common.unwrap().is_empty()
}

/// The positions that are told: of every life of an object the first that makes it a race.
fn expected(trace: &[(Event, Vec<Holding>)]) -> Vec<usize> {
    let mut told = Vec::new();
    for variables in [siblings(VariableId::from_index(LEFT)), siblings(VariableId::from_index(2))] {
        let mut life = Vec::new();
        let mut is_told = false;
        for step in trace {
            match step.0.operation {
                Operation::Forget(variable) if variables.contains(&variable) => {
                    life.clear();
                    is_told = false;
                }
                Operation::Allocate(object) if object.index() == 0 && variables.len() > 1 => {
                    life.push(step);
                }
                Operation::Read(variable) | Operation::Write(variable)
                    if variables.contains(&variable) =>
                {
                    life.push(step);
                    if !is_told && is_race(&life) {
                        is_told = true;
                        told.push(step.0.site.index());
                    }
                }
                _ => {}
            }
        }
    }
    told.sort_unstable();
    told
}

/// The same trace as a running program tells it: without what the first owner of an object does, and behind the hand-off
/// without what a thread repeats before it releases anything.
fn without_repetitions(trace: &[(Event, Vec<Holding>)]) -> Vec<Event> {
    let mut owners: BTreeMap<Vec<VariableId>, Option<ThreadId>> = BTreeMap::new();
    let mut known: BTreeSet<(ThreadId, VariableId, bool)> = BTreeSet::new();
    let mut told = Vec::new();
    for (event, _) in trace {
        let thread = event.thread;
        match event.operation {
            Operation::Read(variable) | Operation::Write(variable) => {
                let is_write = matches!(event.operation, Operation::Write(_));
                let owner = owners.get(&siblings(variable)).copied();
                match owner {
                    None => {
                        owners.insert(siblings(variable), Some(thread));
                    }
                    Some(Some(owner)) if owner == thread => continue,
                    Some(_) => {
                        owners.insert(siblings(variable), None);
                        let is_known = known.contains(&(thread, variable, is_write));
                        known.extend([(thread, variable, false), (thread, variable, is_write)]);
                        if is_known {
                            continue;
                        }
                    }
                }
            }
            Operation::Release(_) | Operation::ReleaseShared(_) | Operation::Wait(_) => {
                known.retain(|it| it.0 != thread);
            }
            Operation::Allocate(object) if object.index() == 0 => {
                owners.entry(siblings(VariableId::from_index(LEFT))).or_insert(Some(thread));
            }
            Operation::Forget(variable) => {
                owners.remove(&siblings(variable));
                known.retain(|it| it.1 != variable);
            }
            _ => {}
        }
        told.push(*event);
    }
    told
}

proptest! {
    #![proptest_config(support::cases(5000))]

    #[test]
    fn an_object_is_told_exactly_where_its_definition_says_so(trace in well_formed_trace()) {
        let trace = with_lives(&trace);
        let events: Vec<Event> = trace.iter().map(|(event, _)| *event).collect();
        let (racing, checked) = run("object-race", Options::default(), &events, &tables());
        let told: Vec<usize> = racing.iter().map(|event| event.site.index()).collect();
        prop_assert_eq!(&told, &expected(&trace));
        prop_assert!(checked.findings.len() <= told.len());
        for finding in &checked.findings {
            prop_assert_ne!(&finding.accesses[0].thread, &finding.accesses[1].thread);
        }
    }

    #[test]
    fn what_a_running_program_leaves_out_is_redundant(trace in well_formed_trace()) {
        let mut trace = with_lives(&trace);
        // An object is made once in its life, before all else.
        let mut lives = false;
        trace.retain(|(event, _)| {
            let lived = lives;
            let is_made = event.operation == Operation::Allocate(ObjectId::from_index(0));
            match event.operation {
                _ if is_made => lives = true,
                Operation::Forget(variable) if variable.index() <= RIGHT => lives = false,
                _ => lives |= variable_of(event).is_some_and(|it| it.0.index() <= RIGHT),
            }
            !(lived && is_made)
        });
        let told = |events: &[Event]| -> Vec<usize> {
            let (racing, _) = run("object-race", Options::default(), events, &tables());
            racing.iter().map(|event| event.site.index()).collect()
        };
        let events: Vec<Event> = trace.iter().map(|(event, _)| *event).collect();
        prop_assert_eq!(told(&without_repetitions(&trace)), told(&events));
    }
}

fn events(steps: &[(usize, Operation)]) -> Vec<Event> {
    let event = |(position, &(thread, operation))| Event {
        thread: ThreadId::from_index(thread),
        site: SiteId::from_index(position),
        operation,
    };
    steps.iter().enumerate().map(event).collect()
}

fn read(variable: usize) -> Operation {
    Operation::Read(VariableId::from_index(variable))
}

fn write(variable: usize) -> Operation {
    Operation::Write(VariableId::from_index(variable))
}

fn messages(steps: &[(usize, Operation)], all: bool) -> Vec<String> {
    let (_, checked) = run("object-race", Options::new(all), &events(steps), &tables());
    checked.findings.into_iter().map(|finding| finding.message).collect()
}

/// No variable is accessed by two threads since the hand-off: it is the object that has no lock.
#[test]
fn the_fields_of_an_object_share_their_locks() {
    let steps = [(0, write(LEFT)), (0, write(RIGHT)), (1, write(LEFT)), (2, write(RIGHT))];
    let message = "the object or class of Pair.right is written by T1 at location 2 and written by T2 at \
                   location 3, and no lock is held at all accesses since the hand-off by the first owner";
    assert_eq!(messages(&steps, false), [message]);
}

#[test]
fn the_elements_of_an_array_share_their_locks() {
    let steps = [(0, write(ELEMENT)), (1, write(ELEMENT)), (2, write(ELEMENT + 1))];
    let message = "elements of Pair are written by T1 at location 1 and written by T2 at location 2, and no \
                   lock is held at all accesses since the hand-off by the first owner";
    assert_eq!(messages(&steps, false), [message]);
}

/// As the lock in a final field, which is read before it is held.
#[test]
fn what_is_only_read_needs_no_lock() {
    let lock = LockId::from_index(0);
    let locked = |thread, access| {
        [(thread, read(LEFT)), (thread, Operation::Acquire(lock)), (thread, access)]
            .into_iter()
            .chain([(thread, Operation::Release(lock))])
    };
    let right = locked(1, write(RIGHT)).chain(locked(2, write(RIGHT)));
    let right: Vec<_> = [(0, write(LEFT))].into_iter().chain(right).collect();
    assert_eq!(messages(&right, false), [""; 0]);
    let wrong: Vec<_> = right.into_iter().chain(locked(1, write(LEFT))).collect();
    let message = "the object or class of Pair.left is read by T2 at location 5 and written by T1 at location \
                   11, and no lock is held at all accesses since the hand-off by the first owner";
    assert_eq!(messages(&wrong, false), [message]);
}

/// Nobody writes them when others know the object.
#[test]
fn final_fields_hand_nothing_on() {
    let steps = [(0, write(RIGHT)), (1, read(LEFT)), (0, write(RIGHT)), (1, write(RIGHT))];
    assert_eq!(messages(&steps, false).len(), 1);
    let mut tables = tables();
    let Variable::Field(_, left) = tables.variables[VariableId::from_index(LEFT)] else { panic!() };
    tables.fields[left].is_final = true;
    let (racing, _) = run("object-race", Options::default(), &events(&steps), &tables);
    assert_eq!(racing.len(), 0);
}

/// Who makes an object owns it, also if another thread accesses it first.
#[test]
fn the_maker_is_the_first_owner() {
    let used = [(1, write(LEFT)), (2, write(LEFT))];
    assert_eq!(messages(&used, false), [""; 0]);
    let made = [&[(0, Operation::Allocate(ObjectId::from_index(0)))], &used[..]].concat();
    assert_eq!(messages(&made, false).len(), 1);
}

#[test]
fn a_told_object_is_looked_at_further_on_request() {
    let steps = [(0, write(LEFT)), (1, write(LEFT)), (2, write(LEFT)), (2, write(LEFT))];
    assert_eq!((messages(&steps, false).len(), messages(&steps, true).len()), (1, 2));
}
