//! The program under analysis: where its classes come from, how they are related, what their methods
//! do, and who calls whom.

pub mod body;
pub mod lower;
pub mod names;
pub mod path;
