//! What the code around an acquisition says: which value is locked, which others the method locks, and whether it
//! compares them first.

use smallvec::SmallVec;
use unsnarl_classfile::{Opcode, flags};
use unsnarl_models::Effect;
use unsnarl_program::MethodId;
use unsnarl_program::body::{Body, Operation, StatementId, Value};
use unsnarl_program::heap::InstanceId;
use unsnarl_symbolic::{LockEvent, LockEventId};

use crate::code;
use crate::describe::Describe;

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

/// Whether an acquisition and that of another lock are in one method, or in a method that is synchronized, and are of
/// different variables of it.
pub(crate) fn takes_both(describe: &Describe<'_, '_>, event: LockEventId) -> bool {
    let data = describe.lock_event(event);
    let method = describe.method_of(data.instance);
    let Some(body) = describe.program.lowered_body(method) else { return false };
    if let Some(acquired) = locked_value(describe, body, data.instance, data.statement) {
        let others = body.statements.keys().filter(|&other| other != data.statement);
        let mut others =
            others.filter_map(|other| locked_value(describe, body, data.instance, other));
        return others.any(|other| origins(body, other) != origins(body, acquired))
            || is_own_monitor_other(describe, method, body, acquired);
    }
    // The lock of a synchronized method: the caller says whose.
    let stack = describe.execution.lock_stack(event);
    let Some(&(caller, call)) = stack.get(1) else { return false };
    let Some(body) = describe.program.lowered_body(caller) else { return false };
    let Operation::Invoke { arguments, .. } = &body.statements[call].operation else {
        return false;
    };
    arguments.first().is_some_and(|&acquired| {
        let monitors = body.statements.values().filter_map(|statement| match statement.operation {
            Operation::MonitorEnter(value) => Some(value),
            _ => None,
        });
        monitors.into_iter().any(|other| origins(body, other) != origins(body, acquired))
            || is_own_monitor_other(describe, caller, body, acquired)
    })
}

/// Whether a method is synchronized, and a value is not the object that it is called on.
fn is_own_monitor_other(
    describe: &Describe<'_, '_>,
    method: MethodId,
    body: &Body,
    acquired: Value,
) -> bool {
    let is_this = |value: &Value| body.definition(*value).operation == Operation::Parameter(0);
    let access = describe.program.methods()[method].access;
    access & flags::SYNCHRONIZED != 0
        && access & flags::STATIC == 0
        && !origins(body, acquired).iter().any(is_this)
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

/// Whether a branch before an acquisition tells which of two values is less.
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
                let known =
                    followed(body, from, |operation| !matches!(operation, Operation::New(_)));
                both.iter().all(|value| known.contains(value))
            }
            _ => false,
        })
}

fn is_less_or_more(opcode: Opcode) -> bool {
    use Opcode::{IfGe, IfGt, IfICmpGe, IfICmpGt, IfICmpLe, IfICmpLt, IfLe, IfLt};
    matches!(opcode, IfLt | IfGe | IfGt | IfLe | IfICmpLt | IfICmpGe | IfICmpGt | IfICmpLe)
}

/// The values that a value may be, behind casts and choices; sorted.
fn origins(body: &Body, value: Value) -> Values {
    let is_passed =
        |operation: &Operation| matches!(operation, Operation::Phi(_) | Operation::Cast { .. });
    let mut values = followed(body, SmallVec::from_slice(&[value]), is_passed);
    values.retain(|value| !is_passed(&body.definition(*value).operation));
    values.sort_unstable();
    values
}

/// The first load of the same field of the same object, for a load: it is taken to be the same value.
fn first_load(body: &Body, value: Value) -> Value {
    let operation = &body.definition(value).operation;
    if !matches!(operation, Operation::GetField { .. }) {
        return value;
    }
    let mut same = body.statements.values().filter(|statement| statement.operation == *operation);
    same.find_map(|statement| statement.result).unwrap_or(value)
}

/// These values and those that they are computed from, through operations that are passed.
fn followed(body: &Body, values: Values, is_passed: impl Fn(&Operation) -> bool) -> Values {
    let mut known: Values = values.into_iter().map(|value| first_load(body, value)).collect();
    let mut next = 0;
    while let Some(&value) = known.get(next) {
        next += 1;
        let operation = &body.definition(value).operation;
        if is_passed(operation) {
            for operand in operation.operands().into_iter().map(|value| first_load(body, value)) {
                if known.len() < MOST_STEPS && !known.contains(&operand) {
                    known.push(operand);
                }
            }
        }
    }
    known
}
