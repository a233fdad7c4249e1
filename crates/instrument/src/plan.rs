//! What is to be watched.

use std::collections::BTreeSet;

/// Which classes are rewritten, and which of their events are reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    include: Vec<String>,
    exclude: Vec<String>,
    /// The kinds of events.
    pub events: Events,
    /// What is left out of them.
    pub filters: Filters,
    /// Which elements of arrays are watched.
    pub elements: Elements,
    /// Whether it is reported that a library's method accesses what is in its object: an `ArrayList` that two
    /// threads use.
    pub contents: bool,
    /// The names of the fields that are watched, in modified UTF-8; all if not said. Those that order threads are watched
    /// in any case.
    pub fields: Option<BTreeSet<Vec<u8>>>,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Events {
    /// Accesses to fields of objects and to static fields. Those to volatile fields are synchronization
    /// and are reported with the monitors as well.
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
    /// Whether an access and its number are one step, so that it is known who read whose write.
    pub exact: bool,
}

impl Events {
    /// Nothing.
    pub const NONE: Self = Self {
        fields: false,
        arrays: false,
        synchronization: false,
        methods: false,
        allocations: false,
        references: false,
        exact: false,
    };
    /// No accesses but those that order threads.
    pub const SYNCHRONIZATION: Self = Self { synchronization: true, ..Self::NONE };
    /// All accesses and all that orders them.
    pub const ALL: Self = Self { fields: true, arrays: true, ..Self::SYNCHRONIZATION };
}

/// What is left out because it tells nothing new about the order of accesses. Without filters every access is
/// reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filters {
    /// A read after a read or write, and a write after a write, of the same variable by the same thread
    /// that has released nothing in between.
    pub epoch: bool,
    /// Final fields of objects, and what a constructor does to `this` before anybody else can know it.
    pub escape: bool,
    /// What the first owner of an object does to it until another thread comes, and behind that what is redundant
    /// in an epoch, which only locks end. Only the runtime knows owners.
    pub owner: bool,
}

impl Filters {
    /// Those that happens-before tolerates: races are found all the same, if not at every access that takes part
    /// in one.
    pub const ALL: Self = Self { epoch: true, escape: true, owner: false };
    /// None of them.
    pub const NONE: Self = Self { epoch: false, escape: false, owner: false };

    /// Whether accesses that follow each other, with nothing acquired or released between them, may be told as one.
    #[must_use]
    pub fn take_together(self) -> bool {
        self.epoch || self.owner
    }
}

/// The elements of every array that are watched, all unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elements {
    /// The index of the first one.
    pub first: u32,
    /// How many; all if not said.
    pub count: Option<u32>,
}

impl Elements {
    /// The index behind the last one.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.count.map_or(u32::MAX, |count| self.first.saturating_add(count))
    }
}

/// The packages of the JDK, as internal names. They are never rewritten by a plan: hooks use them.
const OF_THE_JDK: [&str; 5] = ["java/", "javax/", "jdk/", "sun/", "com/sun/"];

impl Default for Plan {
    fn default() -> Self {
        Self {
            include: Vec::new(),
            exclude: Vec::new(),
            events: Events::ALL,
            filters: Filters::ALL,
            elements: Elements::default(),
            contents: false,
            fields: None,
        }
    }
}

impl Plan {
    /// Only classes that one of the patterns fits are watched. A pattern is a binary name such as
    /// `app.Main`, or the beginning of names with a star behind it: `app.*`.
    #[must_use]
    pub fn include(mut self, pattern: &str) -> Self {
        self.include.push(internal(pattern));
        self
    }

    /// Classes that this pattern fits are not watched, also when they are included.
    #[must_use]
    pub fn exclude(mut self, pattern: &str) -> Self {
        self.exclude.push(internal(pattern));
        self
    }

    /// The same classes with other events.
    #[must_use]
    pub fn with(mut self, events: Events) -> Self {
        self.events = events;
        self
    }

    /// Whether accesses to fields of this name are of interest.
    #[must_use]
    pub fn watches_field(&self, name: &[u8]) -> bool {
        self.fields.as_ref().is_none_or(|fields| fields.contains(name))
    }

    /// Whether a class is watched, by its internal name in modified UTF-8.
    #[must_use]
    pub fn watches(&self, class: &[u8]) -> bool {
        let fits = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, class));
        !is_of_the_jdk(class)
            && (self.include.is_empty() || fits(&self.include))
            && !fits(&self.exclude)
    }
}

/// Whether a class is never rewritten by a plan, by its internal name.
#[must_use]
pub fn is_of_the_jdk(class: &[u8]) -> bool {
    OF_THE_JDK.iter().any(|package| class.starts_with(package.as_bytes()))
}

fn internal(pattern: &str) -> String {
    pattern.replace('.', "/")
}

fn fits(pattern: &str, class: &[u8]) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => class.starts_with(beginning.as_bytes()),
        None => class == pattern.as_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jdk_is_never_watched() {
        let plan = Plan::default().include("*");
        assert!(plan.watches(b"app/Main") && plan.watches(b"javaish/Main"));
        for class in ["java/lang/String", "jdk/internal/misc/Unsafe", "sun/misc/Unsafe"] {
            assert!(!plan.watches(class.as_bytes()), "{class}");
        }
    }

    #[test]
    fn what_is_excluded_is_not_included() {
        let plan = Plan::default().include("app.*").exclude("app.gen.*").exclude("app.Main");
        for (class, expected) in [
            ("app/Other", true),
            ("app/Main", false),
            ("app/Main$1", true),
            ("app/gen/Parser", false),
            ("lib/Other", false),
        ] {
            assert_eq!(plan.watches(class.as_bytes()), expected, "{class}");
        }
    }
}
