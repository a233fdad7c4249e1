//! Stack map frames (JVMS 4.7.4), the same shape for reading (`T` is an offset) and for editing (`T`
//! is an instruction).

use crate::ConstantIndex;

/// What the verifier knows of a local variable or a stack entry. `Long` and `Double` stand for two
/// slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of JVMS 4.7.4")]
pub enum VerificationType<T> {
    Top,
    Integer,
    Float,
    Long,
    Double,
    Null,
    UninitializedThis,
    /// An instance of a class or array type.
    Object(ConstantIndex),
    /// What this `new` instruction made, before its constructor ran.
    Uninitialized(T),
}

/// A frame in the form in which it is written: most of them say what changed since the frame before.
/// Whether the offset needs the extended form is for the writer to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<T> {
    /// The same locals, an empty stack.
    Same,
    /// The same locals, one stack entry.
    SameLocalsOneStack(VerificationType<T>),
    /// The last 1 to 3 locals are gone, the stack is empty.
    Chop(u8),
    /// 1 to 3 more locals, an empty stack.
    Append(Vec<VerificationType<T>>),
    /// Everything.
    Full {
        /// The local variables, without unknown ones at the end.
        locals: Vec<VerificationType<T>>,
        /// The operand stack from the bottom.
        stack: Vec<VerificationType<T>>,
    },
}

impl<T> VerificationType<T> {
    /// How many local variables or stack words it takes.
    pub fn slots(&self) -> usize {
        if matches!(self, Self::Long | Self::Double) { 2 } else { 1 }
    }

    /// The same type with another reference to its `new`; an error of `map` is passed on.
    pub fn try_map<U, E>(
        self,
        map: impl FnOnce(T) -> Result<U, E>,
    ) -> Result<VerificationType<U>, E> {
        Ok(match self {
            Self::Top => VerificationType::Top,
            Self::Integer => VerificationType::Integer,
            Self::Float => VerificationType::Float,
            Self::Long => VerificationType::Long,
            Self::Double => VerificationType::Double,
            Self::Null => VerificationType::Null,
            Self::UninitializedThis => VerificationType::UninitializedThis,
            Self::Object(class) => VerificationType::Object(class),
            Self::Uninitialized(new) => VerificationType::Uninitialized(map(new)?),
        })
    }
}

impl<T> Frame<T> {
    /// The same frame with other references to `new` instructions; an error of `map` is passed on.
    pub fn try_map<U, E>(self, mut map: impl FnMut(T) -> Result<U, E>) -> Result<Frame<U>, E> {
        let mut all = |types: Vec<VerificationType<T>>| {
            types.into_iter().map(|t| t.try_map(&mut map)).collect::<Result<Vec<_>, E>>()
        };
        Ok(match self {
            Self::Same => Frame::Same,
            Self::SameLocalsOneStack(entry) => Frame::SameLocalsOneStack(entry.try_map(map)?),
            Self::Chop(count) => Frame::Chop(count),
            Self::Append(locals) => Frame::Append(all(locals)?),
            Self::Full { locals, stack } => {
                Frame::Full { locals: all(locals)?, stack: all(stack)? }
            }
        })
    }
}
