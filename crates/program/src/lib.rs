//! Being written.

pub mod path;
