//! Which signals are worth following: those that one unique thread sends and another receives, and those
//! that each object carries for the thread that made it or that it belongs to.
//!
//! A signal is a volatile field, or what models call a channel (an addition to [vonPraun04 §4.3]). Found
//! without regard to the order of statements, before the symbolic execution.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unsnarl_classfile::flags;
use unsnarl_entity::SecondaryMap;
use unsnarl_models::{Blocking, Effect, MethodModel, ModelPlace};
use unsnarl_program::body::{Operation, StatementId};
use unsnarl_program::heap::{Heap, InstanceId, ObjectId, OriginId};
use unsnarl_program::{FieldId, MethodId, Program};

use crate::event::Accessed;
use crate::execute::state::{Channel, unite};
use crate::facts::access::channels;
use crate::facts::method::is_default;
use crate::facts::method::{MethodFacts, Methods};
use crate::facts::threads::Threads;

/// Who sends and receives what.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    ends: FxHashMap<Channel, Ends>,
    /// What each method sends, useful or not; sorted.
    sent_in: SecondaryMap<InstanceId, SmallVec<[Channel; 1]>>,
    /// The threads that wait at an object for each other: what a call sends it also waits for. Sorted.
    meetings: BTreeMap<ObjectId, SmallVec<[OriginId; 2]>>,
}

/// The two ends of a channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    /// The threads that may send; sorted.
    pub(crate) senders: SmallVec<[OriginId; 2]>,
    /// The threads that may receive; sorted.
    receivers: SmallVec<[OriginId; 2]>,
    /// The statements that wait for it; sorted.
    waits: SmallVec<[(MethodId, StatementId); 1]>,
    /// Whether somebody looks without waiting.
    is_polled: bool,
    is_useful: bool,
    /// Some method sends with an object that it has made itself.
    is_sent_by_maker: bool,
    /// Somebody else sends, or that is not known.
    is_sent_by_others: bool,
}

impl Ends {
    /// Whether all threads that send are waited for at one place, as far as that can be known: the
    /// heuristic that [vonPraun04 §4.1] has for joins.
    pub(crate) fn is_waited_for_once(&self) -> bool {
        self.waits.len() == 1 && !self.is_polled
    }

    /// Whether only the method that makes the object sends with it.
    pub(crate) fn is_of_maker(&self) -> bool {
        self.is_sent_by_maker && !self.is_sent_by_others
    }
}

impl Signals {
    pub(crate) fn new(
        program: &Program<'_>,
        heap: &Heap<'_>,
        methods: &Methods,
        threads: &Threads,
    ) -> Self {
        let mut signals = Self::default();
        for (id, instance) in heap.instances.iter() {
            if let Some(facts) = methods.get(instance.method) {
                for statement in facts.body.statements.keys() {
                    signals.collect(program, heap, facts, id, statement);
                }
            }
        }
        for (channel, ends) in &mut signals.ends {
            ends.is_useful = ends.is_of_maker() && !ends.receivers.is_empty();
            if let [sender] = ends.senders[..] {
                let is_received = ends.receivers.iter().any(|&receiver| receiver != sender);
                let is_single = threads.unique.contains(sender)
                    || ends.is_waited_for_once()
                    || matches!(*channel, Channel::Object(object, _)
                        if heap.origins[sender].receiver == Some(object));
                ends.is_useful |= is_received && is_single;
            }
        }
        signals
    }

    /// The channels to be followed in which a method itself may send something.
    pub(crate) fn sent_in(&self, instance: InstanceId) -> impl Iterator<Item = Channel> {
        let sent = self.sent_in[instance].iter().copied();
        sent.filter(|&channel| self.is_useful(channel))
    }

    /// Whether to follow a channel.
    pub(crate) fn is_useful(&self, channel: Channel) -> bool {
        self.ends.get(&channel).is_some_and(|ends| ends.is_useful)
    }

    /// The first object at which two threads, which may be of one kind, wait for each other.
    pub(crate) fn meeting(&self, one: OriginId, other: OriginId) -> Option<ObjectId> {
        let mut meetings = self.meetings.iter();
        let is_met = |threads: &[OriginId]| threads.contains(&one) && threads.contains(&other);
        meetings.find_map(|(&object, threads)| is_met(threads).then_some(object))
    }

    pub(crate) fn ends(&self, channel: Channel) -> Option<&Ends> {
        self.ends.get(&channel)
    }

    fn collect(
        &mut self,
        program: &Program<'_>,
        heap: &Heap<'_>,
        facts: &MethodFacts,
        id: InstanceId,
        statement: StatementId,
    ) {
        let threads = heap.threads_of(id);
        let volatile = |field: Option<FieldId>| {
            field.filter(|&field| program.fields()[field].access & flags::VOLATILE != 0)
        };
        match facts.body.statements[statement].operation {
            Operation::PutField { object, value, .. } => {
                if let Some(field) = volatile(facts.field(statement))
                    && !is_default(facts, value)
                {
                    let maker = facts.body.definition(facts.uncast(object));
                    let is_maker = matches!(maker.operation, Operation::New(_));
                    for &object in heap.points_to(id, object) {
                        let channel = Channel::Object(object, Some(Accessed::Field(field)));
                        let ends = self.send(id, channel, threads);
                        ends.is_sent_by_maker |= is_maker;
                        ends.is_sent_by_others |= !is_maker;
                    }
                }
            }
            Operation::PutStatic { value, .. } => {
                if let Some(field) = volatile(facts.field(statement))
                    && !is_default(facts, value)
                {
                    self.send(id, Channel::Static(field), threads).is_sent_by_others = true;
                }
            }
            Operation::GetField { object, .. } => {
                if let Some(field) = volatile(facts.field(statement)) {
                    for &object in heap.points_to(id, object) {
                        let channel = Channel::Object(object, Some(Accessed::Field(field)));
                        self.receive(channel, threads).is_polled = true;
                    }
                }
            }
            Operation::GetStatic { .. } => {
                if let Some(field) = volatile(facts.field(statement)) {
                    self.receive(Channel::Static(field), threads).is_polled = true;
                }
            }
            Operation::Invoke { .. } => {
                for &call in heap.models_at(id, statement) {
                    if let Some(place) = met_at(call.model) {
                        for object in heap.resolve(program, id, statement, call, place) {
                            unite(self.meetings.entry(object).or_default(), threads);
                        }
                    }
                    for effect in &call.model.effects {
                        let (place, waits) = match effect {
                            Effect::Send { channel, within: None, .. } => (channel, None),
                            Effect::Receive { channel, within: None, blocking, .. } => {
                                (channel, Some(*blocking != Blocking::Never))
                            }
                            _ => continue,
                        };
                        let found = channels(program, heap, id, statement, call, place);
                        for channel in found.into_iter().flat_map(|(_, channels)| channels) {
                            match waits {
                                None => self.send(id, channel, threads).is_sent_by_others = true,
                                Some(true) => {
                                    let site = (heap.instances[id].method, statement);
                                    unite(&mut self.receive(channel, threads).waits, &[site]);
                                }
                                Some(false) => self.receive(channel, threads).is_polled = true,
                            }
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn send(&mut self, id: InstanceId, channel: Channel, threads: &[OriginId]) -> &mut Ends {
        unite(&mut self.sent_in[id], &[channel]);
        let ends = self.ends.entry(channel).or_default();
        unite(&mut ends.senders, threads);
        ends
    }

    fn receive(&mut self, channel: Channel, threads: &[OriginId]) -> &mut Ends {
        let ends = self.ends.entry(channel).or_default();
        unite(&mut ends.receivers, threads);
        ends
    }
}

/// What a method sends to and waits for in one: a barrier.
fn met_at(model: &MethodModel) -> Option<&ModelPlace> {
    model.effects.iter().find_map(|effect| {
        let Effect::Receive { channel, within: None, blocking, .. } = effect else { return None };
        let is_sent = |effect: &Effect| {
            matches!(effect, Effect::Send { channel: to, within: None, .. } if to == channel)
        };
        let is_met = *blocking != Blocking::Never && model.effects.iter().any(is_sent);
        is_met.then_some(channel)
    })
}
