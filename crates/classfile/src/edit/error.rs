//! What can stand against a change, and where.

use crate::edit::{LabelId, NodeId};
use crate::{Opcode, ReadError};

/// Why a class cannot be written as it was asked for. Nothing is changed by a call that fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The body of a method cannot be opened.
    #[error("method {method}: {source}")]
    Read {
        /// Name and descriptor.
        method: String,
        /// What is wrong with the bytes.
        source: ReadError,
    },
    /// The body of a method cannot be written. The method keeps the body that it had.
    #[error("method {method}: {source}")]
    Code {
        /// Name and descriptor.
        method: String,
        /// What stands against it.
        source: CodeError,
    },
    /// A table has no room for what was added.
    #[error("{count} {what}: a class file holds 65535 at most")]
    TooMany {
        /// Fields, methods, interfaces or attributes.
        what: &'static str,
        /// How many there would be.
        count: usize,
    },
    /// The constant pool has no room.
    #[error(transparent)]
    Pool(#[from] PoolError),
}

/// Why a constant cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// All indices are taken.
    #[error("the constant pool is full: it holds 65534 entries at most")]
    Full,
    /// A string does not fit.
    #[error("a string of {0} bytes: a constant holds 65535 at most")]
    StringTooLong(usize),
}

/// Why a method body cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// The instructions take too much room.
    #[error("{length} bytes of code: a method holds 65535 at most")]
    TooLong {
        /// How many bytes they take; a lower bound when they are far too many.
        length: usize,
    },
    /// There are no instructions.
    #[error("a body without instructions")]
    Empty,
    /// There are too many entries in a table.
    #[error("{count} {what}: a method holds 65535 at most")]
    TooMany {
        /// Which table.
        what: &'static str,
        /// How many there would be.
        count: usize,
    },
    /// A label is used and stands nowhere.
    #[error("{0} is used but not bound")]
    UnboundLabel(LabelId),
    /// A label cannot stand at two places.
    #[error("{0} is bound twice")]
    BoundTwice(LabelId),
    /// There is no instruction at the target of a jump or at the start of a handler.
    #[error("{0} is jumped to but stands behind the last instruction")]
    JumpToEnd(LabelId),
    /// A constant is not what an instruction needs.
    #[error("constant {index} is not {expected}")]
    Constant {
        /// Its index.
        index: u16,
        /// What it should be.
        expected: &'static str,
    },
    /// An instruction has an opcode that belongs to another kind of instruction.
    #[error("{node} is `{opcode}` with operands that do not belong to it")]
    Malformed {
        /// The instruction.
        node: NodeId,
        /// Its opcode.
        opcode: Opcode,
    },
    /// A `tableswitch` has no keys, or keys beyond the range of `int`.
    #[error("{0} is a tableswitch whose keys are not a range of ints")]
    SwitchKeys(NodeId),
    /// The `new` that a frame refers to is gone.
    #[error("a frame holds the uninitialized object of {0}, which was removed")]
    RemovedNew(NodeId),
    /// A jump that became too long needs a frame after it, and the frames around it do not show which.
    #[error("no frame can be given to the code behind {0}, a jump that became too long")]
    UnknownFrame(NodeId),
    /// A frame takes away more than there is.
    #[error("the frame at {0} removes local variables that there are not")]
    BadFrame(LabelId),
    /// A handler around the body could not reach `this`.
    #[error("`this` is overwritten in the body, a handler around it could not know it")]
    ThisOverwritten,
    /// Between the start of a constructor and its call of another one no handler can stand.
    #[error("a handler cannot stand around the whole of a constructor")]
    Constructor,
    /// The descriptor of the method is not one.
    #[error("the method's descriptor is not valid")]
    Descriptor,
    /// A constant cannot be added.
    #[error(transparent)]
    Pool(#[from] PoolError),
}
