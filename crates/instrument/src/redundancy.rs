//! Which accesses to fields need no probe of their own, by what the method itself shows.
//!
//! Code is followed in the order of its text with a number for every value; local variables and
//! final fields of known values lead to known values. Where ways meet, what is known on all of them stays known; a loop that
//! releases nothing begins with what is known before it, but for the variables that it assigns. Between two instructions that may release something
//! (calls that are not pure, monitors, volatile fields, whatever may load or initialize a class):
//! - a read after a read or write of the same field of the same object, and a write after a write, say nothing
//!   new (see `UnsnarlThread`), and a read says nothing new if a write certainly follows;
//! - the same holds for elements of arrays;
//! - accesses of one kind to one object that certainly follow each other, because nothing between them
//!   can throw, are reported by one probe at the first of them.
//!
//! What is known of a field may be *assumed*: its class was not loaded yet, and was only seen in a file. And the first access
//! to another class may load it, which may run code that releases. An access that is left out because of either is
//! *conditional*: it keeps a probe of its own, which reports the first time that it is reached; when it is known by
//! then that all is as it was assumed, that was the last time.
//!
//! In a constructor of a class below `Object`, accesses to `this` before it is passed on are of no
//! interest: no other thread can know the object. "Before" is taken in the order of the text, and no jump
//! may lead back. The same holds for what is written into a new array as long as it is on the stack alone: arguments, and
//! what stands in braces.
//!
//! Nothing is lost: whatever is not understood is reported.

mod access;
mod effect;
mod facts;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use unsnarl_classfile::edit::{CodeEditor, LabelId, NodeId, PoolEditor};
use unsnarl_classfile::read::Constant;
use unsnarl_classfile::{ConstantIndex, FieldType, Instruction, MethodDescriptor, Opcode};
use unsnarl_events::{Filter, Filters};
use unsnarl_recording::Volatility;

use self::access::OpenRead;
pub(crate) use self::access::{Assumed, Condition, Known, Redundancy, Together};
pub(crate) use self::effect::{effect, is_store, jumps, keeps_this};
use self::facts::{Facts, Meeting, Ways};
use crate::loops::is_simple;
use crate::method::{is_array_load, is_array_store};
use crate::plan::may_coalesce;
use crate::pure_calls::{PureMethods, Quiet};

/// What is to be looked at.
pub(crate) struct Method<'m> {
    pub(crate) code: &'m CodeEditor,
    /// The class that declares it.
    pub(crate) class: &'m [u8],
    pub(crate) is_static: bool,
    /// In a constructor the call of another one, where `this` becomes usable; it is `Object`'s if `this`
    /// is known to nobody after it.
    pub(crate) super_call: Option<NodeId>,
    pub(crate) is_new: bool,
    pub(crate) filters: Filters,
    pub(crate) pure_methods: &'m PureMethods,
}

impl Redundancy {
    pub(crate) fn find(
        method: &Method<'_>,
        pool: &PoolEditor<'_>,
        known: &dyn Fn(ConstantIndex) -> Known,
    ) -> Self {
        let ways = Ways::new(method.code);
        // First every loop releases something, as far as is known; then only those that do.
        let mut first = Walk::new(method, pool, known, &ways, None);
        first.run(method);
        let disturbances = first.disturbances;
        let mut second = Walk::new(method, pool, known, &ways, Some(&disturbances));
        second.run(method);
        second.finish()
    }
}

/// A value, by number. Those of long and double, and their second halves, have numbers that are not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Value(u32);

const THIS: Value = Value(0);

type Variable = (Value, ConstantIndex);

/// The places that may release something, and that may load classes.
#[derive(Debug, Default)]
struct Disturbances {
    releases: Vec<usize>,
    loads: Vec<(usize, Vec<u8>)>,
}

struct Walk<'m> {
    class: &'m [u8],
    pool: &'m PoolEditor<'m>,
    known: &'m dyn Fn(ConstantIndex) -> Known,
    filters: Filters,
    pure_methods: &'m PureMethods,
    ways: &'m Ways,
    /// What is known of them, and what was found.
    known_disturbances: Option<&'m Disturbances>,
    disturbances: Disturbances,
    has_this: bool,
    /// Whether the method is a constructor that has not called another one yet.
    is_uninitialized: bool,
    found: Redundancy,

    made: u32,
    /// Whether control comes to the next instruction from the one before.
    follows: bool,
    stack: Vec<Value>,
    /// How much is on the stack at labels that were jumped to.
    depths: HashMap<LabelId, usize>,
    facts: Facts,
    /// What is known where labels were jumped to from.
    known_at: HashMap<LabelId, Facts>,
    /// Probes that can report what follows, by object, whether it is written and group: nothing has been able to throw
    /// since.
    open: HashMap<(Value, bool, u64), (NodeId, usize)>,
    /// Reads since then, with the probes that report them.
    open_reads: HashMap<Variable, OpenRead>,
    /// Reads that have a probe and are followed by a write.
    dropped: Vec<NodeId>,

    /// Arrays that were made here and that only the stack has.
    new_arrays: HashSet<Value>,
    /// Whether `this` is known to nobody else; accesses to it until then, where it became known, and jumps back.
    is_new: bool,
    new_accesses: Vec<(usize, NodeId)>,
    label_places: HashMap<LabelId, usize>,
    jumps_back: Vec<(usize, usize)>,
    escaped_at: usize,
}

impl<'m> Walk<'m> {
    fn new(
        method: &Method<'m>,
        pool: &'m PoolEditor<'m>,
        known: &'m dyn Fn(ConstantIndex) -> Known,
        ways: &'m Ways,
        known_disturbances: Option<&'m Disturbances>,
    ) -> Self {
        let this_is_kept = keeps_this(method.code);
        Self {
            class: method.class,
            pool,
            known,
            filters: method.filters,
            pure_methods: method.pure_methods,
            ways,
            known_disturbances,
            disturbances: Disturbances::default(),
            has_this: !method.is_static && this_is_kept && method.super_call.is_none(),
            is_uninitialized: method.super_call.is_some(),
            found: Redundancy::default(),
            made: 0,
            follows: true,
            stack: Vec::new(),
            depths: HashMap::new(),
            facts: Facts::default(),
            known_at: HashMap::new(),
            open: HashMap::new(),
            open_reads: HashMap::new(),
            dropped: Vec::new(),
            new_arrays: HashSet::new(),
            is_new: false,
            new_accesses: Vec::new(),
            label_places: HashMap::new(),
            jumps_back: Vec::new(),
            escaped_at: usize::MAX,
        }
    }

    fn run(&mut self, method: &Method<'_>) {
        let code = method.code;
        for (place, node) in code.nodes().enumerate() {
            if let Some(label) = code.label(node) {
                self.label(label, place);
            } else if let Some(instruction) = code.instruction(node) {
                self.instruction(node, place, instruction);
            }
            if method.super_call == Some(node) {
                self.begin_constructed(method.is_new);
            }
        }
    }

    /// After the call of another constructor `this` is an object like others.
    fn begin_constructed(&mut self, is_new: bool) {
        self.has_this = true;
        self.is_uninitialized = false;
        self.is_new = is_new;
    }

    fn finish(mut self) -> Redundancy {
        self.found.together.retain(|_, together| !together.others.is_empty());
        for (&leader, Together { others, condition }) in &self.found.together {
            let Some(assumed) = condition else { continue };
            for &node in others.iter().chain([&leader]) {
                self.found.unprobed.remove(&node);
                let condition = Condition { assumed: assumed.clone(), leader: Some(leader) };
                self.found.conditional.insert(node, condition);
            }
        }
        let together = &self.found.together;
        let alone = self.dropped.iter().filter(|leader| !together.contains_key(leader));
        self.found.unprobed.extend(alone);
        let back = self.jumps_back.iter().filter(|&&(from, _)| from >= self.escaped_at);
        let end = back.map(|&(_, to)| to).min().unwrap_or(usize::MAX);
        for (place, node) in self.new_accesses {
            if place < end {
                self.found.unprobed.insert(node);
            }
        }
        self.found
    }

    fn fresh(&mut self) -> Value {
        self.made += 1;
        Value(self.made)
    }

    fn push(&mut self, slots: usize) {
        for _ in 0..slots {
            let value = self.fresh();
            self.stack.push(value);
        }
    }

    fn push_new_array(&mut self) {
        let array = self.fresh();
        self.stack.push(array);
        self.new_arrays.insert(array);
    }

    fn pop(&mut self) -> Value {
        match self.stack.pop() {
            Some(value) => value,
            None => self.fresh(),
        }
    }

    /// Takes values off the stack for something that may keep them.
    fn consume(&mut self, slots: usize, place: usize) {
        for _ in 0..slots {
            let value = self.pop();
            self.escapes(value, place);
        }
    }

    /// Others may get to know a value.
    fn escapes(&mut self, value: Value, place: usize) {
        if value == THIS {
            self.this_escapes(place);
        }
        self.new_arrays.remove(&value);
    }

    fn this_escapes(&mut self, place: usize) {
        if self.is_new {
            self.is_new = false;
            self.escaped_at = place;
        }
    }

    /// Another way may lead here, on which less is known.
    fn label(&mut self, label: LabelId, place: usize) {
        self.label_places.insert(label, place);
        let meeting = self.ways.at(label, self.known_disturbances.map(|it| &it.releases[..]));
        if meeting == Meeting::None {
            return;
        }
        let depth =
            if self.follows { Some(self.stack.len()) } else { self.depths.get(&label).copied() };
        if depth != Some(0) {
            // `this` may be among what is on the stack.
            self.this_escapes(place);
        }
        self.stack.clear();
        self.push(depth.unwrap_or(0));
        self.may_throw();
        match (self.known_at.remove(&label), self.follows) {
            _ if meeting == Meeting::Unknown => self.facts.clear(),
            (Some(known), true) => self.facts.meet(&known),
            (Some(known), false) => self.facts = Facts { loads: self.facts.loads, ..known },
            (None, true) => {}
            (None, false) => self.facts.clear(),
        }
        if let Meeting::Loop { end, assigned } = meeting {
            let loads = self.known_disturbances.map_or(&[][..], |it| &it.loads);
            let mut within = loads.iter().filter(|(at, _)| place < *at && *at <= end);
            if within.any(|(_, class)| !self.facts.resolved.contains(class)) {
                self.facts.clear();
            }
            self.facts.locals.retain(|local, _| !assigned.contains(local));
        }
        self.follows = true;
    }

    fn may_throw(&mut self) {
        self.open.clear();
        self.open_reads.clear();
    }

    fn may_release(&mut self, place: usize) {
        self.may_throw();
        self.facts.release();
        self.disturbances.releases.push(place);
    }

    fn instruction(&mut self, node: NodeId, place: usize, instruction: &Instruction<LabelId>) {
        use Opcode::*;
        match instruction {
            Instruction::Plain(opcode) => self.plain(node, *opcode, place),
            Instruction::Push { .. } => self.push(1),
            Instruction::LoadConstant { opcode, constant } => {
                if !is_simple(self.pool.get(*constant)) {
                    self.may_release(place);
                }
                self.push(if *opcode == Ldc2W { 2 } else { 1 });
            }
            Instruction::Local { opcode, local } => self.local(*opcode, *local, place),
            Instruction::Increment { local, .. } => {
                self.facts.locals.remove(local);
            }
            Instruction::Jump { opcode, target } => {
                let popped = match opcode {
                    Goto | GotoW => 0,
                    _ if (IfICmpEq..=IfACmpNe).contains(opcode) => 2,
                    Jsr | JsrW => {
                        self.this_escapes(place);
                        0
                    }
                    _ => 1,
                };
                for _ in 0..popped {
                    self.pop();
                }
                self.jump(*target, place);
            }
            Instruction::TableSwitch { .. } | Instruction::LookupSwitch { .. } => {
                self.pop();
                for target in jumps(instruction) {
                    self.jump(target, place);
                }
            }
            Instruction::Field { opcode, field } => self.field(node, place, *opcode, *field),
            Instruction::Invoke { opcode, method } => {
                let member = self.pool.member(*method);
                let quiet = member.as_ref().and_then(|it| {
                    self.pure_methods.call(*opcode, it.class, it.name, it.descriptor)
                });
                let descriptor = member.map(|it| it.descriptor.to_vec());
                self.call(quiet, descriptor, usize::from(*opcode != InvokeStatic), place);
            }
            Instruction::InvokeDynamic { call_site } => {
                let descriptor = match self.pool.get(*call_site) {
                    Some(Constant::InvokeDynamic { name_and_type, .. }) => {
                        self.pool.name_and_type(name_and_type).map(|(_, it)| it.to_vec())
                    }
                    _ => None,
                };
                self.call(None, descriptor, 0, place);
            }
            Instruction::Type { opcode, .. } => {
                self.may_release(place);
                if *opcode != New {
                    self.consume(1, place);
                }
                match *opcode {
                    ANewArray => self.push_new_array(),
                    _ => self.push(1),
                }
            }
            Instruction::NewArray { .. } => {
                self.may_throw();
                self.pop();
                self.push_new_array();
            }
            Instruction::MultiNewArray { dimensions, .. } => {
                self.may_release(place);
                self.consume((*dimensions).into(), place);
                self.push(1);
            }
        }
        if instruction.ends_flow() {
            self.follows = false;
            self.may_throw();
        }
    }

    fn jump(&mut self, target: LabelId, place: usize) {
        self.depths.insert(target, self.stack.len());
        match self.known_at.entry(target) {
            Entry::Occupied(mut known) => known.get_mut().meet(&self.facts),
            Entry::Vacant(unknown) if self.facts.are_few() => {
                unknown.insert(self.facts.clone());
            }
            Entry::Vacant(unknown) => {
                unknown.insert(Facts { loads: self.facts.loads, ..Facts::default() });
            }
        }
        if let Some(&to) = self.label_places.get(&target) {
            self.jumps_back.push((place, to));
        }
        // What follows is not certain any more.
        self.may_throw();
    }

    fn local(&mut self, opcode: Opcode, local: u16, place: usize) {
        let long = opcode.long_form();
        match long {
            Opcode::ALoad if local == 0 && self.has_this => self.stack.push(THIS),
            Opcode::ALoad | Opcode::ILoad => {
                let value = match self.facts.locals.get(&local) {
                    Some(&value) => value,
                    None => self.fresh(),
                };
                self.facts.locals.insert(local, value);
                self.stack.push(value);
            }
            Opcode::AStore | Opcode::IStore => {
                let value = self.pop();
                self.escapes(value, place);
                self.facts.locals.insert(local, value);
            }
            Opcode::FLoad => self.push(1),
            Opcode::LLoad | Opcode::DLoad => self.push(2),
            Opcode::FStore => {
                self.pop();
                self.facts.locals.remove(&local);
            }
            Opcode::LStore | Opcode::DStore => {
                self.pop();
                self.pop();
                self.facts.locals.remove(&local);
                self.facts.locals.remove(&local.saturating_add(1));
            }
            _ => self.this_escapes(place),
        }
    }

    fn call(
        &mut self,
        quiet: Option<Quiet>,
        descriptor: Option<Vec<u8>>,
        receiver: usize,
        place: usize,
    ) {
        if quiet.is_none() {
            self.may_release(place);
        }
        let Some(descriptor) = descriptor.as_deref().and_then(MethodDescriptor::parse) else {
            self.this_escapes(place);
            self.stack.clear();
            return;
        };
        self.consume(descriptor.parameter_slots(), place);
        if receiver != 0 {
            let object = self.pop();
            self.escapes(object, place);
            if object != THIS && self.facts.not_null.insert(object) {
                self.may_throw();
            }
        }
        if quiet == Some(Quiet::MayThrow) {
            self.may_throw();
        }
        self.push(descriptor.result().map_or(0, FieldType::slots));
    }

    fn field(&mut self, node: NodeId, place: usize, opcode: Opcode, field: ConstantIndex) {
        let member = self.pool.member(field);
        let slots = member.as_ref().and_then(|it| FieldType::parse(it.descriptor));
        let (Some(member), Some(slots)) = (member, slots.map(FieldType::slots)) else {
            self.may_release(place);
            self.this_escapes(place);
            self.stack.clear();
            return;
        };
        if matches!(opcode, Opcode::GetStatic | Opcode::PutStatic) {
            self.may_release(place);
            if opcode == Opcode::PutStatic {
                self.consume(slots, place);
            } else {
                self.push(slots);
            }
            return;
        }
        if self.is_uninitialized && opcode == Opcode::PutField && member.class == self.class {
            // No hook may see the object, and so nothing is reported of this write.
            for _ in 0..=slots {
                self.pop();
            }
            return;
        }
        let Known { volatility, is_assumed, group } = (self.known)(field);
        let is_plain = matches!(volatility, Volatility::Plain | Volatility::Final);
        // The first access to another class may have to load it.
        let may_load =
            member.class != self.class && self.facts.resolved.insert(member.class.to_vec());
        if may_load {
            self.facts.loads += 1;
            self.disturbances.loads.push((place, member.class.to_vec()));
        }
        if !is_plain {
            self.may_release(place);
        } else if is_assumed && !self.facts.assumed.contains(&(field, volatility)) {
            self.facts.assumed.push((field, volatility));
        }
        let is_write = opcode == Opcode::PutField;
        if is_write {
            self.consume(slots, place);
        }
        let object = self.pop();
        if object != THIS && self.facts.not_null.insert(object) {
            self.may_throw();
        }
        if volatility == Volatility::Plain {
            if self.is_new && object == THIS {
                if self.filters.contains(Filter::Escape) {
                    self.new_accesses.push((place, node));
                }
            } else if may_coalesce(self.filters) {
                self.access(node, (object, field), is_write, group);
            }
        }
        if !is_write {
            if volatility == Volatility::Final && slots == 1 {
                let value = match self.facts.finals.get(&(object, field)) {
                    Some(&value) => value,
                    None => self.fresh(),
                };
                self.facts.finals.insert((object, field), value);
                self.stack.push(value);
            } else {
                self.push(slots);
            }
        } else if volatility == Volatility::Final {
            self.facts.finals.remove(&(object, field));
            // What a loop knew of its value before is not known in the next round.
            self.disturbances.releases.push(place);
        }
    }

    fn plain(&mut self, node: NodeId, opcode: Opcode, place: usize) {
        use Opcode::*;
        match opcode {
            Dup => self.duplicate(1, 0),
            DupX1 => self.duplicate(1, 1),
            DupX2 => self.duplicate(1, 2),
            Dup2 => self.duplicate(2, 0),
            Dup2X1 => self.duplicate(2, 1),
            Dup2X2 => self.duplicate(2, 2),
            Swap => {
                let (upper, lower) = (self.pop(), self.pop());
                self.stack.extend([upper, lower]);
            }
            Pop | Pop2 => {
                for _ in 0..if opcode == Pop { 1 } else { 2 } {
                    self.pop();
                }
            }
            _ => {
                let Some((popped, pushed, throws)) = effect(opcode) else {
                    self.may_release(place);
                    self.this_escapes(place);
                    self.stack.clear();
                    return;
                };
                if matches!(opcode, MonitorEnter | MonitorExit) {
                    self.may_release(place);
                } else if throws {
                    self.may_throw();
                }
                let is_write = is_array_store(opcode);
                if is_write || is_array_load(opcode) {
                    // The value that is stored lies above array and index.
                    self.consume(popped - 2, place);
                    let (index, array) = (self.pop(), self.pop());
                    if is_write
                        && self.filters.contains(Filter::Escape)
                        && self.new_arrays.contains(&array)
                    {
                        self.found.unprobed.insert(node);
                    } else {
                        self.element(node, (array, index), is_write);
                    }
                } else {
                    self.consume(popped, place);
                }
                self.push(pushed);
            }
        }
    }

    fn duplicate(&mut self, count: usize, under: usize) {
        while self.stack.len() < count + under {
            let value = self.fresh();
            self.stack.insert(0, value);
        }
        let start = self.stack.len() - count;
        let copied = self.stack[start..].to_vec();
        self.stack.splice(start - under..start - under, copied);
    }
}
