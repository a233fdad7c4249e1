//! What is forgotten when objects have died: their variables, whose ids are then given to others, so that a reader needs
//! memory for what lives and not for all that ever lived.
//!
//! An object that was more than accessed (it is a lock, a thread, something that a library was called with) and one with
//! a volatile field are kept: other tables name them. What models know of a dead one (to which map an iterator belongs) is not.

use rustc_hash::FxHashSet;
use unsnarl_entity::{EntityId, SecondaryMap};

use super::Translator;
use super::ids::GROUP;
use crate::{Event, ObjectId, Operation, Tables, Variable, VariableId};

/// What is known about the lives of objects.
#[derive(Debug, Default)]
pub(super) struct Lives {
    /// Objects that something other than a variable names.
    named: SecondaryMap<ObjectId, bool>,
    /// Arrays whose elements are known without being variables.
    with_elements: SecondaryMap<ObjectId, bool>,
    /// The objects that were seen for the first time, or in a call, since the sweep began that is under way.
    new: Option<FxHashSet<u64>>,
    /// Ids that can be given again; of variables the first of so many as the index says.
    pub(super) free_objects: Vec<ObjectId>,
    free_variables: [Vec<VariableId>; GROUP + 1],
    /// How many variables were accessed and are not forgotten, and how many that were at most.
    accessed: usize,
    most_accessed: usize,
}

impl Lives {
    pub(super) fn name(&mut self, object: ObjectId) {
        self.named[object] = true;
    }

    pub(super) fn has_elements(&mut self, array: ObjectId) {
        self.with_elements[array] = true;
    }

    /// An id for a variable that has none and is accessed.
    pub(super) fn new_variable(&mut self, variable: Variable, tables: &mut Tables) -> VariableId {
        let id = self.reserve([variable].into_iter(), tables);
        self.is_accessed(tables);
        id
    }

    /// Ids for variables that stand behind each other: the first of them.
    pub(super) fn reserve(
        &mut self,
        variables: impl ExactSizeIterator<Item = Variable>,
        tables: &mut Tables,
    ) -> VariableId {
        match self.free_variables[variables.len()].pop() {
            Some(free) => {
                for (number, variable) in variables.enumerate() {
                    tables.variables[VariableId::from_index(free.index() + number)] = variable;
                }
                free
            }
            None => {
                let first = VariableId::from_index(tables.variables.len());
                for variable in variables {
                    tables.variables.push(variable);
                }
                first
            }
        }
    }

    /// A variable is accessed for the first time.
    pub(super) fn is_accessed(&mut self, tables: &mut Tables) {
        self.accessed += 1;
        self.most_accessed = self.most_accessed.max(self.accessed);
        tables.reserved_variables = tables.variables.len() - self.most_accessed;
    }

    fn forget(&mut self, first: VariableId, count: usize) {
        self.free_variables[count].push(first);
    }

    /// An object does something or is seen for the first time, so that it may live though no list has it.
    #[inline]
    pub(super) fn seen(&mut self, object: u64) {
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
        // Nobody calls a method of a dead object: what an iterator belongs to need not be known any more.
        self.orders.forget(|id| !living.contains(&id) && !new.contains(&id));
        let Self { objects, variables, lives, descriptions, .. } = self;
        let (mut dead, mut known_of_dead) = (Vec::new(), Vec::new());
        objects.retain(
            |id, object| living.contains(&id) || new.contains(&id) || lives.named[object],
            |object, known| {
                dead.push(object);
                known_of_dead.push(known);
            },
        );
        descriptions.class_of.retain(|id, class| {
            let is_kept = *class != 0
                && (living.contains(&id) || new.contains(&id) || objects.get(id).is_some());
            if !is_kept {
                *class = 0;
            }
            is_kept
        });
        let mut tell = |operation| out.push(Event { thread, site, operation });
        let mut forgotten = 0;
        for known in known_of_dead {
            let tell = |id| {
                forgotten += 1;
                tell(Operation::Forget(id));
            };
            objects.forget(known, tell, |first, count| lives.forget(first, count));
        }
        variables.forget(&dead, |id| {
            forgotten += 1;
            lives.forget(id, 1);
            tell(Operation::Forget(id));
        });
        lives.accessed -= forgotten;
        for &array in &dead {
            if std::mem::take(&mut lives.with_elements[array]) {
                tell(Operation::ForgetElements(array));
            }
        }
        lives.free_objects.append(&mut dead);
    }
}
