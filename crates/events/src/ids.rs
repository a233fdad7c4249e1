//! Ids for things that a foreign trace names by numbers, or by a letter and a number.

use rustc_hash::FxHashMap;
use unsnarl_entity::{EntityId, SecondaryMap};

use crate::{NameId, Tables};

/// Numbers below this are looked up in an array, those above it in a hash table, so that one large
/// number does not cost much memory.
const DENSE: u64 = 1 << 20;

/// The ids of things that are numbered.
#[derive(Debug)]
pub struct Numbers<K> {
    /// One more than the index of the id; zero where there is none.
    dense: Vec<u32>,
    sparse: FxHashMap<u64, K>,
}

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Self { dense: Vec::new(), sparse: FxHashMap::default() }
    }
}

impl<K: EntityId> Numbers<K> {
    /// The id of a number, if it has one.
    #[must_use]
    pub fn get(&self, number: u64) -> Option<K> {
        let place = usize::try_from(number).ok().and_then(|index| self.dense.get(index));
        match place {
            Some(&known) if known != 0 => Some(K::from_index(known as usize - 1)),
            _ => self.sparse.get(&number).copied(),
        }
    }

    /// The id of a number, made by `create` when it is the first time.
    #[inline]
    pub fn id(&mut self, number: u64, create: impl FnOnce() -> K) -> K {
        let place = usize::try_from(number).ok().and_then(|index| self.dense.get(index));
        match place {
            Some(&known) if known != 0 => K::from_index(known as usize - 1),
            _ => self.new_id(number, create),
        }
    }

    #[cold]
    fn new_id(&mut self, number: u64, create: impl FnOnce() -> K) -> K {
        if number >= DENSE {
            return *self.sparse.entry(number).or_insert_with(create);
        }
        let id = create();
        let index = number as usize;
        if index >= self.dense.len() {
            self.dense.resize(index + 1, 0);
        }
        self.dense[index] = u32::try_from(id.index() + 1).expect("fewer than 2^32 ids of one kind");
        id
    }
}

/// The ids of things that have names. Most names are a letter and a number, the same letter for all:
/// these are looked up by their numbers.
#[derive(Debug)]
pub(crate) struct Names<K> {
    letter: u8,
    numbers: Numbers<K>,
    others: SecondaryMap<NameId, Option<K>>,
}

impl<K: EntityId> Names<K> {
    /// No names yet; those that begin with `letter` are expected to be numbers.
    pub(crate) fn expecting(letter: u8) -> Self {
        Self { letter, numbers: Numbers::default(), others: SecondaryMap::with_default(None) }
    }

    /// The id of the letter and this number.
    #[inline]
    pub(crate) fn id_of_number(
        &mut self,
        number: u64,
        tables: &mut Tables,
        create: impl FnOnce(&mut Tables, NameId) -> K,
    ) -> K {
        let letter = char::from(self.letter);
        self.numbers.id(number, || {
            let name = tables.names.intern(format!("{letter}{number}").as_bytes());
            create(tables, name)
        })
    }

    /// The id of a name, made by `create` when it is the first time.
    #[inline]
    pub(crate) fn id(
        &mut self,
        name: &[u8],
        tables: &mut Tables,
        create: impl FnOnce(&mut Tables, NameId) -> K,
    ) -> K {
        if let Some(number) = number_behind(self.letter, name) {
            return self.id_of_number(number, tables, create);
        }
        let name = tables.names.intern(name);
        if let Some(id) = self.others[name] {
            return id;
        }
        let id = create(tables, name);
        self.others[name] = Some(id);
        id
    }
}

/// The number after the letter, unless another name would have the same one.
#[inline]
fn number_behind(letter: u8, name: &[u8]) -> Option<u64> {
    let (&first, digits) = name.split_first()?;
    let &leading = digits.first()?;
    if first != letter || digits.len() > 18 || (leading == b'0' && digits.len() > 1) {
        return None;
    }
    let mut number = 0;
    for &digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VariableId;

    #[test]
    fn different_names_have_different_numbers() {
        assert_eq!(number_behind(b'V', b"V0"), Some(0));
        assert_eq!(number_behind(b'V', b"V120"), Some(120));
        for name in ["V", "V00", "V01", "L1", "V1x", "V-1", "", "V9999999999999999999"] {
            assert_eq!(number_behind(b'V', name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn large_numbers_have_ids_as_well() {
        let mut numbers = Numbers::<VariableId>::default();
        let mut next = 0;
        let mut ids = Vec::new();
        for number in [7, DENSE - 1, DENSE, u64::MAX, 7, u64::MAX, DENSE, DENSE - 1] {
            let id = numbers.id(number, || {
                next += 1;
                VariableId::from_index(next - 1)
            });
            ids.push(id.index());
        }
        assert_eq!(ids, [0, 1, 2, 3, 0, 3, 2, 1]);
        let known = [7, u64::MAX, 8].map(|number| numbers.get(number));
        assert_eq!(known.map(|id| id.map(EntityId::index)), [Some(0), Some(3), None]);
    }
}
