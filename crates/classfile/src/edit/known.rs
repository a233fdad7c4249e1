//! What the verifier knows in front of an instruction, for code that is added as a target of jumps.

use crate::VerificationType;
use crate::edit::code::LabelFrame;
use crate::edit::frames::Chain;
use crate::edit::simulate::TypeState;
use crate::edit::{CodeEditor, CodeError, NodeId, PoolEditor};

/// Types of local variables, and of the operand stack with its top last.
pub type KnownTypes = (Vec<VerificationType<NodeId>>, Vec<VerificationType<NodeId>>);

impl CodeEditor {
    /// Whether jumps need frames where they lead to.
    pub fn has_frames(&self) -> bool {
        self.context.has_frames
    }

    /// What the verifier knows in front of `target`: the last frame before it, and what the
    /// instructions between do. Nothing if control does not come there from above and there is no frame, or
    /// `target` is not in the body.
    ///
    /// # Errors
    /// When an instruction on the way does not fit what is on the stack, or the pool is full.
    pub fn known_before(
        &self,
        target: NodeId,
        pool: &mut PoolEditor<'_>,
    ) -> Result<Option<KnownTypes>, CodeError> {
        let mut chain = Chain::at_entry(self, pool)?;
        let mut state = Some(TypeState::new(&chain.locals, &[]));
        for node in self.nodes() {
            if node == target {
                return Ok(state.map(|state| state.frame()));
            }
            if let Some(label) = self.label(node) {
                match self.frame(label) {
                    None => {}
                    Some(LabelFrame::Original(frame)) => {
                        chain.apply(frame, label)?;
                        state = Some(TypeState::new(&chain.locals, &chain.stack));
                    }
                    Some(LabelFrame::New { locals, stack }) => {
                        state = Some(TypeState::new(locals, stack));
                    }
                }
            } else if let (Some(known), Some(instruction)) = (&mut state, self.instruction(node)) {
                known.execute(node, instruction, self, pool)?;
                if instruction.ends_flow() {
                    state = None;
                }
            }
        }
        Ok(None)
    }
}
