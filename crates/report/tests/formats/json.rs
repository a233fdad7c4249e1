//! The JSON form keeps to its schema and to its bytes.

use serde_json::Value;
use unsnarl_findings::{
    AccessKind, EdgeKind, Evidence, Report, Rule, SCHEMA, Severity, StepKind, SuppressionKind,
    UseKind,
};
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
    let kinds = |node: &Value| names(&node["properties"]["kind"]);
    assert_eq!(kinds(&definitions["step"]), sorted(StepKind::ALL.iter().map(|it| it.name())));
    let graph = &definitions["useGraph"]["properties"];
    assert_eq!(kinds(&graph["nodes"]["items"]), sorted(UseKind::ALL.iter().map(|it| it.name())));
    assert_eq!(kinds(&graph["edges"]["items"]), sorted(EdgeKind::ALL.iter().map(|it| it.name())));
    assert_eq!(
        names(&finding["suppression"]["properties"]["kind"]),
        sorted(SuppressionKind::ALL.iter().map(|kind| kind.name()))
    );
}

#[test]
fn the_bytes_are_stable() {
    let mut bytes = Vec::new();
    json::write(&sample::full(), &mut bytes).expect("a vector takes every write");
    insta::assert_snapshot!(String::from_utf8(bytes).expect("JSON is UTF-8"));
}

#[test]
fn what_was_written_is_read_back() {
    for report in [sample::empty(), sample::full()] {
        let mut bytes = Vec::new();
        json::write(&report, &mut bytes).expect("a vector takes every write");
        let read = json::read(&bytes).expect("it was just written");
        let mut again = Vec::new();
        json::write(&read, &mut again).expect("a vector takes every write");
        assert_eq!(String::from_utf8(again), String::from_utf8(bytes));
    }
}

#[test]
fn what_cannot_be_understood_is_told_with_its_place() {
    let read = |text: &str| json::read(text.as_bytes()).expect_err("it is wrong").to_string();
    assert_eq!(read("{\n  \"schema\": "), "EOF while parsing a value at line 2 column 12");
    assert_eq!(
        read("[]"),
        "invalid length 0, expected struct ReadReport with 5 elements at line 1 column 2"
    );
    let mut bytes = Vec::new();
    json::write(&sample::full(), &mut bytes).expect("a vector takes every write");
    let text = String::from_utf8(bytes).expect("JSON is UTF-8");
    for (from, to, words) in [
        ("findings/1", "findings/2", "expected the schema unsnarl.findings/1"),
        ("\"data-race\"", "\"data-rice\"", "there is no rule 'data-rice'"),
        ("\"error\"", "\"bad\"", "there is no severity 'bad'"),
        ("\"observed\"", "\"dreamt\"", "there is no evidence 'dreamt'"),
        ("\"inSource\"", "\"byMagic\"", "there is no suppression 'byMagic'"),
        ("\"acquire\",\n          \"thread\"", "\"eat\",\n\"thread\"", "there is no access 'eat'"),
        ("++ no-common", "?? no-common", "is no reason"),
        ("\"balance\"", "\"owner\"", "the fingerprint is 7bb2926eb86b4e96, but should be"),
        ("\"volatile-read\"", "\"peek\"", "there is no step 'peek'"),
        ("\"after\": 3", "\"after\": 4", "step 4 of the timeline"),
        ("\"escape\"", "\"hide\"", "there is no use 'hide'"),
        ("\"to\": 6", "\"to\": 60", "an edge leads from use 5 to 60"),
        ("\"location\": 17", "\"place\": 17", "a frame has either a location"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = read(&text.replace(from, to));
        assert!(error.contains(words) && error.contains(" at line "), "{error}");
    }
}

/// A later version may say more.
#[test]
fn keys_that_are_not_known_are_passed_over() {
    let mut document = written(&sample::full());
    document["findings"][0]["mood"] = "gloomy".into();
    let bytes = serde_json::to_vec(&document).expect("it is JSON");
    assert!(json::read(&bytes).is_ok());
}
