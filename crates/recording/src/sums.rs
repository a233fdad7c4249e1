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
use unsnarl_events::{Problem, Problems};

use crate::chunk_place::{ChunkPlace, RECORD};
use crate::format::{
    CHUNKS_FILE, CLASSES_FILE, MARK_FILE, NAMES_FILE, SITES_FILE, STACKS_FILE, SUMS_FILE,
    arena_file,
};
use crate::storage::is_locked;

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
pub(crate) struct Sums {
    /// By file and place: size and checksum.
    sums: FxHashMap<(String, u32), (usize, u32)>,
}

impl Sums {
    /// Those of a folder; none if it has none. Tables that are not as they were recorded are reported.
    pub(crate) fn open(folder: &Path, problems: &mut Problems) -> Self {
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
            // What cannot be read is reported when it is needed.
            let bytes = read(folder, table).ok().flatten().unwrap_or_default();
            if !sums.fits(table, 0, &[&bytes]) {
                let found = "other bytes".to_owned();
                problem(problems, table, "what was recorded, with its checksum", found);
            }
        }
        sums
    }

    /// Whether bytes, given in parts, are those that were recorded, as far as that is known.
    pub(crate) fn fits(&self, file: &str, offset: u32, parts: &[&[u8]]) -> bool {
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
