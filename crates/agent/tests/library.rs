//! Classes of the JDK are watched if they are named, and the program does what it does without.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use support::{Program, Recording, agent, printed};
use unsnarl_detect_dynamic::DETECTORS;
use unsnarl_events::{Operation, Variable, VariableId};
use unsnarl_findings::Finding;
use unsnarl_testing::Jdk;
use unsnarl_trace_analysis::Options;

const JAVA_UTIL: &str = ",include=*:java.util.*";
const NEVER_WATCHED: &str = "classes that hooks need or cannot understand: ";

/// How many accesses there are to fields of a class.
fn accesses(recording: &Recording, class: &str) -> usize {
    let tables = recording.tables();
    let is_one = |&variable: &VariableId| match tables.variables[variable] {
        Variable::Field(_, field) => tables.text(tables.fields[field].class) == class,
        _ => false,
    };
    let variables = recording.events.iter().filter_map(|event| match event.operation {
        Operation::Read(variable) | Operation::Write(variable) => Some(variable),
        _ => None,
    });
    variables.filter(is_one).count()
}

fn findings(recording: &Recording) -> Vec<Finding> {
    let tables = recording.tables();
    let mut detector = (DETECTORS[0].make)(&Options::default());
    detector.on_batch(&recording.events, tables, &mut Vec::new());
    detector.finish(tables).findings
}

#[test]
fn java_util_does_the_same_with_probes() {
    for jdk in unsnarl_testing::jdks() {
        let program = Program::compile(&jdk, "Library");
        let plain = printed(&program.plain(&jdk, &[]).output().unwrap());
        assert_eq!(plain.0, Some(0), "{plain:?}");
        // The second names all that can be named, with all kinds of events.
        for (options, watched) in [
            (JAVA_UTIL, &["java.util.HashMap", "java.util.BitSet", "java.util.TreeMap"][..]),
            (
                ",include=*:java.*:javax.*:jdk.*:sun.*:com.sun.*,\
                 events=fields:arrays:synchronization:methods:allocations:references:contents",
                &[],
            ),
        ] {
            let output = program.watched_with(&jdk, options, &[]).output().unwrap();
            assert_eq!(printed(&output), plain, "{options} on {}", jdk.name());
            let recording = Recording::read(&program.session());
            let is_expected =
                |it: &String| it.starts_with(NEVER_WATCHED) || it.contains("too long");
            let unexpected = recording.problems.iter().find(|&it| !is_expected(it));
            assert_eq!(unexpected, None, "{options} on {}", jdk.name());
            for class in watched {
                assert!(accesses(&recording, class) > 10, "{class} on {}", jdk.name());
            }
            fs::remove_dir_all(program.session()).unwrap();
        }
    }
}

/// Whoever names only his own classes, or all, does not watch the JDK.
#[test]
fn the_jdk_is_watched_only_if_it_is_named() {
    let jdk = unsnarl_testing::jdk();
    for options in ["", ",include=*", ",include=*:java.util.*,exclude=java.*"] {
        let recording = Program::compile(&jdk, "Shared").record_with(&jdk, options);
        assert_eq!(accesses(&recording, "java.util.ArrayList"), 0, "{options}");
        assert_eq!(findings(&recording), [], "{options}");
    }
}

#[test]
fn races_inside_of_lists_and_maps_have_their_frames() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Shared.java");
    let text = fs::read_to_string(source).unwrap();
    let locked = text.replace("/* lock */", "synchronized (Shared.class)");
    for jdk in unsnarl_testing::jdks() {
        let found = |text: &str| {
            let program = Program::compile_text(&jdk, "Shared", text);
            unsnarl_testing::run(&mut program.watched_with(&jdk, JAVA_UTIL, &[]));
            findings(&Recording::read(&program.session()))
        };
        let racy = found(&text);
        for (field, method) in [("ArrayList.size", "add"), ("HashMap.size", "putVal")] {
            let field = format!("java.util.{field}");
            let finding = racy.iter().find(|finding| finding.subject.to_string() == field);
            let finding = finding.unwrap_or_else(|| panic!("{field}: {racy:#?}"));
            for access in &finding.accesses {
                let frames: Vec<_> = access.stack.iter().map(ToString::to_string).collect();
                let is_in = |frame: &String, name: &str| frame.contains(&format!("{name}("));
                assert!(is_in(&frames[0], method), "{frames:?}");
                assert!(frames.iter().any(|frame| is_in(frame, "Shared.use")), "{frames:?}");
            }
        }
        assert_eq!(found(&locked), [], "{}", jdk.name());
    }
}

/// What models order stays ordered when the code behind them is watched, and nothing in there races.
#[test]
fn what_is_ordered_stays_ordered() {
    for jdk in unsnarl_testing::jdks() {
        for name in ["Containers", "Synchronizers", "Tasks", "Variables"] {
            let program = Program::compile(&jdk, name);
            unsnarl_testing::run(&mut program.watched_with(&jdk, JAVA_UTIL, &[]));
            let recording = Recording::read(&program.session());
            let names = recording.tables().fields.values();
            let names = names.map(|field| recording.tables().text(field.name).into_owned());
            // The threads pass a system property to each other, which orders them: `Properties` is watched.
            let is_racy = |name: &String| name.ends_with("Racy") && name != "failedRacy";
            let racy = names.filter(is_racy).collect();
            let racing = recording.racing();
            // Some race on elements of an array as well.
            let is_field = |name: &String| !name.starts_with("int[");
            let racing: BTreeSet<String> = racing.into_iter().filter(is_field).collect();
            assert_eq!(racing, racy, "{name} on {}", jdk.name());
        }
    }
}

/// The files of a folder and of those in it, by their paths below it.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                files.insert(name, fs::read(path).unwrap());
            }
        }
    }
    files
}

/// What javac printed and what it has made.
struct Compiled {
    printed: (Option<i32>, String, String),
    files: BTreeMap<PathBuf, Vec<u8>>,
}

/// Compiles the sources with javac as a program.
fn compile(jdk: &Jdk, options: &[String], sources: &[PathBuf]) -> Compiled {
    let folder = tempfile::tempdir().unwrap();
    let mut java = jdk.command("java");
    java.args(options).args(["-m", "jdk.compiler/com.sun.tools.javac.Main"]);
    java.args(["-Xlint:all", "-g", "-d", "."]).args(sources).current_dir(folder.path());
    let printed = printed(&java.output().unwrap());
    Compiled { printed, files: files(folder.path()) }
}

#[test]
fn javac_compiles_the_same_with_probes_in_it_and_in_java_util() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/programs/webserver");
    let mut sources: Vec<_> = files(&folder).into_keys().map(|name| folder.join(name)).collect();
    // Of which javac says that it is deprecated, with a warning.
    let warned = tempfile::tempdir().unwrap();
    sources.push(warned.path().join("Warned.java"));
    fs::write(&sources[sources.len() - 1], "class Warned { Integer one = new Integer(1); }")
        .unwrap();
    for jdk in unsnarl_testing::jdks() {
        let plain = compile(&jdk, &[], &sources);
        assert_eq!(plain.printed.0, Some(0), "{:?}", plain.printed);
        assert!(plain.printed.2.contains("warning") && plain.files.len() > 15);
        let place = tempfile::tempdir().unwrap();
        let session = place.path().join("session");
        let (library, place) = (agent(), session.display());
        let options = [
            format!(
                "-agentpath:{}=session={place},include=java.util.*:com.sun.tools.javac.*",
                library.display()
            ),
            "-XX:+UnlockDiagnosticVMOptions".to_owned(),
            "-XX:+BytecodeVerificationLocal".to_owned(),
        ];
        let watched = compile(&jdk, &options, &sources);
        assert_eq!(watched.printed, plain.printed, "{}", jdk.name());
        let is_same = |(name, bytes): &(&PathBuf, &Vec<u8>)| plain.files.get(*name) == Some(bytes);
        let differs = watched.files.iter().find(|file| !is_same(file));
        assert_eq!(differs.map(|it| it.0), None, "{}", jdk.name());
        assert_eq!(watched.files.len(), plain.files.len());

        let recording = Recording::read(&session);
        assert!(accesses(&recording, "java.util.HashMap") > 1000, "{}", jdk.name());
        assert!(accesses(&recording, "com.sun.tools.javac.util.List") > 1000, "{}", jdk.name());
        let races = findings(&recording);
        assert!(races.is_empty(), "{}: {races:#?}", jdk.name());
    }
}
