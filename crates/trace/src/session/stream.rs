//! The events of one thread, in its order, with at most one chunk of them in memory.

use std::collections::VecDeque;

use super::chunks::{Chunk, Damage, RawEvent};
use super::format::{Kind, arena_file};
use super::place::ChunkPlace;
use super::storage::Storage;
use crate::{Problem, Problems};

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
    events: Vec<RawEvent>,
    /// How many of `events` were taken, and in how many there is no numbered one that was not.
    taken: usize,
    scanned: usize,
}

impl Stream {
    pub(super) fn new(thread: u64) -> Self {
        Self {
            thread,
            chunks: VecDeque::new(),
            next_sequence: 0,
            current: None,
            has_ended: false,
            events: Vec::new(),
            taken: 0,
            scanned: 0,
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
        self.current.is_none() && self.chunks.is_empty() && self.taken == self.events.len()
    }

    /// The number of the next numbered event in memory.
    pub(super) fn next_number(&mut self) -> Option<u64> {
        self.next_numbered().and_then(|event| event.number())
    }

    /// The next numbered event in memory.
    pub(super) fn next_numbered(&mut self) -> Option<&RawEvent> {
        while self.events.get(self.scanned)?.number().is_none() {
            self.scanned += 1;
        }
        self.events.get(self.scanned)
    }

    /// What is in memory and was not taken.
    pub(super) fn not_taken(&self) -> &[RawEvent] {
        &self.events[self.taken..]
    }

    /// What is in memory behind the next numbered event.
    pub(super) fn following(&self) -> &[RawEvent] {
        self.events.get(self.scanned + 1..).unwrap_or_default()
    }

    /// Takes the events up to the next numbered one, or all that are in memory. What follows in memory is told
    /// as well.
    pub(super) fn take(&mut self) -> (&[RawEvent], &[RawEvent]) {
        let from = self.taken;
        self.scanned = (self.scanned + 1).min(self.events.len());
        self.taken = self.scanned;
        (&self.events[from..self.taken], &self.events[self.taken..])
    }

    /// Reads on, until there is a numbered event or nothing more for now. Whether it found any event.
    pub(super) fn fill(&mut self, storage: &mut Storage, problems: &mut Problems) -> bool {
        self.events.drain(..self.taken);
        self.scanned -= self.taken;
        self.taken = 0;
        let mut found = false;
        while self.next_number().is_none() && self.read_more(storage, problems) {
            found = true;
        }
        found
    }

    /// Reads what was written since the last time. Whether there was anything.
    pub(super) fn read_more(&mut self, storage: &mut Storage, problems: &mut Problems) -> bool {
        let before = self.events.len();
        loop {
            // Known before the last look into the chunk.
            let is_left = !self.chunks.is_empty() || self.has_ended;
            if let Some(chunk) = &mut self.current {
                let is_final = is_left || !storage.is_growing();
                if let Err(damage) = chunk.read(is_final, &mut self.events) {
                    tell(&chunk.place, damage, problems);
                }
                if self.events.len() > before {
                    self.has_ended =
                        self.events.last().is_some_and(|last| last.kind == Kind::ThreadEnd);
                    return true;
                }
                if !is_left && !chunk.is_full() {
                    return false;
                }
                storage.give_back(&chunk.place);
                self.current = None;
            }
            let Some(place) = self.chunks.pop_front() else { return false };
            self.has_ended = false;
            match storage.chunk(&place) {
                Ok(words) => match Chunk::new(place, words) {
                    Ok(chunk) => self.current = Some(chunk),
                    Err(damage) => tell(&place, damage, problems),
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

fn tell(place: &ChunkPlace, damage: Damage, problems: &mut Problems) {
    problems.add(|| Problem {
        place: format!("{}, byte {}", arena_file(place.arena), damage.offset),
        expected: "an event",
        found: format!("{:#018x}", damage.found),
    });
}
