//! Annotations (JVMS 4.7.16 to 4.7.22). Element values nest; how deep is bounded, so that no file can
//! exhaust the stack.

use crate::read::Cursor;
use crate::{ConstantIndex, Pc, Result};

/// How deep annotations and arrays may nest in one another.
const MAX_DEPTH: u32 = 100;

/// An annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The descriptor of the annotation interface.
    pub descriptor: ConstantIndex,
    /// The elements that are given.
    pub elements: Vec<Element>,
}

/// An element of an annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// The name of the element.
    pub name: ConstantIndex,
    /// Its value.
    pub value: ElementValue,
}

/// The value of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElementValue {
    /// A primitive value or a string.
    Constant {
        /// The letter of the primitive type, or `s` for a string.
        tag: u8,
        /// The number, or the UTF-8 constant of a string.
        value: ConstantIndex,
    },
    /// A constant of an enum.
    Enum {
        /// The descriptor of the enum.
        descriptor: ConstantIndex,
        /// The name of the constant.
        name: ConstantIndex,
    },
    /// A class literal: a descriptor, or `V`.
    Class(ConstantIndex),
    /// An annotation.
    Annotation(Annotation),
    /// An array.
    Array(Vec<ElementValue>),
}

/// An annotation on a use of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeAnnotation {
    /// Which use of a type.
    pub target: TypeTarget,
    /// Which part of that type.
    pub path: Vec<TypePathStep>,
    /// The annotation itself.
    pub annotation: Annotation,
}

/// A step from a type to one of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypePathStep {
    /// 0 into an array, 1 into a nested type, 2 to the bound of a wildcard, 3 to a type argument.
    pub kind: u8,
    /// Which type argument.
    pub argument: u8,
}

/// Which use of a type is annotated. `kind` is the `target_type` of table 4.7.20-A, where several share
/// a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeTarget {
    /// A type parameter of a class (0x00) or method (0x01).
    TypeParameter {
        /// The kind of target.
        kind: u8,
        /// Which type parameter.
        index: u8,
    },
    /// The superclass (65535) or a superinterface.
    Supertype {
        /// Which superinterface.
        index: u16,
    },
    /// A bound of a type parameter of a class (0x11) or method (0x12).
    TypeParameterBound {
        /// The kind of target.
        kind: u8,
        /// Which type parameter.
        parameter: u8,
        /// Which of its bounds.
        bound: u8,
    },
    /// The type of a field or record component (0x13), of a result (0x14) or of a receiver (0x15).
    Empty {
        /// The kind of target.
        kind: u8,
    },
    /// The type of a formal parameter.
    FormalParameter {
        /// Which parameter.
        index: u8,
    },
    /// An exception that is declared.
    Throws {
        /// Which one.
        index: u16,
    },
    /// The type of a local variable (0x40) or of a resource (0x41).
    LocalVariable {
        /// The kind of target.
        kind: u8,
        /// Where the variable lives.
        ranges: Vec<LocalRange>,
    },
    /// The type that a handler catches.
    Catch {
        /// Which entry of the exception table.
        handler: u16,
    },
    /// The type of an `instanceof` (0x43), a `new` (0x44) or a method reference (0x45, 0x46).
    Instruction {
        /// The kind of target.
        kind: u8,
        /// The instruction.
        at: Pc,
    },
    /// A type of a cast (0x47) or a type argument of a call (0x48 to 0x4B).
    TypeArgument {
        /// The kind of target.
        kind: u8,
        /// The instruction.
        at: Pc,
        /// Which type argument, or which type of an intersection.
        index: u8,
    },
}

/// A range of code in which a local variable has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalRange {
    /// The first instruction.
    pub start: Pc,
    /// How many bytes from there.
    pub length: u16,
    /// The local variable.
    pub local: u16,
}

pub(crate) fn annotations(body: &mut Cursor<'_>) -> Result<Vec<Annotation>> {
    body.table("the annotations", |entry| annotation(entry, MAX_DEPTH))
}

pub(crate) fn parameter_annotations(body: &mut Cursor<'_>) -> Result<Vec<Vec<Annotation>>> {
    let count = body.u8("the number of annotated parameters")?;
    (0..count).map(|_| annotations(body)).collect()
}

pub(crate) fn type_annotations(body: &mut Cursor<'_>) -> Result<Vec<TypeAnnotation>> {
    body.table("the type annotations", |entry| {
        let target = type_target(entry)?;
        let (path, annotation) = annotated_type(entry)?;
        Ok(TypeAnnotation { target, path, annotation })
    })
}

/// What stands after the target of a type annotation.
pub(crate) fn annotated_type(entry: &mut Cursor<'_>) -> Result<(Vec<TypePathStep>, Annotation)> {
    let steps = entry.u8("the length of a type path")?;
    let path = (0..steps)
        .map(|_| {
            Ok(TypePathStep {
                kind: entry.u8("a step of a type path")?,
                argument: entry.u8("a type argument")?,
            })
        })
        .collect::<Result<_>>()?;
    Ok((path, annotation(entry, MAX_DEPTH)?))
}

pub(crate) fn element_value(body: &mut Cursor<'_>) -> Result<ElementValue> {
    value(body, MAX_DEPTH)
}

fn annotation(entry: &mut Cursor<'_>, depth: u32) -> Result<Annotation> {
    let descriptor = entry.index("the type of an annotation")?;
    let elements = nested_table(entry, |entry| {
        let name = entry.index("the name of an annotation element")?;
        Ok(Element { name, value: value(entry, depth)? })
    })?;
    Ok(Annotation { descriptor, elements })
}

fn value(entry: &mut Cursor<'_>, depth: u32) -> Result<ElementValue> {
    const VALUE: &str = "the value of an annotation element";
    let error = entry.error(VALUE);
    let Some(depth) = depth.checked_sub(1) else {
        return Err(entry.error("annotations that nest less deep"));
    };
    Ok(match entry.u8(VALUE)? {
        tag @ (b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b's') => {
            ElementValue::Constant { tag, value: entry.index(VALUE)? }
        }
        b'e' => ElementValue::Enum { descriptor: entry.index(VALUE)?, name: entry.index(VALUE)? },
        b'c' => ElementValue::Class(entry.index(VALUE)?),
        b'@' => ElementValue::Annotation(annotation(entry, depth)?),
        b'[' => ElementValue::Array(nested_table(entry, |entry| value(entry, depth))?),
        _ => return Err(error),
    })
}

/// As [`Cursor::table`], but nothing is reserved on the word of a count: tables nest here, and false
/// counts would add up.
fn nested_table<'a, T>(
    entry: &mut Cursor<'a>,
    mut read: impl FnMut(&mut Cursor<'a>) -> Result<T>,
) -> Result<Vec<T>> {
    let count = entry.u16("the number of annotation elements")?;
    let mut values = Vec::new();
    for _ in 0..count {
        values.push(read(entry)?);
    }
    Ok(values)
}

pub(crate) fn type_target(entry: &mut Cursor<'_>) -> Result<TypeTarget> {
    const TARGET: &str = "the target of a type annotation";
    let error = entry.error(TARGET);
    Ok(match entry.u8(TARGET)? {
        kind @ (0x00 | 0x01) => TypeTarget::TypeParameter { kind, index: entry.u8(TARGET)? },
        0x10 => TypeTarget::Supertype { index: entry.u16(TARGET)? },
        kind @ (0x11 | 0x12) => TypeTarget::TypeParameterBound {
            kind,
            parameter: entry.u8(TARGET)?,
            bound: entry.u8(TARGET)?,
        },
        kind @ 0x13..=0x15 => TypeTarget::Empty { kind },
        0x16 => TypeTarget::FormalParameter { index: entry.u8(TARGET)? },
        0x17 => TypeTarget::Throws { index: entry.u16(TARGET)? },
        kind @ (0x40 | 0x41) => TypeTarget::LocalVariable {
            kind,
            ranges: entry.table("the ranges of an annotated variable", |entry| {
                Ok(LocalRange {
                    start: Pc(entry.u16(TARGET)?),
                    length: entry.u16(TARGET)?,
                    local: entry.u16(TARGET)?,
                })
            })?,
        },
        0x42 => TypeTarget::Catch { handler: entry.u16(TARGET)? },
        kind @ 0x43..=0x46 => TypeTarget::Instruction { kind, at: Pc(entry.u16(TARGET)?) },
        kind @ 0x47..=0x4B => {
            TypeTarget::TypeArgument { kind, at: Pc(entry.u16(TARGET)?), index: entry.u8(TARGET)? }
        }
        _ => return Err(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_nesting_is_refused_before_it_hurts() {
        let mut bytes = b"[\0\x01".repeat(50);
        bytes.extend(b"I\0\x07");
        assert!(element_value(&mut Cursor::new(&bytes)).is_ok());
        let bytes = b"[\0\x01".repeat(1_000_000);
        let error = element_value(&mut Cursor::new(&bytes)).unwrap_err();
        assert_eq!(error.expected, "annotations that nest less deep");
    }
}
