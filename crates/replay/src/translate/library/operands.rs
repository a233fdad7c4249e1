//! What an operand of a sentence stands for in a running program: objects, locks and variables.

use smallvec::SmallVec;
use unsnarl_events::{LockId, Variable, VariableId};
use unsnarl_models::{CONTENTS, MemberKind, ModelPlace, Reflect};
use unsnarl_recording::class_table::internal_name;

use super::LibraryCalls;
use super::call::{Call, Value};
use super::channels::Key;
use super::handles::Handle;
use super::slots::Values;
use crate::translate::resolver::Resolver;

/// A variable that a sentence is about.
pub(crate) enum Target {
    Variable(VariableId, bool),
    Part(Value, u64),
}

/// A channel of the library, or a variable that is used as one.
pub(crate) enum Ordered {
    Key(Key),
    Variable(VariableId),
}

impl LibraryCalls {
    /// The channels and variables that a sentence sends to or receives from.
    pub(crate) fn ordered(
        &mut self,
        channel: &ModelPlace,
        within: Option<&ModelPlace>,
        call: &Call,
        resolver: &mut Resolver,
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
                all.extend(self.variable_of(object, selector, call, resolver).map(|target| {
                    match target {
                        Target::Variable(variable, _) => Ordered::Variable(variable),
                        Target::Part(of, part) => Ordered::Key(Key::Part(of, part)),
                    }
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

    /// The locks that a place stands for. A lock of a part of an object, such as a key of a map, is taken for that of the
    /// whole: which keys are equal is not known.
    pub(crate) fn locks(
        &mut self,
        place: &ModelPlace,
        call: &Call,
        resolver: &mut Resolver,
    ) -> SmallVec<[LockId; 1]> {
        let whole = if let ModelPlace::Variable { object, .. } = place { object } else { place };
        let values = self.values(whole, call);
        values.iter().filter(|it| it.is_object()).map(|value| resolver.lock(value.0)).collect()
    }

    /// The objects that a place stands for; none if it is empty.
    pub(crate) fn values(&mut self, place: &ModelPlace, call: &Call) -> Values {
        match place {
            ModelPlace::Slot(of, slot) => {
                let elements: Values = call.elements(of).collect();
                if !elements.is_empty() {
                    return elements;
                }
                let of = self.values(of, call);
                of.iter().flat_map(|&of| self.slots.get(of, slot)).collect()
            }
            ModelPlace::Element(of) => call.elements(of).collect(),
            ModelPlace::New(_) => SmallVec::from_slice(&[self.slots.new_value()]),
            ModelPlace::Static { class, name } => {
                SmallVec::from_slice(&[self.slots.static_value(class, name)])
            }
            ModelPlace::Variable { .. } | ModelPlace::Unknown => SmallVec::new(),
            // A thread that sent something to this one has named it.
            ModelPlace::Thread => {
                let known = call.operand(place).map(Value);
                known.or_else(|| self.threads.object(call.thread)).into_iter().collect()
            }
            place if call.is_number(place) => SmallVec::new(),
            _ => call.operand(place).filter(|&id| id != 0).map(Value).into_iter().collect(),
        }
    }

    /// What a place stands for is put into a slot, or is the offset that the call returns.
    pub(crate) fn flow(
        &mut self,
        from: &ModelPlace,
        to: &ModelPlace,
        call: &Call,
        resolver: &Resolver,
    ) {
        let ModelPlace::Slot(of, slot) = to else {
            if *to == ModelPlace::Result {
                let handle = call.operand(from).and_then(|field| self.handles.get(Value(field)));
                if let (Some(handle), Some(offset)) = (handle, call.result) {
                    self.handles.add_offset(handle, offset, &resolver.tables);
                }
            }
            return;
        };
        // What is in collections is not followed.
        if CONTENTS.contains(&&**slot) && !matches!(from, ModelPlace::New(_)) {
            return;
        }
        let values = self.values(from, call);
        for of in self.values(of, call) {
            // A slot stands for all that is in it: one value that only models know stands for those of further calls.
            let is_made = |it: &Value| !it.is_object();
            if matches!(from, ModelPlace::New(_)) && self.slots.get(of, slot).iter().any(is_made) {
                continue;
            }
            self.slots.put(of, slot, &values);
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
            self.slots.forward((base, name), (of, slot));
        }
    }

    /// What is returned for another object has what that has: the next stage of a stream.
    pub(crate) fn returns(&mut self, place: &ModelPlace, call: &Call) {
        let Some(result) = call.result.map(Value).filter(|it| it.is_object()) else { return };
        for from in self.values(place, call) {
            if from == result || !from.is_object() {
                continue;
            }
            if let Some(handle) = self.handles.get(from) {
                self.handles.insert(result, handle);
            }
            self.slots.copy(from, result);
        }
    }

    /// A field that was looked up by its name: what was found stands for it.
    pub(crate) fn reflect(&mut self, reflect: &Reflect, call: &Call, resolver: &mut Resolver) {
        let Reflect::Member { kind: MemberKind::Field, class, name: Some(name), to } = reflect
        else {
            return;
        };
        let (Some(class), Some(name)) = (call.operand(class), call.operand(name)) else { return };
        let descriptions = &resolver.descriptions;
        let (Some(class), Some(name)) =
            (descriptions.class_names.get(&class), descriptions.texts.get(&name))
        else {
            return;
        };
        let class = internal_name(class);
        let Some(found) = descriptions.classes.find_named(&class, name) else { return };
        let (volatility, is_static) = (found.volatility, found.is_static);
        let (class, name) = (found.class.to_vec(), name.clone());
        let field = resolver.declared_field(&class, &name, volatility);
        let volatile = volatility.may_be_volatile();
        for to in self.values(to, call) {
            self.handles.insert(to, Handle { field, volatile, is_static });
        }
    }

    /// The variable that a selector names in an object.
    pub(crate) fn variable_of(
        &mut self,
        object: &ModelPlace,
        selector: &ModelPlace,
        call: &Call,
        resolver: &mut Resolver,
    ) -> Option<Target> {
        let handle = match call.is_offset(selector) {
            true => call.operand(object).zip(call.operand(selector)).and_then(|(of, offset)| {
                self.handles.at_offset(of, offset, &resolver.descriptions)
            }),
            false => {
                let values = self.values(selector, call);
                values.first().and_then(|it| self.handles.get(*it))
            }
        };
        if let Some(Handle { field, volatile, is_static }) = handle {
            let variable = if is_static {
                Variable::Static(field)
            } else {
                let object = call.operand(object)?;
                Variable::Field(resolver.accessed(object), field)
            };
            return Some(Target::Variable(resolver.variable(variable), volatile));
        }
        let of = call.operand(object)?;
        let is_array =
            resolver.descriptions.class_name_of(of).is_some_and(|class| class.starts_with(b"["));
        let index = match selector {
            ModelPlace::This => call.operand_after(object),
            selector => call.operand(selector),
        };
        match (is_array, index.map(u32::try_from)) {
            (true, Some(Ok(index))) if !call.is_offset(selector) => {
                let array = resolver.accessed(of);
                Some(Target::Variable(resolver.variable(Variable::Element(array, index)), false))
            }
            _ => Some(Target::Part(Value(of), call.operand(selector)?)),
        }
    }
}
