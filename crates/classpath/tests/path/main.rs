//! The class path: what is found where, and what is reported about the rest.

mod archives;
mod bad_input;
mod build;
mod elements;
mod image;
mod jdk;
