//! `unsnarl analyze` as its users run it.

use std::collections::BTreeSet;
use std::path::PathBuf;

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

/// Detectors are chosen with commas or by repeating the option; two run when none is chosen.
#[test]
fn detectors_are_chosen() {
    let folder = Folder::new();
    let deadlock = "T0|acq(A)|1\nT0|acq(B)|2\nT0|rel(B)|3\nT0|rel(A)|4\n\
                    T1|acq(B)|5\nT1|acq(A)|6\nT1|w(V)|7\nT1|rel(A)|8\nT1|rel(B)|9\nT0|w(V)|10\n";
    let trace = folder.write("a.std", deadlock);
    let rules = |options: &[&str]| -> Vec<String> {
        let outcome = analyze(&[&[text(&trace), "--format", "json"], options].concat());
        let report = report(&outcome);
        let findings = report["findings"].as_array().unwrap().iter();
        findings.map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(rules(&[]), ["data-race", "lock-order-cycle"]);
    assert_eq!(rules(&["--detect", "lock-order"]), ["lock-order-cycle"]);
    let both = ["data-race", "lock-order-cycle", "lockset-race"];
    assert_eq!(rules(&["--detect", "eraser,lock-order", "--detect", "happens-before"]), both);

    let json = report(&analyze(&[text(&trace), "--detect", "lock-order", "--format", "json"]));
    let cycle = &json["findings"][0];
    assert_eq!(cycle["locks"], serde_json::json!(["A", "B"]));
    assert_eq!(cycle["evidence"], serde_json::json!(["predicted"]));
    let access = |thread, lock, location| {
        serde_json::json!({
            "kind": "acquire", "thread": thread, "locks": [lock], "stack": [{ "location": location }]
        })
    };
    assert_eq!(cycle["accesses"], serde_json::json!([access("T0", "A", 2), access("T1", "B", 6)]));
}

#[test]
fn every_pair_of_places_is_told_on_request() {
    let folder = Folder::new();
    let trace = folder.write("a.std", "T0|w(V)|1\nT0|w(V)|2\nT1|w(V)|3\n");
    let count = |options: &[&str]| {
        let outcome = analyze(&[&[text(&trace), "--format", "json"], options].concat());
        report(&outcome)["findings"].as_array().unwrap().len()
    };
    assert_eq!((count(&[]), count(&["--all"])), (1, 2));
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
