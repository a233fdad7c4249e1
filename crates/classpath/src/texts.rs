//! Files in an archive that are no classes, such as the sources in a `-sources.jar`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::archive::{self, Fault, SharedBytes};
use crate::open::ARCHIVE_LIMIT;
use crate::{LoadError, read_file};

/// No source file is larger.
const TEXT_LIMIT: u64 = 16 << 20;

/// The files of an archive that are asked for by their names, as far as it has them.
///
/// # Errors
/// When the archive or one of these files is damaged.
pub fn read_texts(
    path: &Path,
    names: &BTreeSet<String>,
) -> Result<BTreeMap<String, Vec<u8>>, LoadError> {
    let within = |fault: Fault| fault.within(path.display().to_string());
    let bytes = read_file(path, ARCHIVE_LIMIT).map_err(within)?;
    let archive = archive::open(SharedBytes::new(bytes)).map_err(within)?;
    let (records, fault) = archive::records(&archive);
    if let Some(fault) = fault {
        return Err(within(fault));
    }
    let mut texts = BTreeMap::new();
    for record in records {
        let name = String::from_utf8_lossy(record.path);
        if names.contains(name.as_ref()) {
            let text = archive::read(&archive, &record.place, TEXT_LIMIT).map_err(within)?;
            texts.insert(name.into_owned(), text.into_owned());
        }
    }
    Ok(texts)
}
