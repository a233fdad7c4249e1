//! Opening a trace of any form.

use std::path::Path;

use unsnarl_events::{Source, TraceError, open_file};

use crate::open_session;

/// Opens the trace at `path`: the folder of a session, or a file with a foreign trace.
///
/// # Errors
/// When it cannot be opened, or is no trace.
pub fn open(path: &Path) -> Result<Box<dyn Source>, TraceError> {
    match path.is_dir() {
        true => Ok(Box::new(open_session(path)?)),
        false => open_file(path),
    }
}
