//! From a plan to the rewritten bytes of one class.
//!
//! [`rewrite`] puts calls of the runtime's hooks around what a class of the program does to fields,
//! arrays and monitors, and around its calls of library methods that order threads, which [`Calls`] knows
//! from the models; [`thread::inject`] and [`thread::hook`] do what `java.lang.Thread` needs. Probes
//! are straight-line code: they leave the stack as it was, and the local variables of the method too, so no
//! frame is computed but those of handlers: around a synchronized method or a task, and around a call.
//!
//! What is not reported: a write to a field of the class itself before a constructor has called another
//! one, because an object that is not initialized cannot be passed to a hook; and an element that a
//! failing `aastore` would have stored, which is reported although nothing is written.
//!
//! This crate knows nothing of the JVM's interfaces.

mod asked;
mod call_probe;
mod calls;
mod finalizer;
pub mod hidden;
mod hooks;
pub mod identity;
mod loops;
mod method;
mod plan;
mod probe;
pub mod process;
mod pure_calls;
mod recorded;
mod redundancy;
pub mod reflection;
mod rewrite;
mod senders;
mod site;
pub mod thread;
mod wait_probe;

pub use calls::{AskedMethod, Caller, Calls};
pub use plan::{Plan, is_of_the_jdk, may_coalesce};
pub use recorded::{MethodNumber, Operand, OperandKind, RecordedCall, Task};
pub use rewrite::{KnownClasses, RewriteError, Rewritten, rewrite};
pub use site::{Conditional, SiteNumbers};
