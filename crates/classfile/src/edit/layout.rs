//! Where every instruction lies, and which jumps have to take their long form.
//!
//! All jumps start in the form they have. As long as one does not reach its target it is widened and
//! everything is laid out again; forms only grow, so this ends.

use unsnarl_entity::{EntityId, EntitySet, SecondaryMap};

use crate::edit::encode::{Form, encoded_length};
use crate::edit::{CodeEditor, CodeError, LabelId, NodeId};
use crate::{Instruction, Opcode};

/// The most bytes that the code of a method may have.
pub(crate) const MAX_CODE: usize = 65535;

pub(crate) struct Layout {
    /// The nodes in order.
    pub(crate) order: Vec<NodeId>,
    /// The length of the code, at most [`MAX_CODE`].
    pub(crate) length: u16,
    offsets: SecondaryMap<NodeId, u32>,
    widened: EntitySet<NodeId>,
}

impl Layout {
    pub(crate) fn new(code: &CodeEditor) -> Result<Self, CodeError> {
        let mut offsets = SecondaryMap::new();
        if let Some(last) = code.node_count().checked_sub(1) {
            offsets[NodeId::from_index(last)] = 0;
        }
        let mut layout =
            Self { order: code.nodes().collect(), length: 0, offsets, widened: EntitySet::new() };
        let mut short_jumps = layout.short_jumps(code);
        loop {
            let length = layout.place(code);
            if length > 4 * MAX_CODE {
                // Padding may still shrink, but not by that much.
                return Err(CodeError::TooLong { length });
            }
            let mut widened = false;
            let mut failure = None;
            short_jumps.retain(|&(node, target)| {
                let reaches = match layout.distance(code, node, target) {
                    Ok(distance) => i16::try_from(distance).is_ok(),
                    Err(error) => {
                        failure.get_or_insert(error);
                        true
                    }
                };
                if !reaches {
                    layout.widened.insert(node);
                    widened = true;
                }
                reaches
            });
            if let Some(error) = failure {
                return Err(error);
            }
            if !widened {
                break;
            }
        }
        let length = layout.place(code);
        match u16::try_from(length) {
            Ok(0) => Err(CodeError::Empty),
            Ok(short) => {
                layout.length = short;
                Ok(layout)
            }
            Err(_) => Err(CodeError::TooLong { length }),
        }
    }

    /// The offset of a node; that of the one after it for a label.
    pub(crate) fn offset(&self, node: NodeId) -> u16 {
        self.offsets[node] as u16
    }

    /// The offset of a label; it may be the length of the code.
    pub(crate) fn label(&self, code: &CodeEditor, label: LabelId) -> Result<u16, CodeError> {
        self.label_offset(code, label).map(|offset| offset as u16)
    }

    /// The offset of a label that control comes to.
    pub(crate) fn target(&self, code: &CodeEditor, label: LabelId) -> Result<u16, CodeError> {
        match self.label(code, label)? {
            offset if offset < self.length => Ok(offset),
            _ => Err(CodeError::JumpToEnd(label)),
        }
    }

    /// From an instruction to the target of its jump.
    pub(crate) fn distance(
        &self,
        code: &CodeEditor,
        node: NodeId,
        target: LabelId,
    ) -> Result<i32, CodeError> {
        Ok(self.label_offset(code, target)? as i32 - self.offsets[node] as i32)
    }

    /// The form in which an instruction is written.
    pub(crate) fn form(&self, node: NodeId) -> Form {
        if self.widened.contains(node) { Form::Widened } else { Form::Given }
    }

    /// Whether any jump was widened.
    pub(crate) fn has_widened(&self) -> bool {
        !self.widened.is_empty()
    }

    fn label_offset(&self, code: &CodeEditor, label: LabelId) -> Result<u32, CodeError> {
        let node = code.binding(label).ok_or(CodeError::UnboundLabel(label))?;
        Ok(self.offsets[node])
    }

    fn short_jumps(&self, code: &CodeEditor) -> Vec<(NodeId, LabelId)> {
        let jumps = self.order.iter().filter_map(|&node| match *code.instruction(node)? {
            Instruction::Jump { opcode: Opcode::GotoW | Opcode::JsrW, .. } => None,
            Instruction::Jump { target, .. } => Some((node, target)),
            _ => None,
        });
        jumps.collect()
    }

    fn place(&mut self, code: &CodeEditor) -> usize {
        let mut offset = 0;
        for &node in &self.order {
            self.offsets[node] = offset as u32;
            if let Some(instruction) = code.instruction(node) {
                offset += encoded_length(instruction, offset, self.form(node));
            }
        }
        offset
    }
}
