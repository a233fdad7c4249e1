use std::hash::{BuildHasher, BuildHasherDefault};
use std::ops::Index;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::{EntityId, PrimaryMap};

/// Gives equal byte strings one id. Names in class files are modified UTF-8, hence bytes.
///
/// All strings lie one after another in one buffer, so that a million names are a few allocations.
#[derive(Clone, Debug)]
pub struct Interner<K> {
    bytes: Vec<u8>,
    /// Where the string ends in `bytes`; it begins where the one before it ends.
    ends: PrimaryMap<K, usize>,
    table: HashTable<K>,
}

impl<K: EntityId> Interner<K> {
    /// An interner without strings.
    pub fn new() -> Self {
        Self { bytes: Vec::new(), ends: PrimaryMap::new(), table: HashTable::new() }
    }

    /// The id of `string`, created if it is the first of its kind.
    pub fn intern(&mut self, string: &[u8]) -> K {
        if let Some(key) = self.find(string) {
            return key;
        }
        self.bytes.extend_from_slice(string);
        let key = self.ends.push(self.bytes.len());
        let (bytes, ends) = (&self.bytes, &self.ends);
        self.table.insert_unique(hash(string), key, |&other| hash(slice(bytes, ends, other)));
        key
    }

    /// The id of `string` if it has one.
    pub fn find(&self, string: &[u8]) -> Option<K> {
        self.table.find(hash(string), |&key| &self[key] == string).copied()
    }

    /// How many different strings there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no string.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

impl<K: EntityId> Default for Interner<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: EntityId> Index<K> for Interner<K> {
    type Output = [u8];

    fn index(&self, key: K) -> &[u8] {
        slice(&self.bytes, &self.ends, key)
    }
}

fn slice<'a, K: EntityId>(bytes: &'a [u8], ends: &PrimaryMap<K, usize>, key: K) -> &'a [u8] {
    let start = match key.index() {
        0 => 0,
        index => ends[K::from_index(index - 1)],
    };
    &bytes[start..ends[key]]
}

fn hash(string: &[u8]) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(string)
}
