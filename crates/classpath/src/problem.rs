//! What could not be loaded, and why: one message per cause, with file and place.

use std::fmt;

/// Something on the class path that was skipped, or that deserves a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Whether anything is missing because of it.
    pub severity: Severity,
    /// What happened, and where.
    pub error: LoadError,
}

/// How bad a [`Problem`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Normal in practice, and good to know: a jar names a neighbour that is not there.
    Note,
    /// Bytes that were asked for could not be had.
    Failure,
}

/// Bytes that could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct LoadError {
    /// The file, with its place inside archives: `app.jar!/lib/x.jar!/a/B.class`.
    pub file: String,
    /// The offset of the fault in the innermost archive, image or file of `file`.
    pub offset: Option<u64>,
    /// What was found, and what was expected.
    pub reason: Reason,
}

/// Why bytes could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The path leads nowhere.
    #[error("no such file or folder")]
    Missing,
    /// The operating system refused.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// A device, a pipe, a socket.
    #[error("expected a file or a folder, found something else")]
    NotAFile,
    /// A symbolic link to a folder that holds it.
    #[error("symbolic link to {0}, which contains it: not followed")]
    LinkLoop(String),
    /// Another link led to the same folder before.
    #[error("symbolic link to {0}, which was entered through another link: not followed again")]
    LinkRepeated(String),
    /// Folders or archives within each other without end.
    #[error("nested deeper than {0} levels: not looked into")]
    TooDeep(usize),
    /// Neither a zip archive, nor a class file, nor a runtime image.
    #[error("expected a jar (zip archive), a class file or a runtime image, found {0}")]
    UnknownFormat(String),
    /// The archive has an end, but its list of entries is broken.
    #[error("broken list of entries (central directory): {0}")]
    CentralDirectory(String),
    /// The entry is not where the list of entries says.
    #[error("broken entry header: {0}")]
    EntryHeader(String),
    /// The entry's compressed bytes make no sense.
    #[error("broken deflate stream: {0}")]
    Deflate(String),
    /// Neither stored nor deflated.
    #[error("compression method {0} is not supported: expected stored (0) or deflated (8)")]
    CompressionMethod(u16),
    /// The entry needs a password.
    #[error("the entry is encrypted")]
    Encrypted,
    /// The bytes are not those that were packed.
    #[error("wrong checksum: expected CRC-32 {expected:08x}, found {actual:08x}")]
    Checksum {
        /// What the list of entries says.
        expected: u32,
        /// What the bytes say.
        actual: u32,
    },
    /// More or fewer bytes than announced.
    #[error("wrong size: expected {expected} bytes, found {actual}")]
    Size {
        /// What was announced.
        expected: u64,
        /// What was there.
        actual: u64,
    },
    /// Larger than anything sensible.
    #[error("{size} bytes, more than the limit of {limit}: not read")]
    TooLarge {
        /// How large it says it is.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The file has no class in it where one was expected.
    #[error("not a class file: {0}")]
    ClassFile(String),
    /// The runtime image is broken.
    #[error("broken runtime image: {0}")]
    Image(String),
    /// The runtime image ends before its contents do.
    #[error(
        "the runtime image is cut short: expected {expected} bytes, found {actual}; \
         classes missing: {missing}"
    )]
    ImageCut {
        /// Where the last resource should end.
        expected: u64,
        /// Where the file ends.
        actual: u64,
        /// How many classes lie past the end, in whole or in part.
        missing: usize,
    },
    /// A folder that should be a JDK has no classes of a JDK.
    #[error("not a JDK: expected lib/modules, or lib/rt.jar of an old one, in this folder")]
    NotAJdk,
    /// No JDK anywhere.
    #[error("no JDK found: looked at {0}; pass --jdk DIR")]
    NoJdk(String),
    /// The JDK does not say which release it is.
    #[error("no readable JAVA_VERSION: release taken to be {0}")]
    NoRelease(u16),
    /// A jar's manifest names other jars that do not exist.
    #[error("the manifest's Class-Path names files that do not exist: {0}")]
    ManifestClassPath(String),
    /// A folder of jars was given where a folder of classes was meant.
    #[error(
        "the folder holds no classes, and its jars ({0}) are not looked into: name them, or DIR/*"
    )]
    OnlyJars(usize),
}

impl LoadError {
    pub(crate) fn new(file: impl Into<String>, offset: Option<u64>, reason: Reason) -> Self {
        Self { file: file.into(), offset, reason }
    }

    pub(crate) fn io(file: impl Into<String>, error: &std::io::Error) -> Self {
        let reason = match error.kind() {
            std::io::ErrorKind::NotFound => Reason::Missing,
            _ => Reason::Unreadable(error.to_string()),
        };
        Self::new(file, None, reason)
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A JDK that is nowhere has no file.
        if !self.file.is_empty() {
            f.write_str(&self.file)?;
            if let Some(offset) = self.offset {
                write!(f, ", offset {offset}")?;
            }
            f.write_str(": ")?;
        }
        self.reason.fmt(f)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}
