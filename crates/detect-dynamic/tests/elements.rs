//! Accesses to many elements of an array at once say the same as an access to each of them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use proptest::prelude::*;
use unsnarl_detect_dynamic::DETECTORS;
use unsnarl_entity::EntityId;
use unsnarl_events::{
    Elements, Event, LockId, Object, ObjectId, Operation, SiteId, Tables, ThreadId, Variable,
    VariableId,
};
use unsnarl_findings::Finding;
use unsnarl_trace_analysis::{AnalysisEntry, Flagged, Options, Outcome};

const ARRAYS: usize = 2;
/// More than two blocks of the arrays in happens-before.
const LENGTH: u32 = 2500;

/// A step of a thread with arrays, or with something else.
#[derive(Clone, Debug)]
enum ArrayStep {
    Access { array: usize, first: u32, distance: i16, behind: u16, write: bool },
    Forget(usize),
    Other(Operation),
}

fn step() -> impl Strategy<Value = ArrayStep> {
    let near = prop_oneof![Just(0), Just(1), Just(2), 0..20_u32, 1000..1050_u32, 0..LENGTH];
    let distance = prop_oneof![
        4 => Just(1_i16),
        2 => Just(2),
        1 => Just(-1),
        1 => prop::sample::select(vec![-2, 3, -3, 4, 8, 16, 100, 127, -8]),
    ];
    let behind = prop_oneof![Just(0), Just(1), 1..30_u16, 100..1200_u16, Just(u16::MAX)];
    let access = (0..ARRAYS, near, distance, behind, any::<bool>());
    let access = access.prop_map(|(array, first, distance, behind, write)| {
        let room = if distance > 0 { LENGTH - 1 - first } else { first };
        let most = room / u32::from(distance.unsigned_abs());
        let behind = u32::from(behind).min(most) as u16;
        ArrayStep::Access { array, first, distance, behind, write }
    });
    let lock = |number| LockId::from_index(number);
    let other = (0..7, 0..2_usize).prop_map(move |(kind, number)| match kind {
        0 | 1 => Operation::Acquire(lock(number)),
        2 | 3 => Operation::Release(lock(number)),
        4 => Operation::Fork(ThreadId::from_index(number + 1)),
        5 => Operation::Join(ThreadId::from_index(number + 1)),
        _ => Operation::Write(VariableId::from_index(number)),
    });
    prop_oneof![
        12 => access,
        1 => (0..ARRAYS).prop_map(ArrayStep::Forget),
        8 => other.prop_map(ArrayStep::Other),
    ]
}

fn tables() -> Tables {
    let mut tables = support::tables();
    for array in 0..ARRAYS {
        let class = tables.names.intern(b"int[]");
        let array = tables.objects.push(Object { class, number: array as u64 });
        for index in 0..LENGTH {
            tables.variables.push(Variable::Element(array, index));
        }
    }
    tables
}

/// The variable that an element is in the tables.
fn variable(tables: &Tables, array: usize, index: u32) -> VariableId {
    let first = tables.variables.len() - (ARRAYS - array) * LENGTH as usize;
    VariableId::from_index(first + index as usize)
}

/// The steps as events, with elements told together, and told one by one.
fn events(steps: &[(usize, ArrayStep)], tables: &Tables) -> [Vec<Event>; 2] {
    let (mut together, mut each) = (Vec::new(), Vec::new());
    for (position, (thread, step)) in steps.iter().enumerate() {
        let event = |operation| Event {
            thread: ThreadId::from_index(*thread),
            site: SiteId::from_index(position),
            operation,
        };
        match *step {
            ArrayStep::Other(operation) => {
                together.push(event(operation));
                each.push(event(operation));
            }
            ArrayStep::Forget(array) => {
                together.push(event(Operation::ForgetElements(ObjectId::from_index(array))));
                let all = (0..LENGTH).map(|index| variable(tables, array, index));
                each.extend(all.map(|it| event(Operation::Forget(it))));
            }
            ArrayStep::Access { array, first, distance, behind, write } => {
                let object = ObjectId::from_index(array);
                let elements = Elements::range(object, first, distance, behind).unwrap();
                together.push(event(match write {
                    true => Operation::WriteElements(elements),
                    false => Operation::ReadElements(elements),
                }));
                let all = elements.indices().map(|index| variable(tables, array, index));
                let access = if write { Operation::Write } else { Operation::Read };
                each.extend(all.map(|it| event(access(it))));
            }
        }
    }
    [together, each]
}

/// What a detector tells, with variables as what they stand for.
fn told(
    entry: &AnalysisEntry,
    events: &[Event],
    tables: &Tables,
) -> Option<impl PartialEq + std::fmt::Debug + use<>> {
    let mut detector = (entry.make)(&Options::default());
    if !(entry.needs)(&Options::default()).array_ranges {
        return None;
    }
    let mut racing = Vec::new();
    detector.on_batch(events, tables, &mut racing);
    let racing = racing.iter().map(|event: &Flagged| (event.site, event.variable.variable(tables)));
    let racing: Vec<(SiteId, Variable)> = racing.collect();
    let Outcome { findings, statistics, .. } = detector.finish(tables);
    let shown: Vec<String> = findings.iter().map(|it: &Finding| format!("{it:?}")).collect();
    Some((racing, shown, statistics))
}

proptest! {
    #![proptest_config(support::cases(400))]

    #[test]
    fn elements_told_together_are_told_as_one_by_one(
        steps in prop::collection::vec((0..3_usize, step()), 0..60)
    ) {
        let tables = tables();
        let [together, each] = events(&steps, &tables);
        for entry in &DETECTORS {
            prop_assert_eq!(told(entry, &together, &tables), told(entry, &each, &tables), "{}", entry.name);
        }
    }
}

/// All default detectors are shown elements together: one that is not would make every run slow.
#[test]
fn the_default_detectors_take_elements() {
    for entry in DETECTORS.iter().filter(|entry| entry.is_default) {
        assert!((entry.needs)(&Options::default()).array_ranges, "{}", entry.name);
    }
}
