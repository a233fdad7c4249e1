//! Which findings of a report count: those that neither the source, nor `unsnarl.toml`, nor the baseline accepts.
//!
//! What is accepted stays in the report as suppressed. It fails no build, and people see it when they ask for it;
//! programs that read the report always do. What accepts nothing is named in a note, so that it can go.

use std::path::Path;

use unsnarl_findings::{Report, Rule, Statistic, Suppression, SuppressionKind};
use unsnarl_report::source::Sources;

use crate::args::{AcceptArguments, Command};
use crate::baseline::Baseline;
use crate::in_source;

/// More entries of a baseline than this are counted, not named.
const MOST_NAMED: usize = 10;

impl Command {
    /// The part about accepted findings, of a command that has findings.
    pub(crate) fn accepted_mut(&mut self) -> Option<&mut AcceptArguments> {
        match self {
            Self::Check(check) => Some(&mut check.accepted),
            Self::Run(run) => Some(&mut run.accepted),
            Self::Analyze(analyze) => Some(&mut analyze.accepted),
            _ => None,
        }
    }
}

/// The report with what is accepted marked.
pub(crate) fn judged(
    mut report: Report,
    arguments: &AcceptArguments,
    sources: &Sources,
    was_looked_for: impl Fn(Rule) -> bool,
) -> anyhow::Result<Report> {
    in_source::apply(&mut report, sources, &was_looked_for);
    apply_tables(&mut report, arguments, &was_looked_for);
    match (&arguments.write_baseline, &arguments.baseline) {
        (Some(path), _) => {
            let baseline = Baseline::of(report.unsuppressed());
            baseline.write(path)?;
            apply_baseline(&mut report, &baseline, path);
            let count = match baseline.len() {
                1 => "1 finding".to_owned(),
                count => format!("{count} findings"),
            };
            report.notes.push(format!("{} holds {count} now", path.display()));
        }
        (None, Some(path)) => {
            let baseline = Baseline::read(path)?;
            apply_baseline(&mut report, &baseline, path);
            let stale = baseline.stale(report.findings(), was_looked_for);
            report.notes.extend(stale_note(&stale, path));
        }
        (None, None) => {}
    }
    let suppressed = report.findings().len() - report.unsuppressed().count();
    if suppressed > 0 {
        report.stats.insert("suppressed".into(), Statistic::Count(suppressed as u64));
    }
    Ok(report)
}

fn apply_tables(
    report: &mut Report,
    arguments: &AcceptArguments,
    was_looked_for: &impl Fn(Rule) -> bool,
) {
    let tables = &arguments.suppressions;
    let mut has_matched = vec![false; tables.len()];
    report.suppress(|finding| {
        let mut covering = None;
        for (position, table) in tables.iter().enumerate() {
            if table.covers(finding) {
                has_matched[position] = true;
                covering = covering.or(Some(table));
            }
        }
        covering.map(|table| external(table.reason.clone()))
    });
    for (table, has_matched) in tables.iter().zip(has_matched) {
        let could_match =
            table.rules.is_empty() || table.rules.iter().any(|&it| was_looked_for(it));
        if !has_matched && could_match {
            report.notes.push(format!("{}: this suppression matches no finding", table.place));
        }
    }
}

fn apply_baseline(report: &mut Report, baseline: &Baseline, path: &Path) {
    let reason = format!("in the baseline {}", path.display());
    report.suppress(|finding| baseline.has(finding).then(|| external(reason.clone())));
}

fn external(reason: String) -> Suppression {
    Suppression { kind: SuppressionKind::External, justification: Some(reason) }
}

fn stale_note(stale: &[String], path: &Path) -> Option<String> {
    let (shown, more) = stale.split_at(stale.len().min(MOST_NAMED));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    let note = || {
        format!(
            "of {} this was not found again, and --write-baseline leaves it out: {}{more}",
            path.display(),
            shown.join(", ")
        )
    };
    (!stale.is_empty()).then(note)
}
