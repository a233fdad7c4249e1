//! The pages of the rules that only a run shows: their first example has the defect, the second is its correct twin.

use serde_json::Value;
use unsnarl_testing::jdks;

use crate::check::report;
use crate::support::{Project, run, text};

/// The Java programs of a page.
fn examples(page: &str) -> Vec<&str> {
    let blocks = page.split("\n```java\n").skip(1);
    blocks.map(|block| block.split("\n```").next().unwrap()).collect()
}

/// The rules that the first example of a page breaks, and those that the second breaks.
fn found(page: &str, options: &[&str]) -> [Vec<String>; 2] {
    found_by(page, options, &[])
}

/// The same with another command that runs `java`.
fn found_by(page: &str, options: &[&str], runner: &[&str]) -> [Vec<String>; 2] {
    let [wrong, right] = examples(page)[..] else { panic!("the page has two examples") };
    [wrong, right].map(|source| {
        let name = source.split("\nclass ").nth(1).unwrap().split(' ').next().unwrap();
        let project = Project::new(&format!("{name}.java"), source);
        let mut rules = Vec::new();
        for jdk in jdks() {
            let file = project.folder.path().join("report.json");
            let (classes, java) = (project.classes(), jdk.tool("java"));
            let format = ["--format", "json", "-o", text(&file), "--"];
            let command = [text(&java), "-cp", text(&classes), name];
            let mut outcome = run("run", &[options, &format, runner, &command].concat());
            outcome.out = std::fs::read_to_string(&file).unwrap();
            let report: Value = report(&outcome);
            let findings = report["findings"].as_array().unwrap().iter();
            rules.extend(findings.map(|finding| finding["rule"].as_str().unwrap().to_owned()));
        }
        rules
    })
}

fn on_every_jdk(rule: &str) -> [Vec<String>; 2] {
    [vec![rule.to_owned(); jdks().len()], Vec::new()]
}

#[test]
fn locks_in_different_orders_are_told_by_default() {
    let page = include_str!("../../../../docs/rules/lock-order-cycle.md");
    assert_eq!(found(page, &[]), on_every_jdk("lock-order-cycle"));
}

#[test]
fn what_no_lock_protects_is_told_by_detectors_of_locksets() {
    let page = include_str!("../../../../docs/rules/lockset-race.md");
    for detector in ["eraser", "two-lockset", "multilockset"] {
        assert_eq!(
            found(page, &["--detect", detector]),
            on_every_jdk("lockset-race"),
            "{detector}"
        );
    }
    assert_eq!(found(page, &[]), [Vec::<String>::new(), Vec::new()]);
}

#[test]
fn what_no_lock_protects_as_a_whole_is_told() {
    let page = include_str!("../../../../docs/rules/object-race.md");
    assert_eq!(found(page, &["--detect", "object-race"]), on_every_jdk("object-race"));
}

#[test]
fn waiting_inside_another_lock_is_told() {
    let page = include_str!("../../../../docs/rules/critical-wait.md");
    assert_eq!(found(page, &[]), on_every_jdk("critical-wait"));
}

/// The first example hangs and is stopped. What it waits for came before, and it tested nothing.
#[test]
fn waiting_for_nobody_is_told() {
    let page = include_str!("../../../../docs/rules/indefinite-wait.md");
    let told = ["indefinite-wait", "lost-notify"].repeat(jdks().len());
    assert_eq!(found_by(page, &[], &["timeout", "8"]), [told, Vec::new()]);
}
