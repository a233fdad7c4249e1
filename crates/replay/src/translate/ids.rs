//! The ids that the event model gives to what a recording numbers.

pub(super) mod objects;
pub(super) mod sites;
pub(super) mod variables;
