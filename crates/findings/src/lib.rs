//! What Unsnarl reports: the finding.
//!
//! Static and dynamic detectors produce the same [`Finding`]: a defect of one [`Rule`] about one
//! [`Subject`] (a variable, the locks of a cycle, a method), shown by labelled [`Access`]es and backed
//! by [`Evidence`]. How sure we are is never a number that somebody made up on the spot: it follows
//! from the evidence and from named [`Heuristic`]s ([`confidence`]). Two findings with the same
//! [`Fingerprint`] are the same defect, and a [`Report`] holds them as one ([`Finding::merge`]).
//!
//! This crate knows no output format and does no IO.

mod access;
pub mod confidence;
mod finding;
mod fingerprint;
pub mod hints;
pub mod lock_cycle;
mod merge;
mod report;
mod rule;
mod subject;
mod suppression;
mod timeline;
mod uses;

pub use access::{Access, AccessKind, Frame, MethodReference};
pub use confidence::{Confidence, Effect, Heuristic, Reason};
pub use finding::{Evidence, Finding};
pub use fingerprint::Fingerprint;
pub use merge::{DifferentDefects, merge_all};
pub use report::{Report, SCHEMA, Statistic, Tool};
pub use rule::{Rule, Severity};
pub use subject::{Lock, Subject, Variable};
pub use suppression::{Suppression, SuppressionKind};
pub use timeline::{StepKind, TimelineStep};
pub use uses::{EdgeKind, Use, UseEdge, UseGraph, UseKind, UsingThread};
