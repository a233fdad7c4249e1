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

/// The packages of the JDK, as internal names. They are watched only if a pattern begins with one of them.
const OF_THE_JDK: [&str; 5] = ["java/", "javax/", "jdk/", "sun/", "com/sun/"];

/// What is never watched, as beginnings of internal names.
///
/// Hooks run in code of `java.lang` and `jdk.internal`, and ask a `ClassValue`, whose map is a `WeakHashMap` and so an
/// `AbstractMap`: probes in there would call hooks without end. What `java.util.concurrent` orders by `VarHandle`s and
/// `Unsafe` is not seen in its code, only at calls from outside.
const NEVER_WATCHED: [&str; 7] = [
    "java/lang/",
    "java/util/AbstractMap",
    "java/util/WeakHashMap",
    "java/util/concurrent/",
    "jdk/internal/",
    "jdk/jfr/",
    "sun/",
];

/// The packages of the JDK whose classes may be given a field: the JVM knows none of them, and loads none before the
/// agent is there.
const LOADED_LATE: [&str; 2] = ["javax/", "com/sun/"];

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
    /// `app.Main`, or the beginning of names with a star behind it: `app.*`. Classes of the JDK need a pattern that begins
    /// with one of its packages: `java.util.*`.
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
        let is_included = match is_of_the_jdk(class) {
            true => !begins(&NEVER_WATCHED, class) && self.of_the_jdk().any(|it| fits(it, class)),
            false => self.include.is_empty() || self.include.iter().any(|it| fits(it, class)),
        };
        is_included && !self.exclude.iter().any(|it| fits(it, class))
    }

    /// Whether a class is watched and may be given fields: those that the JVM knows and those that may be loaded before the
    /// agent is there are not.
    #[must_use]
    pub fn may_inject(&self, class: &[u8]) -> bool {
        (!is_of_the_jdk(class) || begins(&LOADED_LATE, class)) && self.watches(class)
    }

    /// Whether patterns name classes of the JDK.
    #[must_use]
    pub fn watches_jdk(&self) -> bool {
        self.of_the_jdk().next().is_some()
    }

    /// Patterns for what is not watched although patterns name it.
    #[must_use]
    pub fn never_watched(&self) -> Vec<String> {
        let is_named = |beginning: &&str| {
            let is_included = |pattern: &str| match pattern.strip_suffix('*') {
                Some(all) => beginning.starts_with(all) || all.starts_with(beginning),
                None => pattern.starts_with(beginning),
            };
            let is_excluded = |pattern: &String| fits(pattern, beginning.as_bytes());
            self.of_the_jdk().any(|it| is_included(it)) && !self.exclude.iter().any(is_excluded)
        };
        let named = NEVER_WATCHED.into_iter().filter(is_named);
        named.map(|beginning| beginning.replace('/', ".") + "*").collect()
    }

    /// The patterns that name classes of the JDK.
    fn of_the_jdk(&self) -> impl Iterator<Item = &String> {
        self.include.iter().filter(|pattern| is_of_the_jdk(pattern.as_bytes()))
    }
}

/// Whether a class belongs to the JDK, by its internal name.
#[must_use]
pub fn is_of_the_jdk(class: &[u8]) -> bool {
    begins(&OF_THE_JDK, class)
}

fn begins(beginnings: &[&str], class: &[u8]) -> bool {
    beginnings.iter().any(|beginning| class.starts_with(beginning.as_bytes()))
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
    fn the_jdk_is_watched_only_if_it_is_named() {
        for plan in
            [Plan::default(), Plan::default().include("*"), Plan::default().include("java*")]
        {
            assert!(plan.watches(b"javaish/Main"));
            for class in ["java/util/HashMap", "jdk/tools/Jar", "com/sun/tools/javac/Main"] {
                assert!(!plan.watches(class.as_bytes()), "{class}");
            }
        }
        let plan = Plan::default().include("java.util.*").include("com.sun.tools.*");
        let plan = plan.exclude("java.util.zip.*");
        for (class, expected) in [
            ("java/util/HashMap", true),
            ("java/util/HashMap$Node", true),
            ("java/util/zip/ZipFile", false),
            ("java/io/File", false),
            ("com/sun/tools/javac/Main", true),
            ("com/sun/source/tree/Tree", false),
            ("app/Main", false),
        ] {
            assert_eq!(plan.watches(class.as_bytes()), expected, "{class}");
        }
        assert!(plan.include("*").watches(b"app/Main"));
    }

    #[test]
    fn what_hooks_need_is_never_watched() {
        let plan = Plan::default().include("java.*").include("jdk.*").include("sun.*");
        for class in [
            "java/lang/String",
            "java/lang/ref/Reference",
            "java/util/WeakHashMap$Entry",
            "java/util/concurrent/atomic/AtomicLong",
            "jdk/internal/misc/Unsafe",
            "sun/nio/ch/FileChannelImpl",
        ] {
            assert!(!plan.watches(class.as_bytes()), "{class}");
        }
        assert!(plan.watches(b"java/util/ArrayList") && plan.watches(b"java/io/File"));

        let named = |include: &str| Plan::default().include(include).never_watched();
        let maps = ["java.util.AbstractMap*", "java.util.WeakHashMap*"];
        assert_eq!(named("java.util.*"), [&maps[..], &["java.util.concurrent.*"]].concat());
        assert_eq!(named("java.util.concurrent.Phaser"), ["java.util.concurrent.*"]);
        assert_eq!(named("java.util.Array*"), [""; 0]);
        assert_eq!(named("*"), [""; 0]);
        let plan = Plan::default().include("java.util.*").exclude("java.util.concurrent.*");
        assert_eq!(plan.never_watched(), maps);
    }

    #[test]
    fn classes_that_the_jvm_knows_get_no_fields() {
        let plan = Plan::default().include("*").include("java.*").include("com.sun.*");
        assert!(plan.may_inject(b"app/Main") && plan.may_inject(b"com/sun/tools/javac/Main"));
        assert!(!plan.may_inject(b"java/util/HashMap") && !plan.may_inject(b"javax/net/Socket"));
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
