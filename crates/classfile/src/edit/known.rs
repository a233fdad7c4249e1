//! What the verifier knows in front of an instruction, for code that is added as a target of jumps.

use crate::VerificationType;
use crate::edit::code::LabelFrame;
use crate::edit::frames::Chain;
use crate::edit::simulate::TypeState;
use crate::edit::{CodeEditor, CodeError, LabelId, NodeId, PoolEditor};

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
        let mut found = None;
        self.each_known(pool, |node, state| {
            if node == target {
                found = state.map(TypeState::frame);
            }
            node != target
        })?;
        Ok(found)
    }

    /// The frames at labels from `first` to `last`, in the order of the text.
    ///
    /// # Errors
    /// As those of [`known_before`](Self::known_before).
    pub fn frames_between(
        &self,
        first: NodeId,
        last: NodeId,
        pool: &mut PoolEditor<'_>,
    ) -> Result<Vec<(LabelId, KnownTypes)>, CodeError> {
        let mut frames = Vec::new();
        let mut label = None;
        let mut inside = false;
        self.each_known(pool, |node, state| {
            if let (Some(label), Some(state)) = (label.take(), state) {
                frames.push((label, state.frame()));
            }
            inside |= node == first;
            if inside {
                label = self.label(node).filter(|&label| self.frame(label).is_some());
            }
            node != last
        })?;
        Ok(frames)
    }

    /// The types that local variables have in front of every instruction from `first` to `last`.
    ///
    /// # Errors
    /// As those of [`known_before`](Self::known_before).
    pub fn lasting_between(
        &self,
        first: NodeId,
        last: NodeId,
        pool: &mut PoolEditor<'_>,
    ) -> Result<Vec<VerificationType<NodeId>>, CodeError> {
        let mut lasting: Option<Vec<VerificationType<NodeId>>> = None;
        let mut inside = false;
        self.each_known(pool, |node, state| {
            inside |= node == first;
            if let (true, Some(state), None) = (inside, state, self.label(node)) {
                let lasting = lasting.get_or_insert_with(|| state.slots().to_vec());
                lasting.truncate(state.slots().len());
                for (known, other) in lasting.iter_mut().zip(state.slots()) {
                    if known != other {
                        *known = VerificationType::Top;
                    }
                }
            }
            node != last
        })?;
        Ok(TypeState::of_slots(lasting.unwrap_or_default()).frame().0)
    }

    /// Shows one node after the other with what is known in front of it, as long as more are wanted.
    fn each_known(
        &self,
        pool: &mut PoolEditor<'_>,
        mut show: impl FnMut(NodeId, Option<&TypeState>) -> bool,
    ) -> Result<(), CodeError> {
        let mut chain = Chain::at_entry(self, pool)?;
        let mut state = Some(TypeState::new(&chain.locals, &[]));
        for node in self.nodes() {
            if !show(node, state.as_ref()) {
                break;
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
        Ok(())
    }
}
