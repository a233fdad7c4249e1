//! The accesses that a detector reports, and the findings that pairs of them become: one for every subject and pair of
//! places.

use std::hash::BuildHasherDefault;

use indexmap::IndexMap;
use indexmap::map::Entry;
use rustc_hash::FxHasher;
use unsnarl_events::{SiteId, Tables};
use unsnarl_findings::{Access, AccessKind, Evidence, Finding, Rule, Subject, TimelineStep};
use unsnarl_trace_analysis::describe::{DeclaredVariable, place};
use unsnarl_trace_analysis::thread_contexts::{AccessMode, AccessRecord, ThreadContexts};
use unsnarl_trace_analysis::{Accessed, Flagged};

use super::timeline::{Moment, Steps};

/// How many pairs of a trace have time lines, which are larger than all else that is kept of a pair.
const MOST_TIMELINES: usize = 4096;

/// What a detector says about its pairs.
pub(crate) struct RaceWording {
    pub(crate) rule: Rule,
    pub(crate) evidence: Evidence,
    pub(crate) detector: &'static str,
    /// The end of the message: what is wrong with the two.
    pub(crate) verdict: &'static str,
}

/// What was reported so far.
#[derive(Debug, Default)]
pub(crate) struct Races {
    events: Vec<Flagged>,
    event_count: u64,
    pairs: IndexMap<Pair, ReportedPair, BuildHasherDefault<FxHasher>>,
}

/// Both accesses when a pair was seen first, and what happened around them if somebody knows.
#[derive(Debug)]
struct ReportedPair {
    accesses: [AccessRecord; 2],
    timeline: Vec<TimelineStep>,
}

/// Two accesses, by what and where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pair {
    subject: DeclaredVariable,
    earlier: (SiteId, AccessMode),
    later: (SiteId, AccessMode),
}

impl Races {
    /// Tells an event.
    pub(crate) fn add_event(&mut self, site: SiteId, variable: impl Into<Accessed>) {
        self.event_count += 1;
        self.events.push(Flagged { site, variable: variable.into() });
    }

    /// Tells an event with an earlier one, and with a time line, which is made if the pair is new and not one of very many.
    /// Whether it is new.
    pub(crate) fn add_pair_in_time(
        &mut self,
        subject: DeclaredVariable,
        earlier: AccessRecord,
        later: AccessRecord,
        timeline: impl FnOnce() -> Vec<TimelineStep>,
    ) -> bool {
        let place = |seen: AccessRecord| (seen.site, seen.kind);
        let pair = Pair { subject, earlier: place(earlier), later: place(later) };
        let known = self.pairs.len();
        let Entry::Vacant(entry) = self.pairs.entry(pair) else { return false };
        let timeline = if known < MOST_TIMELINES { timeline() } else { Vec::new() };
        entry.insert(ReportedPair { accesses: [earlier, later], timeline });
        true
    }

    /// The same of an earlier event that knows when it was.
    pub(crate) fn add_pair_since(
        &mut self,
        subject: DeclaredVariable,
        (earlier, at): (AccessRecord, Moment),
        later: AccessRecord,
        steps: &Steps<()>,
        tables: &Tables,
    ) {
        let threads = [earlier.thread, later.thread];
        self.add_pair_in_time(subject, earlier, later, || steps.timeline(at, threads, tables));
    }

    /// All accesses that are kept.
    pub(crate) fn seen(&mut self) -> impl Iterator<Item = &mut AccessRecord> {
        self.pairs.values_mut().flat_map(|pair| &mut pair.accesses)
    }

    /// The events since the last call.
    pub(crate) fn take_events(&mut self) -> Vec<Flagged> {
        std::mem::take(&mut self.events)
    }

    /// How many events were reported.
    pub(crate) fn event_count(&self) -> u64 {
        self.event_count
    }

    /// A finding for every pair.
    pub(crate) fn findings(
        &self,
        wording: &RaceWording,
        contexts: &ThreadContexts,
        tables: &Tables,
    ) -> Vec<Finding> {
        let finding = |(pair, reported): (&Pair, &ReportedPair)| {
            let accesses =
                reported.accesses.map(|AccessRecord { thread, kind, site, calls, locks }| {
                    let kind = match kind {
                        AccessMode::Read => AccessKind::Read,
                        AccessMode::Write => AccessKind::Write,
                    };
                    contexts.describe(kind, thread, (site, calls), locks, tables)
                });
            let variable = pair.subject.variable(tables);
            let are = if variable.is_elements() { "are" } else { "is" };
            let message = format!(
                "{variable} {are} {} and {}, {}",
                access_text(&accesses[0]),
                access_text(&accesses[1]),
                wording.verdict
            );
            let subject = Subject::variable(variable);
            let RaceWording { rule, evidence, detector, .. } = *wording;
            let accesses = accesses.into();
            let mut finding = Finding::new(rule, subject, evidence, detector, message, accesses);
            finding.timeline.clone_from(&reported.timeline);
            finding
        };
        self.pairs.iter().map(finding).collect()
    }
}

fn access_text(access: &Access) -> String {
    let done = if access.kind == AccessKind::Write { "written" } else { "read" };
    let by = access.thread.as_deref().unwrap_or("a thread");
    let at = access.site().map_or_else(String::new, place);
    format!("{done} by {by} at {at}")
}
