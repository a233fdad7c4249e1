//! The JSON form keeps to its schema and to its bytes.

use serde_json::Value;
use unsnarl_findings::{AccessKind, Evidence, Report, Rule, SCHEMA, Severity};
use unsnarl_report::json;

use crate::sample;

fn schema() -> Value {
    let text = include_str!("../../../../docs/schema/findings-1.schema.json");
    serde_json::from_str(text).expect("the schema is JSON")
}

fn written(report: &Report) -> Value {
    let mut bytes = Vec::new();
    json::write(report, &mut bytes).expect("a vector takes every write");
    assert!(bytes.ends_with(b"}\n"));
    serde_json::from_slice(&bytes).expect("the output is JSON")
}

fn errors(document: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(&schema()).expect("the schema is valid");
    validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn output_is_valid_against_the_schema() {
    assert_eq!(errors(&written(&sample::empty())), Vec::<String>::new());
    assert_eq!(errors(&written(&sample::full())), Vec::<String>::new());
}

#[test]
fn the_schema_rejects_what_is_wrong() {
    let spoiled = |spoil: &dyn Fn(&mut Value)| {
        let mut document = written(&sample::full());
        spoil(&mut document);
        errors(&document)
    };
    let cases: [&dyn Fn(&mut Value); 6] = [
        &|document| document["schema"] = "unsnarl.findings/2".into(),
        &|document| document["findings"][0]["rule"] = "no-such-rule".into(),
        &|document| document["findings"][0]["confidence"] = 1.5.into(),
        &|document| document["findings"][0]["reasons"] = Value::from(vec!["no effect"]),
        &|document| {
            let finding = document["findings"][0].as_object_mut().expect("an object");
            finding.retain(|key, _| !["variable", "locks", "method"].contains(&key.as_str()));
        },
        &|document| document["findings"][0]["accesses"][0]["stack"][0] = serde_json::json!({}),
    ];
    for (number, case) in cases.iter().enumerate() {
        assert!(!spoiled(case).is_empty(), "case {number}");
    }
}

#[test]
fn the_schema_names_exactly_what_exists() {
    let schema = schema();
    let definitions = &schema["$defs"];
    let names = |node: &Value| -> Vec<String> {
        let list = node["enum"].as_array().expect("an enum");
        let mut names: Vec<String> =
            list.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
        names.sort();
        names
    };
    fn sorted(names: impl Iterator<Item = &'static str>) -> Vec<String> {
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort();
        names
    }
    let finding = &definitions["finding"]["properties"];
    assert_eq!(schema["properties"]["schema"]["const"], SCHEMA);
    assert_eq!(names(&finding["rule"]), sorted(Rule::ALL.iter().map(|rule| rule.id())));
    assert_eq!(names(&finding["severity"]), sorted(Severity::ALL.iter().map(|s| s.name())));
    assert_eq!(
        names(&finding["evidence"]["items"]),
        sorted(Evidence::ALL.iter().map(|kind| kind.name()))
    );
    assert_eq!(
        names(&definitions["access"]["properties"]["kind"]),
        sorted(AccessKind::ALL.iter().map(|kind| kind.name()))
    );
}

#[test]
fn the_bytes_are_stable() {
    let mut bytes = Vec::new();
    json::write(&sample::full(), &mut bytes).expect("a vector takes every write");
    insta::assert_snapshot!(String::from_utf8(bytes).expect("JSON is UTF-8"));
}
