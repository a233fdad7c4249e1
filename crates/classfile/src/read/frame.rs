//! The stack map table (JVMS 4.7.4), with offsets from the beginning of the code.

use crate::read::Cursor;
use crate::{Frame, Pc, Result, VerificationType};

/// A frame and the instruction in front of which it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackMapFrame {
    /// The instruction.
    pub at: Pc,
    /// What holds there.
    pub frame: Frame<Pc>,
}

pub(crate) fn stack_map_table(body: &mut Cursor<'_>) -> Result<Vec<StackMapFrame>> {
    let mut previous: Option<u16> = None;
    body.table("the stack map frames", |entry| {
        let error = entry.error("a stack map frame inside the code");
        let (delta, frame) = frame(entry)?;
        let at = match previous {
            None => Some(delta),
            Some(previous) => previous.checked_add(delta).and_then(|at| at.checked_add(1)),
        }
        .ok_or(error)?;
        previous = Some(at);
        Ok(StackMapFrame { at: Pc(at), frame })
    })
}

fn frame(entry: &mut Cursor<'_>) -> Result<(u16, Frame<Pc>)> {
    const DELTA: &str = "the offset of a stack map frame";
    let error = entry.error("a kind of stack map frame");
    Ok(match entry.u8("a kind of stack map frame")? {
        kind @ 0..=63 => (u16::from(kind), Frame::Same),
        kind @ 64..=127 => {
            (u16::from(kind - 64), Frame::SameLocalsOneStack(verification_type(entry)?))
        }
        247 => (entry.u16(DELTA)?, Frame::SameLocalsOneStack(verification_type(entry)?)),
        kind @ 248..=250 => (entry.u16(DELTA)?, Frame::Chop(251 - kind)),
        251 => (entry.u16(DELTA)?, Frame::Same),
        kind @ 252..=254 => {
            let delta = entry.u16(DELTA)?;
            let locals = (251..kind).map(|_| verification_type(entry)).collect::<Result<_>>()?;
            (delta, Frame::Append(locals))
        }
        255 => {
            let delta = entry.u16(DELTA)?;
            let locals = entry.table("the local variables of a frame", verification_type)?;
            let stack = entry.table("the stack of a frame", verification_type)?;
            (delta, Frame::Full { locals, stack })
        }
        _ => return Err(error),
    })
}

fn verification_type(entry: &mut Cursor<'_>) -> Result<VerificationType<Pc>> {
    let error = entry.error("a verification type");
    Ok(match entry.u8("a verification type")? {
        0 => VerificationType::Top,
        1 => VerificationType::Integer,
        2 => VerificationType::Float,
        3 => VerificationType::Double,
        4 => VerificationType::Long,
        5 => VerificationType::Null,
        6 => VerificationType::UninitializedThis,
        7 => VerificationType::Object(entry.index("the class of a verification type")?),
        8 => VerificationType::Uninitialized(Pc(entry.u16("the offset of a `new`")?)),
        _ => return Err(error),
    })
}
