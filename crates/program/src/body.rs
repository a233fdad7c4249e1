//! Method bodies in static single assignment form.
//!
//! A body is a list of basic blocks; a block is a list of statements of which the last ends it.
//! A statement defines at most one value, and every value is defined by exactly one statement. Phis
//! stand at the front of their block, with one input for each predecessor edge, in that order.
//!
//! **Exceptions.** A block has exceptional successors besides those of its terminator. The exceptional
//! edge may be taken at any statement of the block that can throw ([`Operation::can_throw`]). The
//! lowering ends a block after every assignment to a local variable inside a protected range, so that
//! the variables have one and the same value at all these statements: that of the block's entry.

use smallvec::SmallVec;
use unsnarl_classfile::{Opcode, Pc};
use unsnarl_entity::{PrimaryMap, entity_id};

use crate::names::{FieldRefId, MethodRefId, Names, Symbol, TypeId};

entity_id! {
    /// A basic block; the entry is `b0`.
    pub struct BlockId("b");
    /// A value; it has one definition.
    pub struct Value("v");
    /// A statement of a body.
    pub struct StatementId("s");
}

/// A few values.
pub type Values = SmallVec<[Value; 4]>;

/// The body of a method.
#[derive(Clone, Debug)]
pub struct Body {
    /// The blocks in reverse postorder: but for loops, a block comes after its predecessors.
    pub blocks: PrimaryMap<BlockId, Block>,
    /// The statements of all blocks, block after block.
    pub statements: PrimaryMap<StatementId, Statement>,
    /// The values.
    pub values: PrimaryMap<Value, ValueData>,
}

/// A basic block.
#[derive(Clone, Debug)]
pub struct Block {
    /// The first statement.
    pub start: StatementId,
    /// One past the last statement.
    pub end: StatementId,
    /// The edges that lead here; none twice.
    pub predecessors: SmallVec<[Edge; 2]>,
    /// Where an exception thrown here may be caught, in the order in which the handlers are tried.
    pub handlers: SmallVec<[BlockId; 1]>,
}

/// An edge of the control flow, seen from where it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The block that it leaves.
    pub from: BlockId,
    /// Whether it is taken by an exception.
    pub exceptional: bool,
}

/// A value.
#[derive(Clone, Copy, Debug)]
pub struct ValueData {
    /// The statement that defines it.
    pub definition: StatementId,
    /// Its static type. Where unlike classes meet in a phi it is `java.lang.Object`.
    pub ty: TypeId,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The instruction it comes from.
    pub pc: Pc,
    /// The line in the source file; 0 if it is not known.
    pub line: u16,
    /// The value that it defines.
    pub result: Option<Value>,
    /// What it does.
    pub operation: Operation,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are named by their meaning")]
pub enum Operation {
    /// An argument; number 0 is `this` in instance methods.
    Parameter(u16),
    /// One of the inputs, by the edge that was taken; in the order of [`Block::predecessors`].
    Phi(Values),
    /// The exception that was caught; it is of one of the types, of any if there is none.
    Catch(SmallVec<[TypeId; 1]>),
    Constant(Constant),
    /// Arithmetic, comparison or conversion, by its instruction.
    Compute {
        opcode: Opcode,
        operands: Values,
    },
    /// What a well-known bootstrap method computes without touching anything shared.
    Pure {
        kind: PureKind,
        operands: Values,
    },
    GetField {
        object: Value,
        field: FieldRefId,
    },
    PutField {
        object: Value,
        field: FieldRefId,
        value: Value,
    },
    GetStatic {
        field: FieldRefId,
    },
    PutStatic {
        field: FieldRefId,
        value: Value,
    },
    ArrayLoad {
        array: Value,
        index: Value,
    },
    ArrayStore {
        array: Value,
        index: Value,
        value: Value,
    },
    ArrayLength(Value),
    New(TypeId),
    /// `lengths` has one entry for each dimension that is created.
    NewArray {
        ty: TypeId,
        lengths: Values,
    },
    Invoke {
        kind: InvokeKind,
        method: MethodRefId,
        arguments: Values,
    },
    /// A call site whose bootstrap method is not a well-known one.
    InvokeDynamic {
        bootstrap: MethodRefId,
        name: Symbol,
        arguments: Values,
    },
    Cast {
        ty: TypeId,
        value: Value,
    },
    InstanceOf {
        ty: TypeId,
        value: Value,
    },
    MonitorEnter(Value),
    MonitorExit(Value),

    // The operations below end a block.
    Goto(BlockId),
    /// `right` is missing where the instruction compares with zero or null.
    Branch {
        opcode: Opcode,
        left: Value,
        right: Option<Value>,
        then: BlockId,
        otherwise: BlockId,
    },
    Switch {
        value: Value,
        cases: Box<[(i32, BlockId)]>,
        default: BlockId,
    },
    Return(Option<Value>),
    Throw(Value),
}

/// A constant; floating-point numbers as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Constant {
    Null,
    Int(i32),
    Long(i64),
    Float(u32),
    Double(u64),
    String(Symbol),
    Class(TypeId),
    /// By the kind and the member it stands for.
    MethodHandle {
        kind: u8,
        method: Option<MethodRefId>,
    },
    MethodType(Symbol),
    /// A dynamic constant, by name and bootstrap method.
    Dynamic {
        name: Symbol,
        bootstrap: MethodRefId,
    },
    /// A return address, in code that does more with it than to return; the jump is resolved.
    ReturnAddress,
}

/// What a pure call site computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PureKind {
    /// A string from the operands.
    Concatenate,
    /// `toString`, `hashCode` or `equals` of a record.
    RecordMethod(Symbol),
    /// The number of the case that fits.
    TypeSwitch,
}

/// How the target of a call is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the instructions")]
pub enum InvokeKind {
    Virtual,
    Interface,
    Special,
    Static,
}

impl Body {
    /// The block where execution begins.
    pub fn entry(&self) -> BlockId {
        self.blocks.keys().next().expect("a body has an entry block")
    }

    /// The statements of a block.
    pub fn block_statements(
        &self,
        block: BlockId,
    ) -> impl Iterator<Item = (StatementId, &Statement)> {
        use unsnarl_entity::EntityId;
        let Block { start, end, .. } = self.blocks[block];
        (start.index()..end.index()).map(|index| {
            let id = StatementId::from_index(index);
            (id, &self.statements[id])
        })
    }

    /// The last statement of a block.
    pub fn terminator(&self, block: BlockId) -> &Statement {
        use unsnarl_entity::EntityId;
        &self.statements[StatementId::from_index(self.blocks[block].end.index() - 1)]
    }

    /// The blocks that may run after this one, exceptional ones last; none twice in a row.
    pub fn successors(&self, block: BlockId) -> SmallVec<[BlockId; 4]> {
        let mut successors = self.terminator(block).operation.targets();
        successors.extend(self.blocks[block].handlers.iter().copied());
        successors
    }

    /// The element that a load certainly finds: what the same block stored just before into the same
    /// array at the same index, with nothing in between by which another thread could be heard.
    pub fn stored_element(&self, load: StatementId) -> Option<Value> {
        use unsnarl_entity::EntityId;
        let Operation::ArrayLoad { array, index } = self.statements[load].operation else {
            return None;
        };
        let is_same = |other: Value| {
            let constant = |value: Value| match self.definition(value).operation {
                Operation::Constant(Constant::Int(number)) => Some(number),
                _ => None,
            };
            other == index || constant(index).is_some_and(|number| constant(other) == Some(number))
        };
        let before = (0..load.index()).rev().map(StatementId::from_index);
        for statement in before.map(|id| &self.statements[id]) {
            match statement.operation {
                Operation::ArrayStore { array: to, index: at, value } => {
                    return (to == array && is_same(at)).then_some(value);
                }
                Operation::Invoke { .. }
                | Operation::InvokeDynamic { .. }
                | Operation::GetField { .. }
                | Operation::GetStatic { .. }
                | Operation::MonitorEnter(_) => return None,
                ref other if other.is_terminator() => return None,
                _ => {}
            }
        }
        None
    }

    /// The statement that defines a value.
    pub fn definition(&self, value: Value) -> &Statement {
        &self.statements[self.values[value].definition]
    }
}

impl Operation {
    /// Whether it ends a block.
    pub fn is_terminator(&self) -> bool {
        matches!(
            self,
            Self::Goto(_)
                | Self::Branch { .. }
                | Self::Switch { .. }
                | Self::Return(_)
                | Self::Throw(_)
        )
    }

    /// Whether it can throw an exception, errors of the JVM itself aside.
    pub fn can_throw(&self) -> bool {
        match self {
            Self::Parameter(_)
            | Self::Phi(_)
            | Self::Catch(_)
            | Self::InstanceOf { .. }
            | Self::Goto(_)
            | Self::Branch { .. }
            | Self::Switch { .. }
            | Self::Return(_) => false,
            Self::Constant(constant) => matches!(
                constant,
                Constant::Class(_)
                    | Constant::MethodHandle { .. }
                    | Constant::MethodType(_)
                    | Constant::Dynamic { .. }
            ),
            Self::Compute { opcode, .. } => {
                matches!(opcode, Opcode::IDiv | Opcode::IRem | Opcode::LDiv | Opcode::LRem)
            }
            _ => true,
        }
    }

    /// Where a terminator leads to.
    pub fn targets(&self) -> SmallVec<[BlockId; 4]> {
        match self {
            Self::Goto(target) => SmallVec::from_slice(&[*target]),
            Self::Branch { then, otherwise, .. } => SmallVec::from_slice(&[*then, *otherwise]),
            Self::Switch { cases, default, .. } => {
                cases.iter().map(|&(_, target)| target).chain([*default]).collect()
            }
            _ => SmallVec::new(),
        }
    }

    /// The values that it uses.
    pub fn operands(&self) -> Values {
        let mut operands = Values::new();
        self.clone().for_each_operand(|value| operands.push(*value));
        operands
    }

    /// Visits the values that it uses, for change.
    pub fn for_each_operand(&mut self, mut visit: impl FnMut(&mut Value)) {
        match self {
            Self::Parameter(_)
            | Self::Catch(_)
            | Self::Constant(_)
            | Self::GetStatic { .. }
            | Self::New(_)
            | Self::Goto(_)
            | Self::Return(None) => {}
            Self::Phi(values)
            | Self::Compute { operands: values, .. }
            | Self::Pure { operands: values, .. }
            | Self::NewArray { lengths: values, .. }
            | Self::Invoke { arguments: values, .. }
            | Self::InvokeDynamic { arguments: values, .. } => values.iter_mut().for_each(visit),
            Self::GetField { object: value, .. }
            | Self::PutStatic { value, .. }
            | Self::ArrayLength(value)
            | Self::Cast { value, .. }
            | Self::InstanceOf { value, .. }
            | Self::MonitorEnter(value)
            | Self::MonitorExit(value)
            | Self::Switch { value, .. }
            | Self::Return(Some(value))
            | Self::Throw(value) => visit(value),
            Self::PutField { object, value, .. } => {
                visit(object);
                visit(value);
            }
            Self::ArrayLoad { array, index } => {
                visit(array);
                visit(index);
            }
            Self::ArrayStore { array, index, value } => {
                visit(array);
                visit(index);
                visit(value);
            }
            Self::Branch { left, right, .. } => {
                visit(left);
                right.as_mut().map(visit);
            }
        }
    }
}

/// The least type that two values of these types share, as far as it is known without the hierarchy.
pub(crate) fn join_types(names: &Names, left: TypeId, right: TypeId) -> TypeId {
    let known = &names.known;
    match (left, right) {
        _ if left == right => left,
        _ if left == known.null => right,
        _ if right == known.null => left,
        _ if names.is_reference(left) && names.is_reference(right) => known.object,
        // boolean, byte, char and short are ints on the stack.
        _ => known.int,
    }
}
