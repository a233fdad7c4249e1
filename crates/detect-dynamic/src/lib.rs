//! The detectors that look at traces, one file or folder each in `detectors`, and the table of them. They see events;
//! where these come from, a file or a running program, they do not know.
//!
//! What they are built from is in `trace-analysis`. Here are, besides the detectors, what several of them say of what they found
//! (`reporting`) and how runs are reordered (`prediction`).

mod detectors;
mod prediction;
mod reporting;

pub use detectors::DETECTORS;
pub use prediction::WindowSize;
