//! The channels through which library objects order threads.

use rustc_hash::FxHashMap;
use unsnarl_events::{Channel, ChannelId, LockId, Operation};

use super::call::Value;
use crate::translate::emitter::Emitter;
use crate::translate::resolver::Resolver;

/// The channels by what they are for. There is one for each object that is handed over: small keys matter.
#[derive(Debug, Default)]
pub(crate) struct Channels(FxHashMap<Key, ChannelId>);

impl Channels {
    pub(crate) fn id(&mut self, key: Key, resolver: &mut Resolver) -> ChannelId {
        if let Some(&channel) = self.0.get(&key) {
            return channel;
        }
        // Of an element in a container the container.
        let shown = key.values().into_iter().flatten().next_back();
        let shown = match shown.filter(|value| value.is_object()) {
            Some(value) => Channel::Object(resolver.ordering(value.0)),
            None => Channel::Named(resolver.tables.names.intern(b"library")),
        };
        let channel = resolver.pool.new_channel(shown, &mut resolver.tables);
        self.0.insert(key, channel);
        channel
    }

    pub(crate) fn send(&mut self, key: Key, emit: &mut Emitter<'_>) {
        let channel = self.id(key, emit.resolver);
        emit.push(Operation::Send(channel));
    }

    /// Without a channel nothing was sent.
    #[inline]
    pub(crate) fn receive(&self, key: &Key, emit: &mut Emitter<'_>) {
        if let Some(&channel) = self.0.get(key) {
            emit.push(Operation::Receive(channel));
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ChannelId> {
        self.0.values().copied()
    }

    pub(super) fn retain(&mut self, mut stays: impl FnMut(&Key, ChannelId) -> bool) {
        self.0.retain(|key, channel| stays(key, *channel));
    }
}

/// What a channel is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// Sent to an object.
    Object(Value),
    /// Sent to a slot that nothing is in.
    Slot(Box<(Value, Box<str>)>),
    /// An element that was sent in a container, and any element of it.
    In(Value, Value),
    AnyIn(Value),
    /// Elements that were sent in a container without being named.
    AllIn(Value),
    /// A part of an object, by a number, and any part of it.
    Part(Value, u64),
    AnyPart(Value),
    /// The start and the end of a task, the end of all that was started in a group.
    TaskStart(Value),
    TaskEnd(Value),
    Group(Value),
    /// The end of what runs one after another, and what the workers of a stream wait for.
    Serial(Value),
    Workers(Value),
    /// The monitor of an object that locks itself in every method.
    Locks(LockId),
}

impl Key {
    /// What a call has to name to name the channel.
    pub(super) fn values(&self) -> [Option<Value>; 2] {
        match *self {
            Self::In(element, container) => [Some(element), Some(container)],
            Self::Slot(ref slot) => [Some(slot.0), None],
            Self::Object(value)
            | Self::AnyIn(value)
            | Self::AllIn(value)
            | Self::Part(value, _)
            | Self::AnyPart(value)
            | Self::TaskStart(value)
            | Self::TaskEnd(value)
            | Self::Group(value)
            | Self::Serial(value)
            | Self::Workers(value) => [Some(value), None],
            Self::Locks(_) => [None, None],
        }
    }

    /// What is sent here is also sent there: to any part of the same whole, or to each if none was named.
    pub(crate) fn others(&self) -> Option<Self> {
        match *self {
            Self::In(_, container) => Some(Self::AnyIn(container)),
            Self::AnyIn(container) => Some(Self::AllIn(container)),
            Self::Part(of, _) => Some(Self::AnyPart(of)),
            _ => None,
        }
    }
}
