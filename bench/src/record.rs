//! What recording costs: programs with the agent over the same programs without it, in one run.
//!
//! The time of a process from its start to its end, and the processor time that it took, which other work
//! on the machine disturbs less. Nobody reads the events meanwhile, but for the last figure, which is that of
//! `unsnarl run` with happens-before. Needs release builds of `unsnarl` and of the agent beside this program, and
//! `java` and `javac`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use unsnarl_events::Source;

use crate::check::{compile, programs};
use crate::measure::{self, Run, best_of_three};
use crate::traces::analyze;

/// After so long a run is given up.
const LIMIT: Duration = Duration::from_secs(120);
const RUNS: usize = 2;

/// The programs, with arguments that make them run for two seconds or more: in shorter runs the JVM's start and its
/// compilers weigh.
const PROGRAMS: [(&str, &[&str]); 7] = [
    ("elevator", &["4", "12", "1500"]),
    ("moldyn", &["12", "150"]),
    ("montecarlo", &["400000"]),
    ("raytracer", &["400", "8"]),
    ("sor", &["800", "1200"]),
    ("tree", &["800000"]),
    ("tsp", &["18"]),
];

/// H2 with queries of two clients, from Debian's package.
const DATA_BASE: (&str, &str, &[&str]) =
    ("/usr/share/java/h2.jar", "Queries", &["jdbc:h2:mem:bench", "2000"]);

/// What the agent is asked for.
const PLANS: [(&str, &str); 4] = [
    ("nothing", "events="),
    ("synchronization", "events=synchronization"),
    ("and fields", "events=synchronization:fields"),
    ("and arrays", "events=synchronization:fields:arrays"),
];

/// Prints a row for each program, or for those that are named.
pub(crate) fn run(names: &[&str]) -> Result<(), String> {
    let agent = beside("libunsnarl_agent.so")?;
    let unsnarl = beside("unsnarl")?;
    let classes = tempfile::tempdir().map_err(|error| error.to_string())?;
    start_up(&agent, classes.path())?;
    println!(
        "factors over the plain program: time (processor time), MB of events in the last column"
    );
    print!("{:<12} {:>9}", "program", "plain s");
    PLANS.iter().for_each(|(name, _)| print!(" {name:>16}"));
    println!(" {:>8} {:>16} {:>22}", "MB", "analysed live", "analysed M events/s");
    for subject in subjects(names, classes.path())? {
        row(&subject, &agent, &unsnarl)?;
    }
    all_events(&agent, classes.path())
}

/// Prints for each program, or for those that are named, what it takes plain and with the analysis beside it.
pub(crate) fn live(names: &[&str]) -> Result<(), String> {
    let unsnarl = beside("unsnarl")?;
    let classes = tempfile::tempdir().map_err(|error| error.to_string())?;
    println!("seconds of processor time, in brackets by the clock");
    println!("{:<26} {:>16} {:>16} {:>16}", "program", "plain", "live", "factor");
    for subject in subjects(names, classes.path())? {
        let Some((plain, _)) = subject.measure(None)? else {
            return Err(format!("{} does not run", subject.name));
        };
        let seconds = |run: &Run| format!("{:.2} ({:.2})", run.processor, run.seconds);
        let program = format!("{} {}", subject.name, subject.arguments.join(" "));
        print!("{program:<26} {:>16}", seconds(&plain));
        match subject.measure_live(&unsnarl)? {
            Some(live) => println!(" {:>16} {:>16}", seconds(&live), factors(&live, &plain)),
            None => println!(" {:>16}", "did not end"),
        }
    }
    Ok(())
}

/// The programs, or those that are named, compiled.
fn subjects(names: &[&str], classes: &Path) -> Result<Vec<Subject<'static>>, String> {
    let mut subjects = Vec::new();
    for program in programs()? {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(&(_, arguments)) = PROGRAMS.iter().find(|(known, _)| **known == name) else {
            continue;
        };
        if !names.is_empty() && !names.contains(&&*name) {
            continue;
        }
        compile(&program, classes)?;
        let class_path = classes.join(&name).into_os_string();
        let main = format!("{name}.Main");
        subjects.push(Subject { class_path, main, name, arguments });
    }
    if names.is_empty() || names.contains(&"h2") {
        match data_base(classes)? {
            Some(subject) => subjects.push(subject),
            None => println!("h2: skipped, {} is missing (libh2-java)", DATA_BASE.0),
        }
    }
    Ok(subjects)
}

/// The data base with its clients; nothing if it is not installed.
fn data_base(classes: &Path) -> Result<Option<Subject<'static>>, String> {
    let (jar, main, arguments) = DATA_BASE;
    if !Path::new(jar).is_file() {
        return Ok(None);
    }
    let classes = classes.join("h2");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("large/Queries.java");
    compile_file(&source, &classes)?;
    let mut class_path = classes.into_os_string();
    class_path.push(":");
    class_path.push(jar);
    Ok(Some(Subject { name: "h2".into(), class_path, main: main.into(), arguments }))
}

fn compile_file(source: &Path, classes: &Path) -> Result<(), String> {
    let javac = Command::new("javac").arg("-d").arg(classes).arg(source).status();
    match javac.is_ok_and(|status| status.success()) {
        true => Ok(()),
        false => Err(format!("javac cannot compile {}", source.display())),
    }
}

/// How many times as long a run took as the plain one, by the clock and in processor time.
fn factors(run: &Run, plain: &Run) -> String {
    let (time, processor) = (run.seconds / plain.seconds, run.processor / plain.processor);
    format!("{time:.1} ({processor:.1})")
}

struct Subject<'a> {
    name: String,
    class_path: OsString,
    /// The class that is started.
    main: String,
    arguments: &'a [&'a str],
}

impl Subject<'_> {
    /// The best of a few runs, and how large the last session was; nothing if one did not end well.
    fn measure(&self, agent: Option<(&Path, &str)>) -> Result<Option<(Run, u64)>, String> {
        let mut best: Option<(Run, u64)> = None;
        for _ in 0..RUNS {
            let folder = session_folder()?;
            let run = self.run_once(agent, &folder.path().join("session"))?;
            let size = size(&folder.path().join("session"));
            if run.code != Some(0) {
                return Ok(None);
            }
            if best.as_ref().is_none_or(|(best, _)| run.processor < best.processor) {
                best = Some((run, size));
            }
        }
        Ok(best)
    }

    /// The best of a few runs with the analysis beside it.
    fn measure_live(&self, unsnarl: &Path) -> Result<Option<Run>, String> {
        let mut best: Option<Run> = None;
        for _ in 0..RUNS {
            let mut command = Command::new(unsnarl);
            command.args(["run", "--quiet", "--", "java", "-cp"]).arg(&self.class_path);
            command.arg(&self.main).args(self.arguments);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let run = measure::run(&mut command, LIMIT).map_err(|error| error.to_string())?;
            // Findings make it 1.
            if !matches!(run.code, Some(0 | 1)) {
                return Ok(None);
            }
            if best.as_ref().is_none_or(|best| run.processor < best.processor) {
                best = Some(run);
            }
        }
        Ok(best)
    }

    /// How many millions of events of a recording are read and analysed in a second.
    fn analysed(&self, agent: (&Path, &str)) -> Result<f64, String> {
        let folder = session_folder()?;
        let session = folder.path().join("session");
        self.run_once(Some(agent), &session)?;
        let mut events = 0;
        let mut failure = None;
        let seconds = best_of_three(|| match analyze(&session, true) {
            Ok((count, _)) => events = count,
            Err(error) => failure = Some(error),
        });
        failure.map_or(Ok(events as f64 / seconds / 1e6), Err)
    }

    fn run_once(&self, agent: Option<(&Path, &str)>, session: &Path) -> Result<Run, String> {
        let mut java = Command::new("java");
        if let Some((agent, options)) = agent {
            let (agent, session) = (agent.display(), session.display());
            java.arg(format!("-agentpath:{agent}=session={session},{options}"));
        }
        java.arg("-cp").arg(&self.class_path).arg(&self.main).args(self.arguments);
        java.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        measure::run(&mut java, LIMIT).map_err(|error| format!("java: {error}"))
    }
}

fn row(subject: &Subject<'_>, agent: &Path, unsnarl: &Path) -> Result<(), String> {
    let Some((plain, _)) = subject.measure(None)? else {
        return Err(format!("{} does not run", subject.name));
    };
    print!("{:<12} {:>9.2}", subject.name, plain.seconds);
    let factors = |run: Option<&Run>| {
        run.map_or_else(|| "did not end".to_owned(), |run| factors(run, &plain))
    };
    let mut written = 0;
    for (_, options) in PLANS {
        let run = subject.measure(Some((agent, options)))?;
        print!(" {:>16}", factors(run.as_ref().map(|(run, _)| run)));
        written = run.map_or(0, |(_, size)| size);
    }
    let live = factors(subject.measure_live(unsnarl)?.as_ref());
    let (_, all) = PLANS[PLANS.len() - 1];
    println!(" {:>8} {live:>16} {:>22.1}", written >> 20, subject.analysed((agent, all))?);
    Ok(())
}

/// How long a program takes that does nothing.
fn start_up(agent: &Path, classes: &Path) -> Result<(), String> {
    let source = classes.join("Main.java");
    let program = "package hello; class Main { public static void main(String[] a) { System.out.println(1); } }";
    std::fs::write(&source, program).map_err(|error| error.to_string())?;
    let classes = classes.join("hello");
    compile_file(&source, &classes)?;
    let subject = Subject {
        name: "hello".into(),
        class_path: classes.into_os_string(),
        main: "hello.Main".into(),
        arguments: &[],
    };
    let plain = subject.measure(None)?;
    let recorded = subject.measure(Some((agent, "events=synchronization:fields:arrays")))?;
    if let (Some((plain, _)), Some((recorded, _))) = (plain, recorded) {
        let (plain, recorded) = (1000.0 * plain.seconds, 1000.0 * recorded.seconds);
        println!("a program that does nothing: {plain:.0} ms, with the agent {recorded:.0} ms");
    }
    Ok(())
}

/// How many events are written in a second if nothing is left out, and how large they are.
fn all_events(agent: &Path, classes: &Path) -> Result<(), String> {
    let classes = classes.join("tsp");
    if !classes.exists() {
        return Ok(());
    }
    let subject = Subject {
        name: "tsp".into(),
        class_path: classes.into_os_string(),
        main: "tsp.Main".into(),
        arguments: &["12"],
    };
    let Some((plain, _)) = subject.measure(None)? else { return Ok(()) };
    let folder = session_folder()?;
    let session = folder.path().join("session");
    let run = subject.run_once(Some((agent, "filters=")), &session)?;
    let bytes = size(&session) as f64;
    let mut source = unsnarl_replay::open_session(&session).map_err(|error| error.to_string())?;
    let (mut batch, mut events) = (Vec::new(), 0);
    loop {
        source.next_batch(&mut batch).map_err(|error| error.to_string())?;
        if batch.is_empty() {
            break;
        }
        events += batch.len();
    }
    let rate = events as f64 / (run.seconds - plain.seconds) / 1e6;
    println!(
        "tsp without filters: {:.1} M events, {rate:.1} M/s more than the plain program needs, {:.1} bytes each",
        events as f64 / 1e6,
        bytes / events as f64
    );
    Ok(())
}

/// The shared-memory file system if it is there, as the agent will be given it by default.
fn session_folder() -> Result<tempfile::TempDir, String> {
    let shared = Path::new("/dev/shm");
    let folder = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    folder.map_err(|error| error.to_string())
}

/// How many bytes of events are in a session: arenas are reserved as a whole and end with zeros.
fn size(session: &Path) -> u64 {
    let arenas = std::fs::read_dir(session).into_iter().flatten().flatten();
    let arenas = arenas.filter(|file| file.file_name().to_string_lossy().starts_with("arena-"));
    arenas.map(|file| std::fs::read(file.path()).map_or(0, |bytes| used(&bytes))).sum()
}

fn used(arena: &[u8]) -> u64 {
    arena.iter().rposition(|&byte| byte != 0).map_or(0, |last| last as u64 + 1)
}

/// A file that was built with this program.
fn beside(name: &str) -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let beside = here.with_file_name(name);
    if beside.is_file() {
        Ok(beside)
    } else {
        Err(format!("{} is missing: cargo build --release", beside.display()))
    }
}
