//! The one table of rules.
//!
//! A rule is a kind of defect. It is declared here with its id, its default severity and a summary;
//! everything else that lists rules (help, SARIF, the documentation test) derives from this table. The
//! ids are part of every output format and of every baseline: they never change.

use std::fmt;

/// How bad a finding is when it is true. Ordered: a note is less than an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// True but expected, or worth knowing: never a reason to fail.
    Note,
    /// A defect on some schedules, or a bad habit that becomes one.
    Warning,
    /// A defect of the program: wrong values or a thread that never goes on.
    Error,
}

impl Severity {
    /// Every severity, the least first.
    pub const ALL: [Self; 3] = [Self::Note, Self::Warning, Self::Error];

    /// The name used in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Makes the enum and its lookups from one table, so that a rule is declared in one place only.
macro_rules! rules {
    ($($variant:ident, $id:literal, $severity:ident, $summary:literal;)+) => {
        /// A kind of defect.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $(#[doc = $summary] $variant,)+
        }

        impl Rule {
            /// Every rule, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The id used in every output, on the command line and as the name of the rule's page.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)+ }
            }

            /// One sentence that says what the defect is.
            #[must_use]
            pub fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary,)+ }
            }

            /// The severity of a finding of this rule unless its detector knows better.
            #[must_use]
            pub fn default_severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)+ }
            }
        }
    };
}

rules! {
    DataRace, "data-race", Error,
        "Two threads access a variable at the same time, at least one of them writing, and nothing orders them.";
    LocksetRace, "lockset-race", Warning,
        "A shared variable is written and no lock is held at all of its accesses.";
    ObjectRace, "object-race", Warning,
        "An object is used by several threads after its first owner, and no lock protects all uses.";
    UnsafePublication, "unsafe-publication", Warning,
        "An object becomes visible to another thread that may not see what its constructor wrote.";
    NonAtomicMethod, "non-atomic-method", Warning,
        "Other threads can come between the steps of a method that should happen as one.";
    StaleValue, "stale-value", Warning,
        "A shared value is used after the lock under which it was read has been released.";
    LockOrderCycle, "lock-order-cycle", Error,
        "Threads acquire the same locks in different orders and can wait for each other for ever.";
    CriticalWait, "critical-wait", Error,
        "A thread waits for a notification while holding a lock that the notifying thread may need.";
    IndefiniteWait, "indefinite-wait", Warning,
        "A thread waits for a notification that no other thread may ever send.";
    ObjectInconsistency, "object-inconsistency", Warning,
        "An object is accessed in the middle of another thread's update of it.";
    GuardViolation, "guard-violation", Error,
        "A variable is accessed without the lock that its declaration or its lock type names.";
    DisciplineDrift, "discipline-drift", Warning,
        "A variable no longer follows the synchronization discipline recorded for it.";
    UnreleasedLock, "unreleased-lock", Warning,
        "A lock is not released on every way out of the method that acquired it.";
    WaitOutsideLoop, "wait-outside-loop", Warning,
        "A wait is not repeated until its condition holds, although it may return without a notification.";
    ReassignedLock, "reassigned-lock", Warning,
        "A lock is taken through a field that is assigned again, so that two threads may lock different objects.";
    SharedConstantLock, "shared-constant-lock", Warning,
        "A lock is a string, a boxed value or a class that unrelated code may lock too.";
    LostNotify, "lost-notify", Warning,
        "A notification may come before the wait it is meant for, or reach a thread that waits for something else.";
    SelfDeadlock, "self-deadlock", Error,
        "A thread acquires a lock that it holds already and that does not let it in twice.";
}

impl Rule {
    /// The rule with this id.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.id() == id)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_kebab_case_and_found_again() {
        for &rule in Rule::ALL {
            assert_eq!(Rule::from_id(rule.id()), Some(rule));
            assert!(rule.id().chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{rule}");
        }
        assert_eq!(Rule::from_id("no-such-rule"), None);
    }

    #[test]
    fn summaries_are_single_sentences() {
        for &rule in Rule::ALL {
            let summary = rule.summary();
            assert!(summary.ends_with('.') && !summary.contains('\n'), "{rule}: {summary}");
            assert_eq!(summary.matches(". ").count(), 0, "{rule}: {summary}");
        }
    }
}
