//! Arithmetic, comparisons and conversions, as JVMS 6.5 defines them.

use unsnarl_classfile::Opcode;

use super::Value::{self, Double, Float, Int, Long};

/// The result; none for an integer division by zero.
pub(super) fn compute(opcode: Opcode, operands: &[Value]) -> Option<Value> {
    match *operands {
        [value] => Some(unary(opcode, value)),
        [Int(left), Int(right)] => ints(opcode, left, right).map(Int),
        [Long(left), Long(right)] if opcode == Opcode::LCmp => Some(Int(order(left.cmp(&right)))),
        [Long(left), Long(right)] => longs(opcode, left, right).map(Long),
        [Long(left), Int(right)] => Some(Long(shift(opcode, left, right))),
        [Float(left), Float(right)] => Some(floats(opcode, left, right)),
        [Double(left), Double(right)] => Some(doubles(opcode, left, right)),
        _ => panic!("{opcode:?} does not take {operands:?}"),
    }
}

fn unary(opcode: Opcode, value: Value) -> Value {
    use Opcode::*;
    match (opcode, value) {
        (INeg, Int(value)) => Int(value.wrapping_neg()),
        (LNeg, Long(value)) => Long(value.wrapping_neg()),
        (FNeg, Float(value)) => Float(-value),
        (DNeg, Double(value)) => Double(-value),
        (I2L, Int(value)) => Long(value.into()),
        (I2F, Int(value)) => Float(value as f32),
        (I2D, Int(value)) => Double(value.into()),
        (I2B, Int(value)) => Int((value as i8).into()),
        (I2C, Int(value)) => Int((value as u16).into()),
        (I2S, Int(value)) => Int((value as i16).into()),
        (L2I, Long(value)) => Int(value as i32),
        (L2F, Long(value)) => Float(value as f32),
        (L2D, Long(value)) => Double(value as f64),
        (F2I, Float(value)) => Int(value as i32),
        (F2L, Float(value)) => Long(value as i64),
        (F2D, Float(value)) => Double(value.into()),
        (D2I, Double(value)) => Int(value as i32),
        (D2L, Double(value)) => Long(value as i64),
        (D2F, Double(value)) => Float(value as f32),
        _ => panic!("{opcode:?} does not take {value:?}"),
    }
}

fn ints(opcode: Opcode, left: i32, right: i32) -> Option<i32> {
    use Opcode::*;
    Some(match opcode {
        IAdd => left.wrapping_add(right),
        ISub => left.wrapping_sub(right),
        IMul => left.wrapping_mul(right),
        IDiv | IRem if right == 0 => return None,
        IDiv => left.wrapping_div(right),
        IRem => left.wrapping_rem(right),
        IShl => left.wrapping_shl(right as u32),
        IShr => left.wrapping_shr(right as u32),
        IUshr => (left as u32).wrapping_shr(right as u32) as i32,
        IAnd => left & right,
        IOr => left | right,
        IXor => left ^ right,
        _ => panic!("{opcode:?} does not take ints"),
    })
}

fn longs(opcode: Opcode, left: i64, right: i64) -> Option<i64> {
    use Opcode::*;
    Some(match opcode {
        LAdd => left.wrapping_add(right),
        LSub => left.wrapping_sub(right),
        LMul => left.wrapping_mul(right),
        LDiv | LRem if right == 0 => return None,
        LDiv => left.wrapping_div(right),
        LRem => left.wrapping_rem(right),
        LAnd => left & right,
        LOr => left | right,
        LXor => left ^ right,
        _ => panic!("{opcode:?} does not take longs"),
    })
}

fn shift(opcode: Opcode, value: i64, by: i32) -> i64 {
    match opcode {
        Opcode::LShl => value.wrapping_shl(by as u32),
        Opcode::LShr => value.wrapping_shr(by as u32),
        Opcode::LUshr => (value as u64).wrapping_shr(by as u32) as i64,
        _ => panic!("{opcode:?} does not take a long and an int"),
    }
}

fn floats(opcode: Opcode, left: f32, right: f32) -> Value {
    use Opcode::*;
    Float(match opcode {
        FAdd => left + right,
        FSub => left - right,
        FMul => left * right,
        FDiv => left / right,
        FRem => left % right,
        FCmpL => return Int(left.partial_cmp(&right).map_or(-1, order)),
        FCmpG => return Int(left.partial_cmp(&right).map_or(1, order)),
        _ => panic!("{opcode:?} does not take floats"),
    })
}

fn doubles(opcode: Opcode, left: f64, right: f64) -> Value {
    use Opcode::*;
    Double(match opcode {
        DAdd => left + right,
        DSub => left - right,
        DMul => left * right,
        DDiv => left / right,
        DRem => left % right,
        DCmpL => return Int(left.partial_cmp(&right).map_or(-1, order)),
        DCmpG => return Int(left.partial_cmp(&right).map_or(1, order)),
        _ => panic!("{opcode:?} does not take doubles"),
    })
}

fn order(ordering: std::cmp::Ordering) -> i32 {
    ordering as i32
}
