//! Bytes for the reader of sessions: the three tables and an arena, with 0xFF between them.

#![no_main]

use unsnarl_trace::Source;
use unsnarl_trace::session::format::ARENA_MARK;
use unsnarl_trace::session::{Files, Session};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(4, |&byte| byte == 0xFF).map(<[u8]>::to_vec);
    let mut next = || parts.next().unwrap_or_default();
    let (sites, classes, names, events) = (next(), next(), next(), next());
    let arena = [&ARENA_MARK[..], &events].concat();
    let arenas = vec![("arena-0000".to_owned(), arena)];
    let mut session = Session::new(&Files { arenas, sites, classes, names, log: Vec::new() });
    let mut batch = Vec::new();
    while session.next_batch(&mut batch).is_ok() && !batch.is_empty() {}
});
