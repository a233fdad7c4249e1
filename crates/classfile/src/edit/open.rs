//! From the bytes of a body to instructions and labels.
//!
//! Jumps, handlers, frames and the `new` of an uninitialized type must name an instruction: otherwise
//! the body is refused, as the JVM does. Tables for debuggers are not checked by the JVM and are
//! sometimes wrong: an offset inside an instruction is moved to the next one there.

use crate::edit::code::{CodeAttribute, CodeTarget, CodeTypeAnnotation, Context, Variable};
use crate::edit::{CodeEditor, Handler, HandlerId, LabelId, NodeId, PoolEditor};
use crate::read::{
    Code, Cursor, RawAttribute, StackMapFrame, TypeTarget, annotated_type, line_numbers,
    local_variables, stack_map_table, type_target,
};
use crate::{Instruction, Pc, ReadError, Result};

use unsnarl_entity::EntityId;

pub(crate) fn open(code: &Code<'_>, context: Context, pool: &PoolEditor<'_>) -> Result<CodeEditor> {
    let mut editor = CodeEditor::empty(context);
    editor.max_stack = code.max_stack;
    editor.max_locals = code.max_locals;
    let instructions = code.instructions().collect::<Result<Vec<_>>>()?;
    let mut places = Places::new(code, &instructions);

    let mut resolved = Vec::with_capacity(instructions.len());
    for (pc, instruction) in instructions {
        let mut target = |target: Pc| places.label(&mut editor, target);
        resolved.push((pc, instruction.try_map_targets(&mut target)?));
    }
    for handler in &code.handlers {
        let handler = Handler {
            start: places.label(&mut editor, handler.start)?,
            end: places.label_or_end(&mut editor, handler.end)?,
            handler: places.label(&mut editor, handler.handler)?,
            catch_type: handler.catch_type,
        };
        editor.add_handler(handler);
    }
    let mut frames = None;
    let mut pending = Vec::new();
    for attribute in code.attributes.iter() {
        let mut body = attribute.body;
        let name = attribute.name;
        match pool.utf8(name) {
            Some(b"StackMapTable") => {
                if frames.is_some() {
                    return Err(body.error("one table of stack map frames, not two"));
                }
                frames = Some(stack_map_table(&mut body)?);
                editor.attributes.push(CodeAttribute::Frames { name });
            }
            Some(b"LineNumberTable") => {
                let entries = line_numbers(&mut body)?
                    .into_iter()
                    .map(|entry| (places.nearest(&mut editor, entry.start.0), entry.line))
                    .collect();
                editor.attributes.push(CodeAttribute::Lines { name, entries });
            }
            Some(b"LocalVariableTable" | b"LocalVariableTypeTable") => {
                let entries = variables(&mut body, &mut places, &mut editor)?;
                editor.attributes.push(CodeAttribute::Variables { name, entries });
            }
            Some(b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations") => {
                // They name instructions, which have no nodes yet; ranges need their labels now.
                let entries = type_annotations(&mut body, &mut places, &mut editor)?;
                pending.push((editor.attributes.len(), entries));
                editor
                    .attributes
                    .push(CodeAttribute::TypeAnnotations { name, entries: Vec::new() });
            }
            _ => {
                editor.attributes.push(unknown(&attribute));
                continue;
            }
        }
        body.finish("the end of an attribute")?;
    }
    let needs_frames = !code.handlers.is_empty()
        || resolved.iter().any(|(_, instruction)| instruction.targets().next().is_some());
    if frames.is_none() && needs_frames && editor.context.may_lack_frames {
        editor.context.has_frames = false;
    }
    let frames = frames.unwrap_or_default();
    for frame in &frames {
        places.label(&mut editor, frame.at)?;
    }

    places.build(&mut editor, resolved);
    for StackMapFrame { at, frame } in frames {
        let label = places.label(&mut editor, at)?;
        let frame = frame.try_map(|new| places.node(new))?;
        editor.set_original_frame(label, frame);
    }
    for (index, entries) in pending {
        let resolved = entries.into_iter().map(|entry| entry.resolve(&places)).collect();
        if let CodeAttribute::TypeAnnotations { entries, .. } = &mut editor.attributes[index] {
            *entries = resolved;
        }
    }
    Ok(editor)
}

fn unknown(attribute: &RawAttribute<'_>) -> CodeAttribute {
    CodeAttribute::Other { name: attribute.name, content: attribute.body.rest().into() }
}

fn variables(
    body: &mut Cursor<'_>,
    places: &mut Places,
    editor: &mut CodeEditor,
) -> Result<Vec<Variable>> {
    let entries = local_variables(body)?;
    Ok(entries
        .into_iter()
        .map(|entry| Variable {
            start: places.nearest(editor, entry.start.0),
            end: places.nearest(editor, entry.start.0.saturating_add(entry.length)),
            name: entry.name,
            descriptor: entry.descriptor,
            local: entry.local,
        })
        .collect())
}

/// A type annotation whose instruction has no node yet.
struct PendingAnnotation {
    kind: u8,
    target: PendingTarget,
    content: Box<[u8]>,
}

enum PendingTarget {
    Known(CodeTarget),
    Instruction { at: Pc, argument: Option<u8>, bytes: Box<[u8]> },
}

impl PendingAnnotation {
    fn resolve(self, places: &Places) -> CodeTypeAnnotation {
        let target = match self.target {
            PendingTarget::Known(target) => target,
            PendingTarget::Instruction { at, argument, bytes } => match places.node(at) {
                Ok(node) => CodeTarget::Instruction { node, argument },
                Err(_) => CodeTarget::Fixed(bytes),
            },
        };
        CodeTypeAnnotation { kind: self.kind, target, content: self.content }
    }
}

fn type_annotations(
    body: &mut Cursor<'_>,
    places: &mut Places,
    editor: &mut CodeEditor,
) -> Result<Vec<PendingAnnotation>> {
    body.table("the type annotations", |entry| {
        let before = *entry;
        let target = type_target(entry)?;
        let mut bytes = taken(before, entry);
        let kind = bytes.u8("the target of a type annotation")?;
        let bytes = bytes.rest();
        let content_start = *entry;
        annotated_type(entry)?;
        let target = match target {
            TypeTarget::LocalVariable { ranges, .. } => {
                let ranges = ranges.into_iter().map(|range| {
                    let start = places.nearest(editor, range.start.0);
                    let end = range.start.0.saturating_add(range.length);
                    (start, places.nearest(editor, end), range.local)
                });
                PendingTarget::Known(CodeTarget::Variable(ranges.collect()))
            }
            TypeTarget::Catch { handler } if usize::from(handler) < editor.handlers.len() => {
                let handler = HandlerId::from_index(usize::from(handler));
                PendingTarget::Known(CodeTarget::Catch(handler))
            }
            TypeTarget::Instruction { at, .. } => {
                PendingTarget::Instruction { at, argument: None, bytes: bytes.into() }
            }
            TypeTarget::TypeArgument { at, index, .. } => {
                PendingTarget::Instruction { at, argument: Some(index), bytes: bytes.into() }
            }
            _ => PendingTarget::Known(CodeTarget::Fixed(bytes.into())),
        };
        Ok(PendingAnnotation { kind, target, content: taken(content_start, entry).rest().into() })
    })
}

/// What lies between two positions of the same cursor.
fn taken<'a>(mut from: Cursor<'a>, to: &Cursor<'a>) -> Cursor<'a> {
    let length = to.position() - from.position();
    from.split(length, "bytes that were read").expect("they were read")
}

/// Which instruction and which label stand at an offset.
struct Places {
    /// Where the code lies in the file.
    file_offset: usize,
    /// By offset, the end of the code included: the first offset from there on at which an
    /// instruction begins, or the end.
    next: Vec<u32>,
    nodes: Vec<Option<NodeId>>,
    /// By offset, the end of the code included.
    labels: Vec<Option<LabelId>>,
}

impl Places {
    fn new(code: &Code<'_>, instructions: &[(Pc, Instruction<Pc>)]) -> Self {
        let length = usize::from(code.length());
        let mut next = vec![0; length + 1];
        let mut behind = length;
        next[length] = length as u32;
        for (pc, _) in instructions.iter().rev() {
            let start = usize::from(pc.0);
            next[start + 1..behind].fill(behind as u32);
            next[start] = u32::from(pc.0);
            behind = start;
        }
        Self {
            file_offset: code.offset(),
            next,
            nodes: vec![None; length],
            labels: vec![None; length + 1],
        }
    }

    fn error(&self, pc: Pc) -> ReadError {
        ReadError {
            offset: self.file_offset + usize::from(pc.0),
            expected: "an instruction where a jump, handler or frame leads",
        }
    }

    fn length(&self) -> usize {
        self.nodes.len()
    }

    /// The label of an instruction.
    fn label(&mut self, editor: &mut CodeEditor, pc: Pc) -> Result<LabelId> {
        let offset = usize::from(pc.0);
        if offset < self.length() && self.next[offset] as usize == offset {
            Ok(self.label_at(editor, offset))
        } else {
            Err(self.error(pc))
        }
    }

    fn label_or_end(&mut self, editor: &mut CodeEditor, pc: Pc) -> Result<LabelId> {
        if usize::from(pc.0) == self.length() {
            Ok(self.label_at(editor, self.length()))
        } else {
            self.label(editor, pc)
        }
    }

    /// The label of the first instruction from `offset` on, or of the end.
    fn nearest(&mut self, editor: &mut CodeEditor, offset: u16) -> LabelId {
        let place = self.next.get(usize::from(offset)).map_or(self.length(), |&at| at as usize);
        self.label_at(editor, place)
    }

    fn label_at(&mut self, editor: &mut CodeEditor, offset: usize) -> LabelId {
        *self.labels[offset].get_or_insert_with(|| editor.new_label())
    }

    fn node(&self, pc: Pc) -> Result<NodeId> {
        self.nodes.get(usize::from(pc.0)).copied().flatten().ok_or_else(|| self.error(pc))
    }

    fn build(&mut self, editor: &mut CodeEditor, instructions: Vec<(Pc, Instruction<LabelId>)>) {
        for (pc, instruction) in instructions {
            let offset = usize::from(pc.0);
            self.bind(editor, offset);
            self.nodes[offset] = Some(editor.append(instruction));
        }
        self.bind(editor, self.length());
    }

    fn bind(&self, editor: &mut CodeEditor, offset: usize) {
        if let Some(label) = self.labels[offset] {
            editor.bind_at_end(label).expect("every label is bound once");
        }
    }
}
