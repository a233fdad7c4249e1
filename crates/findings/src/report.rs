//! Everything one invocation has to say.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::{Finding, Severity, Suppression, merge_all};

/// The name and version of the shape in which a [`Report`] is exchanged.
pub const SCHEMA: &str = "unsnarl.findings/1";

/// The findings of one invocation with what is to be known about how they came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Who made it.
    pub tool: Tool,
    findings: Vec<Finding>,
    /// What could not be analysed, and why; one sentence each.
    pub notes: Vec<String>,
    /// Counts and times, by name.
    pub stats: BTreeMap<Cow<'static, str>, Statistic>,
}

impl Report {
    /// A report of `findings`, merged and sorted as [`merge_all`] does.
    #[must_use]
    pub fn new(tool: Tool, findings: impl IntoIterator<Item = Finding>) -> Self {
        Self { tool, findings: merge_all(findings), notes: Vec::new(), stats: BTreeMap::new() }
    }

    /// The findings, each defect once, the worst first.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The findings that nobody has suppressed.
    pub fn unsuppressed(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.suppression.is_none())
    }

    /// How many findings that nobody has suppressed are exactly of this severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.unsuppressed().filter(|finding| finding.severity == severity).count()
    }

    /// The severity of the worst finding that nobody has suppressed.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.unsuppressed().map(|finding| finding.severity).max()
    }

    /// Suppresses what `decide` has a reason for, unless it is suppressed already.
    pub fn suppress(&mut self, mut decide: impl FnMut(&Finding) -> Option<Suppression>) {
        for finding in self.findings.iter_mut().filter(|finding| finding.suppression.is_none()) {
            finding.suppression = decide(finding);
        }
    }
}

/// The program that made a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A number about how a report came about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// How many.
    Count(u64),
    /// How long.
    Seconds(f64),
}
