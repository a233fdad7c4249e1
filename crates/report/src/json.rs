//! The stable JSON form of a report, `unsnarl.findings/1`.
//!
//! The structs of this module are the format: their fields in their order are the keys of the
//! output. `docs/schema/findings-1.schema.json` describes it for others, and a test validates real
//! output against it. Keys that apply to every finding, access or frame are always there and `null`
//! when unknown; `variable`, `locks` and `method` are there when the finding is about one, `timeline`
//! and `uses` when somebody knows them, and `suppression` when it is suppressed.

mod pictures;
mod read;

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;
use unsnarl_findings::{
    Access, Finding, Frame, MethodReference, Report, SCHEMA, Statistic, Suppression, Tool, Variable,
};

use pictures::{JsonStep, JsonUseGraph};

pub use read::read;

/// Writes the report as indented JSON with a line feed at the end.
///
/// # Errors
/// Those of `out`.
pub fn write(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &JsonReport::from(report))?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
pub(crate) struct JsonReport<'a> {
    schema: &'static str,
    tool: JsonTool<'a>,
    findings: Vec<JsonFinding<'a>>,
    notes: &'a [String],
    stats: BTreeMap<&'a str, JsonStatistic>,
}

#[derive(Serialize)]
struct JsonTool<'a> {
    name: &'a str,
    version: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum JsonStatistic {
    Count(u64),
    Seconds(f64),
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    rule: &'static str,
    severity: &'static str,
    confidence: f64,
    evidence: Vec<&'static str>,
    detectors: Vec<&'a str>,
    fingerprint: String,
    message: &'a str,
    reasons: Vec<String>,
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variable: Option<JsonVariable<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    locks: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<JsonMethod<'a>>,
    accesses: Vec<JsonAccess<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    timeline: Vec<JsonStep<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uses: Option<JsonUseGraph<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suppression: Option<JsonSuppression<'a>>,
}

#[derive(Serialize)]
struct JsonSuppression<'a> {
    kind: &'static str,
    justification: Option<&'a str>,
}

#[derive(Serialize)]
struct JsonVariable<'a> {
    class: Option<&'a str>,
    field: &'a str,
}

#[derive(Serialize)]
struct JsonMethod<'a> {
    class: &'a str,
    method: &'a str,
    descriptor: &'a str,
}

#[derive(Serialize)]
struct JsonAccess<'a> {
    kind: &'static str,
    thread: Option<&'a str>,
    locks: Vec<String>,
    stack: Vec<JsonFrame<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum JsonFrame<'a> {
    Code {
        #[serde(flatten)]
        method: JsonMethod<'a>,
        file: Option<&'a str>,
        line: Option<u32>,
    },
    Location {
        location: u64,
    },
}

impl<'a> From<&'a Report> for JsonReport<'a> {
    fn from(report: &'a Report) -> Self {
        Self {
            schema: SCHEMA,
            tool: JsonTool::from(&report.tool),
            findings: report.findings().iter().map(JsonFinding::from).collect(),
            notes: &report.notes,
            stats: report
                .stats
                .iter()
                .map(|(name, &value)| (name.as_ref(), JsonStatistic::from(value)))
                .collect(),
        }
    }
}

impl<'a> From<&'a Tool> for JsonTool<'a> {
    fn from(tool: &'a Tool) -> Self {
        Self { name: &tool.name, version: &tool.version }
    }
}

impl From<Statistic> for JsonStatistic {
    fn from(statistic: Statistic) -> Self {
        match statistic {
            Statistic::Count(count) => Self::Count(count),
            Statistic::Seconds(seconds) => Self::Seconds(seconds),
        }
    }
}

impl<'a> From<&'a Finding> for JsonFinding<'a> {
    fn from(finding: &'a Finding) -> Self {
        let subject = &finding.subject;
        Self {
            rule: finding.rule.id(),
            severity: finding.severity.name(),
            confidence: finding.confidence().probability(),
            evidence: finding.evidence.iter().map(|kind| kind.name()).collect(),
            detectors: finding.detectors.iter().map(AsRef::as_ref).collect(),
            fingerprint: finding.fingerprint().to_string(),
            message: &finding.message,
            reasons: finding.reasons.iter().map(ToString::to_string).collect(),
            hint: finding.hint.as_deref(),
            variable: subject.as_variable().map(JsonVariable::from),
            locks: subject.as_locks().iter().map(ToString::to_string).collect(),
            method: subject.as_method().map(JsonMethod::from),
            accesses: finding.accesses.iter().map(JsonAccess::from).collect(),
            timeline: finding.timeline.iter().map(JsonStep::from).collect(),
            uses: finding.uses.as_ref().map(JsonUseGraph::from),
            suppression: finding.suppression.as_ref().map(JsonSuppression::from),
        }
    }
}

impl<'a> From<&'a Suppression> for JsonSuppression<'a> {
    fn from(suppression: &'a Suppression) -> Self {
        let justification = suppression.justification.as_deref();
        Self { kind: suppression.kind.name(), justification }
    }
}

impl<'a> From<&'a Variable> for JsonVariable<'a> {
    fn from(variable: &'a Variable) -> Self {
        Self { class: variable.class.as_deref(), field: &variable.field }
    }
}

impl<'a> From<&'a MethodReference> for JsonMethod<'a> {
    fn from(method: &'a MethodReference) -> Self {
        Self { class: &method.class, method: &method.name, descriptor: &method.descriptor }
    }
}

impl<'a> From<&'a Access> for JsonAccess<'a> {
    fn from(access: &'a Access) -> Self {
        Self {
            kind: access.kind.name(),
            thread: access.thread.as_deref(),
            locks: access.locks.iter().map(ToString::to_string).collect(),
            stack: access.stack.iter().map(JsonFrame::from).collect(),
        }
    }
}

impl<'a> From<&'a Frame> for JsonFrame<'a> {
    fn from(frame: &'a Frame) -> Self {
        match frame {
            Frame::Code { method, file, line } => {
                Self::Code { method: JsonMethod::from(method), file: file.as_deref(), line: *line }
            }
            Frame::Location(number) => Self::Location { location: *number },
        }
    }
}
