//! What the verifier knows along straight-line code.
//!
//! A conditional jump that became too long is written as the negated jump over a `goto_w`, and the code
//! after it then is the target of a jump and needs a frame. That frame follows from the last one by
//! going through the instructions between: no paths are merged there, so no class hierarchy is needed
//! (JVMS 4.10.1.9, type transitions, without the checks).

use crate::edit::frames::type_of;
use crate::edit::{CodeEditor, CodeError, LabelId, NodeId, PoolEditor};
use crate::read::Constant;
use crate::{ConstantIndex, FieldType, Instruction, MethodDescriptor, Opcode, VerificationType};

type Type = VerificationType<NodeId>;

/// Local variables and operand stack, one entry a slot: the second slot of a long or double is `Top`.
#[derive(Clone, Debug)]
pub(crate) struct TypeState {
    locals: Vec<Type>,
    stack: Vec<Type>,
}

impl TypeState {
    /// The state that a frame describes.
    pub(crate) fn new(locals: &[Type], stack: &[Type]) -> Self {
        Self { locals: spread(locals), stack: spread(stack) }
    }

    /// The frame that describes the state: local variables and stack.
    pub(crate) fn frame(&self) -> (Vec<Type>, Vec<Type>) {
        let mut locals = gather(&self.locals);
        while locals.last() == Some(&Type::Top) {
            locals.pop();
        }
        (locals, gather(&self.stack))
    }

    /// A state with these local variables, one entry a slot.
    pub(crate) fn of_slots(locals: Vec<Type>) -> Self {
        Self { locals, stack: Vec::new() }
    }

    /// The types of the local variables, one entry a slot.
    pub(crate) fn slots(&self) -> &[Type] {
        &self.locals
    }

    /// Goes through one instruction.
    pub(crate) fn execute(
        &mut self,
        node: NodeId,
        instruction: &Instruction<LabelId>,
        code: &CodeEditor,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let unknown = CodeError::UnknownFrame(node);
        let done = match instruction {
            Instruction::Plain(opcode) => self.plain(*opcode, pool)?,
            Instruction::Push { .. } => self.push(Type::Integer),
            Instruction::LoadConstant { constant, .. } => {
                let loaded = constant_type(*constant, pool)?;
                loaded.and_then(|loaded| self.push(loaded))
            }
            Instruction::Local { opcode, local } => self.local(*opcode, *local),
            Instruction::Increment { .. } => Some(()),
            Instruction::Jump { opcode, .. } => self.jump(*opcode),
            Instruction::TableSwitch { .. } | Instruction::LookupSwitch { .. } => self.pop(1),
            Instruction::Field { opcode, field } => self.field(*opcode, *field, pool)?,
            Instruction::Invoke { opcode, method } => self.invoke(*opcode, *method, code, pool)?,
            Instruction::InvokeDynamic { call_site } => {
                let descriptor = match pool.get(*call_site) {
                    Some(Constant::InvokeDynamic { name_and_type, .. }) => {
                        pool.name_and_type(name_and_type).map(|(_, descriptor)| descriptor.to_vec())
                    }
                    _ => None,
                };
                self.call(descriptor, pool)?
            }
            Instruction::Type { opcode, class } => {
                self.type_instruction(*opcode, *class, node, pool)?
            }
            Instruction::NewArray { element } => {
                let name = [b'[', b"ZCFDBSIJ"[usize::from(element.saturating_sub(4) & 7)]];
                let array = Type::Object(pool.add_class(&name)?);
                self.pop(1).and_then(|()| self.push(array))
            }
            Instruction::MultiNewArray { class, dimensions } => {
                self.pop(usize::from(*dimensions)).and_then(|()| self.push(Type::Object(*class)))
            }
        };
        done.ok_or(unknown)
    }

    fn push(&mut self, entry: Type) -> Option<()> {
        self.stack.push(entry);
        if entry.slots() == 2 {
            self.stack.push(Type::Top);
        }
        Some(())
    }

    fn pop(&mut self, slots: usize) -> Option<()> {
        let left = self.stack.len().checked_sub(slots)?;
        self.stack.truncate(left);
        Some(())
    }

    /// Pops `slots` and pushes what `result` says: `I`, `J`, `F`, `D` or nothing.
    fn operate(&mut self, slots: usize, result: &str) -> Option<()> {
        self.pop(slots)?;
        for letter in result.bytes() {
            self.push(match letter {
                b'J' => Type::Long,
                b'F' => Type::Float,
                b'D' => Type::Double,
                _ => Type::Integer,
            })?;
        }
        Some(())
    }

    fn plain(
        &mut self,
        opcode: Opcode,
        pool: &mut PoolEditor<'_>,
    ) -> Result<Option<()>, CodeError> {
        use Opcode::*;
        Ok(match opcode {
            Nop | Return => Some(()),
            AConstNull => self.push(Type::Null),
            IConstM1 | IConst0 | IConst1 | IConst2 | IConst3 | IConst4 | IConst5 => {
                self.operate(0, "I")
            }
            LConst0 | LConst1 => self.operate(0, "J"),
            FConst0 | FConst1 | FConst2 => self.operate(0, "F"),
            DConst0 | DConst1 => self.operate(0, "D"),
            AALoad => return self.load_element(pool),
            IALoad | BALoad | CALoad | SALoad => self.operate(2, "I"),
            LALoad => self.operate(2, "J"),
            FALoad => self.operate(2, "F"),
            DALoad => self.operate(2, "D"),
            IAStore | FAStore | AAStore | BAStore | CAStore | SAStore => self.pop(3),
            LAStore | DAStore => self.pop(4),
            Pop | IReturn | FReturn | AReturn | AThrow | MonitorEnter | MonitorExit => self.pop(1),
            Pop2 | LReturn | DReturn => self.pop(2),
            Dup => self.duplicate(1, 0),
            DupX1 => self.duplicate(1, 1),
            DupX2 => self.duplicate(1, 2),
            Dup2 => self.duplicate(2, 0),
            Dup2X1 => self.duplicate(2, 1),
            Dup2X2 => self.duplicate(2, 2),
            Swap => self.duplicate(1, 1).and_then(|()| self.pop(1)),
            IAdd | ISub | IMul | IDiv | IRem | IAnd | IOr | IXor | IShl | IShr | IUshr | FCmpL
            | FCmpG => self.operate(2, "I"),
            LAdd | LSub | LMul | LDiv | LRem | LAnd | LOr | LXor => self.operate(4, "J"),
            LShl | LShr | LUshr => self.operate(3, "J"),
            FAdd | FSub | FMul | FDiv | FRem => self.operate(2, "F"),
            DAdd | DSub | DMul | DDiv | DRem => self.operate(4, "D"),
            INeg | LNeg | FNeg | DNeg => Some(()),
            I2B | I2C | I2S | F2I | ArrayLength => self.operate(1, "I"),
            L2I | D2I => self.operate(2, "I"),
            I2L | F2L => self.operate(1, "J"),
            D2L => self.operate(2, "J"),
            I2F => self.operate(1, "F"),
            L2F | D2F => self.operate(2, "F"),
            I2D | F2D => self.operate(1, "D"),
            L2D => self.operate(2, "D"),
            LCmp | DCmpL | DCmpG => self.operate(4, "I"),
            _ => None,
        })
    }

    /// Copies the top `count` slots to below the `under` slots under them. `swap` is this with its
    /// original dropped.
    fn duplicate(&mut self, count: usize, under: usize) -> Option<()> {
        let start = self.stack.len().checked_sub(count)?;
        let place = start.checked_sub(under)?;
        let copied: Vec<_> = self.stack[start..].to_vec();
        self.stack.splice(place..place, copied);
        Some(())
    }

    fn load_element(&mut self, pool: &mut PoolEditor<'_>) -> Result<Option<()>, CodeError> {
        if self.pop(1).is_none() {
            return Ok(None);
        }
        let element = match self.stack.pop() {
            Some(Type::Null) => Type::Null,
            Some(Type::Object(class)) => {
                let name = pool.class_name(class).map(<[u8]>::to_vec);
                match name.as_deref().and_then(FieldType::parse).and_then(FieldType::element) {
                    Some(element) => type_of(element, pool)?,
                    None => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        Ok(self.push(element))
    }

    fn local(&mut self, opcode: Opcode, local: u16) -> Option<()> {
        let long = opcode.long_form();
        let local = usize::from(local);
        let stored = match long {
            Opcode::ILoad => return self.push(Type::Integer),
            Opcode::LLoad => return self.push(Type::Long),
            Opcode::FLoad => return self.push(Type::Float),
            Opcode::DLoad => return self.push(Type::Double),
            Opcode::ALoad => return self.push(*self.locals.get(local)?),
            Opcode::IStore | Opcode::FStore | Opcode::AStore => self.stack.pop()?,
            Opcode::LStore | Opcode::DStore => {
                self.stack.pop()?;
                self.stack.pop()?
            }
            _ => return None,
        };
        let needed = local + stored.slots();
        if self.locals.len() < needed {
            self.locals.resize(needed, Type::Top);
        }
        // Half of a long or double that stood around here is no longer one.
        if let Some(before) = local.checked_sub(1)
            && self.locals[before].slots() == 2
        {
            self.locals[before] = Type::Top;
        }
        self.locals[local] = stored;
        if stored.slots() == 2 {
            self.locals[local + 1] = Type::Top;
        }
        Some(())
    }

    fn jump(&mut self, opcode: Opcode) -> Option<()> {
        use Opcode::*;
        match opcode {
            Goto | GotoW => Some(()),
            Jsr | JsrW => None,
            _ if (IfICmpEq..=IfACmpNe).contains(&opcode) => self.pop(2),
            _ => self.pop(1),
        }
    }

    fn field(
        &mut self,
        opcode: Opcode,
        field: ConstantIndex,
        pool: &mut PoolEditor<'_>,
    ) -> Result<Option<()>, CodeError> {
        let descriptor = pool.member(field).map(|member| member.descriptor.to_vec());
        let Some(declared) = descriptor.as_deref().and_then(FieldType::parse) else {
            return Ok(None);
        };
        Ok(match opcode {
            Opcode::PutStatic => self.pop(declared.slots()),
            Opcode::PutField => self.pop(declared.slots() + 1),
            _ => {
                let owner = usize::from(opcode == Opcode::GetField);
                let value = type_of(declared, pool)?;
                self.pop(owner).and_then(|()| self.push(value))
            }
        })
    }

    fn invoke(
        &mut self,
        opcode: Opcode,
        method: ConstantIndex,
        code: &CodeEditor,
        pool: &mut PoolEditor<'_>,
    ) -> Result<Option<()>, CodeError> {
        let Some(member) = pool.member(method) else {
            return Ok(None);
        };
        let is_constructor = member.name == b"<init>";
        let descriptor = member.descriptor.to_vec();
        let arguments = MethodDescriptor::parse(&descriptor).map(|d| d.parameter_slots());
        if opcode != Opcode::InvokeStatic {
            let receiver = arguments
                .and_then(|arguments| self.stack.len().checked_sub(arguments + 1))
                .map(|index| (index, self.stack[index]));
            let Some((index, receiver)) = receiver else {
                return Ok(None);
            };
            if is_constructor && self.initialize(receiver, code).is_none() {
                return Ok(None);
            }
            self.stack.remove(index);
        }
        self.call(Some(descriptor), pool)
    }

    /// A constructor ran on `object`: wherever it is, it is initialized now.
    fn initialize(&mut self, object: Type, code: &CodeEditor) -> Option<()> {
        let class = match object {
            Type::UninitializedThis => code.context.this_class,
            Type::Uninitialized(new) => match code.instruction(new)? {
                Instruction::Type { opcode: Opcode::New, class } => *class,
                _ => return None,
            },
            _ => return None,
        };
        for entry in self.locals.iter_mut().chain(&mut self.stack) {
            if *entry == object {
                *entry = Type::Object(class);
            }
        }
        Some(())
    }

    fn call(
        &mut self,
        descriptor: Option<Vec<u8>>,
        pool: &mut PoolEditor<'_>,
    ) -> Result<Option<()>, CodeError> {
        let Some(descriptor) = descriptor.as_deref().and_then(MethodDescriptor::parse) else {
            return Ok(None);
        };
        let done = self.pop(descriptor.parameter_slots());
        Ok(match descriptor.result() {
            None => done,
            Some(result) => {
                let result = type_of(result, pool)?;
                done.and_then(|()| self.push(result))
            }
        })
    }

    fn type_instruction(
        &mut self,
        opcode: Opcode,
        class: ConstantIndex,
        node: NodeId,
        pool: &mut PoolEditor<'_>,
    ) -> Result<Option<()>, CodeError> {
        let result = match opcode {
            Opcode::New => return Ok(self.push(Type::Uninitialized(node))),
            Opcode::InstanceOf => Type::Integer,
            Opcode::CheckCast => Type::Object(class),
            _ => {
                let array = match pool.class_name(class) {
                    None => return Ok(None),
                    Some(name) if name.starts_with(b"[") => [b"[", name].concat(),
                    Some(name) => [b"[L", name, b";"].concat(),
                };
                Type::Object(pool.add_class(&array)?)
            }
        };
        Ok(self.pop(1).and_then(|()| self.push(result)))
    }
}

/// What `ldc` of a constant pushes; nothing if it cannot be loaded.
fn constant_type(
    constant: ConstantIndex,
    pool: &mut PoolEditor<'_>,
) -> Result<Option<Type>, CodeError> {
    let class: &[u8] = match pool.get(constant) {
        Some(Constant::Integer(_)) => return Ok(Some(Type::Integer)),
        Some(Constant::Float(_)) => return Ok(Some(Type::Float)),
        Some(Constant::Long(_)) => return Ok(Some(Type::Long)),
        Some(Constant::Double(_)) => return Ok(Some(Type::Double)),
        Some(Constant::String { .. }) => b"java/lang/String",
        Some(Constant::Class { .. }) => b"java/lang/Class",
        Some(Constant::MethodType { .. }) => b"java/lang/invoke/MethodType",
        Some(Constant::MethodHandle { .. }) => b"java/lang/invoke/MethodHandle",
        Some(Constant::Dynamic { name_and_type, .. }) => {
            let descriptor = pool.name_and_type(name_and_type).map(|(_, d)| d.to_vec());
            return match descriptor.as_deref().and_then(FieldType::parse) {
                Some(declared) => type_of(declared, pool).map(Some),
                None => Ok(None),
            };
        }
        _ => return Ok(None),
    };
    Ok(Some(Type::Object(pool.add_class(class)?)))
}

fn spread(entries: &[Type]) -> Vec<Type> {
    let mut slots = Vec::with_capacity(entries.len());
    for &entry in entries {
        slots.push(entry);
        if entry.slots() == 2 {
            slots.push(Type::Top);
        }
    }
    slots
}

fn gather(slots: &[Type]) -> Vec<Type> {
    let mut entries = Vec::with_capacity(slots.len());
    let mut rest = slots.iter();
    while let Some(&entry) = rest.next() {
        entries.push(entry);
        if entry.slots() == 2 {
            rest.next();
        }
    }
    entries
}
