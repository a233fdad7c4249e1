//! The table of chunks: a record of 32 bytes for every chunk that a thread got.

use crate::format::CHUNK_HEADER;

/// The size of a record.
pub const RECORD: usize = 32;

/// Where a chunk lies and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkPlace {
    /// The number of the arena.
    pub arena: u32,
    /// Where in the arena its header begins.
    pub offset: u32,
    /// Its size, header included.
    pub size: u32,
    /// The number of the thread that writes into it.
    pub thread: u64,
    /// Its place in the sequence of the thread's chunks, from 0.
    pub sequence: u64,
}

impl ChunkPlace {
    /// Its record, which ends with a checksum.
    #[must_use]
    pub fn to_bytes(self) -> [u8; RECORD] {
        let mut record = [0; RECORD];
        record[..4].copy_from_slice(&self.arena.to_le_bytes());
        record[4..8].copy_from_slice(&self.offset.to_le_bytes());
        record[8..12].copy_from_slice(&self.size.to_le_bytes());
        record[12..20].copy_from_slice(&self.thread.to_le_bytes());
        record[20..28].copy_from_slice(&self.sequence.to_le_bytes());
        let sum = crc32fast::hash(&record[..28]);
        record[28..].copy_from_slice(&sum.to_le_bytes());
        record
    }

    /// The place of a record; none if it is damaged.
    #[must_use]
    pub fn from_bytes(record: &[u8; RECORD]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| record[at + i]));
        let long = |at: usize| u64::from(word(at + 4)) << 32 | u64::from(word(at));
        let place = Self {
            arena: word(0),
            offset: word(4),
            size: word(8),
            thread: long(12),
            sequence: long(20),
        };
        let fits = place.size as usize >= CHUNK_HEADER
            && place.size.is_multiple_of(8)
            && place.offset.is_multiple_of(8);
        (word(28) == crc32fast::hash(&record[..28]) && fits).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_and_damage_is_seen() {
        let place =
            ChunkPlace { arena: 1, offset: 4096, size: 512, thread: u64::MAX, sequence: 1 << 40 };
        let record = place.to_bytes();
        assert_eq!(ChunkPlace::from_bytes(&record), Some(place));
        for bit in 0..8 * RECORD {
            let mut damaged = record;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(ChunkPlace::from_bytes(&damaged), None, "bit {bit}");
        }
    }
}
