//! The whole path: a program is recorded and its races are found, and only its races.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;

use support::{Program, Recording, racing_while_read};
use unsnarl_detect_dynamic::DETECTORS;
use unsnarl_events::{Event, Operation, Source, ThreadId, Variable};
use unsnarl_trace_analysis::Options;

#[test]
fn racy_twins_race_and_the_others_do_not() {
    for jdk in unsnarl_testing::jdks() {
        let recording = Program::compile(&jdk, "Twins").record(&jdk);
        let expected = [
            "blockRacy",
            "joinRacy",
            "methodRacy",
            "startRacy",
            "staticRacy",
            "volatileRacy",
            "waitRacy",
        ];
        assert_eq!(recording.racing(), expected.map(str::to_owned).into(), "{}", jdk.name());
    }
}

/// The fields that race in a program are those whose names say so, and these elements of arrays.
fn only_the_racy_race(program: &str, since: u16, elements: &[&str]) {
    only_the_racy_race_with("", program, since, elements);
}

/// The same with more options for the agent.
fn only_the_racy_race_with(options: &str, program: &str, since: u16, elements: &[&str]) {
    for jdk in unsnarl_testing::jdks().into_iter().filter(|jdk| jdk.release >= since) {
        let recording = Program::compile(&jdk, program).record_with(&jdk, options);
        let expected = expected(&recording, elements);
        assert_eq!(recording.racing(), expected, "{program}{options} on {}", jdk.name());
    }
}

/// What races by the names of the fields, and these elements.
fn expected(recording: &Recording, elements: &[&str]) -> BTreeSet<String> {
    let fields: BTreeSet<String> = recording
        .tables()
        .fields
        .values()
        .map(|field| recording.tables().text(field.name).into_owned())
        .filter(|name| name.ends_with("Racy") || name.ends_with("Ok"))
        .collect();
    let expected = fields.iter().filter(|name| name.ends_with("Racy")).cloned();
    let expected: BTreeSet<_> = expected.chain(elements.iter().map(|&it| it.to_owned())).collect();
    assert!(expected.len() > 2, "{fields:?}");
    expected
}

#[test]
fn the_end_of_a_class_initializer_orders() {
    only_the_racy_race("Initializers", 17, &[]);
}

#[test]
fn locks_and_synchronizers_order() {
    only_the_racy_race("Synchronizers", 17, &[]);
}

#[test]
fn tasks_are_ordered_by_who_starts_and_joins_them() {
    only_the_racy_race("Tasks", 17, &[]);
}

#[test]
fn atomics_handles_and_updaters_order() {
    only_the_racy_race("Variables", 17, &["int[1]", "int[3]"]);
}

#[test]
fn what_is_found_out_late_orders() {
    only_the_racy_race("Resolved", 17, &[]);
}

/// Finalizers, and references in their queues.
#[test]
fn what_the_garbage_collector_hands_on_comes_behind_its_making() {
    for options in ["", ",filters="] {
        only_the_racy_race_with(options, "Collected", 17, &[]);
    }
}

#[test]
fn pipes_and_handlers_of_channels_order() {
    only_the_racy_race("Streams", 17, &[]);
}

/// A write that is the first access to a class is told when that is loaded, so that everybody knows what is written.
#[test]
fn the_first_write_comes_behind_the_initializer() {
    let text = "public class First { \
            static class Late { static int early; static int late; static { early = 1; } } \
            public static void main(String[] arguments) { Late.late = 2; } \
        }";
    for jdk in unsnarl_testing::jdks() {
        let recording = Program::compile_text(&jdk, "First", text).record(&jdk);
        let lines = recording.lines(&["main"]);
        let place = |name: &str| lines.iter().position(|line| line.contains(name));
        assert!(place("write static First$Late.early").is_some(), "{lines:?}");
        assert!(place("Late.early") < place("Late.late"), "{} {lines:?}", jdk.name());
    }
}

/// What everybody does all the time must not be recorded if it orders nothing.
#[test]
fn streams_that_are_not_parallel_and_views_of_maps_are_not_recorded() {
    let text = |stream: &str, map: &str| {
        format!(
            "import java.util.*; import java.util.stream.*; public class Everyday {{ \
                public static void main(String[] arguments) {{ \
                    Map<Integer, Integer> map = new {map}<>(Map.of(1, 2, 3, 4)); \
                    int sum = 0; \
                    for (int key : map.keySet()) sum += key; \
                    for (int value : map.values()) sum += value; \
                    for (Map.Entry<Integer, Integer> entry : map.entrySet()) sum += entry.getValue(); \
                    Stream<Integer> stream = List.of(1, 2).stream(); \
                    sum += {stream}.map(i -> i + 1).limit(5).collect(Collectors.toList()).size(); \
                    sum += IntStream.range(0, 9).filter(i -> i > 2).boxed().mapToInt(i -> i).sum(); \
                    System.out.println(sum); \
                }} \
            }}"
        )
    };
    let concurrent = "java.util.concurrent.ConcurrentHashMap";
    for jdk in unsnarl_testing::jdks() {
        // Objects of which classes were given ids.
        let known = |stream: &str, map: &str| {
            let program = Program::compile_text(&jdk, "Everyday", &text(stream, map));
            program.record(&jdk);
            std::fs::read_to_string(program.session().join("names")).unwrap()
        };
        let everyday = known("stream", "HashMap");
        assert!(!everyday.contains("java.util.stream."), "{everyday}");
        assert!(!everyday.contains("java.util.HashMap"), "{everyday}");
        let parallel = known("stream.parallel()", concurrent);
        assert!(parallel.contains("java.util.stream."), "{parallel}");
        assert!(parallel.contains(&format!("{concurrent}$")), "{parallel}");
    }
}

#[test]
fn what_the_library_accesses_for_the_program_races() {
    let elements = [
        "boolean[2]",
        "byte[3]",
        "char[1]",
        "float[2]",
        "int[1]",
        "java.lang.Integer[0]",
        "java.lang.Long[1]",
        "java.lang.String[2]",
        "long[3]",
    ];
    for options in ["", ",filters=", ",events=fields:arrays:synchronization:exact"] {
        only_the_racy_race_with(options, "LibraryAccesses", 17, &elements);
    }
}

/// Who looks at elements together is told all of them, however many.
#[test]
fn many_elements_are_copied_at_once() {
    for jdk in unsnarl_testing::jdks() {
        let program = Program::compile(&jdk, "LargeCopies");
        unsnarl_testing::run(&mut program.watched(&jdk, &[]));
        let mut session = unsnarl_replay::open_session(&program.session()).unwrap();
        session.keep_elements();
        let mut detector = (DETECTORS[0].make)(&Options::default());
        let mut batch = Vec::new();
        let mut racing = BTreeSet::new();
        loop {
            session.next_batch(&mut batch).unwrap();
            if batch.is_empty() {
                break;
            }
            let mut flagged = Vec::new();
            detector.on_batch(&batch, session.tables(), &mut flagged);
            racing.extend(flagged.iter().map(
                |event| match event.variable.variable(session.tables()) {
                    Variable::Element(_, index) => index,
                    other => panic!("{other:?}"),
                },
            ));
        }
        assert_eq!(racing, [65_536, 190_000].into(), "{}", jdk.name());
    }
}

#[test]
fn collections_hand_over() {
    only_the_racy_race("Containers", 17, &[]);
}

#[test]
fn what_the_library_hands_on_is_ordered() {
    for options in ["", ",filters="] {
        only_the_racy_race_with(options, "HandedOn", 17, &[]);
    }
}

#[test]
fn variables_are_known_by_their_offsets() {
    for options in ["", ",filters="] {
        only_the_racy_race_with(options, "Offsets", 17, &[]);
    }
}

#[test]
fn further_orders_of_the_library() {
    only_the_racy_race("MoreOrders", 17, &[]);
}

#[test]
fn tasks_of_virtual_threads_are_ordered() {
    only_the_racy_race("VirtualTasks", 21, &[]);
}

#[test]
fn who_has_died_is_waited_for() {
    only_the_racy_race("LongDead", 17, &[]);
}

/// However often what is dead is forgotten, what lives orders.
#[test]
fn forgetting_forgets_nothing_that_orders() {
    for jdk in unsnarl_testing::jdks() {
        let mut died = 0;
        for program in ["Collected", "HandedOn", "LongDead", "MoreOrders"] {
            let compiled = Program::compile(&jdk, program);
            let options = ["-Dcollects=true", "-XX:+UseSerialGC"];
            unsnarl_testing::run(&mut compiled.watched_with(&jdk, ",sweep=100", &options));
            let recording = Recording::read(&compiled.session());
            let (racing, dead) = racing_while_read(&compiled.session());
            assert_eq!(racing, expected(&recording, &[]), "{program} on {}", jdk.name());
            died += dead;
        }
        assert!(died > 50, "{}: {died} locks and channels", jdk.name());
    }
}

#[test]
fn what_parallel_streams_combine_is_ordered() {
    only_the_racy_race("Reductions", 17, &[]);
}

#[test]
fn completers_come_behind_what_they_wait_for() {
    only_the_racy_race("Completers", 17, &[]);
}

/// A preview changes with every release.
#[test]
fn structured_tasks_are_ordered() {
    for jdk in unsnarl_testing::jdks().into_iter().filter(|jdk| jdk.release == 25) {
        let recording = Program::compile_preview(&jdk, "Scopes").record(&jdk);
        assert_eq!(recording.racing(), expected(&recording, &[]), "{}", jdk.name());
    }
}

/// Only if it is asked for, what is in a library's object is a variable.
#[test]
fn library_objects_race_if_asked_for() {
    const ALL: &str = ",events=fields:arrays:synchronization:contents";
    for jdk in unsnarl_testing::jdks() {
        for (options, expected) in [
            ("", &[][..]),
            (ALL, &["java.lang.StringBuilder", "java.util.ArrayList", "java.util.HashMap"]),
        ] {
            let recording = Program::compile(&jdk, "Contents").record_with(&jdk, options);
            let tables = recording.tables();
            let classes: BTreeSet<String> = recording
                .racing_variables()
                .into_iter()
                .map(|variable| match variable {
                    Variable::Field(object, _) => {
                        tables.text(tables.objects[object].class).into_owned()
                    }
                    other => format!("{other:?}"),
                })
                .collect();
            let expected = expected.iter().map(|&it| it.to_owned()).collect();
            assert_eq!(classes, expected, "{options} on {}", jdk.name());
        }
    }
}

#[test]
fn virtual_threads_start_and_are_joined() {
    for jdk in unsnarl_testing::jdks().into_iter().filter(|jdk| jdk.release >= 21) {
        let recording = Program::compile(&jdk, "Virtual").record(&jdk);
        let name = jdk.name();
        assert_eq!(recording.racing(), ["earlyRacy".to_owned()].into(), "{name}");
        let tables = recording.tables();
        let is_virtual = |it| tables.text(tables.threads[it].name).starts_with("virtual ");
        let count = |kind: fn(&Event) -> Option<ThreadId>| {
            recording.events.iter().filter_map(kind).filter(|&it| is_virtual(it)).count()
        };
        let starts = count(|event| (event.operation == Operation::Start).then_some(event.thread));
        let ends = count(|event| (event.operation == Operation::End).then_some(event.thread));
        let joins = count(|event| match event.operation {
            Operation::Join(thread) => Some(thread),
            _ => None,
        });
        assert_eq!((starts, ends, joins), (200, 200, 200), "{name}");
    }
}
