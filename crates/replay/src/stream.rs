//! The events of one thread, in its order, with at most one chunk of them in memory.

use std::collections::VecDeque;

use unsnarl_events::{Problem, Problems};
use unsnarl_recording::chunk_place::ChunkPlace;
use unsnarl_recording::chunks::{Chunk, Damage, Numbered, RawEvent, RawEvents, Words};
use unsnarl_recording::format::{Kind, arena_file};
use unsnarl_recording::storage::Storage;

/// What one thread writes.
#[derive(Debug)]
pub(super) struct Stream {
    /// The thread's number.
    pub(super) thread: u64,
    /// Chunks that were not begun.
    chunks: VecDeque<ChunkPlace>,
    next_sequence: u64,
    current: Option<Chunk>,
    /// Whether the last event that was read is the end of the thread.
    has_ended: bool,
    /// Whole events.
    read: Words,
    /// How many words were taken, and how many events with a number.
    taken: usize,
    taken_numbered: usize,
}

impl Stream {
    pub(super) fn new(thread: u64) -> Self {
        Self {
            thread,
            chunks: VecDeque::new(),
            next_sequence: 0,
            current: None,
            has_ended: false,
            read: Words::default(),
            taken: 0,
            taken_numbered: 0,
        }
    }

    /// A further chunk of the thread. With it, the one before is full.
    pub(super) fn add(&mut self, place: ChunkPlace, problems: &mut Problems) {
        if place.sequence != self.next_sequence {
            problems.add(|| Problem {
                place: format!("thread {}, chunk {}", self.thread, self.next_sequence),
                expected: "a chunk",
                found: format!("chunk {}", place.sequence),
            });
        }
        self.next_sequence = place.sequence + 1;
        self.chunks.push_back(place);
    }

    /// Whether nothing more will come, unless the thread gets a further chunk.
    pub(super) fn is_done(&self) -> bool {
        self.current.is_none() && self.chunks.is_empty() && self.taken == self.read.words.len()
    }

    /// The next event in memory that has a number.
    #[inline]
    pub(super) fn next_numbered(&self) -> Option<Numbered> {
        self.read.numbered.get(self.taken_numbered).copied()
    }

    /// The same event, with what is in memory after it.
    pub(super) fn next_and_after(&self) -> Option<(RawEvent, RawEvents<'_>)> {
        let mut events = RawEvents(self.read.words.get(self.next_numbered()?.at..)?);
        let event = events.next()?;
        Some((event, events))
    }

    /// What is in memory and was not taken.
    pub(super) fn not_taken(&self) -> RawEvents<'_> {
        RawEvents(&self.read.words[self.taken..])
    }

    /// Takes the events up to the next numbered one, or all that are in memory. Returns what follows in memory
    /// as well.
    pub(super) fn take(&mut self) -> (RawEvents<'_>, RawEvents<'_>) {
        let words = &self.read.words;
        let end = match self.read.numbered.get(self.taken_numbered) {
            Some(next) => {
                self.taken_numbered += 1;
                (next.at + 1 + next.kind.words()).min(words.len())
            }
            None => words.len(),
        };
        let taken = &words[self.taken..end];
        self.taken = end;
        (RawEvents(taken), RawEvents(&words[end..]))
    }

    /// Reads on, until there is a numbered event or nothing more for now. Whether it found any event.
    pub(super) fn fill(&mut self, storage: &mut Storage, problems: &mut Problems) -> bool {
        let Words { words, numbered, .. } = &mut self.read;
        words.drain(..self.taken);
        numbered.drain(..self.taken_numbered);
        numbered.iter_mut().for_each(|it| it.at -= self.taken);
        (self.taken, self.taken_numbered) = (0, 0);
        let mut found = false;
        while self.next_numbered().is_none() && self.read_more(storage, problems) {
            found = true;
        }
        if self.is_done() {
            (self.read, self.chunks) = (Words::default(), VecDeque::new());
        }
        found
    }

    /// Reads what was written since the last time. Whether there was anything.
    pub(super) fn read_more(&mut self, storage: &mut Storage, problems: &mut Problems) -> bool {
        let before = self.read.words.len();
        loop {
            // Known before the last look into the chunk.
            let is_left = !self.chunks.is_empty() || self.has_ended;
            if let Some(chunk) = &mut self.current {
                let is_final = is_left || !storage.is_growing();
                if let Err(damage) = chunk.read(is_final, &mut self.read) {
                    report(&chunk.place, damage, problems);
                }
                if self.read.words.len() > before {
                    self.has_ended = self.read.last == Some(Kind::ThreadEnd);
                    return true;
                }
                if !is_left && !chunk.is_full() {
                    return false;
                }
            }
            if let Some(chunk) = self.current.take() {
                storage.give_back(&chunk.place);
            }
            let Some(place) = self.chunks.pop_front() else { return false };
            self.has_ended = false;
            let end = self.read.words.len();
            match storage.chunk(&place, &mut self.read.words) {
                Ok(words) => match Chunk::new(place, words) {
                    Ok(chunk) => self.current = Some(chunk),
                    Err(damage) => {
                        self.read.words.truncate(end);
                        report(&place, damage, problems);
                    }
                },
                Err(error) => problems.add(|| Problem {
                    place: format!("{}, byte {}", arena_file(place.arena), place.offset),
                    expected: "a chunk",
                    found: error.to_string(),
                }),
            }
        }
    }
}

fn report(place: &ChunkPlace, damage: Damage, problems: &mut Problems) {
    problems.add(|| Problem {
        place: format!("{}, byte {}", arena_file(place.arena), damage.offset),
        expected: "an event",
        found: format!("{:#018x}", damage.found),
    });
}
