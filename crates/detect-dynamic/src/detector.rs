//! What a detector is.

use unsnarl_findings::{Finding, Frame, Rule, Variable};
use unsnarl_trace::{
    self as trace, Event, Filter, ObjectId, Operation, SiteId, Tables, VariableId,
};

use crate::describe::{self, RaceSubject};
use crate::{critical_wait, deadlock, eraser, happens_before, indefinite_wait, lock_order};
use crate::{
    lost_notify, multilockset, object_race, stale_value, sync_preserving, sync_preserving_deadlock,
};
use crate::{two_lockset, wcp};

/// A detector that looks at one trace.
pub trait Detector: Send {
    /// Looks at one event. `tables` have everything that the event names.
    fn on(&mut self, event: &Event, tables: &Tables);

    /// Looks at many events, which costs one call for all of them.
    fn on_all(&mut self, events: &[Event], tables: &Tables) {
        for event in events {
            self.on(event, tables);
        }
    }

    /// Whether it understands [`Operation::ReadElements`] and the like. If not, every element is a variable for it.
    fn takes_elements(&self) -> bool {
        false
    }

    /// Whether it looks at every access. If not, an [`Outline`](crate::Outline) of the trace says the same to it.
    fn looks_at_accesses(&self) -> bool {
        true
    }

    /// Whether it understands [`Operation::ForgetLock`] and the like. If not, no lock is ever told to be gone.
    fn takes_dead(&self) -> bool {
        false
    }

    /// The events that raced since the last call, in the order of the trace, and forgets them.
    fn take_racing_events(&mut self) -> Vec<RacingEvent>;

    /// What there is to say when the trace has ended.
    fn finish(self: Box<Self>, tables: &Tables) -> Checked;
}

/// Shows events to several detectors, each in a thread of its own; one alone stays in this one.
pub fn on_all_in_parallel<'a>(
    mut detectors: impl Iterator<Item = &'a mut Box<dyn Detector>>,
    events: &[Event],
    tables: &Tables,
) {
    std::thread::scope(|scope| {
        let own = detectors.next();
        for detector in detectors {
            scope.spawn(move || detector.on_all(events, tables));
        }
        if let Some(detector) = own {
            detector.on_all(events, tables);
        }
    });
}

/// An access that races with an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RacingEvent {
    /// Where it is.
    pub site: SiteId,
    /// What it accesses.
    pub variable: Accessed,
}

/// What an event accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Accessed {
    /// A variable.
    Variable(VariableId),
    /// The element of an array at an index.
    Element(ObjectId, u32),
}

impl From<VariableId> for Accessed {
    fn from(variable: VariableId) -> Self {
        Self::Variable(variable)
    }
}

impl Accessed {
    /// What it stands for.
    #[must_use]
    pub fn variable(self, tables: &Tables) -> trace::Variable {
        match self {
            Self::Variable(variable) => tables.variables[variable],
            Self::Element(array, index) => trace::Variable::Element(array, index),
        }
    }
}

impl RacingEvent {
    /// The place in the code, as findings have it.
    #[must_use]
    pub fn frame(&self, tables: &Tables) -> Frame {
        describe::frame(self.site, tables)
    }

    /// The variable, as findings have it.
    #[must_use]
    pub fn variable(&self, tables: &Tables) -> Variable {
        RaceSubject::of(self.variable, tables).variable(tables)
    }
}

/// What a detector has to say in the end.
#[derive(Debug, Default)]
pub struct Checked {
    /// The findings, in no order.
    pub findings: Vec<Finding>,
    /// The racing events that only the end has shown.
    pub racing: Vec<RacingEvent>,
    /// Counts, by name.
    pub stats: Vec<(&'static str, u64)>,
    /// What was not looked at, and why; one sentence each.
    pub notes: Vec<String>,
}

/// What can be chosen for all detectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Tell every pair of places that races, also where that takes more time and memory.
    pub all: bool,
}

/// A line of the table of detectors.
pub struct DetectorEntry {
    /// Its name on the command line. Its name in findings has `dynamic/` before it.
    pub name: &'static str,
    /// What it finds. Its page is `docs/rules/<rule>.md`.
    pub rule: Rule,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Whether it runs when nobody has chosen detectors.
    pub is_default: bool,
    /// What it must see.
    pub needs: Needs,
    /// Makes one for a trace.
    pub make: fn(&Options) -> Box<dyn Detector>,
}

/// The one table of dynamic detectors.
pub static DETECTORS: [DetectorEntry; 14] = [
    happens_before::ENTRY,
    lock_order::ENTRY,
    deadlock::ENTRY,
    critical_wait::ENTRY,
    indefinite_wait::ENTRY,
    lost_notify::ENTRY,
    eraser::ENTRY,
    two_lockset::ENTRY,
    multilockset::ENTRY,
    object_race::ENTRY,
    sync_preserving::ENTRY,
    sync_preserving_deadlock::ENTRY,
    wcp::ENTRY,
    stale_value::ENTRY,
];

impl std::fmt::Debug for DetectorEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// What a detector must see to say what it promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The kinds of events that it looks at; all others may be missing.
    pub events: &'static [EventKind],
    /// The filters that may have dropped events before it sees them.
    pub tolerates: &'static [Filter],
    /// Whether it must know who read whose write; see [`Source::is_exact`](unsnarl_trace::Source::is_exact).
    pub exact: bool,
}

impl Needs {
    /// Whether a filter may be used.
    #[must_use]
    pub fn tolerates(&self, filter: Filter) -> bool {
        !self.events.contains(&EventKind::Access) || self.tolerates.contains(&filter)
    }
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Reads and writes of variables.
    Access,
    /// Acquiring and releasing locks, also by waiting.
    Lock,
    /// Requests for locks, and notifications.
    Contention,
    /// Forks and joins.
    Thread,
    /// Starts and ends of threads.
    Lifetime,
    /// Sending to and receiving from channels.
    Channel,
    /// Entering and leaving methods.
    Method,
    /// Where objects are made.
    Allocation,
    /// Where references are stored.
    Reference,
    /// Begins and ends of transactions.
    Transaction,
}

impl EventKind {
    /// What shows that a thread goes on. What it makes and stores shows that as well, but to record it costs much.
    pub const PROGRESS: [Self; 8] = [
        Self::Access,
        Self::Lock,
        Self::Contention,
        Self::Thread,
        Self::Lifetime,
        Self::Channel,
        Self::Method,
        Self::Transaction,
    ];
}

/// The kind of an operation.
#[must_use]
pub fn kind_of(operation: Operation) -> EventKind {
    match operation {
        Operation::Read(_)
        | Operation::Write(_)
        | Operation::Forget(_)
        | Operation::ReadElements(_)
        | Operation::WriteElements(_)
        | Operation::ForgetElements(_) => EventKind::Access,
        Operation::Acquire(_)
        | Operation::Release(_)
        | Operation::AcquireShared(_)
        | Operation::ReleaseShared(_)
        | Operation::Wait(_)
        | Operation::Wake(_) => EventKind::Lock,
        Operation::Request(_) | Operation::Notify(_) => EventKind::Contention,
        Operation::Fork(_) | Operation::Join(_) => EventKind::Thread,
        Operation::ForgetLock(_) | Operation::Swept => EventKind::Lock,
        Operation::Start | Operation::End => EventKind::Lifetime,
        Operation::Send(_) | Operation::Receive(_) | Operation::ForgetChannel(_) => {
            EventKind::Channel
        }
        Operation::Enter(_) | Operation::Exit(_) => EventKind::Method,
        Operation::Allocate(_) => EventKind::Allocation,
        Operation::Store(_) => EventKind::Reference,
        Operation::TransactionBegin | Operation::TransactionEnd => EventKind::Transaction,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_detector_has_a_file_a_page_and_a_line_in_the_manual() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let manual = std::fs::read_to_string(root.join("../../docs/analyze.md"));
        let manual = manual.expect("docs/analyze.md is there");
        let mut names = BTreeSet::new();
        for detector in &DETECTORS {
            let name = detector.name;
            assert!(names.insert(name), "{name} is in the table twice");
            let file = root.join("src").join(format!("{}.rs", name.replace('-', "_")));
            assert!(file.is_file(), "{} is missing", file.display());
            let page = root.join("../../docs/rules").join(format!("{}.md", detector.rule));
            assert!(page.is_file(), "{} is missing", page.display());
            let line = format!("| `{name}` | [{rule}]", rule = detector.rule);
            assert!(manual.contains(&line), "docs/analyze.md has no line that begins {line}");
        }
    }

    #[test]
    fn every_file_of_a_detector_is_in_the_table() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for file in std::fs::read_dir(source).expect("the sources are there") {
            let path = file.expect("the sources can be read").path();
            if path.is_dir() {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source is text");
            let is_detector = text.lines().any(|line| line.starts_with("impl Detector for "));
            let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a file has a name");
            let name = stem.replace('_', "-");
            let is_listed = DETECTORS.iter().any(|detector| detector.name == name);
            assert_eq!(is_detector, is_listed, "{}", path.display());
        }
    }
}
