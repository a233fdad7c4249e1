//! The places in the code that hooks report.

use std::sync::atomic::{AtomicU32, Ordering};

use unsnarl_recording::{FieldName, SiteNumber, Volatility};

/// Gives numbers to sites, also to several classes that are rewritten at the same time.
#[derive(Debug)]
pub struct SiteNumbers(AtomicU32);

impl Default for SiteNumbers {
    fn default() -> Self {
        Self(AtomicU32::new(1))
    }
}

impl SiteNumbers {
    /// The first of so many numbers in a row. Two billion sites are more than class files of a JVM can hold, so
    /// it never wraps.
    #[must_use]
    pub fn take(&self, count: u32) -> SiteNumber {
        SiteNumber(self.0.fetch_add(count, Ordering::Relaxed))
    }
}

/// A probe whose use depends on whether fields are what they were assumed to be when nothing but their class files was
/// known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conditional {
    /// The number of the probe.
    pub site: SiteNumber,
    /// The fields, and what was assumed of them.
    pub assumed: Vec<(FieldName, Volatility)>,
    /// The probe that reports this access with others if the assumptions hold, and how many it reports; it may be this
    /// one itself, which then reports nothing if they do not. If there is none, the access is redundant if they hold.
    pub reported_by: Option<(SiteNumber, u32)>,
}
