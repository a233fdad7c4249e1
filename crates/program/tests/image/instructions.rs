//! What each instruction does to the operand stack, and which statement it must have become.

use unsnarl_classfile::read::{Constant as PoolConstant, MemberRef};
use unsnarl_classfile::{ConstantIndex, Instruction, MethodDescriptor, Opcode, Pc};
use unsnarl_program::body::{Constant, InvokeKind, Operation, Statement, Value};
use unsnarl_program::names::{FieldRefId, MethodRefId, Type, TypeId};

use crate::validate::{Equal, Run, Validator};

type Outcome = Result<(), String>;

impl<'v> Validator<'v> {
    pub(crate) fn instruction(&self, run: &mut Run<'v>, instruction: &Instruction<Pc>) -> Outcome {
        use Opcode::*;
        match instruction {
            Instruction::Plain(opcode) => self.plain(run, *opcode),
            Instruction::Push { value, .. } => {
                run.constant(Constant::Int(i32::from(*value)), false)
            }
            Instruction::LoadConstant { constant, .. } => self.load_constant(run, *constant),
            Instruction::Local { opcode: Ret, .. } => Err("a subroutine".to_owned()),
            Instruction::Local { opcode, local } => run.local(*opcode, usize::from(*local)),
            Instruction::Increment { local, amount } => {
                run.constant(Constant::Int(i32::from(*amount)), false)?;
                let (amount, _) = run.pop()?;
                let old = run.state.locals[usize::from(*local)].clone();
                run.computes(IAdd, &[(old, false), (amount, false)], false)?;
                run.state.locals[usize::from(*local)] = run.pop()?.0;
                Ok(())
            }
            Instruction::Jump { opcode: Goto | GotoW, .. } => {
                run.expect(|operation| matches!(operation, Operation::Goto(_))).map(|_| ())
            }
            Instruction::Jump { opcode, .. } => self.branch(run, *opcode),
            Instruction::TableSwitch { low, targets, .. } => {
                let keys = (i64::from(*low)..).map(|key| key as i32).take(targets.len());
                switch(run, keys.collect())
            }
            Instruction::LookupSwitch { cases, .. } => {
                switch(run, cases.iter().map(|&(key, _)| key).collect())
            }
            Instruction::Field { opcode, field } => self.field(run, *opcode, *field),
            Instruction::Invoke { opcode, method } => self.invoke(run, *opcode, *method),
            Instruction::InvokeDynamic { call_site } => self.invoke_dynamic(run, *call_site),
            Instruction::Type { opcode, class } => self.type_instruction(run, *opcode, *class),
            Instruction::NewArray { .. } => {
                let length = [run.pop()?];
                let of_one = |operation: &Operation| matches!(operation, Operation::NewArray { lengths, .. } if lengths.len() == 1);
                run.defines(&length, false, of_one)
            }
            Instruction::MultiNewArray { class, dimensions } => {
                let name = self.class.pool.class_name(*class).map_err(|e| e.to_string())?;
                let lengths = run.pop_many(usize::from(*dimensions))?;
                run.defines(&lengths, false, |operation| match operation {
                    Operation::NewArray { ty, .. } => self.is_class(*ty, name),
                    _ => false,
                })
            }
        }
    }

    fn branch(&self, run: &mut Run<'v>, opcode: Opcode) -> Outcome {
        use Opcode::*;
        let two = matches!(
            opcode,
            IfICmpEq | IfICmpNe | IfICmpLt | IfICmpGe | IfICmpGt | IfICmpLe | IfACmpEq | IfACmpNe
        );
        let operands = run.pop_many(if two { 2 } else { 1 })?;
        run.performs(&operands, |operation| match operation {
            Operation::Branch { opcode: found, right, .. } => {
                *found == opcode && right.is_some() == two
            }
            _ => false,
        })
    }

    fn load_constant(&self, run: &mut Run<'v>, index: ConstantIndex) -> Outcome {
        let constant = self.class.pool.get(index).map_err(|error| error.to_string())?;
        match constant {
            PoolConstant::Integer(value) => run.constant(Constant::Int(value), false),
            PoolConstant::Float(bits) => run.constant(Constant::Float(bits), false),
            PoolConstant::Long(value) => run.constant(Constant::Long(value), true),
            PoolConstant::Double(bits) => run.constant(Constant::Double(bits), true),
            PoolConstant::String { value } => {
                let text = self.class.pool.utf8(value).map_err(|error| error.to_string())?;
                run.defines(&[], false, |operation| match operation {
                    Operation::Constant(Constant::String(found)) => {
                        self.names.bytes(*found) == text
                    }
                    _ => false,
                })
            }
            PoolConstant::Class { .. } => {
                let name = self.class.pool.class_name(index).map_err(|error| error.to_string())?;
                run.defines(&[], false, |operation| match operation {
                    Operation::Constant(Constant::Class(ty)) => self.is_class(*ty, name),
                    _ => false,
                })
            }
            PoolConstant::Dynamic { .. } => {
                let (_, _, descriptor) =
                    self.class.pool.dynamic_constant(index).map_err(|error| error.to_string())?;
                run.defines(&[], matches!(descriptor, b"J" | b"D"), |operation| {
                    matches!(operation, Operation::Constant(Constant::Dynamic { .. }))
                })
            }
            _ => run.defines(&[], false, |operation| {
                use Constant::{MethodHandle, MethodType};
                matches!(operation, Operation::Constant(MethodHandle { .. } | MethodType(_)))
            }),
        }
    }

    fn field(&self, run: &mut Run<'v>, opcode: Opcode, index: ConstantIndex) -> Outcome {
        let member = self.class.pool.member(index).map_err(|error| error.to_string())?;
        let wide = is_wide(member.descriptor);
        let same = |field: FieldRefId| {
            let data = self.names.field_ref_data(field);
            self.names.bytes(data.class) == member.class
                && self.names.bytes(data.name) == member.name
        };
        match opcode {
            Opcode::GetStatic => run.defines(
                &[],
                wide,
                |operation| matches!(operation, Operation::GetStatic { field } if same(*field)),
            ),
            Opcode::GetField => {
                let object = [run.pop()?];
                run.defines(&object, wide, |operation| {
                    matches!(operation, Operation::GetField { field, .. } if same(*field))
                })
            }
            Opcode::PutStatic => {
                let value = [run.pop()?];
                run.performs(&value, |operation| {
                    matches!(operation, Operation::PutStatic { field, .. } if same(*field))
                })
            }
            _ => {
                let operands = run.pop_many(2)?;
                run.performs(&operands, |operation| {
                    matches!(operation, Operation::PutField { field, .. } if same(*field))
                })
            }
        }
    }

    fn invoke(&self, run: &mut Run<'v>, opcode: Opcode, index: ConstantIndex) -> Outcome {
        let member: MemberRef<'_> =
            self.class.pool.member(index).map_err(|error| error.to_string())?;
        let expected = match opcode {
            Opcode::InvokeVirtual => InvokeKind::Virtual,
            Opcode::InvokeSpecial => InvokeKind::Special,
            Opcode::InvokeStatic => InvokeKind::Static,
            _ => InvokeKind::Interface,
        };
        let same = |method: MethodRefId| {
            let data = self.names.method_ref_data(method);
            self.names.bytes(data.name) == member.name
                && self.names.bytes(data.descriptor) == member.descriptor
                && self.is_class(data.class, member.class)
        };
        let descriptor = MethodDescriptor::parse(member.descriptor).ok_or("a bad descriptor")?;
        let receiver = usize::from(expected != InvokeKind::Static);
        let arguments = run.pop_many(descriptor.parameters().count() + receiver)?;
        run.calls(member.descriptor, &arguments, |operation| match operation {
            Operation::Invoke { kind, method, .. } => *kind == expected && same(*method),
            _ => false,
        })
    }

    /// A lambda is an allocation and one assignment for each captured value.
    fn invoke_dynamic(&self, run: &mut Run<'v>, index: ConstantIndex) -> Outcome {
        let (_, _, descriptor) =
            self.class.pool.invoke_dynamic(index).map_err(|error| error.to_string())?;
        let parsed = MethodDescriptor::parse(descriptor).ok_or("a bad descriptor")?;
        let arguments = run.pop_many(parsed.parameters().count())?;
        if !matches!(run.peek().map(|next| &next.operation), Some(Operation::New(_))) {
            return run.calls(descriptor, &arguments, |operation| {
                matches!(operation, Operation::Pure { .. } | Operation::InvokeDynamic { .. })
            });
        }
        run.defines(&[], false, |operation| matches!(operation, Operation::New(_)))?;
        let object = run.pop()?;
        for argument in arguments {
            let operands = [object.clone(), argument];
            run.performs(&operands, |operation| matches!(operation, Operation::PutField { .. }))?;
        }
        run.state.stack.push(object);
        Ok(())
    }

    fn type_instruction(&self, run: &mut Run<'v>, opcode: Opcode, index: ConstantIndex) -> Outcome {
        let name = self.class.pool.class_name(index).map_err(|error| error.to_string())?;
        let operands = run.pop_many(if opcode == Opcode::New { 0 } else { 1 })?;
        run.defines(&operands, false, |operation| match (opcode, operation) {
            (Opcode::New, Operation::New(ty))
            | (Opcode::CheckCast, Operation::Cast { ty, .. })
            | (Opcode::InstanceOf, Operation::InstanceOf { ty, .. }) => self.is_class(*ty, name),
            (Opcode::ANewArray, Operation::NewArray { ty, .. }) => match self.names.ty(*ty) {
                Type::Array(element) => self.is_class(element, name),
                _ => false,
            },
            _ => false,
        })
    }

    fn is_class(&self, ty: TypeId, name: &[u8]) -> bool {
        match self.names.ty(ty) {
            Type::Class(found) => self.names.bytes(found) == name,
            Type::Array(element) => match name {
                [b'[', b'L', class @ .., b';'] => self.is_class(element, class),
                [b'[', rest @ ..] if rest.first() == Some(&b'[') => self.is_class(element, rest),
                [b'[', _] => matches!(self.names.ty(element), Type::Primitive(_)),
                _ => false,
            },
            _ => false,
        }
    }

    fn plain(&self, run: &mut Run<'v>, opcode: Opcode) -> Outcome {
        use Opcode::*;
        let number = opcode.byte();
        let nth = |first: Opcode| number - first.byte();
        match opcode {
            Nop => Ok(()),
            AConstNull => run.constant(Constant::Null, false),
            IConstM1 | IConst0 | IConst1 | IConst2 | IConst3 | IConst4 | IConst5 => {
                run.constant(Constant::Int(i32::from(nth(IConstM1)) - 1), false)
            }
            LConst0 | LConst1 => run.constant(Constant::Long(i64::from(nth(LConst0))), true),
            FConst0 | FConst1 | FConst2 => {
                run.constant(Constant::Float(f32::from(nth(FConst0)).to_bits()), false)
            }
            DConst0 | DConst1 => {
                run.constant(Constant::Double(f64::from(nth(DConst0)).to_bits()), true)
            }
            IALoad | LALoad | FALoad | DALoad | AALoad | BALoad | CALoad | SALoad => {
                let operands = run.pop_many(2)?;
                run.defines(&operands, matches!(opcode, LALoad | DALoad), |operation| {
                    matches!(operation, Operation::ArrayLoad { .. })
                })
            }
            IAStore | LAStore | FAStore | DAStore | AAStore | BAStore | CAStore | SAStore => {
                let operands = run.pop_many(3)?;
                run.performs(&operands, |operation| {
                    matches!(operation, Operation::ArrayStore { .. })
                })
            }
            Pop => run.rearrange(1, &[]),
            Pop2 => run.rearrange(2, &[]),
            Dup => run.rearrange(1, &[0, 0]),
            DupX1 => run.rearrange(2, &[1, 0, 1]),
            DupX2 => run.rearrange(3, &[2, 0, 1, 2]),
            Dup2 => run.rearrange(2, &[0, 1, 0, 1]),
            Dup2X1 => run.rearrange(3, &[1, 2, 0, 1, 2]),
            Dup2X2 => run.rearrange(4, &[2, 3, 0, 1, 2, 3]),
            Swap => run.rearrange(2, &[1, 0]),
            ArrayLength => {
                let array = [run.pop()?];
                run.defines(&array, false, |operation| {
                    matches!(operation, Operation::ArrayLength(_))
                })
            }
            IReturn | LReturn | FReturn | DReturn | AReturn => {
                let value = [run.pop()?];
                run.performs(&value, |operation| matches!(operation, Operation::Return(Some(_))))
            }
            Return => run.performs(&[], |operation| matches!(operation, Operation::Return(None))),
            AThrow => {
                let value = [run.pop()?];
                run.performs(&value, |operation| matches!(operation, Operation::Throw(_)))
            }
            MonitorEnter => {
                let object = [run.pop()?];
                run.performs(&object, |operation| matches!(operation, Operation::MonitorEnter(_)))
            }
            MonitorExit => {
                let object = [run.pop()?];
                run.performs(&object, |operation| matches!(operation, Operation::MonitorExit(_)))
            }
            INeg | LNeg | FNeg | DNeg | I2L | I2F | I2D | L2I | L2F | L2D | F2I | F2L | F2D
            | D2I | D2L | D2F | I2B | I2C | I2S => {
                let operands = run.pop_many(1)?;
                let wide = matches!(opcode, LNeg | DNeg | I2L | I2D | L2D | F2L | F2D | D2L);
                run.computes(opcode, &operands, wide)
            }
            LCmp | FCmpL | FCmpG | DCmpL | DCmpG => {
                let operands = run.pop_many(2)?;
                run.computes(opcode, &operands, false)
            }
            _ => {
                let operands = run.pop_many(2)?;
                let wide = operands[0].1;
                run.computes(opcode, &operands, wide)
            }
        }
    }
}

fn switch(run: &mut Run<'_>, keys: Vec<i32>) -> Outcome {
    let value = [run.pop()?];
    run.performs(&value, |operation| match operation {
        Operation::Switch { cases, .. } => cases.iter().map(|&(key, _)| key).eq(keys),
        _ => false,
    })
}

fn is_wide(descriptor: &[u8]) -> bool {
    matches!(descriptor, b"J" | b"D")
}

impl<'v> Run<'v> {
    fn pop(&mut self) -> Result<(Equal, bool), String> {
        self.state.stack.pop().ok_or_else(|| "an empty stack".to_owned())
    }

    fn pop_many(&mut self, count: usize) -> Result<Vec<(Equal, bool)>, String> {
        let first = self.state.stack.len().checked_sub(count).ok_or("a short stack")?;
        Ok(self.state.stack.drain(first..).collect())
    }

    /// Takes words from the stack and puts some of them back, by number, the lowest being 0. The two
    /// words of a wide value stay together.
    fn rearrange(&mut self, words: usize, order: &[usize]) -> Outcome {
        let mut taken: Vec<(Equal, bool)> = Vec::new();
        // The value that each word belongs to, and whether it is the second word.
        let mut layout: Vec<(usize, bool)> = Vec::new();
        while taken.iter().map(|(_, wide)| 1 + usize::from(*wide)).sum::<usize>() < words {
            taken.insert(0, self.pop()?);
        }
        for (number, (_, wide)) in taken.iter().enumerate() {
            layout.push((number, false));
            if *wide {
                layout.push((number, true));
            }
        }
        if layout.len() != words {
            return Err("half of a value".to_owned());
        }
        for &word in order {
            let (number, second) = layout[word];
            if !second {
                self.state.stack.push(taken[number].clone());
            }
        }
        Ok(())
    }

    fn local(&mut self, opcode: Opcode, local: usize) -> Outcome {
        use Opcode::*;
        let loads = opcode < IALoad;
        let wide = matches!(
            opcode,
            LLoad | LLoad0 | LLoad1 | LLoad2 | LLoad3 | DLoad | DLoad0 | DLoad1 | DLoad2 | DLoad3
        );
        if local >= self.state.locals.len() {
            return Err("no such variable".to_owned());
        }
        if loads {
            self.state.stack.push((self.state.locals[local].clone(), wide));
        } else {
            let (value, wide) = self.pop()?;
            self.state.locals[local] = value;
            if wide {
                self.state.locals[local + 1].clear();
            }
        }
        Ok(())
    }

    /// The statement of this instruction.
    fn expect(&mut self, fits: impl FnOnce(&Operation) -> bool) -> Result<&'v Statement, String> {
        let statement = self.take().ok_or("no statement")?;
        if statement.pc != self.pc || !fits(&statement.operation) {
            return Err(format!("it became {statement:?}"));
        }
        Ok(statement)
    }

    fn check_operands(&self, statement: &Statement, operands: &[(Equal, bool)]) -> Outcome {
        let found: Vec<Value> = statement.operation.operands().to_vec();
        let same = found.len() == operands.len()
            && found.iter().zip(operands).all(|(value, (equal, _))| equal.contains(value));
        match same {
            true => Ok(()),
            false => Err(format!("{statement:?} should have taken {operands:?}")),
        }
    }

    /// A statement without a result.
    fn performs(
        &mut self,
        operands: &[(Equal, bool)],
        fits: impl FnOnce(&Operation) -> bool,
    ) -> Outcome {
        let statement = self.expect(fits)?;
        if statement.result.is_some() {
            return Err(format!("{statement:?} should not have a result"));
        }
        self.check_operands(statement, operands)
    }

    /// A statement with a result, which goes to the stack.
    fn defines(
        &mut self,
        operands: &[(Equal, bool)],
        wide: bool,
        fits: impl FnOnce(&Operation) -> bool,
    ) -> Outcome {
        let statement = self.expect(fits)?;
        self.check_operands(statement, operands)?;
        let result = statement.result.ok_or("no result")?;
        self.forget(result);
        self.state.stack.push((Equal::from_elem(result, 1), wide));
        Ok(())
    }

    fn calls(
        &mut self,
        descriptor: &[u8],
        arguments: &[(Equal, bool)],
        fits: impl FnOnce(&Operation) -> bool,
    ) -> Outcome {
        match descriptor.rsplit(|&byte| byte == b')').next() {
            Some(b"V") => self.performs(arguments, fits),
            Some(result) => self.defines(arguments, is_wide(result), fits),
            None => Err("a bad descriptor".to_owned()),
        }
    }

    fn computes(&mut self, expected: Opcode, operands: &[(Equal, bool)], wide: bool) -> Outcome {
        self.defines(operands, wide, |operation| {
            matches!(operation, Operation::Compute { opcode, .. } if *opcode == expected)
        })
    }

    fn constant(&mut self, expected: Constant, wide: bool) -> Outcome {
        self.defines(
            &[],
            wide,
            |operation| matches!(operation, Operation::Constant(found) if *found == expected),
        )
    }
}
