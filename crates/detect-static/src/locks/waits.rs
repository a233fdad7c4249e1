//! The waits of the input: whether they are repeated, and what is tested before them.
//!
//! Both are asked between the place where the lock is acquired and the place where it is released: a
//! condition that is tested in front of that may have changed, and so may one that is tested after it.

use std::collections::BTreeSet;

use unsnarl_classfile::Opcode;
use unsnarl_program::body::{BlockId, Constant, Operation, StatementId, Value};
use unsnarl_program::names::Names;

use crate::code::walk::{Walk, is_in_loop};
use crate::locks::name::{Name, NamePart, Root};
use crate::locks::uses::{Code, LockOperation, LockUse, Use};

/// How deep a tested expression is looked at.
const DEEPEST: usize = 4;

/// A wait and what is around it.
pub(crate) struct WaitSite<'l> {
    pub(crate) code: &'l Code,
    pub(crate) wait: &'l Use,
    pub(crate) is_timed: bool,
    /// It is come to again with the lock held all the time, but for the wait itself.
    pub(crate) is_repeated: bool,
    /// It is come to again, but the lock is released in between.
    pub(crate) is_in_outer_loop: bool,
    /// Something is done after it before the lock is released.
    pub(crate) is_relied_on: bool,
    /// The lock is held when the method is called, and it is always called in a loop.
    pub(crate) is_called_in_loop: bool,
    /// The branches that lead to the wait or around it, and whether they jump to it.
    guards: Vec<(BlockId, bool)>,
}

/// All waits of the input.
pub(crate) fn waits(lock_use: &LockUse) -> impl Iterator<Item = WaitSite<'_>> {
    lock_use.methods.iter().flat_map(move |code| {
        code.uses.iter().filter_map(move |wait| match wait.action {
            LockOperation::Wait { timed, is_monitor } => {
                Some(WaitSite::new(lock_use, code, wait, timed, is_monitor))
            }
            _ => None,
        })
    })
}

impl<'l> WaitSite<'l> {
    fn new(
        lock_use: &LockUse,
        code: &'l Code,
        wait: &'l Use,
        is_timed: bool,
        is_monitor: bool,
    ) -> Self {
        let bounds: BTreeSet<StatementId> = code
            .uses
            .iter()
            .filter(|it| match it.action {
                LockOperation::Enter | LockOperation::Exit => is_monitor && it.lock == wait.lock,
                LockOperation::Acquire { .. } | LockOperation::Release { .. } => !is_monitor,
                _ => false,
            })
            .map(|it| it.statement)
            .collect();
        let walk = Walk { code, bounds: &bounds };
        let is_repeated = walk.comes_again(wait.statement);
        let is_in_outer_loop = !is_repeated && is_in_loop(code, wait.statement);
        let holds_by_itself = !bounds.is_empty() || code.own_monitor().as_ref() == Some(&wait.lock);
        let mut callers = lock_use.callers(code.method).peekable();
        let is_called_in_loop = !holds_by_itself
            && callers.peek().is_some()
            && callers.all(|(caller, call)| is_in_loop(caller, call));
        let is_relied_on = walk.acts_after(wait.statement);
        let guards = walk.guards(wait.statement);
        Self {
            code,
            wait,
            is_timed,
            is_repeated,
            is_in_outer_loop,
            is_relied_on,
            is_called_in_loop,
            guards,
        }
    }

    /// Whether anything is tested before the wait.
    pub(crate) fn is_guarded(&self) -> bool {
        !self.guards.is_empty()
    }

    /// What must hold to wait, one text for each test of something that other methods know as well.
    pub(crate) fn conditions(&self, names: &Names) -> BTreeSet<String> {
        let tests = self.guards.iter().filter_map(|&(block, jumps)| {
            let Operation::Branch { opcode, left, right, .. } =
                self.code.body.terminator(block).operation
            else {
                return None;
            };
            let opcode = if jumps { Some(opcode) } else { opcode.negated() }?;
            test(names, self.code, opcode, left, right)
        });
        tests.collect()
    }
}

/// A test as text that is the same wherever the same is tested; nothing if it is about values that only
/// the method knows.
fn test(
    names: &Names,
    code: &Code,
    opcode: Opcode,
    left: Value,
    right: Option<Value>,
) -> Option<String> {
    let sides = [Some(left), right].map(|side| match side {
        Some(side) => expression(names, code, side, DEEPEST),
        None => Some("0".to_owned()),
    });
    match sides {
        [Some(left), Some(right)] => Some(format!("{opcode:?} {left} {right}")),
        _ => None,
    }
}

fn expression(names: &Names, code: &Code, value: Value, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let all = |operands: &[Value]| -> Option<String> {
        let texts: Option<Vec<String>> =
            operands.iter().map(|&operand| expression(names, code, operand, depth)).collect();
        Some(texts?.join(","))
    };
    match &code.body.definition(value).operation {
        Operation::Constant(Constant::Int(number)) => Some(number.to_string()),
        Operation::Constant(constant) => Some(format!("{constant:?}")),
        Operation::Compute { opcode, operands } => Some(format!("{opcode:?}({})", all(operands)?)),
        Operation::ArrayLength(array) => Some(format!("length({})", all(&[*array])?)),
        Operation::Invoke { method, arguments, .. } => {
            let method = names.text(names.method_ref_data(*method).name);
            Some(format!("{method}({})", all(arguments)?))
        }
        _ => {
            let name = code.name(value);
            is_known_elsewhere(&name).then(|| format!("{name:?}"))
        }
    }
}

fn is_known_elsewhere(name: &Name) -> bool {
    let is_root = matches!(name.root, Root::Parameter(0) | Root::Static(_) | Root::Class(_));
    is_root && !name.parts.iter().any(|step| matches!(step, NamePart::Element(_)))
}
