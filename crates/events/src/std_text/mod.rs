//! Traces as text, in the STD form of the RAPID project [Rapid, formats]: one event a line,
//! `thread|operation|location`, for example `T0|w(V1)|12`.
//!
//! | operation | meaning |
//! |---|---|
//! | `r(V)` `w(V)` | read and write |
//! | `acq(L)` `rel(L)` | acquire and release |
//! | `fork(T)` `join(T)` | start and join |
//! | `begin` `end` | a transaction, with or without something in parentheses |
//! | `req(L)` | a request for a lock |
//! | `branch` `dummy` | read and left out, for nothing here looks at them |
//!
//! STD has no words for the rest of our events. They are read and written as `racq(L)`, `rrel(L)`
//! (acquire and release shared), `wait(L)`, `wake(L)`, `notify(L)`, `send(C)`, `recv(C)`, `start`,
//! `stop` (of a thread), `enter(M)` and `exit(M)`; other tools do not know these.
//!
//! A location is a decimal number below 2^32. Names are any bytes but `|`, `(`, `)` and white space.
//! Empty lines are skipped, and so is everything from `//` on at the beginning of a line or after
//! the location.

mod names;
mod plain;
mod read;
mod write;

pub use read::StdReader;
pub use write::StdWriter;
