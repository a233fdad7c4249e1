use crate::read::attribute::line_numbers;
use crate::read::{Attributes, ConstantPool, Cursor, LineNumber};
use crate::{ConstantIndex, Instruction, Opcode, Pc, Result};

/// The body of a method.
#[derive(Clone, Debug)]
pub struct Code<'a> {
    /// The highest number of words on the operand stack.
    pub max_stack: u16,
    /// The number of local variables, arguments included.
    pub max_locals: u16,
    /// The instructions.
    bytes: Cursor<'a>,
    /// The exception handlers; the first that fits is taken.
    pub handlers: Vec<ExceptionHandler>,
    /// Line numbers, local variables, frames and more.
    pub attributes: Attributes<'a>,
}

/// An entry of the exception table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExceptionHandler {
    /// The first instruction that is covered.
    pub start: Pc,
    /// The first instruction after those that are covered; may be the length of the code.
    pub end: Pc,
    /// Where the handler begins.
    pub handler: Pc,
    /// What is caught; nothing means everything.
    pub catch_type: Option<ConstantIndex>,
}

impl<'a> Code<'a> {
    pub(crate) fn read(mut body: Cursor<'a>) -> Result<Self> {
        let max_stack = body.u16("the size of the stack")?;
        let max_locals = body.u16("the number of local variables")?;
        let length = body.u32("the length of the code")? as usize;
        if length == 0 || length > usize::from(u16::MAX) {
            return Err(body.error("code of 1 to 65535 bytes"));
        }
        let bytes = body.split(length, "the whole code")?;
        let handlers = body.table("the exception handlers", |entry| {
            Ok(ExceptionHandler {
                start: Pc(entry.u16("the start of a handler's range")?),
                end: Pc(entry.u16("the end of a handler's range")?),
                handler: Pc(entry.u16("the start of a handler")?),
                catch_type: entry.optional_index("a catch type")?,
            })
        })?;
        let attributes = Attributes::read(&mut body)?;
        body.finish("the end of the code")?;
        Ok(Self { max_stack, max_locals, bytes, handlers, attributes })
    }

    /// The length of the instructions in bytes: 1 to 65535.
    pub fn length(&self) -> u16 {
        self.bytes.remaining() as u16
    }

    /// The bytes of the instructions.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes.rest()
    }

    /// Where the code lies in the file.
    pub fn offset(&self) -> usize {
        self.bytes.position()
    }

    /// The instructions one after the other. Jump targets lie inside the code; whether an instruction
    /// begins there is for the caller to see.
    pub fn instructions(&self) -> Instructions<'a> {
        Instructions { rest: self.bytes, start: self.bytes.position(), length: self.length() }
    }

    /// All line numbers, in the order of their tables.
    pub fn line_numbers(&self, pool: &ConstantPool<'a>) -> Result<Vec<LineNumber>> {
        let mut lines = Vec::new();
        for attribute in self.attributes.iter() {
            if pool.utf8(attribute.name)? == b"LineNumberTable" {
                let mut body = attribute.body;
                lines.extend(line_numbers(&mut body)?);
            }
        }
        Ok(lines)
    }
}

/// Decodes instructions one after the other; after an error it ends.
#[derive(Clone, Debug)]
pub struct Instructions<'a> {
    rest: Cursor<'a>,
    start: usize,
    length: u16,
}

impl Iterator for Instructions<'_> {
    type Item = Result<(Pc, Instruction<Pc>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.remaining() == 0 {
            return None;
        }
        let pc = Pc((self.rest.position() - self.start) as u16);
        let decoded = self.decode(pc);
        if let Err(error) = decoded {
            self.rest = Cursor::range(&[], 0..0).expect("an empty range is inside");
            return Some(Err(error));
        }
        Some(decoded.map(|instruction| (pc, instruction)))
    }
}

impl Instructions<'_> {
    fn decode(&mut self, pc: Pc) -> Result<Instruction<Pc>> {
        const OPERAND: &str = "the operand of an instruction";
        use Opcode::*;
        let opcode = self.opcode()?;
        let rest = &mut self.rest;
        Ok(match opcode {
            BiPush => Instruction::Push { opcode, value: i16::from(rest.u8(OPERAND)? as i8) },
            SiPush => Instruction::Push { opcode, value: rest.u16(OPERAND)? as i16 },
            Ldc => Instruction::LoadConstant {
                opcode,
                constant: ConstantIndex(u16::from(rest.u8(OPERAND)?)),
            },
            LdcW | Ldc2W => Instruction::LoadConstant { opcode, constant: rest.index(OPERAND)? },
            ILoad | LLoad | FLoad | DLoad | ALoad | IStore | LStore | FStore | DStore | AStore
            | Ret => Instruction::Local { opcode, local: u16::from(rest.u8(OPERAND)?) },
            _ if let Some((_, local)) = opcode.implied_local() => {
                Instruction::Local { opcode, local }
            }
            IInc => Instruction::Increment {
                local: u16::from(rest.u8(OPERAND)?),
                amount: i16::from(rest.u8(OPERAND)? as i8),
            },
            Goto | Jsr | IfNull | IfNonNull => self.short_jump(opcode, pc)?,
            _ if (IfEq..=IfACmpNe).contains(&opcode) => self.short_jump(opcode, pc)?,
            GotoW | JsrW => {
                let target = self.long_target(pc)?;
                Instruction::Jump { opcode, target }
            }
            TableSwitch => self.table_switch(pc)?,
            LookupSwitch => self.lookup_switch(pc)?,
            GetStatic | PutStatic | GetField | PutField => {
                Instruction::Field { opcode, field: rest.index(OPERAND)? }
            }
            InvokeVirtual | InvokeSpecial | InvokeStatic => {
                Instruction::Invoke { opcode, method: rest.index(OPERAND)? }
            }
            InvokeInterface => {
                let method = rest.index(OPERAND)?;
                rest.u16("the argument count and the zero of invokeinterface")?;
                Instruction::Invoke { opcode, method }
            }
            InvokeDynamic => {
                let call_site = rest.index(OPERAND)?;
                rest.u16("the two zeros of invokedynamic")?;
                Instruction::InvokeDynamic { call_site }
            }
            New | ANewArray | CheckCast | InstanceOf => {
                Instruction::Type { opcode, class: rest.index(OPERAND)? }
            }
            NewArray => match rest.u8(OPERAND)? {
                element @ 4..=11 => Instruction::NewArray { element },
                _ => return Err(rest.error("an element type from 4 to 11")),
            },
            MultiANewArray => Instruction::MultiNewArray {
                class: rest.index(OPERAND)?,
                dimensions: rest.u8(OPERAND)?,
            },
            Wide => match self.opcode()? {
                IInc => Instruction::Increment {
                    local: self.rest.u16(OPERAND)?,
                    amount: self.rest.u16(OPERAND)? as i16,
                },
                opcode @ (ILoad | LLoad | FLoad | DLoad | ALoad | IStore | LStore | FStore
                | DStore | AStore | Ret) => {
                    Instruction::Local { opcode, local: self.rest.u16(OPERAND)? }
                }
                _ => return Err(self.rest.error("an instruction that `wide` can widen")),
            },
            _ => Instruction::Plain(opcode),
        })
    }

    fn opcode(&mut self) -> Result<Opcode> {
        let error = self.rest.error("an instruction");
        Opcode::from_byte(self.rest.u8("an instruction")?).ok_or(error)
    }

    fn short_jump(&mut self, opcode: Opcode, pc: Pc) -> Result<Instruction<Pc>> {
        let distance = i32::from(self.rest.u16("a jump distance")? as i16);
        Ok(Instruction::Jump { opcode, target: self.target(pc, distance)? })
    }

    fn long_target(&mut self, pc: Pc) -> Result<Pc> {
        let distance = self.rest.u32("a jump distance")? as i32;
        self.target(pc, distance)
    }

    fn target(&self, pc: Pc, distance: i32) -> Result<Pc> {
        u16::try_from(i64::from(pc.0) + i64::from(distance))
            .ok()
            .filter(|&target| target < self.length)
            .map(Pc)
            .ok_or_else(|| self.rest.error("a jump target inside the code"))
    }

    fn skip_padding(&mut self, pc: Pc) -> Result<()> {
        let padding = 3 - usize::from(pc.0) % 4;
        self.rest.split(padding, "the padding of a switch").map(|_| ())
    }

    fn table_switch(&mut self, pc: Pc) -> Result<Instruction<Pc>> {
        self.skip_padding(pc)?;
        let default = self.long_target(pc)?;
        let low = self.rest.u32("the lowest key")? as i32;
        let high = self.rest.u32("the highest key")? as i32;
        let count = i64::from(high) - i64::from(low) + 1;
        if count < 1 || count > (self.rest.remaining() / 4) as i64 {
            return Err(self.rest.error("as many targets as there are keys"));
        }
        let targets = (0..count).map(|_| self.long_target(pc)).collect::<Result<_>>()?;
        Ok(Instruction::TableSwitch { default, low, targets })
    }

    fn lookup_switch(&mut self, pc: Pc) -> Result<Instruction<Pc>> {
        self.skip_padding(pc)?;
        let default = self.long_target(pc)?;
        let count = self.rest.u32("the number of cases")? as usize;
        if count > self.rest.remaining() / 8 {
            return Err(self.rest.error("as many cases as were announced"));
        }
        let cases = (0..count)
            .map(|_| Ok((self.rest.u32("a key")? as i32, self.long_target(pc)?)))
            .collect::<Result<_>>()?;
        Ok(Instruction::LookupSwitch { default, cases })
    }
}
