//! Calls of library methods: what was recorded of them, and the model that says what it means.
//!
//! A call begins before its operation and ends behind it, so sentences that give something away (`release`,
//! `send`, `start`) happen at its beginning, and those that take something (`acquire`, `receive`, `join`) at its
//! end. *Deviation*: a lock that a method takes and gives back by itself would be held before it is free; such
//! a method sends at its beginning and receives at its end as well, which orders two of them whichever
//! of them was first.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unsnarl_events::{Event, LockId, Operation, Problems, SiteId, ThreadId};
use unsnarl_models::{Effect, MethodModel, ModelPlace, Outcome};
use unsnarl_recording::chunks::{RawEvent, RawEvents};
use unsnarl_recording::class_table::{arguments, internal_name};
use unsnarl_recording::format::{
    Kind, OPERAND_ELEMENT, OPERAND_LENGTH, OPERAND_RETURNED, OPERAND_THREAD,
};
use unsnarl_recording::records::{Dispatch, MethodName, SiteOperation};

pub(super) mod effects;
pub(super) mod operands;
pub(super) mod tasks;

use super::Translator;

/// What a place in a sentence stands for: an object by its id, or something that only models know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Value(pub(super) u64);

impl Value {
    /// Ids of objects are smaller.
    const OF_MODELS: u64 = 1 << 63;

    pub(super) fn of_models(number: usize) -> Self {
        Self(Self::OF_MODELS | number as u64)
    }

    pub(super) fn is_object(self) -> bool {
        self.0 != 0 && self.0 < Self::OF_MODELS
    }
}

/// A call that has begun.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// Its number in its thread.
    number: u32,
    pub(super) site: SiteId,
    pub(super) thread: ThreadId,
    /// Its model, while it is open.
    pub(super) model: Option<Arc<MethodModel>>,
    pub(super) receiver: Value,
    operands: SmallVec<[(u64, u64); 2]>,
    arguments: Arguments,
    /// What it returned, when it has.
    pub(super) result: Option<u64>,
    /// The lock that it has given up to wait.
    pub(super) waits_for: Option<LockId>,
    /// What each `start` among its sentences, by its place, has started.
    pub(super) started: SmallVec<[(usize, Value); 1]>,
}

/// What a thread is in the middle of.
#[derive(Clone, Debug, Default)]
pub(super) struct InThread {
    operands: SmallVec<[(u64, u64); 2]>,
    calls: u32,
    open: Vec<Call>,
    /// The tasks that it runs, one inside the other.
    pub(super) tasks: Vec<Value>,
}

impl InThread {
    /// What it has in its hands.
    pub(super) fn values(&self) -> impl Iterator<Item = Value> {
        let operands = self.operands.iter().chain(self.open.iter().flat_map(|call| &call.operands));
        let operands = operands.map(|operand| Value(operand.1));
        let receivers = self.open.iter().map(|call| call.receiver);
        let started = self.open.iter().flat_map(|call| &call.started).map(|started| started.1);
        operands.chain(receivers).chain(started).chain(self.tasks.iter().copied())
    }

    /// The number that its next call has.
    fn next_call(&self) -> u32 {
        self.calls.wrapping_add(1).max(1)
    }
}

/// What is known of calls, by site and by the id of the receiver's `Class`.
pub(super) type KnownCalls = FxHashMap<(u32, u64), KnownCall>;

/// What is known of calls at a site on objects of a class.
#[derive(Clone, Debug)]
pub(super) struct KnownCall {
    model: Option<Arc<MethodModel>>,
    arguments: Arguments,
    /// Whether there may be something to tell before they end.
    begins: bool,
}

/// The arguments of a call, as the descriptor of the method has them.
#[derive(Clone, Copy, Debug, Default)]
struct Arguments {
    count: u64,
    /// A bit for each of the first that is a number and no object, and for each that is a `long`.
    numbers: u64,
    longs: u64,
}

impl Arguments {
    fn of(descriptor: &[u8]) -> Self {
        let mut all = Self::default();
        for letter in arguments(descriptor) {
            let bit = 1u64.checked_shl(all.count as u32).unwrap_or(0);
            if !matches!(letter, b'L' | b'[') {
                all.numbers |= bit;
            }
            if letter == b'J' {
                all.longs |= bit;
            }
            all.count += 1;
        }
        all
    }
}

/// Where events of one step go.
pub(super) struct Emit<'o> {
    pub(super) thread: ThreadId,
    pub(super) site: SiteId,
    pub(super) out: &'o mut Vec<Event>,
    pub(super) problems: &'o mut Problems,
}

impl Emit<'_> {
    pub(super) fn push(&mut self, operation: Operation) {
        self.out.push(Event { thread: self.thread, site: self.site, operation });
    }
}

impl Call {
    /// The ids of the objects that an operand consists of; none if it is null or was not recorded.
    pub(super) fn operand(&self, place: &ModelPlace) -> Option<u64> {
        let position = match place {
            ModelPlace::This => return Some(self.receiver.0).filter(|&id| id != 0),
            ModelPlace::Result => return self.result.filter(|&id| id != 0),
            ModelPlace::Thread => OPERAND_THREAD,
            place => self.position(place)?,
        };
        self.operands.iter().find(|operand| operand.0 == position).map(|operand| operand.1)
    }

    /// How many elements an argument has, if that was recorded.
    pub(super) fn length(&self, place: &ModelPlace) -> Option<u64> {
        let position = self.position(place)? | OPERAND_LENGTH;
        self.operands.iter().find(|operand| operand.0 == position).map(|operand| operand.1)
    }

    /// The argument behind another one.
    pub(super) fn operand_behind(&self, place: &ModelPlace) -> Option<u64> {
        let position = self.position(place)? + 1;
        self.operands.iter().find(|operand| operand.0 == position).map(|operand| operand.1)
    }

    /// The elements of an argument that were recorded.
    pub(super) fn elements(&self, place: &ModelPlace) -> impl Iterator<Item = Value> {
        let position = self.position(place).map(|position| position | OPERAND_ELEMENT);
        let elements = self.operands.iter().filter(move |operand| Some(operand.0) == position);
        elements.map(|operand| Value(operand.1))
    }

    fn position(&self, place: &ModelPlace) -> Option<u64> {
        match place {
            ModelPlace::Argument(position) => Some(u64::from(*position)),
            ModelPlace::Last => self.arguments.count.checked_sub(1),
            _ => None,
        }
    }

    /// Whether an operand is a number, which is no id of an object.
    pub(super) fn is_number(&self, place: &ModelPlace) -> bool {
        self.has(self.arguments.numbers, place)
    }

    /// Whether an operand is a `long`: where in an object something is, and no index.
    pub(super) fn is_offset(&self, place: &ModelPlace) -> bool {
        self.has(self.arguments.longs, place)
    }

    fn has(&self, bits: u64, place: &ModelPlace) -> bool {
        let position = self.position(place).and_then(|position| u32::try_from(position).ok());
        position.and_then(|position| bits.checked_shr(position)).is_some_and(|bits| bits & 1 != 0)
    }
}

impl Translator {
    /// A call that only looks and ends with the next event, as most do, is told as a whole: nothing needs to be kept of it.
    /// What is left of the events behind it; none if it is not such a call.
    pub(super) fn look<'w>(
        &mut self,
        number: u64,
        event: &RawEvent,
        behind: RawEvents<'w>,
        out: &mut Vec<Event>,
        problems: &mut Problems,
    ) -> Option<RawEvents<'w>> {
        let mut rest = behind;
        let end = rest.next().filter(|end| end.kind == Kind::CallEnds)?;
        if !self.stacks.are_empty() {
            return None;
        }
        let (thread, site) = (self.thread(number), self.site(event.site));
        let state = &self.calls[thread];
        if end.site != state.next_call() || state.open.len() == MOST_OPEN {
            return None;
        }
        let [receiver, _] = event.words;
        let known = self.known_call(event.site, receiver);
        if known.begins {
            return None;
        }
        self.lives.seen(receiver);
        self.lives.seen(end.words[1]);
        let mut emit = Emit { thread, site, out, problems };
        self.see_initialized(&mut emit);
        // Where a call ends stands its number.
        self.site(0);
        let (mut call, model) = self.new_call(known, receiver, &emit);
        let [_, result] = end.words;
        call.result = Some(result);
        self.end_effects(&call, model.as_deref(), &|when| holds(when, result), &mut emit);
        Some(rest)
    }

    /// Takes an event about calls and tasks. `following` are those that come behind it in its thread, as
    /// far as they are there: whether a call succeeds is seen there.
    pub(super) fn call_event(
        &mut self,
        event: &RawEvent,
        following: RawEvents<'_>,
        emit: &mut Emit<'_>,
    ) {
        let [first, second] = event.words;
        // What calls are about need not be known as an object otherwise. Numbers do no harm.
        self.lives.seen(first);
        self.lives.seen(second);
        match event.kind {
            Kind::CallOperand => self.calls[emit.thread].operands.push((first, second)),
            Kind::ThreadObject => {
                let thread = self.thread(second);
                self.orders.threads.insert(Value(first), thread);
                self.orders.objects.insert(thread, Value(first));
                let object = self.ordering(first);
                self.tables.thread_objects[thread] = Some(object);
            }
            Kind::CallBegins => self.call_begins(event.site, second, following, emit),
            Kind::CallLooks => self.call_begins(event.site, first, following, emit),
            Kind::CallEnds => self.call_ends(event.site, Ending::Returned(second), emit),
            Kind::CallFails => self.call_ends(event.site, Ending::Failed(second), emit),
            Kind::TaskBegins => {
                if let Some((call, place)) = self.calls_function(emit.thread, event) {
                    self.function_begins(&call, place, emit);
                }
                self.task_begins(Value(second), emit);
            }
            Kind::TaskEnds => {
                if let Some((mut call, place)) = self.calls_function(emit.thread, event) {
                    call.result = ending(call.number, following);
                    let holds = will_hold(call.number, following);
                    self.function_ends(&call, place, &holds, emit);
                }
                let operands = std::mem::take(&mut self.calls[emit.thread].operands);
                let returned = operands.iter().find(|operand| operand.0 == OPERAND_RETURNED);
                let returned = returned.map(|operand| Value(operand.1));
                self.task_ends(Value(second), returned, emit);
            }
            _ => {}
        }
    }

    fn call_begins(
        &mut self,
        number: u32,
        receiver: u64,
        following: RawEvents<'_>,
        emit: &mut Emit<'_>,
    ) {
        let known = self.known_call(number, receiver);
        let begins = known.begins;
        let (mut call, model) = self.new_call(known, receiver, emit);
        if begins {
            let number = call.number;
            let holds = will_hold(number, following);
            self.begin_effects(&mut call, model.as_deref(), &holds, emit);
        }
        call.model = model;
        let open = &mut self.calls[emit.thread].open;
        // Those at the bottom may have failed long ago, where nobody saw it.
        if open.len() == MOST_OPEN {
            open.drain(..MOST_OPEN / 2);
        }
        open.push(call);
    }

    /// The next call of a thread, and its model.
    fn new_call(
        &mut self,
        known: KnownCall,
        receiver: u64,
        emit: &Emit<'_>,
    ) -> (Call, Option<Arc<MethodModel>>) {
        let state = &mut self.calls[emit.thread];
        state.calls = state.next_call();
        let call = Call {
            number: state.calls,
            site: emit.site,
            thread: emit.thread,
            model: None,
            receiver: Value(receiver),
            operands: std::mem::take(&mut state.operands),
            arguments: known.arguments,
            result: None,
            waits_for: None,
            started: SmallVec::new(),
        };
        (call, known.model)
    }

    /// The call that a thread is in the middle of, if it calls the function that begins or ends, and which of
    /// its sentences does.
    fn calls_function(&mut self, thread: ThreadId, event: &RawEvent) -> Option<(Call, usize)> {
        let open = &self.calls[thread].open;
        let method = &self.descriptions.sites.get(&event.site)?.method;
        open.iter().rev().take(MOST_FAILED).find_map(|call| {
            let place = call.model.as_ref()?.effects.iter().position(|effect| match effect {
                Effect::Call(function) => {
                    function.method.as_bytes() == method
                        && self.is_called_on(&function.receiver, call, event.words[1])
                }
                _ => false,
            })?;
            Some((call.clone(), place))
        })
    }

    /// Whether a function is the operand of a call, or was handed over before and is in a slot of one.
    fn is_called_on(&self, receiver: &ModelPlace, call: &Call, function: u64) -> bool {
        match receiver {
            ModelPlace::Slot(of, slot) => call
                .operand(of)
                .is_some_and(|of| self.in_slot(Value(of), slot).contains(&Value(function))),
            receiver => call.operand(receiver) == Some(function),
        }
    }

    /// Calls that began later and have not ended have failed.
    fn call_ends(&mut self, number: u32, ending: Ending, emit: &mut Emit<'_>) {
        let open = &mut self.calls[emit.thread].open;
        let Some(place) = open.iter().rposition(|call| call.number == number) else { return };
        open.truncate(place + 1);
        let Some(mut call) = open.pop() else { return };
        emit.site = call.site;
        let model = call.model.take();
        let model = model.as_deref();
        match ending {
            Ending::Returned(result) => {
                call.result = Some(result);
                self.end_effects(&call, model, &|when| holds(when, result), emit);
            }
            Ending::Failed(class) => {
                let class = self.descriptions.class_names.get(&class);
                let class = class.map(|name| internal_name(name)).unwrap_or_default();
                let above: Vec<Vec<u8>> = {
                    let above = self.descriptions.classes.ancestors(&class).0;
                    above.into_iter().map(<[u8]>::to_vec).collect()
                };
                let failed = |when: Option<&Outcome>| match when {
                    Some(Outcome::Exception) => true,
                    Some(Outcome::Throws(class)) => above.iter().any(|it| it == class.as_bytes()),
                    _ => false,
                };
                self.end_effects(&call, model, &failed, emit);
            }
        }
    }

    /// What is known of a call at a site on a receiver.
    fn known_call(&mut self, site: u32, receiver: u64) -> KnownCall {
        let class = self.descriptions.class_of(receiver).unwrap_or(0);
        if let Some(known) = self.known_calls.get(&(site, class)) {
            return known.clone();
        }
        let model = self.find_model(site, receiver);
        let arguments = match self.descriptions.sites.get(&site).map(|it| &it.operation) {
            Some(SiteOperation::Call(method, _)) => Arguments::of(&method.descriptor),
            _ => Arguments::default(),
        };
        let begins = model.as_ref().is_some_and(|model| {
            model.effects.iter().any(|effect| !effects::only_at_the_end(effect))
        });
        let known = KnownCall { model, arguments, begins };
        // A class may get its name later.
        if receiver == 0 || self.class_of(receiver).is_some() {
            self.known_calls.insert((site, class), known.clone());
        }
        known
    }

    /// Whether a call at a site may give something away only if it succeeds, whatever it is called on.
    pub(in super::super) fn depends_on_outcome(&mut self, site: u32) -> bool {
        if let Some(&known) = self.conditional.get(&site) {
            return known;
        }
        let operation = self.descriptions.sites.get(&site).map(|record| &record.operation);
        let Some(SiteOperation::Call(MethodName { name, descriptor, .. }, _)) = operation else {
            return false;
        };
        let gives_conditionally = |effect: &Effect| {
            matches!(
                effect,
                Effect::Release { when: Some(_), .. }
                    | Effect::Send { when: Some(_), .. }
                    | Effect::Write { when: Some(_), .. }
            )
        };
        let conditional = self
            .models
            .classes()
            .filter_map(|(_, class)| class.method(name, descriptor))
            .any(|model| model.effects.iter().any(gives_conditionally));
        self.conditional.insert(site, conditional);
        conditional
    }

    /// Whether it is known how the next call of a thread ends, from what follows its beginning.
    pub(in super::super) fn is_decided(&mut self, thread: u64, following: RawEvents<'_>) -> bool {
        let thread = self.threads.get(thread);
        let next = thread.map(|thread| self.calls[thread].next_call());
        is_decided(next.unwrap_or(InThread::default().next_call()), following)
    }

    fn find_model(&self, site: u32, receiver: u64) -> Option<Arc<MethodModel>> {
        let operation = &self.descriptions.sites.get(&site)?.operation;
        let SiteOperation::Call(MethodName { class, name, descriptor }, dispatch) = operation
        else {
            return None;
        };
        let receiver = match dispatch {
            Dispatch::Virtual | Dispatch::Interface => self.class_of(receiver)?,
            Dispatch::Static | Dispatch::Special => class.clone(),
        };
        let classes = &self.descriptions.classes;
        let model_on = |class: &[u8]| self.models.method(class, name, descriptor);
        let model = classes
            .model(&receiver, name, descriptor, |class| model_on(class).is_some())
            .and_then(model_on)?;
        Some(Arc::new(model.clone()))
    }

    /// The internal name of the class of an object.
    pub(super) fn class_of(&self, object: u64) -> Option<Vec<u8>> {
        let Some(class) = self.descriptions.class_of(object) else {
            let is_class = self.descriptions.class_names.contains_key(&object);
            return is_class.then(|| b"java/lang/Class".to_vec());
        };
        self.descriptions.class_names.get(&class).map(|name| internal_name(name))
    }
}

/// Whether it is known how a call ends: it has, or one around it has.
fn is_decided(number: u32, following: RawEvents<'_>) -> bool {
    let decides = |event: RawEvent| match event.kind {
        Kind::CallEnds | Kind::CallFails => event.site <= number,
        kind => kind == Kind::ThreadEnd,
    };
    { following }.any(decides)
}

/// How many calls may be open in a thread, also such as have failed where nobody saw it.
const MOST_OPEN: usize = 4096;
/// How many of them are looked at to find the one that calls a function.
const MOST_FAILED: usize = 8;

/// Whether a call that has begun will have an outcome.
fn will_hold(number: u32, following: RawEvents<'_>) -> impl Fn(Option<&Outcome>) -> bool {
    move |when| {
        when.is_none() || ending(number, following).is_some_and(|result| holds(when, result))
    }
}

/// How a call ends: with what it returned, or with the id of the exception's `Class`.
#[derive(Clone, Copy)]
enum Ending {
    Returned(u64),
    Failed(u64),
}

/// What a call returned; none if it failed, or if that is not known yet.
fn ending(number: u32, following: RawEvents<'_>) -> Option<u64> {
    for event in following {
        match event.kind {
            Kind::CallEnds if event.site == number => return Some(event.words[1]),
            // A call around this one has ended.
            Kind::CallEnds if event.site < number => return None,
            Kind::CallFails if event.site <= number => return None,
            Kind::ThreadEnd => return None,
            _ => {}
        }
    }
    None
}

/// Whether a call that returned this has an outcome.
fn holds(when: Option<&Outcome>, result: u64) -> bool {
    let number = result.cast_signed();
    match when {
        None | Some(Outcome::Normal | Outcome::Finished) => true,
        Some(Outcome::True) => result == 1,
        Some(Outcome::False | Outcome::Null | Outcome::Zero) => result == 0,
        Some(Outcome::NonNull | Outcome::NonZero) => result != 0,
        Some(Outcome::Positive) => number > 0,
        Some(Outcome::Negative) => number < 0,
        Some(Outcome::Exception | Outcome::Throws(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use unsnarl_entity::EntityId;
    use unsnarl_models::Models;

    use super::*;
    use crate::translate::Descriptions;

    /// `entrySet` of a map makes up an entry each time, in the one set that the map has.
    #[test]
    fn what_is_made_up_in_a_lasting_object_is_made_once() {
        let models = Arc::new(Models::builtin());
        let mut translator = Translator::new(Descriptions::default(), models, false);
        let call = Call {
            number: 1,
            site: SiteId::from_index(0),
            thread: ThreadId::from_index(0),
            model: None,
            receiver: Value(7),
            operands: SmallVec::new(),
            arguments: Arguments::default(),
            result: Some(9),
            waits_for: None,
            started: SmallVec::new(),
        };
        let made = ModelPlace::New("a/Entry".into());
        let slot = |of, name: &str| ModelPlace::Slot(Box::new(of), name.into());
        for _ in 0..3 {
            translator.flow(&made, &slot(ModelPlace::Result, "element"), &call);
            translator.flow(&ModelPlace::This, &slot(ModelPlace::Result, "map"), &call);
        }
        assert_eq!(translator.in_slot(Value(9), "element").len(), 1);
        assert_eq!(translator.in_slot(Value(9), "map")[..], [Value(7)]);
    }
}
