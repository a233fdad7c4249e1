//! What is done with locks, for the rules about them.
//!
//! By the code alone, of all methods of the input: [`uses`] (with [`calls`] and [`name`]) and [`waits`]. By the execution,
//! of what threads reach: [`index`] and [`acquisition`].

pub(crate) mod acquisition;
pub(crate) mod calls;
pub(crate) mod index;
pub(crate) mod name;
pub(crate) mod uses;
pub(crate) mod waits;
