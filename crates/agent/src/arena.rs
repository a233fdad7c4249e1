//! Memory for events: chunks in files that are mapped into the JVM. What a thread wrote is in the file,
//! also when the JVM is killed in the next instant.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::MmapRaw;
use unsnarl_trace::session::format::{ARENA_MARK, ARENA_PREFIX, CHUNK_HEADER, CHUNK_MARK};

const SMALLEST: usize = 1 << 20;
const LARGEST: usize = 64 << 20;

/// The arenas of a session. Chunks are never given back.
#[derive(Debug)]
pub(crate) struct Arenas {
    folder: PathBuf,
    /// All mappings stay: threads write into them until the JVM ends.
    full: Vec<MmapRaw>,
    current: Option<Current>,
    next_size: usize,
}

#[derive(Debug)]
struct Current {
    map: MmapRaw,
    used: usize,
}

impl Arenas {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), full: Vec::new(), current: None, next_size: SMALLEST }
    }

    /// The address of the first event in a new chunk of `size` bytes, header included. The size is a
    /// multiple of 8.
    pub(crate) fn chunk(&mut self, thread: u64, sequence: u64, size: usize) -> io::Result<u64> {
        let fits = |current: &Current| current.map.len() - current.used >= size;
        if size <= CHUNK_HEADER || !size.is_multiple_of(8) || size > SMALLEST / 2 {
            return Err(io::Error::other(format!("a chunk of {size} bytes")));
        }
        let mut current = match self.current.take() {
            Some(current) if fits(&current) => current,
            other => {
                self.full.extend(other.map(|current| current.map));
                self.map()?
            }
        };
        let start = current.map.as_mut_ptr().wrapping_add(current.used).cast::<u64>();
        current.used += size;
        self.current = Some(current);
        // SAFETY: the chunk lies in the mapping, which is never unmapped, and belongs to this call alone.
        // Its start is a multiple of 8: mappings begin at a page, and all sizes are such multiples. The
        // mark comes last, with release, for a reader that follows the file.
        unsafe {
            start.add(1).write(thread.to_le());
            start.add(2).write(sequence.to_le());
            let mark = (size as u64) << 32 | u64::from(CHUNK_MARK);
            AtomicU64::from_ptr(start).store(mark.to_le(), Ordering::Release);
        }
        Ok(start as u64 + CHUNK_HEADER as u64)
    }

    /// Makes the next file. Its blocks are reserved first: a full disk is an error here, and not a
    /// signal that kills the JVM when a thread writes an event.
    fn map(&mut self) -> io::Result<Current> {
        let size = self.next_size;
        let name = format!("{ARENA_PREFIX}{:04}", self.full.len());
        let path = self.folder.join(name);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        reserve(&file, size).inspect_err(|_| {
            // The next thread may have more luck. If the file stays, its attempt tells so.
            let _ = std::fs::remove_file(&path);
        })?;
        let map = MmapRaw::map_raw(&file)?;
        // SAFETY: the mapping has a megabyte at least, and nobody else knows it yet.
        unsafe { map.as_mut_ptr().copy_from_nonoverlapping(ARENA_MARK.as_ptr(), ARENA_MARK.len()) };
        self.next_size = (2 * size).min(LARGEST);
        Ok(Current { map, used: ARENA_MARK.len() })
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

    #[test]
    fn chunks_do_not_overlap_and_lie_in_files() {
        let folder = tempfile::tempdir().unwrap();
        let mut arenas = Arenas::new(folder.path());
        let mut places = Vec::new();
        for sequence in 0..300 {
            places.push(arenas.chunk(7, sequence, 65536).unwrap());
        }
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 65536));
        assert!(arenas.full.len() >= 2);
        let first = std::fs::read(folder.path().join("arena-0000")).unwrap();
        assert_eq!(&first[..8], ARENA_MARK);
        assert_eq!(first[16], 7);
        assert!(arenas.chunk(7, 0, 12).is_err());
    }

    #[test]
    fn a_folder_that_is_gone_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let mut arenas = Arenas::new(&folder.path().join("gone"));
        assert!(arenas.chunk(1, 0, 512).is_err());
    }
}
