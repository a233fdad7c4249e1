//! What is known before the execution, found without regard to the order of statements: the loops and access paths of a
//! [`method`], the [`threads`] and who shares what ([`sharing`], [`hosts`], [`confined`], [`tasks`]), which [`signals`] are
//! worth following, which [`join_loops`] join all threads of a container, and what a call may start or send
//! ([`may_effects`]). None of it changes while the program is executed.

pub(crate) mod access;
pub(crate) mod confined;
pub(crate) mod containers;
pub(crate) mod hosts;
pub(crate) mod initializers;
pub(crate) mod join_loops;
pub(crate) mod may_effects;
pub(crate) mod method;
pub(crate) mod path;
pub(crate) mod sharing;
pub(crate) mod signals;
pub(crate) mod sweep;
pub(crate) mod tasks;
pub(crate) mod threads;
pub(crate) mod views;
