//! The state along the control flow of one method: a forward data flow over its blocks. An exception
//! leaves a block with what holds before every statement that can throw.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use smallvec::SmallVec;
use unsnarl_entity::EntityId;
use unsnarl_program::body::{BlockId, Constant, Operation, Value};
use unsnarl_program::heap::OriginId;

use crate::emit::Emitted;
use crate::execute::memory::{Effect, Memory, Visit};
use crate::execute::state::{Fresh, Holders, Knowledge, State, unite};
use crate::execute::transfer::Test;
use crate::execute::{Executor, Exit, Frame, Received, join_into};
use crate::facts::method::MethodFacts;
use crate::facts::path::{Path, Root};

/// The states at the beginnings of blocks, and at the end.
#[derive(Default)]
pub(crate) struct Flow {
    pub(crate) before: Vec<Option<State>>,
    pub(crate) exit: Option<Exit>,
    /// How the blocks that enter other contexts were gone through.
    pub(crate) visits: Vec<Arc<Visit>>,
    /// For each loop, the threads of which every round joins one.
    round_joins: Vec<Vec<OriginId>>,
}

impl Executor<'_, '_> {
    /// The states of a method at the beginnings of its blocks.
    pub(crate) fn flow(&mut self, frame: &Frame, memory: &Memory) -> Flow {
        let flow = self.flow_once(frame, memory, &[]);
        if flow.round_joins.iter().all(Vec::is_empty) {
            return flow;
        }
        self.flow_once(frame, memory, &flow.round_joins)
    }

    fn flow_once(&mut self, frame: &Frame, memory: &Memory, round_joins: &[Vec<OriginId>]) -> Flow {
        let body = Arc::clone(&frame.facts.body);
        let mut flow = Flow { before: vec![None; body.blocks.len()], ..Flow::default() };
        let mut joined_after: Vec<Option<SmallVec<[OriginId; 2]>>> = vec![None; body.blocks.len()];
        let mut first = frame.entry.state.clone();
        self.enter_monitor(frame, &mut first);
        flow.before[body.entry().index()] = Some(first);
        let mut open = BTreeSet::from([body.entry()]);
        while let Some(block) = open.pop_first() {
            let Some(before) = flow.before[block.index()].clone() else { continue };
            let effect = if self.enters_others(frame, block) {
                let visit = match memory.recall(block, &before) {
                    Some(visit) => Arc::clone(visit),
                    None => Arc::new(self.visit(frame, block, before)),
                };
                let effect = visit.effect.clone();
                flow.visits.push(visit);
                effect
            } else {
                self.go_through(frame, block, before, None)
            };
            let Effect { after, thrown } = effect;
            if let Some(thrown) = thrown {
                for &handler in &body.blocks[block].handlers {
                    self.arrive(
                        frame,
                        &mut flow,
                        &mut open,
                        (block, handler, true),
                        thrown.clone(),
                    );
                }
            }
            let Some(state) = after else { continue };
            joined_after[block.index()] = Some(state.joined_some.clone());
            match &body.terminator(block).operation {
                Operation::Return(value) => {
                    self.leave_method(frame, &mut flow.exit, *value, state);
                }
                Operation::Branch { then, otherwise, .. } => {
                    for (target, is_then) in [(*then, true), (*otherwise, false)] {
                        let mut state = state.clone();
                        if !self.branch(frame, block, is_then, &mut state) {
                            continue;
                        }
                        self.exit_loop(frame, round_joins, block, target, &mut state);
                        self.arrive(frame, &mut flow, &mut open, (block, target, false), state);
                    }
                }
                other => {
                    for target in other.targets() {
                        let mut state = state.clone();
                        self.exit_loop(frame, round_joins, block, target, &mut state);
                        self.arrive(frame, &mut flow, &mut open, (block, target, false), state);
                    }
                }
            }
        }
        for found in &frame.facts.loops {
            let mut joins: Option<Vec<OriginId>> = None;
            for latch in &found.latches {
                let Some(joined) = &joined_after[latch.index()] else { continue };
                match &mut joins {
                    None => joins = Some(joined.to_vec()),
                    Some(joins) => joins.retain(|thread| joined.contains(thread)),
                }
            }
            flow.round_joins.push(joins.unwrap_or_default());
        }
        flow
    }

    /// Goes through the statements of a block; emits the events on the way, if they are asked for.
    pub(crate) fn go_through(
        &mut self,
        frame: &Frame,
        block: BlockId,
        mut state: State,
        mut emitted: Option<&mut Emitted>,
    ) -> Effect {
        let body = Arc::clone(&frame.facts.body);
        let has_handlers = !body.blocks[block].handlers.is_empty();
        let (mut thrown, mut thrown_last): (Option<State>, Option<State>) = (None, None);
        let mut is_alive = true;
        // Synchronized methods and branches take locks before the first statement.
        self.note_taken(frame, body.blocks[block].start, &mut state);
        for (id, statement) in body.block_statements(block) {
            if let Some(emitted) = &mut emitted {
                self.emit(frame, id, &state, emitted);
            }
            let may_throw = has_handlers && statement.operation.can_throw();
            if may_throw && thrown_last.as_ref() != Some(&state) {
                thrown_last = Some(state.clone());
                join_into(&mut thrown, Cow::Borrowed(&state));
            }
            let locks = emitted.is_some().then(|| state.locks.clone());
            is_alive = self.transfer(frame, id, &mut state);
            if let Some(locks) = locks {
                self.note_releases(frame, id, &locks, &state);
            }
            self.note_taken(frame, id, &mut state);
            if !is_alive {
                break;
            }
            if may_throw && matches!(statement.operation, Operation::Invoke { .. }) {
                join_into(&mut thrown, Cow::Borrowed(&state));
            }
        }
        Effect { after: is_alive.then_some(state), thrown }
    }

    /// A state arrives at a block.
    fn arrive(
        &mut self,
        frame: &Frame,
        flow: &mut Flow,
        open: &mut BTreeSet<BlockId>,
        (from, to, exceptional): (BlockId, BlockId, bool),
        mut state: State,
    ) {
        self.pass_phis(frame, from, to, exceptional, &mut state);
        if let Some(value) = returned_by(&frame.facts, from, to, exceptional) {
            self.leave_method(frame, &mut flow.exit, Some(value), state);
            return;
        }
        let changed = match &mut flow.before[to.index()] {
            Some(known) => known.join(&state),
            unknown => {
                *unknown = Some(state);
                true
            }
        };
        if changed {
            open.insert(to);
        }
    }

    /// A phi of fresh inputs is fresh.
    fn pass_phis(
        &mut self,
        frame: &Frame,
        from: BlockId,
        to: BlockId,
        exceptional: bool,
        state: &mut State,
    ) {
        if state.fresh.is_empty() {
            return;
        }
        let body = &frame.facts.body;
        let is_it = |edge: &unsnarl_program::body::Edge| {
            edge.from == from && edge.exceptional == exceptional
        };
        let Some(position) = body.blocks[to].predecessors.iter().position(is_it) else { return };
        let mut found: SmallVec<[(Value, Option<Fresh>); 2]> = SmallVec::new();
        for (_, statement) in body.block_statements(to) {
            let Operation::Phi(inputs) = &statement.operation else { break };
            if let (Some(&input), Some(result)) = (inputs.get(position), statement.result) {
                let fresh = state.fresh(&self.strict_path(frame, input));
                found.push((result, fresh.cloned()));
            }
        }
        for (result, fresh) in found {
            let path = Path::root(Root::Value(result));
            state.keep_fresh(|fresh| !fresh.path.begins_with(&path));
            if let Some(fresh) = fresh {
                let objects = self.points_to(frame, result);
                state.add_fresh(Fresh { path, objects, ..fresh });
            }
        }
    }

    /// At the end of a loop that joins all that was collected in a container, all of it has ended. At the end
    /// of any other loop every round of which joins a thread, all of them are taken to have ended
    /// [vonPraun04 §4.1], if nothing else joins them.
    fn exit_loop(
        &self,
        frame: &Frame,
        round_joins: &[Vec<OriginId>],
        from: BlockId,
        to: BlockId,
        state: &mut State,
    ) {
        for (number, found) in frame.facts.loops.iter().enumerate() {
            let leaves = found.blocks.contains(from) && !found.blocks.contains(to);
            if leaves && found.header == from {
                for thread in
                    self.facts.join_loops.joined_by(frame.instance, number, &state.collected)
                {
                    let joined = self.joined(frame, thread, false, state);
                    state.add_joined(joined);
                }
            }
            let Some(joins) = round_joins.get(number) else { continue };
            if leaves && (found.header == from || found.latches.contains(&from)) {
                for &thread in joins {
                    if self.facts.threads.join_sites[thread].len() == 1 {
                        let joined = self.joined(frame, thread, true, state);
                        state.add_joined(joined);
                    }
                }
            }
        }
    }

    fn leave_method(
        &mut self,
        frame: &Frame,
        exit: &mut Option<Exit>,
        value: Option<Value>,
        mut state: State,
    ) {
        let fresh_result = value.and_then(|value| state.fresh(&self.strict_path(frame, value)));
        let fresh_result = fresh_result.filter(|fresh| !fresh.is_assumed);
        let fresh_result = fresh_result.map(|fresh| fresh.holders.clone());
        let mut received = [Test::NonZero, Test::Zero].map(|test| {
            let value = value?;
            if let Operation::Constant(constant) = frame.facts.body.definition(value).operation {
                let is_zero = matches!(constant, Constant::Int(0) | Constant::Null);
                return (is_zero == (test == Test::Zero)).then(|| state.received.clone());
            }
            let mut state = state.clone();
            self.learn(frame, value, test, &mut state);
            Some(state.received.clone())
        });
        let locks = self.is_final.then(|| state.locks.clone());
        self.exit_monitor(frame, &mut state);
        if let Some(locks) = locks {
            self.note_return(frame, &locks, &state);
        }
        forget_locals(&mut state);
        received.iter_mut().flatten().for_each(forget_local_paths);
        let [if_nonzero, if_zero] = received;
        match exit {
            Some(exit) => {
                exit.state.join(&state);
                join_result(&mut exit.fresh_result, fresh_result);
                meet(&mut exit.if_nonzero, if_nonzero);
                meet(&mut exit.if_zero, if_zero);
            }
            unknown => *unknown = Some(Exit { state, fresh_result, if_nonzero, if_zero }),
        }
    }
}

/// What has a name only in a method is of no use to its callers.
fn forget_locals(state: &mut State) {
    let is_local = |path: &Path| matches!(path.root, Root::Value(_));
    state.keep_fresh(|fresh| !is_local(&fresh.path));
    let has_others = !state.pending.is_empty()
        || !state.received_if.is_empty()
        || !state.joined_paths.is_empty()
        || !state.last_started.is_empty()
        || !state.collected.is_empty()
        || !state.received.is_empty();
    if has_others {
        let state: &mut Knowledge = state;
        state.pending.clear();
        state.received_if.clear();
        state.joined_paths.retain(|(path, _)| !is_local(path));
        state.last_started.clear();
        state.collected.clear();
        forget_local_paths(&mut state.received);
    }
}

/// What has a name only in a method was received all the same.
fn forget_local_paths(received: &mut Received) {
    for (_, path) in received.iter_mut() {
        *path = path.take().filter(|path| !matches!(path.root, Root::Value(_)));
    }
    received.sort_unstable();
    received.dedup();
}

/// What a block returns that does nothing but return what the way to it has chosen: each way is then
/// an end of its own.
fn returned_by(
    facts: &MethodFacts,
    from: BlockId,
    to: BlockId,
    exceptional: bool,
) -> Option<Value> {
    let block = &facts.body.blocks[to];
    let mut statements = facts.body.block_statements(to).map(|(_, statement)| statement);
    let (first, second) = (statements.next()?, statements.next()?);
    let (Operation::Phi(inputs), Operation::Return(Some(value))) =
        (&first.operation, &second.operation)
    else {
        return None;
    };
    let is_it =
        |edge: &unsnarl_program::body::Edge| edge.from == from && edge.exceptional == exceptional;
    let position = block.predecessors.iter().position(is_it)?;
    (first.result == Some(*value)).then(|| inputs.get(position).copied())?
}

/// A result that is fresh on both ways has the holders of both.
pub(crate) fn join_result(one: &mut Option<Holders>, other: Option<Holders>) {
    *one = one.take().zip(other).map(|(mut one, other)| {
        unite(&mut one, &other);
        one
    });
}

/// What was received on both ways, where nothing stands for a way that cannot be.
pub(crate) fn meet(one: &mut Option<Received>, other: Option<Received>) {
    match (one, other) {
        (Some(one), Some(other)) => one.retain(|received| other.contains(received)),
        (one @ None, other) => *one = other,
        (Some(_), None) => {}
    }
}
