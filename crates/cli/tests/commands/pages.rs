//! The pages for users show what really comes out. Run with `UNSNARL_BLESS=1` to write it anew.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::config::run_in;
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

/// Compares a block of a page with what it should be, or writes it anew.
fn shows(name: &str, language: &str, real: &str) {
    let path = page(name);
    let mut page = std::fs::read_to_string(&path).unwrap();
    if std::env::var_os("UNSNARL_BLESS").is_some() {
        page.replace_range(block(&page, language), real);
        std::fs::write(&path, &page).unwrap();
    }
    let advice = format!("{name} is stale: run UNSNARL_BLESS=1 cargo test -p unsnarl");
    assert_eq!(page[block(&page, language)], *real, "{advice}");
}

#[test]
fn the_manual_of_the_configuration_shows_what_is_in_force() {
    let manual = std::fs::read_to_string(page("docs/config.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("unsnarl.toml");
    std::fs::write(&file, &manual[block(&manual, "toml")]).unwrap();
    let shown = run_in(folder.path(), "config", &["check", "--fail-on", "note"]);
    assert_eq!((shown.status, shown.messages.as_str()), (0, ""));
    shows("docs/config.md", "text", &shown.out);
    std::fs::write(&file, "[check]\nfail_on = \"error\"\n").unwrap();
    shows("docs/config.md", "error", &run_in(folder.path(), "check", &[]).messages);
}

#[test]
fn the_manual_of_baselines_shows_one_and_its_example_accepts_what_it_says() {
    let manual = std::fs::read_to_string(page("docs/baseline.md")).unwrap();
    let project = Project::new("Stats.java", &manual[block(&manual, "java")]);
    let folder = project.folder.path();
    std::fs::create_dir(folder.join("elsewhere")).unwrap();
    std::fs::rename(folder.join("Stats.java"), folder.join("elsewhere/Stats.java")).unwrap();
    let without_source = run_in(folder, "check", &["classes", "--write-baseline", "base.json"]);
    assert_eq!(without_source.status, 0, "{}", without_source.messages);
    let baseline = std::fs::read_to_string(folder.join("base.json")).unwrap();
    shows("docs/baseline.md", "json", &baseline);
    assert_eq!(run_in(folder, "check", &["classes"]).status, 1);
    let with_source = run_in(folder, "check", &["classes", "--source", "elsewhere"]);
    assert_eq!(with_source.status, 0, "{}", with_source.out);
    assert!(with_source.out.ends_with("2 suppressed\n"), "{}", with_source.out);
}

/// The script of the action, as a runner would run it.
#[test]
fn the_action_leaves_a_report_and_fails_when_there_are_findings() {
    let action = std::fs::read_to_string(page("action.yml")).unwrap();
    let script = action.split("      run: |\n").nth(1).unwrap().replace("\n        ", "\n");
    let manual = std::fs::read_to_string(page("docs/check.md")).unwrap();
    let project = Project::new("Hits.java", &manual[block(&manual, "java")]);
    let folder = project.folder.path();
    std::fs::create_dir_all(folder.join("unsnarl/bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_unsnarl"), folder.join("unsnarl/bin/unsnarl"))
        .unwrap();
    let run = |classes: &str, arguments: &str| {
        let mut bash = std::process::Command::new("bash");
        bash.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", &script])
            .current_dir(folder);
        bash.env("RUNNER_TEMP", folder).env("SARIF", "unsnarl.sarif");
        let output = bash.env("CLASSES", classes).env("ARGUMENTS", arguments).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (status, log) = run("classes", "");
    assert_eq!(status, 1);
    assert!(log.contains("error[data-race]: Hits.count"), "{log}");
    let sarif: Value =
        serde_json::from_slice(&std::fs::read(folder.join("unsnarl.sarif")).unwrap()).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "data-race");
    assert_eq!(run("classes", "--fail-on never --library").0, 0);
    assert_eq!(run("missing.jar", "").0, 2);
    project.write("unsnarl.toml", b"[check]\ninputs = [\"classes\"]\nfail-on = \"never\"\n");
    assert_eq!(run("", "").0, 0);
}
