//! The values that options take, and how they are parsed.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use unsnarl_commands::check::is_found_statically;
use unsnarl_commands::run::Plan;
use unsnarl_detect_dynamic::DETECTORS;
use unsnarl_findings::{Report, Rule, Severity};
use unsnarl_trace_analysis::AnalysisEntry;

use crate::ExitStatus;

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless the environment says otherwise (NO_COLOR, TERM, CLICOLOR)
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What alone decides the exit status of `unsnarl run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExitCodeOf {
    /// 1 if there are findings, else 0
    Findings,
    /// That of the program, 128 + N if signal N killed it
    Program,
}

/// The shells that have completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// Bash
    Bash,
    /// Zsh
    Zsh,
    /// Fish
    Fish,
}

/// Takes the id of a rule; for any other text clap names the nearest ids.
pub(super) fn rule_parser() -> impl TypedValueParser<Value = Rule> {
    let rules = Rule::ALL.iter().map(|rule| {
        let value = PossibleValue::new(rule.id()).help(rule.summary());
        // The others are understood and not shown.
        value.hide(!is_found_statically(*rule))
    });
    PossibleValuesParser::new(rules)
        .map(|id| Rule::from_id(&id).expect("only ids of rules are possible values"))
}

/// Takes the name of a detector.
pub(super) fn detector_parser() -> impl TypedValueParser<Value = &'static AnalysisEntry> {
    let names = DETECTORS.iter().map(|entry| PossibleValue::new(entry.name).help(entry.summary));
    PossibleValuesParser::new(names).map(|name| {
        let entry = DETECTORS.iter().find(|entry| entry.name == name);
        entry.expect("only names of detectors are possible values")
    })
}

/// The help of `--detect`, which names the detectors that run by default.
pub(super) fn detect_help() -> String {
    let default = DETECTORS.iter().filter(|entry| entry.is_default).map(|entry| entry.name);
    let default = default.collect::<Vec<_>>().join(",");
    format!("Run these detectors, separated by commas [default: {default}]")
}

pub(super) fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err("expected a number from 0 to 1".to_owned()),
    }
}

/// Which findings fail a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Errors alone
    Error,
    /// Warnings and errors
    Warning,
    /// Every finding
    Note,
    /// None
    Never,
}

impl FailOn {
    /// The exit status of a command with this report.
    pub(crate) fn status(self, report: &Report) -> ExitStatus {
        match report.worst().is_some_and(|worst| self.is_reached_by(worst)) {
            true => ExitStatus::Findings,
            false => ExitStatus::Clean,
        }
    }

    /// Whether a worst finding of this severity is bad enough.
    pub(super) fn is_reached_by(self, worst: Severity) -> bool {
        match self {
            Self::Error => worst >= Severity::Error,
            Self::Warning => worst >= Severity::Warning,
            Self::Note => true,
            Self::Never => false,
        }
    }
}

pub(super) fn plan(text: &str) -> Result<Plan, std::convert::Infallible> {
    Ok(match text {
        "all" => Plan::All,
        "static" => Plan::Static,
        file => Plan::File(file.into()),
    })
}

/// The forms in which findings can be reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    Text,
    /// For programs, as docs/schema/findings-1.schema.json says
    Json,
    /// For code scanning services and editors, SARIF 2.1.0
    Sarif,
    /// For the browser, one file that loads nothing
    Html,
}

/// The forms in which `analyze` can report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceReportFormat {
    /// For people
    Text,
    /// For programs, as docs/schema/findings-1.schema.json says
    Json,
    /// For code scanning services and editors, SARIF 2.1.0
    Sarif,
    /// For the browser, one file that loads nothing
    Html,
    /// A line for every racing event: trace, detector, location, variable, separated by tabs
    Tsv,
}

impl TraceReportFormat {
    /// The form of the report, unless there is none beside the lines.
    pub(crate) fn of_report(self) -> Option<ReportFormat> {
        match self {
            Self::Text => Some(ReportFormat::Text),
            Self::Json => Some(ReportFormat::Json),
            Self::Sarif => Some(ReportFormat::Sarif),
            Self::Html => Some(ReportFormat::Html),
            Self::Tsv => None,
        }
    }
}

/// What `inspect` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// Counts of everything, and what could not be read
    Summary,
    /// The classes with their fields and methods
    Classes,
    /// The bodies of methods in static single assignment form
    Ssa,
    /// Which method may call which
    Callgraph,
    /// Where threads are started and what they run
    Threads,
    /// The abstract objects: where they are made, who can reach them, and what they refer to
    Heap,
    /// The object use graphs of shared objects, or of those of --class or --object: the life of each
    Oug,
}

/// The forms in which `inspect` can show things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
    /// For Graphviz
    Dot,
}
