//! What is recorded of a run, in one type: the agent is asked for it, and the code is rewritten by it.

use std::path::PathBuf;

use unsnarl_events::{Filter, Filters};

/// What is recorded of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingSpec {
    /// Only classes that one of these patterns fits are watched; all of the application if there is none. A pattern is a
    /// binary name such as `app.Main`, or the beginning of names followed by a star: `app.*`. Classes of the JDK need a
    /// pattern that begins with one of its packages: `java.util.*`.
    pub include: Vec<String>,
    /// Classes that one of these patterns fits are not watched, even if they are included.
    pub exclude: Vec<String>,
    /// The kinds of events.
    pub events: RecordedEvents,
    /// What is left out of them.
    pub filters: Filters,
    /// Which elements of arrays are watched.
    pub elements: ElementRange,
    /// A file with the names of the fields that are watched, a line each; all if there is none. Those that order threads
    /// are watched in any case.
    pub planned_fields: Option<PathBuf>,
}

/// The kinds of events that are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedEvents {
    /// Accesses to fields of objects and to static fields. Those to volatile fields are synchronization
    /// and are recorded with the monitors as well.
    pub fields: bool,
    /// Accesses to elements of arrays.
    pub arrays: bool,
    /// Monitors, waiting, volatile fields and the end of class initializers.
    pub synchronization: bool,
    /// Entering and leaving methods, and from which lines they are called.
    pub methods: bool,
    /// Where objects are made.
    pub allocations: bool,
    /// Where references are stored, or passed to code of the JDK.
    pub references: bool,
    /// What methods of a library access in their own objects: an `ArrayList` that two threads use.
    pub contents: bool,
    /// Whether an access and its number are one step, so that it is known who read whose write.
    pub exact: bool,
}

/// How a kind of events is called in the options of the agent, and where it is.
type NamedKind = (&'static str, fn(&mut RecordedEvents) -> &mut bool);

impl RecordedEvents {
    /// Nothing.
    pub const NONE: Self = Self {
        fields: false,
        arrays: false,
        synchronization: false,
        methods: false,
        allocations: false,
        references: false,
        contents: false,
        exact: false,
    };
    /// No accesses but those that order threads.
    pub const SYNCHRONIZATION: Self = Self { synchronization: true, ..Self::NONE };
    /// All accesses and all that orders them.
    pub const ACCESSES: Self = Self { fields: true, arrays: true, ..Self::SYNCHRONIZATION };

    /// The kinds with their names: the one table by which they are printed and parsed.
    const NAMES: [NamedKind; 8] = [
        ("fields", |events| &mut events.fields),
        ("arrays", |events| &mut events.arrays),
        ("synchronization", |events| &mut events.synchronization),
        ("methods", |events| &mut events.methods),
        ("allocations", |events| &mut events.allocations),
        ("references", |events| &mut events.references),
        ("contents", |events| &mut events.contents),
        ("exact", |events| &mut events.exact),
    ];

    /// The names of the kinds that are recorded.
    pub fn names(mut self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(_, kind)| *kind(&mut self)).map(|(name, _)| name)
    }

    /// The names of all kinds.
    pub fn all_names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().map(|(name, _)| name)
    }

    /// Records a kind as well, by its name. Whether there is such a kind.
    pub fn add(&mut self, name: &str) -> bool {
        match Self::NAMES.into_iter().find(|it| it.0 == name) {
            Some((_, kind)) => {
                *kind(self) = true;
                true
            }
            None => false,
        }
    }
}

/// The elements of every array that are watched, all unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ElementRange {
    /// The index of the first one; 0 if not said.
    pub first: Option<u32>,
    /// How many; all if not said.
    pub count: Option<u32>,
}

impl ElementRange {
    /// The index of the first one.
    #[must_use]
    pub fn start(&self) -> u32 {
        self.first.unwrap_or(0)
    }

    /// The index after the last one.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.count.map_or(u32::MAX, |count| self.start().saturating_add(count))
    }
}

/// All that happens-before looks at, without what it need not see.
impl Default for RecordingSpec {
    fn default() -> Self {
        Self {
            include: Vec::new(),
            exclude: Vec::new(),
            events: RecordedEvents::ACCESSES,
            filters: Filters::of(&[Filter::Epoch, Filter::Escape]),
            elements: ElementRange::default(),
            planned_fields: None,
        }
    }
}

impl RecordingSpec {
    /// The same classes with other events.
    #[must_use]
    pub fn with(mut self, events: RecordedEvents) -> Self {
        self.events = events;
        let filters = self.filters;
        self.with_filters(filters)
    }

    /// The same events without what these filters leave out. An exact recording has all accesses to shared objects: what
    /// is left out was read or written all the same.
    #[must_use]
    pub fn with_filters(mut self, filters: Filters) -> Self {
        self.filters = match self.events.exact {
            true => filters.both(Filters::of(&[Filter::Escape])),
            false => filters,
        };
        self
    }
}
