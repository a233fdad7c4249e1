//! What a place in a sentence stands for in a running program: objects, locks, variables, and the channels
//! through which they order threads.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use unsnarl_events::{Channel, ChannelId, FieldId, LockId, ThreadId, Variable, VariableId};
use unsnarl_models::{CONTENTS, MemberKind, ModelPlace, Reflect};
use unsnarl_recording::class_table::internal_name;

use super::tasks::Started;
use super::{Call, Value};
use crate::translate::Translator;

/// What the library has in its hands.
#[derive(Debug, Default)]
pub(in crate::translate) struct Orders {
    /// What is in the slots of objects.
    slots: FxHashMap<Value, Slots>,
    /// The slots of other objects that get what is put into one of these: the workers of the collector in a collector.
    forwards: FxHashMap<Value, Forwards>,
    /// Things that exist only in models: places that exist once, and objects without an id.
    statics: FxHashMap<(Box<str>, Box<str>), Value>,
    made: usize,
    /// There is one for each object that is handed over: small keys matter.
    pub(in crate::translate) channels: FxHashMap<Key, ChannelId>,
    /// How often a thread holds a lock for itself, and how often it shares it.
    pub(in crate::translate) held: FxHashMap<(ThreadId, LockId), (u32, u32)>,
    /// The locks that were given up to wait on a condition.
    pub(in crate::translate) waited_on: FxHashMap<Value, LockId>,
    /// The threads of `Thread` objects.
    pub(in crate::translate) threads: FxHashMap<Value, ThreadId>,
    /// The `Thread` objects of threads, as far as somebody has named them.
    pub(in crate::translate) objects: FxHashMap<ThreadId, Value>,
    pub(in crate::translate) ended: FxHashSet<ThreadId>,
    /// The fields that handles and updaters stand for.
    handles: FxHashMap<Value, Handle>,
    /// The fields at offsets, with the classes that declare them.
    offsets: FxHashMap<u64, Declared>,
    pub(in crate::translate) started: FxHashMap<Value, Started>,
    /// Where else the end of what was started in a group is sent to.
    pub(in crate::translate) attached: FxHashMap<Value, SmallVec<[ChannelId; 1]>>,
    /// What ends before a group does, because it waits for it where nobody sees it.
    pub(in crate::translate) links: FxHashMap<Value, SmallVec<[Value; 1]>>,
    pub(in crate::translate) serial: FxHashSet<Value>,
}

impl Orders {
    /// Whether something is known only to models and was made by a call.
    pub(in crate::translate) fn is_made_for_one(&self, value: Value) -> bool {
        !value.is_object() && !self.statics.values().any(|&it| it == value)
    }

    /// Forgets what dead objects and locks are to the library. Tells the channels that nobody can name any more.
    ///
    /// A dead object stays known as long as something that lives leads to it: who joins a future joins what that waited for.
    pub(in crate::translate) fn forget(
        &mut self,
        is_alive: impl Fn(Value) -> bool,
        in_use: impl Iterator<Item = Value>,
        dead_locks: &FxHashSet<LockId>,
        mut dies: impl FnMut(ChannelId),
    ) {
        let reached = self.reached(&is_alive, in_use);
        let stays = |value: &Value| is_alive(*value) || reached.contains(value);
        self.slots.retain(|of, _| stays(of));
        self.forwards.retain(|of, _| stays(of));
        self.links.retain(|of, _| stays(of));
        self.started.retain(|task, _| stays(task));
        self.attached.retain(|group, _| stays(group));
        self.handles.retain(|handle, _| stays(handle));
        self.threads.retain(|object, _| stays(object));
        self.objects.retain(|_, object| stays(object));
        self.serial.retain(|group| stays(group));
        self.waited_on.retain(|on, lock| stays(on) && !dead_locks.contains(lock));
        self.held.retain(|(_, lock), held| *held != (0, 0) && !dead_locks.contains(lock));
        let attached: FxHashSet<ChannelId> = self.attached.values().flatten().copied().collect();
        self.channels.retain(|key, channel| {
            let can_be_named = match key {
                Key::Locks(lock) => !dead_locks.contains(lock),
                key => key.values().iter().flatten().all(stays),
            };
            let stays = can_be_named || attached.contains(channel);
            if !stays {
                dies(*channel);
            }
            stays
        });
    }

    /// What is not alive, and is led to by something that is.
    fn reached(
        &self,
        is_alive: impl Fn(Value) -> bool,
        in_use: impl Iterator<Item = Value>,
    ) -> FxHashSet<Value> {
        let sources = self.slots.keys().chain(self.forwards.keys());
        let sources = sources.chain(self.links.keys()).chain(self.started.keys());
        let mut pending: Vec<Value> = sources.copied().filter(|&of| is_alive(of)).collect();
        let mut reached: FxHashSet<Value> = self.statics.values().copied().collect();
        reached.extend(in_use);
        pending.extend(&reached);
        while let Some(of) = pending.pop() {
            let slots = self.slots.get(&of).into_iter().flatten().flat_map(|(_, values)| values);
            let forwards = self.forwards.get(&of).into_iter().flatten().map(|(_, to, _)| to);
            let links = self.links.get(&of).into_iter().flatten();
            let started = self.started.get(&of).into_iter().flat_map(Started::values);
            for &to in slots.chain(forwards).chain(links).chain(started) {
                if !is_alive(to) && reached.insert(to) {
                    pending.push(to);
                }
            }
        }
        reached
    }
}

pub(in crate::translate) type Values = SmallVec<[Value; 1]>;
type Slots = SmallVec<[(Box<str>, Values); 1]>;
/// From the slot of an object to the slots of others.
type Forwards = SmallVec<[(Box<str>, Value, Box<str>); 1]>;

/// Fields with the internal names of the classes that declare them.
type Declared = SmallVec<[(Box<[u8]>, Handle); 1]>;

/// What a channel is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::translate) enum Key {
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
    /// What has to be known for it to be asked for.
    fn values(&self) -> [Option<Value>; 2] {
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

    /// Where else is sent what is sent here: to any part of the same whole, or to each if none was named.
    pub(in crate::translate) fn others(&self) -> Option<Self> {
        match *self {
            Self::In(_, container) => Some(Self::AnyIn(container)),
            Self::AnyIn(container) => Some(Self::AllIn(container)),
            Self::Part(of, _) => Some(Self::AnyPart(of)),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Handle {
    field: FieldId,
    volatile: bool,
    is_static: bool,
}

/// A variable that a sentence is about.
pub(in crate::translate) enum Target {
    Variable(VariableId, bool),
    Part(Value, u64),
}

/// A channel of the library, or a variable that is used as one.
pub(in crate::translate) enum Ordered {
    Key(Key),
    Variable(VariableId),
}

impl Translator {
    /// What carries the order that a sentence speaks of.
    pub(in crate::translate) fn ordered(
        &mut self,
        channel: &ModelPlace,
        within: Option<&ModelPlace>,
        call: &Call,
    ) -> SmallVec<[Ordered; 1]> {
        let mut all = SmallVec::new();
        if let Some(within) = within {
            for container in self.values(within, call) {
                // A slot of a collection stands for any of its elements.
                let elements = self.values(channel, call);
                if elements.is_empty() && matches!(channel, ModelPlace::Slot(..)) {
                    all.push(Ordered::Key(Key::AnyIn(container)));
                }
                let keys = elements.iter().map(|&element| Key::In(element, container));
                all.extend(keys.map(Ordered::Key));
            }
            return all;
        }
        match channel {
            ModelPlace::Variable { object, selector } => {
                all.extend(self.variable_of(object, selector, call).map(|target| match target {
                    Target::Variable(variable, _) => Ordered::Variable(variable),
                    Target::Part(of, part) => Ordered::Key(Key::Part(of, part)),
                }));
            }
            ModelPlace::Element(of) => {
                let of = self.values(of, call);
                all.extend(of.iter().map(|&of| Ordered::Key(Key::AnyPart(of))));
            }
            _ => {
                let values = self.values(channel, call);
                all.extend(values.iter().map(|&value| Ordered::Key(Key::Object(value))));
                if let (true, ModelPlace::Slot(of, slot)) = (values.is_empty(), channel) {
                    let of = self.values(of, call);
                    all.extend(
                        of.iter().map(|&of| Ordered::Key(Key::Slot(Box::new((of, slot.clone()))))),
                    );
                }
            }
        }
        all
    }

    pub(in crate::translate) fn channel(&mut self, key: Key) -> ChannelId {
        if let Some(&channel) = self.orders.channels.get(&key) {
            return channel;
        }
        // Of an element in a container the container.
        let shown = key.values().into_iter().flatten().next_back();
        let shown = match shown.filter(|value| value.is_object()) {
            Some(value) => Channel::Object(self.ordering(value.0)),
            None => Channel::Named(self.tables.names.intern(b"library")),
        };
        let channel = self.lives.new_channel(shown, &mut self.tables);
        self.orders.channels.insert(key, channel);
        channel
    }

    /// A lock of a part of an object, such as a key of a map, is taken for that of the whole: which keys are
    /// equal is not known.
    pub(in crate::translate) fn locks(
        &mut self,
        place: &ModelPlace,
        call: &Call,
    ) -> SmallVec<[LockId; 1]> {
        let whole = if let ModelPlace::Variable { object, .. } = place { object } else { place };
        let values = self.values(whole, call);
        values.iter().filter(|it| it.is_object()).map(|value| self.lock(value.0)).collect()
    }

    /// The objects that a place stands for; none if it is empty.
    pub(in crate::translate) fn values(&mut self, place: &ModelPlace, call: &Call) -> Values {
        match place {
            ModelPlace::Slot(of, slot) => {
                let elements: Values = call.elements(of).collect();
                if !elements.is_empty() {
                    return elements;
                }
                let of = self.values(of, call);
                of.iter().flat_map(|&of| self.in_slot(of, slot)).collect()
            }
            ModelPlace::Element(of) => call.elements(of).collect(),
            ModelPlace::New(_) => {
                self.orders.made += 1;
                SmallVec::from_slice(&[Value::of_models(self.orders.made)])
            }
            ModelPlace::Static { class, name } => {
                let orders = &mut self.orders;
                let key = (class.clone(), name.clone());
                let value = *orders.statics.entry(key).or_insert_with(|| {
                    orders.made += 1;
                    Value::of_models(orders.made)
                });
                SmallVec::from_slice(&[value])
            }
            ModelPlace::Variable { .. } | ModelPlace::Unknown => SmallVec::new(),
            // Who sent something to this thread has named it.
            ModelPlace::Thread => {
                let known = call.operand(place).map(Value);
                known
                    .or_else(|| self.orders.objects.get(&call.thread).copied())
                    .into_iter()
                    .collect()
            }
            place if call.is_number(place) => SmallVec::new(),
            _ => call.operand(place).filter(|&id| id != 0).map(Value).into_iter().collect(),
        }
    }

    pub(in crate::translate) fn in_slot(&self, of: Value, slot: &str) -> Values {
        let slots = self.orders.slots.get(&of).map(|slots| &slots[..]).unwrap_or_default();
        slots.iter().find(|(name, _)| **name == *slot).map(|it| it.1.clone()).unwrap_or_default()
    }

    pub(in crate::translate) fn flow(&mut self, from: &ModelPlace, to: &ModelPlace, call: &Call) {
        let ModelPlace::Slot(of, slot) = to else {
            if *to == ModelPlace::Result {
                self.offset(from, call);
            }
            return;
        };
        // What is in collections is not followed.
        if CONTENTS.contains(&&**slot) && !matches!(from, ModelPlace::New(_)) {
            return;
        }
        let values = self.values(from, call);
        for of in self.values(of, call) {
            // Who asks for what is in the slot means all that is: one that nobody has seen stands for those of further calls.
            let is_there = |it: &Value| !it.is_object();
            if matches!(from, ModelPlace::New(_)) && self.in_slot(of, slot).iter().any(is_there) {
                continue;
            }
            self.put(of, slot, &values);
            self.forward(from, of, slot, call);
        }
    }

    /// What is put into a slot of a result later goes where it would have gone.
    fn forward(&mut self, from: &ModelPlace, of: Value, slot: &str, call: &Call) {
        let ModelPlace::Slot(base, name) = from else { return };
        if !from.is_of_result() || CONTENTS.contains(&&**name) {
            return;
        }
        for base in self.values(base, call) {
            let forwards = self.orders.forwards.entry(base).or_default();
            let forward = (name.clone(), of, slot.into());
            if !forwards.contains(&forward) {
                forwards.push(forward);
            }
        }
    }

    pub(in crate::translate) fn put(&mut self, of: Value, slot: &str, values: &[Value]) {
        let slots = self.orders.slots.entry(of).or_default();
        let place = slots.iter().position(|(name, _)| **name == *slot).unwrap_or_else(|| {
            slots.push((slot.into(), Values::new()));
            slots.len() - 1
        });
        let known = &mut slots[place].1;
        let new: Values = values.iter().copied().filter(|it| !known.contains(it)).collect();
        known.extend_from_slice(&new);
        if new.is_empty() || self.orders.forwards.is_empty() {
            return;
        }
        let forwards = self.orders.forwards.get(&of).cloned().unwrap_or_default();
        for (_, of, slot) in forwards.into_iter().filter(|(name, _, _)| **name == *slot) {
            self.put(of, &slot, &new);
        }
    }

    /// What is returned for another object has what that has: the next stage of a stream.
    pub(in crate::translate) fn returns(&mut self, place: &ModelPlace, call: &Call) {
        let Some(result) = call.result.map(Value).filter(|it| it.is_object()) else { return };
        for from in self.values(place, call) {
            if from == result || !from.is_object() {
                continue;
            }
            if let Some(&handle) = self.orders.handles.get(&from) {
                self.orders.handles.insert(result, handle);
            }
            for (slot, values) in self.orders.slots.get(&from).cloned().unwrap_or_default() {
                self.put(result, &slot, &values);
            }
        }
    }

    /// A field that was looked up by its name: what was found stands for it.
    pub(in crate::translate) fn reflect(&mut self, reflect: &Reflect, call: &Call) {
        let Reflect::Member { kind: MemberKind::Field, class, name: Some(name), to } = reflect
        else {
            return;
        };
        let (Some(class), Some(name)) = (call.operand(class), call.operand(name)) else { return };
        let descriptions = &self.descriptions;
        let (Some(class), Some(name)) =
            (descriptions.class_names.get(&class), descriptions.texts.get(&name))
        else {
            return;
        };
        let class = internal_name(class);
        let Some(found) = descriptions.classes.find_named(&class, name) else { return };
        let (volatility, is_static) = (found.volatility, found.is_static);
        let (class, name) = (found.class.to_vec(), name.clone());
        let field = self.declared_field(&class, &name, volatility);
        let volatile = volatility.may_be_volatile();
        for to in self.values(to, call) {
            self.orders.handles.insert(to, Handle { field, volatile, is_static });
        }
    }

    /// What a call returns is where in its object a field is.
    fn offset(&mut self, field: &ModelPlace, call: &Call) {
        let handle = call.operand(field).and_then(|field| self.orders.handles.get(&Value(field)));
        let (Some(&handle), Some(offset)) = (handle, call.result) else { return };
        let class = self.tables.fields[handle.field].class;
        let class: Box<[u8]> = internal_name(&self.tables.names[class]).into();
        let there = self.orders.offsets.entry(offset).or_default();
        if !there.contains(&(class.clone(), handle)) {
            there.push((class, handle));
        }
    }

    /// The field at an offset in an object, or in the static fields of a class.
    fn at_offset(&self, of: u64, offset: u64) -> Option<Handle> {
        let there = self.orders.offsets.get(&offset)?;
        if let Some(class) = self.descriptions.class_names.get(&of) {
            let class = internal_name(class);
            let is_it = |(of, handle): &&(Box<[u8]>, Handle)| handle.is_static && **of == *class;
            return there.iter().find(is_it).map(|it| it.1);
        }
        let class = self.class_of(of)?;
        let above = self.descriptions.classes.ancestors(&class).0;
        let is_it =
            |(of, handle): &&(Box<[u8]>, Handle)| !handle.is_static && above.contains(&&**of);
        there.iter().find(is_it).map(|it| it.1)
    }

    pub(in crate::translate) fn variable_of(
        &mut self,
        object: &ModelPlace,
        selector: &ModelPlace,
        call: &Call,
    ) -> Option<Target> {
        let handle = match call.is_offset(selector) {
            true => call
                .operand(object)
                .zip(call.operand(selector))
                .and_then(|(of, offset)| self.at_offset(of, offset)),
            false => {
                let values = self.values(selector, call);
                values.first().and_then(|it| self.orders.handles.get(it)).copied()
            }
        };
        if let Some(Handle { field, volatile, is_static }) = handle {
            let variable = if is_static {
                Variable::Static(field)
            } else {
                let object = call.operand(object)?;
                Variable::Field(self.accessed(object), field)
            };
            return Some(Target::Variable(self.variable(variable), volatile));
        }
        let of = call.operand(object)?;
        let is_array = self.class_of(of).is_some_and(|class| class.starts_with(b"["));
        let index = match selector {
            ModelPlace::This => call.operand_behind(object),
            selector => call.operand(selector),
        };
        match (is_array, index.map(u32::try_from)) {
            (true, Some(Ok(index))) if !call.is_offset(selector) => {
                let array = self.accessed(of);
                Some(Target::Variable(self.variable(Variable::Element(array, index)), false))
            }
            _ => Some(Target::Part(Value(of), call.operand(selector)?)),
        }
    }
}
