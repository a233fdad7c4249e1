//! What the filters leave out is redundant, and no race is lost with it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;

use support::{Program, Recording};
use unsnarl_events::{Filter, Filters, Operation, Sites, Source, Variable};
use unsnarl_testing::Jdk;

const RACY: [&str; 17] = [
    "branchRacy",
    "char[]",
    "double[]",
    "exitRacy",
    "initializedRacy",
    "leakedRacy",
    "listRacy",
    "long[]",
    "manyRacy",
    "readThenWriteRacy",
    "roundRacy",
    "sameRacy",
    "sharedRacy",
    "startRacy",
    "staticRacy",
    "volatileRacy",
    "waitRacy",
];

/// Elements of arrays by the type alone.
fn without_indices(racing: BTreeSet<String>) -> BTreeSet<String> {
    let name = |name: String| match name.split_once('[') {
        Some((class, _)) => format!("{class}[]"),
        None => name,
    };
    racing.into_iter().map(name).collect()
}

#[test]
fn no_race_is_lost_and_none_is_made_up() {
    let expected: BTreeSet<String> = RACY.map(str::to_owned).into();
    for jdk in unsnarl_testing::jdks() {
        let filtered = Program::compile(&jdk, "Filtered").record(&jdk);
        assert_eq!(without_indices(filtered.racing()), expected, "{}", jdk.name());
        let all = Program::compile_unfiltered(&jdk, "Filtered").record(&jdk);
        assert_eq!(without_indices(all.racing()), expected, "{} without filters", jdk.name());
    }
}

fn accesses(recording: &Recording) -> usize {
    let is_access = |it: &Operation| matches!(it, Operation::Read(_) | Operation::Write(_));
    recording.events.iter().filter(|event| is_access(&event.operation)).count()
}

/// 1,000 rounds over one field of an object, a static field and 64 elements, and one over 50,000 elements.
#[test]
fn what_is_redundant_is_left_out() {
    for jdk in unsnarl_testing::jdks() {
        let program = Program::compile(&jdk, "Busy");
        let filtered = accesses(&program.record(&jdk)) - 50_000;
        let all = Program::compile_unfiltered(&jdk, "Busy");
        let unfiltered = accesses(&all.record(&jdk)) - 50_000;
        assert!(filtered < 200, "{filtered} accesses on {}", jdk.name());
        assert!(unfiltered > 7000, "{unfiltered} accesses on {}", jdk.name());
        // 50,000 events of 24 bytes would be more than a megabyte.
        let arenas = |program: &Program| {
            let files = std::fs::read_dir(program.session()).unwrap().flatten();
            files.filter(|it| it.file_name().to_string_lossy().starts_with("arena-")).count()
        };
        assert_eq!((arenas(&program), arenas(&all)), (1, 2), "{}", jdk.name());
    }
}

/// Of arrays only the elements that were asked for.
#[test]
fn elements_are_cut_off() {
    for jdk in unsnarl_testing::jdks() {
        for (options, expected) in [
            ("", 0..10),
            (",array-cutoff=3", 0..3),
            (",array-cutoff=2,array-offset=7", 7..9),
            (",array-cutoff=2,array-offset=7,filters=", 7..9),
            (",array-cutoff=4294967295,array-offset=9", 9..10),
        ] {
            let recording = Program::compile(&jdk, "Cutoff").record_with(&jdk, options);
            let expected = expected.map(|index| format!("long[{index}]")).collect();
            assert_eq!(recording.racing(), expected, "{options} on {}", jdk.name());
        }
    }
}

/// Every access to an element: the thread, the method, the type and index, whether it writes, and the line.
fn elements(recording: &Recording) -> BTreeSet<(String, bool, Option<u32>)> {
    let tables = recording.tables();
    let Sites::Known(sites) = &tables.sites else { panic!("a session knows its sites") };
    let mut found = BTreeSet::new();
    for event in &recording.events {
        let (Operation::Read(variable) | Operation::Write(variable)) = event.operation else {
            continue;
        };
        let Variable::Element(array, index) = tables.variables[variable] else { continue };
        let site = &sites[event.site];
        let thread = tables.text(tables.threads[event.thread].name);
        let method = tables.text(tables.methods[site.method].name);
        let class = tables.text(tables.objects[array].class);
        let writes = matches!(event.operation, Operation::Write(_));
        found.insert((format!("{thread} {method} {class} {index}"), writes, site.line));
    }
    found
}

/// Loops that report when they are left tell every access that happened, and none that did not.
#[test]
fn loops_tell_what_they_have_accessed() {
    for jdk in unsnarl_testing::jdks() {
        let filtered = Program::compile(&jdk, "Loops").record(&jdk);
        let all = Program::compile_unfiltered(&jdk, "Loops").record(&jdk);
        let (mut some, mut every) = (elements(&filtered), elements(&all));
        let long_ones = every.extract_if(.., |it| it.0.contains("longOne")).count();
        assert_eq!(some.extract_if(.., |it| it.0.contains("longOne")).count(), long_ones);
        // What stands in braces is of no interest to a filter.
        let in_braces = every.extract_if(.., |it| it.1 && it.0.contains("java.lang.Runnable"));
        assert_eq!(in_braces.count(), 3, "{}", jdk.name());
        let made_up: Vec<_> = some.difference(&every).collect();
        assert!(made_up.is_empty(), "{} {made_up:?}", jdk.name());
        // The same element may be accessed elsewhere in the method, by a write if this is one.
        let is_told = |element: &String, writes: bool| {
            some.iter().any(|it| it.0 == *element && (it.1 || !writes))
        };
        let missing: Vec<_> = every.iter().filter(|it| !is_told(&it.0, it.1)).collect();
        assert!(missing.is_empty(), "{} {missing:?}", jdk.name());
        assert!(every.len() > 600, "{} are too few", every.len());

        let expected: BTreeSet<String> = ["long[]", "short[]"].map(str::to_owned).into();
        for recording in [&filtered, &all] {
            assert_eq!(without_indices(recording.racing()), expected, "{}", jdk.name());
        }
        // 200,000 elements in one loop, and ten a thousand times.
        let few = accesses(&filtered) - 200_000;
        assert!(few < 1500, "{few} accesses on {}", jdk.name());
    }
}

const AHEAD: [&str; 4] = ["flaggedRacy", "lateInnerRacy", "laterRacy", "lateRacy"];

/// What is known from the class path before a class is loaded hides nothing.
#[test]
fn fields_that_are_known_ahead_are_watched_all_the_same() {
    let expected: BTreeSet<String> = AHEAD.map(str::to_owned).into();
    for jdk in unsnarl_testing::jdks() {
        for program in [Program::compile(&jdk, "Ahead"), Program::compile_unfiltered(&jdk, "Ahead")]
        {
            assert_eq!(program.record(&jdk).racing(), expected, "{}", jdk.name());
        }
    }
}

/// Another loader has other classes of the same names: there the flag is volatile, on the class path it is not, and what
/// is final on one side is not on the other.
#[test]
fn what_the_class_path_says_may_be_wrong() {
    let expected: BTreeSet<String> = AHEAD.map(str::to_owned).into();
    let right = include_str!("java/Ahead.java");
    let wrong = right
        .replace("volatile int ready", "int ready")
        .replace("volatile int up", "int up")
        .replace("int lateRacy", "volatile int lateRacy")
        .replace("int two", "final int other = 1; int two");
    let not_final = right.replace("final Inner inner", "Inner inner");
    for jdk in unsnarl_testing::jdks() {
        for (on_path, loaded) in [(&wrong[..], right), (right, &not_final), (&wrong, &not_final)] {
            let program = Program::compile_text(&jdk, "Ahead", on_path);
            let other = program.compile_other(&jdk, loaded);
            unsnarl_testing::run(program.watched(&jdk, &[]).arg(&other));
            let recording = Recording::read(&program.session());
            assert!(recording.problems.is_empty(), "{:?}", recording.problems);
            assert_eq!(recording.racing(), expected, "{}", jdk.name());
        }
    }
}

/// Of fields that are written together the plan may name one.
#[test]
fn one_field_of_a_group_is_watched_alone() {
    const TEXT: &str = "public class Planned { int before; int oneRacy; int behind; \
        void write() { before = 1; oneRacy = 2; behind = 3; } \
        public static void main(String[] none) throws Exception { \
            Planned shared = new Planned(); \
            Thread one = new Thread(shared::write); Thread two = new Thread(shared::write); \
            one.start(); two.start(); one.join(); two.join(); } }";
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan");
    std::fs::write(&plan, "oneRacy\n").unwrap();
    for jdk in unsnarl_testing::jdks() {
        let program = Program::compile_text(&jdk, "Planned", TEXT);
        let recording = program.record_with(&jdk, &format!(",plan={}", plan.display()));
        assert_eq!(recording.racing(), ["oneRacy".to_owned()].into(), "{}", jdk.name());
        assert_eq!(accesses(&recording), 2, "{}", jdk.name());
    }
}

/// A thread that only takes goes on in its epoch, and one that gives something away does not.
#[test]
fn calls_that_give_nothing_away_make_no_access_new() {
    let expected: BTreeSet<String> = ["overwrittenRacy", "takenRacy"].map(str::to_owned).into();
    for jdk in unsnarl_testing::jdks() {
        let filtered = Program::compile(&jdk, "Quiet").record(&jdk);
        let all = Program::compile_unfiltered(&jdk, "Quiet").record(&jdk);
        for recording in [&filtered, &all] {
            assert_eq!(recording.racing(), expected, "{}", jdk.name());
        }
        let counts = (accesses(&filtered), accesses(&all));
        assert!(counts.0 < 30 && counts.1 > 6000, "{counts:?} on {}", jdk.name());
    }
}

/// A look at an atomic variable is left out if nobody has sent to it since the last one, and only then.
#[test]
fn looks_that_find_nothing_new_are_left_out() {
    let expected: BTreeSet<String> = [String::from("behindRacy")].into();
    for jdk in unsnarl_testing::jdks() {
        let filtered = Program::compile(&jdk, "Looked").record(&jdk);
        assert_eq!(filtered.racing(), expected, "{}", jdk.name());
        let all = Program::compile_unfiltered(&jdk, "Looked").record(&jdk);
        assert_eq!(all.racing(), expected, "{} without filters", jdk.name());
    }
}

/// What is told of objects, and how many accesses are recorded, with filters and without.
fn told_of_objects(jdk: &Jdk, name: &str) -> ([BTreeSet<String>; 2], [usize; 2]) {
    const EVENTS: &str = ",events=fields:arrays:synchronization:allocations:references";
    let recordings = [",filters=escape:owner", ",filters="].map(|filters| {
        let program = Program::compile(jdk, name);
        program.record_with(jdk, &[EVENTS, filters].concat())
    });
    assert_eq!(recordings[0].session().filters(), Filters::of(&[Filter::Escape, Filter::Owner]));
    assert_eq!(recordings[1].session().filters(), Filters::NONE);
    let told = recordings.each_ref().map(|it| it.told_by("object-race"));
    (told, recordings.each_ref().map(accesses))
}

/// What owners do is left out, and what is told of objects is what is told of all accesses.
#[test]
fn owners_are_not_recorded() {
    let expected: BTreeSet<String> =
        ["comesBackRacy", "differentRacy", "long[1]"].map(str::to_owned).into();
    for jdk in unsnarl_testing::jdks() {
        let (told, counts) = told_of_objects(&jdk, "Owned");
        assert_eq!(told, [expected.clone(), expected.clone()], "{}", jdk.name());
        // While the two threads meet, no more than a hundred rounds of four accesses are recorded.
        assert!(counts[0] < 1000 && counts[1] > 20_000, "{counts:?} on {}", jdk.name());
    }
}

/// Behind the hand-off all that locks tell is recorded, and nothing that repeats it.
#[test]
fn what_follows_the_hand_off_is_recorded_once_for_each_lockset() {
    let expected: BTreeSet<String> = [
        "char[0]",
        "givenBackRacy",
        "madeRacy",
        "readThenWriteRacy",
        "staticRacy",
        "unlockedRacy",
        "waitedRacy",
    ]
    .map(str::to_owned)
    .into();
    for jdk in unsnarl_testing::jdks() {
        let (told, counts) = told_of_objects(&jdk, "Handed");
        assert_eq!(told, [expected.clone(), expected.clone()], "{}", jdk.name());
        // Of arrays, two threads read and write 300 elements of two.
        let others = counts[0] - 2 * 2 * 2 * 300;
        assert!(others < 100 && counts[1] > 18_000, "{counts:?} on {}", jdk.name());
    }
}

/// Constants are told once by a thread; a comparator makes nothing new; words of objects that two threads look at settle.
#[test]
fn what_is_settled_is_not_told_again() {
    for jdk in unsnarl_testing::jdks() {
        let recording = Program::compile(&jdk, "Settled").record(&jdk);
        let tables = recording.session().tables();
        let accesses = |name: &str| {
            let of_name = |operation: Operation| {
                let (Operation::Read(variable) | Operation::Write(variable)) = operation else {
                    return false;
                };
                let (Variable::Field(_, field) | Variable::Static(field)) =
                    tables.variables[variable]
                else {
                    return false;
                };
                tables.names[tables.fields[field].name] == *name.as_bytes()
            };
            recording.events.iter().filter(|event| of_name(event.operation)).count()
        };
        assert!((1..10).contains(&accesses("CONSTANT")), "{}", jdk.name());
        assert!((1..10).contains(&accesses("compared")), "{}", jdk.name());
        assert!((2..10).contains(&accesses("looked")), "{}", jdk.name());
        let is_copied =
            |object: &unsnarl_events::Object| tables.names[object.class] == *b"java.lang.Object";
        // The lock and the constant, at most: none of the four elements has an id.
        assert!(tables.objects.values().filter(|object| is_copied(object)).count() <= 2);
    }
}
