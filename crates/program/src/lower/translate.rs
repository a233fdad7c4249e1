//! The instructions of each block, run on a symbolic operand stack.

use smallvec::{SmallVec, smallvec};
use unsnarl_classfile::read::{Code, Constant as PoolConstant, Member};
use unsnarl_classfile::{ConstantIndex, FieldType, Instruction, Opcode, Pc, flags};
use unsnarl_entity::{EntityId, PrimaryMap, SecondaryMap};

use super::control_flow::ControlFlow;
use super::variables::Variables;
use super::{ClassContext, Lambda, LowerError, Lowered, Result};
use crate::body::{BlockId, Constant, InvokeKind, Operation, Statement, Value, Values};
use crate::names::{Names, Type, TypeId};

pub(super) fn translate(
    context: ClassContext<'_, '_>,
    method_index: usize,
    method: &Member<'_>,
    code: &Code<'_>,
    flow: &ControlFlow,
    names: &mut Names,
) -> Result<Lowered> {
    let variables = usize::from(code.max_locals) + usize::from(code.max_stack);
    let mut translator = Translator {
        context,
        method_index,
        max_locals: code.max_locals,
        max_stack: code.max_stack,
        flow,
        lines: line_of_each(context, code, flow)?,
        names,
        types: PrimaryMap::new(),
        variables: Variables::new(flow.blocks.len(), variables),
        statements: Vec::with_capacity(flow.instructions.len()),
        block_starts: Vec::with_capacity(flow.blocks.len()),
        shapes: SecondaryMap::new(),
        stack: Vec::new(),
        block: BlockId::from_index(0),
        pc: Pc(0),
        line: 0,
        lambdas: Vec::new(),
    };
    translator.parameters(method)?;
    for block in flow.blocks.keys() {
        translator.block(block)?;
    }
    translator.finish()
}

pub(super) struct Translator<'t, 'c, 'a> {
    pub(super) context: ClassContext<'c, 'a>,
    pub(super) method_index: usize,
    pub(super) max_locals: u16,
    pub(super) max_stack: u16,
    pub(super) flow: &'t ControlFlow,
    /// The source line of each instruction.
    pub(super) lines: Vec<u16>,
    pub(super) names: &'t mut Names,
    pub(super) types: PrimaryMap<Value, TypeId>,
    pub(super) variables: Variables,
    /// Without phis, in the order of the blocks.
    pub(super) statements: Vec<Statement>,
    pub(super) block_starts: Vec<usize>,
    /// The types on the operand stack at the entry of a block, once one way to it is known.
    pub(super) shapes: SecondaryMap<BlockId, Option<Box<[TypeId]>>>,
    pub(super) stack: Vec<Value>,
    pub(super) block: BlockId,
    pub(super) pc: Pc,
    pub(super) line: u16,
    pub(super) lambdas: Vec<Lambda>,
}

/// The line of each instruction; the last entry that begins at or before it counts.
fn line_of_each(
    context: ClassContext<'_, '_>,
    code: &Code<'_>,
    flow: &ControlFlow,
) -> Result<Vec<u16>> {
    let mut table = code.line_numbers(&context.class.pool)?;
    table.sort_by_key(|entry| entry.start);
    let mut entries = table.iter().peekable();
    let mut line = 0;
    let line_at = |&(pc, _): &(Pc, Instruction<Pc>)| {
        while let Some(entry) = entries.next_if(|entry| entry.start <= pc) {
            line = entry.line;
        }
        line
    };
    Ok(flow.instructions.iter().map(line_at).collect())
}

impl Translator<'_, '_, '_> {
    pub(super) fn error<T>(&self, expected: &'static str) -> Result<T> {
        Err(LowerError::code(self.pc, expected))
    }

    fn parameters(&mut self, method: &Member<'_>) -> Result<()> {
        let descriptor = self.context.class.member_descriptor(method);
        let Some(signature) = self.names.signature(descriptor) else {
            return self.error("a valid method descriptor");
        };
        let mut types: SmallVec<[TypeId; 8]> = SmallVec::new();
        if method.access & flags::STATIC == 0 {
            types.push(self.names.type_id(Type::Class(self.context.name)));
        }
        types.extend(self.names.signature_data(signature).parameters.iter().copied());
        let mut local = 0;
        self.line = self.lines[0];
        for (number, ty) in types.into_iter().enumerate() {
            let width = if self.names.is_wide(ty) { 2 } else { 1 };
            if local + width > usize::from(self.max_locals) {
                return self.error("local variables for all arguments");
            }
            let value = self.emit(ty, Operation::Parameter(number as u16));
            self.variables.assign_at_start(self.block, local, value);
            local += width;
        }
        Ok(())
    }

    fn block(&mut self, block: BlockId) -> Result<()> {
        self.block = block;
        // The parameters stand before the first block's own statements.
        let start = if block.index() == 0 { 0 } else { self.statements.len() };
        self.block_starts.push(start);
        let flow_block = &self.flow.blocks[block];
        self.at_instruction(flow_block.first);
        self.enter(block)?;
        for index in flow_block.first..flow_block.end {
            self.at_instruction(index);
            self.instruction(&self.flow.instructions[index].1)?;
        }
        let ended = self.statements[start..]
            .last()
            .is_some_and(|statement| statement.operation.is_terminator());
        if !ended {
            let &[next] = flow_block.successors.as_slice() else {
                return self.error("an instruction that ends the block");
            };
            self.perform(Operation::Goto(next));
        }
        self.leave(block)
    }

    fn at_instruction(&mut self, index: usize) {
        self.pc = self.flow.instructions[index].0;
        self.line = self.lines[index];
    }

    /// Sets the operand stack up.
    fn enter(&mut self, block: BlockId) -> Result<()> {
        self.stack.clear();
        if let Some(catches) = &self.flow.blocks[block].catches {
            let pool = &self.context.class.pool;
            let mut types: SmallVec<[TypeId; 1]> = SmallVec::new();
            for &class in catches {
                match self.names.class_constant(pool.class_name(class)?) {
                    Some(ty) => types.push(ty),
                    None => return self.error("a class to catch"),
                }
            }
            let ty = match types.as_slice() {
                &[ty] => ty,
                _ => self.names.known.throwable,
            };
            let exception = self.emit(ty, Operation::Catch(types));
            return self.push(exception);
        }
        let shape = self.shapes[block].take().unwrap_or_default();
        for (depth, &ty) in shape.iter().enumerate() {
            let variable = usize::from(self.max_locals) + depth;
            let value = self.read_variable(variable, ty)?;
            self.stack.push(value);
        }
        self.shapes[block] = Some(shape);
        Ok(())
    }

    /// Leaves the operand stack for the successors.
    fn leave(&mut self, block: BlockId) -> Result<()> {
        for depth in 0..self.stack.len() {
            let variable = usize::from(self.max_locals) + depth;
            self.variables.assign(block, variable, self.stack[depth]);
        }
        let flow: &ControlFlow = self.flow;
        for &successor in &flow.blocks[block].successors {
            match &self.shapes[successor] {
                None => {
                    let shape = self.stack.iter().map(|&value| self.types[value]).collect();
                    self.shapes[successor] = Some(shape);
                }
                Some(shape) => {
                    let same = shape.len() == self.stack.len()
                        && shape.iter().zip(&self.stack).all(|(&ty, &value)| {
                            self.names.is_wide(ty) == self.names.is_wide(self.types[value])
                        });
                    if !same {
                        return self.error("the same operand stack on all ways to a block");
                    }
                }
            }
        }
        Ok(())
    }

    fn read_variable(&mut self, variable: usize, ty: TypeId) -> Result<Value> {
        let types = &mut self.types;
        self.variables.read(self.flow, self.block, variable, || types.push(ty))
    }

    // The operand stack.

    pub(super) fn push(&mut self, value: Value) -> Result<()> {
        if self.stack.len() == usize::from(self.max_stack) {
            return self.error("an operand stack within its limit");
        }
        self.stack.push(value);
        Ok(())
    }

    fn pop(&mut self) -> Result<Value> {
        match self.stack.pop() {
            Some(value) => Ok(value),
            None => self.error("a value on the operand stack"),
        }
    }

    /// Takes the values of the topmost one or two words, lowest first.
    fn pop_words(&mut self, words: usize) -> Result<SmallVec<[Value; 2]>> {
        let mut values = SmallVec::new();
        let mut taken = 0;
        while taken < words {
            let value = self.pop()?;
            taken += if self.names.is_wide(self.types[value]) { 2 } else { 1 };
            values.insert(0, value);
        }
        if taken > words {
            return self.error("whole values on the operand stack");
        }
        Ok(values)
    }

    /// `dup` and its kin: a copy of the topmost `words` goes below the `below` words under them.
    fn duplicate(&mut self, words: usize, below: usize) -> Result<()> {
        let top = self.pop_words(words)?;
        let under = self.pop_words(below)?;
        for value in top.iter().chain(&under).chain(&top) {
            self.push(*value)?;
        }
        Ok(())
    }

    // Statements.

    /// A statement with a result.
    pub(super) fn emit(&mut self, ty: TypeId, operation: Operation) -> Value {
        let value = self.types.push(ty);
        let (pc, line) = (self.pc, self.line);
        self.statements.push(Statement { pc, line, result: Some(value), operation });
        value
    }

    /// A statement without a result.
    pub(super) fn perform(&mut self, operation: Operation) {
        let (pc, line) = (self.pc, self.line);
        self.statements.push(Statement { pc, line, result: None, operation });
    }

    pub(super) fn push_new(&mut self, ty: TypeId, operation: Operation) -> Result<()> {
        let value = self.emit(ty, operation);
        self.push(value)
    }

    fn constant(&mut self, ty: TypeId, constant: Constant) -> Result<()> {
        self.push_new(ty, Operation::Constant(constant))
    }

    /// Takes the arguments of a call, `this` first if there is one.
    pub(super) fn arguments(&mut self, count: usize) -> Result<Values> {
        let Some(first) = self.stack.len().checked_sub(count) else {
            return self.error("all arguments on the operand stack");
        };
        Ok(self.stack.drain(first..).collect())
    }

    fn instruction(&mut self, instruction: &Instruction<Pc>) -> Result<()> {
        use Opcode::*;
        let known = self.names.known;
        let successors = self.flow.blocks[self.block].successors.as_slice();
        match instruction {
            Instruction::Plain(opcode) => return self.plain(*opcode),
            Instruction::Push { value, .. } => {
                return self.constant(known.int, Constant::Int(i32::from(*value)));
            }
            Instruction::LoadConstant { constant, .. } => return self.load_constant(*constant),
            Instruction::Local { opcode: Ret, .. } => self.perform(Operation::Goto(successors[0])),
            Instruction::Local { opcode, local } => return self.local(*opcode, *local),
            Instruction::Increment { local, amount } => {
                let old = self.read_local(*local, known.int)?;
                let amount = Operation::Constant(Constant::Int(i32::from(*amount)));
                let amount = self.emit(known.int, amount);
                let operands = smallvec![old, amount];
                let new = self.emit(known.int, Operation::Compute { opcode: IAdd, operands });
                self.variables.assign(self.block, usize::from(*local), new);
            }
            Instruction::Jump { opcode: Goto | GotoW, .. } => {
                self.perform(Operation::Goto(successors[0]));
            }
            Instruction::Jump { opcode: Jsr | JsrW, .. } => {
                self.constant(known.return_address, Constant::ReturnAddress)?;
                self.perform(Operation::Goto(successors[0]));
            }
            Instruction::Jump { opcode, .. } => {
                let right = match opcode {
                    IfICmpEq | IfICmpNe | IfICmpLt | IfICmpGe | IfICmpGt | IfICmpLe | IfACmpEq
                    | IfACmpNe => Some(self.pop()?),
                    _ => None,
                };
                let left = self.pop()?;
                let (then, otherwise) = (successors[0], successors[1]);
                let opcode = *opcode;
                self.perform(Operation::Branch { opcode, left, right, then, otherwise });
            }
            Instruction::TableSwitch { low, .. } => {
                let value = self.pop()?;
                let keys = (i64::from(*low)..).map(|key| key as i32);
                let cases = keys.zip(successors[1..].iter().copied()).collect();
                self.perform(Operation::Switch { value, cases, default: successors[0] });
            }
            Instruction::LookupSwitch { cases, .. } => {
                let value = self.pop()?;
                let keys = cases.iter().map(|&(key, _)| key);
                let cases = keys.zip(successors[1..].iter().copied()).collect();
                self.perform(Operation::Switch { value, cases, default: successors[0] });
            }
            Instruction::Field { opcode, field } => return self.field(*opcode, *field),
            Instruction::Invoke { opcode, method } => return self.invoke(*opcode, *method),
            Instruction::InvokeDynamic { call_site } => return self.invoke_dynamic(*call_site),
            Instruction::Type { opcode, class } => {
                let ty = self.class_type(*class)?;
                match opcode {
                    New => return self.push_new(ty, Operation::New(ty)),
                    CheckCast => {
                        let value = self.pop()?;
                        return self.push_new(ty, Operation::Cast { ty, value });
                    }
                    InstanceOf => {
                        let value = self.pop()?;
                        return self.push_new(known.int, Operation::InstanceOf { ty, value });
                    }
                    _ => {
                        let ty = self.names.type_id(Type::Array(ty));
                        let lengths = smallvec![self.pop()?];
                        return self.push_new(ty, Operation::NewArray { ty, lengths });
                    }
                }
            }
            Instruction::NewArray { element } => {
                let element = FieldType::parse(match element {
                    4 => b"Z",
                    5 => b"C",
                    6 => b"F",
                    7 => b"D",
                    8 => b"B",
                    9 => b"S",
                    10 => b"I",
                    _ => b"J",
                });
                let element = self.names.field_type(element.expect("a primitive type"));
                let ty = self.names.type_id(Type::Array(element));
                let lengths = smallvec![self.pop()?];
                return self.push_new(ty, Operation::NewArray { ty, lengths });
            }
            Instruction::MultiNewArray { class, dimensions } => {
                let ty = self.class_type(*class)?;
                let lengths = self.arguments(usize::from(*dimensions))?;
                return self.push_new(ty, Operation::NewArray { ty, lengths });
            }
        }
        Ok(())
    }

    fn class_type(&mut self, class: ConstantIndex) -> Result<TypeId> {
        let name = self.context.class.pool.class_name(class)?;
        match self.names.class_constant(name) {
            Some(ty) => Ok(ty),
            None => self.error("the name of a class or the descriptor of an array"),
        }
    }

    fn load_constant(&mut self, index: ConstantIndex) -> Result<()> {
        let pool = &self.context.class.pool;
        let known = self.names.known;
        let (ty, constant) = match pool.get(index)? {
            PoolConstant::Integer(value) => (known.int, Constant::Int(value)),
            PoolConstant::Float(bits) => (known.float, Constant::Float(bits)),
            PoolConstant::Long(value) => (known.long, Constant::Long(value)),
            PoolConstant::Double(bits) => (known.double, Constant::Double(bits)),
            PoolConstant::String { value } => {
                let text = self.names.symbol(pool.utf8(value)?);
                (known.string, Constant::String(text))
            }
            PoolConstant::Class { .. } => (known.class, Constant::Class(self.class_type(index)?)),
            PoolConstant::MethodType { descriptor } => {
                let descriptor = self.names.symbol(pool.utf8(descriptor)?);
                (known.method_type, Constant::MethodType(descriptor))
            }
            PoolConstant::MethodHandle { .. } => {
                let handle = pool.method_handle(index)?;
                let method = self.names.method_ref(&handle.member);
                (known.method_handle, Constant::MethodHandle { kind: handle.kind, method })
            }
            PoolConstant::Dynamic { .. } => {
                let (bootstrap, name, descriptor) = pool.dynamic_constant(index)?;
                let (bootstrap, _) = self.bootstrap(bootstrap)?;
                let Some(ty) = FieldType::parse(descriptor) else {
                    return self.error("the type of a dynamic constant");
                };
                let name = self.names.symbol(name);
                (self.names.field_type(ty), Constant::Dynamic { name, bootstrap })
            }
            _ => return self.error("a constant that can be loaded"),
        };
        self.constant(ty, constant)
    }

    fn read_local(&mut self, local: u16, ty: TypeId) -> Result<Value> {
        if local >= self.max_locals {
            return self.error("a local variable within the limit");
        }
        self.read_variable(usize::from(local), ty)
    }

    fn local(&mut self, opcode: Opcode, local: u16) -> Result<()> {
        use Opcode::*;
        let known = self.names.known;
        let loaded = match opcode {
            ILoad | ILoad0 | ILoad1 | ILoad2 | ILoad3 => known.int,
            LLoad | LLoad0 | LLoad1 | LLoad2 | LLoad3 => known.long,
            FLoad | FLoad0 | FLoad1 | FLoad2 | FLoad3 => known.float,
            DLoad | DLoad0 | DLoad1 | DLoad2 | DLoad3 => known.double,
            ALoad | ALoad0 | ALoad1 | ALoad2 | ALoad3 => known.object,
            _ => {
                let value = self.pop()?;
                if local >= self.max_locals {
                    return self.error("a local variable within the limit");
                }
                self.variables.assign(self.block, usize::from(local), value);
                return Ok(());
            }
        };
        let value = self.read_local(local, loaded)?;
        if self.names.is_wide(self.types[value]) != self.names.is_wide(loaded) {
            return self.error("a local variable of the type that is loaded");
        }
        self.push(value)
    }

    fn field(&mut self, opcode: Opcode, index: ConstantIndex) -> Result<()> {
        let member = self.context.class.pool.member(index)?;
        let Some(field) = self.names.field_ref(&member) else {
            return self.error("a field reference with a valid descriptor");
        };
        let ty = self.names.field_ref_data(field).ty;
        match opcode {
            Opcode::GetStatic => return self.push_new(ty, Operation::GetStatic { field }),
            Opcode::PutStatic => {
                let value = self.pop()?;
                self.perform(Operation::PutStatic { field, value });
            }
            Opcode::GetField => {
                let object = self.pop()?;
                return self.push_new(ty, Operation::GetField { object, field });
            }
            _ => {
                let value = self.pop()?;
                let object = self.pop()?;
                self.perform(Operation::PutField { object, field, value });
            }
        }
        Ok(())
    }

    fn invoke(&mut self, opcode: Opcode, index: ConstantIndex) -> Result<()> {
        let kind = match opcode {
            Opcode::InvokeVirtual => InvokeKind::Virtual,
            Opcode::InvokeSpecial => InvokeKind::Special,
            Opcode::InvokeStatic => InvokeKind::Static,
            _ => InvokeKind::Interface,
        };
        let member = self.context.class.pool.member(index)?;
        let Some(method) = self.names.method_ref(&member) else {
            return self.error("a method reference with a valid descriptor");
        };
        let signature = self.names.method_ref_data(method).signature;
        let signature = self.names.signature_data(signature);
        let (count, result) = (signature.parameters.len(), signature.result);
        let arguments = self.arguments(count + usize::from(kind != InvokeKind::Static))?;
        let operation = Operation::Invoke { kind, method, arguments };
        self.finish_call(result, operation)
    }

    pub(super) fn finish_call(&mut self, result: Option<TypeId>, call: Operation) -> Result<()> {
        match result {
            Some(ty) => self.push_new(ty, call),
            None => {
                self.perform(call);
                Ok(())
            }
        }
    }

    fn plain(&mut self, opcode: Opcode) -> Result<()> {
        use Opcode::*;
        let known = self.names.known;
        let number = opcode.byte();
        // Where the types of a group come in the order int, long, float, double.
        let typed = |first: Opcode| {
            [known.int, known.long, known.float, known.double]
                [usize::from(number - first.byte()) % 4]
        };
        // Where the types of a group alternate between int and long.
        let int_or_long =
            |first: Opcode| [known.int, known.long][usize::from(number - first.byte()) % 2];
        match opcode {
            Nop => {}
            AConstNull => self.constant(known.null, Constant::Null)?,
            IConstM1 | IConst0 | IConst1 | IConst2 | IConst3 | IConst4 | IConst5 => {
                let value = i32::from(number) - i32::from(IConst0.byte());
                self.constant(known.int, Constant::Int(value))?;
            }
            LConst0 | LConst1 => {
                self.constant(known.long, Constant::Long(i64::from(number - LConst0.byte())))?;
            }
            FConst0 | FConst1 | FConst2 => {
                let bits = f32::from(number - FConst0.byte()).to_bits();
                self.constant(known.float, Constant::Float(bits))?;
            }
            DConst0 | DConst1 => {
                let bits = f64::from(number - DConst0.byte()).to_bits();
                self.constant(known.double, Constant::Double(bits))?;
            }
            IALoad | LALoad | FALoad | DALoad | AALoad | BALoad | CALoad | SALoad => {
                let index = self.pop()?;
                let array = self.pop()?;
                let ty = match opcode {
                    LALoad => known.long,
                    FALoad => known.float,
                    DALoad => known.double,
                    AALoad => self.element_type(self.types[array]),
                    _ => known.int,
                };
                self.push_new(ty, Operation::ArrayLoad { array, index })?;
            }
            IAStore | LAStore | FAStore | DAStore | AAStore | BAStore | CAStore | SAStore => {
                let value = self.pop()?;
                let index = self.pop()?;
                let array = self.pop()?;
                self.perform(Operation::ArrayStore { array, index, value });
            }
            Pop => drop(self.pop_words(1)?),
            Pop2 => drop(self.pop_words(2)?),
            Dup => self.duplicate(1, 0)?,
            DupX1 => self.duplicate(1, 1)?,
            DupX2 => self.duplicate(1, 2)?,
            Dup2 => self.duplicate(2, 0)?,
            Dup2X1 => self.duplicate(2, 1)?,
            Dup2X2 => self.duplicate(2, 2)?,
            Swap => {
                let top = self.pop_words(1)?;
                let under = self.pop_words(1)?;
                self.stack.extend(top.into_iter().chain(under));
            }
            IAdd | LAdd | FAdd | DAdd | ISub | LSub | FSub | DSub | IMul | LMul | FMul | DMul
            | IDiv | LDiv | FDiv | DDiv | IRem | LRem | FRem | DRem => {
                self.compute(opcode, 2, typed(IAdd))?;
            }
            INeg | LNeg | FNeg | DNeg => self.compute(opcode, 1, typed(INeg))?,
            IShl | LShl | IShr | LShr | IUshr | LUshr | IAnd | LAnd | IOr | LOr | IXor | LXor => {
                self.compute(opcode, 2, int_or_long(IShl))?;
            }
            L2I | F2I | D2I | I2B | I2C | I2S => self.compute(opcode, 1, known.int)?,
            I2L | F2L | D2L => self.compute(opcode, 1, known.long)?,
            I2F | L2F | D2F => self.compute(opcode, 1, known.float)?,
            I2D | L2D | F2D => self.compute(opcode, 1, known.double)?,
            LCmp | FCmpL | FCmpG | DCmpL | DCmpG => self.compute(opcode, 2, known.int)?,
            ArrayLength => {
                let array = self.pop()?;
                self.push_new(known.int, Operation::ArrayLength(array))?;
            }
            IReturn | LReturn | FReturn | DReturn | AReturn => {
                let value = self.pop()?;
                self.perform(Operation::Return(Some(value)));
            }
            Return => self.perform(Operation::Return(None)),
            AThrow => {
                let exception = self.pop()?;
                self.perform(Operation::Throw(exception));
            }
            MonitorEnter => {
                let object = self.pop()?;
                self.perform(Operation::MonitorEnter(object));
            }
            MonitorExit => {
                let object = self.pop()?;
                self.perform(Operation::MonitorExit(object));
            }
            _ => return self.error("an instruction without operands"),
        }
        Ok(())
    }

    fn compute(&mut self, opcode: Opcode, operands: usize, ty: TypeId) -> Result<()> {
        let operands = self.arguments(operands)?;
        self.push_new(ty, Operation::Compute { opcode, operands })
    }

    pub(super) fn element_type(&self, array: TypeId) -> TypeId {
        match self.names.ty(array) {
            Type::Array(element) => element,
            Type::Null => self.names.known.null,
            _ => self.names.known.object,
        }
    }
}
