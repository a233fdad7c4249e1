//! A call that is recorded, and what of it.

/// The number of a method's name and parameters, by which the runtime asks for them. 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MethodNumber(pub u32);

/// A call that is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCall {
    /// What the runtime asks the class of the receiver for; none if it need not ask.
    pub method: Option<MethodNumber>,
    /// What is recorded besides the receiver, in the order of the arguments; first those whose elements are.
    pub operands: Vec<Operand>,
    /// Whether the object of the calling thread is recorded.
    pub thread: bool,
    /// Whether it is recorded when the call fails.
    pub failure: bool,
    /// Whether it may let other threads see what the caller has done.
    pub releases: bool,
    /// Whether all that it does is to take over what others have sent, at once.
    pub looks: bool,
    /// Whether it looks at what is sent by calls on the same object alone, so that it is known if there is anything new.
    pub counted: bool,
    /// Whether methods of what it is about may be run because of it, by whomever.
    pub runs: bool,
    /// Whether it orders nothing unless the stream that it is called on is parallel.
    pub parallel: bool,
    /// Whether it sends its receiver to where that was put: of a constructor, others do so after its end.
    pub hands_itself_over: bool,
}

// How calls are recorded, as runtime/java/lang/UnsnarlModelled.java has it.
const RECORDED: u8 = 1;
const LOOKS: u8 = 16;
const COUNTED: u8 = 4;
const QUIET: u8 = 64;
const PARALLEL: u8 = 128;

impl RecordedCall {
    /// How it is recorded, for a runtime that asks for a class of receivers.
    #[must_use]
    pub fn answer(&self) -> u8 {
        self.how() | if self.parallel { PARALLEL } else { 0 }
    }

    /// How it is recorded if it is.
    #[must_use]
    pub fn how(&self) -> u8 {
        match self {
            Self { releases: true, .. } => RECORDED,
            Self { looks: true, counted: true, .. } => RECORDED | LOOKS | COUNTED,
            Self { looks: true, .. } => RECORDED | LOOKS,
            _ => RECORDED | QUIET,
        }
    }
}

/// A method that may be run because of a recorded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// A call starts it, or what is started calls it in turn.
    Started,
    /// A call runs it as a function, in a stream or while it orders something. Nobody waits for the end of one run alone, so
    /// that what the thread does after it need not be reported again: programs call such methods all the time.
    Called,
}

/// An argument that is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Its place among the arguments.
    pub position: u8,
    /// What of it.
    pub what: OperandKind,
}

/// What is recorded of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperandKind {
    /// Which object it is.
    Reference,
    /// The number.
    Number,
    /// Which object it is, and what the string says.
    Text,
    /// Which object it is, and how many elements it has.
    Array,
    /// Which object it is, which are its elements, and how many an array has.
    Elements,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_has_the_same_numbers() {
        let source = include_str!("../../../runtime/java/lang/UnsnarlModelled.java");
        let same =
            [("LOOKS", LOOKS), ("COUNTED", COUNTED), ("QUIET", QUIET), ("PARALLEL", PARALLEL)];
        for (name, value) in same {
            assert!(source.contains(&format!("static final int {name} = {value};")), "{name}");
        }
    }
}
