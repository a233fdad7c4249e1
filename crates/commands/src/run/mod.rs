//! `unsnarl run`: runs a program with the agent, and runs the dynamic detectors on its events while it runs.
//!
//! `library` puts the agent, which the binary carries, into the user's cache. `folder` is where the JVMs of a run put
//! their sessions. `plan` chooses the fields that are watched. `program` starts the command and passes signals on. A thread
//! looks for new sessions and gives each an analysis in a thread of its own.

mod folder;
mod library;
mod plan;
mod program;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use unsnarl_findings::Report;
use unsnarl_launch::{Agent, Launched, is_java};
use unsnarl_recording::{
    AgentOptions, Destination, ElementRange, RecordingSpec, seal, sessions_of,
};
use unsnarl_replay::program_started;
use unsnarl_trace_analysis::{Choices, Pipeline, TraceReport, recording_spec};

use crate::confirm::{self, Suspicions};
use crate::dynamic::{self, DetectOptions};
use crate::error::CommandError;
use crate::feedback::Feedback;
use crate::session::models;
use crate::{ReviewOptions, Reviewed, joining, review};

pub use plan::Plan;
pub use program::{Ended, Streams};

use folder::RunFolder;
use plan::Planned;
use program::Program;

/// The pause between two looks for new JVMs.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The message when an analysis panicked.
const OWN_ERROR: &str = "the analysis failed: this is an error of unsnarl itself";

/// How many megabytes of events may wait to be read, unless the options say otherwise.
pub const DEFAULT_BUFFER: u32 = 512;

/// What is run, and how it is watched.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The program with its arguments; not empty.
    pub command: Vec<OsString>,
    /// What looks at the events.
    pub detectors: DetectOptions,
    /// JSON reports whose findings are joined with those of the run.
    pub with: Vec<PathBuf>,
    /// The findings of which the report says whether the run shows them.
    pub confirm: Option<Suspicions>,
    /// Which fields are watched.
    pub plan: Plan,
    /// Patterns of the classes that are watched; all but the JDK's, if there are none.
    pub include: Vec<String>,
    /// Patterns of classes that are not watched.
    pub exclude: Vec<String>,
    /// Whether elements of arrays are not watched.
    pub no_arrays: bool,
    /// Whether what is in objects of libraries is watched.
    pub contents: bool,
    /// Whether every access is recorded, even redundant ones.
    pub no_filters: bool,
    /// Files with further models of libraries.
    pub models: Vec<PathBuf>,
    /// How many elements of every array are watched; none for all.
    pub array_cutoff: Option<u32>,
    /// The first element that is watched.
    pub array_offset: Option<u32>,
    /// Whether calls are recorded, so that every access has its own stack.
    pub stacks: bool,
    /// Whether accesses are recorded exactly in the order in which they happen.
    pub exact: bool,
    /// A new folder in which the trace is kept.
    pub record: Option<PathBuf>,
    /// Whether the trace is only recorded.
    pub no_analysis: bool,
    /// Where events wait to be read; none for where there is room.
    pub session_dir: Option<PathBuf>,
    /// How many megabytes of events may wait to be read, for each JVM, before it is slowed down.
    pub buffer: u32,
}

impl RunOptions {
    /// A run of the command with the defaults.
    #[must_use]
    pub fn new(command: Vec<OsString>) -> Self {
        Self {
            command,
            detectors: DetectOptions::default(),
            with: Vec::new(),
            confirm: None,
            plan: Plan::All,
            include: Vec::new(),
            exclude: Vec::new(),
            no_arrays: false,
            contents: false,
            no_filters: false,
            models: Vec::new(),
            array_cutoff: None,
            array_offset: None,
            stacks: false,
            exact: false,
            record: None,
            no_analysis: false,
            session_dir: None,
            buffer: DEFAULT_BUFFER,
        }
    }

    /// Whether what static analysis suspects is to be confirmed.
    fn confirms(&self) -> bool {
        self.confirm.is_some()
    }
}

/// Runs a program, and reviews what was found. The program has the input, output and signals of this process.
///
/// # Errors
/// If the program does not start, if none of its JVMs can be watched, or if a file that the options name is wrong.
pub fn run(
    options: &RunOptions,
    review_options: &ReviewOptions,
    feedback: &dyn Feedback,
) -> Result<(Reviewed, Ended), CommandError> {
    let (report, ended) = watch_program(options, Streams::Inherited, feedback)?;
    let classes = match is_java(&options.command[0]) {
        true => Launched::by(&options.command[1..]).class_path,
        false => Vec::new(),
    };
    let was_looked_for = options.detectors.rules();
    let reviewed = review(report, &classes, review_options, was_looked_for, feedback)?;
    Ok((reviewed, ended))
}

/// Runs a program, and reports what was found.
///
/// # Errors
/// Those of [`run`].
pub fn watch_program(
    arguments: &RunOptions,
    streams: Streams,
    feedback: &dyn Feedback,
) -> Result<(Report, Ended), CommandError> {
    let suspicions = confirm::suspicions(arguments, feedback)?;
    let planned = Planned::find(arguments, feedback)?;
    let planned = planned.as_ref();
    let started = Instant::now();
    // Errors in them are better reported before the program runs.
    models(&arguments.models)?;
    let joined = joining::read(&arguments.with)?;
    let buffer = u64::from(arguments.buffer) << 20;
    let folder = match &arguments.record {
        Some(path) => RunFolder::recorded(path)?,
        None => RunFolder::temporary(arguments.session_dir.as_deref(), buffer)?,
    };
    let planned_fields = planned.map(|planned| planned.write(&folder)).transpose()?;
    let pipeline = arguments.detectors.pipeline();
    let choices = Choices {
        watched: RecordingSpec {
            include: arguments.include.clone(),
            exclude: arguments.exclude.clone(),
            elements: ElementRange { first: arguments.array_offset, count: arguments.array_cutoff },
            planned_fields,
            ..RecordingSpec::default()
        },
        no_arrays: arguments.no_arrays || planned.is_some_and(|planned| !planned.arrays),
        methods: arguments.stacks,
        exact: arguments.exact,
        contents: arguments.contents || arguments.confirms(),
        no_filters: arguments.no_filters || arguments.confirms(),
    };
    let needs: Vec<_> =
        pipeline.chosen().iter().map(|entry| (entry.needs)(pipeline.options())).collect();
    let options = AgentOptions {
        limit: arguments.record.is_none().then_some(buffer),
        // The JVM may be started in another folder.
        models: arguments.models.iter().map(|file| absolute(file)).collect(),
        spec: recording_spec(&needs, &choices),
        ..AgentOptions::new(Destination::Run(folder.path().to_owned()))
    };
    let agent = Agent { library: library::install()?, options: options.to_string().into() };
    let program = Program::start(&arguments.command, &agent, streams)?;
    let watcher = Watcher::start(folder, arguments, pipeline);
    let ended = program.wait();
    let watched = watcher.finish();
    let ended = ended?;

    let program = &arguments.command[0];
    if watched.sessions == 0 {
        let code = ended.text(program);
        let message = format!("{code}, and no JVM that it started could be watched");
        return Err(CommandError::failed(message));
    }
    if ended.failed() && !watched.program_started {
        let code = ended.text(program);
        return Err(CommandError::failed(format!(
            "{code} before a class of the program was loaded: there was nothing to watch"
        )));
    }
    let mut analyzed = watched.analyzed;
    if arguments.confirms() {
        confirm::confirm(&mut analyzed, suspicions);
    }
    joining::join(&mut analyzed, joined);
    analyzed.notes.push(ended.text(program));
    if let Some(count) = arguments.array_cutoff {
        let first = u64::from(arguments.array_offset.unwrap_or(0));
        analyzed.notes.push(format!(
            "of every array only the elements from {first} up to {} were watched: races on others are not seen",
            first + u64::from(count)
        ));
    }
    analyzed.notes.extend(planned.map(Planned::note));
    if let Some(path) = &arguments.record {
        analyzed.notes.push(format!("the trace is in {}", path.display()));
        for session in sessions_of(path).unwrap_or_default() {
            if let Err(error) = seal(&session) {
                let session = session.display();
                analyzed.notes.push(format!("{session} has no checksums: {error}"));
            }
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    Ok((dynamic::report(analyzed, watched.failures, seconds), ended))
}

fn absolute(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

/// Analyses the sessions of a run as they appear, each in a thread of its own.
struct Watcher {
    thread: JoinHandle<Watched>,
    /// Set when the program has ended.
    stop: Arc<AtomicBool>,
}

/// The results of all sessions.
#[derive(Default)]
struct Watched {
    sessions: usize,
    /// Whether one of the JVMs came to load a class of its program.
    program_started: bool,
    analyzed: TraceReport,
    failures: Vec<String>,
}

impl Watcher {
    fn start(folder: RunFolder, arguments: &RunOptions, pipeline: Pipeline) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let pipeline = pipeline.with_places(arguments.confirms());
        let analysis = Analysis { pipeline, stop: Arc::clone(&stop) };
        let only_record = arguments.no_analysis;
        let thread = thread::spawn(move || watch(&folder, &analysis, only_record));
        Self { thread, stop }
    }

    fn finish(self) -> Watched {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|_| Watched {
            failures: vec![OWN_ERROR.to_owned()],
            ..Watched::default()
        })
    }
}

fn watch(folder: &RunFolder, analysis: &Analysis, only_record: bool) -> Watched {
    let mut known: Vec<PathBuf> = Vec::new();
    let mut analyses = Vec::new();
    loop {
        // Asked before the last look: what the program started until its end is seen.
        let is_last = analysis.stop.load(Ordering::Relaxed);
        for path in folder.sessions() {
            if known.contains(&path) {
                continue;
            }
            known.push(path.clone());
            if !only_record {
                let analysis = analysis.clone();
                analyses.push(thread::spawn(move || analysis.of(&path)));
            }
        }
        if is_last {
            break;
        }
        thread::sleep(LOOK_EVERY);
    }
    let mut watched = Watched { sessions: known.len(), ..Watched::default() };
    for analysis in analyses {
        match analysis.join() {
            Ok(Ok(analyzed)) => watched.analyzed.add_all(analyzed),
            Ok(Err(error)) => watched.failures.push(error.chain()),
            Err(_) => watched.failures.push(OWN_ERROR.to_owned()),
        }
    }
    watched.program_started = known.iter().any(|session| program_started(session));
    watched
}

/// How a session is analysed.
#[derive(Clone)]
struct Analysis {
    pipeline: Pipeline,
    /// Set when the program has ended.
    stop: Arc<AtomicBool>,
}

impl Analysis {
    fn of(self, path: &Path) -> Result<TraceReport, CommandError> {
        let mut source = unsnarl_replay::follow(path, self.stop)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(self.pipeline.run(&name, &mut source, |_, _, _| Ok(()))??)
    }
}
