//! Stack map frames: from labels back to a table.
//!
//! A frame of the file keeps the form it has there as long as the frame in front of it is the one of
//! the file. Where frames were added, or where two came to lie on one offset because the code between
//! them is gone (the later one then stands for both), the frame is written in full.

use crate::edit::code::LabelFrame;
use crate::edit::encode::{Form, WIDENED_CONDITION};
use crate::edit::layout::Layout;
use crate::edit::simulate::TypeState;
use crate::edit::{CodeEditor, CodeError, LabelId, NodeId, PoolEditor, put_u16};
use crate::{FieldType, Frame, Instruction, MethodDescriptor, Primitive, VerificationType};

type Type = VerificationType<NodeId>;

/// The content of a stack map table; nothing if there are no frames.
pub(crate) fn emit_frames(
    code: &CodeEditor,
    layout: &Layout,
    pool: &mut PoolEditor<'_>,
) -> Result<Option<Vec<u8>>, CodeError> {
    let frames = if is_as_in_file(code, layout) {
        frames_of_file(code, layout)
    } else {
        Rebuilder::new(code, layout, pool)?.run()?
    };
    if frames.is_empty() {
        return Ok(None);
    }
    let mut out = Vec::new();
    put_u16(&mut out, frames.len() as u16);
    let mut previous: Option<u16> = None;
    for (offset, frame) in &frames {
        let delta = previous.map_or(*offset, |previous| offset - previous - 1);
        put_frame(&mut out, delta, frame, code, layout)?;
        previous = Some(*offset);
    }
    Ok(Some(out))
}

/// The labels that have frames, in order, but for those after the last instruction.
fn framed_labels<'c>(
    code: &'c CodeEditor,
    layout: &'c Layout,
) -> impl Iterator<Item = (u16, &'c LabelFrame)> {
    layout.order.iter().filter_map(move |&node| {
        let frame = code.frame(code.label(node)?)?;
        let offset = layout.offset(node);
        (offset < layout.length).then_some((offset, frame))
    })
}

/// Whether every frame can be written in the form that it has in the file.
fn is_as_in_file(code: &CodeEditor, layout: &Layout) -> bool {
    let mut previous = None;
    for (offset, frame) in framed_labels(code, layout) {
        if matches!(frame, LabelFrame::New { .. }) || previous == Some(offset) {
            return false;
        }
        previous = Some(offset);
    }
    !(layout.has_widened() && code.context.has_frames)
}

fn frames_of_file(code: &CodeEditor, layout: &Layout) -> Vec<(u16, Frame<NodeId>)> {
    let frames = framed_labels(code, layout).filter_map(|(offset, frame)| match frame {
        LabelFrame::Original(frame) => Some((offset, frame.clone())),
        LabelFrame::New { .. } => None,
    });
    frames.collect()
}

/// What the verifier knows at the first instruction. Adds the classes of the parameters to the pool.
pub(crate) fn entry_locals(
    code: &CodeEditor,
    pool: &mut PoolEditor<'_>,
) -> Result<Vec<Type>, CodeError> {
    let context = &code.context;
    let descriptor = MethodDescriptor::parse(&context.descriptor).ok_or(CodeError::Descriptor)?;
    let mut locals = Vec::new();
    if !context.is_static {
        locals.push(match context.is_constructor {
            true => VerificationType::UninitializedThis,
            false => VerificationType::Object(context.this_class),
        });
    }
    for parameter in descriptor.parameters() {
        locals.push(type_of(parameter, pool)?);
    }
    Ok(locals)
}

/// The verification type of values of a declared type.
pub(crate) fn type_of(
    declared: FieldType<'_>,
    pool: &mut PoolEditor<'_>,
) -> Result<Type, CodeError> {
    Ok(match declared.primitive() {
        None => VerificationType::Object(pool.add_class(declared.constant_class_name())?),
        Some(Primitive::Long) => VerificationType::Long,
        Some(Primitive::Float) => VerificationType::Float,
        Some(Primitive::Double) => VerificationType::Double,
        Some(_) => VerificationType::Integer,
    })
}

/// The frames of the file one after the other, each in full.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    pub(crate) locals: Vec<Type>,
    pub(crate) stack: Vec<Type>,
}

impl Chain {
    pub(crate) fn at_entry(
        code: &CodeEditor,
        pool: &mut PoolEditor<'_>,
    ) -> Result<Self, CodeError> {
        Ok(Self { locals: entry_locals(code, pool)?, stack: Vec::new() })
    }

    /// Goes on to the next frame.
    pub(crate) fn apply(&mut self, frame: &Frame<NodeId>, at: LabelId) -> Result<(), CodeError> {
        self.stack.clear();
        match frame {
            Frame::Same => {}
            Frame::SameLocalsOneStack(entry) => self.stack.push(*entry),
            Frame::Chop(count) => {
                let left = self.locals.len().checked_sub(usize::from(*count));
                self.locals.truncate(left.ok_or(CodeError::BadFrame(at))?);
            }
            Frame::Append(more) => self.locals.extend_from_slice(more),
            Frame::Full { locals, stack } => {
                self.locals.clone_from(locals);
                self.stack.clone_from(stack);
            }
        }
        Ok(())
    }

    fn full(&self) -> Frame<NodeId> {
        Frame::Full { locals: self.locals.clone(), stack: self.stack.clone() }
    }
}

/// Builds the table anew, with frames that were added and frames after widened jumps.
struct Rebuilder<'e, 'a> {
    code: &'e CodeEditor,
    layout: &'e Layout,
    pool: &'e mut PoolEditor<'a>,
    chain: Chain,
    /// Whether the frame written last has the locals of the chain, so that the next frame of the file
    /// can be written in its own form.
    in_step: bool,
    /// What the last frame tells, and what was found out since.
    known: Option<Known>,
    frames: Vec<(u16, Frame<NodeId>)>,
}

struct Known {
    state: TypeState,
    /// The place in the order in front of which the state holds.
    position: usize,
}

impl<'e, 'a> Rebuilder<'e, 'a> {
    fn new(
        code: &'e CodeEditor,
        layout: &'e Layout,
        pool: &'e mut PoolEditor<'a>,
    ) -> Result<Self, CodeError> {
        let chain = Chain::at_entry(code, pool)?;
        let known = Known { state: TypeState::new(&chain.locals, &[]), position: 0 };
        Ok(Self {
            code,
            layout,
            pool,
            chain,
            in_step: true,
            known: Some(known),
            frames: Vec::new(),
        })
    }

    fn run(mut self) -> Result<Vec<(u16, Frame<NodeId>)>, CodeError> {
        for position in 0..self.layout.order.len() {
            let node = self.layout.order[position];
            if let Some(label) = self.code.label(node) {
                if self.layout.offset(node) < self.layout.length {
                    self.label(position, node, label)?;
                }
            } else if self.needs_frame_behind(position) {
                self.widened(position, node)?;
            }
        }
        Ok(self.frames)
    }

    fn label(&mut self, position: usize, node: NodeId, label: LabelId) -> Result<(), CodeError> {
        let offset = self.layout.offset(node);
        let (frame, locals, stack) = match self.code.frame(label) {
            None => return Ok(()),
            Some(LabelFrame::Original(frame)) => {
                self.chain.apply(frame, label)?;
                let merged = self.frames.last().is_some_and(|(last, _)| *last == offset);
                let written =
                    if self.in_step && !merged { frame.clone() } else { self.chain.full() };
                self.in_step = true;
                (written, &self.chain.locals, &self.chain.stack)
            }
            Some(LabelFrame::New { locals, stack }) => {
                self.in_step = *locals == self.chain.locals;
                (Frame::Full { locals: locals.clone(), stack: stack.clone() }, locals, stack)
            }
        };
        if self.code.context.has_frames && self.layout.has_widened() {
            self.known = Some(Known { state: TypeState::new(locals, stack), position });
        }
        self.push(offset, frame);
        Ok(())
    }

    fn widened(&mut self, position: usize, node: NodeId) -> Result<(), CodeError> {
        let unknown = CodeError::UnknownFrame(node);
        let Some(Known { mut state, position: from }) = self.known.take() else {
            return Err(unknown);
        };
        for &node in &self.layout.order[from..=position] {
            if let Some(instruction) = self.code.instruction(node) {
                state.execute(node, instruction, self.code, self.pool)?;
                if instruction.ends_flow() {
                    return Err(unknown);
                }
            }
        }
        let (locals, stack) = state.frame();
        self.in_step = locals == self.chain.locals;
        self.known = Some(Known { state, position: position + 1 });
        let offset = self.layout.offset(node) + WIDENED_CONDITION;
        if offset < self.layout.length {
            self.push(offset, Frame::Full { locals, stack });
        }
        Ok(())
    }

    /// Whether this is a widened conditional jump without a frame after it.
    fn needs_frame_behind(&self, position: usize) -> bool {
        let node = self.layout.order[position];
        let is_condition = matches!(
            self.code.instruction(node),
            Some(Instruction::Jump { opcode, .. }) if opcode.negated().is_some()
        );
        self.code.context.has_frames
            && is_condition
            && self.layout.form(node) == Form::Widened
            && !self.layout.order[position + 1..]
                .iter()
                .map_while(|&next| self.code.label(next))
                .any(|label| self.code.frame(label).is_some())
    }

    fn push(&mut self, offset: u16, frame: Frame<NodeId>) {
        if self.frames.last().is_some_and(|(last, _)| *last == offset) {
            self.frames.pop();
        }
        self.frames.push((offset, frame));
    }
}

fn put_frame(
    out: &mut Vec<u8>,
    delta: u16,
    frame: &Frame<NodeId>,
    code: &CodeEditor,
    layout: &Layout,
) -> Result<(), CodeError> {
    match frame {
        Frame::Same if delta < 64 => out.push(delta as u8),
        Frame::Same => put_kind(out, 251, delta),
        Frame::SameLocalsOneStack(entry) => {
            if delta < 64 {
                out.push(64 + delta as u8);
            } else {
                put_kind(out, 247, delta);
            }
            put_type(out, entry, code, layout)?;
        }
        Frame::Chop(count) => put_kind(out, 251 - count, delta),
        Frame::Append(locals) => {
            put_kind(out, 251 + locals.len() as u8, delta);
            for local in locals {
                put_type(out, local, code, layout)?;
            }
        }
        Frame::Full { locals, stack } => {
            put_kind(out, 255, delta);
            for (what, types) in [("local variables", locals), ("stack entries", stack)] {
                let count = types.len();
                put_u16(out, u16::try_from(count).map_err(|_| CodeError::TooMany { what, count })?);
                for entry in types {
                    put_type(out, entry, code, layout)?;
                }
            }
        }
    }
    Ok(())
}

fn put_kind(out: &mut Vec<u8>, kind: u8, delta: u16) {
    out.push(kind);
    put_u16(out, delta);
}

fn put_type(
    out: &mut Vec<u8>,
    entry: &Type,
    code: &CodeEditor,
    layout: &Layout,
) -> Result<(), CodeError> {
    let tag = match entry {
        VerificationType::Top => 0,
        VerificationType::Integer => 1,
        VerificationType::Float => 2,
        VerificationType::Double => 3,
        VerificationType::Long => 4,
        VerificationType::Null => 5,
        VerificationType::UninitializedThis => 6,
        VerificationType::Object(_) => 7,
        VerificationType::Uninitialized(_) => 8,
    };
    out.push(tag);
    match *entry {
        VerificationType::Object(class) => put_u16(out, class.0),
        VerificationType::Uninitialized(new) if code.is_removed(new) => {
            return Err(CodeError::RemovedNew(new));
        }
        VerificationType::Uninitialized(new) => put_u16(out, layout.offset(new)),
        _ => {}
    }
    Ok(())
}
