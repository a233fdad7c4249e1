//! Which findings of a report count: those that neither the source, nor `unsnarl.toml`, nor the baseline accepts.
//!
//! They are suppressed in this order: by the source (`in_source`), by the tables of `unsnarl.toml` (`rule`), by the
//! baseline (`baseline`).
//!
//! Accepted findings stay in the report as suppressed. They fail no build, and the text form shows them on request;
//! the other forms always have them. A suppression that matches nothing is named in a note, so that it can be removed.

mod baseline;
mod in_source;
mod rule;

use std::path::{Path, PathBuf};

use unsnarl_findings::{Report, Rule, Statistic, Suppression, SuppressionKind};
use unsnarl_report::source::Sources;

use crate::error::CommandError;

pub use rule::{FileLine, SuppressionRule};

use baseline::Baseline;

/// More entries of a baseline than this are counted, not named.
const MOST_NAMED: usize = 10;

/// Which findings are accepted.
#[derive(Clone, Debug, Default)]
pub struct SuppressionOptions {
    /// The baseline, which lists findings that may stay.
    pub baseline: Option<PathBuf>,
    /// Where a baseline of all findings is written.
    pub write_baseline: Option<PathBuf>,
    /// What `unsnarl.toml` suppresses.
    pub rules: Vec<SuppressionRule>,
}

/// The report with what is accepted marked.
pub(crate) fn apply(
    mut report: Report,
    options: &SuppressionOptions,
    sources: &Sources,
    was_looked_for: impl Fn(Rule) -> bool,
) -> Result<Report, CommandError> {
    in_source::apply(&mut report, sources, &was_looked_for);
    apply_rules(&mut report, &options.rules, &was_looked_for);
    match (&options.write_baseline, &options.baseline) {
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

fn apply_rules(
    report: &mut Report,
    rules: &[SuppressionRule],
    was_looked_for: &impl Fn(Rule) -> bool,
) {
    let mut has_matched = vec![false; rules.len()];
    report.suppress(|finding| {
        let mut covering = None;
        for (position, rule) in rules.iter().enumerate() {
            if rule.covers(finding) {
                has_matched[position] = true;
                covering = covering.or(Some(rule));
            }
        }
        covering.map(|rule| external(rule.reason.clone()))
    });
    for (rule, has_matched) in rules.iter().zip(has_matched) {
        let could_match = rule.rules.is_empty() || rule.rules.iter().any(|&it| was_looked_for(it));
        if !has_matched && could_match {
            report.notes.push(format!("{}: this suppression matches no finding", rule.line));
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
