//! What happened when a context was last gone through.
//!
//! It is gone through again when it is entered in another state or when a callee turns out to do something
//! else. Most of its blocks are then entered as before and call nothing that has changed: what they did is
//! remembered. If the calls that have changed leave the caller as before, nothing else is looked at. In a block
//! with many calls most of them are made as before, too, and their callees are left as before: what came of a call the
//! last time is remembered as well.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use unsnarl_program::body::{BlockId, StatementId};
use unsnarl_program::heap::InstanceId;

use crate::event::ContextId;
use crate::execute::state::State;
use crate::execute::{Executor, Frame, OutcomeId};
use crate::facts::may_effects::MayEffectsId;

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

/// A call of a context: a statement may call some methods as usual and others back, so the first of them says which.
pub(crate) type CallOf = (ContextId, StatementId, InstanceId);

/// How a call went the last time.
#[derive(Debug)]
pub(crate) struct PastCall {
    pub(crate) before: State,
    /// The contexts that it enters in that state.
    pub(crate) entered: Arc<[ContextId]>,
    /// The ways in which those were left, each once.
    pub(crate) left: SmallVec<[Left; 4]>,
    pub(crate) after: Option<State>,
}

/// How a context is left, as far as that is the same for all callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) outcome: OutcomeId,
    pub(crate) is_merged: bool,
    pub(crate) effects: MayEffectsId,
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
    /// How a context is left; nothing if it is not known to be.
    pub(crate) fn left(&self, context: ContextId) -> Option<Left> {
        let context = &self.contexts[context];
        let effects = self.facts.may_effects.number(context.instance);
        Some(Left { outcome: context.outcome?, is_merged: context.is_merged, effects })
    }

    /// How a call went the last time, if it goes the same way now.
    pub(crate) fn recall_call(&self, call: CallOf, before: &State) -> Option<&PastCall> {
        let past = self.remembered.past_calls.get(&call).filter(|_| self.waits_for_callees())?;
        if past.before != *before {
            return None;
        }
        let mut next = 0;
        for left in past.entered.iter().filter_map(|&context| self.left(context)) {
            if past.left.get(next) == Some(&left) {
                next += 1;
            } else if !past.left[..next].contains(&left) {
                return None;
            }
        }
        (next == past.left.len()).then_some(past)
    }

    /// Remembers how a call went.
    pub(crate) fn remember_call(&mut self, call: CallOf, past: PastCall) {
        if self.waits_for_callees() {
            self.remembered.past_calls.insert(call, past);
        }
    }

    /// Whether calls of a block are followed.
    pub(crate) fn enters_others(&self, frame: &Frame, block: BlockId) -> bool {
        let block = &frame.facts.body.blocks[block];
        let calls = self.calls_within(frame, block.start..block.end);
        calls.iter().any(|call| self.facts.sharing.relevant.contains(call.callee))
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
        is_same && self.worklist.steps_left > 0
    }
}
