//! `unsnarl analyze` as its users run it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::check::{has_note, report};
use crate::support::{Outcome, run, text};

/// A write and a read that nothing orders, and a write that a lock orders after both.
const RACE: &str = "T0|w(V1)|3\nT1|r(V1)|17\nT1|acq(L0)|18\n";

fn analyze(arguments: &[&str]) -> Outcome {
    run("analyze", arguments)
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }
}

/// Location, detector and variable of every racing event that the lines of a trace expect:
/// `T1|r(V0)|6 //~ happens-before(V0)`.
fn expected(trace: &str) -> BTreeSet<(String, String, String)> {
    let mut expected = BTreeSet::new();
    for line in trace.lines() {
        let Some((event, expectations)) = line.split_once("//~") else { continue };
        let location = event.trim().rsplit('|').next().unwrap();
        for expectation in expectations.split_whitespace() {
            let (detector, variable) = expectation.trim_end_matches(')').split_once('(').unwrap();
            expected.insert((location.to_owned(), detector.to_owned(), variable.to_owned()));
        }
    }
    expected
}

#[test]
fn racing_events_of_the_fixtures_are_those_on_the_lines() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces");
    let mut racy = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let expected = expected(&std::fs::read_to_string(&path).unwrap());
        let outcome = analyze(&[text(&path), "--format", "tsv"]);
        assert_eq!(outcome.messages, "", "{name}");
        assert_eq!(outcome.status, i32::from(!expected.is_empty()), "{name}");
        let lines: Vec<Vec<&str>> =
            outcome.out.lines().map(|line| line.split('\t').collect()).collect();
        let found: BTreeSet<(String, String, String)> = lines
            .iter()
            .map(|line| {
                assert_eq!((line.len(), line[0]), (4, &*format!("{name}.std")));
                (line[2].to_owned(), line[1].to_owned(), line[3].to_owned())
            })
            .collect();
        assert_eq!(found, expected, "{name}");
        match name.strip_suffix("-ok") {
            Some(twin) => {
                assert!(expected.is_empty(), "{name} expects a race");
                assert!(folder.join(format!("{twin}.std")).is_file(), "{name} has no racy twin");
            }
            None => {
                assert!(!expected.is_empty(), "{name} expects nothing");
                let twin = folder.join(format!("{name}-ok.std"));
                assert!(twin.is_file(), "{name} has no correct twin");
                racy += 1;
            }
        }
    }
    assert!(racy > 0, "there are no fixtures");
}

#[test]
fn a_race_is_told_in_every_form_and_decides_the_exit_status() {
    let folder = Folder::new();
    let trace = folder.write("a.std", RACE);
    let trace = text(&trace);
    let json = analyze(&[trace, "--format", "json"]);
    assert_eq!((json.status, json.messages.as_str()), (1, ""));
    let report = report(&json);
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1);
    let finding = &findings[0];
    assert_eq!(finding["rule"], "data-race");
    assert_eq!(finding["evidence"], serde_json::json!(["observed"]));
    assert_eq!(finding["detectors"], serde_json::json!(["dynamic/happens-before"]));
    assert_eq!(finding["variable"], serde_json::json!({ "class": null, "field": "V1" }));
    let access = |kind, thread, location| {
        serde_json::json!({
            "kind": kind, "thread": thread, "locks": [], "stack": [{ "location": location }]
        })
    };
    assert_eq!(
        finding["accesses"],
        serde_json::json!([access("write", "T0", 3), access("read", "T1", 17)])
    );
    for (name, count) in [("traces", 1), ("events", 3), ("threads", 2), ("racing_events", 1)] {
        assert_eq!(report["stats"][name], count, "{name}");
    }

    let shown = analyze(&[trace]);
    assert_eq!((shown.status, shown.messages.as_str()), (1, ""));
    assert!(shown.out.contains("error[data-race]: V1 is written by T0 at location 3"));
    assert!(shown.out.lines().all(|line| line.chars().count() <= 100), "{}", shown.out);

    let table = analyze(&[trace, "--detect", "happens-before", "--format", "tsv"]);
    assert_eq!((table.status, table.out.as_str()), (1, "a.std\thappens-before\t17\tV1\n"));
    assert_eq!(analyze(&[trace, "--fail-on", "never"]).status, 0);
    let file = folder.0.path().join("out.tsv");
    let to_file = analyze(&[trace, "--format", "tsv", "-o", text(&file)]);
    assert_eq!((to_file.status, to_file.out.as_str()), (1, ""));
    assert_eq!(std::fs::read_to_string(file).unwrap(), table.out);
}

#[test]
fn the_locks_held_are_told_and_pairs_of_locations_are_told_apart() {
    let folder = Folder::new();
    let trace = "T0|acq(L7)|1\nT0|acq(L7)|1\nT0|w(V)|2\nT1|w(V)|3\nT1|w(V)|4\nT0|w(V)|2\n";
    let trace = folder.write("a.std", trace);
    let json = analyze(&[text(&trace), "--format", "json"]);
    let report = report(&json);
    let findings = report["findings"].as_array().unwrap();
    // 2 and 3, 2 and 4; that 4 was before 2 as well is the same pair.
    assert_eq!(findings.len(), 2, "{}", json.out);
    for finding in findings {
        let by_main = &finding["accesses"][0];
        assert_eq!((&by_main["thread"], &by_main["locks"][0]), (&"T0".into(), &"L7".into()));
        assert_eq!(by_main["locks"].as_array().unwrap().len(), 1);
        assert_eq!(finding["accesses"][1]["locks"].as_array().unwrap().len(), 0);
    }
}

#[test]
fn several_traces_are_one_report() {
    let folder = Folder::new();
    let (one, same_name) = (folder.write("a.std", RACE), folder.write("b/a.std", RACE));
    let clean = folder.write("c.std", "T0|w(V1)|1\n");
    let table = analyze(&[
        text(&one),
        text(&same_name),
        text(&clean),
        "--format",
        "tsv",
        "--fail-on",
        "note",
    ]);
    let names: Vec<&str> = table.out.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(names, [text(&one), text(&same_name)]);
    assert_eq!(table.status, 1);
    assert_eq!(analyze(&[text(&clean)]).status, 0);
}

#[test]
fn damage_is_skipped_and_noted_and_the_rest_is_analysed() {
    let folder = Folder::new();
    let damaged = folder.write("a.std", format!("T0|w(V1\n{RACE}what\n"));
    let outcome = analyze(&[text(&damaged), "--format", "json"]);
    assert_eq!(outcome.status, 1);
    let report = report(&outcome);
    has_note(&report, "a.std: line 1: expected a second '|'");
    has_note(&report, "a.std: line 5: expected thread|operation|location, found 'what' (skipped)");
    assert!(outcome.messages.contains("line 5"), "{}", outcome.messages);
    let many = folder.write("many.std", format!("{RACE}{}", "what\n".repeat(30)));
    assert!(analyze(&[text(&many)]).out.contains("many.std: 25 more such places were skipped"));

    let word = |location: u64, target: u64, operation: u64, thread: u64| {
        (location << 48 | target << 14 | operation << 10 | thread).to_be_bytes()
    };
    let mut binary = vec![0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9];
    binary.extend(word(3, 1, 3, 0));
    binary.extend(word(17, 1, 2, 1));
    let binary = folder.write("a.bin", binary);
    let table = analyze(&[text(&binary), "--format", "tsv"]);
    assert_eq!((table.status, table.out.as_str()), (1, "a.bin\thappens-before\t17\tV1\n"));
    assert!(table.messages.contains("found 2 of 9"), "{}", table.messages);
}

#[test]
fn what_cannot_be_read_is_status_2_unless_something_else_can() {
    let folder = Folder::new();
    let missing = folder.0.path().join("missing.std");
    let jar = folder.write("a.jar", b"PK\x03\x04 and so on\n");
    for (path, words) in [
        (&missing, "cannot open"),
        (&jar, "is no trace: line 1"),
        (&folder.0.path().to_owned(), "folder"),
    ] {
        let outcome = analyze(&[text(path)]);
        assert_eq!((outcome.status, outcome.out.as_str()), (2, ""));
        assert!(outcome.messages.contains(words), "{}", outcome.messages);
        assert!(outcome.messages.contains(text(path)), "{}", outcome.messages);
    }
    let trace = folder.write("a.std", RACE);
    let outcome = analyze(&[text(&missing), text(&trace), "--format", "json"]);
    assert_eq!(outcome.status, 1);
    has_note(&report(&outcome), "missing.std");
}

/// Where methods are entered is where they are called; an exit ends all that was entered in the method.
#[test]
fn methods_of_a_trace_make_stacks() {
    let folder = Folder::new();
    let trace = "T0|enter(M0)|1\nT0|enter(M1)|2\nT0|w(V1)|3\nT0|exit(M1)|4\nT0|w(V2)|5\n\
                 T1|exit(M5)|6\nT1|enter(M1)|7\nT1|enter(M2)|8\nT1|enter(M3)|9\nT1|exit(M2)|10\n\
                 T1|w(V1)|11\nT1|exit(M1)|12\nT1|w(V2)|13\n";
    let path = folder.write("trace.std", trace);
    let outcome = analyze(&[text(&path), "--format", "json"]);
    let report = report(&outcome);
    let findings = report["findings"].as_array().unwrap();
    let stacks = findings.iter().flat_map(|finding| finding["accesses"].as_array().unwrap());
    let stacks: BTreeSet<Vec<u64>> = stacks
        .map(|access| {
            let stack = access["stack"].as_array().unwrap().iter();
            stack.map(|frame| frame["location"].as_u64().unwrap()).collect()
        })
        .collect();
    assert_eq!(stacks, [vec![3, 2, 1], vec![5, 1], vec![11, 7], vec![13]].into());
}
