//! Findings of earlier invocations, joined with those of this one: what has the same fingerprint becomes one finding
//! when the report is made.

use std::collections::BTreeSet;
use std::path::PathBuf;

use unsnarl_findings::{Finding, Frame, Report, Subject};
use unsnarl_report::json;
use unsnarl_trace_analysis::TraceReport;

use crate::error::{CommandError, Context};

/// The name that a run gives to the inside of a library's object, of which it knows only the class.
const CONTENTS: &str = "contents";

/// Reads JSON reports.
///
/// # Errors
/// If a file cannot be read, or is no report.
pub fn read_reports(files: &[PathBuf]) -> Result<Vec<Report>, CommandError> {
    let read = |file: &PathBuf| {
        let name = file.display();
        let bytes = std::fs::read(file).context(|| format!("cannot read {name}"))?;
        json::read(&bytes).context(|| format!("{name} is no report"))
    };
    files.iter().map(read).collect()
}

/// Reads the findings of JSON reports.
pub(crate) fn read(files: &[PathBuf]) -> Result<Vec<Finding>, CommandError> {
    let reports = read_reports(files)?;
    Ok(reports.iter().flat_map(|report| report.findings().iter().cloned()).collect())
}

/// One report of several: each defect once, each note once. Of several the statistics would not add up.
#[must_use]
pub fn joined(mut reports: Vec<Report>) -> Report {
    if reports.len() == 1 {
        return reports.swap_remove(0);
    }
    let findings = reports.iter().flat_map(|report| report.findings().iter().cloned());
    let findings: Vec<Finding> = findings.collect();
    let mut joined = Report::new(crate::tool(), findings);
    for note in reports.into_iter().flat_map(|report| report.notes) {
        if !joined.notes.contains(&note) {
            joined.notes.push(note);
        }
    }
    joined
}

/// Adds findings of other reports.
pub(crate) fn join(analyzed: &mut TraceReport, findings: Vec<Finding>) {
    for own in &mut analyzed.findings {
        if let Some(held) = findings.iter().find(|held| holds_contents(held, own)) {
            own.subject = held.subject.clone();
        }
    }
    analyzed.findings.extend(findings);
}

/// Whether `seen`, which a run found inside a library's object, is at the sites of a finding about the field that holds
/// the object.
fn holds_contents(finding: &Finding, seen: &Finding) -> bool {
    let is_contents = seen.subject.as_variable().is_some_and(|it| it.field == CONTENTS);
    let is_field = |subject: &Subject| subject.as_variable().is_some_and(|it| !it.is_elements());
    is_contents
        && finding.rule == seen.rule
        && is_field(&finding.subject)
        && sites(seen).is_subset(&sites(finding))
}

/// Where the accesses of a finding are.
pub(crate) fn sites(finding: &Finding) -> BTreeSet<&Frame> {
    finding.accesses.iter().filter_map(|access| access.site()).collect()
}
