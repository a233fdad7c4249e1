//! SARIF 2.1.0, the form in which code scanning services and editors take findings.
//!
//! A finding is a result: its first access is the location, every other one a related location, and all of them
//! together a code flow with a thread flow each, from where the thread begins to the access. Nothing depends on
//! the machine: paths are relative to `%SRCROOT%`, as long as the source is below the current folder or unknown.
//!
//! A result on a trace that only has numbers has no file, only a logical location; services that need a
//! file leave it out.

use std::io;

use serde::Serialize;
use serde_json::{Map, Value, json};
use unsnarl_findings::{Access, Finding, Frame, Report, Rule, Severity};

use crate::source::Sources;
use crate::words::describe;

/// Where the schema of this version is.
pub const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// More accesses than this are left out: services refuse results that have a thousand locations.
const MOST_ACCESSES: usize = 100;

/// The key of our fingerprint among the others; the number is that of the algorithm.
const FINGERPRINT: &str = "unsnarl/v1";

/// Writes the report. `page` has the long text of a rule, in Markdown.
///
/// # Errors
/// Those of `out`.
pub fn write(
    report: &Report,
    sources: &Sources,
    page: impl Fn(Rule) -> Option<&'static str>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let log = Log { schema: SCHEMA, version: "2.1.0", runs: [run(report, sources, page)] };
    serde_json::to_writer_pretty(&mut *out, &log)?;
    out.write_all(b"\n")
}

/// The version comes first, as the standard asks for.
#[derive(Serialize)]
struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Value; 1],
}

fn run(report: &Report, sources: &Sources, page: impl Fn(Rule) -> Option<&'static str>) -> Value {
    let results = report.findings().iter().map(|finding| result(finding, sources));
    let notes = report.notes.iter().map(|note| json!({ "level": "note", "message": text(note) }));
    json!({
        "tool": { "driver": {
            "name": report.tool.name,
            "version": report.tool.version,
            "rules": Rule::ALL.iter().map(|&rule| descriptor(rule, page(rule))).collect::<Vec<_>>(),
        } },
        "invocations": [{
            "executionSuccessful": true,
            "toolExecutionNotifications": notes.collect::<Vec<_>>(),
        }],
        "results": results.collect::<Vec<_>>(),
    })
}

fn descriptor(rule: Rule, page: Option<&str>) -> Value {
    let page = page.unwrap_or_else(|| rule.summary());
    json!({
        "id": rule.id(),
        "shortDescription": text(rule.summary()),
        "fullDescription": text(rule.summary()),
        "help": { "text": page, "markdown": page },
        "defaultConfiguration": { "level": rule.default_severity().name() },
        "properties": {
            "tags": ["concurrency"],
            "problem.severity": match rule.default_severity() {
                Severity::Note => "recommendation",
                severity => severity.name(),
            },
        },
    })
}

fn result(finding: &Finding, sources: &Sources) -> Value {
    let accesses = &finding.accesses[..finding.accesses.len().min(MOST_ACCESSES)];
    let index = Rule::ALL.iter().position(|&rule| rule == finding.rule);
    let message = match &finding.hint {
        Some(hint) => format!("{}.\nHint: {hint}.", finding.message),
        None => format!("{}.", finding.message),
    };
    let mut result = Map::from_iter([
        ("ruleId".to_owned(), json!(finding.rule.id())),
        ("ruleIndex".to_owned(), json!(index)),
        ("level".to_owned(), json!(finding.severity.name())),
        ("message".to_owned(), text(&message)),
        ("rank".to_owned(), json!(f64::from(finding.confidence().hundredths()))),
        (
            "partialFingerprints".to_owned(),
            json!({ FINGERPRINT: finding.fingerprint().to_string() }),
        ),
        (
            "properties".to_owned(),
            json!({
                "subject": finding.subject.to_string(),
                "confidence": finding.confidence().probability(),
                "evidence": finding.evidence.iter().map(|it| it.name()).collect::<Vec<_>>(),
                "detectors": finding.detectors,
                "reasons": finding.reasons.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }),
        ),
    ]);
    let mut locations =
        accesses.iter().filter_map(|access| Some((access, location(access.site()?, sources))));
    if let Some((_, first)) = locations.next() {
        result.insert("locations".to_owned(), json!([first]));
    }
    let related: Vec<Value> = locations
        .zip(1..)
        .map(|((access, mut location), id)| {
            location["id"] = json!(id);
            location["message"] = text(&describe(access));
            location
        })
        .collect();
    if !related.is_empty() {
        result.insert("relatedLocations".to_owned(), related.into());
    }
    let flows: Vec<Value> = accesses.iter().filter_map(|it| thread_flow(it, sources)).collect();
    if !flows.is_empty() {
        result.insert("codeFlows".to_owned(), json!([{ "threadFlows": flows }]));
    }
    let suppressions = finding.suppression.iter().map(|suppression| {
        let mut object = json!({ "kind": suppression.kind.name(), "status": "accepted" });
        if let Some(justification) = &suppression.justification {
            object["justification"] = json!(justification);
        }
        object
    });
    // An empty list says that somebody has looked whether the result is suppressed, and that it is not.
    result.insert("suppressions".to_owned(), suppressions.collect());
    result.into()
}

/// The way of a thread to an access, its beginning first.
fn thread_flow(access: &Access, sources: &Sources) -> Option<Value> {
    let innermost = access.stack.len().checked_sub(1)?;
    let steps = access.stack.iter().rev().enumerate().map(|(depth, frame)| {
        let mut location = location(frame, sources);
        let said = if depth == innermost { describe(access) } else { format!("at {frame}") };
        location["message"] = text(&said);
        json!({ "location": location, "nestingLevel": depth })
    });
    let mut flow = json!({ "locations": steps.collect::<Vec<_>>() });
    if let Some(thread) = &access.thread {
        flow["id"] = json!(thread);
    }
    Some(flow)
}

fn location(frame: &Frame, sources: &Sources) -> Value {
    let logical = match frame.method() {
        Some(method) => json!({
            "name": method.name,
            "fullyQualifiedName": method.to_string(),
            "kind": "function",
        }),
        None => json!({ "name": frame.to_string() }),
    };
    let mut location = json!({ "logicalLocations": [logical] });
    if let Some((path, line)) = sources.place(frame) {
        let mut region = json!({ "startLine": line });
        if let Some(snippet) = sources.of(frame).and_then(|(file, line)| file.line(line)) {
            region["snippet"] = text(snippet);
        }
        location["physicalLocation"] =
            json!({ "artifactLocation": artifact(&path), "region": region });
    }
    location
}

fn artifact(path: &str) -> Value {
    let uri: String = path.bytes().map(escaped).collect();
    match path.starts_with('/') {
        true => json!({ "uri": format!("file://{uri}") }),
        false => json!({ "uri": uri, "uriBaseId": "%SRCROOT%" }),
    }
}

/// A byte of a path as a URI has it.
fn escaped(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        b'/' | b'.' | b'-' | b'_' | b'~' | b'$' | b'!' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    }
}

fn text(text: &str) -> Value {
    json!({ "text": text })
}
