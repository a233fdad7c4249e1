//! Baselines and suppressions: what is accepted counts no more, is counted, and can be seen.

use std::path::Path;

use serde_json::Value;

use crate::check::{has_note, report};
use crate::config::run_in;
use crate::support::{Outcome, Project, compile, text};

/// Two counters that two threads increment without a lock.
const STATS: &str = "package p;
public class Stats extends Thread {
    static final Stats shared = new Stats();
    int hits;
    int misses;
    void add() {
        shared.hits++;
        shared.misses++;
    }
    public void run() { add(); }
    public static void main(String[] arguments) {
        new Stats().start();
        shared.add();
    }
}
";

fn project(source: &str) -> Project {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("src/p/Stats.java");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, source).unwrap();
    compile(&path, &folder.path().join("classes"));
    Project { folder }
}

fn check(folder: &Path, options: &[&str]) -> Outcome {
    run_in(folder, "check", &[&["classes", "--rules", "data-race"], options].concat())
}

/// The fields of the findings that are suppressed, and of those that are not.
fn fields(report: &Value) -> [Vec<&str>; 2] {
    let findings = report["findings"].as_array().unwrap();
    let of = |is_suppressed: bool| {
        let mut fields: Vec<&str> = findings
            .iter()
            .filter(|finding| finding.get("suppression").is_some() == is_suppressed)
            .map(|finding| finding["variable"]["field"].as_str().unwrap())
            .collect();
        fields.sort_unstable();
        fields
    };
    [of(true), of(false)]
}

fn summary(outcome: &Outcome) -> &str {
    outcome.out.lines().last().unwrap()
}

#[test]
fn only_findings_that_are_not_in_the_baseline_count() {
    let project = project(&STATS.replace("shared.misses++", "misses++"));
    let folder = project.folder.path();
    assert_eq!(check(folder, &[]).status, 1);
    let written = check(folder, &["--write-baseline", "base.json"]);
    assert_eq!(written.status, 0, "{}", written.messages);
    assert!(written.out.contains("base.json holds 1 finding now"), "{}", written.out);
    let baseline = std::fs::read_to_string(folder.join("base.json")).unwrap();
    assert!(
        baseline.contains("\"rule\": \"data-race\", \"subject\": \"p.Stats.hits\" }"),
        "{baseline}"
    );

    let known = check(folder, &["--baseline", "base.json"]);
    assert_eq!((known.status, known.messages.as_str()), (0, ""));
    assert!(
        !known.out.contains("[data-race]") && summary(&known).ends_with("1 suppressed"),
        "{}",
        known.out
    );
    let shown = check(folder, &["--baseline", "base.json", "--show-suppressed"]);
    assert_eq!(shown.status, 0);
    assert!(
        shown.out.contains("[data-race]") && shown.out.contains("in the baseline base.json"),
        "{}",
        shown.out
    );

    // A second race is new.
    std::fs::write(folder.join("src/p/Stats.java"), STATS).unwrap();
    compile(&folder.join("src/p/Stats.java"), &folder.join("classes"));
    let both = check(folder, &["--baseline", "base.json", "--format", "json"]);
    assert_eq!(both.status, 1);
    assert_eq!(fields(&report(&both)), [vec!["hits"], vec!["misses"]]);
    assert_eq!(report(&both)["stats"]["suppressed"], 1);
}

#[test]
fn a_baseline_survives_moved_lines_and_renamed_files() {
    let project = project(STATS);
    let folder = project.folder.path();
    assert_eq!(check(folder, &["--write-baseline", "base.json"]).status, 0);
    std::fs::remove_dir_all(folder.join("classes")).unwrap();
    let moved = STATS
        .replace("public class", "class")
        .replace("    void add", "\n\n    // moved\n    void add");
    let renamed = folder.join("src/p/Renamed.java");
    std::fs::write(&renamed, format!("/* a licence */\n\n{moved}")).unwrap();
    compile(&renamed, &folder.join("classes"));
    let found = check(folder, &["--baseline", "base.json", "--format", "json"]);
    assert_eq!(found.status, 0);
    assert_eq!(fields(&report(&found)), [vec!["hits", "misses"], vec![]]);
    let line = &report(&found)["findings"][0]["accesses"][0]["stack"][0];
    assert_eq!(
        (line["file"].as_str(), line["line"].as_u64() > Some(9)),
        (Some("Renamed.java"), true)
    );
}

#[test]
fn entries_that_are_not_found_again_are_named_if_they_were_looked_for() {
    let project = project(STATS);
    let folder = project.folder.path();
    assert_eq!(check(folder, &["--write-baseline", "base.json"]).status, 0);
    std::fs::write(folder.join("src/p/Stats.java"), STATS.replace("shared.misses", "misses"))
        .unwrap();
    compile(&folder.join("src/p/Stats.java"), &folder.join("classes"));
    let less = check(folder, &["--baseline", "base.json", "--format", "json"]);
    assert_eq!(less.status, 0);
    has_note(
        &report(&less),
        "of base.json this was not found again, and --write-baseline leaves it out: data-race of p.Stats.misses (",
    );
    let other = run_in(
        folder,
        "check",
        &["classes", "--rules", "unsafe-publication", "--baseline", "base.json"],
    );
    assert!(!other.out.contains("not found again"), "{}", other.out);
    assert_eq!(
        check(folder, &["--baseline", "base.json", "--write-baseline", "base.json"]).status,
        0
    );
    assert!(!check(folder, &["--baseline", "base.json"]).out.contains("not found again"));
}

#[test]
fn a_run_and_a_check_share_a_baseline() {
    let project = project(STATS);
    let folder = project.folder.path();
    assert_eq!(check(folder, &["--write-baseline", "base.json"]).status, 0);
    let java = unsnarl_testing::jdk().tool("java");
    let options = ["--baseline", "base.json", "--format", "json", "-o", "run.json", "--"];
    let command = [text(&java), "-cp", "classes", "p.Stats"];
    let run = run_in(folder, "run", &[options.as_slice(), &command].concat());
    assert_eq!(run.status, 0, "{}", run.messages);
}

#[test]
fn what_is_wrong_with_a_baseline_is_told() {
    let project = project(STATS);
    let folder = project.folder.path();
    let missing = check(folder, &["--baseline", "none.json"]);
    assert_eq!(missing.status, 2);
    assert!(
        missing
            .messages
            .contains("cannot read the baseline none.json, which --write-baseline writes")
    );
    project.write("base.json", b"{}");
    let broken = check(folder, &["--baseline", "base.json"]);
    assert!(
        broken.status == 2 && broken.messages.contains("base.json is no baseline"),
        "{}",
        broken.messages
    );
    let nowhere = check(folder, &["--write-baseline", "no/base.json"]);
    assert!(nowhere.status == 2 && nowhere.messages.contains("cannot write the baseline"));
}

#[test]
fn tables_suppress_by_rule_class_field_and_method() {
    let project = project(STATS);
    let folder = project.folder.path();
    for (table, suppressed) in [
        ("rule = \"data-race\"", vec!["hits", "misses"]),
        ("rule = [\"stale-value\", \"data-race\"]\nfield = \"hits\"", vec!["hits"]),
        ("field = \"p.Stats.m*\"", vec!["misses"]),
        ("class = \"p.*\"\nmethod = \"add\"", vec!["hits", "misses"]),
        ("method = \"p.Stats.add\"", vec!["hits", "misses"]),
        ("class = \"q.*\"", vec![]),
        ("rule = \"data-race\"\nmethod = \"main\"", vec![]),
        ("field = \"hit\"", vec![]),
    ] {
        project
            .write("unsnarl.toml", format!("[[suppress]]\n{table}\nreason = \"so\"\n").as_bytes());
        let outcome = check(folder, &["--format", "json"]);
        assert_eq!(
            outcome.status,
            i32::from(suppressed.len() < 2),
            "{table}: {}",
            outcome.messages
        );
        let report = report(&outcome);
        assert_eq!(fields(&report)[0], suppressed, "{table}");
        if suppressed.is_empty() {
            has_note(&report, "unsnarl.toml:1: this suppression matches no finding");
        } else {
            let wanted = serde_json::json!({"kind": "external", "justification": "so"});
            let findings = report["findings"].as_array().unwrap();
            assert!(findings.iter().any(|it| it["suppression"] == wanted), "{table}");
        }
    }
    project.write("unsnarl.toml", b"[[suppress]]\nrule = \"critical-wait\"\nreason = \"so\"\n");
    assert!(!check(folder, &[]).out.contains("matches no finding"), "it was not looked for");
}

#[test]
fn annotations_and_comments_suppress_where_source_is_at_hand() {
    for (from, to, suppressed) in [
        ("    int hits;", "    @SuppressWarnings(\"unsnarl:data-race\") int hits;", vec!["hits"]),
        ("    int hits;", "    int hits; // unsnarl: ignore data-race so", vec!["hits"]),
        (
            "        shared.hits++;",
            "        // unsnarl: ignore data-race so\n        shared.hits++;",
            vec!["hits"],
        ),
        (
            "    void add",
            "    @SuppressWarnings({\"unsnarl:data-race\"}) void add",
            vec!["hits", "misses"],
        ),
        (
            "public class",
            "@SuppressWarnings(\"unsnarl:data-race\") public class",
            vec!["hits", "misses"],
        ),
        ("    int hits;", "    @SuppressWarnings(\"unsnarl:stale-value\") int hits;", vec![]),
        ("    int hits;", "    @SuppressWarnings(\"data-race\") int hits;", vec![]),
    ] {
        let project = project(&STATS.replace(from, to));
        let folder = project.folder.path();
        let found = check(folder, &["--format", "json"]);
        let findings = report(&found);
        assert_eq!(fields(&findings)[0], suppressed, "{to}");
        if let Some(first) = findings["findings"]
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it.get("suppression").is_some())
        {
            assert_eq!(first["suppression"]["kind"], "inSource", "{to}");
        }
        std::fs::remove_dir_all(folder.join("src")).unwrap();
        let without = check(folder, &["--format", "json"]);
        assert_eq!(fields(&report(&without))[0], Vec::<&str>::new(), "{to}");
    }
}

#[test]
fn what_is_wrong_with_a_mark_is_told() {
    for (to, words) in [
        (
            "    int hits; // unsnarl: ignore data-race",
            "Stats.java:4: this suppression needs a rule and a reason",
        ),
        (
            "    @SuppressWarnings(\"unsnarl:data-rase\") int hits;",
            "Stats.java:4: there is no rule 'data-rase' (did you mean data-race?)",
        ),
        (
            "    int hits; int other; // unsnarl: ignore data-race so",
            "Stats.java:4: this suppression matches no finding",
        ),
    ] {
        let project =
            project(&STATS.replace("    int hits;", to).replace("shared.hits++", "hits++"));
        let found = check(project.folder.path(), &["--format", "json"]);
        has_note(&report(&found), words);
    }
}
