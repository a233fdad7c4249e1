//! `unsnarl inspect` as its users run it: every view in every form, and what it says of bad input.

use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Outcome, Project, compile, messages, text};

/// A program that starts a thread, and two classes one above the other.
fn project() -> Project {
    let text = "public class Main {\n  static int count;\n  public static void main(String[] a) {\n    \
                Thread t = new Thread(() -> count++);\n    t.start();\n  }\n}\n\
                class Above { }\nclass Below extends Above { }\n";
    Project::new("Main.java", text)
}

fn command(arguments: &[&str]) -> Command {
    crate::support::command("inspect", arguments)
}

fn run(arguments: &[&str]) -> Outcome {
    crate::support::run("inspect", arguments)
}

#[test]
fn the_summary_has_what_it_promises() {
    let project = project();
    let outcome = run(&[text(&project.classes()), "--format", "json"]);
    assert_eq!((outcome.status, outcome.messages.as_str()), (0, ""));
    let summary: Value = serde_json::from_str(&outcome.out).unwrap();
    for (member, expected) in [
        ("classes", 3),
        ("methods", 5),
        ("bodies", 5),
        ("thread_starts", 1),
        ("entry_points", 1),
        ("phantoms", 0),
    ] {
        assert_eq!(summary[member], expected, "{member}");
    }
    assert_eq!(summary["failed"], Value::Array(Vec::new()));
    assert!(summary["reachable_methods"].as_u64().unwrap() >= 2);
    assert!(summary["call_edges"].as_u64().unwrap() >= 1);
    assert!(summary["seconds"].is_f64());
}

#[test]
fn every_view_has_its_forms_and_says_the_same_twice() {
    let project = project();
    let classes = project.classes();
    for what in ["summary", "classes", "ssa", "callgraph", "threads", "heap", "oug"] {
        for format in ["text", "json", "dot"] {
            let arguments = [text(&classes), "--what", what, "--format", format];
            let outcome = run(&arguments);
            if (what, format) == ("summary", "dot") {
                assert_eq!(outcome.status, 2);
                assert!(outcome.messages.contains("not a graph"), "{}", outcome.messages);
                continue;
            }
            assert_eq!(outcome.status, 0, "{what} {format}: {}", outcome.messages);
            match format {
                "json" => {
                    let view: Value = serde_json::from_str(&outcome.out).unwrap();
                    assert_eq!(view["schema"], format!("unsnarl.inspect.{what}/1"));
                }
                "dot" => assert!(outcome.out.starts_with("digraph"), "{}", outcome.out),
                _ => assert!(!outcome.out.is_empty()),
            }
            // The time differs.
            if what != "summary" {
                assert_eq!(run(&arguments).out, outcome.out, "{what} {format}");
            }
        }
    }
}

#[test]
fn threads_are_shown_with_place_and_code() {
    let project = project();
    let outcome = run(&[text(&project.classes()), "--what", "threads"]);
    let expected = "thread started by Main.main (Main.java:5)\n    runs Main.lambda$main$0()\n    \
                    is thread at Main.java:5: one thread\n";
    assert_eq!(outcome.out, expected);
}

#[test]
fn use_graphs_are_chosen_by_the_ids_of_the_heap() {
    let project = project();
    let classes = project.classes();
    let heap = run(&[text(&classes), "--what", "heap", "--format", "json"]);
    let heap: Value = serde_json::from_str(&heap.out).unwrap();
    let objects = heap["objects"].as_array().unwrap();
    assert!(objects.len() > 1, "{heap}");
    for object in objects {
        let id = object["id"].as_str().unwrap();
        let arguments = [text(&classes), "--what", "oug", "--object", id, "--format"];
        let of = |format| {
            let outcome = run(&[&arguments[..], &[format]].concat());
            assert_eq!(outcome.status, 0, "{}", outcome.messages);
            outcome.out
        };
        let graphs: Value = serde_json::from_str(&of("json")).unwrap();
        let graphs = graphs["graphs"].as_array().unwrap();
        assert_eq!(graphs.len(), 1);
        for member in ["id", "class", "kind", "made", "thread"] {
            assert_eq!(graphs[0]["object"][member], object[member], "{id} {member}");
        }
        let title = format!("{id} ");
        assert!(of("text").starts_with(&title));
        assert!(
            of("dot").contains(&format!("{id}.u")) || graphs[0]["nodes"] == Value::Array(vec![])
        );
    }
    let both = run(&[text(&classes), "--what", "oug", "--object", "o1,o2", "--format", "json"]);
    let both: Value = serde_json::from_str(&both.out).unwrap();
    assert_eq!(both["graphs"].as_array().unwrap().len(), 2);
}

#[test]
fn an_object_that_is_not_there_is_told() {
    let project = project();
    let classes = project.classes();
    let outcome = run(&[text(&classes), "--what", "oug", "--object", "o999"]);
    assert_eq!((outcome.status, outcome.out.as_str()), (2, ""));
    assert!(outcome.messages.contains("no object has the id 'o999'"), "{}", outcome.messages);
    assert!(outcome.messages.contains("from o1 to o"), "{}", outcome.messages);
    let none = run(&[text(&classes), "--what", "oug", "--object", "o1", "--class", "no.Such"]);
    assert_eq!(none.status, 2);
    assert!(none.messages.contains("--class 'no.Such', and there is none"), "{}", none.messages);
    let other = run(&[text(&classes), "--what", "heap", "--object", "o1"]);
    assert_eq!(other.status, 2);
    assert!(other.messages.contains("goes with --what oug"), "{}", other.messages);
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let project = project();
    let jdk = project.classes();
    let mut child = command(&[text(&jdk), "--what", "ssa"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut messages = String::new();
    child.stderr.take().unwrap().read_to_string(&mut messages).unwrap();
    assert_eq!((child.wait().unwrap().code(), messages.as_str()), (Some(0), ""));
}

#[test]
fn a_truncated_class_is_named_and_the_rest_is_read() {
    let project = project();
    let whole = std::fs::read(project.classes().join("Main.class")).unwrap();
    let cut = project.write("Cut.class", &whole[..whole.len() / 2]);
    let alone = run(&[text(&cut)]);
    assert_eq!(alone.status, 2);
    assert!(alone.messages.contains("Cut.class") && alone.messages.contains("expected"));

    let inside = project.classes().join("Above.class");
    let above = std::fs::read(&inside).unwrap();
    std::fs::write(&inside, &above[..above.len() - 3]).unwrap();
    let rest = run(&[text(&project.classes()), "--format", "json"]);
    assert_eq!((rest.status, messages(&rest).len()), (0, 1), "{}", rest.messages);
    assert!(rest.messages.contains("Above.class: at byte "), "{}", rest.messages);
    let summary: Value = serde_json::from_str(&rest.out).unwrap();
    assert_eq!((&summary["classes"], summary["failed"].as_array().unwrap().len()), (&2.into(), 1));
    assert!(summary["failed"][0]["file"].as_str().unwrap().ends_with("Above.class"));
}

#[test]
fn things_that_are_not_there_or_not_what_they_seem() {
    let project = project();
    let classes = project.classes();
    let text_jar = project.write("text.jar", b"not a jar at all\n");
    let empty = project.folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();

    for (input, word) in [(&text_jar, "text.jar"), (&empty, "no class")] {
        let outcome = run(&[text(input)]);
        assert_eq!((outcome.status, messages(&outcome).len()), (2, 1), "{}", outcome.messages);
        assert!(outcome.messages.contains(word), "{}", outcome.messages);
    }
    let both = run(&[text(&text_jar), text(&classes)]);
    assert_eq!((both.status, messages(&both).len()), (0, 1), "{}", both.messages);
    let missing = run(&[text(&classes), "--classpath", "nowhere.jar"]);
    assert_eq!((missing.status, messages(&missing).len()), (0, 1), "{}", missing.messages);
    assert!(missing.messages.contains("nowhere.jar: no such file"), "{}", missing.messages);
    let no_image = run(&[text(&classes), "--jdk", text(&empty)]);
    assert_eq!((no_image.status, messages(&no_image).len()), (0, 1), "{}", no_image.messages);
    assert!(no_image.messages.contains("not a JDK"), "{}", no_image.messages);
    assert_eq!(run(&["--jdk", text(&empty)]).status, 2);
}

#[test]
fn a_cyclic_hierarchy_is_cut_and_told() {
    let project = project();
    let source = project.write("Above.java", b"class Above extends Below { } class Below { }");
    let other = project.folder.path().join("other");
    compile(&source, &other);
    std::fs::copy(other.join("Above.class"), project.classes().join("Above.class")).unwrap();
    let outcome = run(&[text(&project.classes())]);
    assert_eq!((outcome.status, messages(&outcome).len()), (0, 1), "{}", outcome.messages);
    assert!(outcome.messages.contains("expected a hierarchy without cycles"));
}

#[test]
fn a_jar_with_a_broken_entry_loses_that_entry_alone() {
    let project = project();
    let jar = project.folder.path().join("app.jar");
    let made = unsnarl_testing::jdk()
        .command("jar")
        .args([
            "--create",
            "--no-compress",
            "--file",
            text(&jar),
            "-C",
            text(&project.classes()),
            ".",
        ])
        .status();
    assert!(made.unwrap().success());
    let mut bytes = std::fs::read(&jar).unwrap();
    let needle = b"LAbove;";
    let place = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    bytes[place] ^= 0xff;
    std::fs::write(&jar, bytes).unwrap();
    let outcome = run(&[text(&jar)]);
    assert_eq!((outcome.status, messages(&outcome).len()), (0, 1), "{}", outcome.messages);
    assert!(outcome.messages.contains("wrong checksum"), "{}", outcome.messages);
}

#[test]
fn wishes_that_cannot_be_met_are_told() {
    let project = project();
    let classes = project.classes();
    let entry = run(&[text(&classes), "--entry", "no.such.method", "--format", "json"]);
    assert_eq!(entry.status, 0);
    let summary: Value = serde_json::from_str(&entry.out).unwrap();
    let notes = summary["notes"].to_string();
    assert!(notes.contains("no method fits the entry point 'no.such.method'"), "{notes}");

    let models = project.write(
        "bad.toml",
        b"schema = \"unsnarl.models/1\"\n[methods.\"a.B\"]\n\"m()\" = \"fly this\"\n",
    );
    let outcome = run(&[text(&classes), "--models", text(&models)]);
    assert_eq!((outcome.status, messages(&outcome).len()), (2, 1), "{}", outcome.messages);
    assert!(outcome.messages.contains("bad.toml") && outcome.messages.contains("fly"));
}
