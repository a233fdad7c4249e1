//! The pages of the rules: their examples are fixtures, and they explain every reason that a finding
//! gives.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::RULES;
use crate::fixture::Fixture;

/// The Java examples that no fixture has word for word, expectations aside.
pub(crate) fn examples_that_are_no_fixtures() -> Vec<String> {
    let fixtures = RULES.iter().flat_map(|rule| Fixture::all(rule));
    let programs: BTreeSet<String> = fixtures.map(|fixture| fixture.shown()).collect();
    let mut problems = Vec::new();
    for rule in RULES {
        let path = path(rule);
        let text = std::fs::read_to_string(&path).unwrap();
        let examples = java_examples(&text);
        if examples.is_empty() {
            problems.push(format!("{} has no example", path.display()));
        }
        for example in examples {
            if !programs.contains(example.trim()) {
                problems.push(format!("{}: not a fixture:\n{example}", path.display()));
            }
        }
    }
    problems
}

/// The reasons, with their rule, that the page of the rule does not name.
pub(crate) fn unexplained(reasons: &BTreeSet<(String, String)>) -> Vec<String> {
    let is_unexplained = |(rule, reason): &&(String, String)| {
        let page = std::fs::read_to_string(path(rule)).unwrap_or_default();
        !page.contains(&format!("`{reason}`"))
    };
    let missing = reasons.iter().filter(is_unexplained);
    missing
        .map(|(rule, reason)| format!("docs/rules/{rule}.md does not explain `{reason}`"))
        .collect()
}

fn path(rule: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules").join(format!("{rule}.md"))
}

fn java_examples(page: &str) -> Vec<String> {
    let blocks = page.split("\n```java\n").skip(1);
    blocks.map(|block| block.split("\n```").next().unwrap_or(block).to_owned()).collect()
}
