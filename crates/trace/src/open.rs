//! Opening a trace of any form.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use crate::rapid_bin::{RapidBinReader, begins_rapid_bin};
use crate::std_text::StdReader;
use crate::{Source, TraceError, session};

/// Opens the trace at `path`: the folder of a session, or a file, whose form is seen from its first byte,
/// not from its name.
///
/// # Errors
/// When it cannot be opened, or is no trace.
pub fn open(path: &Path) -> Result<Box<dyn Source>, TraceError> {
    let open_error = |error| TraceError::Open { file: path.to_owned(), error };
    let mut file = File::open(path).map_err(open_error)?;
    if file.metadata().map_err(open_error)?.is_dir() {
        return Ok(Box::new(session::open(path)?));
    }
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
