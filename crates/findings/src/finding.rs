//! One defect and what is known about it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use crate::{
    Access, Confidence, Fingerprint, Frame, Reason, Rule, Severity, Subject, Suppression,
    TimelineStep, UseGraph,
};

/// One defect, found by one or more detectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind of defect.
    pub rule: Rule,
    /// How bad it is; the rule's default unless the detector knows better.
    pub severity: Severity,
    /// What it is about.
    pub subject: Subject,
    /// How it is known. Never empty.
    pub evidence: BTreeSet<Evidence>,
    /// The detectors that found it: `static/conflict`, `dynamic/happens-before`. Never empty.
    pub detectors: BTreeSet<Cow<'static, str>>,
    /// What is wrong, in one line without a full stop.
    pub message: String,
    /// The heuristics that hold, which decide the confidence.
    pub reasons: Vec<Reason>,
    /// How it might be repaired.
    pub hint: Option<String>,
    /// The accesses that together are the defect: usually two, one for each acquisition of a lock
    /// cycle, one where a method alone is at fault.
    pub accesses: Vec<Access>,
    /// What the threads of the first two accesses did to synchronize around them, in the order of the run, with the
    /// accesses among it. Empty if that is not known.
    pub timeline: Vec<TimelineStep>,
    /// How threads use what the finding is about, if static analysis has found that out.
    pub uses: Option<UseGraph>,
    /// Why it does not count, if somebody has decided so.
    pub suppression: Option<Suppression>,
}

impl Finding {
    /// A finding with the rule's severity and nothing but its core; the rest is set on the fields.
    #[must_use]
    pub fn new(
        rule: Rule,
        subject: Subject,
        evidence: Evidence,
        detector: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        accesses: Vec<Access>,
    ) -> Self {
        Self {
            rule,
            severity: rule.default_severity(),
            subject,
            evidence: BTreeSet::from([evidence]),
            detectors: BTreeSet::from([detector.into()]),
            message: message.into(),
            reasons: Vec::new(),
            hint: None,
            accesses,
            timeline: Vec::new(),
            uses: None,
            suppression: None,
        }
    }

    /// How sure we are, which follows from evidence and reasons.
    #[must_use]
    pub fn confidence(&self) -> Confidence {
        Confidence::from_reasons(&self.evidence, &self.reasons)
    }

    /// The class that the finding is filed under, the outermost one: that of its method or variable, or else where
    /// its first access is; a lock or an array may be of any class.
    #[must_use]
    pub fn class(&self) -> Option<&str> {
        let variable = self.subject.as_variable().filter(|variable| !variable.is_elements());
        let of_variable = variable.and_then(|variable| variable.class.as_deref());
        let of_method = self.subject.as_method().map(|method| method.class.as_str());
        let site = self.accesses.first().and_then(Access::site).and_then(Frame::method);
        let class = of_method.or(of_variable).or(site.map(|method| method.class.as_str()))?;
        let simple = class.rfind('.').map_or(0, |dot| dot + 1);
        match class[simple..].find('$') {
            Some(length) if length > 0 => Some(&class[..simple + length]),
            _ => Some(class),
        }
    }

    /// The name of the defect across runs, versions and detectors.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self)
    }
}

/// How a defect is known. Ordered by strength.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// Static analysis could not exclude it.
    Suspected,
    /// A recorded run shows that another schedule would have it.
    Predicted,
    /// It happened in a run.
    Observed,
}

impl Evidence {
    /// Every kind of evidence, the weakest first.
    pub const ALL: [Self; 3] = [Self::Suspected, Self::Predicted, Self::Observed];

    /// The name used in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Suspected => "suspected",
            Self::Predicted => "predicted",
            Self::Observed => "observed",
        }
    }

    /// How many signs it gives to the confidence (see [`crate::confidence`]).
    pub(crate) fn signs(self) -> i32 {
        match self {
            Self::Suspected => 0,
            Self::Predicted => 2,
            Self::Observed => 4,
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
