//! Objects that belong to one host (seed 000, section 3.3.6): each of them is stored into a field of one
//! object only, when it is made. Whoever reaches it by that field has reached it from the same host.
//!
//! The seed asks that a reference never leaves its host. Here it may: an access by a reference that left
//! is not related to the host by a path, so that the host's lock does not count for it.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_program::FieldId;
use unsnarl_program::body::{Operation, Value};
use unsnarl_program::heap::{Heap, InstanceId, ObjectId};

use crate::event::PathStep;
use crate::method::{MethodFacts, Methods};

/// Which objects are stored into which fields by whom.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    /// Stored into the field other than when they are made.
    foreign: FxHashSet<(FieldId, ObjectId)>,
}

impl Hosts {
    pub(crate) fn new(heap: &Heap<'_>, methods: &Methods) -> Self {
        let mut hosts = Self::default();
        for (id, instance) in heap.instances.iter() {
            if let Some(facts) = methods.get(instance.method) {
                hosts.collect(heap, facts, id);
            }
        }
        hosts
    }

    fn collect(&mut self, heap: &Heap<'_>, facts: &MethodFacts, id: InstanceId) {
        let mut stores: FxHashMap<Value, u32> = FxHashMap::default();
        for statement in facts.body.statements.values() {
            if let Operation::PutField { value, .. } = statement.operation {
                *stores.entry(facts.uncast(value)).or_default() += 1;
            }
        }
        for (statement, data) in facts.body.statements.iter() {
            let Operation::PutField { value, .. } = data.operation else { continue };
            let Some(field) = facts.field(statement) else { continue };
            let value = facts.uncast(value);
            let definition = facts.body.values[value].definition;
            let is_made = match facts.body.statements[definition].operation {
                Operation::New(_) | Operation::NewArray { .. } => true,
                Operation::Invoke { .. } => is_maker(heap, id, definition),
                _ => false,
            };
            // A value that was made before a loop could be stored into many hosts in the loop.
            let is_once = !facts.is_in_cycle(statement) || facts.is_in_cycle(definition);
            if !(is_made && is_once && stores.get(&value) == Some(&1)) {
                self.foreign.extend(heap.points_to(id, value).iter().map(|&o| (field, o)));
            }
        }
    }

    /// Whether an object that is reached by these steps has one host.
    pub(crate) fn is_hosted(&self, object: ObjectId, steps: &[PathStep]) -> bool {
        match steps {
            [PathStep::Field(field)] => !self.foreign.contains(&(*field, object)),
            _ => false,
        }
    }
}

/// Whether a call of modelled methods returns a new object.
fn is_maker(heap: &Heap<'_>, id: InstanceId, call: unsnarl_program::body::StatementId) -> bool {
    use unsnarl_models::{Effect, Place};
    let models = heap.models_at(id, call);
    let is_maker = |model: &unsnarl_program::heap::ModelCall<'_>| {
        let mut returns = model.model.effects.iter().filter_map(|effect| match effect {
            Effect::Return(place) => Some(place),
            _ => None,
        });
        let first = returns.next();
        matches!(first, Some(Place::New(_))) && returns.next().is_none()
    };
    !models.is_empty() && models.iter().all(is_maker) && heap.calls_at(id, call).is_empty()
}
