//! What is to be watched.

use std::collections::BTreeSet;

use unsnarl_events::{Filter, Filters};
use unsnarl_recording::RecordingSpec;

/// Which classes are rewritten, and which of their events are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What is recorded. Its patterns and its file of names are in the other fields, as they are needed here.
    pub spec: RecordingSpec,
    /// The patterns, as internal names.
    include: Vec<String>,
    exclude: Vec<String>,
    /// The names of the fields that are watched, in modified UTF-8; all if not said. Those that order threads are watched
    /// in any case.
    pub fields: Option<BTreeSet<Vec<u8>>>,
}

/// Whether accesses that follow each other, with nothing acquired or released between them, may be recorded as one.
#[must_use]
pub fn may_coalesce(filters: Filters) -> bool {
    filters.contains(Filter::Epoch) || filters.contains(Filter::Owner)
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

impl Plan {
    /// Records what the spec says.
    #[must_use]
    pub fn new(spec: RecordingSpec) -> Self {
        let internal = |patterns: &[String]| patterns.iter().map(|it| internal(it)).collect();
        Self {
            include: internal(&spec.include),
            exclude: internal(&spec.exclude),
            spec,
            fields: None,
        }
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

    fn patterns(include: &[&str], exclude: &[&str]) -> Plan {
        let owned = |names: &[&str]| names.iter().map(|&it| it.to_owned()).collect();
        Plan::new(RecordingSpec {
            include: owned(include),
            exclude: owned(exclude),
            ..RecordingSpec::default()
        })
    }

    #[test]
    fn the_jdk_is_watched_only_if_it_is_named() {
        for plan in [Plan::default(), patterns(&["*"], &[]), patterns(&["java*"], &[])] {
            assert!(plan.watches(b"javaish/Main"));
            for class in ["java/util/HashMap", "jdk/tools/Jar", "com/sun/tools/javac/Main"] {
                assert!(!plan.watches(class.as_bytes()), "{class}");
            }
        }
        let (named, without) = (["java.util.*", "com.sun.tools.*"], ["java.util.zip.*"]);
        let jdk = patterns(&named, &without);
        for (class, expected) in [
            ("java/util/HashMap", true),
            ("java/util/HashMap$Node", true),
            ("java/util/zip/ZipFile", false),
            ("java/io/File", false),
            ("com/sun/tools/javac/Main", true),
            ("com/sun/source/tree/Tree", false),
            ("app/Main", false),
        ] {
            assert_eq!(jdk.watches(class.as_bytes()), expected, "{class}");
        }
        assert!(patterns(&["java.util.*", "*"], &without).watches(b"app/Main"));
    }

    #[test]
    fn what_hooks_need_is_never_watched() {
        let plan = patterns(&["java.*", "jdk.*", "sun.*"], &[]);
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

        let named = |include: &str| patterns(&[include], &[]).never_watched();
        let maps = ["java.util.AbstractMap*", "java.util.WeakHashMap*"];
        assert_eq!(named("java.util.*"), [&maps[..], &["java.util.concurrent.*"]].concat());
        assert_eq!(named("java.util.concurrent.Phaser"), ["java.util.concurrent.*"]);
        assert_eq!(named("java.util.Array*"), [""; 0]);
        assert_eq!(named("*"), [""; 0]);
        let plan = patterns(&["java.util.*"], &["java.util.concurrent.*"]);
        assert_eq!(plan.never_watched(), maps);
    }

    #[test]
    fn classes_that_the_jvm_knows_get_no_fields() {
        let plan = patterns(&["*", "java.*", "com.sun.*"], &[]);
        assert!(plan.may_inject(b"app/Main") && plan.may_inject(b"com/sun/tools/javac/Main"));
        assert!(!plan.may_inject(b"java/util/HashMap") && !plan.may_inject(b"javax/net/Socket"));
    }

    #[test]
    fn what_is_excluded_is_not_included() {
        let plan = patterns(&["app.*"], &["app.gen.*", "app.Main"]);
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
