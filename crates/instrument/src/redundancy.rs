//! Which accesses to fields need no probe of their own, by what the method itself shows.
//!
//! Code is followed from one jump target to the next with a number for every value; local variables and
//! final fields of known values lead to known values. Between two instructions that may release something
//! (calls that are not `quiet`, monitors, volatile fields, whatever may load or initialize a class):
//! - a read behind a read or write of the same field of the same object, and a write behind a write, say nothing
//!   new (see `UnsnarlThread`), and a read says nothing new if a write certainly follows;
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
//! may lead back.
//!
//! Nothing is lost: whatever is not understood is reported.

mod access;
mod effect;

use std::collections::{HashMap, HashSet};

use unsnarl_classfile::edit::{CodeEditor, LabelId, NodeId, PoolEditor};
use unsnarl_classfile::read::Constant;
use unsnarl_classfile::{ConstantIndex, FieldType, Instruction, MethodDescriptor, Opcode};

use self::access::OpenRead;
pub(crate) use self::access::{Assumed, Condition, Known, Redundancy, Together};
pub(crate) use self::effect::{effect, is_store, jumps};
use crate::loops::is_simple;
use crate::plan::Filters;
use crate::quiet::{Quiet, QuietMethods};
use crate::site::Volatility;

/// What is to be looked at.
pub(crate) struct Method<'m> {
    pub(crate) code: &'m CodeEditor,
    /// The class that declares it.
    pub(crate) class: &'m [u8],
    pub(crate) is_static: bool,
    /// In a constructor the call of another one, where `this` becomes usable; it is `Object`'s if `this`
    /// is known to nobody behind it.
    pub(crate) super_call: Option<NodeId>,
    pub(crate) is_new: bool,
    pub(crate) filters: Filters,
    pub(crate) quiet: &'m QuietMethods,
}

impl Redundancy {
    pub(crate) fn find(
        method: &Method<'_>,
        pool: &PoolEditor<'_>,
        known: &dyn Fn(ConstantIndex) -> Known,
    ) -> Self {
        let code = method.code;
        let mut walk = Walk::new(method, pool, known);
        for (place, node) in code.nodes().enumerate() {
            if let Some(label) = code.label(node) {
                walk.label(label, place);
            } else if let Some(instruction) = code.instruction(node) {
                walk.instruction(node, place, instruction);
            }
            if method.super_call == Some(node) {
                walk.begin_constructed(method.is_new);
            }
        }
        walk.finish()
    }
}

/// A value, by number. Those of long and double, and their second halves, have numbers that are not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Value(u32);

const THIS: Value = Value(0);

type Variable = (Value, ConstantIndex);

struct Walk<'m> {
    class: &'m [u8],
    pool: &'m PoolEditor<'m>,
    known: &'m dyn Fn(ConstantIndex) -> Known,
    filters: Filters,
    quiet: &'m QuietMethods,
    targets: HashSet<LabelId>,
    has_this: bool,
    found: Redundancy,

    made: u32,
    /// Whether control comes to the next instruction from the one before.
    follows: bool,
    stack: Vec<Value>,
    /// How much is on the stack at labels that were jumped to.
    depths: HashMap<LabelId, usize>,
    locals: HashMap<u16, Value>,
    finals: HashMap<Variable, Value>,
    not_null: HashSet<Value>,
    /// Classes that were resolved: they need not be loaded again.
    resolved: HashSet<Vec<u8>>,
    /// What values and redundancy since the last jump target rely on, and how often a class may have been loaded.
    assumed: Vec<Assumed>,
    loads: usize,
    /// Accesses since the last instruction that may release, with how often classes may have been loaded until then.
    read: HashMap<Variable, usize>,
    written: HashMap<Variable, usize>,
    /// Probes that can report what follows, by object, whether it is written and group: nothing has been able to throw
    /// since.
    open: HashMap<(Value, bool, u64), (NodeId, usize)>,
    /// Reads since then, with the probes that report them.
    open_reads: HashMap<Variable, OpenRead>,
    /// Reads that have a probe and are followed by a write.
    dropped: Vec<NodeId>,

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
    ) -> Self {
        let code = method.code;
        let mut targets: HashSet<LabelId> = code.handlers().map(|(_, it)| it.handler).collect();
        let mut this_is_kept = true;
        for (_, instruction) in code.instructions() {
            targets.extend(jumps(instruction));
            this_is_kept &= !matches!(instruction, Instruction::Local { opcode, local: 0 }
                if is_store(*opcode));
        }
        Self {
            class: method.class,
            pool,
            known,
            filters: method.filters,
            quiet: method.quiet,
            targets,
            has_this: !method.is_static && this_is_kept && method.super_call.is_none(),
            found: Redundancy::default(),
            made: 0,
            follows: true,
            stack: Vec::new(),
            depths: HashMap::new(),
            locals: HashMap::new(),
            finals: HashMap::new(),
            not_null: HashSet::new(),
            resolved: HashSet::new(),
            assumed: Vec::new(),
            loads: 0,
            read: HashMap::new(),
            written: HashMap::new(),
            open: HashMap::new(),
            open_reads: HashMap::new(),
            dropped: Vec::new(),
            is_new: false,
            new_accesses: Vec::new(),
            label_places: HashMap::new(),
            jumps_back: Vec::new(),
            escaped_at: usize::MAX,
        }
    }

    /// Behind the call of another constructor `this` is an object like others.
    fn begin_constructed(&mut self, is_new: bool) {
        self.has_this = true;
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

    fn pop(&mut self) -> Value {
        match self.stack.pop() {
            Some(value) => value,
            None => self.fresh(),
        }
    }

    /// Takes values off the stack for something that may keep them.
    fn consume(&mut self, slots: usize, place: usize) {
        for _ in 0..slots {
            if self.pop() == THIS {
                self.this_escapes(place);
            }
        }
    }

    fn this_escapes(&mut self, place: usize) {
        if self.is_new {
            self.is_new = false;
            self.escaped_at = place;
        }
    }

    /// Another way leads here: what was known is not known any more.
    fn label(&mut self, label: LabelId, place: usize) {
        self.label_places.insert(label, place);
        if !self.targets.contains(&label) {
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
        self.locals.clear();
        self.finals.clear();
        self.not_null.clear();
        self.resolved.clear();
        self.assumed.clear();
        self.may_release();
        self.follows = true;
    }

    fn may_throw(&mut self) {
        self.open.clear();
        self.open_reads.clear();
    }

    fn may_release(&mut self) {
        self.may_throw();
        self.read.clear();
        self.written.clear();
    }

    fn instruction(&mut self, node: NodeId, place: usize, instruction: &Instruction<LabelId>) {
        use Opcode::*;
        match instruction {
            Instruction::Plain(opcode) => self.plain(*opcode, place),
            Instruction::Push { .. } => self.push(1),
            Instruction::LoadConstant { opcode, constant } => {
                if !is_simple(self.pool.get(*constant)) {
                    self.may_release();
                }
                self.push(if *opcode == Ldc2W { 2 } else { 1 });
            }
            Instruction::Local { opcode, local } => self.local(*opcode, *local, place),
            Instruction::Increment { .. } => {}
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
                let quiet = member
                    .as_ref()
                    .and_then(|it| self.quiet.call(*opcode, it.class, it.name, it.descriptor));
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
                self.may_release();
                if *opcode != New {
                    self.consume(1, place);
                }
                self.push(1);
            }
            Instruction::NewArray { .. } => {
                self.may_throw();
                self.pop();
                self.push(1);
            }
            Instruction::MultiNewArray { dimensions, .. } => {
                self.may_release();
                self.consume((*dimensions).into(), place);
                self.push(1);
            }
        }
        if instruction.ends_flow() {
            self.follows = false;
            self.may_release();
        }
    }

    fn jump(&mut self, target: LabelId, place: usize) {
        self.depths.insert(target, self.stack.len());
        if let Some(&to) = self.label_places.get(&target) {
            self.jumps_back.push((place, to));
        }
        // What follows is not certain any more.
        self.may_throw();
    }

    fn local(&mut self, opcode: Opcode, local: u16, place: usize) {
        let long = opcode.implied_local().map_or(opcode, |(long, _)| long);
        match long {
            Opcode::ALoad if local == 0 && self.has_this => self.stack.push(THIS),
            Opcode::ALoad => {
                let value = match self.locals.get(&local) {
                    Some(&value) => value,
                    None => self.fresh(),
                };
                self.locals.insert(local, value);
                self.stack.push(value);
            }
            Opcode::AStore => {
                let value = self.pop();
                if value == THIS {
                    self.this_escapes(place);
                }
                self.locals.insert(local, value);
            }
            Opcode::ILoad | Opcode::FLoad => self.push(1),
            Opcode::LLoad | Opcode::DLoad => self.push(2),
            Opcode::IStore | Opcode::FStore => {
                self.pop();
                self.locals.remove(&local);
            }
            Opcode::LStore | Opcode::DStore => {
                self.pop();
                self.pop();
                self.locals.remove(&local);
                self.locals.remove(&local.saturating_add(1));
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
            self.may_release();
        }
        let Some(descriptor) = descriptor.as_deref().and_then(MethodDescriptor::parse) else {
            self.this_escapes(place);
            self.stack.clear();
            return;
        };
        self.consume(descriptor.parameter_slots(), place);
        if receiver != 0 {
            let object = self.pop();
            if object == THIS {
                self.this_escapes(place);
            } else if self.not_null.insert(object) {
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
            self.may_release();
            self.this_escapes(place);
            self.stack.clear();
            return;
        };
        if matches!(opcode, Opcode::GetStatic | Opcode::PutStatic) {
            self.may_release();
            if opcode == Opcode::PutStatic {
                self.consume(slots, place);
            } else {
                self.push(slots);
            }
            return;
        }
        let Known { volatility, is_assumed, group } = (self.known)(field);
        let is_plain = matches!(volatility, Volatility::Plain | Volatility::Final);
        // The first access to another class may have to load it.
        let may_load = member.class != self.class && self.resolved.insert(member.class.to_vec());
        self.loads += usize::from(may_load);
        if !is_plain {
            self.may_release();
        } else if is_assumed && !self.assumed.contains(&(field, volatility)) {
            self.assumed.push((field, volatility));
        }
        let is_write = opcode == Opcode::PutField;
        if is_write {
            self.consume(slots, place);
        }
        let object = self.pop();
        if object != THIS && self.not_null.insert(object) {
            self.may_throw();
        }
        if volatility == Volatility::Plain {
            if self.is_new && object == THIS {
                if self.filters.escape {
                    self.new_accesses.push((place, node));
                }
            } else if self.filters.take_together() {
                self.access(node, (object, field), is_write, group);
            }
        }
        if !is_write {
            if volatility == Volatility::Final && slots == 1 {
                let value = match self.finals.get(&(object, field)) {
                    Some(&value) => value,
                    None => self.fresh(),
                };
                self.finals.insert((object, field), value);
                self.stack.push(value);
            } else {
                self.push(slots);
            }
        } else if volatility == Volatility::Final {
            self.finals.remove(&(object, field));
        }
    }

    fn plain(&mut self, opcode: Opcode, place: usize) {
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
                    self.may_release();
                    self.this_escapes(place);
                    self.stack.clear();
                    return;
                };
                if matches!(opcode, MonitorEnter | MonitorExit) {
                    self.may_release();
                } else if throws {
                    self.may_throw();
                }
                self.consume(popped, place);
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
