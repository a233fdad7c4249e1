//! The paths from the acquisition of a lock out of the method that pass no release.
//!
//! A path remembers what it has learned: which values are zero or null and how comparisons came out, so that
//! `if (locked) lock.unlock()` at the end is taken when the flag was set on the path. Fields keep what is known of them until
//! the method itself assigns them; the lock says that it is held (`isHeldByCurrentThread`). Exceptions come from calls and
//! from `throw`; none come from calls on the lock itself, from methods of the input that neither call nor throw anything,
//! and, by assumption, from constructors.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use unsnarl_classfile::Opcode;
use unsnarl_classpath::Role;
use unsnarl_entity::EntityId;
use unsnarl_program::Program;
use unsnarl_program::body::{BlockId, Constant, Edge, Operation, StatementId, Value};
use unsnarl_program::names::Type;

use super::needs_result;
use crate::code::walk;
use crate::locks::name::{Name, NamePart, Root};
use crate::locks::uses::{Code, LockOperation, LockUse, Use};

/// The most situations that are looked at; a method with more is not judged.
const MOST_SITUATIONS: usize = 4000;

/// A way out; the worst is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Exit {
    pub(crate) kind: ExitKind,
    pub(crate) statement: StatementId,
}

/// How a method is left, the most harmless first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExitKind {
    /// By an exception that a method of a library throws.
    LibraryCall,
    /// By an exception that a method of the input throws.
    Call,
    /// By an exception that it throws.
    Throw,
    Return,
}

/// The worst way out that starts after an acquisition and comes by none of the releases.
pub(crate) fn worst_exit(
    program: &Program<'_>,
    lock_use: &LockUse,
    code: &Code,
    acquired: &Use,
    releases: &FxHashSet<StatementId>,
) -> Option<Exit> {
    let mut facts = Facts::new();
    if let Some(result) = code.body.statements[acquired.statement].result
        && needs_result(acquired)
    {
        facts.insert(Subject::Value(result), true);
    }
    let block = code.block_of(acquired.statement);
    let after = StatementId::from_index(acquired.statement.index() + 1);
    let mut search = Search {
        program,
        lock_use,
        code,
        releases,
        acquired,
        worth_knowing: FxHashSet::default(),
        seen: FxHashSet::default(),
        open: Vec::new(),
        worst: None,
    };
    search.worth_knowing = search.worth_knowing();
    facts.extend(search.decided());
    search.pass(block, after, facts);
    while let Some((block, facts)) = search.open.pop() {
        if search.seen.len() > MOST_SITUATIONS {
            return None;
        }
        let start = code.body.blocks[block].start;
        search.pass(block, start, facts);
    }
    search.worst
}

/// What is known on a way: whether a value is neither zero nor null, whether a comparison holds.
type Facts = BTreeMap<Subject, bool>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Subject {
    Value(Value),
    /// Something that has one name all through the method.
    Named(Name),
    /// A comparison, by the instruction or its opposite.
    Compared(u8, Box<Subject>, Option<Box<Subject>>),
    Constant(i32),
}

struct Search<'s, 'p> {
    program: &'s Program<'p>,
    lock_use: &'s LockUse,
    code: &'s Code,
    releases: &'s FxHashSet<StatementId>,
    acquired: &'s Use,
    /// What is tested again, or decides what a tested variable is.
    worth_knowing: FxHashSet<Subject>,
    seen: FxHashSet<(BlockId, Facts)>,
    open: Vec<(BlockId, Facts)>,
    worst: Option<Exit>,
}

impl Search<'_, '_> {
    fn worth_knowing(&self) -> FxHashSet<Subject> {
        let body = &self.code.body;
        let mut tested: FxHashSet<Subject> = FxHashSet::default();
        let mut worth: FxHashSet<Subject> = FxHashSet::default();
        let mut open: Vec<Value> = Vec::new();
        for statement in body.statements.values() {
            if let Operation::Branch { opcode, left, right, .. } = statement.operation {
                let (subject, _) = self.tested(opcode, left, right);
                open.push(left);
                if !tested.insert(subject.clone()) {
                    worth.insert(subject);
                }
            }
        }
        while let Some(value) = open.pop() {
            if let Operation::Phi(inputs) = &body.definition(value).operation
                && worth.insert(Subject::Value(value))
            {
                worth.extend(inputs.iter().map(|&input| self.subject(input)));
                open.extend(inputs.iter().copied());
            }
        }
        worth
    }

    /// What is known at the acquisition.
    fn decided(&self) -> Facts {
        let decisions = walk::decisions(self.code, self.acquired.statement);
        let facts = decisions.into_iter().filter_map(|(block, jumps)| {
            let Operation::Branch { opcode, left, right, .. } =
                self.code.body.terminator(block).operation
            else {
                return None;
            };
            let (subject, jumps_if) = self.tested(opcode, left, right);
            Some((subject, jumps == jumps_if))
        });
        facts.filter(|(subject, _)| self.worth_knowing.contains(subject)).collect()
    }

    /// Goes through a block from a statement on.
    fn pass(&mut self, block: BlockId, from: StatementId, mut facts: Facts) {
        let code = self.code;
        let end = code.body.blocks[block].end;
        for index in from.index()..end.index() {
            let statement = StatementId::from_index(index);
            if self.releases.contains(&statement) || statement == self.acquired.statement {
                return;
            }
            match &code.body.statements[statement].operation {
                Operation::Invoke { .. } | Operation::InvokeDynamic { .. } => {
                    if let Some(kind) = self.failing_call(statement) {
                        self.throw(block, Exit { kind, statement }, &facts);
                    }
                }
                Operation::PutField { value, .. } | Operation::PutStatic { value, .. } => {
                    self.assign(statement, *value, &mut facts);
                }
                Operation::Return(_) => self.leave(Exit { kind: ExitKind::Return, statement }),
                Operation::Throw(_) => {
                    self.throw(block, Exit { kind: ExitKind::Throw, statement }, &facts);
                }
                Operation::Branch { opcode, left, right, then, otherwise } => {
                    self.branch(block, (*opcode, *left, *right), [*then, *otherwise], &facts);
                }
                operation => {
                    for target in operation.targets() {
                        self.enter(Edge { from: block, exceptional: false }, target, facts.clone());
                    }
                }
            }
        }
    }

    /// How a call may end the method, if it may.
    fn failing_call(&self, call: StatementId) -> Option<ExitKind> {
        let code = self.code;
        let uses = code.uses_at(call);
        if !uses.is_empty()
            && !uses.iter().any(|it| matches!(it.action, LockOperation::Wait { .. }))
        {
            return None;
        }
        let arguments = code.body.statements[call].operation.operands();
        if arguments.first().is_some_and(|&it| self.is_lock(it)) {
            return None;
        }
        let Some(callee) = code.callee(call) else { return Some(ExitKind::Call) };
        let method = &self.program.methods()[callee];
        if method.name == self.program.names.known.init {
            return None;
        }
        let is_simple = |callee: &Code| {
            callee.body.statements.values().all(|statement| {
                use Operation::{ArrayLoad, ArrayStore, Cast, Invoke, InvokeDynamic, Throw};
                !matches!(
                    statement.operation,
                    Invoke { .. }
                        | InvokeDynamic { .. }
                        | Throw(_)
                        | ArrayLoad { .. }
                        | ArrayStore { .. }
                        | Cast { .. }
                )
            })
        };
        if self.lock_use.only_callee(code, call).is_some_and(is_simple) {
            return None;
        }
        let is_library = self.program.role(method.class) == Some(Role::Jdk);
        Some(if is_library { ExitKind::LibraryCall } else { ExitKind::Call })
    }

    fn throw(&mut self, block: BlockId, exit: Exit, facts: &Facts) {
        let code = self.code;
        for &handler in &code.body.blocks[block].handlers {
            self.enter(Edge { from: block, exceptional: true }, handler, facts.clone());
            if self.catches_all(handler) {
                return;
            }
        }
        self.leave(exit);
    }

    /// Whether a handler lets pass nothing but errors of the JVM.
    fn catches_all(&self, handler: BlockId) -> bool {
        let names = &self.program.names;
        let is_wide = |ty| match names.ty(ty) {
            Type::Class(name) => {
                ty == names.known.throwable || names.bytes(name) == b"java/lang/Exception"
            }
            _ => false,
        };
        let mut statements = self.code.body.block_statements(handler);
        statements.any(|(_, statement)| match &statement.operation {
            Operation::Catch(types) => types.is_empty() || types.iter().any(|&ty| is_wide(ty)),
            _ => false,
        })
    }

    fn leave(&mut self, exit: Exit) {
        self.worst = self.worst.max(Some(exit));
    }

    fn branch(
        &mut self,
        block: BlockId,
        (opcode, left, right): (Opcode, Value, Option<Value>),
        [then, otherwise]: [BlockId; 2],
        facts: &Facts,
    ) {
        let (subject, jumps_if) = self.tested(opcode, left, right);
        let known = facts.get(&subject).copied().or_else(|| match subject {
            Subject::Compared(..) => None,
            _ => self.constant(left).or_else(|| self.asks_lock(left).then_some(true)),
        });
        for (is_set, target) in [(jumps_if, then), (!jumps_if, otherwise)] {
            if known.is_none_or(|known| known == is_set) {
                let mut facts = facts.clone();
                if self.worth_knowing.contains(&subject) {
                    facts.insert(subject.clone(), is_set);
                }
                self.enter(Edge { from: block, exceptional: false }, target, facts);
            }
        }
    }

    /// Whether a value is what the lock says about itself, such as that it is held.
    fn asks_lock(&self, value: Value) -> bool {
        match &self.code.body.definition(value).operation {
            Operation::Invoke { arguments, .. } => match arguments[..] {
                [receiver] => self.is_lock(receiver),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether a value is the lock or a view of it.
    fn is_lock(&self, value: Value) -> bool {
        let mut name = self.code.name(value);
        let is_it = value == self.acquired.value || name == self.acquired.lock;
        is_it || matches!(name.parts.pop(), Some(NamePart::Call(_))) && name == self.acquired.lock
    }

    /// Enters a block with what is known there.
    fn enter(&mut self, edge: Edge, block: BlockId, mut facts: Facts) {
        let body = &self.code.body;
        let position = body.blocks[block].predecessors.iter().position(|other| *other == edge);
        let mut learned = Vec::new();
        for (_, statement) in body.block_statements(block) {
            let (Some(result), Operation::Phi(inputs)) = (statement.result, &statement.operation)
            else {
                continue;
            };
            let input = position.and_then(|position| inputs.get(position).copied());
            let known = input.and_then(|input| {
                let subject = self.subject(input);
                facts.get(&subject).copied().or_else(|| self.constant(input))
            });
            let subject = Subject::Value(result);
            if self.worth_knowing.contains(&subject) {
                learned.extend(known.map(|known| (subject, known)));
            }
        }
        let is_defined_here = |value: Value| {
            let definition = body.values[value].definition;
            self.code.block_of(definition) == block
        };
        facts.retain(|subject, _| !subject.is_about(&is_defined_here));
        facts.extend(learned);
        if self.seen.insert((block, facts.clone())) {
            self.open.push((block, facts));
        }
    }

    /// What an assignment of the method does to what is known.
    fn assign(&self, statement: StatementId, value: Value, facts: &mut Facts) {
        let Some(field) = self.code.field(statement) else { return };
        let is_of_field = |name: &Name| {
            name.root == Root::Static(field) || name.parts.contains(&NamePart::Field(field))
        };
        facts.retain(|subject, _| !subject.has_name(&is_of_field));
        let (known, target) = (self.constant(value), self.target(statement, field));
        if let (Some(known), Some(target)) = (known, target) {
            let subject = Subject::Named(target);
            if self.worth_knowing.contains(&subject) {
                facts.insert(subject, known);
            }
        }
    }

    fn target(&self, statement: StatementId, field: unsnarl_program::FieldId) -> Option<Name> {
        match self.code.body.statements[statement].operation {
            Operation::PutField { object, .. } => {
                let mut name = self.code.name(object);
                name.parts.push(NamePart::Field(field));
                has_one_name(&name).then_some(name)
            }
            _ => Some(Name::of(Root::Static(field))),
        }
    }

    /// What a branch tests, and whether it jumps if that is so.
    fn tested(&self, opcode: Opcode, left: Value, right: Option<Value>) -> (Subject, bool) {
        match (opcode, right) {
            (Opcode::IfNe | Opcode::IfNonNull, None) => (self.subject(left), true),
            (Opcode::IfEq | Opcode::IfNull, None) => (self.subject(left), false),
            _ => {
                let opposite = opcode.negated().unwrap_or(opcode);
                let is_plain = (opcode as u8) <= (opposite as u8);
                let number = if is_plain { opcode } else { opposite } as u8;
                let right = right.map(|right| Box::new(self.subject(right)));
                (Subject::Compared(number, Box::new(self.subject(left)), right), is_plain)
            }
        }
    }

    fn subject(&self, value: Value) -> Subject {
        let body = &self.code.body;
        match body.definition(value).operation {
            Operation::Constant(Constant::Int(number)) => return Subject::Constant(number),
            Operation::Compute { opcode: Opcode::LCmp, ref operands } => {
                let is_zero = |value: Value| {
                    body.definition(value).operation == Operation::Constant(Constant::Long(0))
                };
                if let [compared, zero] = operands[..]
                    && is_zero(zero)
                {
                    return self.subject(compared);
                }
            }
            _ => {}
        }
        let name = self.code.name(value);
        if has_one_name(&name) { Subject::Named(name) } else { Subject::Value(value) }
    }

    /// Whether a constant, or something that was just made, is neither zero nor null.
    fn constant(&self, value: Value) -> Option<bool> {
        match self.code.body.definition(value).operation {
            Operation::Constant(Constant::Int(number)) => Some(number != 0),
            Operation::Constant(Constant::Long(number)) => Some(number != 0),
            Operation::Constant(Constant::Null) => Some(false),
            Operation::New(_) => Some(true),
            _ => None,
        }
    }
}

fn has_one_name(name: &Name) -> bool {
    let is_local = matches!(name.root, Root::Local(_) | Root::Meeting(_));
    !is_local
        && !name.parts.iter().any(|step| matches!(step, NamePart::Element(_) | NamePart::Call(_)))
}

impl Subject {
    fn is_about(&self, is_it: &impl Fn(Value) -> bool) -> bool {
        match self {
            Self::Value(value) => is_it(*value),
            Self::Named(_) | Self::Constant(_) => false,
            Self::Compared(_, left, right) => {
                left.is_about(is_it) || right.as_ref().is_some_and(|right| right.is_about(is_it))
            }
        }
    }

    fn has_name(&self, is_it: &impl Fn(&Name) -> bool) -> bool {
        match self {
            Self::Named(name) => is_it(name),
            Self::Value(_) | Self::Constant(_) => false,
            Self::Compared(_, left, right) => {
                left.has_name(is_it) || right.as_ref().is_some_and(|right| right.has_name(is_it))
            }
        }
    }
}
