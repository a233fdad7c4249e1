//! Memory for events: chunks in files that are mapped into the JVM. What a thread wrote is in the file,
//! also when the JVM is killed in the next instant.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::MmapRaw;
use unsnarl_recording::format::{
    ARENA_MARK, CHUNK_HEADER, CHUNK_MARK, CHUNKS_FILE, RETURNED_FILE, arena_file,
};
use unsnarl_recording::{ChunkPlace, ReturnedChunks};

const SMALLEST: usize = 1 << 20;
const LARGEST: usize = 64 << 20;
/// The largest chunk that a thread gets when memory is scarce.
const MODEST: usize = 4096;

/// The arenas of a session.
#[derive(Debug)]
pub(crate) struct Arenas {
    folder: PathBuf,
    /// All mappings stay: threads write into them until the JVM ends. The last is the one in use.
    maps: Vec<MmapRaw>,
    /// How much of the last mapping is used.
    used: usize,
    next_size: usize,
    /// The table of chunks.
    table: File,
    recycling: Option<Recycling>,
}

/// Chunks that a reader gave back are given out again.
#[derive(Debug)]
struct Recycling {
    returned: ReturnedChunks,
    /// Free chunks by their size.
    free: BTreeMap<usize, Vec<(u32, u32)>>,
    /// How many bytes may be mapped before threads have to wait for chunks to come back.
    limit: usize,
    mapped: usize,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chunk {
    /// The address of its first event.
    Given(u64),
    /// All memory is in use; the reader may give some back.
    NoneFree,
}

impl Arenas {
    /// With a limit, chunks that were read are used again, and threads wait beyond it.
    pub(crate) fn new(folder: &Path, limit: Option<usize>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let table =
            options.append(true).create_new(true).mode(0o600).open(folder.join(CHUNKS_FILE))?;
        let recycling = match limit {
            None => None,
            Some(limit) => Some(Recycling {
                returned: ReturnedChunks::create(&folder.join(RETURNED_FILE))?,
                free: BTreeMap::new(),
                limit,
                mapped: 0,
            }),
        };
        let folder = folder.to_owned();
        Ok(Self { folder, maps: Vec::new(), used: 0, next_size: SMALLEST, table, recycling })
    }

    /// A new chunk of about `size` bytes, header included; its header tells how many it has. With `force`, it
    /// is given beyond the limit.
    pub(crate) fn chunk(
        &mut self,
        thread: u64,
        sequence: u64,
        size: usize,
        force: bool,
    ) -> io::Result<Chunk> {
        if size <= CHUNK_HEADER || !size.is_multiple_of(8) || size > SMALLEST / 2 {
            return Err(io::Error::other(format!("a chunk of {size} bytes")));
        }
        let (arena, offset, size) = match self.returned(size) {
            Some(chunk) => chunk,
            None => match self.fresh(size, force)? {
                Some(chunk) => chunk,
                None => return Ok(Chunk::NoneFree),
            },
        };
        let start = self.address(arena, offset);
        // SAFETY: the chunk lies in the mapping, which is never unmapped, and belongs to this call alone.
        // Its start is a multiple of 8: mappings begin at a page, and all sizes are such multiples.
        unsafe {
            start.add(1).write(thread.to_le());
            start.add(2).write(sequence.to_le());
            let mark = (size as u64) << 32 | u64::from(CHUNK_MARK);
            AtomicU64::from_ptr(start).store(mark.to_le(), Ordering::Release);
        }
        // The reader looks into the chunk when the table has it.
        let place = ChunkPlace { arena, offset, size: size as u32, thread, sequence };
        self.table.write_all(&place.to_bytes())?;
        Ok(Chunk::Given(start as u64 + CHUNK_HEADER as u64))
    }

    fn address(&self, arena: u32, offset: u32) -> *mut u64 {
        self.maps[arena as usize].as_mut_ptr().wrapping_add(offset as usize).cast()
    }

    /// A chunk that the reader gave back, of the wished size, else a larger one, else a smaller one.
    fn returned(&mut self, size: usize) -> Option<(u32, u32, usize)> {
        let Self { recycling: Some(Recycling { returned, free, .. }), maps, .. } = self else {
            return None;
        };
        while let Some((arena, offset)) = returned.take() {
            let Some(map) = maps.get(arena as usize) else { continue };
            if offset as usize + CHUNK_HEADER > map.len() {
                continue;
            }
            let start = map.as_mut_ptr().wrapping_add(offset as usize).cast::<u64>();
            // SAFETY: a header lies there, in the mapping.
            let size = (u64::from_le(unsafe { start.read() }) >> 32) as usize;
            free.entry(size).or_default().push((arena, offset));
        }
        let at_least = free.range(size..).next().map(|(&size, _)| size);
        let size = at_least.or_else(|| free.keys().next_back().copied())?;
        let chunks = free.get_mut(&size)?;
        let (arena, offset) = chunks.pop()?;
        if chunks.is_empty() {
            free.remove(&size);
        }
        let start = self.address(arena, offset).cast::<u8>();
        // SAFETY: the chunk was given out with this size and nobody writes into it any more.
        unsafe { start.write_bytes(0, size) };
        Some((arena, offset, size))
    }

    fn fresh(&mut self, size: usize, force: bool) -> io::Result<Option<(u32, u32, usize)>> {
        let mut size = size;
        let room = self.maps.last().map_or(0, |map| map.len() - self.used);
        if let Some(recycling) = &self.recycling {
            if recycling.mapped > recycling.limit / 2 {
                size = size.min(MODEST);
            }
            if room < size && recycling.mapped + self.next_size > recycling.limit && !force {
                return Ok(None);
            }
        }
        if room < size {
            self.map(force)?;
        }
        let offset = self.used;
        self.used += size;
        Ok(Some((self.maps.len() as u32 - 1, offset as u32, size)))
    }

    /// Makes the next file. Its blocks are reserved first: a full disk is an error here, and not a
    /// signal that kills the JVM when a thread writes an event.
    fn map(&mut self, small: bool) -> io::Result<()> {
        let size = if small { SMALLEST } else { self.next_size };
        let path = self.folder.join(arena_file(self.maps.len() as u32));
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        reserve(&file, size).inspect_err(|_| {
            // The next thread may have more luck. If the file stays, its attempt tells so.
            let _ = std::fs::remove_file(&path);
        })?;
        let map = MmapRaw::map_raw(&file)?;
        // SAFETY: the mapping has a megabyte at least, and nobody else knows it yet.
        unsafe { map.as_mut_ptr().copy_from_nonoverlapping(ARENA_MARK.as_ptr(), ARENA_MARK.len()) };
        self.maps.push(map);
        self.used = ARENA_MARK.len();
        self.next_size = (2 * size).min(LARGEST);
        if let Some(recycling) = &mut self.recycling {
            recycling.mapped += size;
            self.next_size = self.next_size.min((recycling.limit / 8).max(SMALLEST));
        }
        Ok(())
    }
}

fn reserve(file: &File, size: usize) -> io::Result<()> {
    let size = libc::off_t::try_from(size).map_err(io::Error::other)?;
    // SAFETY: the descriptor is open for writing as long as `file` lives.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, size) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(chunk: io::Result<Chunk>) -> u64 {
        match chunk.unwrap() {
            Chunk::Given(address) => address,
            Chunk::NoneFree => panic!("no chunk is free"),
        }
    }

    #[test]
    fn chunks_do_not_overlap_and_lie_in_files() {
        let folder = tempfile::tempdir().unwrap();
        let mut arenas = Arenas::new(folder.path(), None).unwrap();
        let mut places = Vec::new();
        for sequence in 0..300 {
            places.push(given(arenas.chunk(7, sequence, 65536, false)));
        }
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 65536));
        assert!(arenas.maps.len() >= 3);
        let first = std::fs::read(folder.path().join("arena-0000")).unwrap();
        assert_eq!(&first[..8], ARENA_MARK);
        assert_eq!(first[16], 7);
        assert!(arenas.chunk(7, 0, 12, false).is_err());
    }

    #[test]
    fn chunks_that_come_back_are_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let limit = 4 << 20;
        let mut arenas = Arenas::new(folder.path(), Some(limit)).unwrap();
        let mut sequence = 0;
        while let Chunk::Given(_) = arenas.chunk(1, sequence, 65536, false).unwrap() {
            sequence += 1;
        }
        assert!(arenas.recycling.as_ref().unwrap().mapped <= limit);
        let reader = ReturnedChunks::open(&folder.path().join(RETURNED_FILE)).unwrap();
        assert!(reader.give(0, 8));
        let address = given(arenas.chunk(2, 0, 512, false));
        assert_eq!(address - CHUNK_HEADER as u64, arenas.address(0, 8) as u64);
        assert_eq!(arenas.chunk(2, 1, 65536, false).unwrap(), Chunk::NoneFree);
        given(arenas.chunk(2, 1, 65536, true));
    }

    #[test]
    fn a_folder_that_is_gone_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Arenas::new(&folder.path().join("gone"), None).is_err());
        let mut arenas = Arenas::new(folder.path(), None).unwrap();
        std::fs::remove_dir_all(folder.path()).unwrap();
        assert!(arenas.chunk(1, 0, 512, false).is_err());
    }
}
