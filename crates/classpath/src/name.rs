//! Class names: from paths, and back.
//!
//! Paths are UTF-8, names inside class files are modified UTF-8. All names of the class path are kept
//! in the class files' form.

use std::borrow::Cow;

use unsnarl_classfile::mutf8;

/// The class name of a path relative to its root: `a/B.class` is `a/B`. What is not UTF-8 stays as it
/// is.
pub(crate) fn class_of_path(path: &[u8]) -> Option<Cow<'_, [u8]>> {
    let stem = path.strip_suffix(b".class")?;
    // `a/.class` and `.class` name nothing.
    if stem.is_empty() || stem.ends_with(b"/") {
        return None;
    }
    Some(std::str::from_utf8(stem).map_or(Cow::Borrowed(stem), mutf8::from_str))
}

/// A class name for people, and for finding its file.
pub(crate) fn display(name: &[u8]) -> Cow<'_, str> {
    mutf8::to_str(name)
}
