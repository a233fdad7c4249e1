//! The bytes of Java class files: a zero-copy reader, a label-based editor and a writer.
//!
//! This crate knows the class-file format of [JVMS §4], up to version 69
//! (Java 25), and nothing else: no files, no jars, no analyses. Nothing in it panics on bytes, and
//! what it allocates is bounded by a small multiple of the input.
//!
//! - [`read`]: [`read::ClassFile`] borrows from the bytes and decodes an attribute when it is asked for.
//! - [`edit`]: a class opened for change, with method bodies as lists of instructions and labels.

mod descriptor;
pub mod edit;
pub mod flags;
mod frame;
mod instruction;
pub mod mutf8;
mod opcode;
pub mod read;
pub mod resolution;

pub use descriptor::{FieldType, MethodDescriptor, Primitive};
pub use frame::{Frame, VerificationType};
pub use instruction::{Instruction, Pc};
pub use opcode::Opcode;

/// The newest class-file version that this crate knows (Java 25). Newer files are read all the same;
/// [`read::ClassFile::is_newer_than_known`] tells.
pub const NEWEST_KNOWN_VERSION: u16 = 69;

/// An index into the constant pool of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConstantIndex(pub u16);

/// What is wrong with the bytes, and where. Cheap: the name of the file is added by whoever opened it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: expected {expected}")]
pub struct ReadError {
    /// Offset from the beginning of the class file.
    pub offset: usize,
    /// What should have been there.
    pub expected: &'static str,
}

/// The result of reading.
pub type Result<T> = std::result::Result<T, ReadError>;
