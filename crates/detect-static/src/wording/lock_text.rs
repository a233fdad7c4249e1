//! How findings call the locks that [`crate::locks::uses`] knows.

use unsnarl_findings::{Access, AccessKind, Frame, Lock, MethodReference};
use unsnarl_program::body::StatementId;

use crate::locks::name::{Name, NamePart, Root};
use crate::locks::uses::{Code, Use};
use crate::wording::describe::{Describe, simple_name};

/// The lock of a use, with how the code names it.
pub(crate) fn lock(describe: &Describe<'_, '_>, code: &Code, it: &Use) -> Lock {
    let program = describe.program;
    let class = match (it.lock.root, it.lock.field()) {
        (Root::Class(ty), _) => ty,
        (_, Some(field)) => program.fields()[field].ty,
        _ => code.ty(it.value),
    };
    let lock = Lock::of_class(program.names.type_text(class));
    match label(describe, code, &it.lock) {
        Some(label) => lock.labelled(label),
        None => lock,
    }
}

/// `this.lock`, `Bank.LOCK`, `class`.
fn label(describe: &Describe<'_, '_>, code: &Code, name: &Name) -> Option<String> {
    let names = &describe.program.names;
    let mut text = match name.root {
        Root::Parameter(0) if !code.is_static => "this".to_owned(),
        Root::Static(field) => describe.short_field(field),
        Root::Class(_) => "class".to_owned(),
        _ if name.parts.is_empty() => return None,
        _ => String::new(),
    };
    for step in &name.parts {
        match *step {
            NamePart::Field(field) => {
                let separator = if text.is_empty() { "" } else { "." };
                text = format!(
                    "{text}{separator}{}",
                    names.text(describe.program.fields()[field].name)
                );
            }
            NamePart::Call(method) => {
                let separator = if text.is_empty() { "" } else { "." };
                let method = names.text(names.method_ref_data(method).name);
                text = format!("{text}{separator}{method}()");
            }
            NamePart::ElementAt(_) | NamePart::Element(_) => text.push_str("[]"),
        }
    }
    Some(text)
}

/// A lock in a sentence: `this.lock`, or its class where it has no name.
pub(crate) fn short(lock: &Lock) -> String {
    match (&lock.label, &lock.class) {
        (Some(label), Some(class)) if label == "class" || label == "this" => {
            format!("{} ({label})", simple_name(class))
        }
        (Some(label), _) => label.clone(),
        (None, Some(class)) => format!("a {}", simple_name(class)),
        (None, None) => "a lock".to_owned(),
    }
}

/// The step of a thread at a statement.
pub(crate) fn access(
    describe: &Describe<'_, '_>,
    kind: AccessKind,
    code: &Code,
    statement: StatementId,
) -> Access {
    Access::new(kind, vec![describe.frame(code.method, statement)])
}

/// `Bank.java:7`.
pub(crate) fn place(describe: &Describe<'_, '_>, code: &Code, statement: StatementId) -> String {
    describe.place_of(code.method, statement)
}

/// A method as the subject of a finding.
pub(crate) fn method(
    describe: &Describe<'_, '_>,
    code: &Code,
    statement: StatementId,
) -> MethodReference {
    match describe.frame(code.method, statement) {
        Frame::Code { method, .. } => method,
        Frame::Location(_) => unreachable!("a frame of code"),
    }
}

/// `Bank.transfer`.
pub(crate) fn short_method(describe: &Describe<'_, '_>, code: &Code) -> String {
    let class = describe.program.class_text(code.class);
    let name = describe.program.names.text(describe.program.methods()[code.method].name);
    format!("{}.{name}", simple_name(&class))
}
