//! Where a method goes from a statement, exceptions aside.

use std::collections::BTreeSet;

use unsnarl_entity::{EntityId, EntitySet};
use unsnarl_program::body::{BlockId, Operation, StatementId};

use crate::locks::uses::Code;

/// The branches that were certainly decided before a statement is come to, and whether they jumped.
pub(crate) fn decisions(code: &Code, statement: StatementId) -> Vec<(BlockId, bool)> {
    let walk = Walk { code, bounds: &BTreeSet::new() };
    let mut decisions = walk.guards(statement);
    decisions.retain(|&(block, _)| !walk.reaches([code.body.entry()], statement, Some(block)));
    decisions
}

/// Whether a statement is come to again.
pub(crate) fn is_in_loop(code: &Code, statement: StatementId) -> bool {
    Walk { code, bounds: &BTreeSet::new() }.comes_again(statement)
}

/// A walk along the edges that are taken without an exception, up to some statements.
pub(crate) struct Walk<'w> {
    pub(crate) code: &'w Code,
    pub(crate) bounds: &'w BTreeSet<StatementId>,
}

impl Walk<'_> {
    /// Whether a statement is come to again.
    pub(crate) fn comes_again(&self, statement: StatementId) -> bool {
        let block = self.code.block_of(statement);
        let end = self.code.body.blocks[block].end;
        let after = StatementId::from_index(statement.index() + 1);
        !self.is_bounded(after, end) && self.reaches(self.targets(block), statement, None)
    }

    /// Whether a statement is come to from the beginning of one of the blocks, without `avoided`.
    pub(crate) fn reaches(
        &self,
        from: impl IntoIterator<Item = BlockId>,
        statement: StatementId,
        avoided: Option<BlockId>,
    ) -> bool {
        let wanted = self.code.block_of(statement);
        let mut open: Vec<BlockId> = from.into_iter().collect();
        let mut seen: EntitySet<BlockId> = EntitySet::new();
        while let Some(block) = open.pop() {
            if Some(block) == avoided || !seen.insert(block) {
                continue;
            }
            let data = &self.code.body.blocks[block];
            if block == wanted && !self.is_bounded(data.start, statement) {
                return true;
            }
            if !self.is_bounded(data.start, data.end) {
                open.extend(self.targets(block));
            }
        }
        false
    }

    /// Whether anything but tests and jumps comes after a statement.
    pub(crate) fn acts_after(&self, statement: StatementId) -> bool {
        let code = self.code;
        let mut open = vec![(code.block_of(statement), statement.index() + 1)];
        let mut seen: EntitySet<BlockId> = EntitySet::new();
        while let Some((block, start)) = open.pop() {
            let end = code.body.blocks[block].end.index();
            let statements = (start..end).map(StatementId::from_index);
            let mut is_left = false;
            for statement in statements {
                is_left = self.bounds.contains(&statement);
                if is_left {
                    break;
                }
                match code.body.statements[statement].operation {
                    Operation::Invoke { .. }
                    | Operation::InvokeDynamic { .. }
                    | Operation::PutField { .. }
                    | Operation::PutStatic { .. }
                    | Operation::ArrayStore { .. }
                    | Operation::Return(_)
                    | Operation::Throw(_) => return true,
                    _ => {}
                }
            }
            if !is_left {
                let targets = self.targets(block).into_iter().filter(|&it| seen.insert(it));
                open.extend(targets.map(|target| (target, code.body.blocks[target].start.index())));
            }
        }
        false
    }

    fn is_bounded(&self, from: StatementId, to: StatementId) -> bool {
        from < to && self.bounds.range(from..to).next().is_some()
    }

    fn targets(&self, block: BlockId) -> impl IntoIterator<Item = BlockId> + use<> {
        self.code.body.terminator(block).operation.targets()
    }

    /// The branches that lead to a statement or around it, and whether they jump to it.
    pub(crate) fn guards(&self, statement: StatementId) -> Vec<(BlockId, bool)> {
        let body = &self.code.body;
        let mut guards = Vec::new();
        for (block, _) in body.blocks.iter() {
            let Operation::Branch { then, otherwise, .. } = body.terminator(block).operation else {
                continue;
            };
            let leads = |target| self.reaches([target], statement, Some(block));
            let (jumps, falls) = (leads(then), leads(otherwise));
            if jumps != falls {
                guards.push((block, jumps));
            }
        }
        guards
    }
}
