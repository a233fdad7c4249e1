//! What a statement does to the state.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use unsnarl_classfile::{Opcode, flags};
use unsnarl_models::{Effect, LockMode, MethodModel, ModelPlace};
use unsnarl_program::body::{BlockId, Constant, Operation, StatementId, Value};
use unsnarl_program::heap::ObjectId;
use unsnarl_program::{FieldId, MethodId};

use crate::event::{Accessed, PathStep};
use crate::execute::state::{
    Channel, Fresh, Holders, Knowledge, Lock, ObjectsId, State, Taken, has_all, unite,
};
use crate::execute::{Executor, Frame};
use crate::facts::method::is_default;
use crate::facts::path::{Path, Root};
use crate::facts::threads::sorted;

/// More objects than this can be reached: it is not worth to know which.
const MOST_INSIDE: usize = 400;
/// From one of more objects than this a signal is not worth to be noted.
const MOST_CARRIERS: usize = 4;

/// What a branch says about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// Zero, false or null.
    Zero,
    /// Anything else.
    NonZero,
    Positive,
    Negative,
}

impl Executor<'_, '_> {
    /// Runs a statement; false if it does not return, as far as is known.
    pub(crate) fn transfer(&mut self, frame: &Frame, id: StatementId, state: &mut State) -> bool {
        let body = Arc::clone(&frame.facts.body);
        let statement = &body.statements[id];
        if let Some(result) = statement.result {
            forget(state, result);
        }
        match &statement.operation {
            Operation::New(_) | Operation::NewArray { .. } => {
                if let Some(result) = statement.result {
                    self.make(frame, result, Holders::new(), state);
                    self.make_container(frame, result, state);
                }
            }
            Operation::GetField { object, .. } => {
                if let (Some(field), Some(result)) = (frame.facts.field(id), statement.result) {
                    self.load(frame, *object, PathStep::Field(field), result, state);
                }
            }
            Operation::PutField { object, value, .. } => {
                if let Some(field) = frame.facts.field(id) {
                    self.store(frame, *object, Some(PathStep::Field(field)), *value, state);
                    // Nobody waits for the value that a variable has from the beginning.
                    if self.is_volatile(field) && !is_default(&frame.facts, *value) {
                        let variable = Some(Accessed::Field(field));
                        for &object in self.facts.heap.points_to(frame.instance, *object) {
                            self.send(Channel::Object(object, variable), state);
                        }
                    }
                }
            }
            Operation::PutStatic { value, .. } => {
                if let Some(field) = frame.facts.field(id)
                    && self.is_volatile(field)
                    && !is_default(&frame.facts, *value)
                {
                    self.send(Channel::Static(field), state);
                }
                self.escape_value(frame, *value, state);
            }
            Operation::ArrayStore { array, value, .. } => {
                self.store(frame, *array, None, *value, state);
            }
            Operation::MonitorEnter(value) => {
                let (path, objects) =
                    (self.strict_path(frame, *value), self.points_to(frame, *value));
                self.acquire(Some(path), objects, LockMode::Exclusive, state);
            }
            Operation::MonitorExit(value) => {
                let (path, objects) =
                    (self.strict_path(frame, *value), self.points_to(frame, *value));
                self.release(Some(&path), objects, LockMode::Exclusive, state);
            }
            Operation::Throw(value) => self.escape_value(frame, *value, state),
            Operation::Invoke { arguments, .. } | Operation::InvokeDynamic { arguments, .. } => {
                return self.invoke(frame, id, arguments, statement.result, state);
            }
            _ => {}
        }
        true
    }

    /// A container is made: those threads are collected in it of which none is running.
    fn make_container(&self, frame: &Frame, container: Value, state: &mut State) {
        if state.collected.iter().any(|put| put.0 == container) {
            state.collected.retain(|put| put.0 != container);
        }
        for &thread in self.facts.join_loops.made(frame.instance, container) {
            if state.has_none_running(thread) {
                state.collected.push((container, thread));
                state.collected.sort_unstable();
            }
        }
    }

    pub(crate) fn is_volatile(&self, field: FieldId) -> bool {
        self.facts.program.fields()[field].access & flags::VOLATILE != 0
    }

    // Objects that nobody else sees.

    pub(crate) fn make(
        &mut self,
        frame: &Frame,
        result: Value,
        holders: Holders,
        state: &mut State,
    ) {
        let objects = self.points_to(frame, result);
        // Who is never seen by others needs no watching.
        if self.sets[objects].iter().any(|&object| !self.facts.sharing.is_private(object)) {
            let path = Path::root(Root::Value(result));
            state.add_fresh(Fresh { path, objects, holders, is_assumed: false });
        }
    }

    fn load(
        &mut self,
        frame: &Frame,
        object: Value,
        step: PathStep,
        result: Value,
        state: &mut State,
    ) {
        if state.fresh.is_empty() {
            return;
        }
        let Some(path) = self.strict_path(frame, object).step(step) else { return };
        let to = self.strict_path(frame, result);
        if path != to
            && let Some(fresh) = state.fresh(&path).cloned()
        {
            let objects = self.points_to(frame, result);
            state.add_fresh(Fresh { path: to, objects, ..fresh });
        }
    }

    pub(crate) fn store(
        &mut self,
        frame: &Frame,
        base: Value,
        step: Option<PathStep>,
        value: Value,
        state: &mut State,
    ) {
        if state.fresh.is_empty() {
            return;
        }
        let path = self.strict_path(frame, base);
        let to = step.and_then(|step| path.step(step));
        let objects = self.facts.heap.points_to(frame.instance, base);
        self.store_into(frame, (&path, objects), to, Some(value), &[], state);
    }

    /// A reference is stored into an object, as `to` if that has a name.
    pub(crate) fn store_into(
        &mut self,
        frame: &Frame,
        (path, objects): (&Path, &[ObjectId]),
        to: Option<Path>,
        value: Option<Value>,
        values: &[ObjectId],
        state: &mut State,
    ) {
        if state.fresh.is_empty() {
            return;
        }
        let base = state.fresh(path).cloned();
        if let Some(to) = &to {
            state.keep_fresh(|fresh| !fresh.path.begins_with(to));
        }
        let stored = value.map_or(values, |value| self.facts.heap.points_to(frame.instance, value));
        if let Some(mut base) = base {
            unite(&mut base.holders, &self.sets[base.objects]);
            self.hold(stored, &base, state);
            if let (Some(to), Some(value)) = (to, value)
                && let Some(fresh) = state.fresh(&self.strict_path(frame, value)).cloned()
            {
                let objects = self.points_to(frame, value);
                state.add_fresh(Fresh { path: to, objects, ..fresh });
            }
            return;
        }
        let is_private =
            !objects.is_empty() && objects.iter().all(|&o| self.facts.sharing.is_private(o));
        match value {
            _ if is_private => {
                let holders = objects.into();
                let (path, objects) = (path.clone(), self.set(objects));
                let base = Fresh { path, objects, holders, is_assumed: false };
                self.hold(stored, &base, state);
            }
            Some(value) => self.escape_value(frame, value, state),
            None => self.escape(values, state),
        }
    }

    pub(crate) fn escape_value(&mut self, frame: &Frame, value: Value, state: &mut State) {
        if state.fresh.is_empty() {
            return;
        }
        let path = self.strict_path(frame, value);
        state.keep_fresh(|fresh| !fresh.path.begins_with(&path));
        let objects = self.facts.heap.points_to(frame.instance, value);
        self.escape(objects, state);
    }

    /// What may be one of these objects, or be reached from one, can be reached from the same holders as
    /// another from now on.
    pub(crate) fn hold(&self, stored: &[ObjectId], by: &Fresh, state: &mut State) {
        for at in 0..state.fresh.len() {
            let fresh = &state.fresh[at];
            let is_known =
                has_all(&fresh.holders, &by.holders) && fresh.is_assumed >= by.is_assumed;
            if !is_known && self.is_seen(fresh, stored) {
                let fresh = &mut state.fresh[at];
                unite(&mut fresh.holders, &by.holders);
                fresh.is_assumed |= by.is_assumed;
            }
        }
    }

    /// Others may see these objects, which are sorted, from now on, and all that can be reached from them. What
    /// the heap says about that does not matter: only what was stored can be reached, and that has holders.
    pub(crate) fn escape(&mut self, objects: &[ObjectId], state: &mut State) {
        state.keep_fresh(|fresh| !self.can_reach(objects, fresh));
    }

    /// Whether a fresh object can be reached from one of these, also through objects that nobody watches.
    pub(crate) fn can_reach(&mut self, objects: &[ObjectId], fresh: &Fresh) -> bool {
        if self.is_seen(fresh, objects) || fresh.holders.is_empty() {
            return self.is_seen(fresh, objects);
        }
        objects.iter().any(|&object| {
            let inside = self.private_inside(object);
            let mut holders = fresh.holders.iter();
            inside.is_none_or(|inside| holders.any(|held| inside.binary_search(held).is_ok()))
        })
    }

    /// The objects that nobody watches and that can be reached from an object through such, sorted; nothing if
    /// there are too many.
    fn private_inside(&mut self, object: ObjectId) -> Option<Arc<[ObjectId]>> {
        if let Some(known) = self.remembered.private_inside.get(&object) {
            return known.clone();
        }
        let mut seen: FxHashSet<ObjectId> = FxHashSet::default();
        let mut open = vec![object];
        while let Some(object) = open.pop()
            && seen.len() <= MOST_INSIDE
        {
            let variables = self.facts.heap.references_of(object);
            let seen_by_all =
                variables.filter(|&(name, _)| Some(name) != self.facts.sharing.per_thread);
            let inside = seen_by_all.flat_map(|(_, inside)| inside.iter().copied());
            open.extend(inside.filter(|&o| self.facts.sharing.is_private(o) && seen.insert(o)));
        }
        let found = (seen.len() <= MOST_INSIDE).then(|| sorted(seen).into());
        self.remembered.private_inside.insert(object, Option::clone(&found));
        found
    }

    /// Whether who sees these objects may see a fresh one.
    fn is_seen(&self, fresh: &Fresh, objects: &[ObjectId]) -> bool {
        let mut own = self.sets[fresh.objects].iter().chain(&fresh.holders);
        own.any(|object| objects.binary_search(object).is_ok())
    }

    // Locks.

    /// The monitor of a synchronized method.
    pub(crate) fn enter_monitor(&mut self, frame: &Frame, state: &mut State) {
        if let Some((path, objects)) = self.monitor(frame) {
            self.acquire(Some(path), objects, LockMode::Exclusive, state);
        }
    }

    pub(crate) fn exit_monitor(&mut self, frame: &Frame, state: &mut State) {
        if let Some((path, objects)) = self.monitor(frame) {
            self.release(Some(&path), objects, LockMode::Exclusive, state);
        }
    }

    pub(crate) fn monitor(&mut self, frame: &Frame) -> Option<(Path, ObjectsId)> {
        if !frame.facts.is_synchronized {
            return None;
        }
        let method: MethodId = self.facts.heap.instances[frame.instance].method;
        if frame.facts.is_static {
            let object = *self.facts.class_locks.get(&method)?;
            let unsnarl_program::heap::Object::Class(ty) = self.facts.heap.objects[object].object
            else {
                return None;
            };
            return Some((Path::root(Root::Class(ty)), self.set(&[object])));
        }
        let this = frame.facts.parameters.iter().find(|(number, _)| *number == 0);
        Some(match this {
            Some(&(_, this)) => (self.strict_path(frame, this), self.points_to(frame, this)),
            None => {
                // `this` is not used otherwise.
                let receiver = self.facts.heap.instances[frame.instance].receiver;
                (self.own_path(frame), self.set(receiver.as_slice()))
            }
        })
    }

    fn own_path(&self, frame: &Frame) -> Path {
        let binding = frame.entry.bindings.first().and_then(|binding| binding.strict.clone());
        binding.unwrap_or_else(|| Path::root(Root::Parameter(0)))
    }

    pub(crate) fn acquire(
        &mut self,
        path: Option<Path>,
        objects: ObjectsId,
        mode: LockMode,
        state: &mut State,
    ) {
        let state: &mut Knowledge = state;
        let held = state
            .locks
            .iter_mut()
            .find(|lock| lock.mode == mode && lock.path.is_some() && lock.path == path);
        match held {
            Some(lock) => lock.count = lock.count.saturating_add(1),
            None => {
                let (count, inherited, taken) = (1, None, Taken::Now);
                state.locks.push(Lock { path, objects, mode, count, inherited, taken });
            }
        }
    }

    pub(crate) fn release(
        &mut self,
        path: Option<&Path>,
        objects: ObjectsId,
        mode: LockMode,
        state: &mut State,
    ) {
        let locks = &state.locks;
        let by_path = locks
            .iter()
            .rposition(|lock| lock.mode == mode && path.is_some() && lock.path.as_ref() == path);
        let by_objects =
            || locks.iter().rposition(|lock| lock.mode == mode && lock.objects == objects);
        let released = &self.sets[objects];
        let by_any = || {
            locks.iter().rposition(|lock| {
                let held = &self.sets[lock.objects];
                lock.mode == mode && held.iter().any(|object| released.contains(object))
            })
        };
        if let Some(at) = by_path.or_else(by_objects).or_else(by_any) {
            state.locks[at].count -= 1;
            if state.locks[at].count == 0 {
                state.locks.remove(at);
            }
        }
    }

    // Branches.

    /// What the chosen arm of a branch says; false if it cannot be taken.
    pub(crate) fn branch(
        &mut self,
        frame: &Frame,
        block: BlockId,
        is_then: bool,
        state: &mut State,
    ) -> bool {
        let body = Arc::clone(&frame.facts.body);
        let Operation::Branch { opcode, left, right, .. } = body.terminator(block).operation else {
            return true;
        };
        let constant = |value: Value| match body.definition(value).operation {
            Operation::Constant(constant) => Some(constant),
            _ => None,
        };
        let opcode = if is_then { Some(opcode) } else { opcode.negated() };
        let Some(opcode) = opcode else { return true };
        let (value, other) = match right {
            None => (left, Some(Constant::Int(0))),
            Some(right) => match (constant(left), constant(right)) {
                (_, Some(other)) => (left, Some(other)),
                (Some(other), _) => (right, Some(other)),
                _ => return true,
            },
        };
        let is_zero = matches!(other, Some(Constant::Int(0) | Constant::Null));
        let test = match opcode {
            Opcode::IfEq | Opcode::IfNull => Test::Zero,
            Opcode::IfNe | Opcode::IfNonNull => Test::NonZero,
            Opcode::IfGt => Test::Positive,
            Opcode::IfLt => Test::Negative,
            Opcode::IfICmpEq | Opcode::IfACmpEq if is_zero => Test::Zero,
            Opcode::IfICmpEq | Opcode::IfACmpEq => Test::NonZero,
            Opcode::IfICmpNe | Opcode::IfACmpNe if is_zero => Test::NonZero,
            _ => return true,
        };
        // `x == 0L` compares twice.
        let value = match &body.definition(value).operation {
            Operation::Compute { opcode: Opcode::LCmp, operands } => match operands.as_slice() {
                &[long, zero] if constant(zero) == Some(Constant::Long(0)) => long,
                _ => return true,
            },
            _ => value,
        };
        let value = frame.facts.uncast(value);
        if test == Test::Zero && self.is_made(frame, value) {
            return false;
        }
        self.learn(frame, value, test, state);
        if state.pending.contains(&value) {
            state.pending.retain(|pending| *pending != value);
        }
        true
    }

    /// Whether a value is a new object, which is never null.
    fn is_made(&self, frame: &Frame, value: Value) -> bool {
        let definition = frame.facts.body.values[value].definition;
        match frame.facts.body.statements[definition].operation {
            Operation::New(_) | Operation::NewArray { .. } => true,
            Operation::Invoke { .. } => {
                let models = self.facts.heap.models_at(frame.instance, definition);
                !models.is_empty()
                    && self.calls_at(frame, definition).is_empty()
                    && models.iter().all(|call| returns_new(call.model))
            }
            _ => false,
        }
    }

    /// A value was tested.
    pub(crate) fn learn(&mut self, frame: &Frame, value: Value, test: Test, state: &mut State) {
        let value = frame.facts.uncast(value);
        let definition = frame.facts.body.values[value].definition;
        let field = frame.facts.field(definition);
        if !state.received_if.is_empty() {
            let is_nonzero = test != Test::Zero;
            for (about, when, channel, path) in state.received_if.clone() {
                if about == value && when == is_nonzero {
                    state.add_received((channel, path));
                }
            }
        }
        match frame.facts.body.statements[definition].operation {
            Operation::GetField { object, .. } if test != Test::Zero => {
                if let Some(field) = field.filter(|&field| self.is_volatile(field)) {
                    let path = self.strict_path(frame, object);
                    let objects = self.facts.heap.points_to(frame.instance, object);
                    self.receive(objects, Some(Accessed::Field(field)), Some(path), state);
                }
            }
            Operation::GetStatic { .. } if test != Test::Zero => {
                if let Some(field) = field.filter(|&field| self.is_volatile(field)) {
                    self.add_received(Channel::Static(field), None, state);
                }
            }
            Operation::Invoke { .. } => {
                self.learn_from_models(frame, definition, value, test, state);
            }
            _ => {}
        }
    }

    /// A signal was received from one of these objects. If they are several, it says something only about
    /// the object by its path, whichever of them that is: not so if one of them is single, for then the
    /// path would not be asked.
    pub(crate) fn receive(
        &mut self,
        objects: &[ObjectId],
        variable: Option<Accessed>,
        path: Option<Path>,
        state: &mut State,
    ) {
        let is_certain = matches!(objects, [_])
            || objects.len() <= MOST_CARRIERS
                && !objects
                    .iter()
                    .any(|&object| self.facts.threads.unique_objects.contains(object));
        if is_certain {
            for &object in objects {
                self.add_received(Channel::Object(object, variable), path.clone(), state);
            }
        }
    }

    pub(crate) fn add_received(&mut self, channel: Channel, path: Option<Path>, state: &mut State) {
        if self.facts.signals.is_useful(channel) {
            let channel = self.channels.intern(channel);
            state.add_received((channel, path));
        }
    }
}

/// Whether a modelled method returns a new object and nothing else.
fn returns_new(model: &MethodModel) -> bool {
    let mut returns = model.effects.iter().filter_map(|effect| match effect {
        Effect::Return(place) => Some(place),
        _ => None,
    });
    matches!(returns.next(), Some(ModelPlace::New(_))) && returns.next().is_none()
}

/// A value is defined anew: what was known of its last one is gone.
fn forget(state: &mut State, value: Value) {
    let root = Root::Value(value);
    let is_it = |path: &Path| path.root == root;
    let is_known = state.fresh.iter().any(|fresh| is_it(&fresh.path))
        || state.joined_paths.iter().any(|(path, _)| is_it(path))
        || state.last_started.iter().any(|(path, _)| is_it(path))
        || state.pending.contains(&value)
        || state
            .received_if
            .iter()
            .any(|receipt| receipt.0 == value || receipt.3.as_ref().is_some_and(is_it))
        || state.locks.iter().any(|lock| lock.path.as_ref().is_some_and(is_it))
        || state.received.iter().any(|(_, path)| path.as_ref().is_some_and(is_it));
    if !is_known {
        return;
    }
    let state: &mut Knowledge = state;
    state.fresh.retain(|fresh| !is_it(&fresh.path));
    state.joined_paths.retain(|(path, _)| !is_it(path));
    state.last_started.retain(|(path, _)| !is_it(path));
    state.pending.retain(|pending| *pending != value);
    state
        .received_if
        .retain(|(about, _, _, path)| *about != value && !path.as_ref().is_some_and(is_it));
    for lock in &mut state.locks {
        lock.path = lock.path.take().filter(|path| !is_it(path));
    }
    if state.received.iter().any(|(_, path)| path.as_ref().is_some_and(is_it)) {
        for (_, path) in &mut state.received {
            *path = path.take().filter(|path| !is_it(path));
        }
        state.received.sort_unstable();
        state.received.dedup();
    }
}
