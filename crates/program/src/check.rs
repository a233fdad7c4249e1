//! Is a body well formed? The definition of what every body must be, and an oracle for the lowering.
//!
//! Every block ends with its only terminator, edges agree at both ends, phis stand in front and have
//! an input for each edge, and every use is dominated by its definition. An exceptional edge leaves a
//! block before its statements have run, so a block counts as two places here: its entry, where phis,
//! parameters and caught exceptions are defined, and its exit, where everything else is.

use unsnarl_entity::EntityId;

use crate::body::{BlockId, Body, Edge, Operation, Value};

/// What is wrong with a body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{block}: {problem}")]
pub struct Malformed {
    /// The block.
    pub block: BlockId,
    /// What is wrong.
    pub problem: String,
}

/// Checks a body.
pub fn check(body: &Body) -> Result<(), Malformed> {
    let mut next = 0;
    for (block, data) in body.blocks.iter() {
        let error = |problem: &str| Err(Malformed { block, problem: problem.to_owned() });
        if data.start.index() != next || data.end <= data.start {
            return error("its statements do not follow those of the block before it");
        }
        next = data.end.index();
        let mut in_front = true;
        for (id, statement) in body.block_statements(block) {
            let is_last = id.index() + 1 == data.end.index();
            if statement.operation.is_terminator() != is_last {
                return error("a terminator that is not at the end");
            }
            match &statement.operation {
                Operation::Phi(_) if !in_front => return error("a phi that is not in front"),
                Operation::Phi(inputs) if inputs.len() != data.predecessors.len() => {
                    return error("a phi that has not one input for each edge");
                }
                Operation::Phi(_) => {}
                _ => in_front = false,
            }
            if let Some(value) = statement.result
                && body.values.get(value).map(|data| data.definition) != Some(id)
            {
                return error("a value that does not know its definition");
            }
        }
        check_edges(body, block)?;
    }
    check_dominance(body)
}

fn check_edges(body: &Body, block: BlockId) -> Result<(), Malformed> {
    let error = |problem: String| Err(Malformed { block, problem });
    let data = &body.blocks[block];
    let normal = body.terminator(block).operation.targets();
    let leaving = normal.iter().map(|&to| (to, false));
    for (to, exceptional) in leaving.chain(data.handlers.iter().map(|&to| (to, true))) {
        let edge = Edge { from: block, exceptional };
        let arrives =
            |to: BlockId| body.blocks.get(to).is_some_and(|to| to.predecessors.contains(&edge));
        if !arrives(to) {
            return error(format!("an edge to {to} that does not arrive"));
        }
    }
    for (index, edge) in data.predecessors.iter().enumerate() {
        if data.predecessors[..index].contains(edge) {
            return error(format!("two edges from {}", edge.from));
        }
        let leaves = if edge.exceptional {
            body.blocks[edge.from].handlers.contains(&block)
        } else {
            body.terminator(edge.from).operation.targets().contains(&block)
        };
        if !leaves {
            return error(format!("an edge from {} that does not leave there", edge.from));
        }
    }
    if block.index() == 0 && !data.predecessors.is_empty() {
        return error("an edge back to the entry".to_owned());
    }
    Ok(())
}

/// Entry and exit of a block as nodes: `2 * block` and `2 * block + 1`.
fn definition_node(body: &Body, value: Value, blocks: &[BlockId]) -> usize {
    let definition = body.values[value].definition;
    let block = blocks[definition.index()].index();
    let at_entry = matches!(
        body.statements[definition].operation,
        Operation::Phi(_) | Operation::Parameter(_) | Operation::Catch(_)
    );
    2 * block + usize::from(!at_entry)
}

fn check_dominance(body: &Body) -> Result<(), Malformed> {
    let mut block_of = Vec::with_capacity(body.statements.len());
    for block in body.blocks.keys() {
        block_of.resize(body.blocks[block].end.index(), block);
    }
    let tree = Dominators::new(body);
    for (block, data) in body.blocks.iter() {
        for (id, statement) in body.block_statements(block) {
            for (position, &value) in statement.operation.operands().iter().enumerate() {
                if body.values.get(value).is_none() {
                    let problem = format!("{value} is used and has no definition");
                    return Err(Malformed { block, problem });
                }
                let defined = definition_node(body, value, &block_of);
                let fine = if let Operation::Phi(_) = statement.operation {
                    let Edge { from, exceptional } = data.predecessors[position];
                    tree.dominates(defined, 2 * from.index() + usize::from(!exceptional))
                } else {
                    let earlier = body.values[value].definition < id;
                    let here = 2 * block.index() + 1;
                    tree.dominates(defined, here) && (defined / 2 != block.index() || earlier)
                };
                if !fine {
                    let problem = format!("{value} is used at {id} where it may not be defined");
                    return Err(Malformed { block, problem });
                }
            }
        }
    }
    Ok(())
}

/// Dominators after [Cooper01, fig. 3].
struct Dominators {
    /// The immediate dominator of each node.
    above: Vec<usize>,
}

impl Dominators {
    fn new(body: &Body) -> Self {
        const NONE: usize = usize::MAX;
        let mut above = vec![NONE; 2 * body.blocks.len()];
        above[0] = 0;
        let meet = |above: &[usize], mut left: usize, mut right: usize| {
            while left != right {
                // Nodes are numbered in reverse postorder: the larger one is further down.
                if left > right {
                    left = above[left];
                } else {
                    right = above[right];
                }
            }
            left
        };
        let mut changed = true;
        while changed {
            changed = false;
            for (block, data) in body.blocks.iter() {
                let entry = 2 * block.index();
                let ways = data
                    .predecessors
                    .iter()
                    .map(|e| 2 * e.from.index() + usize::from(!e.exceptional));
                let new = ways
                    .filter(|&way| above[way] != NONE)
                    .reduce(|left, right| meet(&above, left, right));
                if let Some(new) = new.filter(|&new| new != above[entry]) {
                    above[entry] = new;
                    changed = true;
                }
                if above[entry] != NONE {
                    above[entry + 1] = entry;
                }
            }
        }
        Self { above }
    }

    fn dominates(&self, node: usize, mut below: usize) -> bool {
        while below > node && below != usize::MAX {
            below = self.above[below];
        }
        below == node
    }
}
