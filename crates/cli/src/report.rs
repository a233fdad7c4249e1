//! Writes a report in the form that is asked for; `unsnarl report` does so with findings of earlier invocations.

use unsnarl_findings::{Finding, Report};
use unsnarl_report::source::Sources;
use unsnarl_report::text::{self, View};
use unsnarl_report::{html, json, sarif};

use crate::ExitStatus;
use crate::args::{ReportArguments, ReportFormat};
use crate::joining;
use crate::output::Output;
use crate::{explain, sources};

/// Runs the command.
pub(crate) fn run(arguments: &ReportArguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let report = joined(joining::read_reports(&arguments.files)?);
    let sources = sources::find(report.findings(), &arguments.source.source, &[], output)?;
    write(&report, arguments.format(), &sources, arguments.show_suppressed, output)?;
    Ok(ExitStatus::Clean)
}

/// Writes a report. What is suppressed is only hidden from people at a terminal.
pub(crate) fn write(
    report: &Report,
    format: ReportFormat,
    sources: &Sources,
    shows_suppressed: bool,
    output: &mut Output,
) -> anyhow::Result<()> {
    match format {
        ReportFormat::Text => {
            let view = view(output, sources, shows_suppressed);
            text::write(report, &view, output.result())?;
        }
        ReportFormat::Json => json::write(report, output.result())?,
        ReportFormat::Sarif => sarif::write(report, sources, explain::page, output.result())?,
        ReportFormat::Html => html::write(report, sources, output.result())?,
    }
    Ok(())
}

/// How people see a report.
pub(crate) fn view<'s>(output: &Output, sources: &'s Sources, shows_suppressed: bool) -> View<'s> {
    View { styles: styles(output), detail: output.report_detail(), sources, shows_suppressed }
}

/// In colour or not.
pub(crate) fn styles(output: &Output) -> text::Styles {
    if output.coloured() { text::Styles::coloured() } else { text::Styles::plain() }
}

/// One report of several: each defect once, each note once. Of several the statistics would not add up.
pub(crate) fn joined(mut reports: Vec<Report>) -> Report {
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
