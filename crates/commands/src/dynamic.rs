//! The choice of detectors for traces, and the report of what they found, for `analyze` and `run`.

use std::path::PathBuf;

use unsnarl_detect_dynamic::DETECTORS;
use unsnarl_findings::{Report, Rule, Statistic};
use unsnarl_recording::format::RUN_FILE;
use unsnarl_recording::sessions_of;
use unsnarl_trace_analysis::{AnalysisEntry, Options, Pipeline, TraceReport};

/// What looks at a trace.
#[derive(Clone, Debug, Default)]
pub struct DetectOptions {
    /// The detectors; those that run by default, if there are none.
    pub detect: Vec<&'static AnalysisEntry>,
    /// Whether every pair of sites that race is reported.
    pub all: bool,
}

impl DetectOptions {
    /// The chosen detectors, each once, ready for traces.
    pub(crate) fn pipeline(&self) -> Pipeline {
        Pipeline::new(self.chosen(), Options::new(self.all))
    }

    /// The chosen detectors, each once, or those that run by default.
    fn chosen(&self) -> Vec<&'static AnalysisEntry> {
        let is_chosen = |entry: &&AnalysisEntry| match self.detect.as_slice() {
            [] => entry.is_default,
            named => named.iter().any(|it| it.name == entry.name),
        };
        DETECTORS.iter().filter(is_chosen).collect()
    }

    /// Whether a chosen detector looks for a rule.
    pub(crate) fn rules(&self) -> impl Fn(Rule) -> bool + use<> {
        let chosen = self.chosen();
        move |rule| chosen.iter().any(|entry| entry.rule == rule)
    }
}

/// The traces with the folders of runs replaced by the sessions in them.
pub(crate) fn sessions(traces: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for trace in traces {
        match trace.join(RUN_FILE).is_file().then(|| sessions_of(trace)) {
            Some(Ok(sessions)) if !sessions.is_empty() => all.extend(sessions),
            // Whoever opens it reports what is wrong.
            _ => all.push(trace.clone()),
        }
    }
    all
}

/// The report of what came out of traces.
pub(crate) fn report(analyzed: TraceReport, failures: Vec<String>, seconds: f64) -> Report {
    let mut report = Report::new(crate::tool(), analyzed.findings);
    report.notes = failures.into_iter().chain(analyzed.notes).collect();
    let counts = analyzed.counts.into_iter();
    report.stats = counts.map(|(name, count)| (name.into(), Statistic::Count(count))).collect();
    report.stats.insert("seconds".into(), Statistic::Seconds(seconds));
    report
}
