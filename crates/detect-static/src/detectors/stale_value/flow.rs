//! The data flow of one method: which of its values come from which reads, and which locks were given back
//! since [Artho04 §3, §4].
//!
//! What is computed from values comes from where they come from, and so does the result of a call: it is
//! an operation on its arguments, and besides returns what its summary says.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unsnarl_entity::EntityId;
use unsnarl_models::Effect;
use unsnarl_program::MethodId;
use unsnarl_program::body::{BlockId, Body, Edge, Operation, Statement, StatementId, Value};
use unsnarl_program::heap::{EdgeKind, InstanceId, ObjectId};
use unsnarl_symbolic::{Event, EventId, Guard};

use super::base::Base;
use super::reads::{Accesses, Guards};
use super::summary::{Source, Summary, Taint, Taints, unite};
use crate::code::Site;
use crate::wording::describe::Describe;

/// The classes that the language wraps numbers in.
const BOXES: [&str; 8] = [
    "java.lang.Boolean",
    "java.lang.Byte",
    "java.lang.Character",
    "java.lang.Double",
    "java.lang.Float",
    "java.lang.Integer",
    "java.lang.Long",
    "java.lang.Short",
];

/// What is known of the values of a method at a program point.
pub(super) type State = FxHashMap<Value, Taints>;

/// A method in a context, and all that is known around it.
pub(super) struct Flow<'f, 'd, 'm> {
    pub(super) describe: &'f Describe<'d, 'm>,
    pub(super) accesses: &'f Accesses,
    pub(super) summaries: &'f FxHashMap<InstanceId, Summary>,
    pub(super) instance: InstanceId,
    pub(super) method: MethodId,
    pub(super) body: &'f Body,
}

impl Flow<'_, '_, '_> {
    /// The states at the beginnings of blocks, for those that can be reached.
    pub(super) fn states(&self) -> Vec<Option<State>> {
        let mut states: Vec<Option<State>> = vec![None; self.body.blocks.len()];
        states[self.body.entry().index()] = Some(State::default());
        let mut open = BTreeSet::from([self.body.entry()]);
        while let Some(block) = open.pop_first() {
            let Some(before) = states[block.index()].clone() else { continue };
            let mut after = before.clone();
            for (id, statement) in self.body.block_statements(block) {
                self.step(id, statement, &mut after);
            }
            let mut arrive = |to: BlockId, exceptional: bool, state: &State| {
                if self.arrive(&mut states, Edge { from: block, exceptional }, to, state) {
                    open.insert(to);
                }
            };
            for target in self.body.terminator(block).operation.targets() {
                arrive(target, false, &after);
            }
            for &handler in &self.body.blocks[block].handlers {
                arrive(handler, true, &before);
                arrive(handler, true, &after);
            }
        }
        states
    }

    fn arrive(&self, states: &mut [Option<State>], edge: Edge, to: BlockId, state: &State) -> bool {
        let mut arriving = state.clone();
        let position = self.body.blocks[to].predecessors.iter().position(|known| *known == edge);
        for (_, statement) in self.body.block_statements(to) {
            let Operation::Phi(inputs) = &statement.operation else { break };
            let input = position.and_then(|position| inputs.get(position));
            if let (Some(input), Some(result)) = (input, statement.result) {
                let mut found = taints(state, [*input]);
                if matches!(self.body.definition(*input).operation, Operation::Constant(_)) {
                    unite(&mut found, &taints(state, self.deciding(edge.from)));
                }
                set(&mut arriving, result, found);
            }
        }
        match &mut states[to.index()] {
            Some(known) => {
                let mut is_new = false;
                for (value, taints) in arriving {
                    is_new |= unite(known.entry(value).or_default(), &taints);
                }
                is_new
            }
            unknown => {
                *unknown = Some(arriving);
                true
            }
        }
    }

    /// The values by which it was decided to come to a block: which constant a phi then has says what they
    /// were, as in `return size > 9`.
    fn deciding(&self, block: BlockId) -> SmallVec<[Value; 4]> {
        let before = self.body.blocks[block].predecessors.iter().filter(|edge| !edge.exceptional);
        let blocks = std::iter::once(block).chain(before.map(|edge| edge.from));
        let branches = blocks.map(|block| &self.body.terminator(block).operation);
        let branches = branches.filter(|operation| matches!(operation, Operation::Branch { .. }));
        branches.flat_map(Operation::operands).collect()
    }

    /// What a statement does to the state.
    pub(super) fn step(&self, id: StatementId, statement: &Statement, state: &mut State) {
        let operation = &statement.operation;
        let is_call =
            matches!(operation, Operation::Invoke { .. } | Operation::InvokeDynamic { .. });
        if let Some(result) = statement.result {
            match operation {
                Operation::Phi(_) => {}
                Operation::Parameter(number) => {
                    let taint = Taint::new(Source::Parameter(*number), None);
                    set(state, result, SmallVec::from_elem(taint, 1));
                }
                Operation::Compute { .. }
                | Operation::Pure { .. }
                | Operation::Cast { .. }
                | Operation::InstanceOf { .. }
                | Operation::ArrayLength(_) => {
                    let found = taints(state, operation.operands());
                    set(state, result, found);
                }
                _ if is_call => {
                    let values = operation.operands();
                    let plain = values.into_iter().filter(|&value| self.is_plain(value));
                    let found = taints(state, plain);
                    set(state, result, found);
                }
                _ => set(state, result, Taints::new()),
            }
        }
        let ended = self.describe.execution.ended_scopes(self.instance, id);
        if !ended.is_empty() {
            self.release(state, id, |guard| ended.iter().any(|lock| lock.may_be(guard)));
        }
        if is_call {
            for waited in self.waits(id) {
                self.release(state, id, |guard| is_one_of(guard, &waited));
            }
        }
        if let Some(result) = statement.result {
            let mut read = self.returned(id, operation);
            if let Some(event) = self.accesses.read(self.instance, id) {
                let base = self.base(operation);
                unite(&mut read, &[Taint::new(Source::Read(event), base)]);
            }
            if !read.is_empty() {
                unite(state.entry(result).or_default(), &read);
            }
        }
    }

    /// Whether a value is a number or text rather than an object that has values: what a method computes
    /// from an object is what it finds there then. Of references it counts the values of the language, which never
    /// change, and what has lost its type in a collection.
    fn is_plain(&self, value: Value) -> bool {
        let names = &self.describe.program.names;
        let ty = self.body.values[value].ty;
        !names.is_reference(ty)
            || [names.known.string, names.known.object].contains(&ty)
            || BOXES.contains(&&*names.type_text(ty))
    }

    /// The object that an operation reads from or writes to.
    pub(super) fn base(&self, operation: &Operation) -> Option<Base> {
        let object = match operation {
            Operation::GetField { object, .. } | Operation::PutField { object, .. } => object,
            Operation::GetStatic { .. } | Operation::PutStatic { .. } => return Some(Base::class()),
            Operation::ArrayLoad { array, .. } | Operation::ArrayStore { array, .. } => array,
            Operation::Invoke { arguments, .. } => arguments.first()?,
            _ => return None,
        };
        Some(Base::of(self.describe.program, self.body, *object))
    }

    /// What an object that a callee names is here.
    pub(super) fn outward(&self, base: Option<&Base>, operation: &Operation) -> Option<Base> {
        let Operation::Invoke { arguments, .. } = operation else { return None };
        base?.outward(self.describe.program, self.body, arguments)
    }

    /// What callees return: a lock that the caller holds as well was not given back by them.
    fn returned(&self, id: StatementId, operation: &Operation) -> Taints {
        let held = self.describe.execution.held_at_call(self.instance, id);
        let mut found = Taints::new();
        for taint in self.callees(id).flat_map(|(_, summary)| summary.returned.iter()) {
            let Source::Read(read) = taint.source else { continue };
            let guards = &self.event(read).guards;
            let kept = guards_of(guards, |guard| held.iter().any(|lock| lock.may_be(guard)));
            let released = taint.released & !kept;
            let release = taint.release.filter(|_| self.accesses.is_stale(read, released));
            let base = self.outward(taint.base.as_ref(), operation);
            unite(&mut found, &[Taint { source: taint.source, base, released, release }]);
        }
        found
    }

    /// The methods of the program that a statement calls.
    pub(super) fn callees(&self, id: StatementId) -> impl Iterator<Item = (InstanceId, &Summary)> {
        let calls = self.describe.execution.heap.calls_at(self.instance, id).iter();
        let calls = calls.filter(|call| call.kind == EdgeKind::Call);
        calls.filter_map(|call| Some((call.callee, self.summaries.get(&call.callee)?)))
    }

    /// The locks that are given back for a while, by the statement or by whom it calls.
    pub(super) fn waits(&self, id: StatementId) -> Vec<Arc<[ObjectId]>> {
        let heap = &self.describe.execution.heap;
        let mut waits: Vec<Arc<[ObjectId]>> = Vec::new();
        for &call in heap.models_at(self.instance, id) {
            for effect in &call.model.effects {
                if let Effect::Wait { on, lock, .. } = effect {
                    let lock = lock.as_ref().unwrap_or(on);
                    let program = self.describe.program;
                    waits.push(heap.resolve(program, self.instance, id, call, lock).into());
                }
            }
        }
        waits.extend(self.callees(id).flat_map(|(_, summary)| summary.waits.iter().cloned()));
        waits
    }

    /// Locks are given back: all values that were read with them know it.
    fn release(&self, state: &mut State, id: StatementId, is_released: impl Fn(&Guard) -> bool) {
        for taints in state.values_mut() {
            *taints = self.released(taints, (self.method, id), &is_released);
        }
    }

    /// What is known of a value after locks were given back.
    pub(super) fn released(
        &self,
        taints: &[Taint],
        place: Site,
        is_released: impl Fn(&Guard) -> bool,
    ) -> Taints {
        let mut found = Taints::new();
        for taint in taints {
            let mut taint = taint.clone();
            if let Source::Read(read) = taint.source {
                taint.released |= guards_of(&self.event(read).guards, &is_released);
                if taint.release.is_none() && self.accesses.is_stale(read, taint.released) {
                    taint.release = Some(place);
                }
            }
            unite(&mut found, &[taint]);
        }
        found
    }

    pub(super) fn event(&self, event: EventId) -> &Event {
        self.describe.event(event)
    }
}

/// What is known of any of some values.
pub(super) fn taints(state: &State, values: impl IntoIterator<Item = Value>) -> Taints {
    let mut found = Taints::new();
    for value in values {
        if let Some(taints) = state.get(&value) {
            unite(&mut found, taints);
        }
    }
    found
}

fn set(state: &mut State, value: Value, taints: Taints) {
    match taints.is_empty() {
        true => state.remove(&value),
        false => state.insert(value, taints),
    };
}

fn is_one_of(guard: &Guard, objects: &[ObjectId]) -> bool {
    guard.objects.iter().any(|object| objects.contains(object))
}

fn guards_of(guards: &[Guard], is_it: impl Fn(&Guard) -> bool) -> Guards {
    let places = guards.iter().take(Guards::BITS as usize).enumerate();
    places.filter(|(_, guard)| is_it(guard)).fold(0, |found, (place, _)| found | 1 << place)
}
