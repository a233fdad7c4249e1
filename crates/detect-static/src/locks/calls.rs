//! What the statements of a method do with locks: monitors by themselves, calls by their models.
//!
//! A call is judged by the class that it names, or by that of the view (`readLock()`) in the field that it goes
//! through. A class of the input that is itself a lock is not modelled: its code speaks for itself.

use rustc_hash::FxHashMap;
use unsnarl_classpath::Role;
use unsnarl_models::{Effect, MethodModel, ModelPlace, Models};
use unsnarl_program::body::{Operation, Value};
use unsnarl_program::names::MethodRefId;
use unsnarl_program::{ClassId, FieldId, MethodId, Program};

use crate::locks::name::{Name, Root};
use crate::locks::uses::{Code, LockOperation, Use};

/// What a view of a lock is a view of.
pub(crate) struct View {
    class: ClassId,
    owner: Name,
}

impl Code {
    /// In the order of the statements.
    pub(crate) fn find_uses(
        &self,
        program: &mut Program<'_>,
        models: &Models,
        views: &FxHashMap<FieldId, View>,
    ) -> Vec<Use> {
        let mut uses = Vec::new();
        for (statement, data) in self.body.statements.iter() {
            let mut add = |action, lock, value| {
                uses.push(Use { statement, action, lock, value });
            };
            match data.operation {
                Operation::MonitorEnter(value) => {
                    add(LockOperation::Enter, self.name(value), value)
                }
                Operation::MonitorExit(value) => add(LockOperation::Exit, self.name(value), value),
                Operation::Invoke { method, ref arguments, .. } => {
                    let view = arguments.first().and_then(|&receiver| {
                        let through_field = self.loaded_from(receiver).and_then(|f| views.get(&f));
                        match through_field {
                            Some(view) => {
                                let holder = self.name(receiver);
                                Some((view.class, owner_beside(&holder, &view.owner)))
                            }
                            None => {
                                let view = self.view(program, models, receiver)?;
                                Some((view.class, Some(view.owner)))
                            }
                        }
                    });
                    let class = view.as_ref().map(|&(class, _)| class);
                    let Some(callee) = self.callee(statement) else { continue };
                    let Some(model) = model(program, models, method, callee, class) else {
                        continue;
                    };
                    let is_static = program.methods()[callee].is_static();
                    for effect in model.effects.iter().filter(|it| !is_momentary(model, it)) {
                        let Some((action, place)) = action(effect) else { continue };
                        let (base, is_view) = match place {
                            ModelPlace::Slot(base, _) => (&**base, true),
                            place => (place, false),
                        };
                        let position = match *base {
                            ModelPlace::This => 0,
                            ModelPlace::Argument(number) => {
                                usize::from(number) + usize::from(!is_static)
                            }
                            _ => continue,
                        };
                        let Some(&value) = arguments.get(position) else { continue };
                        let owner = view.as_ref().filter(|_| is_view).and_then(|v| v.1.clone());
                        add(action, owner.unwrap_or_else(|| self.name(value)), value);
                    }
                }
                _ => {}
            }
        }
        uses
    }

    /// The view of a lock that a call makes.
    pub(crate) fn view(
        &self,
        program: &mut Program<'_>,
        models: &Models,
        value: Value,
    ) -> Option<View> {
        let definition = self.body.values[value].definition;
        let Operation::Invoke { method, ref arguments, .. } =
            self.body.statements[definition].operation
        else {
            return None;
        };
        let callee = self.callee(definition)?;
        let model = model(program, models, method, callee, None)?;
        let is_view = model.effects.iter().any(|effect| {
            let is_slot_of_result =
                |to: &ModelPlace| matches!(to, ModelPlace::Slot(base, _) if **base == ModelPlace::Result);
            matches!(effect, Effect::Flow { from: ModelPlace::This, to } if is_slot_of_result(to))
        });
        let class = model.effects.iter().find_map(|effect| match effect {
            Effect::Return(ModelPlace::New(class)) if is_view => Some(class.as_bytes()),
            _ => None,
        })?;
        Some(View { class: program.find_class(class)?, owner: self.name(*arguments.first()?) })
    }
}

/// What the owner of a view is called where the field with the view is called `holder`; `owner` is what the
/// method calls it that makes the view.
fn owner_beside(holder: &Name, owner: &Name) -> Option<Name> {
    match (owner.root, holder.parts.split_last()) {
        (Root::Parameter(0), Some((_, base))) => {
            let mut name = Name { root: holder.root, parts: base.into() };
            name.parts.extend(owner.parts.iter().copied());
            Some(name)
        }
        (Root::Static(_), _) => Some(owner.clone()),
        _ => None,
    }
}

/// Whether a lock is acquired and released by one and the same call, as by one of `StringBuffer`.
fn is_momentary(model: &MethodModel, effect: &Effect) -> bool {
    let (Effect::Acquire { lock, mode, .. } | Effect::Release { lock, mode, .. }) = effect else {
        return false;
    };
    let mut both = [false; 2];
    for other in &model.effects {
        match other {
            Effect::Acquire { lock: l, mode: m, .. } => both[0] |= l == lock && m == mode,
            Effect::Release { lock: l, mode: m, .. } => both[1] |= l == lock && m == mode,
            _ => {}
        }
    }
    both == [true; 2]
}

/// What an effect does with a lock, and with which.
fn action(effect: &Effect) -> Option<(LockOperation, &ModelPlace)> {
    Some(match effect {
        Effect::Acquire { lock, mode, blocking, once, when } => {
            let (mode, blocking, once, when) = (*mode, *blocking, *once, when.clone());
            (LockOperation::Acquire { mode, blocking, once, when }, lock)
        }
        Effect::Release { lock, mode, .. } => (LockOperation::Release { mode: *mode }, lock),
        Effect::Wait { on, lock, timed } => {
            (LockOperation::Wait { timed: *timed, is_monitor: lock.is_none() }, on)
        }
        Effect::Notify { on, all } => (LockOperation::Notify { all: *all }, on),
        Effect::Receive { channel, blocking, once: true, when, .. } => {
            (LockOperation::Take { blocking: *blocking, when: when.clone() }, channel)
        }
        Effect::Send { channel, within: None, .. } => (LockOperation::Give, channel),
        _ => return None,
    })
}

/// What the models say about a call. `class` is that of the receiver, where more is known of it than what the
/// call says. Code of the input speaks for itself.
fn model<'m>(
    program: &mut Program<'_>,
    models: &'m Models,
    reference: MethodRefId,
    callee: MethodId,
    class: Option<ClassId>,
) -> Option<&'m MethodModel> {
    let data = &program.methods()[callee];
    let (declaring, name, descriptor) = (data.class, data.name, data.descriptor);
    let is_inherited = !data.is_static() && name != program.names.known.init;
    if program.role(declaring) == Some(Role::Input) && !data.is_abstract() {
        return None;
    }
    let named = program.names.method_ref_data(reference).class;
    let class = class.or_else(|| program.class_of_type(named))?;
    let on = |above: ClassId| {
        let names = &program.names;
        let models = models.methods_of(names.bytes(program.classes()[above].name))?;
        models.method(names.bytes(name), names.bytes(descriptor))
    };
    let nearest_interface = || {
        let above = program.classes()[class].ancestors.iter();
        above
            .filter_map(|&above| Some((above, on(above)?)))
            .reduce(|left, right| if program.is_subclass(right.0, left.0) { right } else { left })
            .map(|(_, model)| model)
    };
    match is_inherited {
        true => program.superclasses(class).find_map(on).or_else(nearest_interface),
        false => on(declaring),
    }
}
