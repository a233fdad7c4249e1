//! Where the files of a session are: in a folder, or in memory.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_events::{Problems, TraceError};

use crate::chunk_place::ChunkPlace;
use crate::format::{
    CHUNK_HEADER, CHUNKS_FILE, CLASSES_FILE, LOG_FILE, MARK, MARK_FILE, NAMES_FILE, RETURNED_FILE,
    SITES_FILE, arena_file, living_file,
};
use crate::shared::{ReturnedChunks, SharedWords, bytes_of};
use crate::sums::Sums;

/// What is in the files of a session.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The arenas.
    pub arenas: Vec<Vec<u8>>,
    /// The table of chunks.
    pub chunks: Vec<u8>,
    /// The table of places in the code.
    pub sites: Vec<u8>,
    /// The table of classes.
    pub classes: Vec<u8>,
    /// The table of names.
    pub names: Vec<u8>,
    /// What the agent said.
    pub log: Vec<u8>,
}

/// The files of a session.
#[derive(Debug)]
pub enum Storage {
    /// Nothing of it is in a file.
    Memory(Files),
    /// The program has ended.
    Finished(Finished),
    /// The program may still run.
    Growing(Growing),
}

/// The words of a chunk.
#[derive(Debug)]
pub enum ChunkWords {
    /// Nobody writes any more, and the words were appended to others.
    Whole {
        /// The first words.
        header: Header,
        /// Where those after the header begin.
        from: usize,
    },
    /// From so many words on in an arena.
    Shared(Arc<SharedWords>, usize),
}

/// The first words of a chunk.
pub type Header = [u64; CHUNK_HEADER / 8];

impl ChunkWords {
    /// The first words of the chunk.
    #[must_use]
    pub fn header(&self) -> Header {
        match self {
            Self::Whole { header, .. } => *header,
            Self::Shared(arena, start) => {
                std::array::from_fn(|index| arena.get(start + index).unwrap_or(0))
            }
        }
    }
}

impl Storage {
    /// Opens the folder of a session; to `follow` a program that may still run is to read what it writes as it does.
    ///
    /// # Errors
    /// When the folder is no session, or cannot be read.
    pub fn open(folder: &Path, follow: bool, problems: &mut Problems) -> Result<Self, TraceError> {
        let mark = folder.join(MARK_FILE);
        if !mark.exists() {
            let reason = format!("the folder has no file `{MARK_FILE}`");
            return Err(TraceError::NoTrace { file: folder.to_owned(), reason });
        }
        let open_error = |error| TraceError::Open { file: mark.clone(), error };
        if fs::read(&mark).map_err(open_error)? != MARK.as_bytes() {
            return Err(TraceError::NoTrace { file: mark, reason: format!("expected {MARK:?}") });
        }
        if !follow {
            let sums = Sums::open(folder, problems);
            return Ok(Self::Finished(Finished::new(folder.to_owned(), sums)));
        }
        let returned = folder.join(RETURNED_FILE);
        let returned = match returned.exists() {
            true => Some(ReturnedChunks::open(&returned).map_err(open_error)?),
            false => None,
        };
        Ok(Self::Growing(Growing {
            mark: File::open(&mark).map_err(open_error)?,
            folder: folder.to_owned(),
            tables: TableFiles::default(),
            arenas: FxHashMap::default(),
            returned,
            backlog: VecDeque::new(),
        }))
    }

    /// Appends what a table has from `from` on. A table that is not there is empty.
    pub fn table(&mut self, name: &'static str, from: u64, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Finished(Finished { folder, tables, .. }) => {
                match tables.read(folder, name, from, out) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    outcome => outcome,
                }
            }
            Self::Growing(Growing { folder, tables, .. }) => tables.read(folder, name, from, out),
            Self::Memory(files) => {
                let table = match name {
                    CHUNKS_FILE => &files.chunks,
                    SITES_FILE => &files.sites,
                    CLASSES_FILE => &files.classes,
                    NAMES_FILE => &files.names,
                    LOG_FILE => &files.log,
                    _ => return Ok(()),
                };
                out.extend(table.get(from as usize..).unwrap_or_default());
                Ok(())
            }
        }
    }

    /// A small file as a whole; none if it is not there.
    pub fn text(&self, name: &str) -> Option<String> {
        let folder = match self {
            Self::Finished(finished) => &finished.folder,
            Self::Growing(growing) => &growing.folder,
            Self::Memory(_) => return None,
        };
        fs::read_to_string(folder.join(name)).ok()
    }

    /// The words of a chunk. If nobody writes any more they are appended.
    pub fn chunk(&mut self, place: &ChunkPlace, to: &mut Vec<u64>) -> io::Result<ChunkWords> {
        let (start, size) = (place.offset as usize, place.size as usize);
        let from = to.len();
        match self {
            Self::Memory(files) => {
                let arena = files.arenas.get(place.arena as usize);
                let end = start.checked_add(size).ok_or_else(outside)?;
                let chunk = arena.and_then(|arena| arena.get(start..end)).ok_or_else(outside)?;
                let (header, body) = chunk.split_first_chunk().ok_or_else(outside)?;
                to.extend(words(body));
                Ok(ChunkWords::Whole { header: header_of(header), from })
            }
            Self::Finished(finished) => {
                let header = finished.chunk(place, to).inspect_err(|_| to.truncate(from))?;
                Ok(ChunkWords::Whole { header, from })
            }
            Self::Growing(growing) => {
                let arena = growing.arena(place.arena)?;
                if arena.len() < (start + size) / 8 {
                    return Err(outside());
                }
                Ok(ChunkWords::Shared(arena, start / 8))
            }
        }
    }

    /// A list of living objects. Where nothing is kept it goes when it was read.
    pub fn living(&self, number: u64) -> io::Result<FxHashSet<u64>> {
        let (folder, is_kept) = match self {
            Self::Memory(_) => return Err(io::ErrorKind::NotFound.into()),
            Self::Finished(finished) => (&finished.folder, true),
            Self::Growing(growing) => (&growing.folder, growing.returned.is_none()),
        };
        let path = folder.join(living_file(number));
        let bytes = fs::read(&path)?;
        if !is_kept {
            fs::remove_file(&path)?;
        }
        Ok(words(&bytes).into_iter().collect())
    }

    /// Says that a chunk was read and that nobody will write into it any more.
    pub fn give_back(&mut self, place: &ChunkPlace) {
        let Self::Growing(Growing { returned: Some(returned), backlog, .. }) = self else { return };
        backlog.push_back((place.arena, place.offset));
        // A program that has ended takes none.
        while let Some(&(arena, offset)) = backlog.front()
            && returned.give(arena, offset)
        {
            backlog.pop_front();
        }
    }

    /// Whether more may be written.
    pub fn is_growing(&self) -> bool {
        matches!(self, Self::Growing(_))
    }

    /// Asks whether the program still runs, and stops growing if it does not.
    pub fn check_program(&mut self) {
        if let Self::Growing(growing) = self
            && !growing.is_running()
        {
            self.stop_growing();
        }
    }

    /// What is written from now on is not read any more.
    pub fn stop_growing(&mut self) {
        if let Self::Growing(growing) = self {
            let folder = std::mem::take(&mut growing.folder);
            *self = Self::Finished(Finished::new(folder, Sums::default()));
        }
    }
}

fn outside() -> io::Error {
    io::Error::other("the arena is shorter")
}

/// The folder of a program that has ended. Files stay open: a chunk is small.
#[derive(Debug)]
pub struct Finished {
    folder: PathBuf,
    sums: Sums,
    tables: TableFiles,
    /// The arena that was last looked at, with its name and length.
    arena: Option<(u32, String, File, u64)>,
}

impl Finished {
    fn new(folder: PathBuf, sums: Sums) -> Self {
        Self { folder, sums, tables: TableFiles::default(), arena: None }
    }

    /// Appends the words of a chunk after its header, which is given.
    fn chunk(&mut self, place: &ChunkPlace, to: &mut Vec<u64>) -> io::Result<Header> {
        let (start, size) = (u64::from(place.offset), u64::from(place.size));
        let (_, name, file, length) = match &mut self.arena {
            Some(arena) if arena.0 == place.arena => arena,
            arena => {
                let name = arena_file(place.arena);
                let file = File::open(self.folder.join(&name))?;
                let length = file.metadata()?.len();
                arena.insert((place.arena, name, file, length))
            }
        };
        // A damaged table must not make us ask for memory that no chunk has.
        if *length < start + size {
            return Err(outside());
        }
        let mut header = [0; CHUNK_HEADER];
        file.read_exact_at(&mut header, start)?;
        let from = to.len();
        to.resize(from + (size as usize - CHUNK_HEADER) / 8, 0);
        let body = &mut to[from..];
        file.read_exact_at(bytes_of(body), start + CHUNK_HEADER as u64)?;
        if !self.sums.fits(name, place.offset, &[&header, bytes_of(body)]) {
            return Err(io::Error::other("its checksum is another one"));
        }
        body.iter_mut().for_each(|word| *word = u64::from_le(*word));
        Ok(header_of(&header))
    }
}

fn header_of(bytes: &[u8; CHUNK_HEADER]) -> Header {
    let words = bytes.as_chunks().0;
    std::array::from_fn(|index| u64::from_le_bytes(words[index]))
}

/// Tables that stay open, since they are looked at often.
#[derive(Debug, Default)]
struct TableFiles(FxHashMap<&'static str, File>);

impl TableFiles {
    /// Appends what a table has from `from` on.
    fn read(
        &mut self,
        folder: &Path,
        name: &'static str,
        from: u64,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let file = match self.0.entry(name) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(File::open(folder.join(name))?),
        };
        let mut at = from;
        let mut block = [0; 4096];
        loop {
            match file.read_at(&mut block, at)? {
                0 => return Ok(()),
                read => {
                    out.extend(&block[..read]);
                    at += read as u64;
                    if read < block.len() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// The folder of a program that may still run.
#[derive(Debug)]
pub struct Growing {
    folder: PathBuf,
    mark: File,
    /// They are there before the mark.
    tables: TableFiles,
    arenas: FxHashMap<u32, Arc<SharedWords>>,
    returned: Option<ReturnedChunks>,
    /// Chunks for which there was no room in `returned`.
    backlog: VecDeque<(u32, u32)>,
}

impl Growing {
    fn arena(&mut self, number: u32) -> io::Result<Arc<SharedWords>> {
        if let Some(arena) = self.arenas.get(&number) {
            return Ok(Arc::clone(arena));
        }
        let arena = SharedWords::read(&File::open(self.folder.join(arena_file(number)))?)?;
        Ok(Arc::clone(self.arenas.entry(number).or_insert(Arc::new(arena))))
    }

    /// The agent holds a lock on the mark as long as its JVM lives.
    fn is_running(&self) -> bool {
        is_locked(&self.mark)
    }
}

/// Whether another process has a lock on a file: agents and those who watch them hold one as long as they live.
#[must_use]
pub fn is_locked(file: &File) -> bool {
    let is_locked = file.try_lock_shared().is_err();
    if !is_locked {
        // It goes with the file if not now.
        let _ = file.unlock();
    }
    is_locked
}

/// The folders of the sessions in that of a run, sorted.
///
/// # Errors
/// When the folder cannot be read.
pub fn sessions_of(run: &Path) -> io::Result<Vec<PathBuf>> {
    let folders = fs::read_dir(run)?.map(|entry| Ok(entry?.path()));
    let mut sessions = folders.collect::<io::Result<Vec<_>>>()?;
    sessions.retain(|folder| folder.join(MARK_FILE).is_file());
    sessions.sort();
    Ok(sessions)
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let words = bytes.as_chunks().0;
    words.iter().map(|&word| u64::from_le_bytes(word)).collect()
}
