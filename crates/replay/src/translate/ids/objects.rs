//! The ids of objects, and of the variables that are their fields. Every access of a program is looked up here.
//!
//! An object has its variables of a group of fields in one *block* of consecutive ids. So one lookup of the object finds
//! them all, and whatever a detector keeps about them lies together in memory.

use unsnarl_entity::EntityId;
use unsnarl_events::{FieldId, ObjectId, VariableId};

use super::Pages;
use super::fields::{GROUP, Groups, Member};

/// What is known of an object, in 16 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    /// One more than the index of the object; 0 if there is none.
    object: u32,
    /// Its first block; without any, no field is accessed in it.
    block: Block,
    /// One more than the index of its next block; 0 if there is none.
    next: u32,
}

/// The variables of an object that belong to a group.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// The index of the first variable.
    base: u32,
    group: u16,
    /// How many variables there are.
    size: u8,
    /// Which of them were accessed.
    used: u8,
}

impl Block {
    #[inline]
    fn get(&self, member: Member) -> Option<VariableId> {
        let is_used = self.group == member.group && self.used >> member.slot & 1 == 1;
        is_used.then(|| self.variable(member.slot))
    }

    #[inline]
    fn variable(&self, slot: u8) -> VariableId {
        VariableId::from_index(self.base as usize + usize::from(slot))
    }

    fn used(self) -> impl Iterator<Item = VariableId> {
        (0..GROUP as u8)
            .filter(move |slot| self.used >> slot & 1 == 1)
            .map(move |slot| self.variable(slot))
    }
}

/// The objects by the ids that they have in the session, with the variables that are their fields.
#[derive(Debug, Default)]
pub(crate) struct ObjectIds {
    known: Pages<Known>,
    /// The blocks of objects after their first ones, each with one more than the index of the next.
    blocks: Vec<(Block, u32)>,
    free_blocks: Vec<u32>,
}

impl ObjectIds {
    /// The object with an id.
    #[inline]
    pub(crate) fn get(&self, id: u64) -> Option<ObjectId> {
        let index = self.known.get(id)?.object.checked_sub(1)?;
        Some(ObjectId::from_index(index as usize))
    }

    pub(crate) fn insert(&mut self, id: u64, object: ObjectId) {
        *self.known.get_mut(id) = Known { object: object.index() as u32 + 1, ..Known::default() };
    }

    /// Prefetches what is known of an object, if the word is the id of one.
    #[inline(always)]
    pub(crate) fn prefetch(&self, word: u64) {
        self.known.prefetch(word);
    }

    /// The variable that is a field of the object with an id, if it was accessed before.
    #[inline]
    pub(crate) fn accessed(&self, id: u64, member: Member) -> Option<VariableId> {
        let known = self.known.get(id)?;
        known.block.get(member).or_else(|| self.accessed_later(known.next, member))
    }

    /// The same in the other blocks of an object.
    #[inline(never)]
    fn accessed_later(&self, mut next: u32, member: Member) -> Option<VariableId> {
        loop {
            let (block, following) = &self.blocks[next.checked_sub(1)? as usize];
            match block.get(member) {
                None => next = *following,
                found => return found,
            }
        }
    }

    /// The variable that is a field of the object with an id, which must be there, and whether it was not accessed before.
    /// If it has no id yet, `reserve` gives ids to all fields of the group that are known, and returns the first.
    pub(crate) fn field(
        &mut self,
        id: u64,
        member: Member,
        groups: &Groups,
        reserve: impl FnOnce(&[FieldId]) -> VariableId,
    ) -> (VariableId, bool) {
        let known = *self.known.get_mut(id);
        let has_room = |block: &Block| block.group == member.group && member.slot < block.size;
        let bit = 1 << member.slot;
        let mark = |block: &mut Block| {
            let is_new = block.used & bit == 0;
            block.used |= bit;
            (block.variable(member.slot), is_new)
        };
        if has_room(&known.block) {
            return mark(&mut self.known.get_mut(id).block);
        }
        let mut last = None;
        let mut next = known.next;
        while let Some(index) = next.checked_sub(1) {
            let (block, following) = &mut self.blocks[index as usize];
            if has_room(block) {
                return mark(block);
            }
            (last, next) = (Some(index), *following);
        }
        let fields = groups.of(member.group);
        let base = reserve(fields).index() as u32;
        let mut block = Block { base, group: member.group, size: fields.len() as u8, used: 0 };
        let variable = mark(&mut block);
        if known.block.size == 0 {
            self.known.get_mut(id).block = block;
            return variable;
        }
        let new = match self.free_blocks.pop() {
            Some(free) => {
                self.blocks[free as usize] = (block, 0);
                free
            }
            None => {
                self.blocks.push((block, 0));
                self.blocks.len() as u32 - 1
            }
        };
        match last {
            Some(last) => self.blocks[last as usize].1 = new + 1,
            None => self.known.get_mut(id).next = new + 1,
        }
        variable
    }

    /// Forgets the objects that are not to be kept, ordered by their ids except for damaged ones, and passes what was known
    /// of each to `dies`.
    pub(crate) fn retain(
        &mut self,
        mut keep: impl FnMut(u64, ObjectId) -> bool,
        mut dies: impl FnMut(ObjectId, Known),
    ) {
        self.known.retain(|id, known| {
            let Some(index) = known.object.checked_sub(1) else { return false };
            let object = ObjectId::from_index(index as usize);
            let is_kept = keep(id, object);
            if !is_kept {
                dies(object, std::mem::take(known));
            }
            is_kept
        });
    }

    /// Forgets the variables of a dead object. `died` gets those that were accessed; `free` gets the first of consecutive ids
    /// that can be given again, and how many they are.
    pub(crate) fn forget(
        &mut self,
        known: Known,
        mut died: impl FnMut(VariableId),
        mut free: impl FnMut(VariableId, usize),
    ) {
        let mut forget = |block: Block| {
            block.used().for_each(&mut died);
            if block.size > 0 {
                free(block.variable(0), block.size.into());
            }
        };
        forget(known.block);
        let mut next = known.next;
        while let Some(index) = next.checked_sub(1) {
            let (block, following) = self.blocks[index as usize];
            forget(block);
            self.free_blocks.push(index);
            next = following;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use unsnarl_events::{Field, NameId};

    use super::*;

    #[test]
    fn what_is_known_of_an_object_has_16_bytes() {
        assert_eq!(size_of::<Known>(), 16);
    }

    #[test]
    fn objects_are_found_by_small_and_by_strange_ids() {
        let mut ids = ObjectIds::default();
        let all = [0, 1, 1023, 1024, 1 << 20, 1 << 40, u64::MAX];
        for (index, id) in all.into_iter().enumerate() {
            assert_eq!(ids.get(id), None);
            ids.insert(id, ObjectId::from_index(index));
        }
        let mut dead = Vec::new();
        ids.retain(
            |id, object| {
                assert_eq!(all[object.index()], id);
                id % 2 == 1
            },
            |object, _| dead.push(all[object.index()]),
        );
        dead.sort_unstable();
        assert_eq!(dead, [0, 1024, 1 << 20, 1 << 40]);
        for (index, id) in all.into_iter().enumerate() {
            assert_eq!(ids.get(id), (id % 2 == 1).then_some(ObjectId::from_index(index)), "{id}");
        }
    }

    /// Objects with fields of two classes, one with more fields than a group has, and ids that are given as they are asked
    /// for.
    #[test]
    fn variables_keep_their_ids_until_their_object_dies() {
        let mut groups = Groups::default();
        let mut ids = ObjectIds::default();
        let fields: Vec<(FieldId, Field)> = (0..14)
            .map(|index| {
                let class = NameId::from_index(usize::from(index >= 11));
                let name = NameId::from_index(10 + index);
                (FieldId::from_index(index), Field { class, name, is_final: false })
            })
            .collect();
        for id in 1..6 {
            ids.insert(id, ObjectId::from_index(id as usize));
        }
        let mut made = HashMap::new();
        let (mut reserved, mut used) = (0, 0);
        for round in 0..3 {
            for id in 1..6_u64 {
                // Not all fields are accessed in all objects, and not from the beginning.
                for &(field, declared) in fields.iter().skip((id as usize + round) % 3) {
                    let member = groups.member(field, declared).unwrap();
                    let (variable, is_new) = ids.field(id, member, &groups, |fields| {
                        reserved += fields.len();
                        VariableId::from_index(reserved - fields.len())
                    });
                    used += usize::from(is_new);
                    assert_eq!(*made.entry((id, field)).or_insert(variable), variable);
                    assert_eq!(ids.accessed(id, member), Some(variable));
                }
            }
        }
        let mut different: Vec<_> = made.values().collect();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), made.len());
        assert_eq!(used, made.len());
        assert!(reserved >= used);

        let mut dead = Vec::new();
        ids.retain(|id, _| id > 2, |_, known| dead.push(known));
        let (mut died, mut freed) = (Vec::new(), 0);
        for known in dead {
            ids.forget(known, |variable| died.push(variable), |_, size| freed += size);
        }
        let mut expected: Vec<_> =
            made.iter().filter(|((id, _), _)| *id <= 2).map(|(_, variable)| *variable).collect();
        died.sort_unstable();
        expected.sort_unstable();
        assert_eq!(died, expected);
        assert!(freed >= died.len());
        let member = groups.member(fields[0].0, fields[0].1).unwrap();
        assert_eq!(ids.accessed(1, member), None);
        assert_eq!(ids.get(1), None);
    }
}
