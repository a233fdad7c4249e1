//! Whatever the bytes are, lowering a class to SSA ends in bodies that are well formed, or in an error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unsnarl_classfile::read::{Attribute, ClassFile};
use unsnarl_program::check::check;
use unsnarl_program::lower::{ClassContext, lower};
use unsnarl_program::names::Names;

fuzz_target!(|bytes: &[u8]| {
    let Ok(class) = ClassFile::read(bytes) else { return };
    let bootstraps = match class.attributes.find(&class.pool, b"BootstrapMethods") {
        Ok(Some(attribute)) => match attribute.decode(&class.pool) {
            Ok(Attribute::BootstrapMethods(methods)) => methods,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    let mut names = Names::new();
    let name = names.symbol(class.name());
    let context = ClassContext { class: &class, name, bootstraps: &bootstraps };
    for (index, method) in class.methods.iter().enumerate() {
        if let Ok(Some(lowered)) = lower(context, index, method, &mut names) {
            if let Err(problem) = check(&lowered.body) {
                panic!("{problem}");
            }
        }
    }
});
