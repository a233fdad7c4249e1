//! Rule `shared-constant-lock`: a monitor of an object that unrelated code may lock too.
//!
//! Such objects are string constants and interned strings, boxed values (Java keeps the
//! common ones and hands out the same again), the class objects of other classes, and what `getClass()` returns in a class
//! that others extend, which is not one object but one for each of them.
//!
//! **Guarantees**: every `synchronized` statement of the input is judged, reachable or not, where the
//! method itself or the field that it locks shows what the object is. **Misses**: objects that come through parameters
//! or collections whose type does not show it. **Reports wrongly** nothing that is known; whether other code does lock the
//! object is not looked at.

use std::collections::BTreeMap;

use unsnarl_classfile::flags;
use unsnarl_findings::{
    AccessKind, Effect, Evidence, Finding, Heuristic, Lock, Rule, Severity, Subject,
};
use unsnarl_program::body::{Constant, Operation, StatementId, Value};
use unsnarl_program::names::{Type, TypeId};

use crate::locks::uses::{Code, LockOperation};
use crate::wording::describe::{Describe, simple_name};
use crate::wording::lock_text;
use crate::{Input, Output};

/// The name in findings.
pub(crate) const NAME: &str = "static/shared-constant";
/// The most sites that a finding shows.
const MOST_PLACES: usize = 6;
/// How many fields may stand between a constant and its lock.
const MOST_FIELDS: usize = 2;
/// The classes of which Java keeps objects for common values (JLS 5.1.7).
const BOXES: [&[u8]; 6] = [
    b"java/lang/Boolean",
    b"java/lang/Byte",
    b"java/lang/Character",
    b"java/lang/Short",
    b"java/lang/Integer",
    b"java/lang/Long",
];

static ONE_FOR_ALL: Heuristic = Heuristic {
    name: "one-for-all",
    effect: Effect::raises(2),
    sentence: "all code of the JVM that has this value has this object",
};

static OWN_CLASS: Heuristic = Heuristic {
    name: "class-of-the-program",
    effect: Effect::lowers(2),
    sentence: "the class is part of the program, which may have agreed on it",
};

static NOT_EXTENDED: Heuristic = Heuristic {
    name: "not-extended",
    effect: Effect::lowers(2),
    sentence: "no class of the program extends this one, so that there is one class object",
};

static EXTENDED: Heuristic = Heuristic {
    name: "extended",
    effect: Effect::raises(1),
    sentence: "objects of subclasses lock another class object",
};

/// What is locked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shared {
    String(String),
    Interned,
    Boxed(TypeId),
    Class { ty: TypeId, is_input: bool },
    OwnClass { is_extended: bool },
}

/// Finds locks that others may have.
pub(crate) fn run(input: &Input<'_, '_>, output: &mut Output) {
    let mut found: BTreeMap<(String, Shared), Vec<(&Code, StatementId)>> = BTreeMap::new();
    for code in &input.lock_use.methods {
        for it in code.uses.iter().filter(|it| it.action == LockOperation::Enter) {
            if let Some(shared) = shared(input, code, it.value, MOST_FIELDS) {
                let class = input.describe.program.class_text(code.class);
                found.entry((class, shared)).or_default().push((code, it.statement));
            }
        }
    }
    let found = found.into_iter();
    output
        .findings
        .extend(found.map(|((class, shared), places)| finding(input, &class, &shared, &places)));
}

/// What is shared about a value, if anything is.
fn shared(input: &Input<'_, '_>, code: &Code, value: Value, most_fields: usize) -> Option<Shared> {
    let program = input.describe.program;
    let names = &program.names;
    let definition = code.body.values[value].definition;
    match &code.body.statements[definition].operation {
        Operation::New(_) => None,
        Operation::Constant(Constant::String(text)) => {
            Some(Shared::String(names.text(*text).into_owned()))
        }
        Operation::Constant(Constant::Class(ty)) => shared_class(input, code, *ty),
        Operation::Cast { value, .. } => shared(input, code, *value, most_fields),
        Operation::Invoke { arguments, .. } => {
            let callee = &program.methods()[code.callee(definition)?];
            let class = names.bytes(program.classes()[callee.class].name);
            match (class, names.bytes(callee.name)) {
                (b"java/lang/String", b"intern") => Some(Shared::Interned),
                (b"java/lang/Object", b"getClass") => {
                    let is_this = !code.is_static
                        && code.body.definition(*arguments.first()?).operation
                            == Operation::Parameter(0);
                    let is_final = program.classes()[code.class].access & flags::FINAL != 0;
                    let is_extended = input.lock_use.is_extended(code.class);
                    (is_this && !is_final).then_some(Shared::OwnClass { is_extended })
                }
                _ => boxed(input, code, value),
            }
        }
        Operation::GetField { .. } | Operation::GetStatic { .. } => {
            let field = code.field(definition)?;
            let stored = input.lock_use.stores(field);
            let mut stored = stored.filter_map(|(code, store)| {
                Some((code, crate::code::stored_value(&code.body, store)?))
            });
            match most_fields.checked_sub(1) {
                Some(most) if input.describe.is_input_field(field) => {
                    stored.find_map(|(code, value)| shared(input, code, value, most))
                }
                _ => boxed(input, code, value),
            }
        }
        _ => boxed(input, code, value),
    }
}

fn boxed(input: &Input<'_, '_>, code: &Code, value: Value) -> Option<Shared> {
    let names = &input.describe.program.names;
    let ty = code.ty(value);
    match names.ty(ty) {
        Type::Class(name) if BOXES.contains(&names.bytes(name)) => Some(Shared::Boxed(ty)),
        _ => None,
    }
}

/// The object of a class that does not belong to the same source file.
fn shared_class(input: &Input<'_, '_>, code: &Code, ty: TypeId) -> Option<Shared> {
    let program = input.describe.program;
    let class = input.lock_use.locked_class(ty)?;
    let outermost = |class| {
        let name = program.class_text(class);
        name.split('$').next().unwrap_or(&name).to_owned()
    };
    let is_inherited = program.is_subclass(code.class, class);
    (outermost(class) != outermost(code.class) && !is_inherited)
        .then(|| Shared::Class { ty, is_input: input.describe.is_input(class) })
}

fn finding(
    input: &Input<'_, '_>,
    class: &str,
    shared: &Shared,
    places: &[(&Code, StatementId)],
) -> Finding {
    let describe = input.describe;
    let (lock, what) = lock_and_words(describe, class, shared);
    let (code, statement) = places[0];
    let message = format!("{what} is locked at {}", lock_text::place(describe, code, statement));
    let shown = places.iter().take(MOST_PLACES);
    let accesses = shown
        .map(|&(code, at)| lock_text::access(describe, AccessKind::Acquire, code, at))
        .collect();
    let subject = Subject::locks(lock, []);
    let mut finding = Finding::new(
        Rule::SharedConstantLock,
        subject,
        Evidence::Suspected,
        NAME,
        message,
        accesses,
    );
    finding.reasons.push(match shared {
        Shared::Class { is_input: true, .. } => OWN_CLASS.holds(),
        Shared::OwnClass { is_extended: false } => NOT_EXTENDED.holds(),
        Shared::OwnClass { is_extended: true } => EXTENDED.holds(),
        _ => ONE_FOR_ALL.holds(),
    });
    if matches!(
        shared,
        Shared::Class { is_input: true, .. } | Shared::OwnClass { is_extended: false }
    ) {
        finding.severity = Severity::Note;
    }
    finding.hint =
        Some("lock an object of its own: private final Object lock = new Object()".to_owned());
    finding
}

/// The lock, and what it is in words.
fn lock_and_words(describe: &Describe<'_, '_>, class: &str, shared: &Shared) -> (Lock, String) {
    let names = &describe.program.names;
    let string = || Lock::of_class("java.lang.String");
    match shared {
        Shared::String(text) => {
            let text = format!("\"{text}\"");
            (string().labelled(text.clone()), format!("the string constant {text}"))
        }
        Shared::Interned => (string().labelled("interned"), "an interned string".to_owned()),
        Shared::Boxed(ty) => {
            let class = names.type_text(*ty);
            let what = format!("a boxed value, a {},", simple_name(&class));
            (Lock::of_class(class), what)
        }
        Shared::Class { ty, .. } => {
            let class = names.type_text(*ty);
            let what = format!("the class object of {class}");
            (Lock::of_class(class).labelled("class"), what)
        }
        Shared::OwnClass { .. } => {
            let what = format!("what getClass() returns in {}", simple_name(class));
            (Lock::of_class(class).labelled("getClass()"), what)
        }
    }
}
