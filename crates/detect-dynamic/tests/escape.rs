//! Escape analysis against the definition, and on the examples of [Wang06 §3].

use std::collections::BTreeSet;

use proptest::prelude::*;
use unsnarl_entity::EntityId;
use unsnarl_events::{
    Container, Event, Field, FieldId, Object, ObjectId, Operation, SiteId, Store, Tables, Thread,
    ThreadId, Variable, VariableId,
};
use unsnarl_trace_analysis::escape::Escape;

const COUNT: usize = 5;

/// What a step of a small trace is; numbers are threads and objects.
#[derive(Clone, Copy, Debug)]
enum HeapStep {
    Allocate(usize),
    Put(usize, usize),
    PutElement(usize, usize),
    PutStatic(usize),
    Pass(usize),
    Fork(usize),
    Access(usize),
}

/// Objects 0 and 1 are the threads 0 and 1.
fn tables() -> Tables {
    let mut tables = Tables::default();
    let name = tables.names.intern(b"name");
    let field = tables.fields.push(Field { class: name, name, is_final: false });
    for number in 0..COUNT {
        let object = tables.objects.push(Object { class: name, number: number as u64 });
        tables.variables.push(Variable::Field(object, field));
        let thread = tables.threads.push(Thread { name });
        if number < 2 {
            tables.thread_objects[thread] = Some(object);
        }
    }
    tables
}

fn event(thread: usize, step: HeapStep, tables: &mut Tables) -> Event {
    let (object, field) = (ObjectId::from_index, FieldId::from_index(0));
    let mut store =
        |into, value| Operation::Store(tables.stores.intern(Store { into, value: object(value) }));
    let operation = match step {
        HeapStep::Allocate(it) => Operation::Allocate(object(it)),
        HeapStep::Put(into, value) => store(Container::Field(object(into), field), value),
        HeapStep::PutElement(into, value) => store(Container::Element(object(into)), value),
        HeapStep::PutStatic(value) => store(Container::Static(field), value),
        HeapStep::Pass(value) => store(Container::Unknown, value),
        HeapStep::Fork(it) => Operation::Fork(ThreadId::from_index(it)),
        HeapStep::Access(it) => Operation::Write(VariableId::from_index(it)),
    };
    Event { thread: ThreadId::from_index(thread), site: SiteId::from_index(0), operation }
}

/// Which steps are kept.
fn kept(steps: &[(usize, HeapStep)]) -> Vec<bool> {
    let mut tables = tables();
    let mut escape = Escape::default();
    let events: Vec<Event> =
        steps.iter().map(|&(thread, step)| event(thread, step, &mut tables)).collect();
    events.iter().map(|event| escape.keeps(event, &tables)).collect()
}

/// What has escaped behind these steps, by the definition.
fn escaped(steps: &[(usize, HeapStep)]) -> BTreeSet<usize> {
    let mentions = |step: &HeapStep| match *step {
        HeapStep::Put(into, value) | HeapStep::PutElement(into, value) => vec![into, value],
        HeapStep::PutStatic(it) | HeapStep::Pass(it) | HeapStep::Access(it) => vec![it],
        HeapStep::Fork(it) if it < 2 => vec![it],
        HeapStep::Allocate(_) | HeapStep::Fork(_) => vec![],
    };
    let mut escaped = BTreeSet::new();
    for object in 0..COUNT {
        let made =
            steps.iter().position(|it| matches!(it.1, HeapStep::Allocate(it) if it == object));
        let told = steps.iter().position(|it| mentions(&it.1).contains(&object));
        let maker = made.map(|made| steps[made].0);
        let unseen = told.is_some_and(|told| made.is_none_or(|made| told < made));
        let published = steps.iter().any(|&(thread, step)| match step {
            HeapStep::PutStatic(it) | HeapStep::Pass(it) => it == object,
            HeapStep::Fork(it) => it < 2 && it == object,
            HeapStep::Access(it) => it == object && maker != Some(thread),
            _ => false,
        });
        if unseen || published {
            escaped.insert(object);
        }
    }
    loop {
        let before = escaped.len();
        for (_, step) in steps {
            if let HeapStep::Put(into, value) | HeapStep::PutElement(into, value) = *step
                && escaped.contains(&into)
            {
                escaped.insert(value);
            }
        }
        if escaped.len() == before {
            return escaped;
        }
    }
}

fn step() -> impl Strategy<Value = (usize, HeapStep)> {
    let object = || 0..COUNT;
    let step = prop_oneof![
        3 => object().prop_map(HeapStep::Allocate),
        3 => (object(), object()).prop_map(|(into, value)| HeapStep::Put(into, value)),
        1 => (object(), object()).prop_map(|(into, value)| HeapStep::PutElement(into, value)),
        1 => object().prop_map(HeapStep::PutStatic),
        1 => object().prop_map(HeapStep::Pass),
        1 => object().prop_map(HeapStep::Fork),
        3 => object().prop_map(HeapStep::Access),
    ];
    (prop_oneof![4 => Just(2), 1 => Just(3)], step)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn only_accesses_to_what_has_not_escaped_are_dropped(
        made in prop::collection::btree_set(0..COUNT, 0..COUNT),
        steps in prop::collection::vec(step(), 0..14),
    ) {
        let made = made.into_iter().map(|object| (2, HeapStep::Allocate(object)));
        let steps: Vec<_> = made.chain(steps).collect();
        for (index, is_kept) in kept(&steps).into_iter().enumerate() {
            let expected = match steps[index].1 {
                HeapStep::Access(object) => escaped(&steps[..=index]).contains(&object),
                _ => true,
            };
            prop_assert_eq!(is_kept, expected, "{:?}", &steps[..=index]);
        }
    }
}

/// Whether the last access of a maker to object 2 is kept, behind some steps of its own.
fn is_kept_behind(steps: &[HeapStep]) -> bool {
    let made = [2, 3, 4].map(HeapStep::Allocate);
    let steps = made.iter().chain(steps).chain([&HeapStep::Access(2)]);
    let steps: Vec<_> = steps.map(|&step| (2, step)).collect();
    kept(&steps)[steps.len() - 1]
}

#[test]
fn an_object_escapes_by_a_static_field_or_by_an_escaped_object() {
    assert!(!is_kept_behind(&[]));
    assert!(is_kept_behind(&[HeapStep::PutStatic(2)]));
    assert!(!is_kept_behind(&[HeapStep::Put(3, 2)]));
    assert!(is_kept_behind(&[HeapStep::PutStatic(3), HeapStep::Put(3, 2)]));
    assert!(is_kept_behind(&[HeapStep::PutStatic(3), HeapStep::PutElement(3, 2)]));
}

/// Cascading: the array refers to the object, and another one to the array.
#[test]
fn what_an_escaping_object_refers_to_escapes() {
    let steps = [HeapStep::PutElement(3, 2), HeapStep::Put(4, 3)];
    assert!(!is_kept_behind(&steps));
    assert!(is_kept_behind(&[steps[0], steps[1], HeapStep::PutStatic(4)]));
    // A cycle ends.
    assert!(is_kept_behind(&[HeapStep::Put(3, 2), HeapStep::Put(2, 3), HeapStep::PutStatic(3)]));
}

/// A thread refers to its `Runnable`: both escape when it is started.
#[test]
fn what_a_started_thread_refers_to_escapes() {
    let steps = [HeapStep::Allocate(1), HeapStep::Put(1, 2)];
    assert!(!is_kept_behind(&steps));
    assert!(is_kept_behind(&[steps[0], steps[1], HeapStep::Fork(1)]));
}

/// As an argument of a native method, or of any other that is not watched.
#[test]
fn what_is_passed_to_unwatched_code_escapes() {
    assert!(is_kept_behind(&[HeapStep::Pass(2)]));
    assert!(is_kept_behind(&[HeapStep::Put(3, 2), HeapStep::Pass(3)]));
    assert!(!is_kept_behind(&[HeapStep::Pass(3)]));
}
