//! Reads a recording as a stream of events, while the program runs or later. Models say what calls of libraries do.
//!
//! *Guarantee*: every event that was written is delivered once. Synchronization is ordered by its numbers; every other event
//! is delivered between the synchronization of its own thread around it, as late as possible. The order is the
//! same whether the program still runs, has ended or was killed. At most one chunk of every thread is in memory. An object
//! or class without a description, because the program was killed in between, lacks its name and nothing else.
//!
//! | module | what it does |
//! |---|---|
//! | `open` | opens a trace of any form |
//! | `read` | the session: merges its threads, waits for a growing one, delivers batches |
//! | `order` | which thread is next, by the numbers of synchronization |
//! | `stream` | the events of one thread, chunk by chunk |
//! | `tail` | the tables of a session, as they grow |
//! | `translate` | from recorded events to those of the event model, and its tables |
//! | `recent` | a small cache of recent lookups, which the id tables of `translate` use |

mod open;
mod order;
mod read;
mod recent;
mod stream;
mod tail;
mod translate;

pub use open::open;
pub use read::{Session, follow, open as open_session, program_started};
