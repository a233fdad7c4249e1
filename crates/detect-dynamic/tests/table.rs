//! What holds for every detector of the table.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use support::{run, tables, trace};
use unsnarl_detect_dynamic::{DETECTORS, WindowSize};
use unsnarl_entity::EntityId;
use unsnarl_events::{
    Event, EventKind, Field, LockId, MethodId, Object, ObjectId, Operation, Problems, SiteId,
    Source, StoreId, Tables, ThreadId, TraceError, Variable, VariableId,
};
use unsnarl_findings::Subject;
use unsnarl_recording::RecordingSpec;
use unsnarl_trace_analysis::{
    Choices, Flagged, Options, Outcome, Outline, Pipeline, recording_spec,
};

/// The events that were told, and what the findings are about.
fn told(outcome: &(Vec<Flagged>, Outcome)) -> (&[Flagged], BTreeSet<&Subject>) {
    (&outcome.0, outcome.1.findings.iter().map(|finding| &finding.subject).collect())
}

/// What a thread does at once: an access, alone or in a critical section, a wait, a request that may never
/// be granted, or something else of any kind.
fn action() -> impl Strategy<Value = Vec<Operation>> {
    use Operation as O;
    (0..20, 0..2_usize, 0..2_usize).prop_map(|(kind, number, lock)| {
        let (variable, other) = (VariableId::from_index(number), LockId::from_index(1 - lock));
        let lock = LockId::from_index(lock);
        let locked = |operations: &[Operation]| {
            [&[O::Acquire(lock)], operations, &[O::Release(lock)]].concat()
        };
        match kind {
            0..3 => locked(&[O::Read(variable)]),
            3..6 => locked(&[O::Write(variable)]),
            6 => vec![O::Read(variable)],
            7 => vec![O::Write(variable)],
            8 | 9 => vec![O::Enter(MethodId::from_index(number))],
            10 => vec![O::Exit(MethodId::from_index(number))],
            11 | 12 => vec![O::Allocate(ObjectId::from_index(number))],
            13 => vec![O::Store(StoreId::from_index(number))],
            14 => locked(&[O::Wait(lock), O::Wake(lock)]),
            15 => locked(&[O::Notify(lock)]),
            _ => vec![O::Acquire(lock), O::Request(other)],
        }
    })
}

/// Traces of three threads in which much happens to few things, of every kind that a recording may leave out.
fn eventful_trace() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec((0..3_usize, action()), 0..20).prop_map(|actions| {
        let events = actions.into_iter().flat_map(|(thread, operations)| {
            operations.into_iter().map(move |it| (ThreadId::from_index(thread), it))
        });
        let event = |(position, (thread, operation))| Event {
            thread,
            site: SiteId::from_index(position),
            operation,
        };
        events.enumerate().map(event).collect()
    })
}

/// Tables in which every variable is a field of an object of its own.
fn tables_with_objects() -> Tables {
    let mut tables = tables();
    for index in 0..tables.variables.len() {
        let name = tables.names.intern(format!("V{index}").as_bytes());
        let object = tables.objects.push(Object { class: name, number: index as u64 });
        let field = tables.fields.push(Field { class: name, name, is_final: false });
        tables.variables[VariableId::from_index(index)] = Variable::Field(object, field);
    }
    tables
}

proptest! {
    #![proptest_config(support::cases(2000))]

    #[test]
    fn what_is_not_recorded_for_a_detector_changes_nothing(
        events in prop_oneof![trace(), eventful_trace()],
        all: bool,
    ) {
        let (tables, options) = (tables_with_objects(), Options::new(all));
        for entry in &DETECTORS {
            let spec = recording_spec(&[(entry.needs)(&options)], &Choices::default());
            let recorded: Vec<Event> =
                events.iter().filter(|event| is_recorded(event, &spec)).copied().collect();
            let (with, without) = (
                run(entry.name, options.clone(), &events, &tables),
                run(entry.name, options.clone(), &recorded, &tables),
            );
            prop_assert_eq!(told(&with), told(&without), "{}", entry.name);
        }
    }

    #[test]
    fn an_outline_says_the_same_to_detectors_that_do_not_look_at_accesses(
        events in trace(),
        part in 1..20_usize,
    ) {
        let (tables, options) = (tables(), Options::default());
        for entry in &DETECTORS {
            if (entry.needs)(&options).every_access {
                continue;
            }
            let mut detector = (entry.make)(&options);
            let mut outline = Outline::default();
            events.chunks(part).for_each(|events| outline.add(events));
            let mut flagged = Vec::new();
            detector.on_batch(outline.events(), &tables, &mut flagged);
            let shown = (flagged, detector.finish(&tables));
            let all = run(entry.name, options.clone(), &events, &tables);
            prop_assert_eq!(&shown.1.findings, &all.1.findings, "{}", entry.name);
            prop_assert_eq!(&shown.1.statistics, &all.1.statistics, "{}", entry.name);
            prop_assert_eq!(told(&shown), told(&all), "{}", entry.name);
        }
    }

    #[test]
    fn detectors_that_look_together_say_what_each_says_alone(events in trace(), part in 1..20_usize) {
        let mut together: BTreeMap<&str, Vec<Flagged>> = BTreeMap::new();
        let pipeline = Pipeline::new(DETECTORS.iter().collect(), Options::default());
        let mut source = Parts { rest: events.clone(), part, tables: tables(), problems: Problems::default() };
        let report = pipeline.run("it", &mut source, |entry, flagged, _| {
            together.entry(entry.name).or_default().extend(flagged);
            Ok(())
        });
        let report = report.unwrap().unwrap();
        let subjects: BTreeSet<_> = report.findings.iter().map(|it| (it.rule, &it.subject)).collect();
        let mut alone_subjects = BTreeSet::new();
        let mut outcomes = Vec::new();
        for entry in &DETECTORS {
            let (mut flagged, outcome) = run(entry.name, Options::default(), &events, &tables());
            flagged.extend(&outcome.flagged);
            prop_assert_eq!(&together[entry.name], &flagged, "{}", entry.name);
            outcomes.push(outcome);
        }
        for outcome in &outcomes {
            alone_subjects.extend(outcome.findings.iter().map(|it| (it.rule, &it.subject)));
        }
        prop_assert_eq!(subjects, alone_subjects);
    }
}

/// Whether an event is in a recording. All synchronization is, whoever needs it.
fn is_recorded(event: &Event, spec: &RecordingSpec) -> bool {
    match EventKind::of(event.operation) {
        EventKind::Access => spec.events.fields,
        EventKind::Method => spec.events.methods,
        EventKind::Allocation => spec.events.allocations,
        EventKind::Reference => spec.events.references,
        // Only traces of others have them.
        EventKind::Transaction => false,
        EventKind::Lock
        | EventKind::Contention
        | EventKind::Thread
        | EventKind::Lifetime
        | EventKind::Channel => spec.events.synchronization,
    }
}

/// A trace that comes in parts.
struct Parts {
    rest: Vec<Event>,
    part: usize,
    tables: Tables,
    problems: Problems,
}

impl Source for Parts {
    fn next_batch(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError> {
        batch.clear();
        batch.extend(self.rest.drain(..self.part.min(self.rest.len())));
        Ok(())
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn problems(&self) -> &Problems {
        &self.problems
    }
}

#[test]
fn the_size_of_windows_is_an_option_of_the_detectors_that_predict() {
    let event = |position: usize, thread: usize, operation| Event {
        thread: ThreadId::from_index(thread),
        site: SiteId::from_index(position),
        operation,
    };
    let other = VariableId::from_index(1);
    let variable = VariableId::from_index(0);
    let mut events = vec![event(0, 0, Operation::Write(variable))];
    events.extend((1..40).map(|position| event(position, 0, Operation::Read(other))));
    events.push(event(40, 1, Operation::Write(variable)));
    let findings =
        |options: Options| run("sync-preserving", options, &events, &tables()).1.findings;
    assert_eq!(findings(Options::default()).len(), 1);
    assert_eq!(findings(Options::default().with(WindowSize(64))).len(), 1);
    assert_eq!(findings(Options::default().with(WindowSize(10))).len(), 0);
}

#[test]
fn races_and_deadlocks_are_looked_for_by_default() {
    let default: Vec<&str> =
        DETECTORS.iter().filter(|entry| entry.is_default).map(|entry| entry.name).collect();
    assert_eq!(
        default,
        [
            "happens-before",
            "lock-order",
            "deadlock",
            "critical-wait",
            "indefinite-wait",
            "lost-notify"
        ]
    );
}
