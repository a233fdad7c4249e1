//! The detectors that look at traces, one file each, and the table of them. They see events; where
//! these come from, a file or a running program, they do not know.

mod calls;
mod clocks;
mod describe;
mod detector;
mod escape;
mod happens_before;
mod lasts;
mod locksets;
mod predicted;
mod prediction;
mod races;
mod sync_preserving;
mod vector_clock;
mod wcp;

pub use detector::{
    Checked, DETECTORS, Detector, DetectorEntry, EventKind, Filter, Needs, Options,
};
pub use detector::{RacingEvent, kind_of, on_all_in_parallel};
pub use escape::Escape;
