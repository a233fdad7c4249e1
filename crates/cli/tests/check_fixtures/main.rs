//! `unsnarl check` on the programs of `fixtures/data-race` and `fixtures/unsafe-publication`, and the
//! pages of `docs/rules`, whose examples are such programs.
//!
//! What is expected stands on the lines of a program; see [`fixture`] for how it is written and for
//! what is compared.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fixture;
mod pages;
mod run;

use std::collections::{BTreeMap, BTreeSet};

use fixture::Fixture;

/// The rules with a folder of fixtures and a page.
const RULES: [&str; 2] = ["data-race", "unsafe-publication"];

#[test]
fn findings_are_those_on_the_lines() {
    // What is wrong, and with which JDKs.
    let mut differences: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut reasons = BTreeSet::new();
    for jdk in unsnarl_testing::jdks() {
        for folder in RULES {
            let fixtures = Fixture::all(folder);
            let chosen: Vec<&Fixture> = fixtures.iter().filter(|f| f.is_for(jdk.release)).collect();
            let mut count = 0;
            for (fixture, outcome) in chosen.iter().zip(run::check(&jdk, &chosen)) {
                let found = match outcome {
                    Ok(findings) => {
                        reasons.extend(findings.iter().flat_map(|finding| finding.reasons()));
                        fixture.differences(&findings)
                    }
                    Err(problem) => vec![format!("{}.java: {problem}", fixture.name)],
                };
                count += found.len();
                for text in found {
                    let text = format!("{folder}/{text}");
                    differences.entry(text).or_default().push(jdk.release.to_string());
                }
            }
            let (release, all) = (jdk.release, chosen.len());
            unsnarl_testing::report(&format!(
                "JDK {release}: {all} programs of {folder}, {count} differences"
            ));
        }
    }
    let mut lines: Vec<String> = differences
        .into_iter()
        .map(|(text, releases)| format!("{text} (JDK {})", releases.join(", ")))
        .collect();
    lines.extend(pages::unexplained(&reasons));
    assert!(lines.is_empty(), "{} differences\n{}", lines.len(), lines.join("\n"));
}

#[test]
fn a_program_with_a_defect_has_a_correct_twin() {
    for folder in RULES {
        let fixtures = Fixture::all(folder);
        let names: BTreeSet<&str> = fixtures.iter().map(|fixture| fixture.name.as_str()).collect();
        for fixture in &fixtures {
            let name = &fixture.name;
            match name.strip_suffix("Ok") {
                Some(twin) => {
                    assert!(names.contains(twin), "{folder}/{name}.java: there is no {twin}.java");
                    assert!(!fixture.has_defects(), "{folder}/{name}.java expects a defect");
                }
                None if fixture.has_defects() => {
                    let twin = format!("{name}Ok");
                    assert!(
                        names.contains(twin.as_str()),
                        "{folder}/{name}.java has no {twin}.java"
                    );
                }
                None => {}
            }
        }
    }
}

#[test]
fn examples_of_the_rule_pages_are_fixtures() {
    let problems = pages::examples_that_are_no_fixtures();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
