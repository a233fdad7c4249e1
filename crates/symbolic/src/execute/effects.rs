//! What models say about a call, as far as the state is concerned.

use std::borrow::Cow;

use unsnarl_models::{Blocking, Effect, LockMode, ModelPlace, Outcome, StartKind};
use unsnarl_program::body::{Operation, StatementId, Value};
use unsnarl_program::heap::{ModelCall, ObjectId, OriginId, OriginKind};

use crate::event::PathStep;
use crate::execute::state::{Holders, Joined, State, unite};
use crate::execute::transfer::Test;
use crate::execute::{Executor, Frame, join_into};
use crate::facts::access::{channels, is_unconditional, value_of};
use crate::facts::path::{Path, Root};
use crate::facts::threads::repeats;

impl<'m> Executor<'_, 'm> {
    /// A modelled method is called.
    pub(crate) fn apply_model(
        &mut self,
        frame: &Frame,
        id: StatementId,
        call: ModelCall<'m>,
        callbacks: &mut Option<State>,
        state: &mut State,
    ) {
        let already = state.started.clone();
        let returns_new = call.model.effects.iter().all(
            |effect| !matches!(effect, Effect::Return(place) if !matches!(place, ModelPlace::New(_))),
        );
        for effect in &call.model.effects {
            match effect {
                Effect::Call(_) => join_into(callbacks, Cow::Borrowed(state)),
                Effect::Acquire { lock, mode, when, .. } => {
                    let is_validated = || self.is_validated(frame, id, call, lock);
                    if is_unconditional(when) || *mode == LockMode::Optimistic && is_validated() {
                        let (path, objects) = self.lock(frame, id, call, lock);
                        self.acquire(path, objects, *mode, state);
                    } else if let Some(result) = frame.facts.body.statements[id].result
                        && !state.pending.contains(&result)
                    {
                        state.pending.push(result);
                    }
                }
                Effect::Release { lock, mode, .. } => {
                    let (path, objects) = self.lock(frame, id, call, lock);
                    self.release(path.as_ref(), objects, *mode, state);
                }
                Effect::Send { channel, within: None, .. } => {
                    let found = channels(
                        self.facts.program,
                        self.facts.heap,
                        frame.instance,
                        id,
                        call,
                        channel,
                    );
                    for channel in found.into_iter().flat_map(|(_, channels)| channels) {
                        self.send(channel, state);
                    }
                }
                Effect::Receive { channel, within: None, blocking, when, .. }
                    if is_unconditional(when) && *blocking != Blocking::Never =>
                {
                    self.receive_place(frame, id, call, channel, state);
                }
                Effect::Start { .. } | Effect::Later(_) => {
                    self.start(frame, id, call, effect, state);
                }
                Effect::Join { group, when, .. } if is_unconditional(when) => {
                    self.join_group(frame, id, call, group, state);
                    self.join_own(frame, id, call, group, state);
                }
                Effect::Flow { from, to } | Effect::Copy { from, to } => {
                    self.flow_into(frame, id, call, from, to, state);
                }
                Effect::Return(ModelPlace::New(_)) if returns_new => {
                    if let Some(result) = frame.facts.body.statements[id].result {
                        self.make(frame, result, Holders::new(), state);
                    }
                }
                _ => {}
            }
        }
        // Callbacks run beside what the same call starts.
        if let Some(callbacks) = callbacks {
            for thread in state.started.iter().filter(|thread| !already.contains(thread)) {
                callbacks.add_started(*thread);
            }
        }
    }

    /// A call that waits for all that it started itself.
    fn join_own(
        &self,
        frame: &Frame,
        id: StatementId,
        call: ModelCall<'m>,
        group: &ModelPlace,
        state: &mut State,
    ) {
        let threads =
            self.facts.threads.started_at.get(&(frame.instance, id)).into_iter().flatten();
        for &thread in threads {
            if let Some(start) = self.facts.heap.origins[thread].start
                && start.method == call.method
                && let Effect::Start { groups, .. } = start.effect
                && groups.contains(group)
            {
                let joined = self.joined(frame, thread, false, state);
                state.add_joined(joined);
            }
        }
    }

    /// The result of a modelled method was tested.
    pub(crate) fn learn_from_models(
        &mut self,
        frame: &Frame,
        id: StatementId,
        value: Value,
        test: Test,
        state: &mut State,
    ) {
        let heap = self.facts.heap;
        let &[call] = heap.models_at(frame.instance, id) else { return };
        let is_pending = state.pending.contains(&value);
        for effect in &call.model.effects {
            match effect {
                Effect::Acquire { lock, mode, when: Some(when), .. }
                    if is_pending && holds(when, test) =>
                {
                    let (path, objects) = self.lock(frame, id, call, lock);
                    self.acquire(path, objects, *mode, state);
                }
                Effect::Receive { channel, within: None, blocking, when, .. } => {
                    let is_received = match when {
                        Some(when) => holds(when, test),
                        None => *blocking == Blocking::Never && test != Test::Zero,
                    };
                    if is_received {
                        self.receive_place(frame, id, call, channel, state);
                    }
                }
                Effect::Join { group, when: Some(when), .. } if holds(when, test) => {
                    self.join_group(frame, id, call, group, state);
                }
                _ => {}
            }
        }
    }

    /// Whether the method that reads optimistically asks somewhere whether anybody wrote meanwhile.
    fn is_validated(
        &self,
        frame: &Frame,
        id: StatementId,
        call: ModelCall<'m>,
        lock: &ModelPlace,
    ) -> bool {
        let resolve = |id, call, place| {
            self.facts.heap.resolve(self.facts.program, frame.instance, id, call, place)
        };
        let locks = resolve(id, call, lock);
        frame.facts.body.statements.keys().any(|id| {
            self.facts.heap.models_at(frame.instance, id).iter().any(|&call| {
                call.model.effects.iter().any(|effect| match effect {
                    Effect::Release { lock, mode: LockMode::Optimistic, .. } => {
                        resolve(id, call, lock) == locks
                    }
                    _ => false,
                })
            })
        })
    }

    pub(crate) fn lock(
        &mut self,
        frame: &Frame,
        id: StatementId,
        call: ModelCall<'m>,
        place: &ModelPlace,
    ) -> (Option<Path>, crate::execute::state::ObjectsId) {
        let objects = self.facts.heap.resolve(self.facts.program, frame.instance, id, call, place);
        (self.place_path(frame, id, call, place), self.set(&objects))
    }

    /// The strict path of a place: slots are taken not to change. What a view was made from is found
    /// where the view is made (`lock.readLock()` belongs to `lock`).
    pub(crate) fn place_path(
        &self,
        frame: &Frame,
        id: StatementId,
        call: ModelCall<'m>,
        place: &ModelPlace,
    ) -> Option<Path> {
        if let Some(value) = value_of(&frame.facts, self.facts.program, id, call, place) {
            return Some(self.strict_path(frame, self.chain_receiver(frame, value)));
        }
        let ModelPlace::Slot(holder, name) = place else { return None };
        if let Some(value) = value_of(&frame.facts, self.facts.program, id, call, holder) {
            let value = frame.facts.uncast(value);
            let made = frame.facts.body.values[value].definition;
            if let &[maker] = self.facts.heap.models_at(frame.instance, made) {
                let slot = ModelPlace::Slot(Box::new(ModelPlace::Result), name.clone());
                let source = maker.model.effects.iter().find_map(|effect| match effect {
                    Effect::Flow { from, to } if *to == slot => Some(from),
                    _ => None,
                });
                if let Some(source) = source {
                    return self.place_path(frame, made, maker, source);
                }
            }
        }
        let name = self.facts.program.names.find_symbol(name.as_bytes())?;
        let mut path = self.place_path(frame, id, call, holder)?;
        if let Some(&PathStep::Field(field)) = path.steps.last()
            && let Some(steps) = self.facts.views.source(field, name)
        {
            path.steps.pop();
            path.steps.extend(steps.iter().copied());
            return Some(path);
        }
        path.step(PathStep::Slot(name))
    }

    /// The first object of a chain of calls that all return what they are called on: `text.append(…).append(…)`.
    fn chain_receiver(&self, frame: &Frame, mut value: Value) -> Value {
        loop {
            value = frame.facts.uncast(value);
            let made = frame.facts.body.values[value].definition;
            let Operation::Invoke { arguments, .. } = &frame.facts.body.statements[made].operation
            else {
                return value;
            };
            let models = self.facts.heap.models_at(frame.instance, made);
            let mut effects = models.iter().flat_map(|call| &call.model.effects);
            let returns_this = |effect: &Effect| *effect == Effect::Return(ModelPlace::This);
            match (models, arguments.first()) {
                ([_], Some(&this)) if effects.any(returns_this) => value = this,
                _ => return value,
            }
        }
    }

    fn receive_place(
        &mut self,
        frame: &Frame,
        id: StatementId,
        call: ModelCall<'m>,
        place: &ModelPlace,
        state: &mut State,
    ) {
        let found = channels(self.facts.program, self.facts.heap, frame.instance, id, call, place);
        for (holder, channels) in found {
            if let [channel] = channels[..] {
                let path = holder.and_then(|holder| self.place_path(frame, id, call, holder));
                self.add_received(channel, path, state);
            }
        }
    }

    fn start(
        &mut self,
        frame: &Frame,
        id: StatementId,
        call: ModelCall<'m>,
        effect: &Effect,
        state: &mut State,
    ) {
        let here = self.facts.threads.started_at.get(&(frame.instance, id)).into_iter().flatten();
        let threads: Vec<OriginId> = here
            .copied()
            .filter(|&thread| {
                let start = self.facts.heap.origins[thread].start;
                start.is_none_or(|start| start.method == call.method && start.effect == effect)
            })
            .collect();
        for &thread in &threads {
            if self.is_final {
                self.note_start(thread, state);
                if !self.is_private_start(thread, state) {
                    self.found.seen_receivers.insert(thread);
                }
            }
            self.note_last_started(frame, id, call, thread, state);
            state.collected.retain(|put| {
                put.1 != thread || self.facts.join_loops.is_put(frame.instance, id, *put)
            });
            state.add_started(thread);
        }
        if threads.is_empty() {
            return;
        }
        let (Effect::Start { call: started, .. } | Effect::Later(started)) = effect else { return };
        for place in std::iter::once(&started.receiver).chain(&started.arguments) {
            let objects =
                self.facts.heap.resolve(self.facts.program, frame.instance, id, call, place);
            self.escape(&objects, state);
        }
    }

    /// If all earlier instances of a thread have ended, the one that is started now is the only one, and
    /// who waits for it by the same reference waits for all.
    fn note_last_started(
        &self,
        frame: &Frame,
        id: StatementId,
        call: ModelCall<'m>,
        thread: OriginId,
        state: &mut State,
    ) {
        let is_only = state.has_none_running(thread);
        if state.last_started.iter().any(|(_, last)| *last == thread) {
            state.last_started.retain(|(_, last)| *last != thread);
        }
        let Some(Effect::Start { groups, .. }) =
            self.facts.heap.origins[thread].start.map(|start| start.effect)
        else {
            return;
        };
        if !is_only || repeats(self.facts.heap.origins[thread].kind) {
            return;
        }
        for group in groups {
            // A group that others are started in as well says nothing; a thread or future is its own.
            let objects =
                self.facts.heap.resolve(self.facts.program, frame.instance, id, call, group);
            if self.facts.threads.in_groups(&objects) == [thread]
                && let Some(path) = self.place_path(frame, id, call, group)
            {
                state.last_started.push((path, thread));
            }
        }
        if !state.last_started.is_sorted() {
            state.last_started.sort_unstable();
        }
    }

    /// Whether the object on which a thread is started belongs to that thread alone: it has no other
    /// thread, or it has not been seen by anybody.
    fn is_private_start(&self, thread: OriginId, state: &State) -> bool {
        let Some(receiver) = self.facts.heap.origins[thread].receiver else { return false };
        self.facts.threads.only_of_receiver.contains(thread)
            || state
                .fresh
                .iter()
                .any(|fresh| !fresh.is_assumed && self.sets[fresh.objects].contains(&receiver))
    }

    /// Waits for what was started in a group.
    fn join_group(
        &mut self,
        frame: &Frame,
        id: StatementId,
        call: ModelCall<'m>,
        group: &ModelPlace,
        state: &mut State,
    ) {
        let objects = self.facts.heap.resolve(self.facts.program, frame.instance, id, call, group);
        let path = self.place_path(frame, id, call, group);
        for thread in self.facts.threads.in_groups(&objects) {
            let is_last = path
                .as_ref()
                .is_some_and(|path| state.last_started.contains(&(path.clone(), thread)));
            if is_last || self.joins_all(thread, &objects) {
                let joined = self.joined(frame, thread, false, state);
                state.add_joined(joined);
            } else {
                if !state.joined_some.contains(&thread) {
                    unite(&mut state.joined_some, &[thread]);
                }
            }
            if let Some(path) = &path {
                let joined = (path.clone(), thread);
                if let Err(at) = state.joined_paths.binary_search(&joined) {
                    state.joined_paths.insert(at, joined);
                }
            }
        }
    }

    /// All instances of a thread have ended.
    pub(crate) fn joined(
        &self,
        frame: &Frame,
        thread: OriginId,
        is_assumed: bool,
        state: &State,
    ) -> Joined {
        let own = self.facts.heap.instances[frame.instance].origin;
        let starters = self.facts.threads.starters(thread);
        let has_ended = |&starter: &OriginId| {
            let only_own = || self.facts.threads.starters(starter) == [own];
            let mut joined = state.joined.iter();
            starter == own
                || starter != thread
                    && joined.any(|joined| {
                        joined.thread == starter && (joined.is_after_starters || only_own())
                    })
        };
        Joined { thread, is_assumed, is_after_starters: starters.iter().all(has_ended) }
    }

    /// Whether a join of one of these objects waits for all instances of a thread.
    fn joins_all(&self, thread: OriginId, objects: &[ObjectId]) -> bool {
        // The workers of a stream end with it, whatever else their pool does.
        let kind = self.facts.heap.origins[thread].kind;
        if kind == OriginKind::Started(StartKind::ParallelStream) {
            return true;
        }
        let &[object] = objects else { return false };
        let is_only = self.facts.threads.groups[thread].iter().any(|group| **group == [object]);
        let is_sure = self.facts.threads.unique_objects.contains(object)
            || self.facts.threads.unique.contains(thread)
                && self.facts.threads.in_groups(objects).len() == 1;
        is_only && is_sure
    }

    fn flow_into(
        &mut self,
        frame: &Frame,
        id: StatementId,
        call: ModelCall<'m>,
        from: &ModelPlace,
        to: &ModelPlace,
        state: &mut State,
    ) {
        if state.fresh.is_empty() {
            return;
        }
        let (holder, name) = match to {
            ModelPlace::Slot(holder, name) => (holder, Some(name)),
            ModelPlace::Element(holder) | ModelPlace::Variable { object: holder, .. } => {
                (holder, None)
            }
            ModelPlace::Static { .. } => {
                let objects =
                    self.facts.heap.resolve(self.facts.program, frame.instance, id, call, from);
                self.escape(&objects, state);
                return;
            }
            _ => return,
        };
        let objects = self.facts.heap.resolve(self.facts.program, frame.instance, id, call, holder);
        let path = self.place_path(frame, id, call, holder);
        let path = path.unwrap_or_else(|| Path::root(Root::Outer(u16::MAX)));
        let step = name.and_then(|name| self.facts.program.names.find_symbol(name.as_bytes()));
        let to = step.and_then(|step| path.step(PathStep::Slot(step)));
        let value = value_of(&frame.facts, self.facts.program, id, call, from);
        let values = self.facts.heap.resolve(self.facts.program, frame.instance, id, call, from);
        self.store_into(frame, (&path, &objects), to, value, &values, state);
    }
}

/// Whether the test of a result shows an outcome.
fn holds(when: &Outcome, test: Test) -> bool {
    match when {
        Outcome::True | Outcome::NonNull | Outcome::NonZero => test != Test::Zero,
        Outcome::False | Outcome::Null | Outcome::Zero => test == Test::Zero,
        Outcome::Positive => test == Test::Positive,
        Outcome::Negative => test == Test::Negative,
        _ => false,
    }
}
