//! What is forgotten when objects have died: their variables, whose ids are then given to others, so that a reader needs
//! memory for what lives and not for all that ever lived.
//!
//! An object that was more than accessed (it is a lock, a thread, something that a library was called with) and one with
//! a volatile field are kept: other tables name them.

use rustc_hash::FxHashSet;
use unsnarl_entity::SecondaryMap;

use super::Translator;
use crate::{Event, ObjectId, Operation, Tables, Variable, VariableId};

/// What is known about the lives of objects.
#[derive(Debug, Default)]
pub(super) struct Lives {
    /// Objects that something other than a variable names.
    named: SecondaryMap<ObjectId, bool>,
    /// Arrays whose elements are known without being variables.
    with_elements: SecondaryMap<ObjectId, bool>,
    /// The objects that were first seen since the sweep began that is under way.
    new: Option<FxHashSet<u64>>,
    /// Ids that can be given again.
    pub(super) free_objects: Vec<ObjectId>,
    free_variables: Vec<VariableId>,
}

impl Lives {
    pub(super) fn name(&mut self, object: ObjectId) {
        self.named[object] = true;
    }

    pub(super) fn has_elements(&mut self, array: ObjectId) {
        self.with_elements[array] = true;
    }

    /// An id for a variable that has none.
    pub(super) fn new_variable(&mut self, variable: Variable, tables: &mut Tables) -> VariableId {
        match self.free_variables.pop() {
            Some(free) => {
                tables.variables[free] = variable;
                free
            }
            None => tables.variables.push(variable),
        }
    }

    pub(super) fn first_seen(&mut self, object: u64) {
        if let Some(new) = &mut self.new {
            new.insert(object);
        }
    }
}

impl Translator {
    /// What is seen first from now on may live even if the list does not have it.
    pub(in super::super) fn sweep_begins(&mut self) {
        self.lives.new = Some(FxHashSet::default());
    }

    /// Forgets the objects that were seen before the sweep began and are not among the `living`.
    pub(in super::super) fn sweep_ends(
        &mut self,
        thread: u64,
        living: &FxHashSet<u64>,
        out: &mut Vec<Event>,
    ) {
        let Some(new) = self.lives.new.take() else { return };
        let (thread, site) = (self.thread(thread), self.site(0));
        for variable in self.volatiles.keys() {
            if let Variable::Field(object, _) = self.tables.variables[*variable] {
                self.lives.name(object);
            }
        }
        let Self { objects, variables, lives, descriptions, .. } = self;
        let mut dead = Vec::new();
        objects.retain(|id, object| {
            let lives_on = living.contains(&id) || new.contains(&id) || lives.named[object];
            if !lives_on {
                dead.push(object);
            }
            lives_on
        });
        descriptions
            .class_of
            .retain(|id, _| living.contains(id) || new.contains(id) || objects.get(*id).is_some());
        let mut tell = |operation| out.push(Event { thread, site, operation });
        variables.forget(&dead, |id| {
            lives.free_variables.push(id);
            tell(Operation::Forget(id));
        });
        for &array in &dead {
            if std::mem::take(&mut lives.with_elements[array]) {
                tell(Operation::ForgetElements(array));
            }
        }
        lives.free_objects.append(&mut dead);
    }
}
