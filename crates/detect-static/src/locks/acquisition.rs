//! What the code around an acquisition says: which value is locked, which others the method locks, and whether it
//! compares them first.

use smallvec::SmallVec;
use unsnarl_classfile::{Opcode, flags};
use unsnarl_models::Effect;
use unsnarl_program::body::{Body, InvokeKind, Operation, StatementId, Value};
use unsnarl_program::heap::{InstanceId, ObjectId};
use unsnarl_symbolic::{LockEvent, LockEventId};

use crate::code;
use crate::wording::describe::Describe;

/// How far back a value is followed.
const MOST_STEPS: usize = 32;

type Values = SmallVec<[Value; 4]>;

/// Whether the method that acquires a lock has compared it with the other locks that it takes, such as by a number
/// that each has.
pub(crate) fn is_ordered(describe: &Describe<'_, '_>, event: &LockEvent) -> bool {
    let Some(body) = code::body(describe.program, &describe.execution.heap, event.instance) else {
        return false;
    };
    let Some(acquired) = locked_value(describe, body, event.instance, event.statement) else {
        return false;
    };
    let held = body.statements.keys().filter(|&statement| statement != event.statement);
    let mut held = held.filter_map(|held| locked_value(describe, body, event.instance, held));
    held.any(|held| compares(body, acquired, held))
}

/// How the code knows two locks that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// By two variables that have nothing to do with each other.
    Independent,
    /// The one by way of the other.
    Derived,
    /// They are not taken in one method.
    Apart,
}

/// How the method that acquires a lock knows it and the one that is held; for a synchronized method the one that calls
/// it.
pub(crate) fn pairing(describe: &Describe<'_, '_>, event: LockEventId, held: ObjectId) -> Pairing {
    let data = describe.lock_event(event);
    let heap = &describe.execution.heap;
    let own = (data.instance, data.statement);
    let locked = |(instance, statement): (InstanceId, StatementId)| {
        let body = code::body(describe.program, heap, instance)?;
        Some((instance, body, locked_value(describe, body, instance, statement)?))
    };
    let called = || {
        let (instance, call) = describe.execution.lock_caller(event)?;
        let body = code::body(describe.program, heap, instance)?;
        match &body.statements[call].operation {
            Operation::Invoke { arguments, .. } => Some((instance, body, *arguments.first()?)),
            _ => None,
        }
    };
    let Some((instance, body, acquired)) = locked(own).or_else(called) else {
        return Pairing::Apart;
    };
    let is_synchronized = {
        let method = &describe.program.methods()[describe.method_of(instance)];
        method.access & flags::SYNCHRONIZED != 0 && method.access & flags::STATIC == 0
    };
    let others = body.statements.iter().filter_map(|(id, statement)| match statement.operation {
        Operation::Parameter(0) if is_synchronized => statement.result,
        _ => locked_value(describe, body, instance, id),
    });
    let mut others = others
        .filter(|&other| first_load(body, other) != first_load(body, acquired))
        .filter(|&other| heap.points_to(instance, other).binary_search(&held).is_ok())
        .peekable();
    let is_derived = |one: Value, other: Value| {
        let derived = followed(body, SmallVec::from_slice(&[one]), |_| true);
        origins(body, other).iter().any(|value| derived.contains(value))
    };
    let is_chosen = |one: Value| matches!(body.definition(one).operation, Operation::Phi(_));
    match others.peek() {
        None => Pairing::Apart,
        Some(_) => {
            let is_independent = |other: Value| {
                is_chosen(other) || !is_derived(acquired, other) && !is_derived(other, acquired)
            };
            match others.any(is_independent) {
                true => Pairing::Independent,
                false => Pairing::Derived,
            }
        }
    }
}

/// The value whose lock a statement takes.
fn locked_value(
    describe: &Describe<'_, '_>,
    body: &Body,
    instance: InstanceId,
    statement: StatementId,
) -> Option<Value> {
    match &body.statements[statement].operation {
        Operation::MonitorEnter(value) => Some(*value),
        Operation::Invoke { arguments, .. } => {
            let models = describe.execution.heap.models_at(instance, statement).iter();
            let mut effects = models.flat_map(|call| &call.model.effects);
            let is_lock = effects.any(|effect| matches!(effect, Effect::Acquire { .. }));
            arguments.first().copied().filter(|_| is_lock)
        }
        _ => None,
    }
}

/// Whether a branch before an acquisition shows which of two values is less.
fn compares(body: &Body, acquired: Value, held: Value) -> bool {
    let mut both = origins(body, acquired);
    both.extend(origins(body, held));
    both.sort_unstable();
    both.dedup();
    both.len() > 1
        && body.statements.values().any(|statement| match statement.operation {
            Operation::Branch { opcode, left, right, .. } if is_less_or_more(opcode) => {
                let mut from: Values = SmallVec::from_slice(&[left]);
                from.extend(right);
                let known = followed(body, from, |_| true);
                both.iter().all(|value| known.contains(value))
            }
            _ => false,
        })
}

fn is_less_or_more(opcode: Opcode) -> bool {
    use Opcode::{IfGe, IfGt, IfICmpGe, IfICmpGt, IfICmpLe, IfICmpLt, IfLe, IfLt};
    matches!(opcode, IfLt | IfGe | IfGt | IfLe | IfICmpLt | IfICmpGe | IfICmpGt | IfICmpLe)
}

/// The values that a value may be, without casts and choices; sorted.
fn origins(body: &Body, value: Value) -> Values {
    let is_passed =
        |operation: &Operation| matches!(operation, Operation::Phi(_) | Operation::Cast { .. });
    let mut values = followed(body, SmallVec::from_slice(&[value]), is_passed);
    values.retain(|value| !is_passed(&body.definition(*value).operation));
    values.sort_unstable();
    values
}

/// The first load of the same field of the same object, for a load: it is taken to be the same value.
pub(crate) fn first_load(body: &Body, value: Value) -> Value {
    let operation = &body.definition(value).operation;
    if !matches!(operation, Operation::GetField { .. }) {
        return value;
    }
    let mut same = body.statements.values().filter(|statement| statement.operation == *operation);
    same.find_map(|statement| statement.result).unwrap_or(value)
}

/// These values and those that they are computed from, through operations that are passed. What is new is computed from
/// what its constructor is given.
fn followed(body: &Body, values: Values, is_passed: impl Fn(&Operation) -> bool) -> Values {
    let mut known: Values = values.into_iter().map(|value| first_load(body, value)).collect();
    let mut next = 0;
    while let Some(&value) = known.get(next) {
        next += 1;
        let operation = &body.definition(value).operation;
        if is_passed(operation) {
            let given = constructor_arguments(body, value);
            let operands = operation.operands().into_iter().chain(given);
            for operand in operands.map(|value| first_load(body, value)) {
                if known.len() < MOST_STEPS && !known.contains(&operand) {
                    known.push(operand);
                }
            }
        }
    }
    known
}

fn constructor_arguments(body: &Body, value: Value) -> Values {
    if !matches!(body.definition(value).operation, Operation::New(_)) {
        return Values::new();
    }
    let calls = body.statements.values().filter_map(|statement| match &statement.operation {
        Operation::Invoke { kind: InvokeKind::Special, arguments, .. } => Some(arguments),
        _ => None,
    });
    let own = calls.filter(|arguments| arguments.first() == Some(&value));
    own.flat_map(|arguments| arguments[1..].iter().copied()).collect()
}
