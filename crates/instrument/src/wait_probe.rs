//! The probes around a call of `Object.wait`, which is final: whatever class the code names, the method is that one.
//!
//! The call stays what it is, so that its exceptions and the stack of a waiting thread are those of the program.

use std::collections::HashSet;

use unsnarl_classfile::Opcode::*;
use unsnarl_classfile::edit::{CodeEditor, CodeError, LabelId, NodeId, PoolEditor};
use unsnarl_classfile::{Instruction, Opcode};
use unsnarl_recording::SiteNumber;

use crate::call_probe::{catch, interrupted, invoke};
use crate::hooks;

/// Whether a method with this name and descriptor is `Object.wait`.
pub(crate) fn is_wait(name: &[u8], descriptor: &[u8]) -> bool {
    name == b"wait" && matches!(descriptor, b"()V" | b"(J)V" | b"(JI)V")
}

/// The calls that are made whenever a monitor is entered, or the method, if it is synchronized: no jump leads around them.
pub(crate) fn untested(
    code: &CodeEditor,
    pool: &PoolEditor<'_>,
    is_synchronized: bool,
) -> HashSet<NodeId> {
    let instructions = code.instructions();
    let targets: HashSet<LabelId> =
        instructions.flat_map(|(_, instruction)| instruction.targets().copied()).collect();
    let mut found = HashSet::new();
    let mut is_certain = is_synchronized;
    for node in code.nodes() {
        is_certain &= code.label(node).is_none_or(|label| !targets.contains(&label));
        let Some(instruction) = code.instruction(node) else { continue };
        match *instruction {
            Instruction::Plain(MonitorEnter) => is_certain = true,
            Instruction::Invoke { opcode: Opcode::InvokeVirtual, method } if is_certain => {
                let member = pool.member(method);
                if member.is_some_and(|member| is_wait(member.name, member.descriptor)) {
                    found.insert(node);
                }
            }
            _ => is_certain &= !instruction.ends_flow() && instruction.targets().next().is_none(),
        }
    }
    found
}

/// Puts the probes around the call, which `node` is: in front of it the monitor is given up, after it and when
/// it fails the thread has it again; the second site is that of an interrupt. Returns whether a failure is seen. The variables
/// from `first_local` on are free.
pub(crate) fn insert(
    code: &mut CodeEditor,
    pool: &mut PoolEditor<'_>,
    node: NodeId,
    descriptor: &[u8],
    [site, interrupt]: [SiteNumber; 2],
    first_local: u16,
) -> Result<bool, CodeError> {
    let Some(behind) = first_local.checked_add(4) else { return Ok(false) };
    let (object, millis, nanos) = (first_local, first_local + 1, first_local + 3);
    code.max_locals = code.max_locals.max(behind);
    let (has_millis, has_nanos) = (descriptor != b"()V", descriptor == b"(JI)V");
    let site = site.0.cast_signed();

    let mut before = code.before(node, pool);
    if has_nanos {
        before.local(IStore, nanos);
    }
    if has_millis {
        before.local(LStore, millis);
    }
    before.plain(Dup).plain(Dup).local(AStore, object).int(site)?;
    invoke(&mut before, hooks::WAITS)?;
    if has_millis {
        before.local(LLoad, millis);
    }
    if has_nanos {
        before.local(ILoad, nanos);
    }
    // Code that ends with a call is refused by the verifier anyway.
    let Some(next) = code.next(node) else { return Ok(true) };
    let mut after = code.before(next, pool);
    after.local(ALoad, object).int(site)?;
    invoke(&mut after, hooks::WAKES)?;
    after.plain(AConstNull).local(AStore, object);
    catch(code, pool, node, |handler| {
        handler.local(ALoad, object).int(site)?;
        invoke(handler, hooks::WAKES)?;
        interrupted(handler, interrupt)
    })
}
