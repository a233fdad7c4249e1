//! Calls of library methods: what was recorded of them, and the models that say what they do.
//!
//! A call begins before its operation and ends after it. So sentences that publish something (`release`, `send`,
//! `start`) happen at its beginning, and those that obtain something (`acquire`, `receive`, `join`) at its
//! end. *Deviation*: a lock that a method acquires and releases by itself would be held before it is free; such
//! a method sends at its beginning and receives at its end as well, which orders two of them whichever
//! of them was first.

mod accesses;
mod call;
mod channels;
mod effects;
mod handles;
mod locks;
mod models;
mod operands;
mod outcome;
mod retirement;
mod slots;
mod tasks;
mod threads;

use std::sync::Arc;

use unsnarl_entity::SecondaryMap;
use unsnarl_events::ThreadId;
use unsnarl_models::{Effect, ModelPlace, Models, Outcome};
use unsnarl_recording::chunks::{RawEvent, RawEvents};
use unsnarl_recording::class_table::internal_name;
use unsnarl_recording::format::Kind;

use self::call::{Call, ThreadCalls, Value};
use self::channels::Channels;
use self::handles::FieldHandles;
use self::locks::HeldLocks;
use self::models::{CallModels, KnownCall};
use self::outcome::{Ending, ending, holds, is_decided, will_hold};
use self::slots::Slots;
use self::tasks::Tasks;
use self::threads::ThreadObjects;
use super::descriptions::Descriptions;
use super::emitter::Emitter;
use super::resolver::Resolver;

/// The calls that threads are in, and what earlier calls have done to the objects of the library.
#[derive(Debug)]
pub(super) struct LibraryCalls {
    models: CallModels,
    calls: SecondaryMap<ThreadId, ThreadCalls>,
    slots: Slots,
    handles: FieldHandles,
    channels: Channels,
    held: HeldLocks,
    threads: ThreadObjects,
    tasks: Tasks,
}

impl LibraryCalls {
    pub(super) fn new(models: Arc<Models>) -> Self {
        Self {
            models: CallModels::new(models),
            calls: SecondaryMap::default(),
            slots: Slots::default(),
            handles: FieldHandles::default(),
            channels: Channels::default(),
            held: HeldLocks::default(),
            threads: ThreadObjects::default(),
            tasks: Tasks::default(),
        }
    }

    /// Takes an event about calls and tasks. `following` are the next events of its thread, as far as they are in memory:
    /// they show whether a call succeeds.
    #[inline]
    pub(super) fn event(
        &mut self,
        event: &RawEvent,
        following: RawEvents<'_>,
        emit: &mut Emitter<'_>,
    ) {
        let [first, second] = event.words;
        // The objects of calls need not occur otherwise. Numbers do no harm.
        emit.resolver.lifetimes.occurs(first);
        emit.resolver.lifetimes.occurs(second);
        match event.kind {
            Kind::CallOperand => self.calls[emit.thread].add_operand(first, second),
            Kind::ThreadObject => self.thread_object(first, second, emit.resolver),
            Kind::CallBegins => self.call_begins(event.site, second, following, emit),
            Kind::CallLooks => self.call_begins(event.site, first, following, emit),
            Kind::CallEnds => self.call_ends(event.site, Ending::Returned(second), emit),
            Kind::CallFails => self.call_ends(event.site, Ending::Failed(second), emit),
            Kind::TaskBegins | Kind::TaskEnds => self.task_event(event, following, emit),
            _ => {}
        }
    }

    /// A task begins or ends. It may be a function that an open call of the thread calls.
    #[inline(never)]
    fn task_event(&mut self, event: &RawEvent, following: RawEvents<'_>, emit: &mut Emitter<'_>) {
        let caller = self.caller_of(emit.thread, event, &emit.resolver.descriptions);
        let task = Value(event.words[1]);
        if event.kind == Kind::TaskBegins {
            if let Some((call, index)) = caller {
                self.function_begins(&call, index, emit);
            }
            self.task_begins(task, emit);
            return;
        }
        if let Some((mut call, index)) = caller {
            call.result = ending(call.number, following);
            let holds = will_hold(call.number, following);
            self.function_ends(&call, index, &holds, emit);
        }
        let returned = self.calls[emit.thread].take_returned();
        self.task_ends(task, returned, emit);
    }

    /// A thread has ended.
    pub(super) fn thread_ended(&mut self, thread: ThreadId) {
        self.threads.end(thread);
        self.calls[thread] = ThreadCalls::default();
    }

    /// Whether a call at a site may release or send something only if it succeeds, whatever it is called on.
    pub(super) fn depends_on_outcome(&mut self, site: u32, descriptions: &Descriptions) -> bool {
        self.models.depends_on_outcome(site, descriptions)
    }

    /// Whether it is known how the next call of a thread ends, from what follows its beginning.
    pub(super) fn is_decided(&self, thread: Option<ThreadId>, following: RawEvents<'_>) -> bool {
        let next = thread.map(|thread| self.calls[thread].next_number());
        is_decided(next.unwrap_or(ThreadCalls::default().next_number()), following)
    }

    /// What is known of a call, if it ends with the next event of its thread and has no effects before.
    pub(super) fn known_whole_call(
        &mut self,
        thread: ThreadId,
        event: &RawEvent,
        end: &RawEvent,
        descriptions: &Descriptions,
    ) -> Option<KnownCall> {
        let calls = &self.calls[thread];
        if end.site != calls.next_number() || calls.is_full() {
            return None;
        }
        let known = self.models.known_call(event.site, event.words[0], descriptions);
        (!known.begins).then_some(known)
    }

    /// Such a call: nothing needs to be kept of it.
    pub(super) fn whole_call(
        &mut self,
        known: KnownCall,
        event: &RawEvent,
        end: &RawEvent,
        emit: &mut Emitter<'_>,
    ) {
        let ([receiver, _], [_, result]) = (event.words, end.words);
        emit.resolver.lifetimes.occurs(receiver);
        emit.resolver.lifetimes.occurs(result);
        let mut call = self.calls[emit.thread].next(&known, receiver, emit.thread, emit.site);
        call.result = Some(result);
        self.end_effects(&call, known.model.as_deref(), &|when| holds(when, result), emit);
    }

    /// A thread has a `Thread` object.
    fn thread_object(&mut self, object: u64, number: u64, resolver: &mut Resolver) {
        let thread = resolver.thread(number);
        self.threads.insert(Value(object), thread);
        let object = resolver.ordering(object);
        resolver.tables.thread_objects[thread] = Some(object);
    }

    fn call_begins(
        &mut self,
        site: u32,
        receiver: u64,
        following: RawEvents<'_>,
        emit: &mut Emitter<'_>,
    ) {
        let known = self.models.known_call(site, receiver, &emit.resolver.descriptions);
        let mut call = self.calls[emit.thread].next(&known, receiver, emit.thread, emit.site);
        if known.begins {
            let holds = will_hold(call.number, following);
            self.begin_effects(&mut call, known.model.as_deref(), &holds, emit);
        }
        call.model = known.model;
        self.calls[emit.thread].open(call);
    }

    fn call_ends(&mut self, number: u32, ending: Ending, emit: &mut Emitter<'_>) {
        let Some(mut call) = self.calls[emit.thread].close(number) else { return };
        emit.site = call.site;
        let model = call.model.take();
        let model = model.as_deref();
        match ending {
            Ending::Returned(result) => {
                call.result = Some(result);
                self.end_effects(&call, model, &|when| holds(when, result), emit);
            }
            Ending::Failed(class) => {
                let descriptions = &emit.resolver.descriptions;
                let class = descriptions.class_names.get(&class);
                let class = class.map(|name| internal_name(name)).unwrap_or_default();
                let above: Vec<Vec<u8>> = {
                    let above = descriptions.classes.ancestors(&class).0;
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

    /// The open call of a thread that calls the function which begins or ends, and the index of the sentence that does.
    fn caller_of(
        &self,
        thread: ThreadId,
        event: &RawEvent,
        descriptions: &Descriptions,
    ) -> Option<(Call, usize)> {
        let method = &descriptions.sites.get(&event.site)?.method;
        self.calls[thread].innermost().find_map(|call| {
            let index = call.model.as_ref()?.effects.iter().position(|effect| match effect {
                Effect::Call(function) => {
                    function.method.as_bytes() == method
                        && self.is_called_on(&function.receiver, call, event.words[1])
                }
                _ => false,
            })?;
            Some((call.clone(), index))
        })
    }

    /// Whether a function is the operand of a call, or was handed over before and is in a slot of one.
    fn is_called_on(&self, receiver: &ModelPlace, call: &Call, function: u64) -> bool {
        match receiver {
            ModelPlace::Slot(of, slot) => call
                .operand(of)
                .is_some_and(|of| self.slots.get(Value(of), slot).contains(&Value(function))),
            receiver => call.operand(receiver) == Some(function),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::resolver::Requested;
    use super::*;

    /// `entrySet` of a map makes up an entry each time, in the one set that the map has.
    #[test]
    fn what_is_made_up_in_a_lasting_object_is_made_once() {
        let mut library = LibraryCalls::new(Arc::new(Models::builtin()));
        let resolver = Resolver::new(Descriptions::default(), Requested::default());
        let call = Call::returned(Value(7), 9);
        let made = ModelPlace::New("a/Entry".into());
        let slot = |of, name: &str| ModelPlace::Slot(Box::new(of), name.into());
        for _ in 0..3 {
            library.flow(&made, &slot(ModelPlace::Result, "element"), &call, &resolver);
            library.flow(&ModelPlace::This, &slot(ModelPlace::Result, "map"), &call, &resolver);
        }
        assert_eq!(library.slots.get(Value(9), "element").len(), 1);
        assert_eq!(library.slots.get(Value(9), "map")[..], [Value(7)]);
    }
}
