//! The folder that an agent writes while a program runs, and its reader.
//!
//! `docs/trace-format.md` describes the files. Threads append events to chunks in arena files; what the
//! numbers in the events mean is in three tables of lines: `sites`, `classes` and `names`; `stacks` has what is told of calls.
//!
//! The reader reads a session whose program has ended, or was killed, or still runs. *Guarantee*: every event
//! that was written before is delivered, once, in an order in which synchronization comes by its number and
//! every other event comes between the synchronization of its own thread around it, as late as
//! possible. The order is the same whether a program still runs or not. Of every thread at most one chunk is in
//! memory. That an object or class lacks its description, because the program was killed in
//! between, takes away its name and nothing else.

mod chunks;
mod classes;
pub mod format;
mod line;
mod order;
mod place;
mod read;
mod recent;
mod records;
mod shared;
mod storage;
mod stream;
mod sums;
mod tail;
mod translate;

pub use classes::{ClassTable, DeclaredField, Found, NamedField, internal_name};
pub use place::ChunkPlace;
pub use read::{Session, follow, open, program_started};
pub use records::{
    ClassRecord, Dispatch, FieldRecord, NameRecord, SiteOperation, SiteRecord, StackRecord,
    Volatility,
};
pub use shared::ReturnedChunks;
pub use storage::{Files, is_locked, sessions_of};
pub use sums::seal;
