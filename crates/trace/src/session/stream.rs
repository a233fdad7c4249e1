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
        while let Some(event) = self.events.get(self.scanned) {
            if let Some(number) = event.number() {
                return Some(number);
            }
            self.scanned += 1;
        }
        None
    }

    /// Takes the events up to the next numbered one, or all that are in memory.
    pub(super) fn take(&mut self) -> &[RawEvent] {
        let from = self.taken;
        self.scanned = (self.scanned + 1).min(self.events.len());
        self.taken = self.scanned;
        &self.events[from..self.taken]
    }

    /// Reads on, until there is a numbered event or nothing more for now. Whether it found any event.
    pub(super) fn fill(&mut self, storage: &mut Storage, problems: &mut Problems) -> bool {
        let before = self.events.len() - self.taken;
        self.events.drain(..self.taken);
        self.scanned -= self.taken;
        self.taken = 0;
        loop {
            // Known before the last look into the chunk.
            let is_left = !self.chunks.is_empty() || self.has_ended;
            if let Some(chunk) = &mut self.current {
                let read = chunk.read(&mut self.events);
                let place = chunk.place;
                let is_full = is_left || chunk.is_full();
                if let Some(last) = self.events.last() {
                    self.has_ended = last.kind == Kind::ThreadEnd;
                }
                if let Err(damage) = read {
                    tell(&place, damage, problems);
                }
                if self.next_number().is_some() || !is_full {
                    break;
                }
                self.current = None;
                storage.give_back(&place);
            }
            let Some(place) = self.chunks.pop_front() else { break };
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
        self.events.len() > before
    }
}

fn tell(place: &ChunkPlace, damage: Damage, problems: &mut Problems) {
    problems.add(|| Problem {
        place: format!("{}, byte {}", arena_file(place.arena), damage.offset),
        expected: "an event",
        found: format!("{:#018x}", damage.found),
    });
}
