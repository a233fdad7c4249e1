//! From instructions and labels to the content of a `Code` attribute.
//!
//! A handler whose range has become empty is left out, and so are entries of debug tables that begin
//! after the last instruction and type annotations whose instruction or handler is gone.

use unsnarl_entity::SecondaryMap;

use crate::ConstantIndex;
use crate::edit::code::{CodeAttribute, CodeTarget, CodeTypeAnnotation, Variable};
use crate::edit::encode::encode;
use crate::edit::frames::emit_frames;
use crate::edit::layout::Layout;
use crate::edit::{CodeEditor, CodeError, HandlerId, PoolEditor, put_u16, put_u32};

pub(crate) fn emit(code: &CodeEditor, pool: &mut PoolEditor<'_>) -> Result<Vec<u8>, CodeError> {
    let layout = Layout::new(code)?;
    let frames = emit_frames(code, &layout, pool)?;
    let mut out = Vec::with_capacity(usize::from(layout.length) + 64);
    put_u16(&mut out, code.max_stack);
    put_u16(&mut out, code.max_locals);
    let bytes = instructions(code, &layout, pool)?;
    put_u32(&mut out, bytes.len() as u32);
    out.extend_from_slice(&bytes);
    let handlers = handlers(code, &layout, &mut out)?;
    attributes(code, &layout, pool, &handlers, frames, &mut out)?;
    Ok(out)
}

fn instructions(
    code: &CodeEditor,
    layout: &Layout,
    pool: &PoolEditor<'_>,
) -> Result<Vec<u8>, CodeError> {
    let mut bytes = Vec::with_capacity(usize::from(layout.length));
    for &node in &layout.order {
        if let Some(instruction) = code.instruction(node) {
            debug_assert_eq!(bytes.len(), usize::from(layout.offset(node)));
            encode(&mut bytes, node, instruction, code, layout, pool)?;
        }
    }
    debug_assert_eq!(bytes.len(), usize::from(layout.length));
    Ok(bytes)
}

/// Writes the exception table and returns where each handler stands in it.
fn handlers(
    code: &CodeEditor,
    layout: &Layout,
    out: &mut Vec<u8>,
) -> Result<SecondaryMap<HandlerId, Option<u16>>, CodeError> {
    let mut positions = SecondaryMap::new();
    let mut entries = Vec::new();
    let mut count = 0;
    for (id, handler) in code.handlers() {
        let start = layout.label(code, handler.start)?;
        let end = layout.label(code, handler.end)?;
        if start >= end {
            continue;
        }
        positions[id] = Some(count as u16);
        count += 1;
        put_u16(&mut entries, start);
        put_u16(&mut entries, end);
        put_u16(&mut entries, layout.target(code, handler.handler)?);
        put_u16(&mut entries, handler.catch_type.map_or(0, |index| index.0));
    }
    put_count(out, "exception handlers", count)?;
    out.extend_from_slice(&entries);
    Ok(positions)
}

fn attributes(
    code: &CodeEditor,
    layout: &Layout,
    pool: &mut PoolEditor<'_>,
    handlers: &SecondaryMap<HandlerId, Option<u16>>,
    mut frames: Option<Vec<u8>>,
    out: &mut Vec<u8>,
) -> Result<(), CodeError> {
    let mut written = Vec::new();
    let mut count = 0;
    for attribute in &code.attributes {
        let (name, content) = match attribute {
            CodeAttribute::Frames { name } => {
                // Without frames left there is no table, unless there was an empty one.
                (*name, frames.take().unwrap_or_else(|| vec![0, 0]))
            }
            CodeAttribute::Lines { name, entries } => {
                let entries = entries.iter().map(|&(label, line)| {
                    let offset = layout.label(code, label)?;
                    let mut bytes = Vec::with_capacity(4);
                    put_u16(&mut bytes, offset);
                    put_u16(&mut bytes, line);
                    Ok((offset < layout.length).then_some(bytes))
                });
                (*name, table(entries)?)
            }
            CodeAttribute::Variables { name, entries } => {
                let entries = entries.iter().map(|entry| variable(entry, code, layout));
                (*name, table(entries)?)
            }
            CodeAttribute::TypeAnnotations { name, entries } => {
                let entries =
                    entries.iter().map(|entry| type_annotation(entry, code, layout, handlers));
                (*name, table(entries)?)
            }
            CodeAttribute::Other { name, content } => {
                put_attribute(&mut written, *name, content);
                count += 1;
                continue;
            }
        };
        put_attribute(&mut written, name, &content);
        count += 1;
    }
    if let Some(frames) = frames {
        put_attribute(&mut written, pool.add_utf8(b"StackMapTable")?, &frames);
        count += 1;
    }
    put_count(out, "attributes", count)?;
    out.extend_from_slice(&written);
    Ok(())
}

fn put_attribute(out: &mut Vec<u8>, name: ConstantIndex, content: &[u8]) {
    put_u16(out, name.0);
    put_u32(out, content.len() as u32);
    out.extend_from_slice(content);
}

/// A table of those entries that there still are.
fn table(
    entries: impl Iterator<Item = Result<Option<Vec<u8>>, CodeError>>,
) -> Result<Vec<u8>, CodeError> {
    let mut count: u16 = 0;
    let mut out = vec![0, 0];
    for entry in entries {
        if let Some(entry) = entry? {
            // A table has no more entries than when it was read, where a count of two bytes led it.
            count += 1;
            out.extend_from_slice(&entry);
        }
    }
    out[..2].copy_from_slice(&count.to_be_bytes());
    Ok(out)
}

fn variable(
    entry: &Variable,
    code: &CodeEditor,
    layout: &Layout,
) -> Result<Option<Vec<u8>>, CodeError> {
    let start = layout.label(code, entry.start)?;
    let end = layout.label(code, entry.end)?;
    if start >= layout.length {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(10);
    put_u16(&mut bytes, start);
    put_u16(&mut bytes, end.saturating_sub(start));
    put_u16(&mut bytes, entry.name.0);
    put_u16(&mut bytes, entry.descriptor.0);
    put_u16(&mut bytes, entry.local);
    Ok(Some(bytes))
}

fn type_annotation(
    entry: &CodeTypeAnnotation,
    code: &CodeEditor,
    layout: &Layout,
    handlers: &SecondaryMap<HandlerId, Option<u16>>,
) -> Result<Option<Vec<u8>>, CodeError> {
    let mut bytes = vec![entry.kind];
    match &entry.target {
        CodeTarget::Variable(ranges) => {
            put_u16(&mut bytes, ranges.len() as u16);
            for &(start, end, local) in ranges {
                let start = layout.label(code, start)?;
                put_u16(&mut bytes, start);
                put_u16(&mut bytes, layout.label(code, end)?.saturating_sub(start));
                put_u16(&mut bytes, local);
            }
        }
        CodeTarget::Catch(handler) => match handlers[*handler] {
            Some(position) => put_u16(&mut bytes, position),
            None => return Ok(None),
        },
        CodeTarget::Instruction { node, .. } if code.is_removed(*node) => return Ok(None),
        CodeTarget::Instruction { node, argument } => {
            put_u16(&mut bytes, layout.offset(*node));
            bytes.extend(argument);
        }
        CodeTarget::Fixed(target) => bytes.extend_from_slice(target),
    }
    bytes.extend_from_slice(&entry.content);
    Ok(Some(bytes))
}

fn put_count(out: &mut Vec<u8>, what: &'static str, count: usize) -> Result<(), CodeError> {
    put_u16(out, u16::try_from(count).map_err(|_| CodeError::TooMany { what, count })?);
    Ok(())
}
