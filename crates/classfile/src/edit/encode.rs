//! One instruction as bytes.

use crate::edit::layout::Layout;
use crate::edit::{CodeEditor, CodeError, LabelId, NodeId, PoolEditor, put_u16, put_u32};
use crate::{ConstantIndex, Instruction, MethodDescriptor, Opcode};

/// Whether a jump is written as it is given, or in the form that reaches farther: `goto_w`, `jsr_w`,
/// or the negated condition over a `goto_w`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Given,
    Widened,
}

/// The length of a widened conditional jump: the negated jump, then `goto_w`.
pub(crate) const WIDENED_CONDITION: u16 = 8;

/// How many bytes an instruction takes at this offset.
pub(crate) fn encoded_length(
    instruction: &Instruction<LabelId>,
    offset: usize,
    form: Form,
) -> usize {
    match instruction {
        Instruction::Plain(_) => 1,
        Instruction::Push { .. } if is_byte_push(instruction) => 2,
        Instruction::Push { .. } => 3,
        Instruction::LoadConstant { opcode: Opcode::Ldc, constant } if constant.0 < 256 => 2,
        Instruction::LoadConstant { .. } => 3,
        Instruction::Local { opcode, local } => match opcode.implied_local() {
            Some((_, implied)) if implied == *local => 1,
            _ if *local < 256 => 2,
            _ => 4,
        },
        Instruction::Increment { local, amount } => {
            if fits_short_increment(*local, *amount) {
                3
            } else {
                6
            }
        }
        Instruction::Jump { opcode, .. } => match (opcode, form) {
            (Opcode::GotoW | Opcode::JsrW, _) => 5,
            (_, Form::Given) => 3,
            (Opcode::Goto | Opcode::Jsr, Form::Widened) => 5,
            (_, Form::Widened) => usize::from(WIDENED_CONDITION),
        },
        Instruction::TableSwitch { targets, .. } => {
            1 + padding(offset) + 12 + targets.len().saturating_mul(4)
        }
        Instruction::LookupSwitch { cases, .. } => {
            1 + padding(offset) + 8 + cases.len().saturating_mul(8)
        }
        Instruction::Invoke { opcode: Opcode::InvokeInterface, .. }
        | Instruction::InvokeDynamic { .. } => 5,
        Instruction::Field { .. } | Instruction::Invoke { .. } | Instruction::Type { .. } => 3,
        Instruction::NewArray { .. } => 2,
        Instruction::MultiNewArray { .. } => 4,
    }
}

/// Appends the instruction of `node` to the code before it.
pub(crate) fn encode(
    out: &mut Vec<u8>,
    node: NodeId,
    instruction: &Instruction<LabelId>,
    code: &CodeEditor,
    layout: &Layout,
    pool: &PoolEditor<'_>,
) -> Result<(), CodeError> {
    if !instruction.is_well_formed() {
        return Err(CodeError::Malformed { node, opcode: instruction.opcode() });
    }
    match *instruction {
        Instruction::Plain(opcode) => out.push(opcode.byte()),
        Instruction::Push { value, .. } if is_byte_push(instruction) => {
            out.extend([Opcode::BiPush.byte(), value as u8]);
        }
        Instruction::Push { value, .. } => put_op_u16(out, Opcode::SiPush, value as u16),
        Instruction::LoadConstant { opcode: Opcode::Ldc, constant } if constant.0 < 256 => {
            out.extend([Opcode::Ldc.byte(), constant.0 as u8]);
        }
        Instruction::LoadConstant { opcode, constant } => {
            let opcode = if opcode == Opcode::Ldc { Opcode::LdcW } else { opcode };
            put_op_u16(out, opcode, constant.0);
        }
        Instruction::Local { opcode, local } => local_access(out, opcode, local),
        Instruction::Increment { local, amount } => {
            if fits_short_increment(local, amount) {
                out.extend([Opcode::IInc.byte(), local as u8, amount as u8]);
            } else {
                out.extend([Opcode::Wide.byte(), Opcode::IInc.byte()]);
                put_u16(out, local);
                put_u16(out, amount as u16);
            }
        }
        Instruction::Jump { opcode, target } => jump(out, node, opcode, target, code, layout)?,
        Instruction::TableSwitch { default, low, ref targets } => {
            let high = i32::try_from(i64::from(low) + targets.len() as i64 - 1)
                .ok()
                .filter(|&high| high >= low)
                .ok_or(CodeError::SwitchKeys(node))?;
            switch_start(out, Opcode::TableSwitch);
            put_target(out, node, default, code, layout)?;
            put_u32(out, low as u32);
            put_u32(out, high as u32);
            for &target in targets {
                put_target(out, node, target, code, layout)?;
            }
        }
        Instruction::LookupSwitch { default, ref cases } => {
            switch_start(out, Opcode::LookupSwitch);
            put_target(out, node, default, code, layout)?;
            put_u32(out, cases.len() as u32);
            for &(key, target) in cases {
                put_u32(out, key as u32);
                put_target(out, node, target, code, layout)?;
            }
        }
        Instruction::Field { opcode, field } => put_op_u16(out, opcode, field.0),
        Instruction::Invoke { opcode, method } => {
            put_op_u16(out, opcode, method.0);
            if opcode == Opcode::InvokeInterface {
                out.extend([argument_words(pool, method)?, 0]);
            }
        }
        Instruction::InvokeDynamic { call_site } => {
            put_op_u16(out, Opcode::InvokeDynamic, call_site.0);
            out.extend([0, 0]);
        }
        Instruction::Type { opcode, class } => put_op_u16(out, opcode, class.0),
        Instruction::NewArray { element } => out.extend([Opcode::NewArray.byte(), element]),
        Instruction::MultiNewArray { class, dimensions } => {
            put_op_u16(out, Opcode::MultiANewArray, class.0);
            out.push(dimensions);
        }
    }
    Ok(())
}

fn is_byte_push(instruction: &Instruction<LabelId>) -> bool {
    matches!(instruction, Instruction::Push { opcode: Opcode::BiPush, value } if i8::try_from(*value).is_ok())
}

fn fits_short_increment(local: u16, amount: i16) -> bool {
    local < 256 && i8::try_from(amount).is_ok()
}

fn padding(offset: usize) -> usize {
    3 - offset % 4
}

fn put_op_u16(out: &mut Vec<u8>, opcode: Opcode, operand: u16) {
    out.push(opcode.byte());
    put_u16(out, operand);
}

fn local_access(out: &mut Vec<u8>, opcode: Opcode, local: u16) {
    let long = match opcode.implied_local() {
        Some((_, implied)) if implied == local => return out.push(opcode.byte()),
        Some((long, _)) => long,
        None => opcode,
    };
    match u8::try_from(local) {
        Ok(local) => out.extend([long.byte(), local]),
        Err(_) => {
            out.push(Opcode::Wide.byte());
            put_op_u16(out, long, local);
        }
    }
}

fn jump(
    out: &mut Vec<u8>,
    node: NodeId,
    opcode: Opcode,
    target: LabelId,
    code: &CodeEditor,
    layout: &Layout,
) -> Result<(), CodeError> {
    layout.target(code, target)?;
    let distance = layout.distance(code, node, target)?;
    let wide = match (opcode, layout.form(node)) {
        (Opcode::GotoW | Opcode::JsrW, _) => opcode,
        (_, Form::Given) => {
            put_op_u16(out, opcode, distance as u16);
            return Ok(());
        }
        (Opcode::Jsr, Form::Widened) => Opcode::JsrW,
        (_, Form::Widened) => Opcode::GotoW,
    };
    let mut before = 0;
    if let Some(negated) = opcode.negated() {
        put_op_u16(out, negated, WIDENED_CONDITION);
        before = 3;
    }
    out.push(wide.byte());
    put_u32(out, (distance - before) as u32);
    Ok(())
}

fn switch_start(out: &mut Vec<u8>, opcode: Opcode) {
    let padding = padding(out.len());
    out.push(opcode.byte());
    out.extend(std::iter::repeat_n(0, padding));
}

fn put_target(
    out: &mut Vec<u8>,
    node: NodeId,
    target: LabelId,
    code: &CodeEditor,
    layout: &Layout,
) -> Result<(), CodeError> {
    layout.target(code, target)?;
    put_u32(out, layout.distance(code, node, target)? as u32);
    Ok(())
}

/// The count that `invokeinterface` carries: the words of its arguments and of its receiver.
fn argument_words(pool: &PoolEditor<'_>, method: ConstantIndex) -> Result<u8, CodeError> {
    pool.member(method)
        .and_then(|member| MethodDescriptor::parse(member.descriptor))
        .and_then(|descriptor| u8::try_from(descriptor.parameter_slots() + 1).ok())
        .ok_or(CodeError::Constant { index: method.0, expected: "a method reference" })
}
