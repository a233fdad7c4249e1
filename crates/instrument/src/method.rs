//! The rewriting of one method body.

mod around;
mod array_loops;
mod constructed;
mod exact;
mod field;
mod references;

use std::collections::{HashMap, HashSet};

use unsnarl_classfile::edit::{
    ClassEditor, CodeEditor, CodeError, Handler, LabelId, NodeId, PoolEditor,
};
use unsnarl_classfile::read::{ClassFile, Member};
use unsnarl_classfile::{ConstantIndex, Instruction, Opcode, ReadError, VerificationType, flags};
use unsnarl_events::Filters;
use unsnarl_recording::{
    Dispatch, MethodName, RecordedEvents, SiteNumber, SiteOperation, SiteRecord,
};

use self::field::field_name;
use self::references::References;
use crate::call_probe::{CallProbe, catch, interrupted};
use crate::hooks::{self, Hook};
use crate::identity::{clones_array, may_clone};
use crate::plan::may_coalesce;
use crate::probe::{EXTRA_STACK, Probe};
use crate::pure_calls::PureMethods;
use crate::redundancy::{Condition, Redundancy, Together};
use crate::rewrite::KnownClasses;
use crate::site::{Conditional, SiteNumbers};
use crate::thread::is_join;
use crate::wait_probe::{self, is_wait};

/// A method while probes are put into it.
pub(crate) struct MethodRewriter<'c, 'a> {
    class: &'c ClassFile<'a>,
    member: &'c Member<'a>,
    /// The body, with the probes so far.
    pub(crate) code: CodeEditor,
    /// The places that report.
    pub(crate) sites: Vec<SiteRecord>,
    pub(crate) conditionals: Vec<Conditional>,
    /// What is not reported.
    pub(crate) remarks: Vec<String>,
    /// Whether anything was put in.
    pub(crate) has_probes: bool,
    events: RecordedEvents,
    filters: Filters,
    numbers: &'c SiteNumbers,
    known_classes: &'c dyn KnownClasses,
    pure_methods: &'c PureMethods,
    source_file: &'c [u8],
    has_finalizer: bool,
    /// The local variables above those of the method are for probes.
    first_local: u16,
    /// The instructions of the file with their lines, in order.
    instructions: Vec<(NodeId, Option<u16>)>,
    redundancy: Redundancy,
    untested_waits: HashSet<NodeId>,
    /// Whether accesses are reported together though that takes more room: loops that report when they are left, and
    /// conditional accesses.
    coalesces: bool,
}

/// What is the same for all methods of a class.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'c> {
    pub(crate) numbers: &'c SiteNumbers,
    pub(crate) known_classes: &'c dyn KnownClasses,
    pub(crate) pure_methods: &'c PureMethods,
    /// The source file of the class; empty if it does not say.
    pub(crate) source_file: &'c [u8],
    pub(crate) filters: Filters,
    /// Whether the class has a finalizer of its own.
    pub(crate) has_finalizer: bool,
}

impl<'c, 'a> MethodRewriter<'c, 'a> {
    pub(crate) fn new(
        class: &'c ClassFile<'a>,
        member: &'c Member<'a>,
        code: CodeEditor,
        events: RecordedEvents,
        Shared { numbers, known_classes, pure_methods, source_file, filters, has_finalizer }: Shared<'c>,
    ) -> Result<Self, ReadError> {
        let lines = lines(class, member)?;
        let nodes = code.instructions().map(|(node, _)| node);
        let instructions = nodes.zip(lines).collect();
        let first_local = code.max_locals;
        Ok(Self {
            class,
            member,
            code,
            sites: Vec::new(),
            conditionals: Vec::new(),
            remarks: Vec::new(),
            has_probes: false,
            events,
            filters,
            numbers,
            known_classes,
            pure_methods,
            source_file,
            has_finalizer,
            first_local,
            instructions,
            redundancy: Redundancy::default(),
            untested_waits: HashSet::new(),
            coalesces: true,
        })
    }

    /// Gives every such access its own probe, which takes less room.
    pub(crate) fn without_loops(mut self) -> Self {
        self.coalesces = false;
        self
    }

    /// Puts all probes in.
    pub(crate) fn run(&mut self, class: &mut ClassEditor<'_>) -> Result<(), CodeError> {
        let pool = &mut class.pool;
        let instructions = std::mem::take(&mut self.instructions);
        let first_call = self.super_call(&instructions, pool);
        let mut super_call = first_call;
        let is_synchronized = self.member.access & flags::SYNCHRONIZED != 0;
        self.untested_waits = wait_probe::untested(&self.code, pool, is_synchronized);
        if self.events.fields && self.filters != Filters::NONE {
            self.redundancy = self.find_redundancy(super_call, pool);
        }
        let lines: HashMap<NodeId, Option<u16>> = instructions.iter().copied().collect();
        // First of all: what is reported at an exit comes before what releases there.
        if self.events.arrays && may_coalesce(self.filters) && self.coalesces && !self.events.exact
        {
            self.array_loops(&lines, pool)?;
        }
        // Nobody has written a synthetic class: the JVM leaves lambda classes out of stack traces as well.
        let has_methods = self.events.methods && self.class.access & flags::SYNTHETIC == 0;
        let has_references = self.events.allocations || self.events.references;
        let mut references = match has_references {
            true => self.find_references(&instructions, pool),
            false => References::default(),
        };
        let mut leaders = HashMap::new();
        for &(node, line) in &instructions {
            let initializes_this = super_call == Some(node);
            if initializes_this {
                super_call = None;
            }
            let Some(instruction) = self.code.instruction(node).cloned() else { continue };
            if has_methods && self.may_run_others(&instruction, pool) {
                let site = self.site(line, SiteOperation::Caller);
                Probe::before(&mut self.code, pool, node).call(hooks::CALLER, site)?;
            }
            if has_references {
                let place = (node, line);
                let uninitialized = super_call.is_some();
                self.references(place, &instruction, uninitialized, &mut references, pool)?;
                if initializes_this {
                    self.this_is_initialized(place, &references, pool)?;
                }
            }
            if self.redundancy.unprobed.contains(&node) {
                continue;
            }
            if let Some(Together { others, condition }) = self.redundancy.together.remove(&node) {
                let is_conditional = condition.is_some();
                if !is_conditional || self.coalesces {
                    let place = (node, line);
                    let probe =
                        self.together(&instruction, place, &others, is_conditional, &lines, pool)?;
                    if let (Some(assumed), Some(probe)) = (condition, probe) {
                        self.add_conditional(probe.0, &assumed, Some(probe), pool);
                        leaders.insert(node, probe);
                    }
                }
                if !is_conditional {
                    continue;
                }
            }
            let number = self.sites.len();
            self.instruction(node, line, &instruction, super_call.is_some(), pool)?;
            if let Some(Condition { assumed, leader }) = self.redundancy.conditional.remove(&node) {
                let probe = leader.map(|leader| leaders.get(&leader).copied());
                if let (Some(site), true) = (self.sites.get(number), probe != Some(None)) {
                    self.add_conditional(site.number, &assumed, probe.flatten(), pool);
                }
            }
        }
        if self.events.synchronization {
            let name = self.class.member_name(self.member);
            if is_synchronized && self.reports_monitors() {
                self.synchronized_method(&instructions, pool)?;
            }
            if name == b"<clinit>" && !self.known_classes.is_library() {
                self.class_initializer(&instructions, pool)?;
            }
            if name == b"<init>" && !self.known_classes.is_library() {
                self.constructed(&instructions, first_call, pool)?;
            }
            let descriptor = self.class.member_descriptor(self.member);
            if self.member.access & flags::STATIC == 0
                && let Some(task) = self.known_classes.task(self.class.name(), name, descriptor)
            {
                self.task(task, &instructions, pool)?;
            }
        }
        if has_methods {
            self.entered_and_left(&instructions, pool)?;
        }
        self.has_probes |= !self.sites.is_empty();
        if self.has_probes {
            self.code.max_stack = self.code.max_stack.saturating_add(EXTRA_STACK);
        }
        Ok(())
    }

    fn instruction(
        &mut self,
        node: NodeId,
        line: Option<u16>,
        instruction: &Instruction<LabelId>,
        this_is_uninitialized: bool,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        use Opcode::*;
        match *instruction {
            Instruction::Field { opcode, field } => {
                let Some(field) = field_name(field, pool) else { return Ok(()) };
                // The only access that the verifier allows to an object that is not initialized.
                let may_be_uninitialized =
                    this_is_uninitialized && opcode == PutField && field.class == self.class.name();
                if !may_be_uninitialized {
                    self.field(node, line, opcode, field, pool)?;
                }
            }
            Instruction::Plain(opcode) if self.events.arrays && is_array_load(opcode) => {
                let site = self.site(line, SiteOperation::Element);
                if self.events.exact {
                    return self.exact_element(node, None, site, pool);
                }
                Probe::before(&mut self.code, pool, node).element(hooks::ARRAY_READ, site)?;
            }
            Instruction::Plain(opcode) if self.events.arrays && is_array_store(opcode) => {
                let site = self.site(line, SiteOperation::Element);
                let words = if matches!(opcode, LAStore | DAStore) { 2 } else { 1 };
                if self.events.exact {
                    return self.exact_element(node, Some(words), site, pool);
                }
                let hook = hooks::ARRAY_WRITE;
                Probe::before(&mut self.code, pool, node).element_below_value(words, hook, site)?;
            }
            Instruction::Plain(MonitorEnter) if self.reports_monitors() => {
                self.monitor_enter(node, line, pool)?;
            }
            Instruction::Plain(MonitorExit) if self.reports_monitors() => {
                self.monitor_exit(node, line, pool)?;
            }
            Instruction::Invoke { opcode: InvokeVirtual, method }
                if self.events.arrays
                    && pool.member(method).is_some_and(|member| clones_array(&member)) =>
            {
                let site = self.site(line, SiteOperation::Element);
                let is_exact = self.events.exact;
                let hook = if is_exact { hooks::EXACT_ARRAY_COPIED } else { hooks::ARRAY_COPIED };
                Probe::before(&mut self.code, pool, node).top(hook, site)?;
            }
            Instruction::Invoke { opcode: opcode @ (InvokeVirtual | InvokeSpecial), method }
                if pool.member(method).is_some_and(|member| may_clone(&member)) =>
            {
                if self.events.fields && self.events.synchronization {
                    self.call(node, line, opcode, method, pool)?;
                }
                self.has_probes = true;
                Probe::before(&mut self.code, pool, node).duplicate();
                if let Some(next) = self.code.next(node) {
                    Probe::before(&mut self.code, pool, next).original_and_copy(hooks::CLONED)?;
                }
            }
            Instruction::Invoke { opcode, method } if self.events.synchronization => {
                self.call(node, line, opcode, method, pool)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn reports_monitors(&self) -> bool {
        self.events.synchronization && self.known_classes.monitors()
    }

    /// Whether an instruction calls, or may initialize another class.
    fn may_run_others(&self, instruction: &Instruction<LabelId>, pool: &PoolEditor<'_>) -> bool {
        match *instruction {
            Instruction::Invoke { .. } | Instruction::InvokeDynamic { .. } => true,
            Instruction::Type { opcode, .. } => opcode == Opcode::New,
            Instruction::Field { opcode: Opcode::GetStatic | Opcode::PutStatic, field } => {
                pool.member(field).is_some_and(|field| field.class != self.class.name())
            }
            _ => false,
        }
    }

    fn call(
        &mut self,
        node: NodeId,
        line: Option<u16>,
        opcode: Opcode,
        method: ConstantIndex,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let Some(method) = method_name(method, pool) else { return Ok(()) };
        if opcode == Opcode::InvokeVirtual && is_wait(&method.name, &method.descriptor) {
            if !self.reports_monitors() {
                return Ok(());
            }
            let is_untested = self.untested_waits.contains(&node);
            let site = match is_untested {
                true => self.site(line, SiteOperation::UntestedWait),
                false => self.site(line, SiteOperation::Monitor),
            };
            let sites = [site, self.interrupt_site(line)];
            let local = self.first_local;
            let inserted =
                wait_probe::insert(&mut self.code, pool, node, &method.descriptor, sites, local)?;
            if !inserted {
                self.remarks.push("that waiting is interrupted is not reported".into());
            }
            return Ok(());
        }
        let dispatch = match opcode {
            Opcode::InvokeStatic => Dispatch::Static,
            Opcode::InvokeSpecial => Dispatch::Special,
            Opcode::InvokeInterface => Dispatch::Interface,
            _ => Dispatch::Virtual,
        };
        if let Some(call) = self.known_classes.call(&method, dispatch) {
            let site = self.site(line, SiteOperation::Call(method.clone(), dispatch));
            let probe = CallProbe::new(&call, &method, dispatch, site, self.first_local);
            let Some(probe) = probe else { return Ok(()) };
            probe.insert(&mut self.code, pool, node)?;
            self.code.max_locals = self.code.max_locals.max(probe.locals());
        }
        let is_join = dispatch == Dispatch::Virtual && is_join(&method.name, &method.descriptor);
        if is_join && !self.known_classes.is_library() {
            let site = self.interrupt_site(line);
            if !catch(&mut self.code, pool, node, |handler| interrupted(handler, site))? {
                self.remarks.push("that a join is interrupted is not reported".into());
            }
        }
        Ok(())
    }

    /// What a thread would call to learn that it was interrupted: an interrupt that ends its waiting is recorded as such a
    /// call.
    fn interrupt_site(&mut self, line: Option<u16>) -> SiteNumber {
        let method = MethodName {
            class: b"java/lang/Thread".to_vec(),
            name: b"interrupted".to_vec(),
            descriptor: b"()Z".to_vec(),
        };
        self.site(line, SiteOperation::Call(method, Dispatch::Static))
    }

    /// Puts a hook directly after an instruction: jumps to what follows do not run it.
    fn call_after(
        &mut self,
        node: NodeId,
        hook: Hook,
        site: SiteNumber,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        // Code that ends without a jump, a return or a throw is refused by the verifier anyway.
        if let Some(next) = self.code.next(node) {
            Probe::before(&mut self.code, pool, next).call(hook, site)?;
        }
        Ok(())
    }

    /// The hook comes after the instruction. A handler whose range starts there begins before the hook:
    /// otherwise the JIT sees a call that leaves the monitor locked, and refuses the method.
    fn monitor_enter(
        &mut self,
        node: NodeId,
        line: Option<u16>,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let following: Vec<LabelId> =
            std::iter::successors(self.code.next(node), |&node| self.code.next(node))
                .map_while(|node| self.code.label(node))
                .collect();
        let starts_there = |label| following.contains(&label);
        let handlers: Vec<_> = self
            .code
            .handlers()
            .filter(|(_, handler)| starts_there(handler.start))
            .map(|(id, _)| id)
            .collect();

        let site = self.site(line, SiteOperation::Monitor);
        Probe::before(&mut self.code, pool, node).duplicate();
        self.call_after(node, hooks::MONITOR_ENTERED, site, pool)?;
        if !handlers.is_empty() {
            let start = self.code.new_label();
            self.code.bind_after(start, node)?;
            for handler in handlers {
                self.code.handler_mut(handler).start = start;
            }
        }
        Ok(())
    }

    /// The hook comes before the instruction. A compiler's handler that leaves a monitor covers itself: if
    /// the hook failed there, for lack of stack, the handler would run again and again, and the JIT
    /// refuses such a method. So the hook gets a handler of its own, which goes on after it.
    fn monitor_exit(
        &mut self,
        node: NodeId,
        line: Option<u16>,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let covers_itself = self.is_in_handler_that_covers_itself(node);
        let before = self.code.previous(node);
        let site = self.site(line, SiteOperation::Monitor);
        Probe::before(&mut self.code, pool, node).top(hooks::MONITOR_LEAVES, site)?;
        let (true, Some(before)) = (covers_itself, before) else { return Ok(()) };
        let Some(&Instruction::Local { opcode, local }) = self.code.instruction(before) else {
            return Ok(());
        };
        let known = self.code.known_before(node, pool)?;
        // Other words on the stack would be lost in the handler.
        let only_monitor = match self.code.has_frames() {
            true => known.as_ref().is_some_and(|(_, stack)| stack.len() == 1),
            false => self.follows_store_of_caught(before),
        };
        if !only_monitor {
            return Ok(());
        }
        let [start, end, handler] = [(); 3].map(|()| self.code.new_label());
        self.code.bind_after(start, before)?;
        self.code.bind_before(end, node)?;
        self.code.bind_at_end(handler)?;
        self.code.append(Instruction::Plain(Opcode::Pop));
        self.code.append(Instruction::Local { opcode, local });
        self.code.append(Instruction::Jump { opcode: Opcode::Goto, target: end });
        self.code.add_handler_first(Handler { start, end, handler, catch_type: None });
        if let (true, Some((locals, stack))) = (self.code.has_frames(), known) {
            let throwable = VerificationType::Object(pool.add_class(b"java/lang/Throwable")?);
            self.code.set_frame(handler, locals.clone(), vec![throwable]);
            self.code.set_frame(end, locals, stack);
        }
        Ok(())
    }

    /// Whether a load comes directly after the instruction with which a handler stores what it caught, as javac writes
    /// it: then nothing else is on the stack. Eclipse's compiler leaves what was caught on the stack.
    fn follows_store_of_caught(&self, load: NodeId) -> bool {
        let mut before =
            std::iter::successors(self.code.previous(load), |&node| self.code.previous(node));
        let store = before.find_map(|node| self.code.instruction(node));
        let is_store = store.is_some_and(|it| it.opcode().long_form() == Opcode::AStore);
        let mut entered = before.map_while(|node| self.code.label(node));
        is_store && entered.any(|label| self.code.handlers().any(|(_, it)| it.handler == label))
    }

    fn is_in_handler_that_covers_itself(&self, node: NodeId) -> bool {
        let places: HashMap<NodeId, usize> =
            self.code.nodes().enumerate().map(|(place, node)| (node, place)).collect();
        let place = |label| self.code.binding(label).and_then(|node| places.get(&node)).copied();
        self.code.handlers().any(|(_, handler)| {
            let range = place(handler.start)..place(handler.end);
            range.contains(&place(handler.handler)) && range.contains(&places.get(&node).copied())
        })
    }

    fn class_initializer(
        &mut self,
        instructions: &[(NodeId, Option<u16>)],
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        for &(node, line) in instructions {
            if self.code.instruction(node).is_some_and(|i| i.opcode() == Opcode::Return) {
                let site = self.site(line, SiteOperation::ClassInitialized);
                Probe::before(&mut self.code, pool, node).call(hooks::CLASS_INITIALIZED, site)?;
            }
        }
        Ok(())
    }

    /// In a constructor, the call of another one on `this`: the first that no `new` in front of it is
    /// made for. Compilers put the two in the order of the text, whatever is jumped over.
    fn super_call(
        &self,
        instructions: &[(NodeId, Option<u16>)],
        pool: &PoolEditor<'_>,
    ) -> Option<NodeId> {
        if self.class.member_name(self.member) != b"<init>" || self.class.super_class.is_none() {
            return None;
        }
        let mut made = 0_usize;
        for &(node, _) in instructions {
            match self.code.instruction(node)? {
                Instruction::Type { opcode: Opcode::New, .. } => made += 1,
                Instruction::Invoke { opcode: Opcode::InvokeSpecial, method }
                    if pool.member(*method).is_some_and(|member| member.name == b"<init>") =>
                {
                    match made.checked_sub(1) {
                        None => return Some(node),
                        Some(left) => made = left,
                    }
                }
                _ => {}
            }
        }
        // A constructor that always throws, or that is stranger than those of compilers: nothing of
        // `this` is reported.
        instructions.last().map(|&(node, _)| node)
    }

    fn site(&mut self, line: Option<u16>, operation: SiteOperation) -> SiteNumber {
        let number = self.numbers.take(1);
        self.add_site(number, line, operation);
        number
    }

    fn add_site(&mut self, number: SiteNumber, line: Option<u16>, operation: SiteOperation) {
        self.sites.push(SiteRecord {
            number,
            class: self.class.name().to_vec(),
            file: self.source_file.to_vec(),
            method: self.class.member_name(self.member).to_vec(),
            descriptor: self.class.member_descriptor(self.member).to_vec(),
            is_static: self.member.access & flags::STATIC != 0,
            line,
            operation,
        });
    }
}

/// The method that a call names.
fn method_name(method: ConstantIndex, pool: &PoolEditor<'_>) -> Option<MethodName> {
    let member = pool.member(method)?;
    Some(MethodName {
        class: member.class.to_vec(),
        name: member.name.to_vec(),
        descriptor: member.descriptor.to_vec(),
    })
}

/// The line of every instruction, in order.
fn lines(class: &ClassFile<'_>, member: &Member<'_>) -> Result<Vec<Option<u16>>, ReadError> {
    let Some(code) = class.code(member)? else { return Ok(Vec::new()) };
    let mut table = code.line_numbers(&class.pool)?;
    table.sort_by_key(|entry| entry.start);
    let mut lines = Vec::new();
    for instruction in code.instructions() {
        let (pc, _) = instruction?;
        let entries = table.partition_point(|entry| entry.start <= pc);
        lines.push(entries.checked_sub(1).map(|last| table[last].line));
    }
    Ok(lines)
}

pub(crate) fn is_array_load(opcode: Opcode) -> bool {
    (Opcode::IALoad..=Opcode::SALoad).contains(&opcode)
}

pub(crate) fn is_array_store(opcode: Opcode) -> bool {
    (Opcode::IAStore..=Opcode::SAStore).contains(&opcode)
}

pub(crate) fn is_return(opcode: Opcode) -> bool {
    (Opcode::IReturn..=Opcode::Return).contains(&opcode)
}
