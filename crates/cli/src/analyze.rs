//! `unsnarl analyze`: the dynamic detectors on recorded traces.

use std::io::Write;

use unsnarl_commands::{Feedback, analyze};
use unsnarl_events::Tables;
use unsnarl_findings::Frame;
use unsnarl_trace_analysis::{AnalysisEntry, Flagged};

use crate::args::{AnalyzeArguments, TraceReportFormat};
use crate::output::Output;
use crate::{ExitStatus, report};

/// Runs the command.
pub(crate) fn run(arguments: &AnalyzeArguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let AnalyzeArguments { accepted, source, format, fail_on, .. } = arguments;
    let (result, messages) = output.parts();
    let reviewed = analyze::analyze(
        &arguments.options(),
        &accepted.review(source),
        messages,
        &mut |trace, entry, racing, tables| match format {
            TraceReportFormat::Tsv => write_lines(trace, entry, racing, tables, result),
            _ => Ok(()),
        },
    )?;
    if let Some(format) = format.of_report() {
        report::write(&reviewed, format, accepted.show_suppressed, output)?;
    }
    if *format != TraceReportFormat::Text {
        reviewed.report.notes.iter().for_each(|note| output.messages().warn(note));
    }
    Ok(fail_on.status(&reviewed.report))
}

/// A line for every racing event.
fn write_lines(
    trace: &str,
    entry: &AnalysisEntry,
    racing: &[Flagged],
    tables: &Tables,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    for event in racing {
        let location = match event.frame(tables) {
            Frame::Location(number) => number.to_string(),
            code => field(&code.to_string()),
        };
        let variable = field(&event.variable(tables).to_string());
        writeln!(out, "{}\t{}\t{location}\t{variable}", field(trace), entry.name)?;
    }
    Ok(())
}

/// The text without what would break a line of fields.
fn field(text: &str) -> String {
    text.replace(|character: char| character.is_control(), " ")
}
