//! The interface of all that looks at a trace: what it must see, what it is shown, and what it says in the end.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use unsnarl_events::{
    self as events, Event, EventKind, EventKinds, Filter, Filters, ObjectId, Operation, SiteId,
    Tables, VariableId,
};
use unsnarl_findings::{Finding, Frame, Rule, Variable};

use crate::describe::{self, DeclaredVariable};

/// An analysis of one trace.
pub trait Analysis: Send {
    /// Looks at the next events. `tables` have everything that the events name. Events that are worth a line of their own,
    /// such as an access that races with an earlier one, are appended to `flagged`, in the order of the trace.
    fn on_batch(&mut self, events: &[Event], tables: &Tables, flagged: &mut Vec<Flagged>);

    /// Says what there is to say when the trace has ended.
    fn finish(self: Box<Self>, tables: &Tables) -> Outcome;
}

/// What an analysis must see to say what it promises. What is recorded follows from it: see
/// [`recording_spec`](crate::recording_spec).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The kinds of events that it looks at; all others may be missing. Methods may be there all the same, and then a
    /// report has the call stacks that they show.
    pub events: EventKinds,
    /// The filters that may have dropped accesses before it sees them.
    pub tolerates: Filters,
    /// Whether it must know who read whose write; see [`Source::is_exact`](unsnarl_events::Source::is_exact).
    pub exact: bool,
    /// Whether it understands [`Operation::ReadElements`] and the like. If not,
    /// every element of an array is a variable for it.
    pub array_ranges: bool,
    /// Whether it looks at every access. If not, an [`Outline`](crate::Outline) of the trace says the same to it.
    pub every_access: bool,
    /// Whether it understands [`Operation::ForgetLock`] and the like. If not, no
    /// lock or channel is ever retired, and the analysis need not know that there is such a thing.
    pub handles_retirement: bool,
}

impl Needs {
    /// Every access and all that orders threads, with nothing left out. An analysis that can do with less says so.
    pub const ACCESSES: Self = Self {
        events: EventKinds::of(&[
            EventKind::Access,
            EventKind::Lock,
            EventKind::Thread,
            EventKind::Channel,
        ]),
        tolerates: Filters::NONE,
        exact: false,
        array_ranges: false,
        every_access: true,
        handles_retirement: false,
    };

    /// Locks, and no more of accesses than that there are some.
    pub const LOCKS: Self = Self {
        events: EventKinds::of(&[EventKind::Lock, EventKind::Contention]),
        tolerates: Filters::ALL,
        exact: false,
        array_ranges: true,
        every_access: false,
        handles_retirement: true,
    };

    /// Whether a filter may be used.
    #[must_use]
    pub fn tolerates(&self, filter: Filter) -> bool {
        !self.events.contains(EventKind::Access) || self.tolerates.contains(filter)
    }
}

/// What shows that a thread goes on. What it makes and stores and which methods it calls shows that as well, but to record
/// it costs much.
pub const PROGRESS: EventKinds = EventKinds::of(&[
    EventKind::Access,
    EventKind::Lock,
    EventKind::Contention,
    EventKind::Thread,
    EventKind::Lifetime,
    EventKind::Channel,
]);

/// Whether an operation shows that its thread goes on, and would be recorded for an analysis that needs [`PROGRESS`].
#[inline]
#[must_use]
pub fn shows_progress(operation: Operation) -> bool {
    PROGRESS.contains(EventKind::of(operation)) && !operation.forgets()
}

/// A line of a table of analyses.
pub struct AnalysisEntry {
    /// Its name on the command line. Its name in findings has `dynamic/` before it.
    pub name: &'static str,
    /// What it finds. Its page is `docs/rules/<rule>.md`.
    pub rule: Rule,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Whether it runs when nobody has chosen any.
    pub is_default: bool,
    /// What it must see.
    pub needs: fn(&Options) -> Needs,
    /// Makes one for a trace.
    pub make: fn(&Options) -> Box<dyn Analysis>,
}

impl fmt::Debug for AnalysisEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What can be chosen for analyses: for all of them, and for one of them in a type of its own.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Report every pair of places that races, even where that takes more time and memory.
    pub all: bool,
    own: Vec<Arc<dyn Any + Send + Sync>>,
}

impl Options {
    /// Those that hold for all analyses.
    #[must_use]
    pub fn new(all: bool) -> Self {
        Self { all, own: Vec::new() }
    }

    /// These options with those of one analysis, which it finds by their type.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, own: T) -> Self {
        self.own.retain(|it| !it.is::<T>());
        self.own.push(Arc::new(own));
        self
    }

    /// The options of one analysis, if somebody has set them.
    #[must_use]
    pub fn own<T: Any>(&self) -> Option<&T> {
        self.own.iter().find_map(|own| own.downcast_ref())
    }
}

/// What an analysis has to say in the end.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The defects that it found, in no order.
    pub findings: Vec<Finding>,
    /// What it inferred, for whoever knows the type.
    pub facts: Vec<Box<dyn Any + Send>>,
    /// The events that only the end has shown to be worth a line.
    pub flagged: Vec<Flagged>,
    /// Counts, by name.
    pub statistics: Vec<(&'static str, u64)>,
    /// What was not looked at, and why; one sentence each.
    pub notes: Vec<String>,
}

/// An event that an analysis draws attention to, such as an access that races with an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flagged {
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
    pub fn variable(self, tables: &Tables) -> events::Variable {
        match self {
            Self::Variable(variable) => tables.variables[variable],
            Self::Element(array, index) => events::Variable::Element(array, index),
        }
    }
}

impl Flagged {
    /// The place in the code, as findings have it.
    #[must_use]
    pub fn frame(&self, tables: &Tables) -> Frame {
        describe::frame(self.site, tables)
    }

    /// The variable, as findings have it.
    #[must_use]
    pub fn variable(&self, tables: &Tables) -> Variable {
        DeclaredVariable::of(self.variable, tables).variable(tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_an_analysis_are_found_by_their_type() {
        #[derive(Debug, PartialEq)]
        struct Window(usize);
        let options = Options::new(true);
        assert_eq!(options.own::<Window>(), None);
        let options = options.with(Window(3)).with("other").with(Window(5));
        assert_eq!(options.own(), Some(&Window(5)));
        assert_eq!(options.own(), Some(&"other"));
        assert!(options.all);
    }

    #[test]
    fn filters_drop_accesses_only() {
        let mut needs = Needs { events: EventKinds::of(&[EventKind::Lock]), ..Needs::default() };
        assert!(needs.tolerates(Filter::Owner));
        needs.events = EventKinds::ALL;
        assert!(!needs.tolerates(Filter::Owner));
        needs.tolerates = Filters::of(&[Filter::Owner]);
        assert!(needs.tolerates(Filter::Owner) && !needs.tolerates(Filter::Epoch));
    }
}
