//! Which calls of library methods are recorded, and what of them.
//!
//! The models say what a method orders; the reader of a trace interprets them. Here they only decide
//! which call sites get probes: those of methods that order threads, or that tell what a later call will
//! be about (the owner of a lock's view, the field of a handle). *Deviation* from the models: what is in
//! collections (the slots [`CONTENTS`]) is not followed from call to call. A task is taken from its
//! collection when that is handed over, and a sentence about "any element of" a container is about all that
//! was put into it.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_classfile::{FieldType, MethodDescriptor};
use unsnarl_events::Filter;
use unsnarl_models::{
    Blocking, CONTENTS, Call, ClassModel, Effect, MemberKind, MethodModel, ModelPlace, Models,
    Outcome, Reflect, StartKind,
};
use unsnarl_recording::MethodName;

use crate::asked::{Asked, slots_of};
use crate::plan::{Plan, may_coalesce};
use crate::recorded::{MethodNumber, Operand, OperandKind, RecordedCall, Task};
use crate::senders::sent_to_by_own_calls;
use crate::thread::is_hooked;

/// What the models have to say about calls.
#[derive(Debug)]
pub struct Calls {
    models: Arc<Models>,
    /// Whether accesses to what is in a library's object are recorded.
    contents: bool,
    /// Whether a call releases something only if it gives back a lock.
    locks_alone: bool,
    /// The slots through which something is ordered.
    slots: FxHashSet<Box<str>>,
    /// Those of them that sentences name which do more than receive.
    giving: FxHashSet<Box<str>>,
    asked: Asked,
    /// The classes with a model that is recorded, by the name of the method.
    classes: FxHashMap<Box<[u8]>, Vec<Box<[u8]>>>,
    /// The classes to whose objects nothing is sent but by calls on them.
    counted: FxHashSet<Box<[u8]>>,
    /// The methods that are started or called by what is, with the number of their arguments.
    tasks: FxHashMap<(Box<[u8]>, usize), Task>,
    methods: Mutex<Methods>,
}

/// Whose code makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Caller {
    /// A watched class.
    Program,
    /// A library, which hands on what it was given. What it does to the contents of its own objects is not of interest.
    Library,
}

/// What call sites asked for.
#[derive(Debug, Default)]
struct Methods {
    numbers: FxHashMap<AskedMethod, MethodNumber>,
    all: Vec<AskedMethod>,
}

/// A method that call sites may call, on objects of any class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AskedMethod {
    /// Its name.
    pub name: Vec<u8>,
    /// Its descriptor.
    pub descriptor: Vec<u8>,
    /// Who calls it.
    pub caller: Caller,
}

impl Calls {
    /// Reads all models.
    #[must_use]
    pub fn new(models: Arc<Models>, plan: &Plan) -> Self {
        // Without filters, and where it is asked what a look has read, every look is recorded.
        let counts = may_coalesce(plan.spec.filters)
            && !plan.spec.events.contents
            && !plan.spec.events.exact;
        let mut calls = Self {
            contents: plan.spec.events.contents,
            locks_alone: plan.spec.filters.contains(Filter::Owner),
            slots: FxHashSet::default(),
            giving: FxHashSet::default(),
            asked: Asked::default(),
            classes: FxHashMap::default(),
            counted: if counts { sent_to_by_own_calls(&models) } else { FxHashSet::default() },
            tasks: started(&models),
            methods: Mutex::default(),
            models,
        };
        calls.slots = calls.find_slots(orders);
        calls.giving = calls.find_slots(|it| orders(it) && !matches!(it, Effect::Receive { .. }));
        calls.asked = Asked::new(&calls.models, &calls.slots, deciding);
        let mut classes: FxHashMap<Box<[u8]>, Vec<Box<[u8]>>> = FxHashMap::default();
        for (class, model) in calls.models.classes() {
            for (name, _, method) in model.methods() {
                if is_hooked(class, name) {
                    continue;
                }
                let known = classes.entry(name.into()).or_default();
                if calls.records(model, method, Caller::Program)
                    && known.last().is_none_or(|it| **it != *class)
                {
                    known.push(class.into());
                }
            }
        }
        classes.retain(|_, classes| !classes.is_empty());
        calls.classes = classes;
        calls
    }

    /// The models.
    #[must_use]
    pub fn models(&self) -> &Models {
        &self.models
    }

    /// Whether a method of this name may be modelled, or may be started as a task.
    #[must_use]
    pub fn knows(&self, name: &[u8], descriptor: &[u8]) -> bool {
        self.classes.contains_key(name) || self.task(name, descriptor).is_some()
    }

    /// Whether some model makes methods of this name and with so many arguments run.
    #[must_use]
    pub fn task(&self, name: &[u8], descriptor: &[u8]) -> Option<Task> {
        // Most names are in no model.
        if !self.tasks.keys().any(|(task, _)| **task == *name) {
            return None;
        }
        let arguments = MethodDescriptor::parse(descriptor)?.parameters().count();
        self.tasks.get(&(name.into(), arguments)).copied()
    }

    /// A call whose model is known to be that of `model_class`; nothing if such calls are not recorded.
    #[must_use]
    pub fn known_call(
        &self,
        model_class: &[u8],
        method: &MethodName,
        caller: Caller,
    ) -> Option<RecordedCall> {
        let model = self.recorded(model_class, &method.name, &method.descriptor, caller)?;
        let call = self.call([model], None, &method.descriptor, caller)?;
        // Who reads a variable of another object, or elements, does more than to look at the receiver; and who receives by what it
        // finds may have received nothing when it last looked.
        let is_more = |effect: &Effect| match effect {
            Effect::Read { .. } => orders(effect),
            Effect::Receive { when, .. } => when.is_some(),
            _ => false,
        };
        let counted =
            call.looks && self.counted.contains(model_class) && !model.effects.iter().any(is_more);
        let parallel = is_of_stream(model_class) && self.only_in_parallel(model, caller);
        Some(RecordedCall { counted, parallel, ..call })
    }

    /// A call whose model depends on the class of the receiver: one of the modelled classes that
    /// `may_be` lets pass.
    pub fn virtual_call(
        &self,
        method: &MethodName,
        caller: Caller,
        may_be: impl Fn(&[u8]) -> bool,
    ) -> Option<RecordedCall> {
        let MethodName { name, descriptor, .. } = method;
        let classes = self.classes.get(&**name)?;
        let models: Vec<_> = classes
            .iter()
            .filter_map(|class| {
                let model = self.recorded(class, name, descriptor, caller)?;
                may_be(class).then_some(model)
            })
            .collect();
        if models.is_empty() {
            return None;
        }
        let asked = AskedMethod { name: name.clone(), descriptor: descriptor.clone(), caller };
        let mut methods = self.methods.lock().unwrap_or_else(PoisonError::into_inner);
        let number = methods.number(asked);
        self.call(models, Some(number), descriptor, caller)
    }

    /// A call whose model cannot be known yet, and that needs no receiver to be: any model of such a method may speak.
    #[must_use]
    pub fn possible_call(&self, method: &MethodName) -> Option<RecordedCall> {
        let MethodName { name, descriptor, .. } = method;
        let classes = self.classes.get(&**name)?;
        let caller = Caller::Program;
        let models: Vec<_> = classes
            .iter()
            .filter_map(|class| self.recorded(class, name, descriptor, caller))
            .collect();
        if models.is_empty() { None } else { self.call(models, None, descriptor, caller) }
    }

    /// A method that was given a number.
    #[must_use]
    pub fn method(&self, number: MethodNumber) -> Option<AskedMethod> {
        let methods = self.methods.lock().unwrap_or_else(PoisonError::into_inner);
        methods.all.get((number.0 as usize).checked_sub(1)?).cloned()
    }

    fn recorded(
        &self,
        class: &[u8],
        name: &[u8],
        descriptor: &[u8],
        caller: Caller,
    ) -> Option<&MethodModel> {
        if is_hooked(class, name) {
            return None;
        }
        let class = self.models.methods_of(class)?;
        class.method(name, descriptor).filter(|method| self.records(class, method, caller))
    }

    fn records(&self, class: &ClassModel, method: &MethodModel, caller: Caller) -> bool {
        let effects = &method.effects;
        let matters =
            |it: &Effect| self.matters(it, caller) && !self.is_idle(class, method, it, caller);
        effects.iter().any(matters) || {
            // A view of an object of which a part orders something: the reader has to know that it is one.
            let is_view =
                |effect: &Effect| matches!(effect, Effect::Return(place) if is_operand(place));
            effects.iter().any(is_view) && effects.len() == 1 && has_ordering_parts(class)
        }
    }

    /// Whether a sentence orders something, or says what others that do are about.
    fn matters(&self, effect: &Effect, caller: Caller) -> bool {
        orders(effect)
            || self.is_of_contents(effect, caller)
            || match effect {
                Effect::Flow { to: ModelPlace::Slot(_, slot), .. } => self.slots.contains(slot),
                // A number that stands for what it was asked for: where a field is.
                Effect::Flow { from, to: ModelPlace::Result } => is_operand(from),
                Effect::Reflect(Reflect::Member { kind: MemberKind::Field, name, .. }) => {
                    name.is_some()
                }
                _ => false,
            }
    }

    /// Whether a sentence only puts something into the result from where others receive what is sent in it, and nobody sends
    /// or nobody receives: the iterator of a list, that of a view of a map.
    fn is_idle(
        &self,
        class: &ClassModel,
        method: &MethodModel,
        effect: &Effect,
        caller: Caller,
    ) -> bool {
        let Effect::Flow { from, to: ModelPlace::Slot(of, slot) } = effect else { return false };
        let orders = |effect: &Effect| orders(effect) || self.is_of_contents(effect, caller);
        let is_idle = match from {
            ModelPlace::This => of.parts().contains(&&ModelPlace::Result),
            _ => **of == ModelPlace::Result && !self.asked.asks(method, slot),
        };
        is_idle
            && !self.giving.contains(slot)
            && !class.methods().any(|(_, _, method)| method.effects.iter().any(orders))
    }

    /// Whether all that a method orders is about the workers of its receiver: without any it starts nothing and waits for nobody.
    fn only_in_parallel(&self, method: &MethodModel, caller: Caller) -> bool {
        let of_workers = |place: &ModelPlace| match place {
            ModelPlace::Slot(of, slot) => {
                **of == ModelPlace::This && matches!(&**slot, "workers" | "run")
            }
            _ => false,
        };
        method.effects.iter().filter(|effect| self.matters(effect, caller)).all(|effect| {
            match effect {
                Effect::Start { groups, .. } => groups.iter().any(of_workers),
                Effect::Join { group, .. } => of_workers(group),
                Effect::Flow { from, .. } => of_workers(from),
                _ => false,
            }
        })
    }

    /// Whether a sentence may let other threads see what the caller has done, or give back a lock if only that is of
    /// interest. What is called has probes of its own.
    fn may_release(&self, effect: &Effect) -> bool {
        if self.locks_alone {
            return matches!(effect, Effect::Release { .. } | Effect::Wait { .. });
        }
        !matches!(
            effect,
            Effect::Acquire { .. }
                | Effect::Receive { .. }
                | Effect::Join { .. }
                | Effect::Read { .. }
                | Effect::Write { atomic: false, .. }
                | Effect::Call(_)
                | Effect::Flow { .. }
                | Effect::Copy { .. }
                | Effect::Return(_)
                | Effect::Reflect(_)
        )
    }

    fn is_of_contents(&self, effect: &Effect, caller: Caller) -> bool {
        self.contents
            && caller == Caller::Program
            && matches!(effect, Effect::Read { .. } | Effect::Write { .. })
    }

    /// The slots that these ordering sentences name, those of methods that tasks call, and those from which
    /// something flows into them.
    fn find_slots(&self, orders: impl Fn(&Effect) -> bool) -> FxHashSet<Box<str>> {
        let mut slots = FxHashSet::default();
        let all = || self.models.classes().flat_map(|(_, class)| class.methods());
        for (name, parameters, method) in all() {
            let is_started = is_started(&self.tasks, name, parameters);
            for effect in &method.effects {
                if self.is_of_contents(effect, Caller::Program) {
                    effect.places().into_iter().for_each(|place| add_slots(place, &mut slots));
                } else if orders(effect) {
                    deciding(effect).into_iter().for_each(|place| add_slots(place, &mut slots));
                }
                // What such a function does is a part of what the method gives away.
                let is_part = |call: &Call| {
                    let name = (call.method.as_bytes().into(), call.arguments.len());
                    self.tasks.get(&name) == Some(&Task::Started)
                        && method.effects.iter().any(|it| matches!(it, Effect::Send { .. }))
                };
                if let Effect::Call(call) = effect
                    && (is_started || is_part(call))
                {
                    add_slots(&call.receiver, &mut slots);
                }
            }
        }
        loop {
            let before = slots.len();
            for (_, _, method) in all() {
                for effect in &method.effects {
                    if let Effect::Flow { from, to: ModelPlace::Slot(_, slot) } = effect
                        && slots.contains(slot)
                    {
                        add_slots(from, &mut slots);
                    }
                }
            }
            if slots.len() == before {
                return slots;
            }
        }
    }

    /// What these models need to know of a call. Nothing if the descriptor is none.
    fn call<'m>(
        &self,
        models: impl IntoIterator<Item = &'m MethodModel>,
        method: Option<MethodNumber>,
        descriptor: &[u8],
        caller: Caller,
    ) -> Option<RecordedCall> {
        let parameters: Vec<FieldType<'_>> =
            MethodDescriptor::parse(descriptor)?.parameters().collect();
        let takes_function = |call: &Call| is_function(&call.receiver, &parameters);
        let mut operands = FxHashMap::default();
        let mut thread = false;
        let mut failure = false;
        let mut releases = false;
        let mut looks = true;
        let mut runs = false;
        let mut hands_itself_over = false;
        let mut add = |position: usize, what: OperandKind| {
            let (Some(parameter), Ok(place)) = (parameters.get(position), u8::try_from(position))
            else {
                return;
            };
            let what = match parameter.descriptor() {
                [b'L' | b'[', ..] => what,
                b"I" | b"S" | b"B" | b"C" | b"Z" | b"J" => OperandKind::Number,
                _ => return,
            };
            let known = operands.entry(place).or_insert(what);
            *known = what.max(*known);
        };
        for effect in models.into_iter().flat_map(|model| &model.effects) {
            failure |= happens_on_failure(effect);
            releases |= self.may_release(effect);
            looks &= match effect {
                Effect::Read { .. } | Effect::Return(_) => true,
                Effect::Receive { blocking, .. } => {
                    *blocking == Blocking::Never && !happens_on_failure(effect)
                }
                _ => false,
            };
            runs |= match effect {
                Effect::Start { .. } | Effect::Call(_) => true,
                Effect::Flow { .. } => self.matters(effect, caller),
                _ => false,
            };
            hands_itself_over |= matches!(effect, Effect::Send { channel: ModelPlace::This, within: Some(within), .. }
                if within.root() == &ModelPlace::This);
            if let Effect::Reflect(Reflect::Member { name: Some(name), .. }) = effect
                && let Some(position) = position(name, parameters.len())
            {
                add(position, OperandKind::Text);
            }
            let places = match effect {
                Effect::Call(call) if takes_function(call) => vec![&call.receiver],
                // Nobody asks for what flows elsewhere: the elements that are copied from array to array.
                Effect::Flow { .. } if !self.matters(effect, caller) => Vec::new(),
                Effect::Return(_) | Effect::Flow { .. } | Effect::Reflect(_) => effect.places(),
                _ if self.is_of_contents(effect, caller) => effect.places(),
                _ => deciding(effect),
            };
            let is_access = matches!(effect, Effect::Read { .. } | Effect::Write { .. });
            if let Effect::Read { place: ModelPlace::Element(array), range: Some(range), .. }
            | Effect::Write { place: ModelPlace::Element(array), range: Some(range), .. } =
                effect
                && range.depends_on_length()
                && let Some(position) = position(array, parameters.len())
            {
                add(position, OperandKind::Array);
            }
            for part in places.iter().flat_map(|place| place.parts()) {
                match part {
                    // Who interrupts a thread names it.
                    ModelPlace::Thread => thread |= !is_interrupt(effect),
                    ModelPlace::Slot(of, slot) if CONTENTS.contains(&&**slot) => {
                        if let Some(position) = position(of, parameters.len()) {
                            add(position, OperandKind::Elements);
                        }
                    }
                    ModelPlace::Element(of) if !is_access => {
                        if let Some(position) = position(of, parameters.len()) {
                            add(position, OperandKind::Elements);
                        }
                    }
                    ModelPlace::Variable { object, .. } => {
                        // An element of an array, whose index comes after it.
                        if let Some(position) = position(object, parameters.len()) {
                            add(position + 1, OperandKind::Reference);
                        }
                    }
                    _ => {
                        if let Some(position) = position(part, parameters.len()) {
                            add(position, OperandKind::Reference);
                        }
                    }
                }
            }
        }
        let mut operands: Vec<_> =
            operands.into_iter().map(|(position, what)| Operand { position, what }).collect();
        // To copy a collection may be recorded, so that comes before what is recorded of this call.
        operands.sort_by_key(|it| (it.what != OperandKind::Elements, it.position));
        let counted = false;
        let parallel = false;
        Some(RecordedCall {
            method,
            operands,
            thread,
            failure,
            releases,
            looks,
            counted,
            runs,
            parallel,
            hands_itself_over,
        })
    }
}

impl Methods {
    fn number(&mut self, method: AskedMethod) -> MethodNumber {
        let Self { numbers, all } = self;
        *numbers.entry(method).or_insert_with_key(|method| {
            all.push(method.clone());
            MethodNumber(all.len() as u32)
        })
    }
}

/// Whether a modelled method is one that is started, by its name and the number of its parameters.
fn is_started(
    tasks: &FxHashMap<(Box<[u8]>, usize), Task>,
    name: &[u8],
    parameters: Option<&[u8]>,
) -> bool {
    let is_it = |((task, count), kind): (&(Box<[u8]>, usize), &Task)| {
        **task == *name
            && *kind == Task::Started
            && parameters.is_none_or(|parameters| {
                let descriptor = [b"(", parameters, b")V"].concat();
                MethodDescriptor::parse(&descriptor)
                    .is_none_or(|descriptor| descriptor.parameters().count() == *count)
            })
    };
    tasks.iter().any(is_it)
}

/// The methods that sentences start, and what the models of those call in turn.
fn started(models: &Models) -> FxHashMap<(Box<[u8]>, usize), Task> {
    let mut tasks: FxHashMap<(Box<[u8]>, usize), Task> = FxHashMap::default();
    let all = || models.classes().flat_map(|(_, class)| class.methods());
    for (_, parameters, method) in all() {
        // What the functions do that an ordering method calls is a part of it.
        let descriptor = [b"(", parameters.unwrap_or_default(), b")V"].concat();
        let parameters: Vec<_> = MethodDescriptor::parse(&descriptor)
            .into_iter()
            .flat_map(|descriptor| descriptor.parameters())
            .collect();
        let is_ordering = method.effects.iter().any(orders);
        for (index, effect) in method.effects.iter().enumerate() {
            let gives_behind =
                || method.effects[index..].iter().any(|it| matches!(it, Effect::Send { .. }));
            let takes_before = || {
                let takes = |it: &Effect| {
                    matches!(
                        it,
                        Effect::Join { when: None, .. } | Effect::Receive { when: None, .. }
                    )
                };
                method.effects[..index].iter().any(takes)
            };
            let (call, task) = match effect {
                Effect::Start { call, kind, .. } if orders(effect) => (
                    call,
                    if *kind == StartKind::ParallelStream { Task::Called } else { Task::Started },
                ),
                Effect::Call(call)
                    if is_ordering && is_function(&call.receiver, &parameters)
                        || call.receiver == ModelPlace::This
                            && (gives_behind() || takes_before())
                        || is_part_of_this(&call.receiver) && takes_before() =>
                {
                    (call, Task::Called)
                }
                _ => continue,
            };
            let name = (call.method.as_bytes().into(), call.arguments.len());
            let known = tasks.entry(name).or_insert(task);
            if task == Task::Started {
                *known = task;
            }
        }
    }
    loop {
        let mut has_changed = false;
        for (name, parameters, method) in all() {
            if !is_started(&tasks, name, parameters) {
                continue;
            }
            for effect in &method.effects {
                if let Effect::Call(call) = effect
                    && call.receiver.root() == &ModelPlace::This
                {
                    let method = (call.method.as_bytes().into(), call.arguments.len());
                    has_changed |= tasks.insert(method, Task::Started) != Some(Task::Started);
                }
            }
        }
        if !has_changed {
            return tasks;
        }
    }
}

/// Whether a sentence orders what threads do, or is an access.
fn orders(effect: &Effect) -> bool {
    match effect {
        Effect::Acquire { .. }
        | Effect::Release { .. }
        | Effect::Wait { .. }
        | Effect::Notify { .. }
        | Effect::Send { .. }
        | Effect::Receive { .. }
        | Effect::Join { .. }
        | Effect::Serial(_) => true,
        Effect::Start { call, .. } => match &call.receiver {
            ModelPlace::Slot(of, _) | ModelPlace::Element(of)
                if matches!(**of, ModelPlace::Argument(_)) =>
            {
                true
            }
            receiver => is_operand(receiver) || is_part_of_this(receiver),
        },
        Effect::Read { place, range, .. } | Effect::Write { place, range, .. } => {
            matches!(place, ModelPlace::Variable { .. }) || range.is_some()
        }
        _ => false,
    }
}

/// Whether a sentence holds when the method fails, after it.
fn happens_on_failure(effect: &Effect) -> bool {
    let fails =
        |when: &Option<Outcome>| matches!(when, Some(Outcome::Exception | Outcome::Throws(_)));
    match effect {
        Effect::Wait { .. } => true,
        Effect::Acquire { when, .. } | Effect::Receive { when, .. } | Effect::Join { when, .. } => {
            fails(when)
        }
        _ => false,
    }
}

/// Whether a sentence is about what somebody did who made the method fail.
pub(crate) fn is_interrupt(effect: &Effect) -> bool {
    matches!(effect, Effect::Receive { channel, .. }
        if channel.root() == &ModelPlace::Thread && happens_on_failure(effect))
}

/// The places of an ordering sentence on which the order depends.
fn deciding(effect: &Effect) -> Vec<&ModelPlace> {
    match effect {
        Effect::Start { call, groups, after, .. } => {
            std::iter::once(&call.receiver).chain(groups).chain(after).collect()
        }
        _ if orders(effect) => effect.places(),
        _ => Vec::new(),
    }
}

/// Whether a place is an argument that is there to be called.
fn is_function(place: &ModelPlace, parameters: &[FieldType<'_>]) -> bool {
    let class = position(place, parameters.len())
        .and_then(|position| parameters.get(position))
        .and_then(|parameter| parameter.class_name());
    class.is_some_and(|class| class != b"java/lang/Object")
}

/// Whether objects of a class tell whether they are parallel.
fn is_of_stream(class: &[u8]) -> bool {
    class.starts_with(b"java/util/stream/")
}

fn is_operand(place: &ModelPlace) -> bool {
    matches!(place, ModelPlace::This | ModelPlace::Argument(_) | ModelPlace::Last)
}

/// Whether a place is something that the receiver was given, but for what is in a collection.
fn is_part_of_this(place: &ModelPlace) -> bool {
    match place {
        ModelPlace::Slot(of, slot) => **of == ModelPlace::This && !CONTENTS.contains(&&**slot),
        _ => false,
    }
}

/// Whether some model of the class orders by a part of the receiver.
fn has_ordering_parts(class: &ClassModel) -> bool {
    class.methods().any(|(_, _, method)| {
        method.effects.iter().any(|effect| deciding(effect).into_iter().any(is_part_of_this))
    })
}

fn add_slots(place: &ModelPlace, slots: &mut FxHashSet<Box<str>>) {
    slots.extend(slots_of(place).filter(|slot| !CONTENTS.contains(slot)).map(Into::into));
}

/// Which argument a place is.
fn position(place: &ModelPlace, arguments: usize) -> Option<usize> {
    match place {
        ModelPlace::Argument(position) => Some(usize::from(*position)),
        ModelPlace::Last => arguments.checked_sub(1),
        _ => None,
    }
}
