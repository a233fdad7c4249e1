//! The arguments of every command. Help and manual pages derive from here.

mod options;
#[cfg(test)]
mod tests;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use unsnarl_commands::run::{DEFAULT_BUFFER, Plan};
use unsnarl_commands::suppression::SuppressionRule;
use unsnarl_findings::Rule;
use unsnarl_trace_analysis::AnalysisEntry;

pub(crate) use values::{
    ColorChoice, ExitCodeOf, FailOn, Format, ReportFormat, Shell, TraceReportFormat, What,
};

use values::{detect_help, detector_parser, plan, probability, rule_parser};

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
    /// large that their objects are distinguished only roughly]
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
    /// Record every access, even redundant ones
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

/// What looks at a trace.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct DetectArguments {
    #[arg(long, value_name = "DETECTOR", value_delimiter = ',', value_parser = detector_parser(), help = detect_help())]
    pub(crate) detect: Vec<&'static AnalysisEntry>,
    /// Report every pair of places that race, which takes more time and memory
    #[arg(long)]
    pub(crate) all: bool,
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
