//! Traces and the detectors that look at them, for `analyze` and `run`.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use unsnarl_detect_dynamic::{Checked, DETECTORS, Detector, DetectorEntry, Options, RacingEvent};
use unsnarl_detect_dynamic::{Executed, Outline, Places, on_all_in_parallel};
use unsnarl_events::{Event, Source, Tables, TraceError};
use unsnarl_findings::{Finding, Report, Rule, Statistic};
use unsnarl_recording::format::RUN_FILE;
use unsnarl_recording::sessions_of;

use crate::args::DetectArguments;

/// How many events several detectors are shown at once. Between two portions they wait for each other, since what ids
/// stand for grows while events are read.
const GATHERED: usize = 1 << 16;
/// How many events those are shown at once that do not look at accesses.
const OUTLINED: usize = 1 << 14;

/// Detectors with their lines in the table.
pub(crate) type Detectors = Vec<(&'static DetectorEntry, Box<dyn Detector>)>;

/// The chosen detectors, each once, or those that run by default.
pub(crate) fn chosen(arguments: &DetectArguments) -> Vec<&'static DetectorEntry> {
    let is_chosen = |entry: &&DetectorEntry| match arguments.detect.as_slice() {
        [] => entry.is_default,
        named => named.iter().any(|it| it.name == entry.name),
    };
    DETECTORS.iter().filter(is_chosen).collect()
}

/// Whether a chosen detector looks for a rule.
pub(crate) fn rules(arguments: &DetectArguments) -> impl Fn(Rule) -> bool {
    let chosen = chosen(arguments);
    move |rule| chosen.iter().any(|entry| entry.rule == rule)
}

/// Makes the chosen detectors.
pub(crate) fn detectors(arguments: &DetectArguments) -> Detectors {
    let options = Options { all: arguments.all };
    chosen(arguments).into_iter().map(|entry| (entry, (entry.make)(&options))).collect()
}

/// Shows events to the detectors that look at accesses, or to those that do not.
fn show(detectors: &mut Detectors, accesses: bool, events: &[Event], tables: &Tables) {
    let detecting = detectors.iter_mut().map(|(_, detector)| detector);
    let chosen = detecting.filter(|detector| detector.looks_at_accesses() == accesses);
    on_all_in_parallel(chosen, events, tables);
}

/// The traces with the folders of runs replaced by the sessions in them.
pub(crate) fn sessions(traces: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for trace in traces {
        match trace.join(RUN_FILE).is_file().then(|| sessions_of(trace)) {
            Some(Ok(sessions)) if !sessions.is_empty() => all.extend(sessions),
            // Whoever opens it tells what is wrong.
            _ => all.push(trace.clone()),
        }
    }
    all
}

/// What came out of the traces so far.
#[derive(Default)]
pub(crate) struct Analyzed {
    pub(crate) findings: Vec<Finding>,
    pub(crate) notes: Vec<String>,
    counts: BTreeMap<&'static str, u64>,
    /// What was executed, if somebody wants to know.
    pub(crate) places: Option<Places>,
}

impl Analyzed {
    /// One of the counts.
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    /// Remembers which places the traces come to.
    pub(crate) fn with_places() -> Self {
        Self { places: Some(Places::default()), ..Self::default() }
    }

    pub(crate) fn add(&mut self, name: &'static str, count: usize) {
        *self.counts.entry(name).or_default() += count as u64;
    }

    /// Shows a trace to the detectors, and what races to `each`. The inner error says why the trace could
    /// not be read; what was read before is analysed nevertheless.
    pub(crate) fn add_trace(
        &mut self,
        name: &str,
        source: &mut dyn Source,
        mut detectors: Detectors,
        mut each: impl FnMut(&DetectorEntry, &[RacingEvent], &Tables) -> io::Result<()>,
    ) -> anyhow::Result<Result<(), TraceError>> {
        if !source.is_exact() {
            detectors.retain(|(entry, _)| {
                if entry.needs.exact {
                    let needs =
                        "needs to know who read whose write: record with `unsnarl run --exact`";
                    self.notes.push(format!("{name}: {} {needs}", entry.name));
                }
                !entry.needs.exact
            });
        }
        for (entry, _) in &detectors {
            if let Some(filter) = source.filters().iter().find(|it| !entry.needs.tolerates(**it)) {
                self.notes.push(format!(
                    "{name}: {} may miss something: it has to see accesses that the recording leaves out ({}); record \
                     with `unsnarl run --no-filters`",
                    entry.name,
                    filter.name()
                ));
            }
        }
        if detectors.iter().all(|(_, detector)| detector.takes_elements()) {
            source.keep_elements();
        }
        if detectors.iter().all(|(_, detector)| detector.takes_dead()) {
            source.tell_dead();
        }
        let looking = detectors.iter().filter(|(_, detector)| detector.looks_at_accesses()).count();
        let most = if looking > 1 { GATHERED } else { 1 };
        let mut executed = self.places.is_some().then(Executed::default);
        let (mut batch, mut gathered) = (Vec::new(), Vec::new());
        let mut outline = Outline::default();
        let mut events = 0;
        let outcome = loop {
            let next = source.next_batch(&mut batch);
            let has_ended = next.is_err() || batch.is_empty();
            match &next {
                Ok(()) if gathered.is_empty() => std::mem::swap(&mut gathered, &mut batch),
                Ok(()) => gathered.append(&mut batch),
                Err(_) => {}
            }
            // Ids of what is forgotten come again in the next batch.
            let forgets = gathered.last().is_some_and(|it: &Event| it.operation.forgets());
            if has_ended || forgets || gathered.len() >= most {
                events += gathered.len();
                if let Some(executed) = &mut executed {
                    executed.on_all(&gathered);
                }
                show(&mut detectors, true, &gathered, source.tables());
                if looking < detectors.len() {
                    outline.add(&gathered);
                }
                if has_ended || forgets || outline.events().len() >= OUTLINED {
                    show(&mut detectors, false, outline.events(), source.tables());
                    outline.clear();
                }
                for (entry, detector) in &mut detectors {
                    each(entry, &detector.take_racing_events(), source.tables())?;
                }
                gathered.clear();
            }
            if has_ended {
                break next;
            }
        };
        match outcome {
            Err(error) if events == 0 => return Ok(Err(error)),
            Err(error) => self.notes.push(error.to_string()),
            Ok(()) => {}
        }
        self.add("events", events);
        self.add_tables(source.tables());
        self.add_places(executed.map(|executed| executed.places(source.tables())));
        self.add_problems(name, source);
        for (entry, detector) in detectors {
            let checked = detector.finish(source.tables());
            each(entry, &checked.racing, source.tables())?;
            self.add_checked(checked);
        }
        Ok(Ok(()))
    }

    /// Takes in what came out of other traces.
    pub(crate) fn add_all(&mut self, other: Self) {
        self.findings.extend(other.findings);
        self.notes.extend(other.notes);
        self.add_places(other.places);
        for (name, count) in other.counts {
            *self.counts.entry(name).or_default() += count;
        }
    }

    fn add_places(&mut self, more: Option<Places>) {
        if let Some(more) = more {
            self.places.get_or_insert_default().extend(more);
        }
    }

    fn add_tables(&mut self, tables: &Tables) {
        self.add("traces", 1);
        self.add("threads", tables.threads.len());
        self.add("locks", tables.locks.len());
        self.add("variables", tables.variable_count());
    }

    fn add_checked(&mut self, checked: Checked) {
        self.findings.extend(checked.findings);
        self.notes.extend(checked.notes);
        for (name, count) in checked.stats {
            *self.counts.entry(name).or_default() += count;
        }
    }

    /// Tells what was skipped in a trace.
    fn add_problems(&mut self, path: &str, source: &dyn Source) {
        let problems = source.problems();
        let first = problems.first();
        self.notes.extend(first.iter().map(|problem| format!("{path}: {problem} (skipped)")));
        let more = problems.count() - first.len() as u64;
        if more > 0 {
            self.notes.push(format!("{path}: {more} more such places were skipped"));
        }
        let lost = problems.lost();
        self.notes.extend(lost.iter().map(|what| format!("{path}: not recorded: {what}")));
        let more = problems.lost_count() - lost.len() as u64;
        if more > 0 {
            self.notes.push(format!("{path}: {more} more such things were not recorded"));
        }
    }

    /// The report of all of it.
    pub(crate) fn report(self, failures: Vec<String>, seconds: f64) -> Report {
        let mut report = Report::new(crate::tool(), self.findings);
        report.notes = failures.into_iter().chain(self.notes).collect();
        let counts = self.counts.into_iter();
        report.stats = counts.map(|(name, count)| (name.into(), Statistic::Count(count))).collect();
        report.stats.insert("seconds".into(), Statistic::Seconds(seconds));
        report
    }
}
