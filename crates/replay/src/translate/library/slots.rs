//! What is in the slots of library objects, as far as models say: the task in a future, the stages of a stream.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::call::Value;

pub(crate) type Values = SmallVec<[Value; 1]>;
/// The values in the slots of an object, by the names of the slots.
type Contents = SmallVec<[(Box<str>, Values); 1]>;
/// From the slot of an object to the slots of others.
type Forwards = SmallVec<[(Box<str>, Value, Box<str>); 1]>;

/// What is in the slots of objects, and the values that exist only in models.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    contents: FxHashMap<Value, Contents>,
    /// The slots of other objects that get what is put into one of these: the workers of the collector in a collector.
    forwards: FxHashMap<Value, Forwards>,
    /// The values of static places in models.
    statics: FxHashMap<(Box<str>, Box<str>), Value>,
    /// How many values exist only in models.
    made: usize,
}

impl Slots {
    /// A value that exists only in models.
    pub(crate) fn new_value(&mut self) -> Value {
        self.made += 1;
        Value::of_models(self.made)
    }

    /// The value of a static place in models.
    pub(crate) fn static_value(&mut self, class: &str, name: &str) -> Value {
        let made = &mut self.made;
        *self.statics.entry((class.into(), name.into())).or_insert_with(|| {
            *made += 1;
            Value::of_models(*made)
        })
    }

    /// Whether a value exists only in models and was made by a call.
    pub(crate) fn is_made_by_call(&self, value: Value) -> bool {
        !value.is_object() && !self.statics.values().any(|&it| it == value)
    }

    pub(crate) fn get(&self, of: Value, slot: &str) -> Values {
        let slots = self.contents.get(&of).map(|slots| &slots[..]).unwrap_or_default();
        slots.iter().find(|(name, _)| **name == *slot).map(|it| it.1.clone()).unwrap_or_default()
    }

    pub(crate) fn put(&mut self, of: Value, slot: &str, values: &[Value]) {
        let slots = self.contents.entry(of).or_default();
        let index = slots.iter().position(|(name, _)| **name == *slot).unwrap_or_else(|| {
            slots.push((slot.into(), Values::new()));
            slots.len() - 1
        });
        let known = &mut slots[index].1;
        let new: Values = values.iter().copied().filter(|it| !known.contains(it)).collect();
        known.extend_from_slice(&new);
        if new.is_empty() || self.forwards.is_empty() {
            return;
        }
        let forwards = self.forwards.get(&of).cloned().unwrap_or_default();
        for (_, of, slot) in forwards.into_iter().filter(|(name, _, _)| **name == *slot) {
            self.put(of, &slot, &new);
        }
    }

    /// What is put into a slot later goes into another slot as well.
    pub(crate) fn forward(&mut self, (of, slot): (Value, &str), (to, to_slot): (Value, &str)) {
        let forwards = self.forwards.entry(of).or_default();
        let forward = (slot.into(), to, to_slot.into());
        if !forwards.contains(&forward) {
            forwards.push(forward);
        }
    }

    /// Puts all that an object has in its slots into those of another.
    pub(crate) fn copy(&mut self, from: Value, to: Value) {
        for (slot, values) in self.contents.get(&from).cloned().unwrap_or_default() {
            self.put(to, &slot, &values);
        }
    }

    /// The objects that have something in their slots, or will.
    pub(super) fn keys(&self) -> impl Iterator<Item = Value> {
        self.contents.keys().chain(self.forwards.keys()).copied()
    }

    /// The values of static places, which are always known.
    pub(super) fn statics(&self) -> FxHashSet<Value> {
        self.statics.values().copied().collect()
    }

    /// What an object has in its slots, and where that is put later.
    pub(super) fn reached_from(&self, of: Value) -> impl Iterator<Item = Value> {
        let slots = self.contents.get(&of).into_iter().flatten().flat_map(|(_, values)| values);
        let forwards = self.forwards.get(&of).into_iter().flatten().map(|(_, to, _)| to);
        slots.chain(forwards).copied()
    }

    pub(super) fn retain(&mut self, stays: impl Fn(Value) -> bool) {
        self.contents.retain(|of, _| stays(*of));
        self.forwards.retain(|of, _| stays(*of));
    }
}
