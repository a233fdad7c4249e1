//! Memory that a running JVM and its reader share. The only module of this crate with `unsafe`.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};

/// Words of a file that somebody else may be writing.
#[derive(Debug)]
pub struct SharedWords(MmapRaw);

impl SharedWords {
    /// Maps a file for reading. Whoever makes the file shorter while it is mapped kills this process: it is
    /// for files that an agent writes for us, in a folder of our own.
    pub fn read(file: &File) -> io::Result<Self> {
        Ok(Self(MmapOptions::new().map_raw_read_only(file)?))
    }

    fn write(file: &File) -> io::Result<Self> {
        Ok(Self(MmapRaw::map_raw(file)?))
    }

    /// How many whole words there are.
    pub fn len(&self) -> usize {
        self.0.len() / 8
    }

    /// The word at an index. All that its writer wrote before it is seen by what is read after it.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u64> {
        let word = self.word(index)?;
        Some(u64::from_le(word.load(Ordering::Acquire)))
    }

    /// Appends words that were written before one that [`get`](Self::get) has told; what lies outside is left out.
    pub fn copy(&self, range: Range<usize>, to: &mut Vec<u64>) {
        let words = self.words().get(range).unwrap_or_default();
        to.extend(words.iter().map(|word| u64::from_le(word.load(Ordering::Relaxed))));
    }

    #[inline]
    fn word(&self, index: usize) -> Option<&AtomicU64> {
        self.words().get(index)
    }

    #[inline]
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the words lie in the mapping, which lives as long as `self` and begins at a page. All
        // who have the file mapped change whole words only.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.len()) }
    }
}

/// Words as the bytes that they consist of, to be read from a file.
pub(crate) fn bytes_of(words: &mut [u64]) -> &mut [u8] {
    let size = size_of_val(words);
    // SAFETY: all the bytes belong to the words, which are borrowed as long as they are, and any bytes are words.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size) }
}

/// Chunks that were read, on their way back to the agent: a ring with one writer, the reader of the session,
/// and one reader, the agent.
#[derive(Debug)]
pub struct ReturnedChunks(SharedWords);

impl ReturnedChunks {
    const ROOM: usize = 1 << 14;
    const TAKEN: usize = 0;
    const GIVEN: usize = 1;
    const FIRST: usize = 2;

    /// Makes the file, empty.
    ///
    /// # Errors
    /// When it is there already or cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(path)?;
        file.set_len(8 * (Self::FIRST + Self::ROOM) as u64)?;
        Ok(Self(SharedWords::write(&file)?))
    }

    /// Opens the file that an agent made.
    ///
    /// # Errors
    /// When it cannot be opened, or has not the size that it should have.
    pub fn open(path: &Path) -> io::Result<Self> {
        let words = SharedWords::write(&OpenOptions::new().read(true).write(true).open(path)?)?;
        if words.len() != Self::FIRST + Self::ROOM {
            return Err(io::Error::other(format!("{} words of returned chunks", words.len())));
        }
        Ok(Self(words))
    }

    /// Gives a chunk back; false if there is no room for it now.
    #[must_use]
    pub fn give(&self, arena: u32, offset: u32) -> bool {
        let (Some(taken), Some(given)) = (self.0.get(Self::TAKEN), self.0.word(Self::GIVEN)) else {
            return false;
        };
        let count = given.load(Ordering::Relaxed);
        if count.wrapping_sub(taken) >= Self::ROOM as u64 {
            return false;
        }
        if let Some(slot) = self.0.word(Self::slot(count)) {
            slot.store(u64::from(arena) << 32 | u64::from(offset), Ordering::Relaxed);
        }
        given.store(count.wrapping_add(1), Ordering::Release);
        true
    }

    /// The next chunk that was given back: its arena and its place there.
    #[must_use]
    pub fn take(&self) -> Option<(u32, u32)> {
        let taken = self.0.word(Self::TAKEN)?;
        let count = taken.load(Ordering::Relaxed);
        if count == self.0.get(Self::GIVEN)? {
            return None;
        }
        let chunk = self.0.get(Self::slot(count))?;
        taken.store(count.wrapping_add(1), Ordering::Release);
        Some(((chunk >> 32) as u32, chunk as u32))
    }

    fn slot(count: u64) -> usize {
        Self::FIRST + (count % Self::ROOM as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_come_back_in_order_and_a_full_ring_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("returned");
        let agent = ReturnedChunks::create(&path).unwrap();
        let reader = ReturnedChunks::open(&path).unwrap();
        assert_eq!(agent.take(), None);
        for round in 0..3 {
            let mut given = 0;
            while reader.give(round, given) {
                given += 1;
            }
            assert_eq!(given as usize, ReturnedChunks::ROOM);
            for offset in 0..given {
                assert_eq!(agent.take(), Some((round, offset)));
            }
            assert_eq!(agent.take(), None);
        }
    }

    #[test]
    fn another_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("returned");
        std::fs::write(&path, [0; 64]).unwrap();
        assert!(ReturnedChunks::open(&path).is_err());
    }
}
