//! The forms of a report, with the source that is found for it, and `unsnarl report`.

use serde_json::Value;

use crate::support::{Project, command, run, text};

/// Two threads that count, in a package, as Maven would have them.
const COUNTER: &str = "package shop;

public class Counter extends Thread {
    static int visits;

    @Override
    public void run() {
        visits++;
    }

    public static void main(String[] arguments) {
        new Counter().start();
        new Counter().start();
    }
}
";

/// A project in the layout of Maven, compiled.
fn maven() -> Project {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("src/main/java/shop/Counter.java");
    std::fs::create_dir_all(source.parent().unwrap()).unwrap();
    std::fs::write(&source, COUNTER).unwrap();
    crate::support::compile(&source, &folder.path().join("target/classes"));
    Project { folder }
}

const MARKED: &str = "
   |   7 | public void run() {
   |   8 |     visits++;
   |     |     ^^^^^^
   |   9 | }
   |   at shop.Counter.run(Counter.java:8)
";

#[test]
fn source_is_found_in_the_layout_of_maven_in_a_jar_and_where_it_is_said_to_be() {
    let project = maven();
    let folder = project.folder.path();
    let classes = folder.join("target/classes");
    let near = run("check", &[text(&classes)]);
    assert!(near.out.contains(MARKED), "{}", near.out);

    // Somewhere else, where nothing is near.
    let other = tempfile::tempdir().unwrap();
    let jar = |name: &str, of: &str| {
        let jar = other.path().join(name);
        let mut tool = unsnarl_testing::jdk().command("jar");
        unsnarl_testing::run(tool.arg("cf").arg(&jar).arg("-C").arg(folder.join(of)).arg("."));
        jar
    };
    let program = jar("shop.jar", "target/classes");
    let alone = run("check", &[text(&program)]);
    assert!(!alone.out.contains("visits++;"), "{}", alone.out);
    let source = folder.join("src");
    let said = run("check", &[text(&program), "--source", text(&source)]);
    assert!(said.out.contains(MARKED), "{}", said.out);
    let sources = jar("shop-sources.jar", "src/main/java");
    let beside = run("check", &[text(&program)]);
    assert!(beside.out.contains(MARKED), "{}", beside.out);
    let said = run("check", &[text(&classes), "--source", text(&sources), "--format", "sarif"]);
    assert!(said.out.contains("shop-sources.jar!/shop/Counter.java"), "{}", said.out);

    std::fs::write(&sources, b"PK and nothing else").unwrap();
    let damaged = run("check", &[text(&program)]);
    assert_eq!(damaged.status, 1);
    assert!(damaged.messages.contains("shop-sources.jar"), "{}", damaged.messages);
    let missing = run("check", &[text(&program), "--source", "no/such"]);
    assert_eq!(missing.status, 2);
    assert!(missing.messages.contains("there is no no/such"), "{}", missing.messages);
}

#[test]
fn quiet_is_a_line_each_and_verbose_is_all() {
    let project = maven();
    let classes = project.folder.path().join("target/classes");
    let quiet = run("check", &[text(&classes), "-q"]);
    let lines: Vec<&str> = quiet.out.lines().collect();
    assert_eq!((lines.len(), quiet.status), (1, 1), "{}", quiet.out);
    assert!(
        lines[0].contains("src/main/java/shop/Counter.java:8: error[data-race]: "),
        "{lines:?}"
    );
    let verbose = run("check", &[text(&classes), "-v"]);
    assert!(verbose.out.contains(MARKED), "{}", verbose.out);
}

/// The same findings in every form, by check and by report.
#[test]
fn a_report_is_the_same_in_every_form() {
    let project = maven();
    let folder = project.folder.path();
    let classes = folder.join("target/classes");
    let json = folder.join("findings.json");
    let in_folder = |name: &str, arguments: &[&str]| {
        let output = command(name, arguments).current_dir(folder).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    in_folder("check", &["target/classes", "--format", "json", "-o", text(&json)]);
    let findings: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let fingerprint = findings["findings"][0]["fingerprint"].as_str().unwrap();
    for form in ["text", "json", "sarif", "html"] {
        let reported = in_folder("report", &[text(&json), &format!("--{form}")]);
        assert!(reported.contains(fingerprint), "{form}: {reported}");
        if form != "json" {
            assert!(reported.contains("visits++;"), "{form}: {reported}");
        }
        let checked = in_folder("check", &["target/classes", "--format", form]);
        let without_times = |text: &str| -> Vec<String> {
            let is_stable = |line: &&str| !line.contains("seconds");
            text.lines().filter(is_stable).map(str::to_owned).collect()
        };
        assert_eq!(without_times(&reported), without_times(&checked), "{form}");
    }
    let sarif: Value =
        serde_json::from_str(&in_folder("report", &[text(&json), "--sarif"])).unwrap();
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "src/main/java/shop/Counter.java");
    assert!(
        sarif["runs"][0]["tool"]["driver"]["rules"][0]["help"]["markdown"]
            .as_str()
            .unwrap()
            .starts_with("# data-race")
    );

    let twice = in_folder("report", &[text(&json), text(&json), "--json"]);
    let twice: Value = serde_json::from_str(&twice).unwrap();
    assert_eq!(twice["findings"], findings["findings"]);
    assert_eq!(twice["notes"], findings["notes"]);
    let missing = run("report", &[text(&classes)]);
    assert_eq!(missing.status, 2);
}

#[test]
fn a_run_shows_source_too() {
    let project = maven();
    let classes = project.folder.path().join("target/classes");
    let java = unsnarl_testing::jdk().tool("java");
    let ran = run("run", &["--", text(&java), "-cp", text(&classes), "shop.Counter"]);
    assert!(ran.messages.contains(MARKED), "{}", ran.messages);
}
