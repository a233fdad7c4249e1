//! The folder that an agent writes while a program runs, and its reader.
//!
//! `docs/trace-format.md` describes the files. Threads append events to chunks in arena files; what the
//! numbers in the events mean is in three tables of lines: `sites`, `classes` and `names`.
//!
//! The reader reads a session whose program has ended, or was killed. *Guarantee*: every event that
//! was written before is delivered, once, in an order in which synchronization comes by its number and
//! every other event comes between the synchronization of its own thread around it, as late as
//! possible. That an object or class lacks its description, because the program was killed in
//! between, takes away its name and nothing else. What it misses: it does not follow a session that grows, and
//! it holds the whole of it in memory.

mod chunks;
mod classes;
pub mod format;
mod line;
mod read;
mod records;
mod translate;

pub use classes::{ClassTable, DeclaredField, Found, NamedField, internal_name};
pub use read::{Files, Session, open};
pub use records::{
    ClassRecord, Dispatch, FieldRecord, NameRecord, SiteOperation, SiteRecord, Volatility,
};
