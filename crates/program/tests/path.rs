//! The class path: what is found where, and what is said about that which is not.

#[path = "path/archives.rs"]
mod archives;
#[path = "path/bad_input.rs"]
mod bad_input;
#[path = "path/build.rs"]
mod build;
#[path = "path/elements.rs"]
mod elements;
#[path = "path/image.rs"]
mod image;
#[path = "path/jdk.rs"]
mod jdk;
