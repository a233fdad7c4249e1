//! What analyses of events are built from, and how they are run.
//!
//! - [`Analysis`], [`Needs`], [`Outcome`]: the one interface of all that looks at a trace, whether it finds defects or infers
//!   facts. [`recording_spec`] derives from the needs what has to be recorded.
//! - [`Pipeline`]: shows a trace to the chosen analyses, batch by batch.
//! - Building blocks: [`clocks`], [`locksets`] with [`retained_locks`], [`periods`], [`call_stacks`],
//!   [`thread_contexts`], [`protections`], [`escape`], [`last_access`].
//! - [`describe`]: names for what is in a trace, as findings have them.
//!
//! This crate does not know what is a defect.

pub mod analysis;
pub mod call_stacks;
pub mod clocks;
pub mod describe;
pub mod escape;
pub mod executed;
pub mod last_access;
pub mod locksets;
mod outline;
pub mod periods;
mod pipeline;
pub mod protections;
mod recording_spec;
pub mod retained_locks;
pub mod thread_contexts;
pub mod vector_clock;

pub use analysis::{Accessed, Analysis, AnalysisEntry, Flagged, Needs, Options, Outcome};
pub use outline::Outline;
pub use pipeline::{Pipeline, TraceReport};
pub use recording_spec::{Choices, recording_spec};
