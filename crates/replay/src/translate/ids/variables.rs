//! The ids of variables that are not fields of objects: elements of arrays, for detectors that look at each, and static
//! fields.

use rustc_hash::FxHashMap;
use unsnarl_entity::{EntityId, SecondaryMap};
use unsnarl_events::{ObjectId, Variable, VariableId};

/// How many elements before one may be without accesses, for it to be in the array of its array.
const FAR: usize = 1024;
const NONE: u32 = u32::MAX;

/// The variables of arrays and classes.
#[derive(Debug, Default)]
pub(crate) struct VariableIds {
    /// Of every array its elements.
    arrays: SecondaryMap<ObjectId, Vec<u32>>,
    others: FxHashMap<Variable, VariableId>,
}

impl VariableIds {
    /// The id of a variable, which `make` gives it if it has none.
    pub(crate) fn find(
        &mut self,
        variable: Variable,
        make: impl FnOnce() -> VariableId,
    ) -> VariableId {
        match variable {
            Variable::Element(array, index) if self.is_near(array, index) => {
                let elements = &mut self.arrays[array];
                let index = index as usize;
                if index >= elements.len() {
                    elements.resize((index + 1).next_power_of_two(), NONE);
                }
                if elements[index] == NONE {
                    // It may have been too far from the others before.
                    let known = self.others.remove(&variable);
                    elements[index] = known.unwrap_or_else(make).index() as u32;
                }
                VariableId::from_index(elements[index] as usize)
            }
            _ => *self.others.entry(variable).or_insert_with(make),
        }
    }

    /// Whether an array has accesses to about as many elements as lie before one.
    fn is_near(&self, array: ObjectId, index: u32) -> bool {
        index as usize <= 2 * self.arrays[array].len() + FAR
    }

    /// Forgets the variables of objects, and passes them to `died`.
    pub(crate) fn forget(&mut self, objects: &[ObjectId], mut died: impl FnMut(VariableId)) {
        for &object in objects {
            if self.arrays[object].is_empty() {
                continue;
            }
            let elements = std::mem::take(&mut self.arrays[object]);
            let known = elements.iter().filter(|&&variable| variable != NONE);
            known.for_each(|&variable| died(VariableId::from_index(variable as usize)));
        }
        let mut is_dead: SecondaryMap<ObjectId, bool> = SecondaryMap::new();
        objects.iter().for_each(|&object| is_dead[object] = true);
        self.others.retain(|variable, id| {
            let (Variable::Element(of, _) | Variable::Field(of, _)) = variable else { return true };
            if is_dead[*of] {
                died(*id);
            }
            !is_dead[*of]
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn elements_keep_their_ids_until_their_array_dies() {
        let mut ids = VariableIds::default();
        let mut made = HashMap::new();
        let arrays: Vec<_> = (0..5).map(ObjectId::from_index).collect();
        let indices = [0, 3000, 7, 1000, u32::MAX, 5000];
        let variables = || {
            let of = |array| indices.map(|index| Variable::Element(array, index));
            arrays.iter().flat_map(move |&array| of(array))
        };
        for _ in 0..2 {
            for variable in variables() {
                let next = VariableId::from_index(made.len());
                let id = ids.find(variable, || next);
                assert_eq!(*made.entry(variable).or_insert(id), id, "{variable:?}");
            }
        }
        let mut forgotten = Vec::new();
        ids.forget(&arrays[1..3], |id| forgotten.push(id));
        let is_dead = |variable: &Variable| matches!(variable, Variable::Element(of, _) if arrays[1..3].contains(of));
        let mut expected: Vec<_> =
            made.iter().filter(|(variable, _)| is_dead(variable)).map(|(_, id)| *id).collect();
        forgotten.sort();
        expected.sort();
        assert_eq!(forgotten, expected);
        let new = VariableId::from_index(9999);
        assert_eq!(ids.find(Variable::Element(arrays[1], 7), || new), new);
        let kept = Variable::Element(arrays[0], 7);
        assert_eq!(ids.find(kept, || new), made[&kept]);
    }
}
