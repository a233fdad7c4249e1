//! Hidden classes, such as those of lambda expressions: the JVM shows them to no agent, so they are
//! rewritten where the JDK hands their bytes to the JVM.

use unsnarl_classfile::edit::ClassEditor;
use unsnarl_classfile::read::ClassFile;

use crate::probe::EXTRA_STACK;
use crate::{RewriteError, hooks};

/// The method through which the JDK defines hidden classes. It is in an anonymous class, whose name differs
/// between releases.
const NAME: &[u8] = b"defineClass";
const DESCRIPTOR: &[u8] = b"(Ljava/lang/ClassLoader;Ljava/lang/Class;Ljava/lang/String;[B\
    Ljava/security/ProtectionDomain;ZILjava/lang/Object;)Ljava/lang/Class;";
/// The local variable in which the bytes come.
const BYTES: u16 = 4;
/// The beginning of the class's name.
const DEFINER: &[u8] = b"java/lang/System$";

/// Whether a class has the method that defines hidden classes.
#[must_use]
pub fn is_definer(class: &ClassFile<'_>) -> bool {
    class.name().starts_with(DEFINER)
        && class.methods.iter().any(|method| {
            class.member_name(method) == NAME && class.member_descriptor(method) == DESCRIPTOR
        })
}

/// The class with a hook that is asked for other bytes.
///
/// # Errors
/// When the bytes are not a class file, or the class has no room.
pub fn hook(file: &[u8]) -> Result<Vec<u8>, RewriteError> {
    use unsnarl_classfile::Opcode::{ALoad, AStore};
    let mut class = ClassEditor::open(file)?;
    let Some(method) = class.find_method(NAME, DESCRIPTOR) else { return Ok(class.write()?) };
    if let Some(mut code) = class.open_code(method)?
        && let Some(first) = code.first()
    {
        let hook = hooks::HIDDEN_CLASS;
        let pool = &mut class.pool;
        let mut before = code.before(first, pool);
        before.local(ALoad, BYTES);
        let invoked = before.invoke_static(hook.class, hook.name, hook.descriptor);
        invoked.map_err(unsnarl_classfile::edit::EditError::from)?.local(AStore, BYTES);
        code.max_stack = code.max_stack.saturating_add(EXTRA_STACK);
        class.set_code(method, &code)?;
    }
    Ok(class.write()?)
}
