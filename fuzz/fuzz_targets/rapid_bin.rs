//! Bytes for the reader of binary traces.

#![no_main]

use std::path::Path;

use unsnarl_events::Source;
use unsnarl_events::rapid_bin::RapidBinReader;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut reader = RapidBinReader::new(bytes, Path::new("fuzz.bin"));
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch).is_ok() && !batch.is_empty() {}
});
