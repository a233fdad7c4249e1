//! What the files of the repository say about papers, about other files and about the code.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod citations;
mod files;
mod walks;
