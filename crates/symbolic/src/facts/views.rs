//! Views of locks that are kept in fields: `final Lock r = rw.readLock()` in a constructor makes `this.r`
//! a view of `this.rw`, so that both stand for the same lock.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unsnarl_models::{Effect, ModelPlace};
use unsnarl_program::body::Operation;
use unsnarl_program::heap::Heap;
use unsnarl_program::names::Symbol;
use unsnarl_program::{FieldId, Program};

use crate::event::PathStep;
use crate::facts::access::value_of;
use crate::facts::method::Methods;
use crate::facts::path::Root;

/// For a field and a slot of the object in it: how to get from the host of the field to what is in the
/// slot.
#[derive(Debug, Default)]
pub(crate) struct Views {
    known: FxHashMap<(FieldId, Symbol), Option<SmallVec<[PathStep; 2]>>>,
}

impl Views {
    pub(crate) fn new(program: &Program<'_>, heap: &Heap<'_>, methods: &Methods) -> Self {
        let mut views = Self::default();
        for (id, instance) in heap.instances.iter() {
            let Some(facts) = methods.get(instance.method) else { continue };
            for (statement, data) in facts.body.statements.iter() {
                let Operation::PutField { object, value, .. } = data.operation else { continue };
                let Some(field) = facts.field(statement) else { continue };
                let host = facts.strict_path(object);
                let made = facts.body.values[facts.uncast(value)].definition;
                for &maker in heap.models_at(id, made) {
                    for effect in &maker.model.effects {
                        let Effect::Flow { from, to: ModelPlace::Slot(holder, name) } = effect
                        else {
                            continue;
                        };
                        let name = program.names.find_symbol(name.as_bytes());
                        let (ModelPlace::Result, Some(name)) = (&**holder, name) else { continue };
                        let source = value_of(facts, program, made, maker, from)
                            .map(|value| facts.strict_path(value))
                            .filter(|path| path.root == host.root && path.begins_with(host))
                            .map(|path| path.steps[host.steps.len()..].into());
                        let is_this = matches!(host.root, Root::Parameter(0));
                        let source = source.filter(|_| is_this && facts.is_constructor);
                        match views.known.get_mut(&(field, name)) {
                            Some(known) if *known == source => {}
                            Some(known) => *known = None,
                            None => {
                                views.known.insert((field, name), source);
                            }
                        }
                    }
                }
            }
        }
        views
    }

    /// The steps from the host of a field to what is in a slot of the object in the field.
    pub(crate) fn source(&self, field: FieldId, slot: Symbol) -> Option<&[PathStep]> {
        self.known.get(&(field, slot))?.as_deref()
    }
}
