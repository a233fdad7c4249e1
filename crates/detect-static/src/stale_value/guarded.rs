//! Which blocks a branch decides about.

use unsnarl_entity::EntitySet;
use unsnarl_program::body::{BlockId, Body, Operation};

/// The blocks that run or not as the branch at the end of a block says: those that some of its ways lead to
/// and another way avoids. Exceptions are left out.
pub(super) fn decided_by(body: &Body, branch: BlockId) -> EntitySet<BlockId> {
    let ways: Vec<EntitySet<BlockId>> = body
        .terminator(branch)
        .operation
        .targets()
        .into_iter()
        .map(|target| reached(body, target, branch))
        .collect();
    let mut decided = EntitySet::new();
    for (number, way) in ways.iter().enumerate() {
        for block in way.iter() {
            let mut others = ways.iter().enumerate().filter(|&(other, _)| other != number);
            if others.any(|(_, other)| !other.contains(block) && goes_on(body, other, way)) {
                decided.insert(block);
            }
        }
    }
    decided
}

/// Whether a way leads past another: to the end, or to where both meet. The body of a loop does not; it
/// leads back to the branch.
fn goes_on(body: &Body, way: &EntitySet<BlockId>, other: &EntitySet<BlockId>) -> bool {
    way.iter().any(|block| {
        let ends =
            matches!(body.terminator(block).operation, Operation::Return(_) | Operation::Throw(_));
        ends || other.contains(block)
    })
}

/// The blocks that can be reached from one without coming by another.
fn reached(body: &Body, from: BlockId, without: BlockId) -> EntitySet<BlockId> {
    let mut reached = EntitySet::new();
    let mut open = vec![from];
    while let Some(block) = open.pop() {
        if block != without && reached.insert(block) {
            open.extend(body.terminator(block).operation.targets());
        }
    }
    reached
}
