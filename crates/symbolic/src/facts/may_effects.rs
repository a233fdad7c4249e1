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
    pub(crate) struct DoingsId("doings");
}

/// What may happen while a method runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Doings {
    /// The threads that may be started; sorted.
    pub(crate) started: SmallVec<[OriginId; 4]>,
    /// The channels in which something may be sent; sorted.
    pub(crate) sent: SmallVec<[ChannelId; 2]>,
}

impl Doings {
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
pub(crate) struct Within {
    all: UniqueMap<DoingsId, Doings>,
    methods: PrimaryMap<InstanceId, DoingsId>,
    threads: SecondaryMap<OriginId, Doings>,
}

impl Within {
    pub(crate) fn new(
        heap: &Heap<'_>,
        threads: &Threads,
        signals: &Signals,
        channels: &mut UniqueMap<ChannelId, Channel>,
    ) -> Self {
        let mut doings: SecondaryMap<InstanceId, Doings> = SecondaryMap::new();
        let mut callers: SecondaryMap<InstanceId, Vec<InstanceId>> = SecondaryMap::new();
        let mut open = Vec::new();
        for (&(instance, _), started) in &threads.started_at {
            unite(&mut doings[instance].started, started);
        }
        for id in heap.instances.keys() {
            for call in heap.calls_of(id) {
                if is_followed(heap, id, call.callee, call.kind) {
                    callers[call.callee].push(id);
                }
            }
            for channel in signals.sent_in(id) {
                let channel = channels.intern(channel);
                unite(&mut doings[id].sent, &[channel]);
            }
            if doings[id] != Doings::default() {
                open.push(id);
            }
        }
        while let Some(id) = open.pop() {
            let own = doings[id].clone();
            for &caller in &callers[id] {
                if doings[caller].add(&own) {
                    open.push(caller);
                }
            }
        }
        let mut within = Self::default();
        for (thread, origin) in heap.origins.iter() {
            for &entry in &origin.entries {
                within.threads[thread].add(&doings[entry]);
            }
        }
        for id in heap.instances.keys() {
            let number = within.all.intern(doings[id].clone());
            within.methods.push(number);
        }
        within
    }

    /// What may happen while methods with this number run.
    pub(crate) fn doings(&self, number: DoingsId) -> &Doings {
        &self.all[number]
    }

    /// Whether a thread may be started while a method runs.
    pub(crate) fn may_start(&self, instance: InstanceId, thread: OriginId) -> bool {
        self.all[self.methods[instance]].may_start(thread)
    }

    /// The same for methods during which the same may happen.
    pub(crate) fn number(&self, instance: InstanceId) -> DoingsId {
        self.methods[instance]
    }

    /// What the threads that run a method may do at any time.
    pub(crate) fn threads_of(&self, heap: &Heap<'_>, instance: InstanceId) -> Doings {
        let mut doings = Doings::default();
        for &thread in heap.threads_of(instance) {
            doings.add(&self.threads[thread]);
        }
        doings
    }
}
