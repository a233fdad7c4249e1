//! The pages for users show what really comes out. Run with `UNSNARL_BLESS=1` to write it anew.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Project, command, run, text};

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Where the first block of a language is in a page.
fn block(page: &str, language: &str) -> Range<usize> {
    let fence = format!("\n```{language}\n");
    let start = page.find(&fence).expect("the page has such a block") + fence.len();
    // An empty block ends where it begins.
    let end = page[start - 1..].find("\n```").expect("the block ends") + start;
    start..end
}

#[test]
fn the_manual_of_check_shows_real_reports() {
    let path = page("docs/check.md");
    let mut page = std::fs::read_to_string(&path).unwrap();
    let project = Project::new("Hits.java", &page[block(&page, "java")]);
    let classes = project.classes();
    let (text_report, json) =
        (run("check", &[text(&classes)]), run("check", &[text(&classes), "--format", "json"]));
    assert_eq!((text_report.status, json.status), (1, 1));
    if std::env::var_os("UNSNARL_BLESS").is_some() {
        page.replace_range(block(&page, "text"), &text_report.out);
        page.replace_range(block(&page, "json"), &json.out);
        std::fs::write(&path, &page).unwrap();
    }
    let advice = "docs/check.md is stale: run UNSNARL_BLESS=1 cargo test -p unsnarl";
    assert_eq!(page[block(&page, "text")], text_report.out, "{advice}");
    let shown: Value = serde_json::from_str(&page[block(&page, "json")]).expect(advice);
    let real: Value = serde_json::from_str(&json.out).unwrap();
    for member in ["schema", "tool", "findings", "notes"] {
        assert_eq!(shown[member], real[member], "{member}: {advice}");
    }
    // Counts depend on the JDK, times on the machine.
    let names = |report: &Value| -> Vec<String> {
        report["stats"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(names(&shown), names(&real), "{advice}");
}

#[test]
fn the_manual_of_analyze_shows_real_reports() {
    let path = page("docs/analyze.md");
    let mut page = std::fs::read_to_string(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("hits.std");
    std::fs::write(&trace, &page[block(&page, "std")]).unwrap();
    let of_form = |form: &str| run("analyze", &[text(&trace), "--format", form]);
    let (text_report, json, tsv) = (of_form("text"), of_form("json"), of_form("tsv"));
    assert_eq!((text_report.status, json.status, tsv.status), (1, 1, 1));
    if std::env::var_os("UNSNARL_BLESS").is_some() {
        page.replace_range(block(&page, "text"), &text_report.out);
        page.replace_range(block(&page, "tsv"), &tsv.out);
        page.replace_range(block(&page, "json"), &json.out);
        std::fs::write(&path, &page).unwrap();
    }
    let advice = "docs/analyze.md is stale: run UNSNARL_BLESS=1 cargo test -p unsnarl";
    assert_eq!(page[block(&page, "text")], text_report.out, "{advice}");
    assert_eq!(page[block(&page, "tsv")], tsv.out, "{advice}");
    let shown: Value = serde_json::from_str(&page[block(&page, "json")]).expect(advice);
    let mut real: Value = serde_json::from_str(&json.out).unwrap();
    // Times depend on the machine.
    real["stats"]["seconds"] = shown["stats"]["seconds"].clone();
    assert_eq!(shown, real, "{advice}");
}

#[test]
fn the_manual_of_run_shows_a_real_report() {
    let path = page("docs/run.md");
    let mut page = std::fs::read_to_string(&path).unwrap();
    let project = Project::new("Hits.java", &page[block(&page, "java")]);
    // As one would type it.
    let jdk = unsnarl_testing::jdk().tool("java");
    let search_path = std::env::join_paths([jdk.parent().unwrap()]).unwrap();
    let classes = project.classes();
    let mut command = command("run", &["--", "java", "-cp", text(&classes), "Hits"]);
    let output = command.env("PATH", search_path).output().unwrap();
    let report = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    // Which of the two comes first, and so which accesses are unordered, is up to the machine, and so is how many
    // threads the JVM itself has that come to code of the program.
    let is_like = |text: &str| {
        let summary = text.lines().last().unwrap_or_default();
        text.starts_with("error[data-race]: Hits.hits is ")
            && text.contains(
                "\n   = found: observed by dynamic/happens-before, fingerprint 872634b354c9d0ae\n",
            )
            && summary.starts_with("1 finding in ")
            && summary.ends_with(" threads: 1 error")
    };
    let is_the_same = |shown: &str| is_like(shown) && is_like(&report);
    if std::env::var_os("UNSNARL_BLESS").is_some() && !is_the_same(&page[block(&page, "text")]) {
        page.replace_range(block(&page, "text"), &report);
        std::fs::write(&path, &page).unwrap();
    }
    assert!(is_the_same(&page[block(&page, "text")]), "docs/run.md is stale: {report}");
}

/// The README shows how the demonstration begins.
#[test]
fn the_read_me_shows_a_real_demonstration() {
    let path = page("README.md");
    let mut page = std::fs::read_to_string(&path).unwrap();
    let command = "$ ./unsnarl demo\n";
    let start = page.find(command).expect("the demonstration is shown") + command.len();
    let shown = start..page[start..].find("…\n```").expect("it is cut short") + start;
    let demo = run("demo", &[]).out;
    let first = &demo[..demo.find("== catalog").expect("the second example follows the first")];
    if std::env::var_os("UNSNARL_BLESS").is_some() {
        page.replace_range(shown, first);
        std::fs::write(&path, &page).unwrap();
        return;
    }
    let advice = "README.md is stale: run UNSNARL_BLESS=1 cargo test -p unsnarl";
    assert_eq!(&page[shown], first, "{advice}");
}
