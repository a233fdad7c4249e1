//! Loops that go over a whole array or collection, and what the rounds of a loop cannot get around. All
//! of it is read off one method, without its context.

use unsnarl_classfile::Opcode;
use unsnarl_entity::{EntityId, EntitySet};
use unsnarl_program::Program;
use unsnarl_program::body::{BlockId, Constant, InvokeKind, Operation, StatementId, Value};

use crate::facts::method::{Loop, MethodFacts};

/// A loop each round of which has another element of a container, from the first to the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sweep {
    /// Which of the loops of the method.
    pub(crate) number: usize,
    /// The array or collection.
    pub(crate) container: Value,
    pub(crate) bound: Bound,
}

/// How far a loop goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// To the end of the container.
    End,
    /// To the element before this number.
    Before(Value),
}

impl Sweep {
    /// The loop that a value is an element for.
    pub(crate) fn of(program: &Program<'_>, facts: &MethodFacts, element: Value) -> Option<Self> {
        let element = facts.uncast(element);
        let defined = facts.body.values[element].definition;
        if let Operation::ArrayLoad { array, index } = facts.body.statements[defined].operation {
            let (number, bound) = counted(facts, index)?;
            let is_length = match facts.body.definition(bound).operation {
                Operation::ArrayLength(of) => facts.strict_path(of) == facts.strict_path(array),
                _ => false,
            };
            let bound = if is_length { Bound::End } else { Bound::Before(bound) };
            return Some(Self { number, container: array, bound });
        }
        match invoked(program, facts, defined)? {
            (b"get", &[list, index]) => {
                let (number, bound) = counted(facts, index)?;
                let counts = facts.body.values[bound].definition;
                let is_size = matches!(invoked(program, facts, counts), Some((b"size", &[of]))
                    if facts.strict_path(of) == facts.strict_path(list))
                    && facts.block_of(counts) == facts.loops[number].header;
                is_size.then_some(Self { number, container: list, bound: Bound::End })
            }
            (b"next", &[iterator]) => {
                let container = iterated(program, facts, iterator)?;
                let number = innermost(facts, facts.block_of(defined))?;
                let found = &facts.loops[number];
                let (Opcode::IfEq, tested, None) = exit_test(facts, found)? else { return None };
                let test = facts.body.values[tested].definition;
                let is_it = matches!(invoked(program, facts, test), Some((b"hasNext", &[of]))
                    if of == iterator)
                    && facts.block_of(test) == found.header;
                let made = facts.body.values[iterator].definition;
                (is_it && !found.blocks.contains(facts.block_of(made))).then_some(Self {
                    number,
                    container,
                    bound: Bound::End,
                })
            }
            _ => None,
        }
    }
}

/// The container of which a value is an element, where the method itself took it out.
pub(crate) fn container_of(
    program: &Program<'_>,
    facts: &MethodFacts,
    element: Value,
) -> Option<Value> {
    let defined = facts.body.values[facts.uncast(element)].definition;
    if let Operation::ArrayLoad { array, .. } = facts.body.statements[defined].operation {
        return Some(array);
    }
    match invoked(program, facts, defined)? {
        (b"get", &[list, _]) => Some(list),
        (b"next", &[iterator]) => iterated(program, facts, iterator),
        _ => None,
    }
}

/// Container and element of a statement that puts one into the other.
pub(crate) fn put_by(
    program: &Program<'_>,
    facts: &MethodFacts,
    statement: StatementId,
) -> Option<(Value, Value)> {
    if let Operation::ArrayStore { array, value, .. } = facts.body.statements[statement].operation {
        return Some((array, value));
    }
    match invoked(program, facts, statement)? {
        (b"add" | b"addFirst" | b"addLast" | b"offer" | b"offerLast" | b"push", &[to, element]) => {
            Some((to, element))
        }
        _ => None,
    }
}

/// Name and arguments of a call on an object.
pub(crate) fn invoked<'f>(
    program: &'f Program<'_>,
    facts: &'f MethodFacts,
    statement: StatementId,
) -> Option<(&'f [u8], &'f [Value])> {
    match &facts.body.statements[statement].operation {
        Operation::Invoke { kind, method, arguments } if *kind != InvokeKind::Static => {
            let name = program.names.method_ref_data(*method).name;
            Some((program.names.bytes(name), arguments))
        }
        _ => None,
    }
}

/// The loop whose rounds a number counts, from zero by one, and the number that ends it.
pub(crate) fn counted(facts: &MethodFacts, index: Value) -> Option<(usize, Value)> {
    let defined = facts.body.values[index].definition;
    let Operation::Phi(inputs) = &facts.body.statements[defined].operation else { return None };
    let header = facts.block_of(defined);
    let number = facts.loops.iter().position(|found| found.header == header)?;
    let found = &facts.loops[number];
    let edges = &facts.body.blocks[header].predecessors;
    let is_counted = edges.iter().zip(inputs).all(|(edge, &input)| {
        match &facts.body.definition(input).operation {
            Operation::Constant(Constant::Int(0)) => !found.blocks.contains(edge.from),
            Operation::Compute { opcode: Opcode::IAdd, operands } => {
                found.blocks.contains(edge.from)
                    && matches!(operands[..], [from, by] if from == index
                        && constant(facts, by) == Some(1))
            }
            _ => false,
        }
    });
    match exit_test(facts, found)? {
        (Opcode::IfICmpGe | Opcode::IfICmpEq, left, Some(bound)) if left == index => {
            is_counted.then_some((number, bound))
        }
        _ => None,
    }
}

/// Whether two values are the same number or object wherever both are known.
pub(crate) fn is_same(facts: &MethodFacts, one: Value, other: Value) -> bool {
    let number = constant(facts, one);
    facts.strict_path(one) == facts.strict_path(other)
        || number.is_some() && number == constant(facts, other)
}

/// The number that a value is, if it is written in the code.
pub(crate) fn constant(facts: &MethodFacts, value: Value) -> Option<i32> {
    match facts.body.definition(value).operation {
        Operation::Constant(Constant::Int(number)) => Some(number),
        _ => None,
    }
}

/// Whether there is a path from after a statement, or from the beginning, that does not execute
/// `without` to the end and gets to a statement that is looked for; the way stays in the blocks given.
pub(crate) fn is_avoidable(
    facts: &MethodFacts,
    start: Option<StatementId>,
    without: StatementId,
    within: Option<&EntitySet<BlockId>>,
    is_found: impl Fn(StatementId) -> bool,
) -> bool {
    let body = &facts.body;
    let mut seen: EntitySet<BlockId> = EntitySet::new();
    let first = match start {
        Some(start) => (facts.block_of(start), start.index() + 1),
        None => (body.entry(), 0),
    };
    let mut open = vec![first];
    while let Some((block, from)) = open.pop() {
        let mut next: Vec<BlockId> = Vec::new();
        let mut is_passed = true;
        for (id, statement) in body.block_statements(block) {
            if id.index() < from {
                continue;
            }
            if is_found(id) {
                return true;
            }
            if statement.operation.can_throw() {
                next.extend(&body.blocks[block].handlers);
            }
            if id == without {
                is_passed = false;
                break;
            }
        }
        if is_passed {
            next.extend(body.terminator(block).operation.targets());
        }
        for block in next {
            if within.is_none_or(|within| within.contains(block)) && seen.insert(block) {
                open.push((block, 0));
            }
        }
    }
    false
}

/// The collection of an iterator that is used for nothing but to go over it.
fn iterated(program: &Program<'_>, facts: &MethodFacts, iterator: Value) -> Option<Value> {
    let made = facts.body.values[iterator].definition;
    let (b"iterator", &[collection]) = invoked(program, facts, made)? else { return None };
    is_only_iterated(program, facts, iterator).then_some(collection)
}

/// Whether an iterator is asked nothing but for the next element, at one place.
pub(crate) fn is_only_iterated(
    program: &Program<'_>,
    facts: &MethodFacts,
    iterator: Value,
) -> bool {
    let mut next = 0;
    let is_harmless = facts.body.statements.iter().all(|(id, statement)| {
        if !uses(&statement.operation, iterator) {
            return true;
        }
        let call = invoked(program, facts, id);
        next += usize::from(matches!(call, Some((b"next", _))));
        matches!(call, Some((b"next" | b"hasNext", &[of])) if of == iterator)
    });
    is_harmless && next == 1
}

fn uses(operation: &Operation, value: Value) -> bool {
    match operation {
        Operation::Phi(values)
        | Operation::Compute { operands: values, .. }
        | Operation::Pure { operands: values, .. }
        | Operation::NewArray { lengths: values, .. }
        | Operation::Invoke { arguments: values, .. }
        | Operation::InvokeDynamic { arguments: values, .. } => values.contains(&value),
        Operation::PutField { object, value: put, .. } => *object == value || *put == value,
        Operation::ArrayStore { array, value: put, .. } => *array == value || *put == value,
        Operation::PutStatic { value: used, .. }
        | Operation::GetField { object: used, .. }
        | Operation::ArrayLoad { array: used, .. }
        | Operation::ArrayLength(used)
        | Operation::Cast { value: used, .. }
        | Operation::InstanceOf { value: used, .. }
        | Operation::MonitorEnter(used)
        | Operation::MonitorExit(used)
        | Operation::Switch { value: used, .. }
        | Operation::Throw(used) => *used == value,
        Operation::Branch { left, right, .. } => *left == value || *right == Some(value),
        Operation::Return(used) => *used == Some(value),
        Operation::Parameter(_)
        | Operation::Catch(_)
        | Operation::Constant(_)
        | Operation::GetStatic { .. }
        | Operation::New(_)
        | Operation::Goto(_) => false,
    }
}

/// The test at the head of a loop, put so that the loop ends when it holds.
fn exit_test(facts: &MethodFacts, found: &Loop) -> Option<(Opcode, Value, Option<Value>)> {
    let Operation::Branch { opcode, left, right, then, otherwise } =
        facts.body.terminator(found.header).operation
    else {
        return None;
    };
    match (found.blocks.contains(then), found.blocks.contains(otherwise)) {
        (false, true) => Some((opcode, left, right)),
        (true, false) => Some((opcode.negated()?, left, right)),
        _ => None,
    }
}

/// The smallest loop around a block.
fn innermost(facts: &MethodFacts, block: BlockId) -> Option<usize> {
    let around = facts.loops.iter().enumerate().filter(|(_, found)| found.blocks.contains(block));
    around.min_by_key(|(_, found)| found.blocks.len()).map(|(number, _)| number)
}
