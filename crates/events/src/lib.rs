//! The event, the tables that it refers to, and the readers and writers of foreign traces.
//!
//! A trace is a sequence of [`Event`]s in an order that the run could have had, and [`Tables`] that
//! describe what the ids in the events stand for. Whoever delivers one is a [`Source`]. This crate knows
//! neither detectors nor the JVM.

mod elements;
mod event;
mod filter;
mod ids;
mod kind;
mod open;
pub mod rapid_bin;
mod source;
pub mod std_text;
mod tables;

pub use elements::Elements;
pub use event::{
    ChannelId, Event, FieldId, LockId, MethodId, NameId, ObjectId, Operation, SiteId, StoreId,
    ThreadId, VariableId,
};
pub use filter::{Filter, Filters};
pub use ids::Numbers;
pub use kind::{EventKind, EventKinds};
pub use open::open_file;
pub use source::{Problem, Problems, Source, TraceError};
pub use tables::{
    Channel, Container, Field, Lock, Method, Object, Site, Sites, Store, Tables, Thread, Variable,
};
