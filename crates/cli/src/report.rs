//! Writes a report in the form that is asked for; `unsnarl report` does so with findings of earlier invocations.

use std::path::PathBuf;

use unsnarl_findings::{Finding, Report};
use unsnarl_report::source::Sources;
use unsnarl_report::text::{self, View};
use unsnarl_report::{html, json, sarif};

use crate::ExitStatus;
use crate::args::{ReportArguments, ReportFormat, SourceArguments};
use crate::joining;
use crate::output::Output;
use crate::{explain, sources};

/// Runs the command.
pub(crate) fn run(arguments: &ReportArguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let reports = joining::read_reports(&arguments.files)?;
    write(&joined(reports), arguments.format(), &arguments.source, &[], output)?;
    Ok(ExitStatus::Clean)
}

/// Writes a report on classes of `inputs`, near which their source may be.
pub(crate) fn write(
    report: &Report,
    format: ReportFormat,
    source: &SourceArguments,
    inputs: &[PathBuf],
    output: &mut Output,
) -> anyhow::Result<()> {
    let sources = match format {
        ReportFormat::Json => Sources::default(),
        _ => sources::find(report.findings(), &source.source, inputs, output)?,
    };
    match format {
        ReportFormat::Text => {
            let (styles, detail) = (styles(output), output.report_detail());
            text::write(report, &View { styles, detail, sources: &sources }, output.result())?;
        }
        ReportFormat::Json => json::write(report, output.result())?,
        ReportFormat::Sarif => sarif::write(report, &sources, explain::page, output.result())?,
        ReportFormat::Html => html::write(report, &sources, output.result())?,
    }
    Ok(())
}

/// In colour or not.
pub(crate) fn styles(output: &Output) -> text::Styles {
    if output.coloured() { text::Styles::coloured() } else { text::Styles::plain() }
}

/// One report of several: each defect once, each note once. Of several the statistics would not add up.
fn joined(mut reports: Vec<Report>) -> Report {
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
