//! Shows a trace to analyses.

use std::any::Any;
use std::collections::BTreeMap;
use std::io;

use unsnarl_events::{Event, Source, Tables, TraceError};
use unsnarl_findings::Finding;

use crate::executed::{Executed, Places};
use crate::{Analysis, AnalysisEntry, Flagged, Needs, Options, Outcome, Outline};

/// How many events several analyses are shown at once. Between two portions they wait for each other, since what ids
/// stand for grows while events are read.
const GATHERED: usize = 1 << 16;
/// How many events those are shown at once that do not look at accesses.
const OUTLINED: usize = 1 << 14;

/// The chosen analyses, ready for a trace each time it is run.
#[derive(Clone, Debug)]
pub struct Pipeline {
    chosen: Vec<&'static AnalysisEntry>,
    options: Options,
    keeps_places: bool,
}

/// What came out of traces.
#[derive(Debug, Default)]
pub struct TraceReport {
    /// The defects, in no order.
    pub findings: Vec<Finding>,
    /// What was inferred.
    pub facts: Vec<Box<dyn Any + Send>>,
    /// What was not looked at or not recorded, and why.
    pub notes: Vec<String>,
    /// Counts, by name.
    pub counts: BTreeMap<&'static str, u64>,
    /// What was executed, if somebody wants to know.
    pub places: Option<Places>,
}

/// An analysis that runs, with its line in the table and what it asked for.
struct Running {
    entry: &'static AnalysisEntry,
    needs: Needs,
    analysis: Box<dyn Analysis>,
    flagged: Vec<Flagged>,
}

impl Pipeline {
    /// Runs these analyses.
    #[must_use]
    pub fn new(chosen: Vec<&'static AnalysisEntry>, options: Options) -> Self {
        Self { chosen, options, keeps_places: false }
    }

    /// Also notes which places of the code the traces come to.
    #[must_use]
    pub fn with_places(mut self, keeps_places: bool) -> Self {
        self.keeps_places = keeps_places;
        self
    }

    /// The chosen analyses.
    #[must_use]
    pub fn chosen(&self) -> &[&'static AnalysisEntry] {
        &self.chosen
    }

    /// The options of the analyses.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Shows a trace to the analyses, and what they flag to `each`, batch by batch. What was read before the trace could
    /// not be read any further is analysed nevertheless, and a note says why.
    ///
    /// # Errors
    /// The outer error is that of `each`; the inner one says why nothing of the trace could be read.
    pub fn run(
        &self,
        name: &str,
        source: &mut dyn Source,
        mut each: impl FnMut(&AnalysisEntry, &[Flagged], &Tables) -> io::Result<()>,
    ) -> io::Result<Result<TraceReport, TraceError>> {
        let mut report = TraceReport {
            places: self.keeps_places.then(Places::default),
            ..TraceReport::default()
        };
        let mut running = self.begin(name, source, &mut report.notes);
        let looking = running.iter().filter(|it| it.needs.every_access).count();
        let most = if looking > 1 { GATHERED } else { 1 };
        let mut executed = self.keeps_places.then(Executed::default);
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
                show(&mut running, true, &gathered, source.tables());
                if looking < running.len() {
                    outline.add(&gathered);
                }
                if has_ended || forgets || outline.events().len() >= OUTLINED {
                    show(&mut running, false, outline.events(), source.tables());
                    outline.clear();
                }
                for it in &mut running {
                    each(it.entry, &it.flagged, source.tables())?;
                    it.flagged.clear();
                }
                gathered.clear();
            }
            if has_ended {
                break next;
            }
        };
        match outcome {
            Err(error) if events == 0 => return Ok(Err(error)),
            Err(error) => report.notes.push(error.to_string()),
            Ok(()) => {}
        }
        report.add("events", events);
        report.add_tables(source.tables());
        report.places = executed.map(|executed| executed.places(source.tables()));
        report.add_problems(name, source);
        for it in running {
            let outcome = it.analysis.finish(source.tables());
            each(it.entry, &outcome.flagged, source.tables())?;
            report.add_outcome(outcome);
        }
        Ok(Ok(report))
    }

    /// Makes the analyses that can be run on the trace, asks the trace for what they understand, and notes what they will
    /// miss.
    fn begin(&self, name: &str, source: &mut dyn Source, notes: &mut Vec<String>) -> Vec<Running> {
        let mut running = Vec::new();
        for &entry in &self.chosen {
            let needs = (entry.needs)(&self.options);
            if needs.exact && !source.is_exact() {
                notes.push(format!(
                    "{name}: {} needs to know who read whose write: record with `unsnarl run --exact`",
                    entry.name
                ));
                continue;
            }
            let analysis = (entry.make)(&self.options);
            running.push(Running { entry, needs, analysis, flagged: Vec::new() });
        }
        for Running { entry, needs, .. } in &running {
            if let Some(filter) = source.filters().iter().find(|it| !needs.tolerates(*it)) {
                notes.push(format!(
                    "{name}: {} may miss something: it has to see accesses that the recording leaves out ({}); record \
                     with `unsnarl run --no-filters`",
                    entry.name,
                    filter.name()
                ));
            }
        }
        if running.iter().all(|it| it.needs.array_ranges) {
            source.keep_elements();
        }
        if running.iter().all(|it| it.needs.handles_retirement) {
            source.report_retired();
        }
        running
    }
}

/// Shows events to the analyses that look at every access, or to those that do not, each in a thread of its own; one alone
/// stays in this one.
fn show(running: &mut [Running], every_access: bool, events: &[Event], tables: &Tables) {
    let mut chosen = running.iter_mut().filter(|it| it.needs.every_access == every_access);
    std::thread::scope(|scope| {
        let own = chosen.next();
        for it in chosen {
            scope.spawn(move || it.analysis.on_batch(events, tables, &mut it.flagged));
        }
        if let Some(it) = own {
            it.analysis.on_batch(events, tables, &mut it.flagged);
        }
    });
}

impl TraceReport {
    /// One of the counts.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    /// Adds to a count.
    pub fn add(&mut self, name: &'static str, count: usize) {
        *self.counts.entry(name).or_default() += count as u64;
    }

    /// Takes in what came out of other traces.
    pub fn add_all(&mut self, other: Self) {
        self.findings.extend(other.findings);
        self.facts.extend(other.facts);
        self.notes.extend(other.notes);
        if let Some(more) = other.places {
            self.places.get_or_insert_default().extend(more);
        }
        for (name, count) in other.counts {
            *self.counts.entry(name).or_default() += count;
        }
    }

    fn add_tables(&mut self, tables: &Tables) {
        self.add("traces", 1);
        self.add("threads", tables.threads.len());
        self.add("locks", tables.locks.len());
        self.add("variables", tables.variable_count());
    }

    fn add_outcome(&mut self, outcome: Outcome) {
        self.findings.extend(outcome.findings);
        self.facts.extend(outcome.facts);
        self.notes.extend(outcome.notes);
        for (name, count) in outcome.statistics {
            *self.counts.entry(name).or_default() += count;
        }
    }

    /// Notes what was skipped in a trace and what was not recorded.
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
}
