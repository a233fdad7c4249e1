//! Writes a report in the form that is asked for; `unsnarl report` does so with findings of earlier invocations.

use unsnarl_commands::{Reviewed, joining, sources};
use unsnarl_report::source::Sources;
use unsnarl_report::text::{self, View};
use unsnarl_report::{html, json, sarif};

use crate::args::{ReportArguments, ReportFormat};
use crate::output::Output;
use crate::{ExitStatus, explain};

/// Runs the command.
pub(crate) fn run(arguments: &ReportArguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let report = joining::joined(joining::read_reports(&arguments.files)?);
    let given = &arguments.source.source;
    let sources = sources::find(report.findings(), given, &[], output.messages())?;
    let reviewed = Reviewed { report, sources };
    write(&reviewed, arguments.format(), arguments.show_suppressed, output)?;
    Ok(ExitStatus::Clean)
}

/// Writes a report. What is suppressed is only hidden from people at a terminal.
pub(crate) fn write(
    reviewed: &Reviewed,
    format: ReportFormat,
    shows_suppressed: bool,
    output: &mut Output,
) -> anyhow::Result<()> {
    let Reviewed { report, sources } = reviewed;
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
