//! Probes for what says which objects other threads can reach: where objects are made, where references to them
//! are stored, and which are passed to code of the JDK, in which there are no probes.
//!
//! An object is reported as new when its construction begins, if its class is directly below `Object` or `Record`, so that
//! what constructors do to it is after that; and once more after the call that ends its `new`. What a constructor
//! stores into `this` before it can be passed on is reported as soon as it can be.

use std::collections::HashSet;

use unsnarl_classfile::Opcode::*;
use unsnarl_classfile::edit::{CodeError, LabelId, NodeId, PoolEditor};
use unsnarl_classfile::{ConstantIndex, FieldType, Instruction, MethodDescriptor, Opcode, flags};
use unsnarl_recording::{FieldName, SiteNumber, SiteOperation, Volatility};

use super::MethodRewriter;
use super::field::field_name;
use crate::call_probe::{load_of, store_of};
use crate::hooks::{self, Hook};
use crate::plan::is_of_the_jdk;
use crate::rewrite::declared_volatility;

/// How javac compiles the checks for null that the language asks for, such as that of an inner class for the object
/// around it.
const NULL_CHECK: (&[u8], &[u8]) = (b"java/util/Objects", b"requireNonNull");

/// The classes of the JDK whose constructors hand the new object to nobody.
const CONFINING: [&[u8]; 2] = [b"java/lang/Object", b"java/lang/Record"];

/// What is known of a method before its probes for references are put in.
#[derive(Default)]
pub(super) struct References {
    /// Calls of constructors after which the new object is on the stack.
    makes: HashSet<NodeId>,
    /// Whether `this` is in its variable, wherever it is initialized.
    has_this: bool,
    /// The fields that were stored into `this` so far, when it was not initialized.
    early: Vec<ConstantIndex>,
}

impl MethodRewriter<'_, '_> {
    pub(super) fn find_references(
        &self,
        instructions: &[(NodeId, Option<u16>)],
        pool: &PoolEditor<'_>,
    ) -> References {
        let is_first_overwritten = self.code.instructions().any(|(_, instruction)| {
            matches!(instruction, Instruction::Local { opcode, local: 0 } if is_store(*opcode))
        });
        References {
            makes: self.makes(instructions, pool).unwrap_or_default(),
            has_this: self.member.access & flags::STATIC == 0 && !is_first_overwritten,
            early: Vec::new(),
        }
    }

    /// `new` and the calls of constructors are like brackets, and compilers copy the object for the call. Nothing if
    /// they are not.
    fn makes(
        &self,
        instructions: &[(NodeId, Option<u16>)],
        pool: &PoolEditor<'_>,
    ) -> Option<HashSet<NodeId>> {
        let mut open = Vec::new();
        let mut makes = HashSet::new();
        for (index, &(node, _)) in instructions.iter().enumerate() {
            match *self.code.instruction(node)? {
                Instruction::Type { opcode: New, class } => {
                    let next = instructions.get(index + 1).map(|&(node, _)| node);
                    let next = next.and_then(|next| self.code.instruction(next));
                    let is_copied = matches!(next, Some(Instruction::Plain(Dup)));
                    open.push((pool.class_name(class)?, is_copied));
                }
                Instruction::Invoke { opcode: InvokeSpecial, method } => {
                    let member = pool.member(method)?;
                    match (member.name, open.pop()) {
                        (b"<init>", Some((class, is_copied))) => {
                            if class != member.class {
                                return None;
                            }
                            if is_copied {
                                makes.insert(node);
                            }
                        }
                        (b"<init>", None) => {}
                        (_, Some(other)) => open.push(other),
                        (_, None) => {}
                    }
                }
                _ => {}
            }
        }
        Some(makes)
    }

    /// The probes of one instruction. `this` is initialized, unless the call that does it is still to come.
    pub(super) fn references(
        &mut self,
        (node, line): (NodeId, Option<u16>),
        instruction: &Instruction<LabelId>,
        this_is_uninitialized: bool,
        known: &mut References,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let has_this = known.has_this && !this_is_uninitialized;
        match *instruction {
            Instruction::Field { opcode: opcode @ (PutField | PutStatic), field }
                if self.events.references =>
            {
                let Some(name) = field_name(field, pool) else { return Ok(()) };
                if !FieldType::parse(&name.descriptor).is_some_and(FieldType::is_reference) {
                    return Ok(());
                }
                if opcode == PutField && this_is_uninitialized && name.class == self.class.name() {
                    known.early.push(field);
                    return Ok(());
                }
                let site = self.reference_site(line, name);
                let mut probe = self.code.before(node, pool);
                let hook = if opcode == PutField {
                    probe.plain(Dup2);
                    hooks::STORED
                } else {
                    probe.plain(Dup);
                    hooks::PUBLISHED
                };
                probe.int(site.0.cast_signed())?;
                probe.invoke_static(hook.class, hook.name, hook.descriptor)?;
            }
            Instruction::Plain(AAStore) if self.events.references => {
                let site = self.site(line, SiteOperation::Element);
                let (value, hook) = (self.first_local, hooks::STORED);
                self.code.max_locals = self.code.max_locals.max(value.saturating_add(1));
                let mut probe = self.code.before(node, pool);
                // array index value -> array index -> array index array value -> array index value
                probe.local(AStore, value).plain(Dup2).plain(Pop).local(ALoad, value);
                probe.int(site.0.cast_signed())?;
                probe.invoke_static(hook.class, hook.name, hook.descriptor)?;
                probe.local(ALoad, value);
            }
            Instruction::Invoke { opcode, method } => {
                if self.events.references {
                    self.passed_on(node, line, method, pool)?;
                }
                if opcode == InvokeSpecial && known.makes.contains(&node) && self.events.allocations
                {
                    self.allocated(node, line, has_this, pool)?;
                }
            }
            Instruction::NewArray { .. }
            | Instruction::MultiNewArray { .. }
            | Instruction::Type { opcode: ANewArray, .. }
                if self.events.allocations =>
            {
                self.allocated(node, line, has_this, pool)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// After the call with which `this` is initialized.
    pub(super) fn this_is_initialized(
        &mut self,
        (node, line): (NodeId, Option<u16>),
        known: &References,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let Some(&Instruction::Invoke { method, .. }) = self.code.instruction(node) else {
            return Ok(());
        };
        let (Some(next), true) = (self.code.next(node), known.has_this) else { return Ok(()) };
        let is_new = pool.member(method).is_some_and(|it| CONFINING.contains(&it.class));
        if is_new && self.events.allocations {
            let site = self.site(line, SiteOperation::Allocation);
            let mut probe = self.code.before(next, pool);
            probe.local(ALoad, 0).plain(AConstNull).int(site.0.cast_signed())?;
            let Hook { class, name, descriptor } = hooks::ALLOCATED;
            probe.invoke_static(class, name, descriptor)?;
        }
        for &field in &known.early {
            let Some(name) = field_name(field, pool) else { continue };
            let site = self.reference_site(line, name);
            let mut probe = self.code.before(next, pool);
            probe.local(ALoad, 0).local(ALoad, 0);
            probe.instruction(Instruction::Field { opcode: GetField, field });
            probe.int(site.0.cast_signed())?;
            let Hook { class, name, descriptor } = hooks::STORED;
            probe.invoke_static(class, name, descriptor)?;
        }
        Ok(())
    }

    /// An object is on the stack, and new.
    fn allocated(
        &mut self,
        node: NodeId,
        line: Option<u16>,
        has_this: bool,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let Some(next) = self.code.next(node) else { return Ok(()) };
        let site = self.site(line, SiteOperation::Allocation);
        let mut probe = self.code.before(next, pool);
        probe.plain(Dup);
        if has_this {
            probe.local(ALoad, 0);
        } else {
            probe.plain(AConstNull);
        }
        probe.int(site.0.cast_signed())?;
        let Hook { class, name, descriptor } = hooks::ALLOCATED;
        probe.invoke_static(class, name, descriptor)?;
        Ok(())
    }

    /// What becomes of the arguments of a method of the JDK is not seen.
    fn passed_on(
        &mut self,
        node: NodeId,
        line: Option<u16>,
        method: ConstantIndex,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let Some(member) = pool.member(method).filter(|it| is_of_the_jdk(it.class)) else {
            return Ok(());
        };
        if (member.class, member.name) == NULL_CHECK {
            return Ok(());
        }
        let descriptor = member.descriptor.to_vec();
        let Some(descriptor) = MethodDescriptor::parse(&descriptor) else { return Ok(()) };
        if !descriptor.parameters().any(FieldType::is_reference) {
            return Ok(());
        }
        let mut end = self.first_local;
        let mut arguments = Vec::new();
        for parameter in descriptor.parameters() {
            arguments.push((parameter, end));
            end = end.saturating_add(parameter.slots() as u16);
        }
        self.code.max_locals = self.code.max_locals.max(end);
        let site = self.site(line, SiteOperation::Caller);
        let mut probe = self.code.before(node, pool);
        for &(parameter, local) in arguments.iter().rev() {
            probe.local(store_of(parameter), local);
        }
        for (parameter, local) in arguments {
            probe.local(load_of(parameter), local);
            if parameter.is_reference() {
                let Hook { class, name, descriptor } = hooks::PUBLISHED;
                probe.plain(Dup).int(site.0.cast_signed())?;
                probe.invoke_static(class, name, descriptor)?;
            }
        }
        Ok(())
    }

    fn reference_site(&mut self, line: Option<u16>, field: FieldName) -> SiteNumber {
        let volatility = declared_volatility(self.class, &field).unwrap_or(Volatility::Plain);
        self.site(line, SiteOperation::Field(field, volatility))
    }
}

fn is_store(opcode: Opcode) -> bool {
    let long = opcode.long_form();
    matches!(long, IStore | LStore | FStore | DStore | AStore)
}
