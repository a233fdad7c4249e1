//! Bytes for the rewriting: an error, or a class that can be read.

#![no_main]

use unsnarl_classfile::read::ClassFile;
use unsnarl_instrument::{Plan, SiteNumbers, reflection, rewrite, thread};
use unsnarl_recording::{FieldName, Volatility};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let volatility = |field: &FieldName| match field.name.len() % 4 {
        0 => Volatility::Plain,
        1 => Volatility::Volatile,
        2 => Volatility::Final,
        _ => Volatility::Unknown,
    };
    let rewritten = rewrite(bytes, &Plan::default(), &SiteNumbers::default(), &volatility, true);
    if let Ok(Some(rewritten)) = rewritten {
        ClassFile::read(&rewritten.bytes).expect("what was written can be read");
    }
    for hooked in [thread::hook(bytes), reflection::hook(bytes)].into_iter().flatten() {
        ClassFile::read(&hooked).expect("what was written can be read");
    }
});
