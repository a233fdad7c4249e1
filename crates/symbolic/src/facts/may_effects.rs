//! What may happen while a method runs, by what it does itself and by its calls: the threads it may start
//! and the signals it may send.
//!
//! Both only ever grow along an execution, so that the order of statements does not matter to a caller.
//! Known beforehand, they need not be carried from callees to callers until nothing changes any more,
//! which is most of the work where many methods call each other.

use smallvec::SmallVec;
use unsnarl_entity::{PrimaryMap, SecondaryMap, UniqueMap, entity_id};
use unsnarl_program::heap::{Heap, InstanceId, OriginId};

use crate::execute::state::{Channel, ChannelId, unite};
use crate::facts::signals::Signals;
use crate::facts::threads::{Threads, is_followed};

entity_id! {
    /// What may happen while a method runs.
    pub(crate) struct MayEffectsId("effects");
}

/// What may happen while a method runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct MayEffects {
    /// The threads that may be started; sorted.
    pub(crate) started: SmallVec<[OriginId; 4]>,
    /// The channels in which something may be sent; sorted.
    pub(crate) sent: SmallVec<[ChannelId; 2]>,
}

impl MayEffects {
    /// Whether a thread may be started.
    pub(crate) fn may_start(&self, thread: OriginId) -> bool {
        self.started.binary_search(&thread).is_ok()
    }

    fn add(&mut self, other: &Self) -> bool {
        let starts_more = unite(&mut self.started, &other.started);
        let sends_more = unite(&mut self.sent, &other.sent);
        starts_more || sends_more
    }
}

/// What may happen while the methods of a program run.
#[derive(Debug, Default)]
pub(crate) struct MayEffectsByMethod {
    all: UniqueMap<MayEffectsId, MayEffects>,
    methods: PrimaryMap<InstanceId, MayEffectsId>,
    threads: SecondaryMap<OriginId, MayEffects>,
}

impl MayEffectsByMethod {
    pub(crate) fn new(
        heap: &Heap<'_>,
        threads: &Threads,
        signals: &Signals,
        channels: &mut UniqueMap<ChannelId, Channel>,
    ) -> Self {
        let mut effects: SecondaryMap<InstanceId, MayEffects> = SecondaryMap::new();
        let mut callers: SecondaryMap<InstanceId, Vec<InstanceId>> = SecondaryMap::new();
        let mut open = Vec::new();
        for (&(instance, _), started) in &threads.started_at {
            unite(&mut effects[instance].started, started);
        }
        for id in heap.instances.keys() {
            for call in heap.calls_of(id) {
                if is_followed(heap, id, call.callee, call.kind) {
                    callers[call.callee].push(id);
                }
            }
            for channel in signals.sent_in(id) {
                let channel = channels.intern(channel);
                unite(&mut effects[id].sent, &[channel]);
            }
            if effects[id] != MayEffects::default() {
                open.push(id);
            }
        }
        while let Some(id) = open.pop() {
            let own = effects[id].clone();
            for &caller in &callers[id] {
                if effects[caller].add(&own) {
                    open.push(caller);
                }
            }
        }
        let mut by_method = Self::default();
        for (thread, origin) in heap.origins.iter() {
            for &entry in &origin.entries {
                by_method.threads[thread].add(&effects[entry]);
            }
        }
        for id in heap.instances.keys() {
            let number = by_method.all.intern(effects[id].clone());
            by_method.methods.push(number);
        }
        by_method
    }

    /// What may happen while methods with this number run.
    pub(crate) fn effects(&self, number: MayEffectsId) -> &MayEffects {
        &self.all[number]
    }

    /// Whether a thread may be started while a method runs.
    pub(crate) fn may_start(&self, instance: InstanceId, thread: OriginId) -> bool {
        self.all[self.methods[instance]].may_start(thread)
    }

    /// The same for methods during which the same may happen.
    pub(crate) fn number(&self, instance: InstanceId) -> MayEffectsId {
        self.methods[instance]
    }

    /// What the threads that run a method may do at any time.
    pub(crate) fn threads_of(&self, heap: &Heap<'_>, instance: InstanceId) -> MayEffects {
        let mut effects = MayEffects::default();
        for &thread in heap.threads_of(instance) {
            effects.add(&self.threads[thread]);
        }
        effects
    }
}
