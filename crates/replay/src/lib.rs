//! A recording and models become events, while the program runs or later.
//!
//! *Guarantee*: every event that was written before is delivered, once, in an order in which synchronization comes by its
//! number and every other event comes between the synchronization of its own thread around it, as late as
//! possible. The order is the same whether the program still runs, has ended or was killed. Of every thread at most one
//! chunk is in memory. An object or class that lacks its description, because the program was killed in
//! between, lacks its name and nothing else.

mod open;
mod order;
mod read;
mod recent;
mod stream;
mod tail;
mod translate;

pub use open::open;
pub use read::{Session, follow, open as open_session, program_started};
