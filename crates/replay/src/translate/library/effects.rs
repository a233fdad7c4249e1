//! What the sentences of a model do in a running program.

use unsnarl_events::Operation;
use unsnarl_models::{Blocking, Effect, MethodModel, ModelPlace, Outcome, StartKind};

use super::LibraryCalls;
use super::accesses::range_accesses;
use super::call::Call;
use super::channels::Key;
use super::operands::Ordered;
use crate::translate::emitter::Emitter;

impl LibraryCalls {
    /// What a call publishes, and its other effects that are known before it ends. `holds` knows how it will end.
    pub(crate) fn begin_effects(
        &mut self,
        call: &mut Call,
        model: Option<&MethodModel>,
        holds: &dyn Fn(Option<&Outcome>) -> bool,
        emit: &mut Emitter<'_>,
    ) {
        let Some(model) = model else { return };
        for (index, effect) in model.effects.iter().enumerate() {
            if needs_result(effect) {
                continue;
            }
            if let Effect::Read { place, range: None, atomic: false }
            | Effect::Write { place, range: None, atomic: false, .. } = effect
                && emit.resolver.requested.is_exact
            {
                // What it does, and what it passes to functions meanwhile, depends on all that was put in before.
                self.contents_access(place, false, call, emit);
            }
            match effect {
                Effect::Release { lock, mode, when } if holds(when.as_ref()) => {
                    let within = model.effects[..index].iter().any(
                        |other| matches!(other, Effect::Acquire { lock: taken, .. } if taken == lock),
                    );
                    for lock in self.locks(lock, call, emit.resolver) {
                        if within {
                            self.channels.send(Key::Locks(lock), emit);
                        } else {
                            self.held.release(lock, *mode, emit);
                        }
                    }
                }
                // Whoever may fail to get it does not wait for ever.
                Effect::Acquire { lock, when: None, .. } => {
                    for lock in self.locks(lock, call, emit.resolver) {
                        emit.push(Operation::Request(lock));
                    }
                }
                Effect::Wait { on, lock, .. } => {
                    if let Some(lock) =
                        self.locks(lock.as_ref().unwrap_or(on), call, emit.resolver).pop()
                    {
                        call.waits_for = Some(lock);
                        for on in self.values(on, call) {
                            self.held.wait(on, lock);
                        }
                        emit.push(Operation::Wait(lock));
                    }
                }
                Effect::Notify { on, .. } => {
                    for on in self.values(on, call) {
                        let lock = self.held.waited_on(on);
                        let lock = lock.unwrap_or_else(|| emit.resolver.lock(on.0));
                        emit.push(Operation::Notify(lock));
                    }
                }
                Effect::Send { channel, within, when, .. } if holds(when.as_ref()) => {
                    self.send(channel, within.as_ref(), call, emit);
                }
                // Workers that it starts have received what it received before.
                Effect::Receive {
                    channel, within, blocking: Blocking::Never, when: None, ..
                } if model.effects[index..].iter().any(starts_workers) => {
                    self.receive(channel, within.as_ref(), call, emit);
                }
                Effect::Start { .. } => self.start(index, effect, call, emit),
                Effect::Serial(group) => self.serial(group, call),
                Effect::Flow { from, to } => self.flow(from, to, call, emit.resolver),
                Effect::Join { group, .. } => self.workers_wait(group, call, emit),
                Effect::Read { place, range: None, atomic: false } => {
                    self.library_access(place, false, call, emit);
                }
                Effect::Write { place, range: None, atomic: false, when }
                    if holds(when.as_ref()) =>
                {
                    self.library_access(place, true, call, emit);
                }
                _ => {}
            }
        }
    }

    /// What a call has taken, and what that which it returned is about. `holds` knows how it has ended.
    pub(crate) fn end_effects(
        &mut self,
        call: &Call,
        model: Option<&MethodModel>,
        holds: &dyn Fn(Option<&Outcome>) -> bool,
        emit: &mut Emitter<'_>,
    ) {
        let Some(model) = model else { return };
        for (index, effect) in model.effects.iter().enumerate() {
            match effect {
                Effect::Acquire { lock, mode, when, .. } if holds(when.as_ref()) => {
                    let within = model.effects[index..].iter().any(
                        |other| matches!(other, Effect::Release { lock: left, .. } if left == lock),
                    );
                    for lock in self.locks(lock, call, emit.resolver) {
                        self.held.acquire(lock, *mode, emit);
                        if within {
                            self.channels.receive(&Key::Locks(lock), emit);
                        }
                    }
                }
                Effect::Release { lock, mode, when } if holds(when.as_ref()) => {
                    let within = model.effects[..index].iter().any(
                        |other| matches!(other, Effect::Acquire { lock: taken, .. } if taken == lock),
                    );
                    if within {
                        for lock in self.locks(lock, call, emit.resolver) {
                            self.held.release(lock, *mode, emit);
                        }
                    }
                }
                // Atomic accesses cannot race; what they order is in other sentences.
                Effect::Read { place, range: None, atomic: false } if call.result.is_some() => {
                    self.contents_access(place, false, call, emit);
                }
                Effect::Write { place, range: None, atomic: false, when }
                    if holds(when.as_ref()) =>
                {
                    self.contents_access(place, true, call, emit);
                }
                Effect::Wait { .. } => {
                    if let Some(lock) = call.waits_for {
                        emit.push(Operation::Wake(lock));
                    }
                }
                Effect::Receive { channel, within, when, .. } if holds(when.as_ref()) => {
                    self.receive(channel, within.as_ref(), call, emit);
                }
                Effect::Join { group, when, .. } if holds(when.as_ref()) => {
                    for group in self.values(group, call) {
                        self.join(group, emit);
                    }
                }
                // Whether the range lies in the array is known when the call has returned.
                Effect::Read { place, range: Some(range), .. } if call.result.is_some() => {
                    range_accesses(place, range, false, call, emit);
                }
                Effect::Write { place, range: Some(range), .. } if call.result.is_some() => {
                    range_accesses(place, range, true, call, emit);
                }
                Effect::Return(place) => self.returns(place, call),
                Effect::Reflect(reflect) => self.reflect(reflect, call, emit.resolver),
                Effect::Send { channel, within, when, .. }
                    if needs_result(effect) && holds(when.as_ref()) =>
                {
                    self.send(channel, within.as_ref(), call, emit);
                }
                Effect::Serial(group) if needs_result(effect) => self.serial(group, call),
                Effect::Flow { from, to } if needs_result(effect) => {
                    self.flow(from, to, call, emit.resolver)
                }
                Effect::Start { groups, .. } => {
                    self.attach(index, groups, effect, call, emit.resolver)
                }
                _ => {}
            }
        }
    }

    /// A function begins that a method calls: what the method obtains before comes first.
    pub(crate) fn function_begins(&mut self, call: &Call, place: usize, emit: &mut Emitter<'_>) {
        let Some(model) = call.model.clone() else { return };
        for effect in &model.effects[..place] {
            match effect {
                Effect::Acquire { lock, mode, when: None, .. } => {
                    for lock in self.locks(lock, call, emit.resolver) {
                        self.held.acquire(lock, *mode, emit);
                    }
                }
                Effect::Receive { channel, within, when: None, .. } => {
                    self.receive(channel, within.as_ref(), call, emit);
                }
                Effect::Join { group, when: None, .. } => {
                    for group in self.values(group, call) {
                        self.join(group, emit);
                    }
                }
                _ => {}
            }
        }
    }

    /// A function ends that a method calls: what it did is part of what the method publishes afterwards.
    pub(crate) fn function_ends(
        &mut self,
        call: &Call,
        place: usize,
        holds: &dyn Fn(Option<&Outcome>) -> bool,
        emit: &mut Emitter<'_>,
    ) {
        let Some(model) = call.model.clone() else { return };
        for effect in &model.effects[place..] {
            match effect {
                Effect::Release { lock, mode, when } if holds(when.as_ref()) => {
                    for lock in self.locks(lock, call, emit.resolver) {
                        self.held.release(lock, *mode, emit);
                    }
                }
                Effect::Send { channel, within, when, .. } if holds(when.as_ref()) => {
                    self.send(channel, within.as_ref(), call, emit);
                }
                _ => {}
            }
        }
    }

    fn send(
        &mut self,
        channel: &ModelPlace,
        within: Option<&ModelPlace>,
        call: &Call,
        emit: &mut Emitter<'_>,
    ) {
        for place in self.ordered(channel, within, call, emit.resolver) {
            match place {
                Ordered::Variable(variable) => {
                    let channel = emit.resolver.volatile(variable);
                    emit.push(Operation::Send(channel));
                }
                Ordered::Key(key) => {
                    let others = key.others();
                    self.channels.send(key, emit);
                    if let Some(others) = others {
                        self.channels.send(others, emit);
                    }
                }
            }
        }
    }

    fn receive(
        &mut self,
        channel: &ModelPlace,
        within: Option<&ModelPlace>,
        call: &Call,
        emit: &mut Emitter<'_>,
    ) {
        // Most are about the receiver.
        if *channel == ModelPlace::This && within.is_none() {
            if call.receiver.0 != 0 {
                self.channels.receive(&Key::Object(call.receiver), emit);
            }
            return;
        }
        for place in self.ordered(channel, within, call, emit.resolver) {
            match place {
                Ordered::Variable(variable) => {
                    if let Some(&channel) = emit.resolver.volatiles.get(&variable) {
                        emit.push(Operation::Receive(channel));
                    }
                }
                Ordered::Key(key) => self.channels.receive(&key, emit),
            }
        }
        if let Some(within) = within {
            for container in self.values(within, call) {
                // What was put in, without it being known that it was this.
                self.channels.receive(&Key::AllIn(container), emit);
                // The first of some tasks that has ended.
                self.channels.receive(&Key::Group(container), emit);
            }
        }
    }

    fn serial(&mut self, group: &ModelPlace, call: &Call) {
        let groups = self.values(group, call);
        self.tasks.serial.extend(groups);
    }
}

/// Whether [`begin_effects`](LibraryCalls::begin_effects) has nothing to do for a sentence.
pub(crate) fn only_at_the_end(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Read { atomic: true, .. }
            | Effect::Write { atomic: true, .. }
            | Effect::Receive { .. }
            | Effect::Return(_)
            | Effect::Reflect(_)
            | Effect::Call(_)
    )
}

/// Whether a sentence lets other threads do a part of what the method does.
fn starts_workers(effect: &Effect) -> bool {
    matches!(effect, Effect::Start { kind: StartKind::ParallelStream, .. })
}

/// Whether the effect of a sentence is known only when the method has returned.
fn needs_result(effect: &Effect) -> bool {
    match effect {
        Effect::Send { channel, within, .. } => {
            channel.is_of_result() || within.as_ref().is_some_and(ModelPlace::is_of_result)
        }
        Effect::Serial(group) => group.is_of_result(),
        Effect::Flow { from, to } => from.is_of_result() || to.is_of_result(),
        _ => false,
    }
}
