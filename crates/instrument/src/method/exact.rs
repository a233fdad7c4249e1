//! Probes around accesses that are one step with their numbers.

use unsnarl_classfile::edit::{CodeError, NodeId, PoolEditor};
use unsnarl_classfile::{Instruction, Opcode};
use unsnarl_recording::SiteNumber;

use super::MethodRewriter;
use crate::hooks;
use crate::probe::Probe;

impl MethodRewriter<'_, '_> {
    /// An access to a field with a value of so many words, of this class or of another.
    pub(super) fn exact_field(
        &mut self,
        node: NodeId,
        words: usize,
        is_of_other_class: bool,
        site: SiteNumber,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let Some(&Instruction::Field { opcode, field }) = self.code.instruction(node) else {
            return Ok(());
        };
        let mut probe = Probe::before(&mut self.code, pool, node);
        match opcode {
            Opcode::GetField => probe.top(hooks::EXACT_READ, site)?,
            Opcode::PutField => probe.below_value(words, hooks::EXACT_WRITE, site)?,
            _ => {
                if is_of_other_class {
                    // The class is initialized before the lock is taken, not meanwhile.
                    probe.read_static_for_nothing(field, words);
                }
                let is_read = opcode == Opcode::GetStatic;
                let hook =
                    if is_read { hooks::EXACT_STATIC_READ } else { hooks::EXACT_STATIC_WRITE };
                probe.call(hook, site)?;
            }
        }
        self.exact_ends(node, pool)
    }

    /// A load from an array, or a store of a value of so many words.
    pub(super) fn exact_element(
        &mut self,
        node: NodeId,
        stored_words: Option<usize>,
        site: SiteNumber,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let mut probe = Probe::before(&mut self.code, pool, node);
        match stored_words {
            None => probe.element(hooks::EXACT_ELEMENT_READ, site)?,
            Some(words) => probe.element_below_value(words, hooks::EXACT_ELEMENT_WRITE, site)?,
        }
        self.exact_ends(node, pool)
    }

    fn exact_ends(&mut self, node: NodeId, pool: &mut PoolEditor<'_>) -> Result<(), CodeError> {
        if let Some(next) = self.code.next(node) {
            Probe::before(&mut self.code, pool, next).call_without_site(hooks::EXACT_ENDS)?;
        }
        Ok(())
    }
}
