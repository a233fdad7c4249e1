//! The finalizer of a class.

use unsnarl_classfile::read::{ClassFile, Member};
use unsnarl_classfile::{ReadError, flags};

/// The length of a body that only returns.
const EMPTY: u16 = 1;

/// A method that the JVM runs when nobody has an object any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finalizer {
    /// Its place among the methods of its class.
    pub(crate) method: usize,
    /// Whether it only returns: then the JVM does without it. With probes it would be run.
    pub(crate) is_empty: bool,
}

impl Finalizer {
    /// The one that a class has itself.
    pub(crate) fn of(class: &ClassFile<'_>) -> Result<Option<Self>, ReadError> {
        let is_one = |method: &Member<'_>| {
            class.member_name(method) == b"finalize"
                && class.member_descriptor(method) == b"()V"
                && method.access & flags::STATIC == 0
        };
        let Some(method) = class.methods.iter().position(is_one) else { return Ok(None) };
        let code = class.code(&class.methods[method])?;
        Ok(code.map(|code| Self { method, is_empty: code.length() == EMPTY }))
    }
}
