//! Reads back what [`write`](super::write) wrote.
//!
//! Strict about what it knows: a rule, an effect or a fingerprint that cannot be is an error with its line and column,
//! since a finding that is half understood would be joined with the wrong one. Keys that it does not know are those of
//! a later version and passed over. The confidence is not read: it follows from evidence and reasons.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use unsnarl_findings::{
    Access, AccessKind, Evidence, Finding, Fingerprint, Frame, Lock, MethodReference, Reason,
    Report, Rule, SCHEMA, Severity, Statistic, Subject, Suppression, SuppressionKind, Tool,
    UseGraph, Variable,
};

use super::pictures::{StepText, UseGraphText, timeline};

/// Reads a report.
///
/// # Errors
/// When it is no JSON or not of this form, with line and column.
pub fn read(bytes: &[u8]) -> serde_json::Result<Report> {
    let read: ReadReport = serde_json::from_slice(bytes)?;
    let tool = Tool { name: read.tool.name, version: read.tool.version };
    let mut report = Report::new(tool, read.findings.into_iter().map(|finding| finding.0));
    report.notes = read.notes;
    let stats = read.stats.into_iter();
    report.stats = stats.map(|(name, value)| (name.into(), value.into())).collect();
    Ok(report)
}

#[derive(Deserialize)]
struct ReadReport {
    #[serde(rename = "schema")]
    _schema: Schema,
    tool: ReadTool,
    findings: Vec<ReadFinding>,
    notes: Vec<String>,
    stats: BTreeMap<String, ReadStatistic>,
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Schema;

#[derive(Deserialize)]
struct ReadTool {
    name: String,
    version: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ReadStatistic {
    Count(u64),
    Seconds(f64),
}

#[derive(Deserialize)]
#[serde(try_from = "FindingText")]
struct ReadFinding(Finding);

#[derive(Deserialize)]
#[serde(try_from = "AccessText")]
struct ReadAccess(Access);

#[derive(Deserialize)]
#[serde(try_from = "FrameText")]
pub(super) struct ReadFrame(pub(super) Frame);

#[derive(Deserialize)]
struct FindingText {
    rule: String,
    severity: String,
    evidence: Vec<String>,
    detectors: BTreeSet<String>,
    fingerprint: String,
    message: String,
    reasons: Vec<String>,
    hint: Option<String>,
    variable: Option<VariableText>,
    #[serde(default)]
    locks: Vec<String>,
    method: Option<MethodText>,
    accesses: Vec<ReadAccess>,
    #[serde(default)]
    timeline: Vec<StepText>,
    uses: Option<UseGraphText>,
    suppression: Option<SuppressionText>,
}

#[derive(Deserialize)]
struct SuppressionText {
    kind: String,
    justification: Option<String>,
}

#[derive(Deserialize)]
struct VariableText {
    class: Option<String>,
    field: String,
}

#[derive(Deserialize)]
struct MethodText {
    class: String,
    method: String,
    descriptor: String,
}

#[derive(Deserialize)]
struct AccessText {
    kind: String,
    thread: Option<String>,
    locks: Vec<String>,
    stack: Vec<ReadFrame>,
}

#[derive(Deserialize)]
struct FrameText {
    location: Option<u64>,
    class: Option<String>,
    method: Option<String>,
    descriptor: Option<String>,
    file: Option<String>,
    line: Option<u32>,
}

impl TryFrom<String> for Schema {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let wrong = || format!("expected the schema {SCHEMA}, found {name}");
        (name == SCHEMA).then_some(Self).ok_or_else(wrong)
    }
}

impl From<ReadStatistic> for Statistic {
    fn from(statistic: ReadStatistic) -> Self {
        match statistic {
            ReadStatistic::Count(count) => Self::Count(count),
            ReadStatistic::Seconds(seconds) => Self::Seconds(seconds),
        }
    }
}

impl TryFrom<FindingText> for ReadFinding {
    type Error = String;

    fn try_from(text: FindingText) -> Result<Self, String> {
        let evidence = text.evidence.iter();
        let variable = text.variable.map(|it| Variable { class: it.class, field: it.field });
        let locks = text.locks.iter().map(|lock| Lock::parse(lock)).collect();
        let reasons = text
            .reasons
            .iter()
            .map(|reason| Reason::parse(reason).ok_or_else(|| format!("'{reason}' is no reason")));
        let finding = Finding {
            rule: Rule::from_id(&text.rule)
                .ok_or_else(|| format!("there is no rule '{}'", text.rule))?,
            severity: named("severity", &Severity::ALL, Severity::name, &text.severity)?,
            subject: Subject::of_parts(variable, locks, text.method.map(MethodReference::from))
                .ok_or("the finding is about no variable, lock or method")?,
            evidence: evidence
                .map(|name| named("evidence", &Evidence::ALL, Evidence::name, name))
                .collect::<Result<_, _>>()?,
            detectors: text.detectors.into_iter().map(Into::into).collect(),
            message: text.message,
            reasons: reasons.collect::<Result<_, _>>()?,
            hint: text.hint,
            timeline: timeline(text.timeline, text.accesses.len())?,
            uses: text.uses.map(UseGraph::try_from).transpose()?,
            accesses: text.accesses.into_iter().map(|access| access.0).collect(),
            suppression: text.suppression.map(Suppression::try_from).transpose()?,
        };
        if finding.evidence.is_empty() || finding.detectors.is_empty() {
            return Err("the finding has no evidence or no detector".to_owned());
        }
        let own = finding.fingerprint();
        match Fingerprint::parse(&text.fingerprint) {
            Some(fingerprint) if fingerprint == own => Ok(Self(finding)),
            _ => Err(format!("the fingerprint is {}, but should be {own}", text.fingerprint)),
        }
    }
}

impl TryFrom<SuppressionText> for Suppression {
    type Error = String;

    fn try_from(text: SuppressionText) -> Result<Self, String> {
        let (all, name_of) = (&SuppressionKind::ALL, SuppressionKind::name);
        let kind = named("suppression", all, name_of, &text.kind)?;
        Ok(Self { kind, justification: text.justification })
    }
}

impl From<MethodText> for MethodReference {
    fn from(text: MethodText) -> Self {
        Self::new(text.class, text.method, text.descriptor)
    }
}

impl TryFrom<AccessText> for ReadAccess {
    type Error = String;

    fn try_from(text: AccessText) -> Result<Self, String> {
        Ok(Self(Access {
            kind: named("access", &AccessKind::ALL, AccessKind::name, &text.kind)?,
            thread: text.thread,
            locks: text.locks.iter().map(|lock| Lock::parse(lock)).collect(),
            stack: text.stack.into_iter().map(|frame| frame.0).collect(),
        }))
    }
}

impl TryFrom<FrameText> for ReadFrame {
    type Error = &'static str;

    fn try_from(text: FrameText) -> Result<Self, Self::Error> {
        match (text.location, text.class, text.method, text.descriptor) {
            (Some(number), None, None, None) => Ok(Self(Frame::Location(number))),
            (None, Some(class), Some(method), Some(descriptor)) => {
                let method = MethodReference::new(class, method, descriptor);
                Ok(Self(Frame::Code { method, file: text.file, line: text.line }))
            }
            _ => Err("a frame has either a location, or class, method and descriptor"),
        }
    }
}

/// The one with this name.
pub(super) fn named<T: Copy>(
    what: &str,
    all: &[T],
    name_of: fn(T) -> &'static str,
    name: &str,
) -> Result<T, String> {
    let found = all.iter().copied().find(|&it| name_of(it) == name);
    found.ok_or_else(|| format!("there is no {what} '{name}'"))
}
