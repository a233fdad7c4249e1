//! `unsnarl run`: runs a program with the agent and shows what it does to the dynamic detectors, while it
//! does it.

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

use anyhow::bail;
use unsnarl_detect_dynamic::EventKind;
use unsnarl_events::Filter;
use unsnarl_findings::{Finding, Report};
use unsnarl_launch::{Agent, Launched, is_java};
use unsnarl_recording::{seal, sessions_of};

use crate::ExitStatus;
use crate::accept::judged;
use crate::args::{DetectArguments, ExitCodeOf, RunArguments};
use crate::confirm;
use crate::dynamic::{self, Analyzed};
use crate::joining;
use crate::output::Output;
use crate::report;
use crate::session::models;
use crate::sources;

use folder::RunFolder;
pub(crate) use plan::Planned;
pub(crate) use program::Streams;
use program::{Ended, Program};

/// How often new JVMs are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What is said when an analysis panicked.
const OWN_ERROR: &str = "the analysis failed: this is an error of unsnarl itself";

/// Runs the command.
pub(crate) fn run(arguments: &RunArguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let suspicions = confirm::suspicions(arguments, output)?;
    let planned = Planned::find(arguments, output)?;
    let (report, ended) =
        watch_program(arguments, Streams::Inherited, suspicions, planned.as_ref())?;
    let classes = match is_java(&arguments.command[0]) {
        true => Launched::by(&arguments.command[1..]).class_path,
        false => Vec::new(),
    };
    let sources = sources::find(report.findings(), &arguments.source.source, &classes, output)?;
    let was_looked_for = dynamic::rules(&arguments.detectors);
    let report = judged(report, &arguments.accepted, &sources, was_looked_for)?;
    let shows_suppressed = arguments.accepted.show_suppressed;
    report::write(&report, arguments.format, &sources, shows_suppressed, output)?;
    let fails = report.worst().is_some_and(|worst| arguments.fail_on.is_reached_by(worst));
    Ok(match arguments.exit_code {
        ExitCodeOf::Program => ExitStatus::Program(ended.code()),
        ExitCodeOf::Findings if fails => ExitStatus::Findings,
        ExitCodeOf::Findings => ExitStatus::Clean,
    })
}

/// Runs the program, and reports what was seen, of the suspicions as well.
pub(crate) fn watch_program(
    arguments: &RunArguments,
    streams: Streams,
    suspicions: Vec<Finding>,
    planned: Option<&Planned>,
) -> anyhow::Result<(Report, Ended)> {
    let started = Instant::now();
    // What is wrong with them is better said before the program runs.
    models(&arguments.models)?;
    let joined = joining::read(&arguments.joined.with)?;
    let buffer = u64::from(arguments.buffer) << 20;
    let folder = match &arguments.record {
        Some(path) => RunFolder::recorded(path)?,
        None => RunFolder::temporary(arguments.session_dir.as_deref(), buffer)?,
    };
    let mut options = options(arguments, planned, &folder);
    if let Some(planned) = planned {
        options.push(format!(",plan={}", planned.write(&folder)?));
    }
    let agent = Agent { library: library::install()?, options };
    let program = Program::start(&arguments.command, &agent, streams)?;
    let watcher = Watcher::start(folder, arguments);
    let ended = program.wait();
    let watched = watcher.finish();
    let ended = ended?;

    let program = &arguments.command[0];
    if watched.sessions == 0 {
        let code = ended.text(program);
        bail!("{code}, and no JVM that it started could be watched");
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
    Ok((analyzed.report(watched.failures, seconds), ended))
}

/// What the agent is told.
fn options(arguments: &RunArguments, planned: Option<&Planned>, folder: &RunFolder) -> OsString {
    let mut options = OsString::from("run=");
    options.push(folder.path().to_string_lossy().replace(',', ",,"));
    if arguments.record.is_none() {
        options.push(format!(",limit={}", u64::from(arguments.buffer) << 20));
    }
    for (name, patterns) in [("include", &arguments.include), ("exclude", &arguments.exclude)] {
        if !patterns.is_empty() {
            options.push(format!(",{name}={}", patterns.join(":")));
        }
    }
    let needs: Vec<_> =
        dynamic::chosen(&arguments.detectors).iter().map(|entry| entry.needs).collect();
    let is_needed = |kind| needs.iter().any(|needs| needs.events.contains(&kind));
    let mut events = vec!["synchronization"];
    if is_needed(EventKind::Access) {
        events.push("fields");
        if !arguments.no_arrays && planned.is_none_or(|planned| planned.arrays) {
            events.push("arrays");
        }
    }
    if arguments.stacks {
        events.push("methods");
    }
    let is_exact = arguments.exact || needs.iter().any(|needs| needs.exact);
    if is_exact {
        events.push("exact");
    }
    // An exact trace tells also through which collection an object came to a thread.
    if arguments.contents || arguments.confirms() || is_exact {
        events.push("contents");
    }
    if is_needed(EventKind::Allocation) {
        events.push("allocations");
    }
    if is_needed(EventKind::Reference) {
        events.push("references");
    }
    options.push(format!(",events={}", events.join(":")));
    if let Some(count) = arguments.array_cutoff {
        options.push(format!(",array-cutoff={count}"));
    }
    if let Some(first) = arguments.array_offset {
        options.push(format!(",array-offset={first}"));
    }
    let is_used = |&filter: &Filter| {
        // Who wants all pairs wants those as well that an owner takes part in.
        let is_wanted = filter != Filter::Owner || !arguments.detectors.all;
        let leaves_nothing_out = arguments.no_filters || arguments.confirms();
        is_wanted && !leaves_nothing_out && needs.iter().all(|needs| needs.tolerates(filter))
    };
    let filters: Vec<_> = Filter::ALL.into_iter().filter(is_used).map(Filter::name).collect();
    options.push(format!(",filters={}", filters.join(":")));
    for file in &arguments.models {
        // The JVM may be started in another folder.
        let file = file.canonicalize().unwrap_or_else(|_| file.clone());
        options.push(format!(",models={}", file.to_string_lossy().replace(',', ",,")));
    }
    options
}

/// Analyses the sessions of a run, each in a thread of its own, as they appear.
struct Watcher {
    thread: JoinHandle<Watched>,
    /// Set when the program has ended.
    stop: Arc<AtomicBool>,
}

/// What came out of all sessions.
#[derive(Default)]
struct Watched {
    sessions: usize,
    analyzed: Analyzed,
    failures: Vec<String>,
}

impl Watcher {
    fn start(folder: RunFolder, arguments: &RunArguments) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let analysis = Analysis {
            detect: arguments.detectors.clone(),
            remembers_places: arguments.confirms(),
            stop: Arc::clone(&stop),
        };
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
            Ok(Err(error)) => watched.failures.push(format!("{error:#}")),
            Err(_) => watched.failures.push(OWN_ERROR.to_owned()),
        }
    }
    watched
}

/// How a session is analysed.
#[derive(Clone)]
struct Analysis {
    detect: DetectArguments,
    remembers_places: bool,
    /// Set when the program has ended.
    stop: Arc<AtomicBool>,
}

impl Analysis {
    fn of(self, path: &Path) -> anyhow::Result<Analyzed> {
        let mut source = unsnarl_replay::follow(path, self.stop)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut analyzed =
            if self.remembers_places { Analyzed::with_places() } else { Analyzed::default() };
        let detectors = dynamic::detectors(&self.detect);
        analyzed.add_trace(&name, &mut source, detectors, |_, _, _| Ok(()))??;
        Ok(analyzed)
    }
}
