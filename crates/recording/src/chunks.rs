//! The events in a chunk.

use crate::chunk_place::ChunkPlace;
use crate::format::{CHUNK_HEADER, CHUNK_MARK, END_OF_CHUNK, Kind};
use crate::storage::ChunkWords;

/// An event as it stands in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEvent {
    /// What was done.
    pub kind: Kind,
    /// The number of its place in the code.
    pub site: u32,
    /// The words after the first, as many as the kind has.
    pub words: [u64; 2],
}

/// Events that follow each other in words. A word that is no event ends them.
#[derive(Clone, Copy, Debug)]
pub struct RawEvents<'w>(pub &'w [u64]);

impl RawEvents<'_> {
    /// Whether there is nothing more to read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Iterator for RawEvents<'_> {
    type Item = RawEvent;

    #[inline]
    fn next(&mut self) -> Option<RawEvent> {
        let (&first, following) = self.0.split_first()?;
        let kind = Kind::from_number(first as u8)?;
        let (own, rest) = following.split_at_checked(kind.words())?;
        let mut words = [0; 2];
        words[..own.len()].copy_from_slice(own);
        self.0 = rest;
        Some(RawEvent { kind, site: (first >> 8) as u32, words })
    }
}

/// Words of events that were read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The words themselves.
    pub words: Vec<u64>,
    /// The events with a number.
    pub numbered: Vec<Numbered>,
    /// The kind of the last event.
    pub last: Option<Kind>,
}

/// An event with a number: what is asked of it until it is its turn, so that its words need not be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// Its number in the order of the run.
    pub number: u64,
    /// Where it begins.
    pub at: usize,
    /// What was done.
    pub kind: Kind,
}

/// A chunk that is being read.
#[derive(Debug)]
pub struct Chunk {
    /// Where it lies, and whose it is.
    pub place: ChunkPlace,
    /// Its words.
    pub words: ChunkWords,
    /// The first word that was not read.
    next: usize,
}

/// A word that is no event. The rest of its chunk cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where in the arena.
    pub offset: usize,
    /// The word.
    pub found: u64,
}

impl Chunk {
    /// Begins to read a chunk.
    ///
    /// # Errors
    /// When its header is not the one that the table of chunks says.
    pub fn new(place: ChunkPlace, words: ChunkWords) -> Result<Self, Damage> {
        let header =
            [u64::from(place.size) << 32 | u64::from(CHUNK_MARK), place.thread, place.sequence];
        for (index, (expected, found)) in header.into_iter().zip(words.header()).enumerate() {
            if found != expected {
                return Err(Damage { offset: place.offset as usize + 8 * index, found });
            }
        }
        Ok(Self { place, words, next: CHUNK_HEADER / 8 })
    }

    /// Whether its thread will not write into it any more, as it says itself.
    pub fn is_full(&self) -> bool {
        self.next >= self.place.size as usize / 8
    }

    /// Appends the events that were written since the last time. The word after the last one is zero or
    /// says that the thread has left the chunk, or there is none.
    ///
    /// A range of elements grows until its thread's next number: what has no number after it is read only when
    /// it `is_final`, because nobody writes any more. So the words of events are taken when the number is seen, and not
    /// before.
    pub fn read(&mut self, is_final: bool, to: &mut Words) -> Result<(), Damage> {
        if self.is_full() {
            return Ok(());
        }
        let end = self.place.size as usize / 8;
        let Words { words, numbered, last } = to;
        let mut found = match &self.words {
            ChunkWords::Whole { from, .. } => {
                let body = words.get(*from..).unwrap_or_default();
                scan(body.len(), *from, |index| body[index], numbered)
            }
            ChunkWords::Shared(arena, start) => {
                let (from, base) = (start + self.next, words.len());
                let word = |index| arena.get(from + index).unwrap_or(0);
                scan(end - self.next, base, word, numbered)
            }
        };
        let mut damage = None;
        let mut next = self.next + found.end;
        let mut is_final = is_final;
        if found.following == END_OF_CHUNK {
            (next, is_final) = (end, true);
        } else if found.following != 0 {
            let offset = self.place.offset as usize + 8 * next;
            damage = Some(Damage { offset, found: found.following });
            (next, is_final) = (end, true);
        }
        match &self.words {
            ChunkWords::Whole { from, .. } => {
                words.truncate(from + found.end);
                next = end;
            }
            ChunkWords::Shared(arena, start) => {
                if !is_final {
                    (found.end, found.last) = found.numbered;
                    next = self.next + found.end;
                }
                let from = start + self.next;
                arena.copy(from..from + found.end, words);
            }
        }
        *last = found.last.or(*last);
        self.next = next;
        damage.map_or(Ok(()), Err)
    }
}

/// The events of a chunk from a word on.
struct Scanned {
    /// After the last word of the last event, and its kind.
    end: usize,
    last: Option<Kind>,
    /// The same of the last event that has a number.
    numbered: (usize, Option<Kind>),
    /// The word after the last event, 0 if there is none.
    following: u64,
}

/// Goes from event to event in so many words, and appends those with a number; the first word has the place `base`. It ends
/// before the first word that is none.
#[inline(always)]
fn scan(
    count: usize,
    base: usize,
    word: impl Fn(usize) -> u64,
    numbered: &mut Vec<Numbered>,
) -> Scanned {
    const FIELD_READ: u8 = Kind::FieldRead as u8;
    const FIELD_WRITE: u8 = Kind::FieldWrite as u8;
    const OF_FIELD: usize = 2;
    let mut next = 0;
    let mut last = 0;
    let mut numbered_at = (0, None);
    let mut following = 0;
    while next < count {
        let whole = word(next);
        let first = whole as u8;
        // Accesses to fields mostly come in rows: guessed right, the next one need not wait for this.
        if matches!(first, FIELD_READ | FIELD_WRITE) && next + OF_FIELD <= count {
            last = first;
            next += OF_FIELD;
            continue;
        }
        let words = Kind::words_of(first);
        if words == 0 || next + words > count {
            following = whole;
            break;
        }
        if Kind::number_is_numbered(first)
            && let Some(kind) = Kind::from_number(first)
        {
            numbered.push(Numbered { number: word(next + 1), at: base + next, kind });
            numbered_at = (next + words, Some(kind));
        }
        last = first;
        next += words;
    }
    Scanned { end: next, last: Kind::from_number(last), numbered: numbered_at, following }
}

/// What the agent and the runtime write, for whoever makes a recording without a JVM.
pub mod write {
    use super::{CHUNK_HEADER, CHUNK_MARK, ChunkPlace, RawEvent};
    use crate::format::ARENA_MARK;

    /// The bytes of an event.
    #[must_use]
    pub fn event(event: &RawEvent) -> Vec<u8> {
        let first = u64::from(event.site) << 8 | u64::from(event.kind.number());
        let words = event.words[..event.kind.words()].iter();
        std::iter::once(&first).chain(words).flat_map(|word| word.to_le_bytes()).collect()
    }

    /// An arena and its table of chunks; `room` words stay free in every chunk.
    #[must_use]
    pub fn arena(chunks: &[(u64, u64, Vec<RawEvent>)], room: usize) -> (Vec<u8>, Vec<u8>) {
        let (mut arena, mut table) = (ARENA_MARK.to_vec(), Vec::new());
        for (thread, sequence, events) in chunks {
            let mut body: Vec<u8> = events.iter().flat_map(event).collect();
            body.resize(body.len() + 8 * room, 0);
            let place = ChunkPlace {
                arena: 0,
                offset: arena.len() as u32,
                size: (CHUNK_HEADER + body.len()) as u32,
                thread: *thread,
                sequence: *sequence,
            };
            table.extend(place.to_bytes());
            arena.extend((u64::from(place.size) << 32 | u64::from(CHUNK_MARK)).to_le_bytes());
            arena.extend(thread.to_le_bytes());
            arena.extend(sequence.to_le_bytes());
            arena.extend(body);
        }
        (arena, table)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::shared::SharedWords;

    fn event() -> impl Strategy<Value = RawEvent> {
        let kind = prop::sample::select(&Kind::ALL[..]);
        (kind, any::<u32>(), any::<[u64; 2]>()).prop_map(|(kind, site, mut words)| {
            words[kind.words()..].fill(0);
            RawEvent { kind, site, words }
        })
    }

    fn place(bytes: &[u8]) -> ChunkPlace {
        ChunkPlace { arena: 0, offset: 0, size: bytes.len() as u32, thread: 7, sequence: 3 }
    }

    /// A chunk that nobody writes into any more, whose words are put after others.
    fn chunk(bytes: &[u8], to: &mut Words) -> Result<Chunk, Damage> {
        let words = bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word));
        let header = words.clone().collect::<Vec<_>>().first_chunk().copied().unwrap_or_default();
        let from = to.words.len();
        to.words.extend(words.skip(CHUNK_HEADER / 8));
        Chunk::new(place(bytes), ChunkWords::Whole { header, from })
    }

    /// The same chunk in memory that is shared.
    fn shared_chunk(bytes: &[u8]) -> Chunk {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let arena = Arc::new(SharedWords::read(&file).unwrap());
        Chunk::new(place(bytes), ChunkWords::Shared(arena, 0)).unwrap()
    }

    proptest! {
        #[test]
        fn events_come_back(events in prop::collection::vec(event(), 0..6), room in 0..5_usize) {
            let (arena, _) = write::arena(&[(7, 3, events.clone())], room);
            let mut found = Words::default();
            chunk(&arena[8..], &mut found).unwrap().read(true, &mut found).unwrap();
            let mut shared = Words::default();
            shared_chunk(&arena[8..]).read(true, &mut shared).unwrap();
            prop_assert_eq!(&found, &shared);
            prop_assert_eq!(found.last, events.last().map(|event| event.kind));
            let with_numbers = events.iter().filter(|event| event.kind.is_numbered());
            prop_assert!(found.numbered.iter().map(|it| RawEvents(&found.words[it.at..]).next())
                .eq(with_numbers.clone().map(|&event| Some(event))));
            prop_assert!(found.numbered.iter().map(|it| (it.kind, it.number))
                .eq(with_numbers.map(|event| (event.kind, event.words[0]))));
            prop_assert_eq!(RawEvents(&found.words).collect::<Vec<_>>(), events);
        }

        #[test]
        fn nothing_panics(words in prop::collection::vec(any::<u64>(), 0..20)) {
            let mut bytes = write::arena(&[(7, 3, Vec::new())], words.len()).0.split_off(8);
            bytes.truncate(CHUNK_HEADER);
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            let (mut found, mut shared) = (Words::default(), Words::default());
            let outcome = chunk(&bytes, &mut found).unwrap().read(true, &mut found);
            prop_assert_eq!(outcome, shared_chunk(&bytes).read(true, &mut shared));
            prop_assert_eq!(found, shared);
        }
    }

    #[test]
    fn what_may_still_grow_is_left_for_later() {
        let plain = RawEvent { kind: Kind::ArrayRead, site: 1, words: [2, 3] };
        let numbered = RawEvent { kind: Kind::MonitorEnter, site: 1, words: [1, 2] };
        let (arena, _) = write::arena(&[(7, 3, vec![plain, numbered, plain])], 1);
        let mut chunk = shared_chunk(&arena[8..]);
        let mut found = Words::default();
        let events = |found: &Words| RawEvents(&found.words).collect::<Vec<_>>();
        chunk.read(false, &mut found).unwrap();
        assert_eq!(events(&found), [plain, numbered]);
        assert_eq!(found.last, Some(Kind::MonitorEnter));
        chunk.read(false, &mut found).unwrap();
        assert_eq!(events(&found).len(), 2);
        chunk.read(true, &mut found).unwrap();
        assert_eq!(events(&found), [plain, numbered, plain]);
        let numbered = Numbered { number: 1, at: 3, kind: Kind::MonitorEnter };
        assert_eq!((found.numbered, found.last), (vec![numbered], Some(Kind::ArrayRead)));
    }

    #[test]
    fn a_header_that_does_not_fit_is_damage() {
        let (arena, _) = write::arena(&[(8, 3, Vec::new())], 1);
        let outcome = chunk(&arena[8..], &mut Words::default());
        assert_eq!(outcome.unwrap_err(), Damage { offset: 8, found: 8 });
    }
}
