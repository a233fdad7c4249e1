//! SARIF keeps to the schema of its standard, and to what code scanning services ask for beyond it.

use serde_json::Value;
use unsnarl_findings::{Report, Rule};
use unsnarl_report::sarif;
use unsnarl_report::source::{SourceFile, Sources};

use crate::sample;

fn written(report: &Report, sources: &Sources) -> Value {
    let page = |rule| (rule == Rule::DataRace).then_some("# data-race\n\nThe page.");
    let mut bytes = Vec::new();
    sarif::write(report, sources, page, &mut bytes).expect("a vector takes every write");
    assert!(bytes.ends_with(b"}\n"));
    serde_json::from_slice(&bytes).expect("the output is JSON")
}

/// The schema is that of the standard, as it is but for the patterns of languages, which have a bracket too many.
fn errors(document: &Value) -> Vec<String> {
    let schema = include_str!("../../../../docs/schema/sarif-2.1.0.schema.json");
    let schema = schema.replace("-[a-zA-Z]{2}]?$", "-[a-zA-Z]{2}$");
    let schema = serde_json::from_str(&schema).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is valid");
    validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn output_is_valid_against_the_schema_of_the_standard() {
    for report in [sample::empty(), sample::full(), sample::hostile(), sample::cycle(150)] {
        assert_eq!(errors(&written(&report, Sources::NONE)), Vec::<String>::new());
    }
    let with_source = written(&sample::full(), &sample::sources());
    assert_eq!(errors(&with_source), Vec::<String>::new());
    let mut spoiled = with_source;
    spoiled["runs"][0]["results"][0]["level"] = "bad".into();
    assert!(!errors(&spoiled).is_empty());
}

#[test]
fn the_bytes_are_stable() {
    let mut report = written(&sample::full(), &sample::sources());
    let rules = report["runs"][0]["tool"]["driver"]["rules"].as_array_mut().expect("rules");
    assert_eq!(rules.len(), Rule::ALL.len());
    rules.truncate(1);
    insta::assert_snapshot!(serde_json::to_string_pretty(&report).expect("it is JSON"));
}

/// What GitHub's code scanning needs to show a result and to know it again.
#[test]
fn a_result_has_what_code_scanning_needs() {
    let document = written(&sample::full(), Sources::NONE);
    let run = &document["runs"][0];
    for result in run["results"].as_array().expect("results") {
        let rule = &run["tool"]["driver"]["rules"]
            [result["ruleIndex"].as_u64().expect("an index") as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        assert_eq!(result["partialFingerprints"]["unsnarl/v1"].as_str().map(str::len), Some(16));
        assert!(result["message"]["text"].is_string());
        assert_eq!(result["locations"].as_array().map(Vec::len), Some(1));
    }
    let race = &run["results"][0];
    let place = &race["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "bank/Account.java");
    assert_eq!(place["region"]["startLine"], 8);
    let flows = race["codeFlows"][0]["threadFlows"].as_array().expect("thread flows");
    let threads: Vec<&Value> = flows.iter().map(|flow| &flow["id"]).collect();
    assert_eq!(threads, ["Update-1", "Update-2", "main"]);
    let steps = flows[0]["locations"].as_array().expect("locations");
    assert_eq!(steps[0]["location"]["message"]["text"], "at bank.Update.run(Update.java:12)");
    let stale = run["results"].as_array().and_then(|results| results.last()).expect("a result");
    assert_eq!(stale["suppressions"][0]["kind"], "inSource");
}

#[test]
fn paths_become_addresses() {
    let uri = |folder: &str| {
        let mut sources = Sources::default();
        for (key, _) in sample::sources().iter() {
            let file = SourceFile::new(format!("{folder}/{}", key.file), &"\n".repeat(20));
            sources.insert(key.clone(), file);
        }
        let mut report = written(&sample::full(), &sources);
        let location = report["runs"][0]["results"][0]["locations"][0].take();
        location["physicalLocation"]["artifactLocation"].clone()
    };
    let below =
        serde_json::json!({ "uri": "a%20%3C%C3%BC%3E/Account.java", "uriBaseId": "%SRCROOT%" });
    assert_eq!(uri("a <ü>"), below);
    assert_eq!(uri("/x"), serde_json::json!({ "uri": "file:///x/Account.java" }));
}

#[test]
fn a_long_cycle_has_no_more_locations_than_services_take() {
    let document = written(&sample::cycle(1000), Sources::NONE);
    let result = &document["runs"][0]["results"][0];
    assert_eq!(result["relatedLocations"].as_array().map(Vec::len), Some(99));
}
