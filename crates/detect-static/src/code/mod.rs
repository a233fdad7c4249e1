//! What the code of one method says, whoever runs it: this file, which value a statement writes and whether it depends
//! on the old one; [`dependence`], how two statements depend on each other; [`walk`], where control goes.

pub(crate) mod dependence;
pub(crate) mod walk;

use smallvec::SmallVec;
use unsnarl_entity::EntitySet;
use unsnarl_program::body::{BlockId, Body, Constant, Operation, StatementId, Value};
use unsnarl_program::heap::{Heap, InstanceId};
use unsnarl_program::names::{FieldRefId, Names};
use unsnarl_program::{MethodId, Program};

/// A statement of a method, whoever runs it.
pub(crate) type Site = (MethodId, StatementId);

/// How far back a value is followed.
const MOST_STEPS: usize = 32;

/// The body of a method in a context.
pub(crate) fn body<'p>(
    program: &'p Program<'_>,
    heap: &Heap<'_>,
    instance: InstanceId,
) -> Option<&'p Body> {
    program.lowered_body(heap.instances[instance].method).map(|body| &**body)
}

/// The value that a statement stores.
pub(crate) fn stored_value(body: &Body, statement: StatementId) -> Option<Value> {
    match body.statements[statement].operation {
        Operation::PutField { value, .. }
        | Operation::PutStatic { value, .. }
        | Operation::ArrayStore { value, .. } => Some(value),
        _ => None,
    }
}

/// The constant that a statement stores, if it is one.
pub(crate) fn stored_constant(body: &Body, statement: StatementId) -> Option<Constant> {
    match body.definition(stored_value(body, statement)?).operation {
        Operation::Constant(constant) => Some(constant),
        _ => None,
    }
}

/// Whether the value that a statement stores in a field is computed from a value of that field, as in
/// `count++`: a read, a change and a write that are not one step.
pub(crate) fn is_update(names: &Names, body: &Body, statement: StatementId) -> bool {
    let (Some(field), Some(value)) =
        (field(&body.statements[statement].operation), stored_value(body, statement))
    else {
        return false;
    };
    let mut open: SmallVec<[Value; 8]> = SmallVec::from_slice(&[value]);
    let mut seen: SmallVec<[Value; 8]> = open.clone();
    while let Some(value) = open.pop() {
        let operation = &body.definition(value).operation;
        if loads(names, operation, field) {
            return true;
        }
        let is_computed = matches!(
            operation,
            Operation::Compute { .. } | Operation::Phi(_) | Operation::Cast { .. }
        );
        if is_computed || matches!(operation, Operation::Pure { .. }) {
            for operand in operation.operands() {
                if seen.len() < MOST_STEPS && !seen.contains(&operand) {
                    seen.push(operand);
                    open.push(operand);
                }
            }
        }
    }
    false
}

/// Whether the method that stores in a field also tests the field, as lazy initialization does.
pub(crate) fn is_tested(names: &Names, body: &Body, statement: StatementId) -> bool {
    let Some(field) = field(&body.statements[statement].operation) else { return false };
    body.statements.values().any(|other| match &other.operation {
        Operation::Branch { left, right, .. } => {
            [Some(*left), *right].into_iter().flatten().any(|value| {
                let tested = &body.definition(value).operation;
                loads(names, tested, field)
                    || matches!(tested, Operation::Compute { operands, .. } if operands.iter()
                        .any(|&operand| loads(names, &body.definition(operand).operation, field)))
            })
        }
        _ => false,
    })
}

/// Whether a method can return without coming to a statement.
pub(crate) fn is_avoidable(body: &Body, statement: StatementId) -> bool {
    let is_in = |block: BlockId| body.block_statements(block).any(|(id, _)| id == statement);
    let mut seen: EntitySet<BlockId> = EntitySet::new();
    let mut open = vec![body.entry()];
    while let Some(block) = open.pop() {
        if is_in(block) || !seen.insert(block) {
            continue;
        }
        let operation = &body.terminator(block).operation;
        if matches!(operation, Operation::Return(_)) {
            return true;
        }
        open.extend(operation.targets());
    }
    false
}

/// Whether control comes to a statement only by way of others.
pub(crate) fn is_always_after(
    body: &Body,
    late: StatementId,
    early: impl Iterator<Item = StatementId>,
) -> bool {
    let block_of = |statement: StatementId| {
        let mut blocks = body.blocks.iter();
        blocks.find(|(_, block)| (block.start..block.end).contains(&statement)).map(|(id, _)| id)
    };
    let Some(last) = block_of(late) else { return false };
    let mut passed: EntitySet<BlockId> = EntitySet::new();
    for statement in early {
        let Some(block) = block_of(statement) else { continue };
        if block != last {
            passed.insert(block);
        } else if statement < late {
            return true;
        }
    }
    let mut open = vec![body.entry()];
    while let Some(block) = open.pop() {
        if block == last {
            return false;
        }
        if passed.insert(block) {
            open.extend(body.successors(block));
        }
    }
    true
}

fn field(operation: &Operation) -> Option<FieldRefId> {
    match *operation {
        Operation::PutField { field, .. }
        | Operation::PutStatic { field, .. }
        | Operation::GetField { field, .. }
        | Operation::GetStatic { field } => Some(field),
        _ => None,
    }
}

/// Whether an operation reads the field that another reference names. The classes of the references
/// may differ where one goes through a subclass.
fn loads(names: &Names, operation: &Operation, wanted: FieldRefId) -> bool {
    let is_load = matches!(operation, Operation::GetField { .. } | Operation::GetStatic { .. });
    is_load
        && field(operation).is_some_and(|found| {
            let (found, wanted) = (names.field_ref_data(found), names.field_ref_data(wanted));
            found.name == wanted.name && found.ty == wanted.ty
        })
}
