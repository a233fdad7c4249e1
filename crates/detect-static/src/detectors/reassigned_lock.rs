//! Rule `reassigned-lock`: a lock is taken through a field that is assigned again.
//!
//! A lock that is not one object protects nothing: *lock not unique* in [vonPraun04 §4.5.1].
//! A field counts as assigned again when a method assigns it that is no constructor, no class
//! initializer, and not called by these alone, unless the object was made there.
//!
//! **Guarantees**: every field of the input through which its code takes a lock is judged, reachable or not.
//! **Misses**: locks in arrays and collections, and assignments by reflection. **Reports wrongly** where
//! the assignment always comes before other threads see the object.

use std::collections::BTreeMap;

use unsnarl_classfile::flags;
use unsnarl_findings::{AccessKind, Effect, Evidence, Finding, Heuristic, Rule, Subject};
use unsnarl_program::body::{Constant, Operation, StatementId, Value};
use unsnarl_program::{FieldId, MethodId};

use crate::code as values;
use crate::locks::uses::{Code, LockOperation, LockUse};
use crate::wording::lock_text;
use crate::{Input, Output};

/// The name in findings.
pub(crate) const NAME: &str = "static/reassigned";
/// The most sites of a kind that a finding shows.
const MOST_PLACES: usize = 3;
/// How many methods may stand between a constructor and an assignment.
const MOST_CALLS: usize = 3;
/// Methods that make an object as constructors do: those of serialization, and copies.
const MAKERS: [&[u8]; 4] = [b"readObject", b"readExternal", b"readResolve", b"clone"];

static UNDER_ITSELF: Heuristic = Heuristic {
    name: "assigned-under-itself",
    effect: Effect::raises(2),
    sentence: "a method that locks the object in the field puts another one there",
};

static WHEN_NEEDED: Heuristic = Heuristic {
    name: "made-when-needed",
    effect: Effect::lowers(1),
    sentence: "the field is assigned only by methods that test it first, as if once",
};

static SET_TO_NULL: Heuristic = Heuristic {
    name: "set-to-null",
    effect: Effect::lowers(1),
    sentence: "the field is only ever set to null, as when its object is closed",
};

/// Finds locks in fields that are assigned again.
pub(crate) fn run(input: &Input<'_, '_>, output: &mut Output) {
    let mut locked: BTreeMap<FieldId, Vec<(&Code, StatementId)>> = BTreeMap::new();
    for code in &input.lock_use.methods {
        for it in &code.uses {
            let takes = matches!(it.action, LockOperation::Enter | LockOperation::Acquire { .. });
            if let Some(field) = code.loaded_from(it.value).filter(|_| takes) {
                locked.entry(field).or_default().push((code, it.statement));
            }
        }
    }
    for (field, places) in locked {
        let data = &input.describe.program.fields()[field];
        if data.access & flags::FINAL == 0 && input.describe.is_input_field(field) {
            output.findings.extend(judge(input, field, &places));
        }
    }
}

fn judge(
    input: &Input<'_, '_>,
    field: FieldId,
    places: &[(&Code, StatementId)],
) -> Option<Finding> {
    let describe = input.describe;
    let names = &describe.program.names;
    let is_late = |&(code, store): &(&Code, StatementId)| {
        !is_on_new_object(input, code, store)
            && !is_initializing(input, &input.lock_use, code.method, MOST_CALLS)
    };
    let stores: Vec<(&Code, StatementId)> = input.lock_use.stores(field).filter(is_late).collect();
    let &(store_code, store) = stores.first()?;
    let &(lock_code, lock) = places.first()?;
    let message = format!(
        "{}, which is locked at {}, is assigned again at {}",
        describe.short_field(field),
        lock_text::place(describe, lock_code, lock),
        lock_text::place(describe, store_code, store)
    );
    let accesses = |kind, all: &[(&Code, StatementId)]| {
        let first = all.iter().take(MOST_PLACES);
        first.map(|&(code, at)| lock_text::access(describe, kind, code, at)).collect::<Vec<_>>()
    };
    let mut all = accesses(AccessKind::Acquire, places);
    all.extend(accesses(AccessKind::Write, &stores));
    let subject = Subject::variable(describe.field(field));
    let mut finding =
        Finding::new(Rule::ReassignedLock, subject, Evidence::Suspected, NAME, message, all);
    let is_under_itself = stores.iter().any(|&(code, store)| {
        let locks_first =
            |&&(other, lock): &&(&Code, StatementId)| other.method == code.method && lock < store;
        places.iter().any(|place| locks_first(&place))
    });
    let is_null =
        |code: &Code, store| values::stored_constant(&code.body, store) == Some(Constant::Null);
    let mut of_values = stores.iter().filter(|(code, store)| !is_null(code, *store)).peekable();
    if of_values.peek().is_none() {
        finding.reasons.push(SET_TO_NULL.holds());
    } else if of_values.all(|(code, store)| values::is_tested(names, &code.body, *store)) {
        finding.reasons.push(WHEN_NEEDED.holds());
    } else if is_under_itself {
        finding.reasons.push(UNDER_ITSELF.holds());
    }
    finding.hint = Some(
        "make the field final, or lock an object of its own that is in a final field".to_owned(),
    );
    Some(finding)
}

/// Whether a field of an object is assigned that the method made.
fn is_on_new_object(input: &Input<'_, '_>, code: &Code, store: StatementId) -> bool {
    let Operation::PutField { object, .. } = code.body.statements[store].operation else {
        return false;
    };
    is_new(input, code, object)
}

fn is_new(input: &Input<'_, '_>, code: &Code, value: Value) -> bool {
    let program = input.describe.program;
    let definition = code.body.values[value].definition;
    match code.body.statements[definition].operation {
        Operation::New(_) => true,
        Operation::Cast { value, .. } => is_new(input, code, value),
        Operation::Invoke { .. } => code
            .callee(definition)
            .is_some_and(|callee| program.names.bytes(program.methods()[callee].name) == b"clone"),
        _ => false,
    }
}

/// Whether a method runs only while an object or class is made.
fn is_initializing(
    input: &Input<'_, '_>,
    lock_use: &LockUse,
    method: MethodId,
    most_calls: usize,
) -> bool {
    let Some(code) = lock_use.code(method) else { return false };
    let name = input.describe.program.names.bytes(input.describe.program.methods()[method].name);
    if code.is_initializer || MAKERS.contains(&name) {
        return true;
    }
    let mut callers = lock_use.callers(method).peekable();
    most_calls > 0
        && callers.peek().is_some()
        && callers.all(|(caller, _)| {
            caller.method != method
                && is_initializing(input, lock_use, caller.method, most_calls - 1)
        })
}
