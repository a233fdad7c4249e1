//! Straight-line code that passes what an instruction works on to a hook.
//!
//! On entry and on exit the stack is what the instruction needs; comments show its top on the right. A
//! `long` or `double` takes two words and is written as `W`.

use unsnarl_classfile::Opcode::*;
use unsnarl_classfile::edit::{CodeEditor, Inserter, NodeId, PoolEditor, PoolError};
use unsnarl_classfile::{ConstantIndex, Instruction};
use unsnarl_recording::SiteNumber;

use crate::hooks::Hook;

/// How many words more than before a probe needs on the stack.
pub(crate) const EXTRA_STACK: u16 = 4;

/// Writes probes in front of one node.
pub(crate) struct Probe<'e, 'a>(Inserter<'e, 'a>);

impl<'e, 'a> Probe<'e, 'a> {
    pub(crate) fn before(
        code: &'e mut CodeEditor,
        pool: &'e mut PoolEditor<'a>,
        node: NodeId,
    ) -> Self {
        Self(code.before(node, pool))
    }

    /// `.., object` of a `getfield`, `monitorexit`.
    pub(crate) fn top(&mut self, hook: Hook, site: SiteNumber) -> Result<(), PoolError> {
        self.0.plain(Dup);
        self.call(hook, site)
    }

    /// `.., object, value` of a `putfield`; `words` is the size of the value.
    pub(crate) fn below_value(
        &mut self,
        words: usize,
        hook: Hook,
        site: SiteNumber,
    ) -> Result<(), PoolError> {
        self.duplicate_below(words);
        self.call(hook, site)
    }

    /// Copies the object below a value of so many words to the top.
    pub(crate) fn duplicate_below(&mut self, words: usize) -> &mut Self {
        if words == 2 {
            // object W -> W object W -> W object -> object W object
            self.0.plain(Dup2X1).plain(Pop2).plain(DupX2);
        } else {
            // object value -> object value object value -> object value object
            self.0.plain(Dup2).plain(Pop);
        }
        self
    }

    /// Calls a hook for several sites, with the object on the stack.
    pub(crate) fn call_for_all(
        &mut self,
        hook: Hook,
        first: SiteNumber,
        count: u32,
    ) -> Result<(), PoolError> {
        self.0.int(first.0.cast_signed())?.int(count.cast_signed())?.invoke_static(
            hook.class,
            hook.name,
            hook.descriptor,
        )?;
        Ok(())
    }

    /// `.., array, index` of a load from an array.
    pub(crate) fn element(&mut self, hook: Hook, site: SiteNumber) -> Result<(), PoolError> {
        self.0.plain(Dup2);
        self.call(hook, site)
    }

    /// `.., array, index, value` of a store into an array; `words` is the size of the value.
    pub(crate) fn element_below_value(
        &mut self,
        words: usize,
        hook: Hook,
        site: SiteNumber,
    ) -> Result<(), PoolError> {
        if words == 2 {
            // array index W -> W array index W -> W array index -> array index W array index
            self.0.plain(Dup2X2).plain(Pop2).plain(Dup2X2);
        } else {
            // array index value -> value array index value -> value array index
            //   -> array index value array index
            self.0.plain(DupX2).plain(Pop).plain(Dup2X1);
        }
        self.call(hook, site)
    }

    /// Calls a hook whose other arguments are on the stack already.
    pub(crate) fn call(&mut self, hook: Hook, site: SiteNumber) -> Result<(), PoolError> {
        self.0.int(site.0.cast_signed())?.invoke_static(hook.class, hook.name, hook.descriptor)?;
        Ok(())
    }

    /// Reads a static field whose value has so many words, and drops the value.
    pub(crate) fn read_static_for_nothing(&mut self, field: ConstantIndex, words: usize) {
        self.0.instruction(Instruction::Field { opcode: GetStatic, field });
        self.0.plain(if words == 2 { Pop2 } else { Pop });
    }

    /// Calls a hook with `this`, and with nothing else.
    pub(crate) fn call_with_this(&mut self, hook: Hook) -> Result<(), PoolError> {
        self.0.local(ALoad, 0).invoke_static(hook.class, hook.name, hook.descriptor)?;
        Ok(())
    }

    /// Pushes `this`.
    pub(crate) fn this(&mut self) -> &mut Self {
        self.0.local(ALoad, 0);
        self
    }

    /// Pushes a class constant that the pool has already.
    pub(crate) fn class(&mut self, class: ConstantIndex) -> &mut Self {
        self.0.instruction(Instruction::LoadConstant { opcode: Ldc, constant: class });
        self
    }

    /// Copies the top of the stack.
    pub(crate) fn duplicate(&mut self) -> &mut Self {
        self.0.plain(Dup);
        self
    }

    /// Calls a hook after a call whose receiver was duplicated: `.., receiver, result` becomes `.., result`.
    pub(crate) fn original_and_copy(&mut self, hook: Hook) -> Result<(), PoolError> {
        self.0.plain(DupX1).invoke_static(hook.class, hook.name, hook.descriptor)?;
        Ok(())
    }

    /// Calls a hook with the copy that [`Probe::duplicate`] made.
    pub(crate) fn call_without_site(&mut self, hook: Hook) -> Result<(), PoolError> {
        self.0.invoke_static(hook.class, hook.name, hook.descriptor)?;
        Ok(())
    }
}
