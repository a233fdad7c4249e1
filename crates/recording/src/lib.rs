//! The protocol between the agent in a watched JVM and whoever reads what it writes: the files of a session, the chunks
//! of events in them, and the records that describe what the numbers in the events stand for.
//!
//! `docs/trace-format.md` describes the files. Threads append events to chunks in arena files; what the
//! numbers in the events mean is in tables of lines: `sites`, `classes`, `names` and `stacks`. What the events mean for
//! the order of threads is the business of `replay`: this crate knows neither models nor detectors.

pub mod agent_options;
pub mod chunk_place;
pub mod chunks;
pub mod class_table;
pub mod format;
mod line;
pub mod records;
mod shared;
pub mod spec;
pub mod storage;
mod sums;

pub use agent_options::{AgentOptions, AgentOptionsError, Destination};
pub use chunk_place::ChunkPlace;
pub use class_table::{ClassTable, DeclaredField, NamedField, internal_name};
pub use records::{
    ClassRecord, Dispatch, FieldName, FieldRecord, MethodName, NameRecord, SiteNumber,
    SiteOperation, SiteRecord, StackRecord, Volatility,
};
pub use shared::ReturnedChunks;
pub use spec::{ElementRange, RecordedEvents, RecordingSpec};
pub use storage::{Files, is_locked, sessions_of};
pub use sums::seal;
