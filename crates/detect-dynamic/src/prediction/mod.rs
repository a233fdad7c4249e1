//! What could have happened in another order: sync-preserving races [Mathur21 §4] and
//! deadlocks [Tunc23 §4].
//!
//! A *reordering* of a trace has for every thread a beginning of what it did, every read in it reads from the same write
//! as in the trace, and locks exclude each other. It *preserves synchronization* if the critical sections of a lock come
//! in the order that they have in the trace. Two conflicting accesses that such a reordering can be followed by, one
//! directly after the other, are a race; acquisitions each of which waits for a lock that the next one's thread holds are
//! a deadlock. The smallest set of events that must have happened before given ones is their [`Closure`](closure::Closure).
//!
//! Traces are looked at in windows: what lies before a window stays as it was. So nothing is reported that cannot happen,
//! and what needs events of two windows is missed.

mod closure;
mod deadlocks;
mod describe;
mod overlapping;
pub(crate) mod predicted;
mod races;
mod replay;
#[cfg(test)]
mod tests;
mod timeline;
mod window;
mod witness;

pub(crate) use deadlocks::deadlocks;
pub(crate) use describe::describe;
pub use overlapping::WindowSize;
pub(crate) use overlapping::{NEEDS, Overlapping, concerns};
pub(crate) use races::races;
pub(crate) use replay::replay;
pub(crate) use timeline::timeline;
pub(crate) use window::Window;
pub(crate) use witness::witness;

#[cfg(test)]
use window::HeldLocks;
