//! The call graph against programs whose calls are known: small ones with expectations on their lines
//! (`fixtures/threads`, `fixtures/callgraph`), and every program that can be run, whose executed
//! methods must all be reachable.

mod calls;
mod executed;
mod fixture;
mod java;
mod programs;
mod threads;
