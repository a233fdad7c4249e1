//! The events of small programs are exactly those that can be counted by hand.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::HashSet;

use support::{Program, Recording, kinds};
use unsnarl_events::{Operation, Variable};
use unsnarl_recording::format::Kind;

/// Threads of the JVM itself are started by `main` as well.
fn without_system_threads(recording: &Recording, threads: &[&str]) -> Vec<String> {
    let mut lines = recording.lines(threads);
    lines.retain(|line| !line.contains(" fork ") || line.contains(" fork worker"));
    lines
}

const MAIN: &[&str] = &[
    "main start",
    "main write static Accesses.LOCK @7",
    "main send initialization of Accesses @7",
    // add(5)
    "main acquire Accesses @10",
    "main read Accesses.count @10",
    "main write Accesses.count @10",
    "main release Accesses @11",
    // next()
    "main acquire java.lang.Class @14",
    "main read static Accesses.total @14",
    "main write static Accesses.total @14",
    "main release java.lang.Class @14",
    // fail(), left by an exception
    "main acquire Accesses @18",
    "main release Accesses @18",
    "main read Accesses.wide @28",
    "main write Accesses.wide @28",
    "main write int[2] @31",
    "main write double[0] @32",
    "main read double[0] @33",
    "main read int[2] @33",
    "main write double[0] @33",
    "main fork worker",
    "main join worker",
    "main receive Accesses.done @43",
    // texts[1] is out of bounds
    "main write java.lang.String[0] @48",
    // null has no field; Other is initialized by its first access
    "main send static Accesses$Other.value @61",
    "main send initialization of Accesses$Other @61",
    "main receive static Accesses$Other.value @53",
    "main receive Accesses$Upper.inherited @53",
    "main acquire Accesses @55",
    "main wait Accesses @56",
    "main wake Accesses @56",
    "main release Accesses @57",
    "main end",
];

const WORKER: &[&str] = &[
    "worker start",
    // a lambda expression of a static method is one itself
    "worker receive initialization of Accesses @35",
    "worker read Accesses.count @35",
    "worker write Accesses.count @35",
    "worker send Accesses.done @36",
    "worker read static Accesses.LOCK @37",
    "worker acquire java.lang.Object @37",
    "worker read static Accesses.total @38",
    "worker write static Accesses.total @38",
    "worker release java.lang.Object @39",
    "worker end",
];

#[test]
fn every_access_is_there_once_and_nothing_else() {
    for jdk in unsnarl_testing::jdks() {
        let program = Program::compile_unfiltered(&jdk, "Accesses");
        let recording = program.record(&jdk);
        let name = jdk.name();
        assert_eq!(without_system_threads(&recording, &["main"]), MAIN, "{name}");
        assert_eq!(without_system_threads(&recording, &["worker"]), WORKER, "{name}");
        assert_eq!(
            program.log(),
            "loaded\nrecording\nthe program has started\nthe program has ended\n",
            "{name}"
        );
    }
}

/// What happens in the worker lies between its start and its join.
#[test]
fn the_order_is_that_of_starts_and_joins() {
    for jdk in unsnarl_testing::jdks() {
        let recording = Program::compile_unfiltered(&jdk, "Accesses").record(&jdk);
        let lines = without_system_threads(&recording, &["main", "worker"]);
        let place = |wanted: &str| lines.iter().position(|line| line == wanted).unwrap();
        let (fork, join) = (place("main fork worker"), place("main join worker"));
        for (index, line) in lines.iter().enumerate() {
            assert!(!line.starts_with("worker") || fork < index && index < join, "{lines:#?}");
        }
    }
}

/// Four threads add to a counter under one lock: in the recorded order it is never held by two.
#[test]
fn a_lock_is_held_by_one_thread_at_a_time() {
    const ROUNDS: usize = 2000;
    for jdk in unsnarl_testing::jdks() {
        let recording = Program::compile_unfiltered(&jdk, "Counter").record(&jdk);
        let tables = recording.tables();
        let is_field = |it| matches!(tables.variables[it], Variable::Field(..));
        let mut holder = None;
        let mut depth = 0;
        let mut writes = 0;
        let mut threads = HashSet::new();
        for event in &recording.events {
            match event.operation {
                Operation::Acquire(_) => {
                    assert!(holder.is_none_or(|holder| holder == event.thread));
                    holder = Some(event.thread);
                    depth += 1;
                }
                Operation::Release(_) => {
                    assert_eq!(holder, Some(event.thread));
                    depth -= 1;
                    if depth == 0 {
                        holder = None;
                    }
                }
                Operation::Write(it) if is_field(it) => {
                    assert_eq!(holder, Some(event.thread));
                    threads.insert(event.thread);
                    writes += 1;
                }
                _ => {}
            }
        }
        assert_eq!((writes, threads.len()), (4 * ROUNDS, 4), "{}", jdk.name());
    }
}

/// 5,000 objects that live at the same time have 5,000 ids, and each has one only.
#[test]
fn objects_have_ids_of_their_own() {
    for jdk in unsnarl_testing::jdks() {
        let recording = Program::compile_unfiltered(&jdk, "Objects").record(&jdk);
        let tables = recording.tables();
        let nodes = tables.objects.values().filter(|it| tables.text(it.class) == "Objects$Node");
        assert_eq!(nodes.count(), 5000, "{}", jdk.name());
        let written: Vec<_> = recording
            .lines(&["main"])
            .into_iter()
            .filter(|line| line.contains("write Objects$Node.value"))
            .collect();
        assert_eq!(written.len(), 10_000);
    }
}

/// How a call is recorded is known by the class of its receiver: of one that only looks nothing but its end takes a number,
/// although an object of the class that the code names could do more. If it finds nothing new, it is left out with the accesses
/// that say nothing new.
#[test]
fn a_look_takes_one_number() {
    let text = "import java.util.concurrent.atomic.AtomicLong; \
        public class Looks { \
            public static void main(String[] arguments) { \
                AtomicLong number = new AtomicLong(); \
                long sum = 0; \
                for (int round = 0; round < 100; round++) { sum += number.get(); } \
                number.set(sum); \
            } \
        }";
    for jdk in unsnarl_testing::jdks() {
        for (filters, expected) in [(",filters=", [100, 1, 101]), (",filters=epoch", [1, 1, 2])] {
            let program = Program::compile_text(&jdk, "Looks", text);
            program.record_with(&jdk, filters);
            let kinds = kinds(&program.session());
            let count = |kind: Kind| kinds.iter().filter(|&&it| it == kind).count();
            let calls = [Kind::CallLooks, Kind::CallBegins, Kind::CallEnds].map(count);
            assert_eq!(calls, expected, "{}{filters}", jdk.name());
        }
    }
}
