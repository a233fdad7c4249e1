//! What a statement reads and writes in a context: fields, elements, and the contents of library
//! objects as models say.

use std::borrow::Cow;

use smallvec::{SmallVec, smallvec};
use unsnarl_classfile::flags;
use unsnarl_models::{Effect, ModelPlace, Outcome};
use unsnarl_program::Program;
use unsnarl_program::body::{Operation, StatementId, Value};
use unsnarl_program::heap::{Heap, InstanceId, ModelCall, Object, ObjectId};
use unsnarl_program::names::Type;

use crate::event::{AccessKind, Accessed};
use crate::execute::state::Channel;
use crate::facts::method::MethodFacts;

/// An access to variables.
#[derive(Clone, Debug)]
pub(crate) struct Access<'h> {
    pub(crate) kind: AccessKind,
    /// The reference by which the object is accessed, if a value of the method is that.
    pub(crate) base: Option<Value>,
    /// The objects, sorted; none for a static field. Borrowed if they are all that the base may refer to.
    pub(crate) objects: Cow<'h, [ObjectId]>,
    pub(crate) accessed: Accessed,
    pub(crate) is_atomic: bool,
    /// A library method that takes the lock of the object for the access.
    pub(crate) is_locked: bool,
    /// Whether it is written depends on what was there, in one step.
    pub(crate) is_conditional: bool,
    pub(crate) written: Option<Value>,
}

impl Access<'_> {
    pub(crate) fn is_static(&self) -> bool {
        self.base.is_none() && self.objects.is_empty()
    }
}

/// The accesses of a statement, but for those of final fields.
pub(crate) fn accesses<'h>(
    program: &Program<'_>,
    heap: &'h Heap<'_>,
    facts: &MethodFacts,
    instance: InstanceId,
    statement: StatementId,
) -> SmallVec<[Access<'h>; 1]> {
    let mut found = SmallVec::new();
    let field = facts.field(statement);
    let objects = |value: Value| heap.points_to(instance, value);
    let (kind, base, accessed, written) = match facts.body.statements[statement].operation {
        Operation::GetField { object, .. } => {
            (AccessKind::Read, Some(object), field.map(Accessed::Field), None)
        }
        Operation::PutField { object, value, .. } => {
            (AccessKind::Write, Some(object), field.map(Accessed::Field), Some(value))
        }
        Operation::GetStatic { .. } => (AccessKind::Read, None, field.map(Accessed::Field), None),
        Operation::PutStatic { value, .. } => {
            (AccessKind::Write, None, field.map(Accessed::Field), Some(value))
        }
        Operation::ArrayLoad { array, .. } => {
            (AccessKind::Read, Some(array), Some(Accessed::Element), None)
        }
        Operation::ArrayStore { array, value, .. } => {
            (AccessKind::Write, Some(array), Some(Accessed::Element), Some(value))
        }
        Operation::Invoke { .. } | Operation::InvokeDynamic { .. } => {
            for &call in heap.models_at(instance, statement) {
                modelled(program, heap, facts, instance, statement, call, &mut found);
            }
            return found;
        }
        _ => return found,
    };
    let Some(accessed) = accessed else { return found };
    let access = field.map_or(0, |field| program.fields()[field].access);
    if access & flags::FINAL == 0 {
        found.push(Access {
            kind,
            base,
            objects: Cow::Borrowed(base.map_or(&[], objects)),
            accessed,
            is_atomic: access & flags::VOLATILE != 0,
            is_locked: false,
            is_conditional: false,
            written,
        });
    }
    found
}

fn modelled<'m>(
    program: &Program<'_>,
    heap: &Heap<'m>,
    facts: &MethodFacts,
    instance: InstanceId,
    statement: StatementId,
    call: ModelCall<'m>,
    found: &mut SmallVec<[Access<'_>; 1]>,
) {
    let mut locked = None;
    for effect in &call.model.effects {
        let (kind, place, atomic, when) = match effect {
            // To copy an object is no access here.
            Effect::Read { place: ModelPlace::This, range: Some(_), .. } => continue,
            Effect::Read { place, atomic, .. } => (AccessKind::Read, place, *atomic, &None),
            Effect::Write { place, atomic, when, .. } => (AccessKind::Write, place, *atomic, when),
            Effect::Acquire { lock, .. } => {
                locked = Some(lock);
                continue;
            }
            Effect::Release { .. } => {
                locked = None;
                continue;
            }
            _ => continue,
        };
        let is_locked = locked == Some(place);
        let held = match place {
            // What is in the slot is accessed, such as the collection of an iterator.
            ModelPlace::Slot(..) => {
                let objects = heap.resolve(program, instance, statement, call, place);
                smallvec![(Some(place), objects, Accessed::Contents)]
            }
            place => variables(program, heap, instance, statement, call, place),
        };
        for (holder, objects, accessed) in held {
            let is_volatile = match accessed {
                Accessed::Field(field) => {
                    let access = program.fields()[field].access;
                    if access & flags::FINAL != 0 {
                        continue;
                    }
                    access & flags::VOLATILE != 0
                }
                _ => false,
            };
            let base = holder.and_then(|holder| {
                source_of(facts, program, heap, instance, (statement, call), holder)
            });
            let written = None;
            let is_atomic = atomic || is_volatile;
            let is_conditional = !is_unconditional(when);
            let objects = Cow::Owned(objects);
            found.push(Access {
                kind,
                base,
                objects,
                accessed,
                is_atomic,
                is_locked,
                is_conditional,
                written,
            });
        }
    }
}

/// Who holds a variable, the holders as objects, and which variable it is.
type Held<'p> = (Option<&'p ModelPlace>, Vec<ObjectId>, Accessed);

/// The variables that a place of a model stands for: who holds them, the holders as objects, and which.
pub(crate) fn variables<'p, 'm>(
    program: &Program<'_>,
    heap: &Heap<'m>,
    instance: InstanceId,
    statement: StatementId,
    call: ModelCall<'m>,
    place: &'p ModelPlace,
) -> SmallVec<[Held<'p>; 1]> {
    let mut found = SmallVec::new();
    let resolve = |place: &ModelPlace| heap.resolve(program, instance, statement, call, place);
    match place {
        ModelPlace::Slot(holder, name) => {
            if let Some(name) = program.names.find_symbol(name.as_bytes()) {
                found.push((Some(&**holder), resolve(holder), Accessed::Slot(name)));
            }
        }
        ModelPlace::Element(holder) => {
            found.push((Some(&**holder), resolve(holder), Accessed::Element));
        }
        ModelPlace::Variable { selector, .. } if **selector == ModelPlace::Thread => {}
        ModelPlace::Variable { object, selector } => {
            let holders = resolve(object);
            let mut is_member = false;
            for member in resolve(selector) {
                if let Object::Member { of, name: Some(name), .. } = heap.objects[member].object {
                    is_member = true;
                    let Type::Class(class) = program.names.ty(of) else { continue };
                    for &field in program.fields_named(class, name) {
                        let is_static = program.fields()[field].access & flags::STATIC != 0;
                        let holders = if is_static { Vec::new() } else { holders.clone() };
                        let holder = if is_static { None } else { Some(&**object) };
                        found.push((holder, holders, Accessed::Field(field)));
                    }
                }
            }
            if !is_member {
                found.push((Some(&**object), holders, Accessed::Element));
            }
        }
        ModelPlace::New(_) | ModelPlace::Unknown | ModelPlace::Static { .. } => {}
        ModelPlace::This
        | ModelPlace::Argument(_)
        | ModelPlace::Last
        | ModelPlace::Result
        | ModelPlace::Thread => {
            found.push((Some(place), resolve(place), Accessed::Contents));
        }
    }
    found
}

/// The channels that a place of a model stands for, with who holds them.
pub(crate) fn channels<'p, 'm>(
    program: &Program<'_>,
    heap: &Heap<'m>,
    instance: InstanceId,
    statement: StatementId,
    call: ModelCall<'m>,
    place: &'p ModelPlace,
) -> SmallVec<[(Option<&'p ModelPlace>, Vec<Channel>); 1]> {
    let found = variables(program, heap, instance, statement, call, place);
    let channels = found.into_iter().map(|(holder, objects, accessed)| {
        let channels = match accessed {
            Accessed::Field(field) if program.fields()[field].access & flags::STATIC != 0 => {
                vec![Channel::Static(field)]
            }
            _ => objects.into_iter().map(|object| Channel::of(object, accessed)).collect(),
        };
        (holder, channels)
    });
    channels.collect()
}

/// The value that a place of a model is, if it is one of the caller's values.
pub(crate) fn value_of(
    facts: &MethodFacts,
    program: &Program<'_>,
    statement: StatementId,
    call: ModelCall<'_>,
    place: &ModelPlace,
) -> Option<Value> {
    let statement = &facts.body.statements[statement];
    let (Operation::Invoke { arguments, .. } | Operation::InvokeDynamic { arguments, .. }) =
        &statement.operation
    else {
        return None;
    };
    let first = usize::from(!program.methods()[call.method].is_static());
    match place {
        ModelPlace::This if first == 1 => arguments.first().copied(),
        ModelPlace::Argument(index) => arguments.get(first + usize::from(*index)).copied(),
        ModelPlace::Last => arguments.last().copied(),
        ModelPlace::Result => statement.result,
        _ => None,
    }
}

/// The value that a place of a model is, also if it is in a slot of an object that the caller got from
/// a model that put it there: the collection of an iterator.
fn source_of<'m>(
    facts: &MethodFacts,
    program: &Program<'_>,
    heap: &Heap<'m>,
    instance: InstanceId,
    (statement, call): (StatementId, ModelCall<'m>),
    place: &ModelPlace,
) -> Option<Value> {
    let ModelPlace::Slot(holder, name) = place else {
        return value_of(facts, program, statement, call, place);
    };
    let value = facts.uncast(value_of(facts, program, statement, call, holder)?);
    let made = facts.body.values[value].definition;
    let &[maker] = heap.models_at(instance, made) else { return None };
    let slot = ModelPlace::Slot(Box::new(ModelPlace::Result), name.clone());
    let source = maker.model.effects.iter().find_map(|effect| match effect {
        Effect::Flow { from, to } if *to == slot => Some(from),
        _ => None,
    })?;
    source_of(facts, program, heap, instance, (made, maker), source)
}

/// Whether an effect holds however the call ends normally.
pub(crate) fn is_unconditional(when: &Option<Outcome>) -> bool {
    matches!(when, None | Some(Outcome::Normal))
}
