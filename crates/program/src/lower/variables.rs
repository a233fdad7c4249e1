//! The values of variables at the borders of blocks.
//!
//! A variable is a local variable or a place on the operand stack.

use rustc_hash::FxHashMap;
use unsnarl_entity::{EntityId, PrimaryMap};

use super::control_flow::ControlFlow;
use super::{LowerError, Result};
use crate::body::{BlockId, Edge, Value, Values};

/// A phi while the body is under construction.
pub(super) struct Phi {
    pub(super) block: BlockId,
    variable: usize,
    pub(super) value: Value,
    pub(super) inputs: Values,
}

pub(super) struct Variables {
    at_entry: Definitions,
    at_exit: Definitions,
    pub(super) phis: Vec<Phi>,
    /// How many of the phis have their inputs.
    complete: usize,
}

impl Variables {
    pub(super) fn new(blocks: usize, variables: usize) -> Self {
        Self {
            at_entry: Definitions::new(blocks, variables),
            at_exit: Definitions::new(blocks, variables),
            phis: Vec::new(),
            complete: 0,
        }
    }

    /// Notes that the block leaves `value` in the variable.
    pub(super) fn assign(&mut self, block: BlockId, variable: usize, value: Value) {
        self.at_exit.set(block, variable, value);
    }

    /// Notes that the method begins with `value` in the variable.
    pub(super) fn assign_at_start(&mut self, block: BlockId, variable: usize, value: Value) {
        self.at_entry.set(block, variable, value);
    }

    /// The value of a variable where the statements of the block stand now.
    pub(super) fn read(
        &mut self,
        flow: &ControlFlow,
        block: BlockId,
        variable: usize,
        new_phi: impl FnOnce() -> Value,
    ) -> Result<Value> {
        match self.at_exit.get(block, variable) {
            Some(value) => Ok(value),
            None => self.read_at_entry(flow, block, variable, new_phi),
        }
    }

    pub(super) fn read_at_entry(
        &mut self,
        flow: &ControlFlow,
        block: BlockId,
        variable: usize,
        new_phi: impl FnOnce() -> Value,
    ) -> Result<Value> {
        let mut current = block;
        let mut passed = Vec::new();
        let value = loop {
            if let Some(value) = self.at_entry.get(current, variable) {
                break value;
            }
            match flow.blocks[current].predecessors.as_slice() {
                [] => {
                    let pc = flow.instructions[flow.blocks[block].first].0;
                    let expected = "variables that are assigned before they are read";
                    return Err(LowerError::code(pc, expected));
                }
                [Edge { from, exceptional }] => {
                    passed.push(current);
                    if !exceptional && let Some(value) = self.at_exit.get(*from, variable) {
                        break value;
                    }
                    current = *from;
                }
                _ => {
                    let value = new_phi();
                    self.phis.push(Phi { block: current, variable, value, inputs: Values::new() });
                    self.at_entry.set(current, variable, value);
                    break value;
                }
            }
        };
        for block in passed {
            self.at_entry.set(block, variable, value);
        }
        Ok(value)
    }

    /// Gives every phi its inputs; that may need further phis.
    pub(super) fn complete(
        &mut self,
        flow: &ControlFlow,
        mut new_phi: impl FnMut() -> Value,
    ) -> Result<()> {
        while self.complete < self.phis.len() {
            let Phi { block, variable, .. } = self.phis[self.complete];
            let mut inputs = Values::new();
            for &Edge { from, exceptional } in &flow.blocks[block].predecessors {
                inputs.push(if exceptional {
                    self.read_at_entry(flow, from, variable, &mut new_phi)?
                } else {
                    self.read(flow, from, variable, &mut new_phi)?
                });
            }
            self.phis[self.complete].inputs = inputs;
            self.complete += 1;
        }
        Ok(())
    }

    /// Finds the phis that choose between a value and themselves, and says what replaces them.
    pub(super) fn trivial_phis(&self, values: usize) -> Replacements {
        let mut replacements = Replacements { by: (0..values).map(Value::from_index).collect() };
        let mut users: FxHashMap<Value, Vec<usize>> = FxHashMap::default();
        for (index, phi) in self.phis.iter().enumerate() {
            for &input in &phi.inputs {
                if input != phi.value {
                    users.entry(input).or_default().push(index);
                }
            }
        }
        let mut work: Vec<usize> = (0..self.phis.len()).rev().collect();
        while let Some(index) = work.pop() {
            let phi = &self.phis[index];
            if replacements.by[phi.value] != phi.value {
                continue;
            }
            let mut only = None;
            let mut trivial = true;
            for &input in &phi.inputs {
                let input = replacements.find(input);
                if input != phi.value && only.replace(input).is_some_and(|other| other != input) {
                    trivial = false;
                    break;
                }
            }
            if let (true, Some(value)) = (trivial, only) {
                replacements.by[phi.value] = value;
                // Whoever used the phi uses the value now.
                if let Some(of_phi) = users.remove(&phi.value) {
                    work.extend(&of_phi);
                    users.entry(value).or_default().extend(of_phi);
                }
            }
        }
        replacements
    }
}

/// Which value stands for a removed one.
pub(super) struct Replacements {
    by: PrimaryMap<Value, Value>,
}

impl Replacements {
    pub(super) fn find(&mut self, value: Value) -> Value {
        let mut root = value;
        while self.by[root] != root {
            root = self.by[root];
        }
        let mut current = value;
        while self.by[current] != root {
            current = std::mem::replace(&mut self.by[current], root);
        }
        root
    }
}

/// A table of blocks and variables. Dense where that is small, which it is for all but monstrous
/// methods.
enum Definitions {
    Dense { variables: usize, values: Vec<Option<Value>> },
    Sparse(FxHashMap<(BlockId, usize), Value>),
}

impl Definitions {
    fn new(blocks: usize, variables: usize) -> Self {
        match blocks * variables {
            cells @ 0..=0x10_0000 => Self::Dense { variables, values: vec![None; cells] },
            _ => Self::Sparse(FxHashMap::default()),
        }
    }

    fn get(&self, block: BlockId, variable: usize) -> Option<Value> {
        match self {
            Self::Dense { variables, values } => values[block.index() * variables + variable],
            Self::Sparse(values) => values.get(&(block, variable)).copied(),
        }
    }

    fn set(&mut self, block: BlockId, variable: usize, value: Value) {
        match self {
            Self::Dense { variables, values } => {
                values[block.index() * *variables + variable] = Some(value);
            }
            Self::Sparse(values) => {
                values.insert((block, variable), value);
            }
        }
    }
}
