//! The files and functions that pages for developers name exist.

use std::collections::BTreeSet;

use regex::Regex;

use crate::files;

const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// `crates/x/src/y.rs::function`, or the file alone.
const PLACE: &str =
    r"`((?:crates|runtime|bench|fuzz|scripts)/[A-Za-z0-9_./-]+\.(?:rs|java))(?:::(\w+))?`";

/// Places that a page names and that are not there.
fn missing(page: &str) -> Vec<String> {
    let mut missing = Vec::new();
    for place in Regex::new(PLACE).unwrap().captures_iter(page) {
        let path = files::root().join(&place[1]);
        let Ok(text) = std::fs::read_to_string(path) else {
            missing.push(format!("there is no {}", &place[1]));
            continue;
        };
        if let Some(function) = place.get(2).map(|function| function.as_str()) {
            let is_java = place[1].ends_with(".java");
            let declared = match is_java {
                true => format!(r"(?m)^    [\w<>\[\], ]+ {function}\("),
                false => format!(r"\bfn {function}\b"),
            };
            if !Regex::new(&declared).unwrap().is_match(&text) {
                missing.push(format!("{} has no function {function}", &place[1]));
            }
        }
    }
    missing
}

fn page(name: &str) -> String {
    std::fs::read_to_string(files::root().join(name)).unwrap()
}

#[test]
fn what_pages_name_is_there() {
    for name in [ARCHITECTURE, "CONTRIBUTING.md"] {
        let missing = missing(&page(name));
        assert!(missing.is_empty(), "{name}:\n{}", missing.join("\n"));
    }
}

#[test]
fn every_step_of_a_walk_names_a_place() {
    let text = page(ARCHITECTURE);
    let walks: Vec<&str> = text.split("\n## ").filter(|part| part.starts_with("Walk: ")).collect();
    assert_eq!(walks.len(), 2);
    let (place, step) = (Regex::new(PLACE).unwrap(), Regex::new(r"(?m)^\d+\. ").unwrap());
    for walk in walks {
        let steps: Vec<&str> = step.split(walk).skip(1).collect();
        assert!(steps.len() > 5);
        assert!(steps.iter().all(|step| place.is_match(step)), "a step names no place");
    }
}

#[test]
fn what_is_missing_is_found() {
    assert_eq!(missing("`crates/testing/tests/repository/walks.rs::missing`"), [""; 0]);
    assert_eq!(missing("`crates/testing/tests/repository/walks.rs::nothing`").len(), 1);
    assert_eq!(missing("`crates/testing/src/nothing.rs`").len(), 1);
    assert_eq!(missing("`runtime/java/lang/UnsnarlHooks.java::nothing`").len(), 1);
}

#[test]
fn every_crate_is_on_the_map_and_the_map_is_short() {
    let text = page(ARCHITECTURE);
    assert!(text.len() <= 15 * 1024, "{ARCHITECTURE} has {} bytes: a map is shorter", text.len());
    let on_map: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("**`")?.split('`').next()).collect();
    for entry in std::fs::read_dir(files::root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(on_map.contains(name.as_str()), "{ARCHITECTURE} does not describe {name}");
    }
}
