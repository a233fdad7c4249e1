//! The commands as their users run them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod accepting;
mod analyze;
mod check;
mod config;
mod explain;
mod inspect;
mod joining;
mod pages;
mod report;
mod rules;
mod run;
mod support;
