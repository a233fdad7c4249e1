//! What `java.lang.Thread` and `java.lang.VirtualThread` need: fields for the runtime's state, and hooks
//! where a thread starts, ends, and is seen to have ended.
//!
//! The fields are injected when the class is loaded, before the VM is initialized, and again at every
//! retransformation; the calls are added by a retransformation when the runtime is there.

use unsnarl_classfile::edit::{ClassEditor, CodeEditor, EditError, MethodId, PoolEditor};
use unsnarl_classfile::{Instruction, flags};

use crate::RewriteError;
use crate::hooks::{self, Hook};
use crate::method::is_return;
use crate::probe::{EXTRA_STACK, Probe};

/// The class that gets the fields.
pub const THREAD: &[u8] = b"java/lang/Thread";
/// The class of virtual threads, where there is one.
pub const VIRTUAL_THREAD: &[u8] = b"java/lang/VirtualThread";
/// The names of the fields: the runtime's state, and the part of it that is asked for at every access. They are private,
/// so that serialization does not see them.
pub const STATE_FIELD: &[u8] = b"unsnarlState";
/// See [`STATE_FIELD`].
pub const TOKEN_FIELD: &[u8] = b"unsnarlToken";

/// `java.lang.Thread` with the fields for the runtime's state and nothing else.
///
/// # Errors
/// When the bytes are not a class file, or the class has no room.
pub fn inject(file: &[u8]) -> Result<Vec<u8>, RewriteError> {
    let mut class = ClassEditor::open(file)?;
    add_state(&mut class)?;
    Ok(class.write()?)
}

/// `java.lang.Thread` with the fields and the hooks, or `java.lang.VirtualThread` with the hooks.
///
/// # Errors
/// When the bytes are not a class file, or the class has no room.
pub fn hook(file: &[u8]) -> Result<Vec<u8>, RewriteError> {
    let mut class = ClassEditor::open(file)?;
    let is_virtual = class.original().name() == VIRTUAL_THREAD;
    if !is_virtual {
        add_state(&mut class)?;
    }
    for method in class.methods.keys() {
        let name = class.method_name(method).to_vec();
        let descriptor = class.method_descriptor(method).to_vec();
        match (is_virtual, &name[..], &descriptor[..]) {
            (false, b"exit", b"()V") => at_start(&mut class, method, hooks::THREAD_ENDS)?,
            (false, b"join", b"(J)V" | b"(Ljava/time/Duration;)Z") => {
                at_returns(&mut class, method, hooks::THREAD_JOINED)?;
            }
            (true, b"start", b"(Ljdk/internal/vm/ThreadContainer;)V") => {
                at_start(&mut class, method, hooks::THREAD_STARTS)?;
            }
            (true, b"run", b"(Ljava/lang/Runnable;)V") => {
                at_returns(&mut class, method, hooks::THREAD_ENDS)?;
            }
            (false, ..) => before_start0(&mut class, method)?,
            _ => {}
        }
    }
    Ok(class.write()?)
}

/// Whether all that a method orders is seen by a hook inside of it.
pub(crate) fn is_hooked(class: &[u8], name: &[u8]) -> bool {
    class == THREAD && name == b"join"
}

/// Whether a method with this name and descriptor is `Thread.join`, of which only the end is seen inside.
pub(crate) fn is_join(name: &[u8], descriptor: &[u8]) -> bool {
    name == b"join"
        && matches!(descriptor, b"()V" | b"(J)V" | b"(JI)V" | b"(Ljava/time/Duration;)Z")
}

fn add_state(class: &mut ClassEditor<'_>) -> Result<(), EditError> {
    let access = flags::PRIVATE | flags::TRANSIENT | flags::SYNTHETIC;
    // Reflection looks the types of fields up, and the runtime may not be there.
    class.add_field(access, STATE_FIELD, b"Ljava/lang/Object;")?;
    class.add_field(access, TOKEN_FIELD, b"J")?;
    Ok(())
}

/// All ways to start a platform thread lead to the native `start0`.
fn before_start0(class: &mut ClassEditor<'_>, method: MethodId) -> Result<(), RewriteError> {
    edit(class, method, |code, pool| {
        let calls: Vec<_> = code
            .instructions()
            .filter(|(_, instruction)| match instruction {
                Instruction::Invoke { method, .. } => {
                    pool.member(*method).is_some_and(|member| member.name == b"start0")
                }
                _ => false,
            })
            .map(|(node, _)| node)
            .collect();
        for &call in &calls {
            let mut probe = Probe::before(code, pool, call);
            probe.duplicate().call_without_site(hooks::THREAD_STARTS)?;
        }
        Ok(!calls.is_empty())
    })
}

fn at_start(class: &mut ClassEditor<'_>, method: MethodId, hook: Hook) -> Result<(), RewriteError> {
    edit(class, method, |code, pool| {
        let Some(first) = code.first() else { return Ok(false) };
        Probe::before(code, pool, first).call_with_this(hook)?;
        Ok(true)
    })
}

fn at_returns(
    class: &mut ClassEditor<'_>,
    method: MethodId,
    hook: Hook,
) -> Result<(), RewriteError> {
    edit(class, method, |code, pool| {
        let returns: Vec<_> = code
            .instructions()
            .filter(|(_, instruction)| is_return(instruction.opcode()))
            .map(|(node, _)| node)
            .collect();
        for &node in &returns {
            Probe::before(code, pool, node).call_with_this(hook)?;
        }
        Ok(!returns.is_empty())
    })
}

/// Changes a body; `change` says whether it did.
fn edit(
    class: &mut ClassEditor<'_>,
    method: MethodId,
    change: impl FnOnce(&mut CodeEditor, &mut PoolEditor<'_>) -> Result<bool, EditError>,
) -> Result<(), RewriteError> {
    let Some(mut code) = class.open_code(method)? else { return Ok(()) };
    if change(&mut code, &mut class.pool)? {
        code.max_stack = code.max_stack.saturating_add(EXTRA_STACK);
        class.set_code(method, &code)?;
    }
    Ok(())
}
