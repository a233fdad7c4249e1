//! Bytes for the reader of traces as text, and what the detectors make of them.

#![no_main]

use std::path::Path;

use unsnarl_detect_dynamic::DETECTORS;
use unsnarl_trace_analysis::Options;
use unsnarl_events::Source;
use unsnarl_events::std_text::StdReader;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut reader = StdReader::new(bytes, Path::new("fuzz.std"));
    let mut detectors: Vec<_> = DETECTORS.iter().map(|entry| (entry.make)(&Options::default())).collect();
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch).is_ok() && !batch.is_empty() {
        for detector in &mut detectors {
            detector.on_batch(&batch, reader.tables(), &mut Vec::new());
        }
    }
    for detector in detectors {
        detector.finish(reader.tables());
    }
});
