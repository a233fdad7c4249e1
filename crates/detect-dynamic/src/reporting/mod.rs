//! What several detectors say of what they have found: pairs of accesses, cycles of waiting threads, time lines.

pub(crate) mod lockset_detector;
pub(crate) mod races;
pub(crate) mod timeline;
pub(crate) mod waiting_cycle;
pub(crate) mod witnesses;
