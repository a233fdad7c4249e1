//! What the class needs that starts processes: a look at every command, so that JVMs which a program starts
//! are watched as well.

use unsnarl_classfile::Opcode;
use unsnarl_classfile::edit::ClassEditor;

use crate::probe::EXTRA_STACK;
use crate::{RewriteError, hooks};

/// The class through which all processes are started.
pub const PROCESS: &[u8] = b"java/lang/ProcessImpl";

/// `java.lang.ProcessImpl` with the command, the first argument of `start`, replaced by what the runtime
/// makes of it.
///
/// # Errors
/// When the bytes are not a class file, or the class has no room.
pub fn hook(file: &[u8]) -> Result<Vec<u8>, RewriteError> {
    let mut class = ClassEditor::open(file)?;
    for method in class.methods.keys() {
        if class.method_name(method) != b"start"
            || !class.method_descriptor(method).starts_with(b"([Ljava/lang/String;")
        {
            continue;
        }
        let Some(mut code) = class.open_code(method)? else { continue };
        if let Some(first) = code.first() {
            let hook = hooks::PROCESS_STARTS;
            code.before(first, &mut class.pool)
                .local(Opcode::ALoad, 0)
                .invoke_static(hook.class, hook.name, hook.descriptor)
                .map_err(unsnarl_classfile::edit::EditError::from)?
                .local(Opcode::AStore, 0);
            code.max_stack = code.max_stack.saturating_add(EXTRA_STACK);
            class.set_code(method, &code)?;
        }
    }
    Ok(class.write()?)
}
