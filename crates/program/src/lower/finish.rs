//! From statements to a body: phis, final numbers, and the types that depend on phis.

use unsnarl_classfile::Pc;
use unsnarl_entity::{EntityId, PrimaryMap, SecondaryMap};

use super::translate::Translator;
use super::{Lowered, Result};
use crate::body::{Block, Body, Operation, Statement, StatementId, Value, ValueData, join_types};
use crate::names::TypeId;

impl Translator<'_, '_, '_> {
    /// Places the phis that are needed, and numbers values and statements in their final order.
    pub(super) fn finish(mut self) -> Result<Lowered> {
        let types = &mut self.types;
        let placeholder = self.names.known.null;
        self.variables.complete(self.flow, || types.push(placeholder))?;
        let mut replacements = self.variables.trivial_phis(self.types.len());
        let mut phis: Vec<_> = std::mem::take(&mut self.variables.phis)
            .into_iter()
            .filter(|phi| replacements.find(phi.value) == phi.value)
            .collect();
        phis.sort_by_key(|phi| phi.block);

        let mut body = Body {
            blocks: PrimaryMap::with_capacity(self.flow.blocks.len()),
            statements: PrimaryMap::with_capacity(self.statements.len() + phis.len()),
            values: PrimaryMap::with_capacity(self.types.len()),
        };
        let mut phis = phis.into_iter().peekable();
        let mut statements = std::mem::take(&mut self.statements).into_iter();
        let mut renamed: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
        let starts = std::mem::take(&mut self.block_starts);
        let total = statements.len();
        for (block, flow_block) in self.flow.blocks.iter() {
            let start = body.statements.next_key();
            let mut place = |statement: Statement| {
                if let Some(value) = statement.result {
                    let definition = body.statements.next_key();
                    let ty = self.types[value];
                    renamed[value] = Some(body.values.push(ValueData { definition, ty }));
                }
                body.statements.push(statement);
            };
            let (pc, line) = match self.flow.instructions.get(flow_block.first) {
                Some((pc, _)) => (*pc, self.lines[flow_block.first]),
                None => (Pc(0), 0),
            };
            while let Some(phi) = phis.next_if(|phi| phi.block == block) {
                let (result, operation) = (Some(phi.value), Operation::Phi(phi.inputs));
                place(Statement { pc, line, result, operation });
            }
            let until = starts.get(block.index() + 1).copied().unwrap_or(total);
            statements.by_ref().take(until - starts[block.index()]).for_each(place);
            body.blocks.push(Block {
                start,
                end: body.statements.next_key(),
                predecessors: flow_block.predecessors.clone(),
                handlers: flow_block.handlers.clone(),
            });
        }
        for statement in body.statements.values_mut() {
            statement.result = statement.result.and_then(|value| renamed[value]);
            statement.operation.for_each_operand(|value| {
                *value = renamed[replacements.find(*value)].expect("a value that has a definition");
            });
        }
        self.infer_types(&mut body);
        Ok(Lowered { body, lambdas: self.lambdas })
    }

    /// Types of phis, and of elements of arrays that come out of phis. They only ever rise from
    /// `null` by way of one type to `Object`, so this ends.
    fn infer_types(&self, body: &mut Body) {
        let depends = |operation: &Operation| {
            matches!(operation, Operation::Phi(_) | Operation::ArrayLoad { .. })
        };
        let open: Vec<StatementId> = body
            .statements
            .iter()
            .filter(|(_, statement)| depends(&statement.operation))
            .map(|(id, _)| id)
            .collect();
        if !open.iter().any(|&id| matches!(body.statements[id].operation, Operation::Phi(_))) {
            return;
        }
        let mut inferred: SecondaryMap<Value, Option<TypeId>> = SecondaryMap::new();
        for (value, data) in body.values.iter() {
            let open = match body.statements[data.definition].operation {
                Operation::Phi(_) => true,
                Operation::ArrayLoad { .. } => self.names.is_reference(data.ty),
                _ => false,
            };
            inferred[value] = (!open).then_some(data.ty);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &id in &open {
                let statement = &body.statements[id];
                let result = statement.result.expect("phis and loads have results");
                let new = match &statement.operation {
                    Operation::Phi(inputs) => inputs
                        .iter()
                        .filter_map(|&input| inferred[input])
                        .reduce(|left, right| join_types(self.names, left, right)),
                    Operation::ArrayLoad { array, .. }
                        if self.names.is_reference(body.values[result].ty) =>
                    {
                        inferred[*array].map(|array| self.element_type(array))
                    }
                    _ => continue,
                };
                if new != inferred[result] {
                    inferred[result] = new;
                    changed = true;
                }
            }
        }
        for value in body.values.keys() {
            if let Some(ty) = inferred[value] {
                body.values[value].ty = ty;
            }
        }
    }
}
