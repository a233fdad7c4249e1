//! `unsnarl explain` of methods and findings.

use crate::support::{Project, run, text};

const COUNTER: &str = "package p;
public class Counter extends Thread {
    static final Counter shared = new Counter();
    private int count;
    synchronized void add() { count++; }
    void add(int by) { count += by; }
    int count() { return count; }
    void unused() { }
    public void run() { shared.add(); }
    public static void main(String[] arguments) {
        new Counter().start();
        shared.add(2);
    }
}
";

#[test]
fn a_method_is_explained_with_its_threads_its_locks_and_what_it_shares() {
    let project = Project::new("Counter.java", COUNTER);
    let classes = project.classes();
    let explained = |name: &str| {
        let outcome = run("explain", &[name, text(&classes)]);
        assert_eq!((outcome.status, outcome.messages.as_str()), (0, ""), "{name}");
        outcome.out
    };
    let add = explained("p.Counter.add");
    let (locked, open) = add.split_once("\n\n").expect("there are two such methods");
    for (text, sentences) in [
        (
            locked,
            [
                "p.Counter.add() is a synchronized method",
                "it is run by Counter",
                "it accesses p.Counter.count, which threads share",
                "written at Counter.java:5 by Counter, holding p.Counter (this)",
                "part of a data-race with confidence",
            ],
        ),
        (
            open,
            [
                "p.Counter.add(int) is a method",
                "it is run by main",
                "it accesses p.Counter.count, which threads share",
                "written at Counter.java:6 by main, holding no lock",
                "part of a data-race with confidence",
            ],
        ),
    ] {
        for sentence in sentences {
            assert!(text.contains(sentence), "{sentence}: {text}");
        }
    }
    let main = explained("Counter.main");
    assert!(main.contains("it accesses nothing itself that threads share"), "{main}");
    assert!(main.contains("it is part of no finding of data-race"), "{main}");
    assert!(explained("Counter.unused").contains("no code that can be reached calls it"));
    assert!(explained("Counter.count").contains("p.Counter.count is a field"));
    assert!(explained("Counter.count()").contains("p.Counter.count() is a method"));
    let near = run("explain", &["Counter.mian", text(&classes)]);
    assert!(
        near.status == 2 && near.messages.contains("did you mean p.Counter.main?"),
        "{}",
        near.messages
    );
}

#[test]
fn a_finding_is_explained_by_its_fingerprint() {
    let project = Project::new("Counter.java", COUNTER);
    let classes = project.classes();
    let file = project.folder.path().join("findings.json");
    run("check", &[text(&classes), "--format", "json", "-o", text(&file)]);
    let findings: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let fingerprint = findings["findings"][0]["fingerprint"].as_str().unwrap();
    let from_report = run("explain", &[fingerprint, "--from", text(&file)]);
    let from_check = run("explain", &[fingerprint, text(&classes)]);
    for outcome in [from_report, from_check] {
        assert_eq!((outcome.status, outcome.messages.as_str()), (0, ""));
        for words in ["error[data-race]: Counter.count", "`unsnarl explain data-race` says more"] {
            assert!(outcome.out.contains(words), "{words}: {}", outcome.out);
        }
    }
    let other = run("explain", &["0000000000000000", "--from", text(&file)]);
    assert!(other.status == 2 && other.messages.contains("has the fingerprint 0000000000000000"));
    let alone = run("explain", &[fingerprint]);
    assert!(alone.status == 2 && alone.messages.contains("--from FILE"), "{}", alone.messages);
}
