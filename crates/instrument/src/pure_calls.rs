//! Calls that synchronize nothing, as far as one class shows.
//!
//! Two kinds of methods: functions of the JDK on numbers, which the JVM knows before any class of the program; and short
//! methods of the class itself that cannot be overridden and do nothing but compute, access fields of their own class that
//! are not volatile, access arrays, and call such methods. What is known of an epoch holds after a call of one as
//! it did before. That a call may fail for lack of stack is not taken into account.

use std::collections::HashMap;

use unsnarl_classfile::read::{ClassFile, Code, Member};
use unsnarl_classfile::{FieldType, Instruction, MethodDescriptor, Opcode, Pc, flags};
use unsnarl_recording::{FieldName, Volatility};

use crate::loops::is_simple;
use crate::redundancy::{effect, is_store};
use crate::rewrite::{KnownClasses, declared_volatility};

/// Methods with more bytes are not looked at.
const LONGEST: u16 = 200;

/// A call that synchronizes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Quiet {
    MayThrow,
    CannotThrow,
}

/// The methods of a class that synchronize nothing, by name and descriptor.
#[derive(Debug, Default)]
pub(crate) struct PureMethods {
    class: Vec<u8>,
    methods: HashMap<(Vec<u8>, Vec<u8>), Quiet>,
}

impl PureMethods {
    pub(crate) fn of(class: &ClassFile<'_>, known_classes: &dyn KnownClasses) -> Self {
        let mut found = Self { class: class.name().to_vec(), methods: HashMap::new() };
        let mut left: Vec<(&Member<'_>, Code<'_>)> = class
            .methods
            .iter()
            .filter(|method| is_candidate(class, method, known_classes))
            .filter_map(|method| Some((method, class.code(method).ok()??)))
            .filter(|(_, code)| code.length() <= LONGEST)
            .collect();
        // A method is quiet if all that it calls was found to be.
        loop {
            let before = left.len();
            left.retain(|(method, code)| match found.body(class, method, code) {
                Some(quiet) => {
                    let name = class.member_name(method).to_vec();
                    let key = (name, class.member_descriptor(method).to_vec());
                    found.methods.insert(key, quiet);
                    false
                }
                None => true,
            });
            if left.len() == before {
                return found;
            }
        }
    }

    /// What is known of a call; nothing if it may synchronize.
    pub(crate) fn call(
        &self,
        opcode: Opcode,
        class: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Option<Quiet> {
        if class == self.class && opcode != Opcode::InvokeInterface {
            return self.methods.get(&(name.to_vec(), descriptor.to_vec())).copied();
        }
        of_the_jdk(opcode, class, name, descriptor)
    }

    fn body(&self, class: &ClassFile<'_>, method: &Member<'_>, code: &Code<'_>) -> Option<Quiet> {
        let has_this = method.access & flags::STATIC == 0;
        let mut this_is_kept = has_this;
        for instruction in code.instructions() {
            let (_, instruction) = instruction.ok()?;
            this_is_kept &= !matches!(instruction, Instruction::Local { opcode, local: 0 }
                if is_store(opcode));
        }
        let mut quiet = Quiet::CannotThrow;
        let mut this_on_top = false;
        for instruction in code.instructions() {
            let (_, instruction) = instruction.ok()?;
            quiet = quiet.min(self.instruction(class, &instruction, this_on_top)?);
            this_on_top = this_is_kept
                && matches!(instruction, Instruction::Local { opcode, local: 0 }
                    if opcode == Opcode::ALoad || opcode == Opcode::ALoad0);
        }
        Some(quiet)
    }

    fn instruction(
        &self,
        class: &ClassFile<'_>,
        instruction: &Instruction<Pc>,
        this_on_top: bool,
    ) -> Option<Quiet> {
        use Opcode::*;
        match *instruction {
            Instruction::Plain(MonitorEnter | MonitorExit) => None,
            Instruction::Plain(IReturn | LReturn | FReturn | DReturn | AReturn | Return)
            | Instruction::Local { .. }
            | Instruction::Push { .. }
            | Instruction::Increment { .. }
            | Instruction::TableSwitch { .. }
            | Instruction::LookupSwitch { .. } => Some(Quiet::CannotThrow),
            Instruction::Plain(opcode) => match effect(opcode) {
                Some((_, _, true)) => Some(Quiet::MayThrow),
                Some((_, _, false)) => Some(Quiet::CannotThrow),
                None => match opcode {
                    Dup | DupX1 | DupX2 | Dup2 | Dup2X1 | Dup2X2 | Swap | Pop | Pop2 => {
                        Some(Quiet::CannotThrow)
                    }
                    _ => None,
                },
            },
            Instruction::Jump { opcode, .. } => match opcode {
                Jsr | JsrW => None,
                _ => Some(Quiet::CannotThrow),
            },
            Instruction::NewArray { .. } => Some(Quiet::MayThrow),
            Instruction::LoadConstant { constant, .. } => {
                is_simple(class.pool.get(constant).ok()).then_some(Quiet::CannotThrow)
            }
            Instruction::Field { opcode, field } => {
                let member = class.pool.member(field).ok()?;
                let name = FieldName {
                    class: member.class.to_vec(),
                    name: member.name.to_vec(),
                    descriptor: member.descriptor.to_vec(),
                };
                let volatility = declared_volatility(class, &name)?;
                let is_plain = matches!(volatility, Volatility::Plain | Volatility::Final);
                let is_static = matches!(opcode, GetStatic | PutStatic);
                let cannot_throw = is_static || opcode == GetField && this_on_top;
                is_plain.then_some(if cannot_throw { Quiet::CannotThrow } else { Quiet::MayThrow })
            }
            Instruction::Invoke { opcode, method } => {
                let member = class.pool.member(method).ok()?;
                let quiet = self.call(opcode, member.class, member.name, member.descriptor)?;
                // The receiver may be null.
                Some(if opcode == InvokeStatic || this_on_top { quiet } else { Quiet::MayThrow })
            }
            Instruction::InvokeDynamic { .. }
            | Instruction::Type { .. }
            | Instruction::MultiNewArray { .. } => None,
        }
    }
}

/// Whether a call of a method runs this body and nothing else.
fn is_candidate(
    class: &ClassFile<'_>,
    method: &Member<'_>,
    known_classes: &dyn KnownClasses,
) -> bool {
    let (name, descriptor) = (class.member_name(method), class.member_descriptor(method));
    let is_fixed = method.access & (flags::STATIC | flags::PRIVATE | flags::FINAL) != 0
        || class.access & flags::FINAL != 0;
    is_fixed
        && class.access & flags::INTERFACE == 0
        && method.access & (flags::SYNCHRONIZED | flags::NATIVE | flags::ABSTRACT) == 0
        && !name.starts_with(b"<")
        && known_classes.task(class.name(), name, descriptor).is_none()
}

/// Functions on numbers, and what strings consist of. They call nothing of the program.
fn of_the_jdk(opcode: Opcode, class: &[u8], name: &[u8], descriptor: &[u8]) -> Option<Quiet> {
    match (opcode, class) {
        (
            Opcode::InvokeStatic,
            b"java/lang/Math"
            | b"java/lang/StrictMath"
            | b"java/lang/Integer"
            | b"java/lang/Long"
            | b"java/lang/Float"
            | b"java/lang/Double"
            | b"java/lang/Character",
        ) => {
            let is_number = |it: FieldType<'_>| !matches!(it.descriptor(), [b'L' | b'[', ..]);
            let cannot_throw = class.ends_with(b"Math")
                && matches!(
                    name,
                    b"abs" | b"min" | b"max" | b"sqrt" | b"sin" | b"cos" | b"exp" | b"log" | b"pow"
                );
            MethodDescriptor::parse(descriptor)?
                .parameters()
                .all(is_number)
                .then_some(if cannot_throw { Quiet::CannotThrow } else { Quiet::MayThrow })
        }
        (Opcode::InvokeVirtual, b"java/lang/String") => {
            matches!(name, b"charAt" | b"length").then_some(Quiet::MayThrow)
        }
        _ => None,
    }
}
