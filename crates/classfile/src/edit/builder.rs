//! A short way to write probes.

use crate::edit::{CodeEditor, LabelId, NodeId, PoolEditor, PoolError};
use crate::read::MemberKind;
use crate::{Instruction, Opcode, mutf8};

/// Writes instructions one after the other in front of a node, and makes the constants they need.
/// Names are text here, as probes are written by people; names from a class file go through
/// [`PoolEditor`] as bytes.
#[derive(Debug)]
pub struct Inserter<'e, 'a> {
    code: &'e mut CodeEditor,
    pool: &'e mut PoolEditor<'a>,
    before: NodeId,
}

impl CodeEditor {
    /// Writes in front of `node`, after its labels.
    pub fn before<'e, 'a>(
        &'e mut self,
        node: NodeId,
        pool: &'e mut PoolEditor<'a>,
    ) -> Inserter<'e, 'a> {
        Inserter { code: self, pool, before: node }
    }
}

impl Inserter<'_, '_> {
    /// Any instruction.
    pub fn instruction(&mut self, instruction: Instruction<LabelId>) -> &mut Self {
        self.code.insert_before(self.before, instruction);
        self
    }

    /// An instruction without operands.
    pub fn plain(&mut self, opcode: Opcode) -> &mut Self {
        self.instruction(Instruction::Plain(opcode))
    }

    /// A load or store; `opcode` is the long form, such as `aload`.
    pub fn local(&mut self, opcode: Opcode, local: u16) -> &mut Self {
        self.instruction(Instruction::local(opcode, local))
    }

    /// A jump.
    pub fn jump(&mut self, opcode: Opcode, target: LabelId) -> &mut Self {
        self.instruction(Instruction::Jump { opcode, target })
    }

    /// Pushes an `int` in the shortest way.
    pub fn int(&mut self, value: i32) -> Result<&mut Self, PoolError> {
        use Opcode::*;
        const SMALL: [Opcode; 7] = [IConstM1, IConst0, IConst1, IConst2, IConst3, IConst4, IConst5];
        Ok(match (value, i8::try_from(value), i16::try_from(value)) {
            (-1..=5, _, _) => self.plain(SMALL[(value + 1) as usize]),
            (_, Ok(byte), _) => {
                self.instruction(Instruction::Push { opcode: BiPush, value: byte.into() })
            }
            (_, _, Ok(value)) => self.instruction(Instruction::Push { opcode: SiPush, value }),
            _ => {
                let constant = self.pool.add_integer(value)?;
                self.instruction(Instruction::LoadConstant { opcode: Ldc, constant })
            }
        })
    }

    /// Pushes a `long`.
    pub fn long(&mut self, value: i64) -> Result<&mut Self, PoolError> {
        Ok(match value {
            0 => self.plain(Opcode::LConst0),
            1 => self.plain(Opcode::LConst1),
            _ => {
                let constant = self.pool.add_long(value)?;
                self.instruction(Instruction::LoadConstant { opcode: Opcode::Ldc2W, constant })
            }
        })
    }

    /// Pushes a string.
    pub fn string(&mut self, text: &str) -> Result<&mut Self, PoolError> {
        let constant = self.pool.add_string(&mutf8::from_str(text))?;
        Ok(self.instruction(Instruction::LoadConstant { opcode: Opcode::Ldc, constant }))
    }

    /// Pushes a class.
    pub fn class(&mut self, name: &str) -> Result<&mut Self, PoolError> {
        let constant = self.pool.add_class(&mutf8::from_str(name))?;
        Ok(self.instruction(Instruction::LoadConstant { opcode: Opcode::Ldc, constant }))
    }

    /// `new`, `anewarray`, `checkcast` or `instanceof`.
    pub fn type_instruction(&mut self, opcode: Opcode, name: &str) -> Result<&mut Self, PoolError> {
        let class = self.pool.add_class(&mutf8::from_str(name))?;
        Ok(self.instruction(Instruction::Type { opcode, class }))
    }

    /// `getstatic`, `putstatic`, `getfield` or `putfield`.
    pub fn field(
        &mut self,
        opcode: Opcode,
        class: &str,
        name: &str,
        descriptor: &str,
    ) -> Result<&mut Self, PoolError> {
        let field = self.member(MemberKind::Field, class, name, descriptor)?;
        Ok(self.instruction(Instruction::Field { opcode, field }))
    }

    /// Calls a static method of a class.
    pub fn invoke_static(
        &mut self,
        class: &str,
        name: &str,
        descriptor: &str,
    ) -> Result<&mut Self, PoolError> {
        self.invoke(Opcode::InvokeStatic, MemberKind::Method, class, name, descriptor)
    }

    /// Calls a virtual method of a class.
    pub fn invoke_virtual(
        &mut self,
        class: &str,
        name: &str,
        descriptor: &str,
    ) -> Result<&mut Self, PoolError> {
        self.invoke(Opcode::InvokeVirtual, MemberKind::Method, class, name, descriptor)
    }

    /// Calls a method in any way; `kind` says whether it is declared in an interface.
    pub fn invoke(
        &mut self,
        opcode: Opcode,
        kind: MemberKind,
        class: &str,
        name: &str,
        descriptor: &str,
    ) -> Result<&mut Self, PoolError> {
        let method = self.member(kind, class, name, descriptor)?;
        Ok(self.instruction(Instruction::Invoke { opcode, method }))
    }

    fn member(
        &mut self,
        kind: MemberKind,
        class: &str,
        name: &str,
        descriptor: &str,
    ) -> Result<crate::ConstantIndex, PoolError> {
        let [class, name, descriptor] = [class, name, descriptor].map(mutf8::from_str);
        self.pool.add_member(kind, &class, &name, &descriptor)
    }
}
