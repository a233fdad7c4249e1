//! The program under analysis: how its classes are related, what their methods do, and who calls whom.

pub mod body;
pub mod callgraph;
pub mod check;
mod class;
mod display;
pub mod heap;
mod hierarchy;
mod lambda;
pub mod lower;
pub mod names;
pub mod pattern;
mod program;

pub use class::{Class, ClassId, Field, FieldId, FileOrigin, Method, MethodId, Origin};
pub use display::StatementText;
pub use program::{Failure, Program};
