//! What the sentences of a model do in a running program.

use unsnarl_events::{LockId, Operation, Problem, Variable};
use unsnarl_models::{
    Blocking, Effect, LockMode, MethodModel, ModelPlace, Outcome, Range, RangeEnd, StartKind,
};

use super::operands::{Key, Ordered, Target};
use super::{Call, Emit};
use crate::translate::{Strided, Translator};
use unsnarl_recording::records::Volatility;

/// How many elements one call may access where each is an event, which takes twenty bytes.
const MOST_ELEMENTS: u64 = 1 << 20;
/// How many elements are told as one.
const MOST_TOGETHER: usize = 1 << 16;

impl Translator {
    /// What a call gives away, and what can be told of it before it ends. `holds` knows how it will end.
    pub(in crate::translate) fn begin_effects(
        &mut self,
        call: &mut Call,
        model: Option<&MethodModel>,
        holds: &dyn Fn(Option<&Outcome>) -> bool,
        emit: &mut Emit<'_>,
    ) {
        let Some(model) = model else { return };
        for (index, effect) in model.effects.iter().enumerate() {
            if needs_result(effect) {
                continue;
            }
            if let Effect::Read { place, range: None, atomic: false }
            | Effect::Write { place, range: None, atomic: false, .. } = effect
                && self.is_exact
            {
                // What it does, and what it hands to functions meanwhile, depends on all that was put in before.
                self.contents_access(place, false, call, emit);
            }
            match effect {
                Effect::Release { lock, mode, when } if holds(when.as_ref()) => {
                    let within = model.effects[..index].iter().any(
                        |other| matches!(other, Effect::Acquire { lock: taken, .. } if taken == lock),
                    );
                    for lock in self.locks(lock, call) {
                        if within {
                            let channel = self.channel(Key::Locks(lock));
                            emit.push(Operation::Send(channel));
                        } else {
                            self.release(lock, *mode, emit);
                        }
                    }
                }
                // Whoever may fail to get it does not wait for ever.
                Effect::Acquire { lock, when: None, .. } => {
                    for lock in self.locks(lock, call) {
                        emit.push(Operation::Request(lock));
                    }
                }
                Effect::Wait { on, lock, .. } => {
                    if let Some(lock) = self.locks(lock.as_ref().unwrap_or(on), call).pop() {
                        call.waits_for = Some(lock);
                        for on in self.values(on, call) {
                            self.orders.waited_on.insert(on, lock);
                        }
                        emit.push(Operation::Wait(lock));
                    }
                }
                Effect::Notify { on, .. } => {
                    for on in self.values(on, call) {
                        let lock = self.orders.waited_on.get(&on).copied();
                        let lock = lock.unwrap_or_else(|| self.lock(on.0));
                        emit.push(Operation::Notify(lock));
                    }
                }
                Effect::Send { channel, within, when, .. } if holds(when.as_ref()) => {
                    self.send(channel, within.as_ref(), call, emit);
                }
                // What is received first, those have received who are started with it.
                Effect::Receive {
                    channel, within, blocking: Blocking::Never, when: None, ..
                } if model.effects[index..].iter().any(starts_workers) => {
                    self.receive(channel, within.as_ref(), call, emit);
                }
                Effect::Start { .. } => self.start(index, effect, call, emit),
                Effect::Serial(group) => self.serial(group, call),
                Effect::Flow { from, to } => self.flow(from, to, call),
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
    pub(in crate::translate) fn end_effects(
        &mut self,
        call: &Call,
        model: Option<&MethodModel>,
        holds: &dyn Fn(Option<&Outcome>) -> bool,
        emit: &mut Emit<'_>,
    ) {
        let Some(model) = model else { return };
        for (index, effect) in model.effects.iter().enumerate() {
            match effect {
                Effect::Acquire { lock, mode, when, .. } if holds(when.as_ref()) => {
                    let within = model.effects[index..].iter().any(
                        |other| matches!(other, Effect::Release { lock: left, .. } if left == lock),
                    );
                    for lock in self.locks(lock, call) {
                        self.acquire(lock, *mode, emit);
                        if within {
                            self.receive_from(&Key::Locks(lock), emit);
                        }
                    }
                }
                Effect::Release { lock, mode, when } if holds(when.as_ref()) => {
                    let within = model.effects[..index].iter().any(
                        |other| matches!(other, Effect::Acquire { lock: taken, .. } if taken == lock),
                    );
                    if within {
                        for lock in self.locks(lock, call) {
                            self.release(lock, *mode, emit);
                        }
                    }
                }
                // What is atomic cannot race; what it orders the other sentences say.
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
                    self.library_range(place, range, false, call, emit);
                }
                Effect::Write { place, range: Some(range), .. } if call.result.is_some() => {
                    self.library_range(place, range, true, call, emit);
                }
                Effect::Return(place) => self.returns(place, call),
                Effect::Reflect(reflect) => self.reflect(reflect, call),
                Effect::Send { channel, within, when, .. }
                    if needs_result(effect) && holds(when.as_ref()) =>
                {
                    self.send(channel, within.as_ref(), call, emit);
                }
                Effect::Serial(group) if needs_result(effect) => self.serial(group, call),
                Effect::Flow { from, to } if needs_result(effect) => self.flow(from, to, call),
                Effect::Start { groups, .. } => self.attach(index, groups, effect, call),
                _ => {}
            }
        }
    }

    /// A function begins that a method calls: what the method takes before comes first.
    pub(in crate::translate) fn function_begins(
        &mut self,
        call: &Call,
        place: usize,
        emit: &mut Emit<'_>,
    ) {
        let Some(model) = call.model.clone() else { return };
        for effect in &model.effects[..place] {
            match effect {
                Effect::Acquire { lock, mode, when: None, .. } => {
                    for lock in self.locks(lock, call) {
                        self.acquire(lock, *mode, emit);
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

    /// A function ends that a method calls: what it did is part of what the method gives away afterwards.
    pub(in crate::translate) fn function_ends(
        &mut self,
        call: &Call,
        place: usize,
        holds: &dyn Fn(Option<&Outcome>) -> bool,
        emit: &mut Emit<'_>,
    ) {
        let Some(model) = call.model.clone() else { return };
        for effect in &model.effects[place..] {
            match effect {
                Effect::Release { lock, mode, when } if holds(when.as_ref()) => {
                    for lock in self.locks(lock, call) {
                        self.release(lock, *mode, emit);
                    }
                }
                Effect::Send { channel, within, when, .. } if holds(when.as_ref()) => {
                    self.send(channel, within.as_ref(), call, emit);
                }
                _ => {}
            }
        }
    }

    fn acquire(&mut self, lock: LockId, mode: LockMode, emit: &mut Emit<'_>) {
        let held = self.orders.held.entry((emit.thread, lock)).or_default();
        match mode {
            LockMode::Exclusive => {
                held.0 += 1;
                emit.push(Operation::Acquire(lock));
            }
            LockMode::Shared => {
                held.1 += 1;
                emit.push(Operation::AcquireShared(lock));
            }
            // Holds nothing, but comes behind all who had the lock before.
            LockMode::Optimistic => {
                emit.push(Operation::AcquireShared(lock));
                emit.push(Operation::ReleaseShared(lock));
            }
        }
    }

    fn release(&mut self, lock: LockId, mode: LockMode, emit: &mut Emit<'_>) {
        let held = self.orders.held.entry((emit.thread, lock)).or_default();
        match mode {
            LockMode::Exclusive if held.0 > 0 => {
                held.0 -= 1;
                emit.push(Operation::Release(lock));
            }
            LockMode::Shared if held.1 > 0 => {
                held.1 -= 1;
                emit.push(Operation::ReleaseShared(lock));
            }
            // What was read until now comes before all who get the lock later.
            LockMode::Optimistic => {
                emit.push(Operation::AcquireShared(lock));
                emit.push(Operation::ReleaseShared(lock));
            }
            LockMode::Exclusive | LockMode::Shared => {}
        }
    }

    fn send(
        &mut self,
        channel: &ModelPlace,
        within: Option<&ModelPlace>,
        call: &Call,
        emit: &mut Emit<'_>,
    ) {
        for place in self.ordered(channel, within, call) {
            let (channel, any) = match place {
                Ordered::Variable(variable) => (self.volatile(variable), None),
                Ordered::Key(key) => {
                    let any = key.others();
                    (self.channel(key), any)
                }
            };
            emit.push(Operation::Send(channel));
            if let Some(any) = any {
                let channel = self.channel(any);
                emit.push(Operation::Send(channel));
            }
        }
    }

    fn receive(
        &mut self,
        channel: &ModelPlace,
        within: Option<&ModelPlace>,
        call: &Call,
        emit: &mut Emit<'_>,
    ) {
        // Most are about the receiver.
        if *channel == ModelPlace::This && within.is_none() {
            if call.receiver.0 != 0 {
                self.receive_from(&Key::Object(call.receiver), emit);
            }
            return;
        }
        for place in self.ordered(channel, within, call) {
            match place {
                Ordered::Variable(variable) => {
                    if let Some(&channel) = self.volatiles.get(&variable) {
                        emit.push(Operation::Receive(channel));
                    }
                }
                Ordered::Key(key) => self.receive_from(&key, emit),
            }
        }
        if let Some(within) = within {
            for container in self.values(within, call) {
                // What was put in, without it being known that it was this.
                self.receive_from(&Key::AllIn(container), emit);
                // The first of some tasks that has ended.
                self.receive_from(&Key::Group(container), emit);
            }
        }
    }

    /// Nothing was sent to a channel that there is not.
    pub(in crate::translate) fn receive_from(&mut self, key: &Key, emit: &mut Emit<'_>) {
        if let Some(&channel) = self.orders.channels.get(key) {
            emit.push(Operation::Receive(channel));
        }
    }

    fn serial(&mut self, group: &ModelPlace, call: &Call) {
        let groups = self.values(group, call);
        self.orders.serial.extend(groups);
    }

    /// Accesses to elements of an array, one after another, or to all fields of an object.
    fn library_range(
        &mut self,
        place: &ModelPlace,
        range: &Range,
        write: bool,
        call: &Call,
        emit: &mut Emit<'_>,
    ) {
        let ModelPlace::Element(array) = place else {
            if let (Some(object), false, &Range::ALL) = (call.operand(place), write, range) {
                self.fields_read(object, emit);
            }
            return;
        };
        let Some((from, end)) = ends(array, range, call) else { return };
        let Some(array) = call.operand(array).map(|array| self.accessed(array)) else { return };
        let count = u64::from(end - from);
        if count > MOST_ELEMENTS && !self.keeps_elements {
            emit.problems.add(|| Problem {
                place: "the elements of an array".into(),
                expected: "not more than a million that one call accesses, for detectors that look at each; these are left out",
                found: count.to_string(),
            });
            return;
        }
        for first in (from..end).step_by(MOST_TOGETHER) {
            let behind = (end - first - 1).min(MOST_TOGETHER as u32 - 1) as u16;
            self.elements(array, Strided { first, distance: 1, behind }, write, emit);
        }
    }

    /// All fields of an object are read that are neither volatile nor final, as far as its classes are known.
    fn fields_read(&mut self, object: u64, emit: &mut Emit<'_>) {
        let Some(class) = self.class_of(object) else { return };
        let fields: Vec<(Vec<u8>, Vec<u8>)> = self
            .descriptions
            .classes
            .plain_fields(&class)
            .map(|(class, name)| (class.to_vec(), name.to_vec()))
            .collect();
        let object = self.accessed(object);
        for (class, name) in fields {
            let field = self.declared_field(&class, &name, Volatility::Plain);
            let variable = self.variable(Variable::Field(object, field));
            emit.push(self.access(variable, false, false));
        }
    }

    /// An access to what is in an object of the library, as a whole.
    fn contents_access(
        &mut self,
        place: &ModelPlace,
        write: bool,
        call: &Call,
        emit: &mut Emit<'_>,
    ) {
        if matches!(place, ModelPlace::Variable { .. } | ModelPlace::Element(_)) {
            return;
        }
        for value in self.values(place, call) {
            let Some(class) = self.class_of(value.0) else { continue };
            let field = self.declared_field(&class, b"contents", Volatility::Plain);
            let object = self.accessed(value.0);
            let variable = self.variable(Variable::Field(object, field));
            let operation = self.access(variable, write, false);
            emit.push(operation);
        }
    }

    /// An access that the library makes. One to a variable that is volatile stays what it is.
    fn library_access(
        &mut self,
        place: &ModelPlace,
        write: bool,
        call: &Call,
        emit: &mut Emit<'_>,
    ) {
        let ModelPlace::Variable { object, selector } = place else { return };
        let Some(Target::Variable(variable, volatile)) = self.variable_of(object, selector, call)
        else {
            return;
        };
        if let Variable::Element(array, first) = self.tables.variables[variable] {
            let element = Strided { first, distance: 1, behind: 0 };
            self.elements(array, element, write, emit);
        } else {
            let operation = self.access(variable, write, volatile);
            emit.push(operation);
        }
    }
}

/// The first element of a range and the one behind its last; none if something of it was not recorded, or it is not in the array.
fn ends(array: &ModelPlace, range: &Range, call: &Call) -> Option<(u32, u32)> {
    let number =
        |place: &ModelPlace| call.operand(place).and_then(|number| u32::try_from(number).ok());
    let length = || call.length(array).and_then(|length| u32::try_from(length).ok());
    let from = match &range.from {
        Some(from) => number(from)?,
        None => 0,
    };
    let end = match &range.end {
        Some(RangeEnd::Count(count)) => from.checked_add(number(count)?)?,
        Some(RangeEnd::Before(end)) => number(end)?.min(length()?),
        None => length()?,
    };
    (from <= end).then_some((from, end))
}

/// Whether [`begin_effects`](Translator::begin_effects) has nothing to do for a sentence.
pub(in crate::translate) fn only_at_the_end(effect: &Effect) -> bool {
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

/// Whether a sentence can be told only when the method has returned.
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
