//! Opening a foreign trace of either form.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use crate::rapid_bin::{RapidBinReader, begins_rapid_bin};
use crate::std_text::StdReader;
use crate::{Source, TraceError};

/// Opens the trace in a file. Its first byte decides between STD and RapidBin, not its name.
///
/// # Errors
/// When it cannot be opened or read.
pub fn open_file(path: &Path) -> Result<Box<dyn Source>, TraceError> {
    let mut file =
        File::open(path).map_err(|error| TraceError::Open { file: path.to_owned(), error })?;
    let mut head = Vec::new();
    let read = file.by_ref().take(1).read_to_end(&mut head);
    read.map_err(|error| TraceError::Read { file: path.to_owned(), error })?;
    let is_binary = head.first().is_some_and(|&first| begins_rapid_bin(first));
    let input = Cursor::new(head).chain(file);
    Ok(match is_binary {
        true => Box::new(RapidBinReader::new(input, path)),
        false => Box::new(StdReader::new(input, path)),
    })
}
