//! What the ids of a session lead to. Ids of objects are given one after the other, and an object has few fields of which
//! most are accessed, so arrays that are indexed by them serve better than hash maps: every access of a program asks here.

use rustc_hash::FxHashMap;
use unsnarl_entity::{EntityId, SecondaryMap};

use crate::{FieldId, ObjectId, Variable, VariableId};

/// How many ids a page has.
const PAGE: usize = 1024;
/// Ids beyond so many pages are not of this recorder, or damaged.
const MOST_PAGES: u64 = 1 << 22;

/// The objects by the ids that they have in the session.
#[derive(Debug, Default)]
pub(super) struct ObjectIds {
    /// One more than the index of the object; 0 if there is none.
    pages: Vec<Option<Box<[u32; PAGE]>>>,
    others: FxHashMap<u64, ObjectId>,
}

impl ObjectIds {
    #[inline]
    pub(super) fn get(&self, id: u64) -> Option<ObjectId> {
        let (page, place) = place(id);
        if page >= MOST_PAGES {
            return self.others.get(&id).copied();
        }
        let page = self.pages.get(page as usize)?.as_ref()?;
        page[place].checked_sub(1).map(|index| ObjectId::from_index(index as usize))
    }

    pub(super) fn insert(&mut self, id: u64, object: ObjectId) {
        let (page, place) = place(id);
        if page >= MOST_PAGES {
            self.others.insert(id, object);
            return;
        }
        let page = page as usize;
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        self.pages[page].get_or_insert_with(|| Box::new([0; PAGE]))[place] =
            object.index() as u32 + 1;
    }

    /// Forgets the objects that are not to be kept, in the order of their ids but for strange ones.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(u64, ObjectId) -> bool) {
        for (page, entries) in self.pages.iter_mut().enumerate() {
            let Some(entries) = entries else { continue };
            for (place, entry) in entries.iter_mut().enumerate() {
                if let Some(index) = entry.checked_sub(1)
                    && !keep((page * PAGE + place) as u64, ObjectId::from_index(index as usize))
                {
                    *entry = 0;
                }
            }
        }
        self.others.retain(|&id, object| keep(id, *object));
    }
}

fn place(id: u64) -> (u64, usize) {
    (id / PAGE as u64, (id % PAGE as u64) as usize)
}

/// How many fields a link of a chain has: it fills half a line of a cache.
const LINK: usize = 3;
const NONE: u32 = u32::MAX;

/// Fields of one object, and the link with more of them.
#[derive(Clone, Copy, Debug)]
struct Link {
    fields: [u32; LINK],
    variables: [u32; LINK],
    next: u32,
}

const EMPTY: Link = Link { fields: [NONE; LINK], variables: [NONE; LINK], next: NONE };

/// The variables of objects, arrays and classes.
#[derive(Debug)]
pub(super) struct VariableIds {
    /// The first link of every object.
    first: SecondaryMap<ObjectId, u32>,
    links: Vec<Link>,
    free_links: Vec<u32>,
    /// Of every array its elements.
    arrays: SecondaryMap<ObjectId, Vec<u32>>,
    others: FxHashMap<Variable, VariableId>,
}

impl Default for VariableIds {
    fn default() -> Self {
        Self {
            first: SecondaryMap::with_default(NONE),
            links: Vec::new(),
            free_links: Vec::new(),
            arrays: SecondaryMap::new(),
            others: FxHashMap::default(),
        }
    }
}

impl VariableIds {
    /// The id of a variable, which `make` gives it if it has none.
    pub(super) fn find(
        &mut self,
        variable: Variable,
        make: impl FnOnce() -> VariableId,
    ) -> VariableId {
        match variable {
            Variable::Field(object, field) => self.field(object, field, make),
            Variable::Element(array, index) if self.is_near(array, index) => {
                let elements = &mut self.arrays[array];
                let index = index as usize;
                if index >= elements.len() {
                    elements.resize((index + 1).next_power_of_two(), NONE);
                }
                // It may have lain too far behind before.
                let others = &mut self.others;
                filled(&mut elements[index], || others.remove(&variable).unwrap_or_else(make))
            }
            _ => *self.others.entry(variable).or_insert_with(make),
        }
    }

    /// How many links the fields of an object take.
    pub(super) fn links_of(&self, object: ObjectId) -> usize {
        let first = self.links.get(self.first[object] as usize);
        std::iter::successors(first, |link| self.links.get(link.next as usize)).count()
    }

    /// Whether an array has accesses to about as many elements as lie before one.
    fn is_near(&self, array: ObjectId, index: u32) -> bool {
        index as usize <= 2 * self.arrays[array].len() + PAGE
    }

    #[inline]
    pub(super) fn field(
        &mut self,
        object: ObjectId,
        field: FieldId,
        make: impl FnOnce() -> VariableId,
    ) -> VariableId {
        let name = field.index() as u32;
        let mut at = self.first[object];
        let mut last = NONE;
        while at != NONE {
            let link = &mut self.links[at as usize];
            for place in 0..LINK {
                if link.fields[place] == name || link.fields[place] == NONE {
                    link.fields[place] = name;
                    return filled(&mut link.variables[place], make);
                }
            }
            last = at;
            at = link.next;
        }
        let new = self.free_links.pop().unwrap_or_else(|| {
            self.links.push(EMPTY);
            self.links.len() as u32 - 1
        });
        let link = &mut self.links[new as usize];
        link.fields[0] = name;
        let id = filled(&mut link.variables[0], make);
        match last {
            NONE => self.first[object] = new,
            _ => self.links[last as usize].next = new,
        }
        id
    }

    /// Forgets the variables of objects, and tells which they were.
    pub(super) fn forget(&mut self, objects: &[ObjectId], mut tell: impl FnMut(VariableId)) {
        let mut tell_all = |variables: &[u32]| {
            let known = variables.iter().filter(|&&variable| variable != NONE);
            known.for_each(|&variable| tell(VariableId::from_index(variable as usize)));
        };
        for &object in objects {
            let mut at = std::mem::replace(&mut self.first[object], NONE);
            while at != NONE {
                self.free_links.push(at);
                let link = std::mem::replace(&mut self.links[at as usize], EMPTY);
                tell_all(&link.variables);
                at = link.next;
            }
            tell_all(&std::mem::take(&mut self.arrays[object]));
        }
        let mut is_dead: SecondaryMap<ObjectId, bool> = SecondaryMap::new();
        objects.iter().for_each(|&object| is_dead[object] = true);
        self.others.retain(|variable, id| {
            let dies = matches!(variable, Variable::Element(array, _) if is_dead[*array]);
            if dies {
                tell(*id);
            }
            !dies
        });
    }
}

fn filled(variable: &mut u32, make: impl FnOnce() -> VariableId) -> VariableId {
    if *variable == NONE {
        *variable = make().index() as u32;
    }
    VariableId::from_index(*variable as usize)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn objects_are_found_by_small_and_by_strange_ids() {
        let mut ids = ObjectIds::default();
        let all = [0, 1, 1023, 1024, 1 << 20, 1 << 40, u64::MAX];
        for (index, id) in all.into_iter().enumerate() {
            assert_eq!(ids.get(id), None);
            ids.insert(id, ObjectId::from_index(index));
        }
        ids.retain(|id, object| {
            assert_eq!(all[object.index()], id);
            id % 2 == 1
        });
        for (index, id) in all.into_iter().enumerate() {
            assert_eq!(ids.get(id), (id % 2 == 1).then_some(ObjectId::from_index(index)), "{id}");
        }
    }

    #[test]
    fn variables_keep_their_ids_until_their_object_dies() {
        let mut ids = VariableIds::default();
        let mut made = HashMap::new();
        let objects: Vec<_> = (0..5).map(ObjectId::from_index).collect();
        let variables = || {
            let fields = (0..10).map(FieldId::from_index);
            let objects = objects.iter().copied();
            let of_objects = objects.clone().flat_map(move |object| {
                fields.clone().map(move |field| Variable::Field(object, field))
            });
            let indices = [0, 3000, 7, 1000, u32::MAX, 5000];
            of_objects.chain(objects.flat_map(move |array| {
                indices.into_iter().map(move |index| Variable::Element(array, index))
            }))
        };
        for _ in 0..2 {
            for variable in variables() {
                let next = VariableId::from_index(made.len());
                let id = ids.find(variable, || next);
                assert_eq!(*made.entry(variable).or_insert(id), id, "{variable:?}");
            }
        }
        let mut forgotten = Vec::new();
        ids.forget(&objects[1..3], |id| forgotten.push(id));
        let mut expected: Vec<_> = made
            .iter()
            .filter(|(variable, _)| {
                let (Variable::Field(of, _) | Variable::Element(of, _)) = variable else {
                    return false;
                };
                objects[1..3].contains(of)
            })
            .map(|(_, id)| *id)
            .collect();
        forgotten.sort();
        expected.sort();
        assert_eq!(forgotten, expected);
        let new = VariableId::from_index(9999);
        let again = Variable::Field(objects[1], FieldId::from_index(9));
        assert_eq!(ids.find(again, || new), new);
        let kept = Variable::Field(objects[0], FieldId::from_index(9));
        assert_eq!(ids.find(kept, || new), made[&kept]);
    }
}
