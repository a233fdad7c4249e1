//! Checksums of a recording, made when its program has ended: the file `sums`. A program that runs cannot make them, for it
//! may be killed at any instant, and what it wrote until then is to be read.
//!
//! Every line is about one chunk or one table: the file, where it begins, its size, and its CRC-32 in eight
//! hexadecimal digits, with tabs between them. What there is no line for is read without being compared.

use std::collections::hash_map::Entry;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustc_hash::FxHashMap;

use super::format::{
    CHUNKS_FILE, CLASSES_FILE, MARK_FILE, NAMES_FILE, SITES_FILE, STACKS_FILE, SUMS_FILE,
    arena_file,
};
use super::place::{ChunkPlace, RECORD};
use super::storage::is_locked;
use crate::{Problem, Problems};

/// The tables that are written to until the program ends. That of chunks has checksums of its own.
const TABLES: [&str; 4] = [SITES_FILE, CLASSES_FILE, NAMES_FILE, STACKS_FILE];

/// Makes the checksums of a recording. One whose program still runs gets none.
///
/// # Errors
/// When a file cannot be read or the checksums cannot be written.
pub fn seal(folder: &Path) -> io::Result<()> {
    if is_locked(&File::open(folder.join(MARK_FILE))?) {
        return Ok(());
    }
    let mut sums = String::new();
    for table in TABLES {
        if let Some(bytes) = read(folder, table)? {
            add(&mut sums, table, 0, &bytes);
        }
    }
    let chunks = read(folder, CHUNKS_FILE)?.unwrap_or_default();
    let mut arenas: FxHashMap<u32, File> = FxHashMap::default();
    let mut bytes = Vec::new();
    for place in chunks.as_chunks::<RECORD>().0.iter().filter_map(ChunkPlace::from_bytes) {
        let name = arena_file(place.arena);
        let arena = match arenas.entry(place.arena) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(File::open(folder.join(&name))?),
        };
        bytes.resize(place.size as usize, 0);
        arena.read_exact_at(&mut bytes, u64::from(place.offset))?;
        add(&mut sums, &name, place.offset, &bytes);
    }
    fs::write(folder.join(SUMS_FILE), sums)
}

fn add(sums: &mut String, file: &str, offset: u32, bytes: &[u8]) {
    let (size, sum) = (bytes.len(), crc32fast::hash(bytes));
    // Writing to a string does not fail.
    let _ = writeln!(sums, "{file}\t{offset}\t{size}\t{sum:08x}");
}

fn read(folder: &Path, file: &str) -> io::Result<Option<Vec<u8>>> {
    match fs::read(folder.join(file)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        bytes => bytes.map(Some),
    }
}

/// The checksums of a recording.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// By file and place: size and checksum.
    sums: FxHashMap<(String, u32), (usize, u32)>,
}

impl Sums {
    /// Those of a folder; none if it has none. Tables that are not as they were recorded are told.
    pub(super) fn open(folder: &Path, problems: &mut Problems) -> Self {
        let mut sums = Self::default();
        let text = match read(folder, SUMS_FILE) {
            Ok(text) => String::from_utf8_lossy(&text.unwrap_or_default()).into_owned(),
            Err(error) => {
                problem(problems, SUMS_FILE, "checksums", error.to_string());
                return sums;
            }
        };
        for (number, line) in text.lines().enumerate() {
            match parse(line) {
                Some((file, offset, size, sum)) => {
                    sums.sums.insert((file.to_owned(), offset), (size, sum));
                }
                None => {
                    let place = format!("{SUMS_FILE}, line {}", number + 1);
                    problem(problems, &place, "a checksum", line.to_owned());
                }
            }
        }
        for table in TABLES {
            // What cannot be read is told when it is needed.
            let bytes = read(folder, table).ok().flatten().unwrap_or_default();
            if !sums.fits(table, 0, &[&bytes]) {
                let found = "other bytes".to_owned();
                problem(problems, table, "what was recorded, with its checksum", found);
            }
        }
        sums
    }

    /// Whether bytes, given in parts, are those that were recorded, as far as that is known.
    pub(super) fn fits(&self, file: &str, offset: u32, parts: &[&[u8]]) -> bool {
        let Some(&(size, sum)) = self.sums.get(&(file.to_owned(), offset)) else { return true };
        let mut hasher = crc32fast::Hasher::new();
        parts.iter().for_each(|part| hasher.update(part));
        (size, sum) == (parts.iter().map(|part| part.len()).sum(), hasher.finalize())
    }
}

fn parse(line: &str) -> Option<(&str, u32, usize, u32)> {
    let mut parts = line.split('\t');
    let (file, offset, size, sum) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let sum = u32::from_str_radix(sum, 16).ok().filter(|_| sum.len() == 8)?;
    let line = (file, offset.parse().ok()?, size.parse().ok()?, sum);
    parts.next().is_none().then_some(line)
}

fn problem(problems: &mut Problems, place: &str, expected: &'static str, found: String) {
    problems.add(|| Problem { place: place.to_owned(), expected, found });
}

#[cfg(test)]
mod tests {
    use super::super::chunks::{RawEvent, write};
    use super::super::format::{Kind, MARK};
    use super::super::open;
    use super::*;
    use crate::Source;

    /// Threads of which each enters two monitors, in a chunk of its own.
    fn recording(threads: u64) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let entered =
            |number| RawEvent { kind: Kind::MonitorEnter, site: 1, words: [number, 1 << 20] };
        let chunks: Vec<_> = (0..threads)
            .map(|thread| (thread + 1, 0, vec![entered(2 * thread + 1), entered(2 * thread + 2)]))
            .collect();
        let (arena, table) = write::arena(&chunks, 1);
        let files = [
            (MARK_FILE, MARK.as_bytes()),
            (&*arena_file(0), &arena),
            (CHUNKS_FILE, &table),
            (NAMES_FILE, b"thread\t1\tmain\n"),
        ];
        for (file, bytes) in files {
            fs::write(folder.path().join(file), bytes).expect("a writable folder");
        }
        folder
    }

    /// How many events are read, and where something is wrong.
    fn outcome(folder: &Path) -> (usize, Vec<String>) {
        let mut session = open(folder).expect("a session");
        let (mut batch, mut events) = (Vec::new(), 0);
        loop {
            session.next_batch(&mut batch).expect("a batch");
            if batch.is_empty() {
                break;
            }
            events += batch.len();
        }
        let problems = session.problems().first().iter();
        (events, problems.map(|problem| problem.place.clone()).collect())
    }

    fn flip(file: &Path, byte: usize) {
        let mut bytes = fs::read(file).expect("a file");
        bytes[byte] ^= 1;
        fs::write(file, bytes).expect("a writable folder");
    }

    #[test]
    fn a_chunk_that_is_not_as_it_was_recorded_is_told_and_left_out() {
        let folder = recording(3);
        seal(folder.path()).expect("checksums");
        let (whole, problems) = outcome(folder.path());
        assert_eq!(problems, Vec::<String>::new());
        // The object of the second event in the second chunk: another one would do as well.
        let chunk = 24 + 2 * 24 + 8;
        flip(&folder.path().join(arena_file(0)), 8 + chunk + 24 + 24 + 16);
        let (rest, problems) = outcome(folder.path());
        assert_eq!(problems, [format!("{}, byte {}", arena_file(0), 8 + chunk)]);
        assert_eq!(3 * rest, 2 * whole);
        fs::remove_file(folder.path().join(SUMS_FILE)).expect("checksums");
        assert_eq!(outcome(folder.path()), (whole, Vec::new()), "nobody sees it without");
    }

    #[test]
    fn a_table_that_is_not_as_it_was_recorded_is_told() {
        let folder = recording(1);
        seal(folder.path()).expect("checksums");
        flip(&folder.path().join(NAMES_FILE), 10);
        assert_eq!(outcome(folder.path()).1, [NAMES_FILE]);
    }

    #[test]
    fn damage_of_the_checksums_themselves_is_told() {
        let folder = recording(1);
        fs::write(folder.path().join(SUMS_FILE), "arena-0000\t8\t1\n").expect("a writable folder");
        assert_eq!(outcome(folder.path()).1, [format!("{SUMS_FILE}, line 1")]);
    }

    #[test]
    fn a_program_that_runs_gets_none() {
        let folder = recording(1);
        let mark = File::open(folder.path().join(MARK_FILE)).expect("a mark");
        mark.lock().expect("a lock");
        seal(folder.path()).expect("no checksums");
        assert!(!folder.path().join(SUMS_FILE).exists());
    }
}
