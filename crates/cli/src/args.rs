//! The arguments of every command. Help and manual pages derive from here.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use unsnarl_commands::ReviewOptions;
use unsnarl_commands::analyze::AnalyzeOptions;
use unsnarl_commands::check::{CheckOptions, is_found_statically};
use unsnarl_commands::confirm::Suspicions;
use unsnarl_commands::dynamic::DetectOptions;
use unsnarl_commands::explain::ExplainOptions;
use unsnarl_commands::run::{DEFAULT_BUFFER, Plan, RunOptions};
use unsnarl_commands::session::ProgramOptions;
use unsnarl_commands::suppression::{SuppressionOptions, SuppressionRule};
use unsnarl_detect_dynamic::{DETECTORS, DetectorEntry};
use unsnarl_findings::{Report, Rule, Severity};
use unsnarl_program::callgraph::Entries;

use crate::ExitStatus;

/// Finds concurrency bugs in JVM programs: data races, violations of atomicity, stale values,
/// deadlocks.
#[derive(Debug, Parser)]
#[command(
    name = "unsnarl",
    version,
    about,
    after_help = EXIT_STATUS,
    disable_help_subcommand = true,
    propagate_version = true,
    max_term_width = 100
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: CommonArguments,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_STATUS: &str = "Exit status: 0 when nothing was found, 1 when there are findings, \
                           2 when unsnarl could not do its job.";

const EXIT_STATUS_OF_RUN: &str = "Exit status: that of COMMAND if it failed (128 + N if signal N killed it), \
                                  else 1 when there are findings, else 0; 2 when unsnarl could not do its job.";

/// What every command understands.
#[derive(Args, Debug)]
#[command(next_help_heading = "Common options")]
pub(crate) struct CommonArguments {
    /// Write the result to FILE instead of standard output
    #[arg(short, long, global = true, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    pub(crate) color: ColorChoice,
    /// Show a finding in one line, and leave out warnings and progress; errors are still shown
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Show all of a finding, and say more about what is being done
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// What the command line does not say is in FILE [default: unsnarl.toml in this folder or the nearest above]
    #[arg(long, global = true, value_name = "FILE", env = "UNSNARL_CONFIG")]
    pub(crate) config: Option<PathBuf>,
}

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

/// One variant per command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(CheckArguments),
    Run(RunArguments),
    Analyze(AnalyzeArguments),
    Report(ReportArguments),
    Explain(ExplainArguments),
    Inspect(InspectArguments),
    Demo(DemoArguments),
    Config(ConfigArguments),
    Completions(CompletionsArguments),
}

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

/// Find concurrency bugs in the bytecode of a program or a library
///
/// INPUT is a jar (also a war or a Spring Boot jar), a folder of classes, or a class file. Findings
/// are about the classes of INPUT; the classes that these use are analysed with them.
#[derive(Args, Debug)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct CheckArguments {
    /// Jars, folders and class files to check
    #[arg(value_name = "INPUT", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Look only for these rules, separated by commas [default: all]
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rule_parser())]
    pub(crate) rules: Vec<Rule>,
    /// The least severity of a finding that makes the exit status 1
    #[arg(long, value_enum, default_value_t = FailOn::Warning, value_name = "SEVERITY")]
    pub(crate) fail_on: FailOn,
    /// Also judge elements of arrays, of which the analysis does not know the index
    #[arg(long)]
    pub(crate) arrays: bool,
    /// Report every use of a stale value, not only those that other threads may notice
    #[arg(long)]
    pub(crate) strict: bool,
    /// Leave out findings that are less sure than this, from 0 to 1 [default: 0.05, or 0.25 for programs so
    /// large that their objects are told apart only roughly]
    #[arg(long, value_name = "X", value_parser = probability)]
    pub(crate) min_confidence: Option<f64>,
    /// In which form
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,
    #[command(flatten)]
    pub(crate) source: SourceArguments,
    #[command(flatten)]
    pub(crate) accepted: AcceptArguments,
    #[command(flatten)]
    pub(crate) program: ProgramArguments,
}

impl CheckArguments {
    /// What is checked.
    pub(crate) fn options(&self) -> CheckOptions {
        CheckOptions {
            inputs: self.inputs.clone(),
            program: self.program.options(),
            rules: self.rules.clone(),
            arrays: self.arrays,
            strict: self.strict,
            min_confidence: self.min_confidence,
            use_graphs: matches!(self.format, ReportFormat::Json | ReportFormat::Html),
            // The text shows them among its notes.
            warn_of_failures: self.format != ReportFormat::Text,
        }
    }
}

/// Run a program and watch it for concurrency bugs
///
/// COMMAND is a java with its arguments, or anything that starts JVMs: mvn, a script. Its input, output and
/// signals are its own; the report goes to standard error, or to the file of --output, when it has ended.
#[derive(Args, Debug)]
#[command(after_help = EXIT_STATUS_OF_RUN)]
pub(crate) struct RunArguments {
    /// The program to run, with its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) detectors: DetectArguments,
    #[command(flatten)]
    pub(crate) joined: JoinArguments,
    /// Say which of the findings in FILE, a JSON report of `unsnarl check`, the run shows, and which places it came to;
    /// without FILE, what a check of the program's class path finds. Implies --no-filters and --contents
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with = "no_analysis")]
    pub(crate) confirm: Option<Option<PathBuf>>,
    /// Watch only these classes: `app.Main`, or `app.*` for all that begin so; of the JDK only what is named, such as
    /// `java.util.*` [default: all but the JDK's]
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    pub(crate) include: Vec<String>,
    /// Do not watch these classes
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    pub(crate) exclude: Vec<String>,
    /// Which fields to watch: `all`; `static`, what a check of the program's class path suspects; or what the findings in
    /// FILE, a JSON report, are about
    #[arg(long, value_name = "all|static|FILE", default_value = "all", value_parser = plan)]
    pub(crate) plan: Plan,
    /// Do not watch elements of arrays
    #[arg(long)]
    pub(crate) no_arrays: bool,
    /// Watch what is in objects of libraries as well: an ArrayList that two threads use
    #[arg(long)]
    pub(crate) contents: bool,
    /// Record every access, also such as say nothing new about races
    #[arg(long)]
    pub(crate) no_filters: bool,
    /// Files with further models of libraries, which add to or override those that are built in
    #[arg(long, value_name = "FILE")]
    pub(crate) models: Vec<PathBuf>,
    /// Watch only N elements of every array, which loses races
    #[arg(long, value_name = "N", conflicts_with = "no_arrays")]
    pub(crate) array_cutoff: Option<u32>,
    /// The first element that is watched [default: 0]
    #[arg(long, value_name = "K", requires = "array_cutoff")]
    pub(crate) array_offset: Option<u32>,
    /// Show the stacks of the very accesses, and not of the first ones there, which makes the program slower
    #[arg(long)]
    pub(crate) stacks: bool,
    /// Record accesses exactly in the order in which they happen, which makes the program much slower
    #[arg(long)]
    pub(crate) exact: bool,
    /// Keep the trace in DIR, which must not be there yet, for `unsnarl analyze DIR`
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// Only record
    #[arg(long, requires = "record")]
    pub(crate) no_analysis: bool,
    /// Where events wait to be read [default: shared memory if there is enough, else TMPDIR]
    #[arg(long, value_name = "DIR", conflicts_with = "record")]
    pub(crate) session_dir: Option<PathBuf>,
    /// How many megabytes of events may wait to be read, for each JVM, before it is slowed down
    #[arg(long, value_name = "MB", default_value_t = DEFAULT_BUFFER, value_parser = clap::value_parser!(u32).range(4..))]
    pub(crate) buffer: u32,
    /// What alone decides the exit status [default: the program if it failed, else the findings]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) exit_code: Option<ExitCodeOf>,
    /// The least severity of a finding that makes the exit status 1
    #[arg(long, value_enum, default_value_t = FailOn::Warning, value_name = "SEVERITY")]
    pub(crate) fail_on: FailOn,
    /// In which form
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,
    #[command(flatten)]
    pub(crate) source: SourceArguments,
    #[command(flatten)]
    pub(crate) accepted: AcceptArguments,
}

impl RunArguments {
    /// What is run.
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions {
            command: self.command.clone(),
            detectors: self.detectors.options(),
            with: self.joined.with.clone(),
            confirm: self.confirm.clone().map(|file| match file {
                Some(file) => Suspicions::File(file),
                None => Suspicions::Check,
            }),
            plan: self.plan.clone(),
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            no_arrays: self.no_arrays,
            contents: self.contents,
            no_filters: self.no_filters,
            models: self.models.clone(),
            array_cutoff: self.array_cutoff,
            array_offset: self.array_offset,
            stacks: self.stacks,
            exact: self.exact,
            record: self.record.clone(),
            no_analysis: self.no_analysis,
            session_dir: self.session_dir.clone(),
            buffer: self.buffer,
        }
    }
}

/// What looks at a trace.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct DetectArguments {
    #[arg(long, value_name = "DETECTOR", value_delimiter = ',', value_parser = detector_parser(), help = detect_help())]
    pub(crate) detect: Vec<&'static DetectorEntry>,
    /// Report every pair of places that races, which takes more time and memory
    #[arg(long)]
    pub(crate) all: bool,
}

impl DetectArguments {
    /// The detectors.
    pub(crate) fn options(&self) -> DetectOptions {
        DetectOptions { detect: self.detect.clone(), all: self.all }
    }
}

/// What else is in a report.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct JoinArguments {
    /// Join with the findings in FILE, a JSON report of `unsnarl check` or of any other command
    #[arg(long, value_name = "FILE")]
    pub(crate) with: Vec<PathBuf>,
}

/// Which findings are accepted.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Accepted findings")]
pub(crate) struct AcceptArguments {
    /// Findings that FILE lists do not make the exit status 1
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write all findings to FILE, for --baseline
    #[arg(long, value_name = "FILE")]
    pub(crate) write_baseline: Option<PathBuf>,
    /// Show also what the baseline, unsnarl.toml or the source suppresses
    #[arg(long)]
    pub(crate) show_suppressed: bool,
    /// The `[[suppress]]` tables of unsnarl.toml.
    #[arg(skip)]
    pub(crate) suppressions: Vec<SuppressionRule>,
}

impl AcceptArguments {
    /// What is done with findings, of which the source may be in further places.
    pub(crate) fn review(&self, source: &SourceArguments) -> ReviewOptions {
        ReviewOptions {
            source: source.source.clone(),
            suppression: SuppressionOptions {
                baseline: self.baseline.clone(),
                write_baseline: self.write_baseline.clone(),
                rules: self.suppressions.clone(),
            },
        }
    }
}

/// What alone decides the exit status of `unsnarl run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExitCodeOf {
    /// 1 if there are findings, else 0
    Findings,
    /// That of the program, 128 + N if signal N killed it
    Program,
}

/// Find concurrency bugs in the recorded trace of a run
///
/// TRACE is a folder that `unsnarl run --record` has made, or a file in STD text form or in RapidBin form.
/// Findings say what was observed in the run.
#[derive(Args, Debug)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct AnalyzeArguments {
    /// Traces to look at
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) detectors: DetectArguments,
    #[command(flatten)]
    pub(crate) joined: JoinArguments,
    /// The least severity of a finding that makes the exit status 1
    #[arg(long, value_enum, default_value_t = FailOn::Warning, value_name = "SEVERITY")]
    pub(crate) fail_on: FailOn,
    /// In which form
    #[arg(long, value_enum, default_value_t = TraceReportFormat::Text)]
    pub(crate) format: TraceReportFormat,
    #[command(flatten)]
    pub(crate) source: SourceArguments,
    #[command(flatten)]
    pub(crate) accepted: AcceptArguments,
}

impl AnalyzeArguments {
    /// What is analysed.
    pub(crate) fn options(&self) -> AnalyzeOptions {
        AnalyzeOptions {
            traces: self.traces.clone(),
            detectors: self.detectors.options(),
            with: self.joined.with.clone(),
        }
    }
}

/// Show findings of earlier invocations in another form
///
/// FINDINGS are JSON reports of any command, written with --format json. What several of them say about the same
/// defect becomes one finding. The exit status is 0, whatever they say.
#[derive(Args, Debug)]
pub(crate) struct ReportArguments {
    /// The JSON reports
    #[arg(value_name = "FINDINGS", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// For people at a terminal [default]
    #[arg(long, group = "form")]
    pub(crate) text: bool,
    /// For the browser, one file that loads nothing
    #[arg(long, group = "form")]
    pub(crate) html: bool,
    /// For code scanning services and editors, SARIF 2.1.0
    #[arg(long, group = "form")]
    pub(crate) sarif: bool,
    /// For programs, as docs/schema/findings-1.schema.json says
    #[arg(long, group = "form")]
    pub(crate) json: bool,
    /// Show also what is suppressed
    #[arg(long)]
    pub(crate) show_suppressed: bool,
    #[command(flatten)]
    pub(crate) source: SourceArguments,
}

impl ReportArguments {
    /// The form that is asked for.
    pub(crate) fn format(&self) -> ReportFormat {
        match (self.html, self.sarif, self.json) {
            (true, _, _) => ReportFormat::Html,
            (_, true, _) => ReportFormat::Sarif,
            (_, _, true) => ReportFormat::Json,
            _ => ReportFormat::Text,
        }
    }
}

/// Where source is.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SourceArguments {
    /// A folder or a jar with source to show [default: where Maven and Gradle put it near the classes, and NAME-sources.jar
    /// beside NAME.jar]
    #[arg(long, value_name = "DIR|JAR")]
    pub(crate) source: Vec<PathBuf>,
}

/// Explain a rule, a finding, or why a field or method was or was not reported
///
/// A rule, such as data-race, needs no INPUT. A field or method, such as bank.Account.balance, is looked at in
/// the program of INPUT: who accesses or runs it, with which locks, and what orders the accesses. A finding is
/// named by its fingerprint and shown from a report, or from a check of INPUT.
#[derive(Args, Debug)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct ExplainArguments {
    /// A rule, a fingerprint, or a field or method with its class
    #[arg(value_name = "RULE|FINGERPRINT|CLASS.MEMBER")]
    pub(crate) name: String,
    /// Jars, folders and class files that have the field or method
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// The JSON report that has the finding
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) program: ProgramArguments,
}

impl ExplainArguments {
    /// Where it is looked for.
    pub(crate) fn options(&self) -> ExplainOptions {
        ExplainOptions {
            inputs: self.inputs.clone(),
            from: self.from.clone(),
            program: self.program.options(),
        }
    }
}

/// Show what is in force, and where it comes from: the command line, unsnarl.toml, the environment, or a default
///
/// Without COMMAND, everything that unsnarl.toml can say, for every command; with COMMAND and arguments of it, what
/// would hold for these. The result has the form of unsnarl.toml.
#[derive(Args, Debug)]
pub(crate) struct ConfigArguments {
    /// A command with its arguments, such as `check --library`
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}

/// Write the completions of a shell
///
/// bash: unsnarl completions bash > ~/.local/share/bash-completion/completions/unsnarl
#[derive(Args, Debug)]
pub(crate) struct CompletionsArguments {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
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

/// Compile the examples that come with unsnarl, check them, and watch them run
///
/// Needs the javac of a JDK. The exit status is 0 when the demonstration could be given, whatever it
/// found.
#[derive(Args, Debug)]
pub(crate) struct DemoArguments {
    /// The JDK to compile with [default: JAVA_HOME, else the java on the PATH]
    #[arg(long, value_name = "DIR")]
    pub(crate) jdk: Option<PathBuf>,
    /// Put sources and classes into DIR and leave them there
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

/// Show what unsnarl sees in a program: classes, SSA, call graph, threads, heap
///
/// INPUT is a jar (also a war or a Spring Boot jar), a folder of classes, or a class file. Without
/// INPUT the image of the JDK itself is taken.
#[derive(Args, Debug)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct InspectArguments {
    /// Jars, folders and class files to look at
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// What to show
    #[arg(long, value_enum, default_value_t = What::Summary)]
    pub(crate) what: What,
    /// In which form
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Show only classes whose name matches, such as 'bank.*', and objects of such classes
    #[arg(long, value_name = "PATTERN")]
    pub(crate) class: Option<String>,
    /// Show only methods whose name matches, such as 'update' or 'bank.Account.update'
    #[arg(long, value_name = "PATTERN")]
    pub(crate) method: Option<String>,
    /// With --what oug: show only these objects, by the ids that --what heap gives them
    #[arg(long = "object", value_name = "ID", value_delimiter = ',')]
    pub(crate) objects: Vec<String>,
    #[command(flatten)]
    pub(crate) program: ProgramArguments,
}

/// What program INPUT is part of.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "The program")]
pub(crate) struct ProgramArguments {
    /// The JDK whose library the program uses [default: JAVA_HOME, else the java on the PATH]
    #[arg(long, value_name = "DIR")]
    pub(crate) jdk: Option<PathBuf>,
    /// Where to look for classes that INPUT uses, separated as in java's -classpath
    #[arg(long, visible_alias = "class-path", value_name = "CP", value_delimiter = ':')]
    pub(crate) classpath: Vec<PathBuf>,
    /// Methods where execution starts, such as 'bank.Main.main' or 'bank.*.handle*' [default: every
    /// main method]
    #[arg(long = "entry", value_name = "PATTERN", conflicts_with = "library")]
    pub(crate) entries: Vec<String>,
    /// Take every public method of INPUT as called by clients in parallel
    #[arg(long)]
    pub(crate) library: bool,
    /// Files with further models of libraries, which add to or override those that are built in
    #[arg(long, value_name = "FILE")]
    pub(crate) models: Vec<PathBuf>,
    /// The Java release for which multi-release jars are read [default: that of the JDK]
    #[arg(long, value_name = "N")]
    pub(crate) release: Option<u16>,
}

impl ProgramArguments {
    /// The program.
    pub(crate) fn options(&self) -> ProgramOptions {
        let elements = self.classpath.iter();
        ProgramOptions {
            jdk: self.jdk.clone(),
            class_path: elements.filter(|it| !it.as_os_str().is_empty()).cloned().collect(),
            entries: self.entries(),
            models: self.models.clone(),
            release: self.release,
        }
    }

    /// Where execution begins.
    fn entries(&self) -> Entries {
        if self.library {
            Entries::Library
        } else if self.entries.is_empty() {
            Entries::Main
        } else {
            Entries::Patterns(self.entries.clone())
        }
    }
}

/// Takes the id of a rule; for any other text clap names the nearest ids.
fn rule_parser() -> impl TypedValueParser<Value = Rule> {
    let rules = Rule::ALL.iter().map(|rule| {
        let value = PossibleValue::new(rule.id()).help(rule.summary());
        // The others are understood and not shown.
        value.hide(!is_found_statically(*rule))
    });
    PossibleValuesParser::new(rules)
        .map(|id| Rule::from_id(&id).expect("only ids of rules are possible values"))
}

/// Takes the name of a detector.
fn detector_parser() -> impl TypedValueParser<Value = &'static DetectorEntry> {
    let names = DETECTORS.iter().map(|entry| PossibleValue::new(entry.name).help(entry.summary));
    PossibleValuesParser::new(names).map(|name| {
        let entry = DETECTORS.iter().find(|entry| entry.name == name);
        entry.expect("only names of detectors are possible values")
    })
}

/// The help of `--detect`, which names the detectors that run by default.
fn detect_help() -> String {
    let default = DETECTORS.iter().filter(|entry| entry.is_default).map(|entry| entry.name);
    let default = default.collect::<Vec<_>>().join(",");
    format!("Run these detectors, separated by commas [default: {default}]")
}

fn probability(text: &str) -> Result<f64, String> {
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
    fn is_reached_by(self, worst: Severity) -> bool {
        match self {
            Self::Error => worst >= Severity::Error,
            Self::Warning => worst >= Severity::Warning,
            Self::Note => true,
            Self::Never => false,
        }
    }
}

fn plan(text: &str) -> Result<Plan, std::convert::Infallible> {
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(std::iter::once("unsnarl").chain(arguments.iter().copied()))
    }

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn inspect_takes_everything_it_promises() {
        let line = "inspect a.jar b --jdk /jdk --classpath c.jar:d --entry p.M.main --entry q.* \
                    --models m.toml --release 17 --what callgraph --format dot --class p.* \
                    --method run --object o1,o2 --output out.dot --color never -v";
        let words: Vec<&str> = line.split_whitespace().collect();
        let arguments = parse(&words).expect("all of these exist");
        assert!(arguments.common.verbose);
        assert_eq!(arguments.common.color, ColorChoice::Never);
        assert_eq!(arguments.common.output, Some(PathBuf::from("out.dot")));
        let Command::Inspect(inspect) = arguments.command else { panic!("it says inspect") };
        assert_eq!(inspect.inputs.len(), 2);
        assert_eq!(inspect.program.entries, ["p.M.main", "q.*"]);
        let classpath = inspect.program.options().class_path;
        assert_eq!(classpath, [PathBuf::from("c.jar"), PathBuf::from("d")]);
        assert_eq!((inspect.what, inspect.format), (What::Callgraph, Format::Dot));
        assert_eq!(inspect.objects, ["o1", "o2"]);
    }

    #[test]
    fn check_takes_everything_it_promises() {
        let line = "check a.jar --library --classpath c.jar --jdk /jdk --models m.toml --release 21 \
                    --rules data-race,unsafe-publication --fail-on error --arrays \
                    --min-confidence 0.6 --format json -o out.json -q";
        let words: Vec<&str> = line.split_whitespace().collect();
        let arguments = parse(&words).expect("all of these exist");
        let Command::Check(check) = arguments.command else { panic!("it says check") };
        assert_eq!(check.rules, [Rule::DataRace, Rule::UnsafePublication]);
        assert_eq!((check.fail_on, check.format), (FailOn::Error, ReportFormat::Json));
        assert_eq!(check.min_confidence, Some(0.6));
        assert!(check.arrays && check.program.library && arguments.common.quiet);
    }

    #[test]
    fn analyze_takes_everything_it_promises() {
        let line = "analyze a.std b.bin --detect eraser,lock-order --detect happens-before --all \
                    --fail-on never --format tsv -o t";
        let words: Vec<&str> = line.split_whitespace().collect();
        let arguments = parse(&words).expect("all of these exist");
        let Command::Analyze(analyze) = arguments.command else { panic!("it says analyze") };
        assert_eq!(analyze.traces, [PathBuf::from("a.std"), PathBuf::from("b.bin")]);
        let names: Vec<&str> = analyze.detectors.detect.iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["eraser", "lock-order", "happens-before"]);
        assert!(analyze.detectors.all);
        assert_eq!((analyze.fail_on, analyze.format), (FailOn::Never, TraceReportFormat::Tsv));
    }

    #[test]
    fn an_unknown_rule_is_told_with_its_neighbour() {
        let error = parse(&["check", "--rules", "data-rase", "a.jar"]).expect_err("no such rule");
        assert!(error.to_string().contains("'data-race'"), "{error}");
    }

    #[test]
    fn what_fails_a_build_is_ordered() {
        use Severity::{Error, Note, Warning};
        for (fail_on, expected) in [
            (FailOn::Error, [false, false, true]),
            (FailOn::Warning, [false, true, true]),
            (FailOn::Note, [true, true, true]),
            (FailOn::Never, [false, false, false]),
        ] {
            let reached = [Note, Warning, Error].map(|worst| fail_on.is_reached_by(worst));
            assert_eq!(reached, expected, "{fail_on:?}");
        }
    }

    #[test]
    fn contradictions_and_unknown_things_are_errors_of_status_2() {
        for line in [
            "",
            "inspect --entry a.B.c --library x.jar",
            "inspect -q -v",
            "inspect --what everything",
            "inspect --release new",
            "check",
            "check --entry a.B.c --library x.jar",
            "check --fail-on maybe x.jar",
            "check --min-confidence 1.5 x.jar",
            "check --min-confidence high x.jar",
            "check --format dot x.jar",
            "analyze",
            "analyze --detect magic a.std",
            "analyze --format dot a.std",
            "report",
            "report --html --sarif a.json",
            "explain",
            "no-such-command",
        ] {
            let words: Vec<&str> = line.split_whitespace().collect();
            let error = parse(&words).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn help_names_the_detectors_that_run_by_default() {
        let help = detect_help();
        for entry in &DETECTORS {
            assert_eq!(help.contains(entry.name), entry.is_default, "{}", entry.name);
        }
    }

    /// The manual pages in `docs/man` are what the definition says. Run with `UNSNARL_BLESS=1` to
    /// write them anew.
    #[test]
    fn manual_pages_are_up_to_date() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/man");
        let bless = std::env::var_os("UNSNARL_BLESS").is_some();
        for (name, page) in manual_pages() {
            let path = folder.join(&name);
            if bless {
                std::fs::create_dir_all(&folder).expect("docs/man can be made");
                std::fs::write(&path, &page).expect("docs/man can be written");
            }
            let stored = std::fs::read(&path).unwrap_or_default();
            assert!(
                stored == page,
                "docs/man/{name} is stale: run UNSNARL_BLESS=1 cargo test -p unsnarl"
            );
        }
    }

    /// The file name and the text of every manual page.
    fn manual_pages() -> Vec<(String, Vec<u8>)> {
        let mut command = Arguments::command();
        command.build();
        let pages = std::iter::once(command.clone()).chain(command.get_subcommands().cloned());
        pages
            .map(|command| {
                let page = clap_mangen::Man::new(command);
                let mut text = Vec::new();
                page.render(&mut text).expect("a vector takes every write");
                (page.get_filename(), text)
            })
            .collect()
    }
}
