//! Bytes for the reader of sessions: the three tables and the words of a chunk, with 0xFF between them.

#![no_main]

use unsnarl_events::Source;
use unsnarl_recording::format::{ARENA_MARK, CHUNK_HEADER, CHUNK_MARK};
use unsnarl_recording::{ChunkPlace, Files};
use unsnarl_replay::Session;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(4, |&byte| byte == 0xFF).map(<[u8]>::to_vec);
    let mut next = || parts.next().unwrap_or_default();
    let (sites, classes, names, mut events) = (next(), next(), next(), next());
    events.truncate(events.len() / 8 * 8);
    let size = (CHUNK_HEADER + events.len()) as u32;
    let place = ChunkPlace { arena: 0, offset: 8, size, thread: 1, sequence: 0 };
    let header = [u64::from(size) << 32 | u64::from(CHUNK_MARK), 1, 0];
    let header = header.map(u64::to_le_bytes).concat();
    let arenas = vec![[&ARENA_MARK[..], &header, &events].concat()];
    let chunks = place.to_bytes().to_vec();
    let log = Vec::new();
    let mut session = Session::new(Files { arenas, chunks, sites, classes, names, log });
    let mut batch = Vec::new();
    while session.next_batch(&mut batch).is_ok() && !batch.is_empty() {}
});
