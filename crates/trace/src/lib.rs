//! What happened in a run of a program: the events, the things that they are about, and the readers
//! and writers of traces.
//!
//! A trace is a sequence of [`Event`]s in an order that the run could have had, and [`Tables`] that
//! say what the ids in the events stand for. Whoever delivers one is a [`Source`]. This crate knows
//! nothing of detectors.

mod elements;
mod event;
mod ids;
mod open;
pub mod rapid_bin;
pub mod session;
mod source;
pub mod std_text;
mod tables;

pub use elements::Elements;
pub use event::{
    ChannelId, Event, FieldId, LockId, MethodId, NameId, ObjectId, Operation, SiteId, StoreId,
    ThreadId, VariableId,
};
pub use open::open;
pub use source::{Filter, Problem, Problems, Source, TraceError};
pub use tables::{
    Channel, Container, Field, Lock, Method, Object, Site, Sites, Store, Tables, Thread, Variable,
};
