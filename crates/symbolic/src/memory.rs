//! What happened when a context was last gone through.
//!
//! It is gone through again when it is entered in another state or when a callee turns out to do something
//! else. Most of its blocks are then entered as before and call nothing that has changed: what they did is
//! remembered. If the calls that have changed leave the caller as before, nothing else is looked at.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use unsnarl_program::body::{BlockId, StatementId};

use crate::execute::{Executor, Frame};
use crate::state::State;

/// A block that was gone through.
#[derive(Debug)]
pub(crate) struct Visit {
    block: BlockId,
    statements: Range<StatementId>,
    before: State,
    pub(crate) effect: Effect,
}

/// What going through a block leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    /// The state at its end; nothing if that is not reached, as far as is known.
    pub(crate) after: Option<State>,
    /// The state in which its handlers are entered, if it can throw.
    pub(crate) thrown: Option<State>,
}

/// What is remembered of a context: how it went through the blocks that enter others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// Sorted by block.
    visits: Vec<Arc<Visit>>,
    /// Calls that have changed since.
    outdated: SmallVec<[StatementId; 2]>,
    /// Whether it was entered in the state of now.
    is_current: bool,
}

impl Memory {
    /// A call does something else from now on.
    pub(crate) fn outdate(&mut self, call: StatementId) {
        if !self.outdated.contains(&call) {
            self.outdated.push(call);
        }
    }

    /// The context is entered in another state from now on.
    pub(crate) fn enter_anew(&mut self) {
        self.is_current = false;
    }

    /// Remembers how the context was gone through.
    pub(crate) fn keep(&mut self, mut visits: Vec<Arc<Visit>>) {
        visits.sort_by_key(|visit| visit.block);
        self.visits = visits;
    }

    /// The context was gone through, and meanwhile some calls have changed.
    pub(crate) fn go_on(&mut self, meanwhile: Self, is_current: bool) {
        self.outdated = meanwhile.outdated;
        self.is_current = is_current && !self.visits.is_empty();
    }

    /// How a block was gone through in a state, if that still holds.
    pub(crate) fn recall(&self, block: BlockId, before: &State) -> Option<&Arc<Visit>> {
        let start = self.visits.partition_point(|visit| visit.block < block);
        let mut visits = self.visits[start..].iter().take_while(|visit| visit.block == block);
        visits.find(|visit| visit.before == *before).filter(|visit| !self.is_outdated(visit))
    }

    fn is_outdated(&self, visit: &Visit) -> bool {
        self.outdated.iter().any(|call| visit.statements.contains(call))
    }
}

impl Executor<'_, '_> {
    /// Whether calls of a block are followed.
    pub(crate) fn enters_others(&self, frame: &Frame, block: BlockId) -> bool {
        let block = &frame.facts.body.blocks[block];
        let calls = self.calls_within(frame, block.start..block.end);
        calls.iter().any(|call| self.sharing.relevant.contains(call.callee))
    }

    /// Goes through a block that may be gone through again.
    pub(crate) fn visit(&mut self, frame: &Frame, block: BlockId, before: State) -> Visit {
        let data = &frame.facts.body.blocks[block];
        let statements = data.start..data.end;
        let effect = self.go_through(frame, block, before.clone(), None);
        Visit { block, statements, before, effect }
    }

    /// Goes through the blocks again whose calls have changed; says whether a context that did so before does
    /// what it did.
    pub(crate) fn does_the_same(&mut self, frame: &Frame, memory: &mut Memory) -> bool {
        if !memory.is_current || memory.outdated.is_empty() {
            return false;
        }
        let mut is_same = true;
        for at in 0..memory.visits.len() {
            let visit = &memory.visits[at];
            if memory.is_outdated(visit) {
                let again = self.visit(frame, visit.block, visit.before.clone());
                if again.effect != memory.visits[at].effect {
                    is_same = false;
                    memory.visits[at] = Arc::new(again);
                }
            }
        }
        memory.outdated.clear();
        is_same && self.steps_left > 0
    }
}
