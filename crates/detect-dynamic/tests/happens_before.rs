//! The detector `happens-before` against the definition, computed by brute force on small traces.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use proptest::prelude::*;
use unsnarl_detect_dynamic::{Checked, DETECTORS, DetectorEntry, Options, RacingEvent, kind_of};
use unsnarl_entity::EntityId;
use unsnarl_findings::{AccessKind, Frame};
use unsnarl_trace::{
    ChannelId, Event, Field, Lock, LockId, Method, Object, Operation, Site, SiteId, Sites, Tables,
    Thread, ThreadId, Variable, VariableId,
};

fn entry() -> &'static DetectorEntry {
    DETECTORS.iter().find(|entry| entry.name == "happens-before").unwrap()
}

/// Tables in which everything has a name and sites are numbers.
fn tables() -> Tables {
    let mut tables = Tables { sites: Sites::Numbered, ..Tables::default() };
    for index in 0..6 {
        let name = tables.names.intern(format!("T{index}").as_bytes());
        tables.threads.push(Thread { name });
        let name = tables.names.intern(format!("V{index}").as_bytes());
        tables.variables.push(Variable::Named(name));
        tables.locks.push(Lock::Named(name));
    }
    tables
}

fn run(events: &[Event], tables: &Tables) -> (Vec<RacingEvent>, Checked) {
    let mut detector = (entry().make)(&Options::default());
    let mut racing = Vec::new();
    // In parts, so that nothing depends on where a batch ends.
    for part in events.chunks(7) {
        detector.on_all(part, tables);
        racing.extend(detector.take_racing_events());
    }
    (racing, detector.finish(tables))
}

/// `happens_before[i][j]`: event `i` happens before event `j`.
fn closure(events: &[Event]) -> Vec<Vec<bool>> {
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
fn is_edge(earlier: &Event, later: &Event) -> bool {
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

fn variable_of(event: &Event) -> Option<(VariableId, bool)> {
    match event.operation {
        Operation::Read(variable) => Some((variable, false)),
        Operation::Write(variable) => Some((variable, true)),
        _ => None,
    }
}

/// All pairs of racing events, by their positions.
fn races(events: &[Event]) -> BTreeSet<(usize, usize)> {
    let before = closure(events);
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

fn operation() -> impl Strategy<Value = Operation> {
    (0..23, 0..3_usize).prop_map(|(kind, number)| {
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
            _ => Operation::End,
        }
    })
}

/// Events whose sites are their positions. They need not be well-formed: the definition holds for
/// every sequence.
fn trace() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec((0..5_usize, operation()), 0..50).prop_map(|steps| {
        let event = |(position, (thread, operation))| Event {
            thread: ThreadId::from_index(thread),
            site: SiteId::from_index(position),
            operation,
        };
        steps.into_iter().enumerate().map(event).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

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
            let position = |frame: Option<&Frame>| match frame {
                Some(Frame::Location(number)) => usize::try_from(*number).unwrap(),
                other => panic!("{other:?}"),
            };
            let pair = (position(earlier.site()), position(later.site()));
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

    #[test]
    fn events_that_are_not_needed_change_nothing(events in trace()) {
        let tables = tables();
        let is_needed = |event: &&Event| entry().needs.events.contains(&kind_of(event.operation));
        let needed: Vec<Event> = events.iter().filter(is_needed).copied().collect();
        prop_assert_eq!(run(&events, &tables).0, run(&needed, &tables).0);
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
        let variables = |events: &[Event]| -> BTreeSet<VariableId> {
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
    let field = tables.fields.push(Field { class: account, name: balance });
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
