//! Where objects are made, what refers to them, and which accesses are to objects that have not escaped.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::{Program, Recording};
use unsnarl_events::{Container, ObjectId, Operation, Sites, Variable};
use unsnarl_trace_analysis::escape::Escape;

const OPTIONS: &str = ",events=fields:arrays:synchronization:allocations:references,filters=";

const MADE_AND_STORED: &[&str] = &[
    // An object is told when its construction begins, and behind its `new`.
    "5 new References",
    "22 new References",
    // fill(), the inner node first
    "12 new References$Node by References",
    "50 new References$Node by References",
    "12 new References$Node by References",
    "13 References$Node into References$Node.next of References$Node",
    "50 new References$Node by References",
    "50 References$Node into References.own of References",
    "17 new References$Inner by References",
    "17 References into References$Inner.this$0 of References$Inner",
    "18 References$Node into References$Inner.seen of References$Inner",
    "51 new References$Inner by References",
    "52 new int[][] by References",
    "53 new int[] by References",
    "53 int[] into int[][]",
    // main
    "24 new References$Node[]",
    "12 new References$Node",
    "24 new References$Node",
    "24 References$Node into References$Node[]",
    "25 References$Node into References$Node[]",
    "26 References$Node into static References.shared",
    "27 new java.util.ArrayList",
    "28 References into the JDK",
    "33 new References$Node[]",
    // A thread whose constructor is not below that of `Object` is told behind its `new` only.
    "12 new References$Node by References$Escaping",
    "42 new References$Node by References$Escaping",
    "42 References$Node into References$Escaping.node of References$Escaping",
    "36 new References$Escaping",
];

const LEFT_OUT: &[&str] = &[
    // fill(): two nodes, the field of `this`, the inner object and an array
    "next",
    "next",
    "own",
    "this$0",
    "own",
    "seen",
    "int[][]0",
    // main: the node and the array, until the node is in the static field
    "next",
    "References$Node[]0",
    "References$Node[]1",
    "References$Node[]0",
    "References$Node[]1",
    "References$Node[]1",
    // the node of the thread, before it is stored
    "next",
];

fn class(recording: &Recording, object: ObjectId) -> String {
    let tables = recording.tables();
    tables.text(tables.objects[object].class).into_owned()
}

/// What main makes and stores, with the lines.
fn references(recording: &Recording) -> Vec<String> {
    let tables = recording.tables();
    let class = |object| class(recording, object);
    let field = |field| {
        let field: unsnarl_events::Field = tables.fields[field];
        format!("{}.{}", tables.text(field.class), tables.text(field.name))
    };
    let Sites::Known(sites) = &tables.sites else { panic!("sites are known") };
    let of_main = recording
        .events
        .iter()
        .filter(|event| tables.text(tables.threads[event.thread].name) == "main");
    let lines = of_main.filter_map(|event| {
        let line = sites[event.site].line.unwrap_or(0);
        match event.operation {
            Operation::Allocate(object) => {
                let by = tables.makers[object]
                    .map_or_else(String::new, |by| format!(" by {}", class(by)));
                Some(format!("{line} new {}{by}", class(object)))
            }
            Operation::Store(store) => {
                let store = tables.stores[store];
                let into = match store.into {
                    Container::Field(object, it) => format!("{} of {}", field(it), class(object)),
                    Container::Element(array) => class(array),
                    Container::Static(it) => format!("static {}", field(it)),
                    Container::Unknown => "the JDK".to_owned(),
                };
                Some(format!("{line} {} into {into}", class(store.value)))
            }
            _ => None,
        }
    });
    lines.collect()
}

#[test]
fn objects_are_made_and_stored() {
    for jdk in unsnarl_testing::jdks() {
        let recording = Program::compile(&jdk, "References").record_with(&jdk, OPTIONS);
        assert_eq!(references(&recording), MADE_AND_STORED, "{}", jdk.name());
    }
}

/// What the program does to an object until it escapes is left out, and nothing else.
#[test]
fn accesses_to_confined_objects_are_left_out() {
    for jdk in unsnarl_testing::jdks() {
        let recording = Program::compile(&jdk, "References").record_with(&jdk, OPTIONS);
        let tables = recording.tables();
        let mut escape = Escape::default();
        let dropped = recording.events.iter().filter(|event| !escape.keeps(event, tables));
        let dropped: Vec<String> = dropped
            .map(|event| match event.operation {
                Operation::Read(variable) | Operation::Write(variable) => {
                    match tables.variables[variable] {
                        Variable::Field(_, it) => tables.text(tables.fields[it].name).into_owned(),
                        Variable::Element(array, index) => {
                            format!("{}{index}", class(&recording, array))
                        }
                        other => panic!("{other:?}"),
                    }
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(dropped, LEFT_OUT, "{}", jdk.name());
    }
}
