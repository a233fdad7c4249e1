//! What single instructions do to the stack and to the flow of control.

use unsnarl_classfile::edit::{CodeEditor, LabelId};
use unsnarl_classfile::{Instruction, Opcode};

/// Whether a local variable is stored to.
pub(crate) fn is_store(opcode: Opcode) -> bool {
    let long = opcode.long_form();
    (Opcode::IStore..=Opcode::AStore).contains(&long)
}

/// Whether the local variable in which a method finds `this` keeps it.
pub(crate) fn keeps_this(code: &CodeEditor) -> bool {
    !code.instructions().any(|(_, instruction)| {
        matches!(instruction, Instruction::Local { opcode, local: 0 } if is_store(*opcode))
    })
}

/// Where an instruction jumps to.
pub(crate) fn jumps(instruction: &Instruction<LabelId>) -> Vec<LabelId> {
    match instruction {
        Instruction::Jump { target, .. } => vec![*target],
        Instruction::TableSwitch { default, targets, .. } => {
            targets.iter().chain([default]).copied().collect()
        }
        Instruction::LookupSwitch { default, cases, .. } => {
            cases.iter().map(|&(_, target)| target).chain([*default]).collect()
        }
        _ => Vec::new(),
    }
}

/// How many slots an instruction takes from the stack and puts there, and whether it may throw.
pub(crate) fn effect(opcode: Opcode) -> Option<(usize, usize, bool)> {
    use Opcode::*;
    Some(match opcode {
        Nop | INeg | LNeg | FNeg | DNeg => (0, 0, false),
        AConstNull | IConstM1 | IConst0 | IConst1 | IConst2 | IConst3 | IConst4 | IConst5
        | FConst0 | FConst1 | FConst2 => (0, 1, false),
        LConst0 | LConst1 | DConst0 | DConst1 => (0, 2, false),
        IALoad | FALoad | AALoad | BALoad | CALoad | SALoad => (2, 1, true),
        LALoad | DALoad => (2, 2, true),
        IAStore | FAStore | AAStore | BAStore | CAStore | SAStore => (3, 0, true),
        LAStore | DAStore => (4, 0, true),
        IAdd | ISub | IMul | IAnd | IOr | IXor | IShl | IShr | IUshr | FCmpL | FCmpG | FAdd
        | FSub | FMul | FDiv | FRem => (2, 1, false),
        IDiv | IRem => (2, 1, true),
        LAdd | LSub | LMul | LAnd | LOr | LXor | DAdd | DSub | DMul | DDiv | DRem => (4, 2, false),
        LDiv | LRem => (4, 2, true),
        LShl | LShr | LUshr => (3, 2, false),
        I2B | I2C | I2S | F2I | I2F => (1, 1, false),
        L2I | D2I | L2F | D2F => (2, 1, false),
        I2L | F2L | I2D | F2D => (1, 2, false),
        D2L | L2D => (2, 2, false),
        LCmp | DCmpL | DCmpG => (4, 1, false),
        ArrayLength => (1, 1, true),
        MonitorEnter | MonitorExit | AThrow | IReturn | FReturn | AReturn => (1, 0, true),
        LReturn | DReturn => (2, 0, true),
        Return => (0, 0, true),
        _ => return None,
    })
}
