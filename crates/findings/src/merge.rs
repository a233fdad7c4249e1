//! The same defect found twice is one finding.
//!
//! Findings with equal fingerprints are merged: evidence, detectors and reasons are united, the
//! severity is the worse one, and what is suppressed once is suppressed. The finding with the stronger evidence
//! leads: its message, its hint and its accesses come first, because what was seen in a run convinces more than
//! what might be. Of the other's accesses those at sites that the leader does not show are added; a lock cycle
//! keeps the leader's, one per acquisition. The time line is the leader's, whose accesses it is about. The result
//! depends neither on the order of the findings nor on how many threads produced them, and it has the fingerprint
//! of its parts.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::{Access, Finding, Fingerprint, Frame};

/// Two findings that are not about the same defect were to be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("findings {0} and {1} are different defects")]
pub struct DifferentDefects(pub Fingerprint, pub Fingerprint);

impl Finding {
    /// Takes in what another finding of the same defect knows.
    ///
    /// # Errors
    /// When the fingerprints differ; `self` is as before.
    pub fn merge(&mut self, other: Self) -> Result<(), DifferentDefects> {
        let (own, others) = (self.fingerprint(), other.fingerprint());
        if own != others {
            return Err(DifferentDefects(own, others));
        }
        let mut follower = other;
        if follows(&follower) < follows(self) {
            std::mem::swap(self, &mut follower);
        }
        self.take_in(follower);
        Ok(())
    }

    fn take_in(&mut self, follower: Self) {
        self.severity = self.severity.max(follower.severity);
        self.evidence.extend(follower.evidence);
        self.detectors.extend(follower.detectors);
        self.hint = self.hint.take().or(follower.hint);
        self.uses = self.uses.take().or(follower.uses);
        self.suppression = self.suppression.take().or(follower.suppression);
        for reason in follower.reasons {
            if self.reasons.iter().all(|known| known.name != reason.name) {
                self.reasons.push(reason);
            }
        }
        let is_cycle = self.subject.as_locks().len() > 1;
        if !is_cycle {
            let known = self.accesses.len();
            for access in follower.accesses {
                if !self.accesses[..known].iter().any(|shown| same_site(shown, &access)) {
                    self.accesses.push(access);
                }
            }
        }
    }
}

/// Merges what is the same defect and sorts: the worst first, then the surest, then by rule, subject
/// and fingerprint, so that equal input in any order gives equal output.
#[must_use]
pub fn merge_all(findings: impl IntoIterator<Item = Finding>) -> Vec<Finding> {
    let mut groups: BTreeMap<Fingerprint, Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        groups.entry(finding.fingerprint()).or_default().push(finding);
    }
    let mut merged: Vec<(Fingerprint, Finding)> = groups
        .into_iter()
        .filter_map(|(fingerprint, mut group)| {
            group.sort_by(|one, other| follows(one).cmp(&follows(other)));
            let leader = group.into_iter().reduce(|mut leader, follower| {
                leader.take_in(follower);
                leader
            });
            leader.map(|finding| (fingerprint, finding))
        })
        .collect();
    merged.sort_by_cached_key(|(fingerprint, finding)| {
        (
            Reverse(finding.severity),
            Reverse(finding.confidence()),
            finding.rule,
            finding.subject.to_string(),
            *fingerprint,
        )
    });
    merged.into_iter().map(|(_, finding)| finding).collect()
}

/// The place of a finding among those of the same defect; the least one leads. Everything that a
/// merge takes from the leader is part of the order, so that a tie makes no difference.
fn follows(finding: &Finding) -> impl Ord + '_ {
    (
        Reverse(finding.evidence.last()),
        Reverse(finding.confidence()),
        &finding.message,
        &finding.accesses,
        &finding.hint,
        &finding.subject,
        &finding.detectors,
        &finding.reasons,
        &finding.suppression,
        (&finding.timeline, &finding.uses),
    )
}

/// Whether two accesses do the same at the same place. Threads and locks may differ: a static and a
/// dynamic detector name them differently.
fn same_site(one: &Access, other: &Access) -> bool {
    one.kind == other.kind
        && match (one.site(), other.site()) {
            (
                Some(Frame::Code { method: one_method, line: one_line, .. }),
                Some(Frame::Code { method: other_method, line: other_line, .. }),
            ) => {
                let lines_agree = match (one_line, other_line) {
                    (Some(one), Some(other)) => one == other,
                    _ => true,
                };
                one_method == other_method && lines_agree
            }
            (one, other) => one == other,
        }
}
