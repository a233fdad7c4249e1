//! Zip archives: their list of entries, and the bytes of one entry.
//!
//! The bytes of an archive are held in memory, not mapped: a build may rewrite a jar while it is
//! being analysed, and a mapping would then change, or end the process, under the reader. An archive
//! that is stored inside another shares the bytes of the outer one.
//!
//! Guarantees: the checksum and the size of every entry are checked; nothing is allocated on the
//! word of a header alone beyond a stated limit.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use flate2::{Crc, Decompress, FlushDecompress, Status};
use rawzip::{CompressionMethod, ErrorKind, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};

use crate::problem::{LoadError, Reason};

/// The bytes of an archive, possibly a part of another archive's.
#[derive(Clone)]
pub(crate) struct SharedBytes {
    bytes: Arc<Vec<u8>>,
    range: Range<usize>,
}

/// An archive that is open.
pub(crate) type Archive = ZipSliceArchive<SharedBytes>;

/// Where an entry lies in its archive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArchiveEntry {
    wayfinder: ZipArchiveEntryWayfinder,
    header_offset: u64,
    method: CompressionMethod,
    encrypted: bool,
}

/// One line of an archive's list of entries.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) path: &'a [u8],
    pub(crate) place: ArchiveEntry,
}

/// A reason and its offset, before it is known in which file.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) offset: Option<u64>,
    pub(crate) reason: Reason,
}

impl Fault {
    pub(crate) fn new(offset: impl Into<Option<u64>>, reason: Reason) -> Self {
        Self { offset: offset.into(), reason }
    }

    pub(crate) fn within(self, file: impl Into<String>) -> LoadError {
        LoadError::new(file, self.offset, self.reason)
    }
}

impl SharedBytes {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self { bytes: Arc::new(bytes), range }
    }

    /// The same bytes from another start to another end, relative to this range.
    fn part(&self, part: Range<usize>) -> Self {
        let start = self.range.start + part.start;
        Self { bytes: Arc::clone(&self.bytes), range: start..start + part.len() }
    }
}

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.range.len())
    }
}

/// Finds the list of entries.
pub(crate) fn open(bytes: SharedBytes) -> Result<Archive, Fault> {
    let length = bytes.as_ref().len() as u64;
    let begins_like_zip = bytes.as_ref().starts_with(b"PK");
    let start = describe_start(bytes.as_ref());
    ZipArchive::from_slice(bytes).map_err(|error| match error.kind() {
        ErrorKind::MissingEndOfCentralDirectory if !begins_like_zip => {
            Fault::new(0, Reason::UnknownFormat(start))
        }
        ErrorKind::MissingEndOfCentralDirectory => Fault::new(
            length,
            Reason::CentralDirectory("expected an end record, found the end of the file".into()),
        ),
        _ => Fault::new(error.eocd_offset(), Reason::CentralDirectory(words(&error))),
    })
}

/// The files in the archive, in its own order, up to the first fault in the list of entries.
pub(crate) fn records(archive: &Archive) -> (Vec<Record<'_>>, Option<Fault>) {
    let bytes = archive.get_ref().as_ref();
    let mut records = Vec::new();
    let mut next_offset = archive.directory_offset();
    let mut entries = archive.entries();
    loop {
        match entries.next_entry() {
            Ok(Some(entry)) => {
                next_offset = record_end(bytes, entry.central_directory_offset());
                if !entry.is_dir() {
                    let place = ArchiveEntry {
                        wayfinder: entry.wayfinder(),
                        header_offset: entry.local_header_offset(),
                        method: entry.compression_method(),
                        encrypted: entry.flags().is_encrypted(),
                    };
                    records.push(Record { path: entry.file_path().as_bytes(), place });
                }
            }
            Ok(None) => return (records, None),
            Err(error) => {
                let reason = Reason::CentralDirectory(words(&error));
                return (records, Some(Fault::new(next_offset, reason)));
            }
        }
    }
}

/// The bytes of an entry: borrowed if they are stored as they are.
pub(crate) fn read<'a>(
    archive: &'a Archive,
    place: &ArchiveEntry,
    limit: u64,
) -> Result<Cow<'a, [u8]>, Fault> {
    let (range, expected_crc) = locate(archive, place, limit)?;
    let data_offset = range.start as u64;
    let data = &archive.get_ref().as_ref()[range];
    let size = place.wayfinder.uncompressed_size_hint();
    let bytes = match place.method {
        CompressionMethod::STORE => Cow::Borrowed(data),
        CompressionMethod::DEFLATE => Cow::Owned(inflate(data, size, false).map_err(|fault| {
            Fault::new(fault.offset.map(|offset| offset + data_offset), fault.reason)
        })?),
        other => {
            let reason = Reason::CompressionMethod(other.as_u16());
            return Err(Fault::new(place.header_offset, reason));
        }
    };
    if bytes.len() as u64 != size {
        let actual = bytes.len() as u64;
        return Err(Fault::new(data_offset, Reason::Size { expected: size, actual }));
    }
    let mut crc = Crc::new();
    crc.update(&bytes);
    if crc.sum() != expected_crc {
        let reason = Reason::Checksum { expected: expected_crc, actual: crc.sum() };
        return Err(Fault::new(data_offset, reason));
    }
    Ok(bytes)
}

/// The bytes of an entry that is itself an archive, without a copy if they are stored as they are.
pub(crate) fn read_shared(
    archive: &Archive,
    place: &ArchiveEntry,
    limit: u64,
) -> Result<SharedBytes, Fault> {
    match read(archive, place, limit)? {
        Cow::Owned(bytes) => Ok(SharedBytes::new(bytes)),
        Cow::Borrowed(_) => {
            let (range, _) = locate(archive, place, limit)?;
            Ok(archive.get_ref().part(range))
        }
    }
}

/// How many bytes reading the entry will allocate.
pub(crate) fn allocation(place: &ArchiveEntry) -> u64 {
    match place.method {
        CompressionMethod::STORE => 0,
        _ => place.wayfinder.uncompressed_size_hint(),
    }
}

/// The range of the entry's packed bytes, and the checksum of its unpacked ones.
fn locate(
    archive: &Archive,
    place: &ArchiveEntry,
    limit: u64,
) -> Result<(Range<usize>, u32), Fault> {
    if place.encrypted {
        return Err(Fault::new(place.header_offset, Reason::Encrypted));
    }
    let size = place.wayfinder.uncompressed_size_hint();
    if size > limit {
        return Err(Fault::new(place.header_offset, Reason::TooLarge { size, limit }));
    }
    let entry = archive
        .get_entry(place.wayfinder)
        .map_err(|error| Fault::new(place.header_offset, Reason::EntryHeader(words(&error))))?;
    let (start, end) = entry.compressed_data_range();
    Ok((start as usize..end as usize, entry.claim_verifier().crc))
}

/// Unpacks `size` bytes; the offset of a fault is relative to `data`.
pub(crate) fn inflate(data: &[u8], size: u64, zlib_header: bool) -> Result<Vec<u8>, Fault> {
    // No deflate stream grows by more than 1032; a claim beyond that is not worth the memory.
    let possible = (data.len() as u64).saturating_mul(1032).saturating_add(64);
    if size > possible {
        return Err(Fault::new(0, Reason::Size { expected: size, actual: possible }));
    }
    let mut bytes = vec![0; size as usize];
    let mut stream = Decompress::new(zlib_header);
    let status = stream.decompress(data, &mut bytes, FlushDecompress::Finish).map_err(|error| {
        let reason = error.message().unwrap_or("not understood").to_owned();
        Fault::new(stream.total_in(), Reason::Deflate(reason))
    })?;
    let written = stream.total_out();
    match status {
        Status::StreamEnd => {
            bytes.truncate(written as usize);
            Ok(bytes)
        }
        _ if written == size => {
            let reason = Reason::Deflate(format!("expected its end after {size} bytes"));
            Err(Fault::new(stream.total_in(), reason))
        }
        _ => Err(Fault::new(
            stream.total_in(),
            Reason::Deflate(format!("ends after {written} of {size} bytes")),
        )),
    }
}

/// What a file begins with, for a message.
fn describe_start(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(16)];
    if start.is_empty() {
        "an empty file".into()
    } else if start.iter().all(|&b| matches!(b, b' '..=b'~' | b'\t' | b'\r' | b'\n')) {
        format!("text: {:?}", String::from_utf8_lossy(start))
    } else {
        let hex: Vec<_> = start.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("bytes {}", hex.join(" "))
    }
}

fn words(error: &rawzip::Error) -> String {
    match error.kind() {
        ErrorKind::InvalidSignature { expected, actual } => {
            format!("expected signature {expected:08x}, found {actual:08x}")
        }
        ErrorKind::Eof => "runs beyond the end of the file".into(),
        ErrorKind::InvalidEndOfCentralDirectory => "its end record points behind itself".into(),
        _ => error.to_string(),
    }
}

/// Where the central record that begins at `offset` ends: 46 bytes and three texts.
fn record_end(bytes: &[u8], offset: u64) -> u64 {
    let length = |at: u64| match bytes.get((offset + at) as usize..) {
        Some([low, high, ..]) => u64::from(u16::from_le_bytes([*low, *high])),
        _ => 0,
    };
    offset + 46 + length(28) + length(30) + length(32)
}
