//! What the code calls a lock: `this.lock`, `Bank.LOCK`, the second parameter.
//!
//! Two values of a method with one name are taken to be one object, as a reader of the code takes them
//! to be: nobody assigns the fields in between. What meets in a phi is one too, so that a lock that is
//! handed from one variable to the next in a loop has one name.

use smallvec::SmallVec;
use unsnarl_entity::EntityId;
use unsnarl_program::FieldId;
use unsnarl_program::body::{Body, Constant, Operation, Value};
use unsnarl_program::names::{MethodRefId, TypeId};

/// How a method comes to an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name {
    pub(crate) root: Root,
    pub(crate) parts: SmallVec<[NamePart; 2]>,
}

/// Where a name begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Root {
    /// Number 0 is `this` in instance methods.
    Parameter(u16),
    Static(FieldId),
    Class(TypeId),
    /// Something that has no name outside the method.
    Local(Value),
    /// One of several values that meet.
    Meeting(Value),
}

/// How a name goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum NamePart {
    Field(FieldId),
    /// What a method without arguments returns.
    Call(MethodRefId),
    ElementAt(i32),
    Element(Value),
}

impl Name {
    pub(crate) fn of(root: Root) -> Self {
        Self { root, parts: SmallVec::new() }
    }

    fn then(mut self, step: NamePart) -> Self {
        self.parts.push(step);
        self
    }

    /// The field that holds the object, if the name says so.
    pub(crate) fn field(&self) -> Option<FieldId> {
        match (self.root, self.parts.last()) {
            (_, Some(&NamePart::Field(field))) | (Root::Static(field), None) => Some(field),
            _ => None,
        }
    }

    /// Whether the name means one and the same object all through the method.
    pub(crate) fn is_one(&self) -> bool {
        !matches!(self.root, Root::Meeting(_))
    }

    /// The name that a caller has for this one, given names for what it hands over.
    pub(crate) fn at_call(&self, argument: impl Fn(usize) -> Option<Name>) -> Option<Name> {
        let is_local = |step: &NamePart| matches!(step, NamePart::Element(_));
        if self.parts.iter().any(is_local) {
            return None;
        }
        match self.root {
            Root::Parameter(number) => {
                let mut name = argument(usize::from(number))?;
                name.parts.extend(self.parts.iter().copied());
                Some(name)
            }
            Root::Static(_) | Root::Class(_) => Some(self.clone()),
            Root::Local(_) | Root::Meeting(_) => None,
        }
    }
}

/// The names of the values of one method.
#[derive(Debug)]
pub(crate) struct Names {
    /// For each value that meets others the one that stands for all of them.
    meeting: Vec<Option<Value>>,
}

impl Names {
    pub(crate) fn new(body: &Body, has_this: bool) -> Self {
        let mut parents: Vec<Value> = body.values.keys().collect();
        let mut meets = vec![false; parents.len()];
        for statement in body.statements.values() {
            let (Operation::Phi(inputs), Some(result)) = (&statement.operation, statement.result)
            else {
                continue;
            };
            meets[result.index()] = true;
            for &input in inputs {
                let is_apart = match body.definition(input).operation {
                    Operation::Constant(_) => true,
                    Operation::Parameter(0) => has_this,
                    _ => false,
                };
                if !is_apart {
                    let (one, other) = (find(&mut parents, input), find(&mut parents, result));
                    parents[one.index()] = other;
                }
            }
        }
        let roots: Vec<Value> = body.values.keys().map(|value| find(&mut parents, value)).collect();
        let mut is_met = vec![false; roots.len()];
        for (index, root) in roots.iter().enumerate() {
            is_met[root.index()] |= meets[index];
        }
        let meeting = roots.iter().map(|root| is_met[root.index()].then_some(*root));
        Self { meeting: meeting.collect() }
    }

    /// What the method calls a value. `field` resolves the field of the statement that defines a value.
    pub(crate) fn name(
        &self,
        body: &Body,
        value: Value,
        field: &impl Fn(Value) -> Option<FieldId>,
    ) -> Name {
        if let Some(meeting) = self.meeting[value.index()] {
            return Name::of(Root::Meeting(meeting));
        }
        let local = Name::of(Root::Local(value));
        let name = |value: Value| self.name(body, value, field);
        match body.definition(value).operation {
            Operation::Parameter(number) => Name::of(Root::Parameter(number)),
            Operation::Constant(Constant::Class(ty)) => Name::of(Root::Class(ty)),
            Operation::Cast { value, .. } => name(value),
            Operation::GetStatic { .. } => {
                field(value).map_or(local, |field| Name::of(Root::Static(field)))
            }
            Operation::GetField { object, .. } => {
                field(value).map_or(local, |field| name(object).then(NamePart::Field(field)))
            }
            Operation::ArrayLoad { array, index } => match body.definition(index).operation {
                Operation::Constant(Constant::Int(at)) => name(array).then(NamePart::ElementAt(at)),
                _ => name(array).then(NamePart::Element(index)),
            },
            Operation::Invoke { method, ref arguments, .. } => match arguments[..] {
                [receiver] => name(receiver).then(NamePart::Call(method)),
                _ => local,
            },
            _ => local,
        }
    }
}

fn find(parents: &mut [Value], mut value: Value) -> Value {
    while parents[value.index()] != value {
        let above = parents[parents[value.index()].index()];
        parents[value.index()] = above;
        value = above;
    }
    value
}
