//! Where and how a program touches something shared.

use std::fmt;

use crate::Lock;

/// One step of a thread that a finding is about. A finding shows the earlier or stronger one first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// What the thread does.
    pub kind: AccessKind,
    /// The name of the thread, or of the abstract thread; none when any thread may do it.
    pub thread: Option<String>,
    /// The locks held during the access, the outermost first.
    pub locks: Vec<Lock>,
    /// The stack, the innermost frame first. Empty only when nothing is known.
    pub stack: Vec<Frame>,
}

impl Access {
    /// An access at the top of `stack`, of an unknown thread that holds no lock.
    #[must_use]
    pub fn new(kind: AccessKind, stack: Vec<Frame>) -> Self {
        Self { kind, thread: None, locks: Vec::new(), stack }
    }

    /// The same access, done by `thread`.
    #[must_use]
    pub fn by(mut self, thread: impl Into<String>) -> Self {
        self.thread = Some(thread.into());
        self
    }

    /// The same access, with `locks` held.
    #[must_use]
    pub fn holding(mut self, locks: Vec<Lock>) -> Self {
        self.locks = locks;
        self
    }

    /// Where the access itself is.
    #[must_use]
    pub fn site(&self) -> Option<&Frame> {
        self.stack.first()
    }
}

/// What a thread does in an [`Access`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    /// Reads a variable.
    Read,
    /// Writes a variable.
    Write,
    /// Acquires a lock.
    Acquire,
    /// Releases a lock.
    Release,
    /// Waits for a notification.
    Wait,
    /// Notifies waiting threads.
    Notify,
    /// Calls a method whose effect matters as a whole.
    Call,
}

impl AccessKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Read,
        Self::Write,
        Self::Acquire,
        Self::Release,
        Self::Wait,
        Self::Notify,
        Self::Call,
    ];

    /// The name used in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::Wait => "wait",
            Self::Notify => "notify",
            Self::Call => "call",
        }
    }
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One entry of a stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Frame {
    /// A place in the code of a method; file and line as far as the class file has them.
    Code {
        /// The method that is executing.
        method: MethodReference,
        /// The source file, without folders.
        file: Option<String>,
        /// The line in it, from 1.
        line: Option<u32>,
    },
    /// A location number, all that a trace in STD format knows.
    Location(u64),
}

impl Frame {
    /// The executing method, where it is known.
    #[must_use]
    pub fn method(&self) -> Option<&MethodReference> {
        match self {
            Self::Code { method, .. } => Some(method),
            Self::Location(_) => None,
        }
    }
}

/// As a Java stack trace shows it: `bank.Account.update(Account.java:8)`, or `location 17`.
impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code { method, file, line } => {
                write!(f, "{}.{}", method.class, method.name)?;
                match (file, line) {
                    (Some(file), Some(line)) => write!(f, "({file}:{line})"),
                    (Some(file), None) => write!(f, "({file})"),
                    (None, Some(line)) => write!(f, "(line {line})"),
                    (None, None) => write!(f, "(unknown source)"),
                }
            }
            Self::Location(number) => write!(f, "location {number}"),
        }
    }
}

/// A method by name. Names are binary names as Java programmers see them: `bank.Account$Entry`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MethodReference {
    /// The class that declares the method.
    pub class: String,
    /// Its name, `<init>` for a constructor.
    pub name: String,
    /// Its descriptor: `(I)V`.
    pub descriptor: String,
}

impl MethodReference {
    /// The method `name` with `descriptor` of `class`.
    #[must_use]
    pub fn new(
        class: impl Into<String>,
        name: impl Into<String>,
        descriptor: impl Into<String>,
    ) -> Self {
        Self { class: class.into(), name: name.into(), descriptor: descriptor.into() }
    }
}

impl fmt::Display for MethodReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}{}", self.class, self.name, self.descriptor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_reads_like_a_java_stack_trace() {
        let frame = |file: Option<&str>, line| {
            let method = MethodReference::new("a.B", "m", "()V");
            Frame::Code { method, file: file.map(str::to_owned), line }.to_string()
        };
        assert_eq!(frame(Some("B.java"), Some(3)), "a.B.m(B.java:3)");
        assert_eq!(frame(Some("B.java"), None), "a.B.m(B.java)");
        assert_eq!(frame(None, Some(3)), "a.B.m(line 3)");
        assert_eq!(frame(None, None), "a.B.m(unknown source)");
        assert_eq!(Frame::Location(17).to_string(), "location 17");
    }
}
