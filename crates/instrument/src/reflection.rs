//! Injected fields are not seen by reflection: all ways to ask a class for its fields lead through
//! `jdk.internal.reflect.Reflection.filterFields`.

use unsnarl_classfile::Opcode;
use unsnarl_classfile::edit::ClassEditor;

use crate::probe::Probe;
use crate::{RewriteError, hooks};

/// The class that filters fields.
pub const REFLECTION: &[u8] = b"jdk/internal/reflect/Reflection";

/// The class with a hook where it has filtered fields.
///
/// # Errors
/// When the bytes are not a class file, or the class has no room.
pub fn hook(file: &[u8]) -> Result<Vec<u8>, RewriteError> {
    let mut class = ClassEditor::open(file)?;
    let descriptor = b"(Ljava/lang/Class;[Ljava/lang/reflect/Field;)[Ljava/lang/reflect/Field;";
    if let Some(method) = class.find_method(b"filterFields", descriptor)
        && let Some(mut code) = class.open_code(method)?
    {
        let returns: Vec<_> = code
            .instructions()
            .filter(|(_, instruction)| instruction.opcode() == Opcode::AReturn)
            .map(|(node, _)| node)
            .collect();
        for node in returns {
            let mut probe = Probe::before(&mut code, &mut class.pool, node);
            probe
                .call_without_site(hooks::VISIBLE)
                .map_err(unsnarl_classfile::edit::EditError::Pool)?;
        }
        class.set_code(method, &code)?;
    }
    Ok(class.write()?)
}
