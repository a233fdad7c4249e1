//! The detectors that look at traces, one file each, and the table of them. They see events; where
//! these come from, a file or a running program, they do not know.

mod calls;
mod clocks;
mod critical_wait;
mod deadlock;
mod describe;
mod detector;
mod eraser;
mod escape;
mod executed;
mod happens_before;
mod indefinite_wait;
mod kept_locks;
mod lasts;
mod lock_cycles;
mod lock_order;
mod locksets;
mod lost_notify;
mod multilockset;
mod object_race;
mod outline;
mod periods;
mod predicted;
mod prediction;
mod protections;
mod races;
mod stale_value;
mod steps;
mod sync_preserving;
mod sync_preserving_deadlock;
mod two_lockset;
mod vector_clock;
mod waiting_cycle;
mod wcp;
mod witnesses;

pub use detector::{
    Accessed, Checked, DETECTORS, Detector, DetectorEntry, EventKind, Needs, Options,
};
pub use detector::{RacingEvent, kind_of, on_all_in_parallel};
pub use escape::Escape;
pub use executed::{Executed, Places};
pub use outline::Outline;
