//! What the code of one method says about two of its steps: which comes first, whether they are about one
//! object, and whether what the second does depends on what the first has found out.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_entity::EntitySet;
use unsnarl_program::body::{BlockId, Body, InvokeKind, Operation, StatementId, Value};
use unsnarl_program::names::Names;

/// The body of a method, to be asked about two of its statements.
pub(crate) struct Dependence<'b> {
    names: &'b Names,
    body: &'b Body,
    /// The blocks that control may get to from each, as far as that was asked.
    reached: RefCell<FxHashMap<BlockId, Rc<EntitySet<BlockId>>>>,
}

impl<'b> Dependence<'b> {
    pub(crate) fn new(names: &'b Names, body: &'b Body) -> Self {
        Self { names, body, reached: RefCell::default() }
    }

    /// Whether control may get from one statement to another.
    pub(crate) fn precedes(&self, first: StatementId, second: StatementId) -> bool {
        let (from, to) = (self.block_of(first), self.block_of(second));
        from == to && first < second || self.reached(from).contains(to)
    }

    /// Whether one of the second statements uses a value that one of the first found out, or is done only
    /// on some outcome of it.
    pub(crate) fn depends(&self, first: &[StatementId], second: &[StatementId]) -> bool {
        let values = self.derived(first);
        let uses = |id: &StatementId| {
            let operands = self.body.statements[*id].operation.operands();
            !first.contains(id) && operands.iter().any(|value| values.contains(value))
        };
        second.iter().any(uses)
            || second.first().is_some_and(|&second| self.is_decided(&values, second))
    }

    /// Whether a statement is done only on some outcome of others.
    pub(crate) fn is_tested(&self, first: &[StatementId], second: StatementId) -> bool {
        self.is_decided(&self.derived(first), second)
    }

    /// Whether the result of a statement is tested.
    pub(crate) fn is_asked(&self, statement: StatementId) -> bool {
        let values = self.derived(&[statement]);
        self.body.statements.values().any(|statement| {
            matches!(statement.operation, Operation::Branch { .. } | Operation::Switch { .. })
                && statement.operation.operands().iter().any(|value| values.contains(value))
        })
    }

    fn is_decided(&self, values: &FxHashSet<Value>, statement: StatementId) -> bool {
        let block = self.block_of(statement);
        self.body.blocks.keys().any(|at| {
            let operation = &self.body.terminator(at).operation;
            matches!(operation, Operation::Branch { .. } | Operation::Switch { .. })
                && operation.operands().iter().any(|value| values.contains(value))
                && self.decides(at, block)
        })
    }

    /// Whether two statements that take a lock or call a method may mean the same object, as far as one can see
    /// from the references that they use. `can_be` says which references may be to the object.
    pub(crate) fn may_be_same(
        &self,
        first: StatementId,
        second: StatementId,
        can_be: impl Fn(Value) -> bool,
    ) -> bool {
        let reference = |statement: StatementId| {
            let arguments = self.references(statement);
            let direct = arguments.iter().copied().find(|&argument| can_be(argument));
            direct.or_else(|| self.receiver(statement))
        };
        let (Some(first), Some(second)) = (reference(first), reference(second)) else {
            return true;
        };
        self.begins_with(first, second) || self.begins_with(second, first)
    }

    /// Whether a reference is another, or was loaded or got from what that refers to, as an iterator is.
    fn begins_with(&self, mut value: Value, start: Value) -> bool {
        loop {
            if self.is_same(value, start) {
                return true;
            }
            match &self.body.definition(self.uncast(value)).operation {
                Operation::GetField { object, .. } => value = *object,
                Operation::Invoke { kind, arguments, .. }
                    if *kind != InvokeKind::Static && !arguments.is_empty() =>
                {
                    value = arguments[0];
                }
                _ => return false,
            }
        }
    }

    fn is_same(&self, one: Value, other: Value) -> bool {
        let (one, other) = (self.uncast(one), self.uncast(other));
        let field = |reference| {
            let data = self.names.field_ref_data(reference);
            (data.name, data.ty)
        };
        one == other
            || match (&self.body.definition(one).operation, &self.body.definition(other).operation)
            {
                (Operation::Parameter(one), Operation::Parameter(other)) => one == other,
                (Operation::GetStatic { field: one }, Operation::GetStatic { field: other }) => {
                    field(*one) == field(*other)
                }
                (
                    Operation::GetField { object, field: one },
                    Operation::GetField { object: base, field: other },
                ) => field(*one) == field(*other) && self.is_same(*object, *base),
                // A getter that is called twice.
                (
                    Operation::Invoke { method: one, arguments, .. },
                    Operation::Invoke { method: other, arguments: others, .. },
                ) => {
                    one == other
                        && arguments
                            .iter()
                            .zip(others)
                            .all(|(one, other)| self.is_same(*one, *other))
                }
                (Operation::Constant(one), Operation::Constant(other)) => one == other,
                _ => false,
            }
    }

    fn uncast(&self, mut value: Value) -> Value {
        while let Operation::Cast { value: inner, .. } = self.body.definition(value).operation {
            value = inner;
        }
        value
    }

    /// The references that a statement uses.
    pub(crate) fn references(&self, statement: StatementId) -> &[Value] {
        match &self.body.statements[statement].operation {
            Operation::MonitorEnter(value) => std::slice::from_ref(value),
            Operation::Invoke { arguments, .. } => arguments,
            _ => &[],
        }
    }

    fn receiver(&self, statement: StatementId) -> Option<Value> {
        match &self.body.statements[statement].operation {
            Operation::MonitorEnter(value) => Some(*value),
            Operation::Invoke { kind, arguments, .. } if *kind != InvokeKind::Static => {
                arguments.first().copied()
            }
            _ => None,
        }
    }

    /// What was computed from the results of statements, also by calls.
    fn derived(&self, statements: &[StatementId]) -> FxHashSet<Value> {
        let results = statements.iter().filter_map(|&id| self.body.statements[id].result);
        let mut values: FxHashSet<Value> = results.collect();
        let mut is_new = !values.is_empty();
        while std::mem::take(&mut is_new) {
            for statement in self.body.statements.values() {
                if let Some(result) = statement.result
                    && !values.contains(&result)
                    && statement.operation.operands().iter().any(|value| values.contains(value))
                {
                    is_new |= values.insert(result);
                }
            }
        }
        values
    }

    /// Whether a branch leads to a block or past it.
    fn decides(&self, branch: BlockId, block: BlockId) -> bool {
        let ends = |blocks: &EntitySet<BlockId>| {
            blocks
                .iter()
                .any(|at| matches!(self.body.terminator(at).operation, Operation::Return(_)))
        };
        branch != block
            && self.reached(branch).contains(block)
            && ends(&self.reachable(branch, Some(block)))
    }

    /// The blocks that control may get to from the end of one.
    fn reached(&self, from: BlockId) -> Rc<EntitySet<BlockId>> {
        let mut known = self.reached.borrow_mut();
        Rc::clone(known.entry(from).or_insert_with(|| Rc::new(self.reachable(from, None))))
    }

    /// The same, not through another.
    fn reachable(&self, from: BlockId, past: Option<BlockId>) -> EntitySet<BlockId> {
        let mut seen: EntitySet<BlockId> = EntitySet::new();
        let mut open = vec![from];
        while let Some(block) = open.pop() {
            for next in self.body.successors(block) {
                if Some(next) != past && seen.insert(next) {
                    open.push(next);
                }
            }
        }
        seen
    }

    fn block_of(&self, statement: StatementId) -> BlockId {
        let blocks = self.body.blocks.iter();
        let mut found = blocks.filter(|(_, block)| (block.start..block.end).contains(&statement));
        found.next().map_or(self.body.entry(), |(id, _)| id)
    }
}
