//! Which object an access of a method is to, in the names of the method: an argument, a static field, or what
//! hangs on one of them. Two accesses with the same name are to one object, unless a field changes in
//! between; with different names they are rather not.

use smallvec::SmallVec;
use unsnarl_program::Program;
use unsnarl_program::body::{Body, Operation, Value};
use unsnarl_program::names::{FieldRefId, Symbol};

/// How an object is reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Base {
    root: Root,
    /// The names of the fields that lead from the root to the object.
    steps: SmallVec<[Symbol; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Root {
    /// A class: the field is static.
    Class,
    Parameter(u16),
    /// Any other value of the method. Nobody else knows it.
    Value(Value),
}

impl Base {
    /// The base of static fields.
    pub(super) fn class() -> Self {
        Self { root: Root::Class, steps: SmallVec::new() }
    }

    /// The object that a value refers to.
    pub(super) fn of(program: &Program<'_>, body: &Body, value: Value) -> Self {
        let name = |field: FieldRefId| program.names.field_ref_data(field).name;
        match body.definition(value).operation {
            Operation::Parameter(number) => {
                Self { root: Root::Parameter(number), steps: SmallVec::new() }
            }
            Operation::Cast { value, .. } => Self::of(program, body, value),
            Operation::GetStatic { field } => Self::class().step(name(field)),
            Operation::GetField { object, field } => {
                Self::of(program, body, object).step(name(field))
            }
            _ => Self { root: Root::Value(value), steps: SmallVec::new() },
        }
    }

    fn step(mut self, field: Symbol) -> Self {
        self.steps.push(field);
        self
    }

    /// Whether it is the object that the method is called on, or hangs on that.
    pub(super) fn is_own(&self) -> bool {
        self.root == Root::Parameter(0)
    }

    /// What a base of a callee is for the caller.
    pub(super) fn outward(
        &self,
        program: &Program<'_>,
        body: &Body,
        arguments: &[Value],
    ) -> Option<Self> {
        match self.root {
            Root::Class => Some(self.clone()),
            Root::Value(_) => None,
            Root::Parameter(number) => {
                let mut base = Self::of(program, body, *arguments.get(usize::from(number))?);
                base.steps.extend(self.steps.iter().copied());
                Some(base)
            }
        }
    }
}
