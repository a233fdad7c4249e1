//! `unsnarl check` as a user runs it: time, memory and what it finds, on the programs in `programs`,
//! which are of the kind and size that [vonPraun04 §3.5.2] measures, and on real jars.
//!
//! The command itself is measured, from its start to its end, with all it reads: the program, its class
//! path and the library of the JDK. Needs a release build of `unsnarl` beside this program, or the path
//! of one in `UNSNARL`, and `javac` for the programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::measure;

/// After so long a run is given up.
const LIMIT: Duration = Duration::from_secs(300);

/// Where Debian puts jars.
const DEBIAN: &str = "/usr/share/java";

/// The race analysis: what the other rules cost is measured on top of it.
const RACES: &str = "data-race,unsafe-publication";

/// Real jars: those to check, those beside them on the class path, and where execution begins; nothing
/// means as a library.
const JARS: [(&[&str], &[&str], Option<&str>); 17] = [
    (&["hsqldb"], &[], Some("org.hsqldb.server.Server.main")),
    (&["h2"], &[], Some("org.h2.tools.Server.main")),
    (&["hsqldb"], &[], None),
    (&["h2"], &[], None),
    (&["derby"], &[], None),
    (&["lucene-core-4.10.4"], &[], None),
    (&["guava"], &[], None),
    (&["tomcat9-util"], &["tomcat9-juli"], None),
    (&["tomcat9-tribes"], &["tomcat9-juli"], None),
    (&["tomcat9-coyote"], TOMCAT, None),
    (&["tomcat9-catalina"], TOMCAT, None),
    (&["jetty9-util"], JETTY, None),
    (&["jetty9-server"], JETTY, None),
    (&["activemq-client"], ACTIVEMQ, None),
    (&["activemq-broker"], ACTIVEMQ, None),
    (&["netty-common"], NETTY, None),
    (&["netty-transport"], NETTY, None),
];

const TOMCAT: &[&str] = &[
    "tomcat9-coyote",
    "tomcat9-util",
    "tomcat9-util-scan",
    "tomcat9-juli",
    "tomcat9-jni",
    "tomcat9-servlet-api",
    "tomcat9-el-api",
    "tomcat9-jsp-api",
    "tomcat9-annotations-api",
    "tomcat9-jaspic-api",
    "tomcat9-api",
];
const JETTY: &[&str] = &["jetty9-util", "jetty9-http", "jetty9-io", "servlet-api", "slf4j-api"];
const ACTIVEMQ: &[&str] =
    &["activemq-client", "activemq-openwire-legacy", "geronimo-jms_1.1_spec", "slf4j-api"];
const NETTY: &[&str] = &["netty-common", "netty-buffer", "netty-resolver", "slf4j-api"];

/// One part of a system after the other, to see how time grows with size while the kind of code stays.
const GROWING: [&str; 7] = [
    "netty-common",
    "netty-buffer",
    "netty-resolver",
    "netty-transport",
    "netty-codec",
    "netty-handler",
    "netty-codec-http",
];

/// Prints a row for each program and each jar; `programs` is our own programs only, `JAR` is checked as
/// a library, `JAR=ENTRY` from there.
pub(crate) fn run(jars: &[&str]) -> Result<(), String> {
    let unsnarl = find_unsnarl()?;
    let classes = tempfile::tempdir().map_err(|error| error.to_string())?;
    heading();
    match jars {
        [] => {
            run_programs(&unsnarl, classes.path())?;
            run_debian(&unsnarl);
        }
        ["programs"] => run_programs(&unsnarl, classes.path())?,
        jars => {
            let rows = jars.iter().filter_map(|jar| print_measured(&unsnarl, &given(jar)));
            print_growth("these jars", &rows.collect::<Vec<_>>());
        }
    }
    Ok(())
}

/// Our own programs: the best of three, as these take less than a second.
fn run_programs(unsnarl: &Path, classes: &Path) -> Result<(), String> {
    for program in programs()? {
        let subject = compile(&program, classes)?;
        let rows = (0..3).filter_map(|_| measured_with_races(unsnarl, &subject));
        if let Some(row) = rows.min_by(|one, other| one.seconds.total_cmp(&other.seconds)) {
            row.print();
        }
    }
    Ok(())
}

/// Debian's jars.
fn run_debian(unsnarl: &Path) {
    let rows = JARS.iter().filter_map(|&(inputs, beside, entry)| {
        installed(inputs, beside, entry).and_then(|subject| print_measured(unsnarl, &subject))
    });
    print_growth("all jars", &rows.collect::<Vec<_>>());
    let rows = (1..=GROWING.len()).filter_map(|count| {
        let subject = installed(&GROWING[..count], &["slf4j-api"], None)?;
        print_measured(unsnarl, &subject)
    });
    print_growth("Netty, part by part", &rows.collect::<Vec<_>>());
}

/// The binary to measure.
fn find_unsnarl() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("UNSNARL") {
        return Ok(PathBuf::from(path));
    }
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let beside = here.with_file_name("unsnarl");
    if beside.is_file() {
        Ok(beside)
    } else {
        Err(format!("{} is missing: cargo build --release -p unsnarl", beside.display()))
    }
}

/// What to check.
pub(crate) struct Subject {
    name: String,
    inputs: Vec<PathBuf>,
    beside: Vec<PathBuf>,
    /// Nothing: as a library.
    entry: Option<String>,
}

/// The folders of our own programs.
pub(crate) fn programs() -> Result<Vec<PathBuf>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{folder:?}: {error}"))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    Ok(found)
}

/// Compiles a program to a folder below `classes`.
pub(crate) fn compile(program: &Path, classes: &Path) -> Result<Subject, String> {
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = classes.join(&name);
    let mut sources: Vec<PathBuf> = std::fs::read_dir(program)
        .map_err(|error| format!("{}: {error}", program.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "java"))
        .collect();
    sources.sort();
    let outcome = Command::new("javac")
        .args(["-g", "--release", "17", "-d"])
        .arg(&folder)
        .args(&sources)
        .status()
        .map_err(|error| format!("javac: {error}"))?;
    if !outcome.success() {
        return Err(format!("javac cannot compile {name}"));
    }
    let entry = Some(format!("{name}.Main.main"));
    Ok(Subject { name, inputs: vec![folder], beside: Vec::new(), entry })
}

/// Jars of Debian, or nothing if they are not there.
fn installed(inputs: &[&str], beside: &[&str], entry: Option<&str>) -> Option<Subject> {
    let jar = |name: &&str| Path::new(DEBIAN).join(format!("{name}.jar"));
    let subject = Subject {
        name: match inputs {
            [only] => (*only).to_owned(),
            [.., last] => format!("+ {last}"),
            [] => String::new(),
        },
        inputs: inputs.iter().map(jar).collect(),
        beside: beside.iter().filter(|name| !inputs.contains(name)).map(jar).collect(),
        entry: entry.map(str::to_owned),
    };
    if let Some(missing) = subject.inputs.iter().chain(&subject.beside).find(|jar| !jar.exists()) {
        println!("{}: {} is not installed", subject.name, missing.display());
        return None;
    }
    Some(subject)
}

/// A jar as named on the command line.
fn given(argument: &str) -> Subject {
    let (jar, entry) = match argument.split_once('=') {
        Some((jar, entry)) => (jar, Some(entry.to_owned())),
        None => (argument, None),
    };
    let name = Path::new(jar).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Subject { name, inputs: vec![PathBuf::from(jar)], beside: Vec::new(), entry }
}

/// What was measured.
struct Row {
    name: String,
    seconds: f64,
    /// On all processors, in seconds.
    processor: f64,
    /// The same for the race analysis alone.
    races: Option<f64>,
    peak: u64,
    stats: Value,
    /// Findings by severity: error, warning, note.
    findings: [usize; 3],
}

fn heading() {
    println!(
        "{:<28} {:>7} {:>8} {:>9} {:>8} {:>8} {:>9} {:>15} {:>8} {:>8} {:>8} {:>7}",
        "check of",
        "classes",
        "methods",
        "contexts",
        "threads",
        "objects",
        "events",
        "err/warn/note",
        "seconds",
        "peak MB",
        "races",
        "on top"
    );
}

fn print_measured(unsnarl: &Path, subject: &Subject) -> Option<Row> {
    let row = measured_with_races(unsnarl, subject)?;
    row.print();
    Some(row)
}

/// Runs the command with all rules and with those of races.
fn measured_with_races(unsnarl: &Path, subject: &Subject) -> Option<Row> {
    let mut row = measured(unsnarl, subject, None)?;
    row.races = measured(unsnarl, subject, Some(RACES)).map(|races| races.processor);
    Some(row)
}

/// Runs the command; what goes wrong is printed.
fn measured(unsnarl: &Path, subject: &Subject, rules: Option<&str>) -> Option<Row> {
    let kind = if subject.entry.is_some() { "main" } else { "library" };
    let name = format!("{} {kind}", subject.name);
    let report = tempfile::NamedTempFile::new().ok()?;
    let mut command = Command::new(unsnarl);
    command.args(["check", "--quiet", "--format", "json", "--output"]).arg(report.path());
    command.args(rules.into_iter().flat_map(|rules| ["--rules", rules]));
    match &subject.entry {
        Some(entry) => command.args(["--entry", entry]),
        None => command.arg("--library"),
    };
    if !subject.beside.is_empty() {
        command.arg("--classpath").arg(std::env::join_paths(&subject.beside).ok()?);
    }
    command.args(&subject.inputs).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let run = match measure::run(&mut command, LIMIT) {
        Ok(run) => run,
        Err(error) => {
            println!("{name:<28} {}: {error}", unsnarl.display());
            return None;
        }
    };
    let peak = run.peak >> 20;
    let (Some(0 | 1), Ok(text)) = (run.code, std::fs::read_to_string(report.path())) else {
        let outcome = match run.code {
            None if run.seconds > LIMIT.as_secs_f64() => "did not end".to_owned(),
            None => "was killed".to_owned(),
            Some(code) => format!("exit code {code}"),
        };
        println!("{name:<28} {outcome} after {:.1} s with {peak} MB", run.seconds);
        return None;
    };
    let Ok(report) = serde_json::from_str::<Value>(&text) else {
        println!("{name:<28} the report is not JSON");
        return None;
    };
    let findings = report["findings"].as_array().map_or(&[][..], Vec::as_slice);
    let count = |severity| findings.iter().filter(|&it| it["severity"] == severity).count();
    let findings = ["error", "warning", "note"].map(count);
    Some(Row {
        name,
        seconds: run.seconds,
        processor: run.processor,
        races: None,
        peak: run.peak,
        stats: report["stats"].clone(),
        findings,
    })
}

impl Row {
    /// What the other rules take of processor time, as a share of the race analysis.
    fn on_top(&self) -> Option<f64> {
        let races = self.races.filter(|&races| races > 0.0)?;
        Some((self.processor - races) / races)
    }

    fn print(&self) {
        let stat =
            |name: &str| self.stats[name].as_u64().map_or("-".to_owned(), |it| it.to_string());
        let [errors, warnings, notes] = self.findings;
        println!(
            "{:<28} {:>7} {:>8} {:>9} {:>8} {:>8} {:>9} {:>15} {:>8.2} {:>8} {:>8} {:>7}",
            self.name,
            stat("classes"),
            stat("methods"),
            stat("method_contexts"),
            stat("threads"),
            stat("objects"),
            stat("events"),
            format!("{errors}/{warnings}/{notes}"),
            self.seconds,
            self.peak >> 20,
            self.races.map_or("-".to_owned(), |races| format!("{races:.2}")),
            self.on_top().map_or("-".to_owned(), |share| format!("{:.0} %", 100.0 * share)),
        );
    }
}

/// By which power of the number of methods time and memory grow: the slope of a line through the
/// logarithms.
fn print_growth(of: &str, rows: &[Row]) {
    let slope = |value: fn(&Row) -> f64| {
        let points: Vec<(f64, f64)> = rows
            .iter()
            .filter_map(|row| Some((row.stats["methods"].as_f64()?.ln(), value(row).ln())))
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .collect();
        let count = points.len() as f64;
        let mean_x = points.iter().map(|point| point.0).sum::<f64>() / count;
        let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
        let covariance: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let variance: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        (points.len() > 2 && variance > 0.0).then(|| covariance / variance)
    };
    if let (Some(time), Some(memory)) = (slope(|row| row.seconds), slope(|row| row.peak as f64)) {
        println!("{of}: time grows with methods^{time:.2}, memory with methods^{memory:.2}");
    }
    let other = |row: &Row| row.races.map_or(f64::NAN, |races| row.processor - races);
    if let (Some(races), Some(other)) = (slope(|row| row.races.unwrap_or(f64::NAN)), slope(other)) {
        println!(
            "{of}: the race analysis grows with methods^{races:.2}, the other rules with methods^{other:.2}"
        );
    }
}
