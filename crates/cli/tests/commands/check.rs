//! `unsnarl check`, `explain` and `demo` as their users run them: exit codes, forms, and what they say
//! when there is nothing to find or something is wrong with the input.

use std::path::Path;

use serde_json::Value;

use crate::support::{Outcome, Project, command, compile, messages, run, text};

/// A counter that two threads increment, one of them without the lock.
const COUNTER: &str = "package p;
public class Counter extends Thread {
    static Counter shared = new Counter();
    private int count;
    synchronized void locked() { count++; }
    void open() { count++; }
    public void run() { shared.open(); }
    public static void main(String[] arguments) {
        new Counter().start();
        shared.locked();
    }
}
";

fn check(arguments: &[&str]) -> Outcome {
    run("check", arguments)
}

/// The report as JSON, valid against its schema.
pub(crate) fn report(outcome: &Outcome) -> Value {
    let report: Value = serde_json::from_str(&outcome.out).expect(&outcome.messages);
    let schema = include_str!("../../../../docs/schema/findings-1.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&report).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    report
}

fn notes(report: &Value) -> Vec<&str> {
    report["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect()
}

pub(crate) fn has_note(report: &Value, words: &str) {
    assert!(notes(report).iter().any(|note| note.contains(words)), "{:?}", notes(report));
}

#[test]
fn a_race_is_found_and_decides_the_exit_status() {
    let project = Project::new("Counter.java", COUNTER);
    let classes = project.classes();
    let classes = text(&classes);
    let found = check(&[classes, "--format", "json"]);
    assert_eq!((found.status, found.messages.as_str()), (1, ""));
    let report = report(&found);
    let finding = &report["findings"][0];
    assert_eq!(finding["rule"], "data-race");
    assert_eq!(finding["variable"], serde_json::json!({"class": "p.Counter", "field": "count"}));
    let lines: Vec<&Value> = finding["accesses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|access| &access["stack"][0]["line"])
        .collect();
    assert!(lines.contains(&&6.into()), "{lines:?}");
    for count in ["classes", "methods", "threads", "objects", "events"] {
        assert!(report["stats"][count].as_u64().unwrap() > 0, "{count}");
    }
    for time in ["seconds", "seconds_reading", "seconds_heap", "seconds_detectors"] {
        assert!(report["stats"][time].is_f64(), "{time}");
    }

    let text = check(&[classes]);
    assert_eq!((text.status, text.messages.as_str()), (1, ""));
    assert!(text.out.contains("[data-race]: ") && text.out.contains("--> p.Counter.count ("));
    assert!(text.out.contains("Counter.java:6"), "{}", text.out);
    assert!(text.out.lines().all(|line| line.chars().count() <= 100), "{}", text.out);

    assert_eq!(check(&[classes, "--fail-on", "never"]).status, 0);
    assert_eq!(check(&[classes, "--fail-on", "note"]).status, 1);
    assert_eq!(check(&[classes, "--library"]).status, 1);
}

#[test]
fn findings_can_be_chosen() {
    let project = Project::new("Counter.java", COUNTER);
    let classes = project.classes();
    let classes = text(&classes);
    let other = check(&[classes, "--rules", "unsafe-publication", "--format", "json"]);
    assert_eq!((other.status, &report(&other)["findings"]), (0, &serde_json::json!([])));
    let later = check(&[classes, "--rules", "discipline-drift", "--format", "json"]);
    has_note(&report(&later), "no static detector finds discipline-drift");
    let sure = check(&[classes, "--min-confidence", "1", "--format", "json"]);
    assert_eq!((sure.status, &report(&sure)["findings"]), (0, &serde_json::json!([])));
    has_note(&report(&sure), "less sure than --min-confidence");

    let unknown = check(&[classes, "--rules", "data-rase"]);
    assert_eq!((unknown.status, unknown.out.as_str()), (2, ""));
    assert!(unknown.messages.contains("'data-race'"), "{}", unknown.messages);
}

#[test]
fn the_report_goes_where_it_should_and_is_the_same_twice() {
    let project = Project::new("Counter.java", COUNTER);
    let classes = project.classes();
    let file = project.folder.path().join("report.txt");
    let silent = check(&[text(&classes), "--output", text(&file)]);
    assert_eq!((silent.status, silent.out.as_str(), silent.messages.as_str()), (1, "", ""));
    let once = std::fs::read_to_string(&file).unwrap();
    assert_eq!(once, check(&[text(&classes)]).out);
    let coloured = check(&[text(&classes), "--color", "always"]);
    assert!(coloured.out.contains("\u{1b}[") && !once.contains('\u{1b}'));
    let verbose = check(&[text(&classes), "-v"]);
    assert!(verbose.messages.contains("reading took "), "{}", verbose.messages);
}

#[test]
fn a_program_without_threads_is_told_why_nothing_is_found() {
    let source = "public class Alone {
        static int count;
        public static void main(String[] a) { count++; }
    }";
    let project = Project::new("Alone.java", source);
    let outcome = check(&[text(&project.classes()), "--format", "json"]);
    assert_eq!(outcome.status, 0, "{}", outcome.messages);
    let report = report(&outcome);
    assert_eq!(report["findings"], serde_json::json!([]));
    has_note(&report, "the program starts no thread, so nothing can race: no statement");
    assert_eq!(report["stats"]["threads"], 1);
}

#[test]
fn threads_that_no_entry_point_reaches_are_named() {
    let source = "public class Idle {
        public static void main(String[] a) { }
        public void begin() { new Thread(() -> System.out.println()).start(); }
    }";
    let project = Project::new("Idle.java", source);
    let classes = project.classes();
    let outcome = check(&[text(&classes), "--format", "json"]);
    has_note(&report(&outcome), "Idle.begin() starts one, but no entry point reaches it");
    let entered = check(&[text(&classes), "--entry", "Idle.begin", "--format", "json"]);
    assert!(!notes(&report(&entered)).iter().any(|note| note.contains("starts no thread")));
}

#[test]
fn a_program_that_begins_nowhere_is_an_error_with_advice() {
    let source = "public class Hidden {
        static void main(String[] a) { }
        void handle() { }
    }";
    let project = Project::new("Hidden.java", source);
    let classes = project.classes();
    // A class file of Java 25 or later may begin there.
    let mut javac = unsnarl_testing::jdk().command("javac");
    javac.args(["--release", "17", "-d"]).arg(&classes);
    unsnarl_testing::run(javac.arg(project.folder.path().join("Hidden.java")));
    let outcome = check(&[text(&classes)]);
    assert_eq!((outcome.status, messages(&outcome).len()), (2, 1), "{}", outcome.messages);
    for word in ["no main method", "Hidden.main is not 'public static", "--entry", "--library"] {
        assert!(outcome.messages.contains(word), "{word}: {}", outcome.messages);
    }
    let near = check(&[text(&classes), "--entry", "Hidden.handel"]);
    assert_eq!((near.status, messages(&near).len()), (2, 1), "{}", near.messages);
    assert!(near.messages.contains("near it are Hidden.handle"), "{}", near.messages);
    assert_eq!(check(&[text(&classes), "--entry", "Hidden.handle"]).status, 0);
}

#[test]
fn classes_that_are_missing_are_named() {
    let source = "public class Uses {
        public static void main(String[] a) throws Exception { new Gone().run(); }
    }
    class Gone extends Thread { public void run() { } }";
    let project = Project::new("Uses.java", source);
    std::fs::remove_file(project.classes().join("Gone.class")).unwrap();
    let outcome = check(&[text(&project.classes()), "--format", "json"]);
    assert_eq!(outcome.status, 0, "{}", outcome.messages);
    let report = report(&outcome);
    has_note(&report, "Gone");
    has_note(&report, "classes that were not found");
    has_note(&report, "starts one, unless a class that was not found does");
    has_note(&report, "--classpath");
}

#[test]
fn bad_input_is_named_and_the_rest_is_checked() {
    let project = Project::new("Counter.java", COUNTER);
    let classes = project.classes();
    let whole = std::fs::read(classes.join("p/Counter.class")).unwrap();
    let cut = project.write("Cut.class", &whole[..whole.len() / 2]);
    let text_jar = project.write("text.jar", b"not a jar at all\n");
    let empty = project.folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let missing = project.folder.path().join("missing.jar");
    for (input, word) in
        [(&cut, "Cut.class"), (&text_jar, "text.jar"), (&empty, "no class"), (&missing, "missing")]
    {
        let outcome = check(&[text(input)]);
        assert_eq!((outcome.status, outcome.out.as_str()), (2, ""), "{word}");
        assert_eq!(messages(&outcome).len(), 1, "{}", outcome.messages);
        assert!(outcome.messages.contains(word), "{}", outcome.messages);

        let both = check(&[text(input), text(&classes), "--format", "json"]);
        assert_eq!(both.status, 1, "{word}: {}", both.messages);
        let report = report(&both);
        assert_eq!(report["findings"][0]["variable"]["field"], "count", "{word}");
        if input != &empty {
            has_note(&report, word);
            assert_eq!(messages(&both).len(), 1, "{}", both.messages);
        }
    }
    let other = project.write("Other.java", b"class Other { int x; void m() { x++; } }");
    compile(&other, &classes);
    let broken = std::fs::read(classes.join("Other.class")).unwrap();
    std::fs::write(classes.join("Other.class"), &broken[..broken.len() - 9]).unwrap();
    let rest = check(&[text(&classes)]);
    assert_eq!(rest.status, 1);
    assert!(rest.out.contains("Other.class: at byte "), "{}", rest.out);
    assert_eq!(rest.messages, "");

    let no_jdk = check(&[text(&classes), "--jdk", text(&empty)]);
    assert_eq!((no_jdk.status, messages(&no_jdk).len()), (2, 1), "{}", no_jdk.messages);
    assert!(no_jdk.messages.contains("not a JDK"), "{}", no_jdk.messages);
    let nowhere = command("check", &[text(&classes)]).env_clear().env("PATH", &empty).output();
    let nowhere = String::from_utf8(nowhere.unwrap().stderr).unwrap();
    assert!(nowhere.contains("name one with --jdk (no JDK found: looked at"), "{nowhere}");

    let models = project.write("bad.toml", b"schema = \"unsnarl.models/9\"\n");
    let outcome = check(&[text(&classes), "--models", text(&models)]);
    assert_eq!((outcome.status, messages(&outcome).len()), (2, 1), "{}", outcome.messages);
    let nowhere = check(&[text(&classes), "--output", "/no/such/folder/report.txt"]);
    assert_eq!((nowhere.status, messages(&nowhere).len()), (2, 1), "{}", nowhere.messages);
}

#[test]
fn a_rule_is_explained_by_its_page() {
    let page = run("explain", &["data-race"]);
    assert_eq!(page.status, 0);
    assert_eq!(page.out, include_str!("../../../../docs/rules/data-race.md"));
    let planned = run("explain", &["discipline-drift"]);
    assert!(planned.status == 0 && planned.out.contains("No detector of this version"));
    let unknown = run("explain", &["data-rase"]);
    assert_eq!((unknown.status, unknown.out.as_str()), (2, ""));
    assert!(unknown.messages.contains("did you mean data-race?"), "{}", unknown.messages);
    let input = run("explain", &["data-race", "some.jar"]);
    assert_eq!((input.status, input.out), (0, page.out));
    let coloured = run("explain", &["data-race", "--color", "always"]);
    assert!(coloured.out.starts_with("\u{1b}[1m# "), "{}", coloured.out);
}

#[test]
fn a_field_is_explained() {
    let project = Project::new("Counter.java", COUNTER);
    let classes = project.classes();
    for name in ["p.Counter.count", "Counter.count"] {
        let outcome = run("explain", &[name, text(&classes)]);
        assert_eq!(outcome.status, 0, "{}", outcome.messages);
        assert!(outcome.out.contains("count"), "{}", outcome.out);
    }
    let near = run("explain", &["Counter.cout", text(&classes)]);
    assert_eq!((near.status, near.out.as_str()), (2, ""));
    assert!(near.messages.contains("did you mean p.Counter.count?"), "{}", near.messages);
    let alone = run("explain", &["Counter.count"]);
    assert!(alone.status == 2 && alone.messages.contains("INPUT"), "{}", alone.messages);
}

#[test]
fn the_demonstration_runs() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    for _ in 0..2 {
        let outcome = run("demo", &["--keep", text(&kept)]);
        assert_eq!((outcome.status, outcome.messages.as_str()), (0, ""));
        for word in ["== bank: ", "== orders: ", "== chat", "What to try next"] {
            assert!(outcome.out.contains(word), "{word}: {}", outcome.out);
        }
    }
    assert!(kept.join("bank/Bank.java").exists());
    let page = std::fs::read_to_string(kept.join("report.html")).unwrap();
    for word in ["bank.Account.balance", "suspected", "observed"] {
        assert!(page.contains(word), "{word}");
    }
    assert!(kept.join("bank/classes/bank/Account.class").exists());
    let none = run("demo", &["--jdk", text(folder.path())]);
    assert!(none.status == 2 && none.messages.contains("no javac"), "{}", none.messages);
}

/// What the comments of the examples say, and nothing else.
#[test]
fn the_examples_have_the_bugs_that_they_promise() {
    let folder = tempfile::tempdir().unwrap();
    run("demo", &["--keep", text(folder.path())]);
    for (example, promised) in [
        ("bank", vec!["data-race bank.Account.balance"]),
        (
            "catalog",
            vec!["data-race catalog.Catalog.instance", "unsafe-publication catalog.Catalog.prices"],
        ),
        ("orders", vec![]),
        ("crawler", vec!["data-race crawler.Crawler.visited"]),
        ("heartbeat", vec!["data-race heartbeat.Heartbeat.running"]),
        ("chat", vec!["data-race chat.Chat.lastSpeaker"]),
    ] {
        let classes = folder.path().join(example).join("classes");
        if !classes.exists() {
            continue;
        }
        let report = report(&check(&[text(&classes), "--format", "json"]));
        let found: Vec<String> = report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                let (class, field) =
                    (text(&finding["variable"]["class"]), text(&finding["variable"]["field"]));
                format!("{} {class}.{field}", text(&finding["rule"]))
            })
            .collect();
        assert_eq!(found, promised, "{example}");
    }
}

#[test]
fn the_demonstration_says_what_to_install() {
    if Path::new("/usr/lib/jvm").exists() {
        return;
    }
    let mut command = crate::support::command("demo", &[]);
    let output = command.env_remove("JAVA_HOME").env("PATH", "").output().unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(messages.contains("install a JDK"), "{messages}");
}
