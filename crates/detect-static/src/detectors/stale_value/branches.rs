//! Which blocks a branch decides about, and whether as the test of a loop.

use unsnarl_entity::EntitySet;
use unsnarl_program::body::{BlockId, Body, Operation};

/// The blocks that run or not as a branch says. Exceptions are left out.
pub(super) struct Decided {
    arms: Vec<Arm>,
}

/// The blocks that one of the ways of a branch leads to, without coming by the branch again.
struct Arm {
    blocks: EntitySet<BlockId>,
    /// Whether the method can end on it, rather than coming back to the branch for sure.
    ends: bool,
}

impl Decided {
    /// What the branch at the end of a block decides about.
    pub(super) fn by(body: &Body, branch: BlockId) -> Self {
        let targets = body.terminator(branch).operation.targets();
        Self { arms: targets.into_iter().map(|target| Arm::new(body, target, branch)).collect() }
    }

    /// Whether some way leads to a block and another leads past it: to the end, or to where both meet. The body
    /// of a loop does not lead past what comes after the loop.
    pub(super) fn contains(&self, block: BlockId) -> bool {
        self.arms.iter().any(|way| {
            let mut others = self.arms.iter().filter(|other| !other.blocks.contains(block));
            way.blocks.contains(block)
                && others.any(|other| {
                    other.ends || other.blocks.iter().any(|block| way.blocks.contains(block))
                })
        })
    }

    /// Whether the branch decides at least when control comes to a block.
    pub(super) fn leads_to(&self, block: BlockId) -> bool {
        let leading = self.arms.iter().filter(|way| way.blocks.contains(block)).count();
        leading > 0 && leading < self.arms.len()
    }

    /// Whether a block is in a loop of which the branch is the test.
    pub(super) fn loops(&self, block: BlockId) -> bool {
        let mut leading = self.arms.iter().filter(|way| way.blocks.contains(block));
        leading.all(|way| !way.ends)
    }
}

impl Arm {
    fn new(body: &Body, target: BlockId, branch: BlockId) -> Self {
        let mut blocks = EntitySet::new();
        let mut ends = false;
        let mut open = vec![target];
        while let Some(block) = open.pop() {
            if block != branch && blocks.insert(block) {
                let operation = &body.terminator(block).operation;
                ends |= matches!(operation, Operation::Return(_) | Operation::Throw(_));
                open.extend(operation.targets());
            }
        }
        Self { blocks, ends }
    }
}
