//! The chunks of an arena and the events in them.

use super::format::{ARENA_MARK, CHUNK_HEADER, CHUNK_MARK, Kind};
use crate::{Problem, Problems};

/// An event as it stands in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawEvent {
    pub(super) kind: Kind,
    pub(super) site: u32,
    /// The words behind the first, as many as the kind has.
    pub(super) words: [u64; 2],
}

/// A chunk of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) thread: u64,
    pub(super) sequence: u64,
    pub(super) events: Vec<RawEvent>,
}

/// All chunks of an arena. Bytes behind the last chunk are zero; so are those behind the last event of
/// a chunk.
pub(super) fn read(arena: &[u8], name: &str, problems: &mut Problems) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let place = |offset: usize| format!("{name}, byte {offset}");
    if !arena.starts_with(ARENA_MARK) {
        // An arena of zeros was made and not used before the program was killed.
        if arena.iter().any(|&byte| byte != 0) {
            problems.add(|| Problem {
                place: place(0),
                expected: "the mark of an arena",
                found: "other bytes".into(),
            });
        }
        return chunks;
    }
    let mut offset = ARENA_MARK.len();
    while let Some(word) = word(arena, offset).filter(|&word| word != 0) {
        let size = (word >> 32) as usize;
        let end = offset.checked_add(size).filter(|&end| end <= arena.len());
        let (true, Some(end)) = (word as u32 == CHUNK_MARK && size >= CHUNK_HEADER, end) else {
            problems.add(|| Problem {
                place: place(offset),
                expected: "a chunk that lies in the arena",
                found: format!("{word:#018x}"),
            });
            break;
        };
        let chunk = &arena[offset..end];
        let field = |at| self::word(chunk, at).unwrap_or(0);
        let events = events(chunk, |at, found| {
            let offset = offset + at;
            problems.add(|| Problem { place: place(offset), expected: "an event", found });
        });
        chunks.push(Chunk { thread: field(8), sequence: field(16), events });
        offset = end;
    }
    chunks
}

fn events(chunk: &[u8], mut problem: impl FnMut(usize, String)) -> Vec<RawEvent> {
    let mut events = Vec::new();
    let mut offset = CHUNK_HEADER;
    while let Some(first) = word(chunk, offset).filter(|&word| word != 0) {
        let kind = Kind::from_number(first as u8);
        let last = kind.map(|kind| offset + 8 * kind.words());
        let (Some(kind), Some(_)) = (kind, last.and_then(|last| word(chunk, last))) else {
            problem(offset, format!("{first:#018x}"));
            break;
        };
        let mut words = [0; 2];
        for (index, slot) in words.iter_mut().enumerate().take(kind.words()) {
            *slot = word(chunk, offset + 8 * (index + 1)).unwrap_or(0);
        }
        events.push(RawEvent { kind, site: (first >> 8) as u32, words });
        offset += 8 * (kind.words() + 1);
    }
    events
}

fn word(bytes: &[u8], offset: usize) -> Option<u64> {
    let word = bytes.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_le_bytes(word.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event() -> impl Strategy<Value = RawEvent> {
        let kind = prop::sample::select(&Kind::ALL[..]);
        (kind, any::<u32>(), any::<[u64; 2]>()).prop_map(|(kind, site, mut words)| {
            words[kind.words()..].fill(0);
            RawEvent { kind, site, words }
        })
    }

    fn chunk() -> impl Strategy<Value = Chunk> {
        (any::<u64>(), any::<u64>(), prop::collection::vec(event(), 0..6))
            .prop_map(|(thread, sequence, events)| Chunk { thread, sequence, events })
    }

    /// What the agent and the runtime write; `room` words stay free in every chunk.
    fn write(chunks: &[Chunk], room: usize) -> Vec<u8> {
        let mut arena = ARENA_MARK.to_vec();
        for chunk in chunks {
            let mut body = Vec::new();
            for event in &chunk.events {
                let first = u64::from(event.site) << 8 | u64::from(event.kind.number());
                body.extend(first.to_le_bytes());
                for word in &event.words[..event.kind.words()] {
                    body.extend(word.to_le_bytes());
                }
            }
            body.resize(body.len() + 8 * room, 0);
            let size = (CHUNK_HEADER + body.len()) as u64;
            arena.extend((size << 32 | u64::from(CHUNK_MARK)).to_le_bytes());
            arena.extend(chunk.thread.to_le_bytes());
            arena.extend(chunk.sequence.to_le_bytes());
            arena.extend(body);
        }
        arena.resize(arena.len() + 64, 0);
        arena
    }

    proptest! {
        #[test]
        fn chunks_come_back(chunks in prop::collection::vec(chunk(), 0..4), room in 0..5_usize) {
            let mut problems = Problems::default();
            let arena = write(&chunks, room);
            prop_assert_eq!(read(&arena, "arena", &mut problems), chunks);
            prop_assert_eq!(problems.count(), 0);
        }

        #[test]
        fn a_cut_arena_keeps_what_is_whole(
            chunks in prop::collection::vec(chunk(), 1..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let arena = write(&chunks, 1);
            let cut = cut.index(arena.len());
            let found = read(&arena[..cut], "arena", &mut Problems::default());
            prop_assert!(found.len() <= chunks.len());
            prop_assert_eq!(&found[..], &chunks[..found.len()]);
        }

        #[test]
        fn nothing_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..200), marked in any::<bool>()) {
            if marked {
                bytes.splice(0..0, *ARENA_MARK);
            }
            let _ = read(&bytes, "arena", &mut Problems::default());
        }
    }
}
