//! The detector `happens-before` against the definition, computed by brute force on small traces.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use support::{closure, is_edge, tables, trace, variable_of};
use unsnarl_entity::EntityId;
use unsnarl_events::{
    Event, Field, LockId, Method, Object, Operation, Site, SiteId, Sites, Tables, Thread, ThreadId,
    Variable, VariableId,
};
use unsnarl_findings::{AccessKind, Finding, Frame};
use unsnarl_trace_analysis::{Accessed, Flagged, Options, Outcome};

fn run(events: &[Event], tables: &Tables) -> (Vec<Flagged>, Outcome) {
    support::run("happens-before", Options::default(), events, tables)
}

/// All pairs of racing events, by their positions.
fn races(events: &[Event]) -> BTreeSet<(usize, usize)> {
    let before = closure(events, is_edge);
    let mut races = BTreeSet::new();
    for (later, event) in events.iter().enumerate() {
        for (earlier, other) in events[..later].iter().enumerate() {
            let (Some(one), Some(two)) = (variable_of(other), variable_of(event)) else { continue };
            let conflict = one.0 == two.0 && (one.1 || two.1) && other.thread != event.thread;
            if conflict && !before[earlier][later] {
                races.insert((earlier, later));
            }
        }
    }
    races
}

/// The positions of the accesses of a finding.
fn pair(finding: &Finding) -> (usize, usize) {
    let position = |index: usize| match finding.accesses[index].site() {
        Some(Frame::Location(number)) => usize::try_from(*number).unwrap(),
        other => panic!("{other:?}"),
    };
    (position(0), position(1))
}

proptest! {
    #![proptest_config(support::cases(3000))]

    #[test]
    fn an_event_is_told_exactly_if_it_races(events in trace()) {
        let tables = tables();
        let (racing, checked) = run(&events, &tables);
        let expected = races(&events);
        let mut positions: Vec<usize> = expected.iter().map(|&(_, later)| later).collect();
        positions.sort_unstable();
        positions.dedup();
        let told: Vec<usize> = racing.iter().map(|event| event.site.index()).collect();
        prop_assert_eq!(&told, &positions);
        // Every pair that is told is one, with the threads and kinds that it has.
        for finding in &checked.findings {
            let [earlier, later] = finding.accesses.as_slice() else { panic!("two accesses") };
            let pair = pair(finding);
            prop_assert!(expected.contains(&pair), "{:?}", pair);
            for (access, position) in [(earlier, pair.0), (later, pair.1)] {
                let event = &events[position];
                let kind = match variable_of(event).unwrap().1 {
                    true => AccessKind::Write,
                    false => AccessKind::Read,
                };
                let thread = format!("T{}", event.thread.index());
                prop_assert_eq!((access.kind, access.thread.as_deref()), (kind, Some(&*thread)));
            }
        }
        // Every event that races is in a pair.
        let paired: BTreeSet<String> =
            checked.findings.iter().map(|f| f.accesses[1].site().unwrap().to_string()).collect();
        prop_assert_eq!(paired.len(), positions.len());
    }

    /// With all pairs asked for, every pair of racing events is told, since each has a place of its own.
    #[test]
    fn every_pair_is_told_on_request(events in trace()) {
        let tables = tables();
        let (racing, checked) = support::run("happens-before", Options::new(true), &events, &tables);
        let told: BTreeSet<(usize, usize)> = checked.findings.iter().map(pair).collect();
        let expected = races(&events);
        prop_assert_eq!(&told, &expected);
        prop_assert_eq!(told.len(), checked.findings.len());
        prop_assert_eq!(racing, run(&events, &tables).0);
    }

    /// The filter `Epoch` drops repeated accesses; the racy variables stay the same.
    #[test]
    fn repeated_accesses_may_be_dropped(events in trace()) {
        let tables = tables();
        let mut seen = BTreeSet::new();
        let mut kept = Vec::new();
        for event in &events {
            let thread = event.thread;
            match variable_of(event) {
                Some((variable, is_write)) => {
                    if seen.insert((thread, variable, is_write)) {
                        kept.push(*event);
                    }
                }
                None => {
                    use Operation::*;
                    let ends_epoch =
                        matches!(event.operation, Release(_) | ReleaseShared(_) | Wait(_) | Send(_) | Fork(_));
                    let joined = match event.operation {
                        Join(child) => Some(child),
                        _ => None,
                    };
                    seen.retain(|&(of, _, _)| !(ends_epoch && of == thread) && Some(of) != joined);
                    kept.push(*event);
                }
            }
        }
        let variables = |events: &[Event]| -> BTreeSet<Accessed> {
            run(events, &tables).0.iter().map(|event| event.variable).collect()
        };
        prop_assert_eq!(variables(&events), variables(&kept));
    }
}

/// A thread whose first event is a join learns what the other one has learned.
#[test]
fn a_join_may_be_the_first_event_of_a_thread() {
    let (thread, variable) = (ThreadId::from_index, VariableId::from_index);
    let steps = [
        (1, Operation::Read(variable(0))),
        (4, Operation::Write(variable(1))),
        (4, Operation::Fork(thread(1))),
        (1, Operation::Release(LockId::from_index(0))),
        (3, Operation::Join(thread(1))),
        (3, Operation::Read(variable(1))),
    ];
    let site = SiteId::from_index(0);
    let events = steps.map(|(by, operation)| Event { thread: thread(by), site, operation });
    assert_eq!(run(&events, &tables()).0, []);
}

/// A race on a field is told with class, method, file and line; the same places in two objects are
/// one finding, and so are two elements of an array.
#[test]
fn races_of_typed_traces_are_told_by_field_and_place() {
    let mut tables = Tables::default();
    let mut name = |text: &str| tables.names.intern(text.as_bytes());
    let (account, balance, update, descriptor, file, ints, main, teller) = (
        name("bank.Account"),
        name("balance"),
        name("update"),
        name("(I)V"),
        name("Account.java"),
        name("int[]"),
        name("main"),
        name("Teller"),
    );
    let field = tables.fields.push(Field { class: account, name: balance, is_final: false });
    let method = tables.methods.push(Method {
        class: Some(account),
        name: update,
        descriptor: Some(descriptor),
        file: Some(file),
    });
    let threads = [main, teller].map(|name| tables.threads.push(Thread { name }));
    let Sites::Known(sites) = &mut tables.sites else { panic!("known by default") };
    let sites = [8, 9].map(|line| sites.push(Site { method, line: Some(line) }));
    let mut variables = Vec::new();
    for number in 0..2 {
        let object = tables.objects.push(Object { class: account, number });
        variables.push(tables.variables.push(Variable::Field(object, field)));
    }
    let array = tables.objects.push(Object { class: ints, number: 2 });
    for index in 0..2 {
        variables.push(tables.variables.push(Variable::Element(array, index)));
    }
    let mut events = Vec::new();
    for (thread, site) in threads.into_iter().zip(sites) {
        for &variable in &variables {
            events.push(Event { thread, site, operation: Operation::Write(variable) });
        }
    }
    let (racing, checked) = run(&events, &tables);
    assert_eq!(racing.len(), 4);
    let messages: Vec<&str> = checked.findings.iter().map(|f| f.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "bank.Account.balance is written by main at Account.java:8 and written by Teller at \
             Account.java:9, and nothing in the run orders the two",
            "elements of int[] are written by main at Account.java:8 and written by Teller at \
             Account.java:9, and nothing in the run orders the two",
        ]
    );
    let site = checked.findings[0].accesses[1].site().unwrap();
    assert_eq!(site.to_string(), "bank.Account.update(Account.java:9)");
    let variable = checked.findings[0].subject.as_variable().unwrap();
    assert_eq!(variable.class.as_deref(), Some("bank.Account"));
}
