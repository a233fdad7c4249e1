//! From bytecode to SSA.
//!
//! Three steps, one file each:
//! 1. [`control_flow`] decodes the instructions and finds the blocks. Subroutines of old class files
//!    are inlined by giving a block one copy for each chain of `jsr` that leads to it.
//! 2. [`translate`] runs each block on a symbolic stack, in reverse postorder, and emits statements.
//! 3. [`variables`] finds the value of a local variable at the entry of a block, after [Braun13 §2],
//!    without its recursion: a phi is placed at every join that a read runs into, and phis that turn out to choose
//!    between equal values are removed at the end. A phi that nobody reads is never made.
//!
//! [`finish`] numbers everything anew and infers the types that depend on phis; [`dynamic`] turns the call sites of
//! `invokedynamic` into what they stand for.
//!
//! The lowering looks at one class file alone. It trusts nothing: code that no verifier would accept
//! is an error that names the method and the offset.

mod control_flow;
mod dynamic;
mod finish;
mod translate;
mod variables;

use unsnarl_classfile::read::{BootstrapMethod, ClassFile, Member};
use unsnarl_classfile::{Pc, ReadError};

pub use dynamic::{Lambda, LambdaTarget};

use crate::body::Body;
use crate::names::{Names, Symbol};

/// Why a method could not be lowered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LowerError {
    /// The bytes are broken.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// The code breaks a rule of the verifier.
    #[error("at code offset {}: expected {expected}", pc.0)]
    Code {
        /// The instruction.
        pc: Pc,
        /// What should have been the case.
        expected: &'static str,
    },
}

impl LowerError {
    pub(crate) fn code(pc: Pc, expected: &'static str) -> Self {
        Self::Code { pc, expected }
    }
}

type Result<T> = std::result::Result<T, LowerError>;

/// A lowered body, and the synthetic classes of the lambdas that it creates.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The body.
    pub body: Body,
    /// One for each lambda expression or method reference.
    pub lambdas: Vec<Lambda>,
}

/// What the lowering of all methods of a class has in common.
#[derive(Clone, Copy, Debug)]
pub struct ClassContext<'c, 'a> {
    /// The class file.
    pub class: &'c ClassFile<'a>,
    /// The name of the class.
    pub name: Symbol,
    /// Its bootstrap methods.
    pub bootstraps: &'c [BootstrapMethod],
}

/// Lowers one method; nothing for methods without code. `index` is the position of the method in its
/// class, it becomes part of the names of synthetic classes.
pub fn lower(
    context: ClassContext<'_, '_>,
    index: usize,
    method: &Member<'_>,
    names: &mut Names,
) -> Result<Option<Lowered>> {
    let Some(code) = context.class.code(method)? else { return Ok(None) };
    let flow = control_flow::ControlFlow::new(&code)?;
    translate::translate(context, index, method, &code, &flow, names).map(Some)
}
