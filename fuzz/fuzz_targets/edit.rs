//! Bytes for the editor.

#![no_main]
#![allow(dead_code, reason = "every target takes what it needs")]

#[path = "../../crates/classfile/tests/support/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::edit(bytes));
