//! A constant pool that grows. The entries of the file keep their bytes and their indices, new ones
//! are appended after them, and one that is already there is found again. The index for that is
//! built when the first constant is asked for.

use std::hash::{BuildHasher, BuildHasherDefault};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::ConstantIndex;
use crate::edit::{PoolError, put_u16};
use crate::read::{Constant, ConstantPool, MemberKind, MemberRef};

/// One more than the highest index that can be used.
const MAX_COUNT: usize = 65535;

/// The constant pool of a class that is being changed.
#[derive(Clone, Debug)]
pub struct PoolEditor<'a> {
    original: ConstantPool<'a>,
    added: Added,
    /// The index of every different entry, by its bytes.
    known: Option<HashTable<u16>>,
}

#[derive(Clone, Debug, Default)]
struct Added {
    bytes: Vec<u8>,
    /// Where each new entry lies in `bytes`; nothing for the index after a long or double.
    entries: Vec<Option<std::ops::Range<u32>>>,
}

impl<'a> PoolEditor<'a> {
    pub(crate) fn new(original: ConstantPool<'a>) -> Self {
        Self { original, added: Added::default(), known: None }
    }

    /// One more than the highest index.
    pub fn count(&self) -> usize {
        self.original.count() + self.added.entries.len()
    }

    /// Whether nothing was added.
    pub fn is_original(&self) -> bool {
        self.added.entries.is_empty()
    }

    /// The entry at `index`.
    pub fn get(&self, index: ConstantIndex) -> Option<Constant<'_>> {
        Constant::from_entry(entry(&self.original, &self.added, index)?)
    }

    /// A string of modified UTF-8.
    pub fn utf8(&self, index: ConstantIndex) -> Option<&[u8]> {
        match self.get(index)? {
            Constant::Utf8(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The internal name of a class constant, or the descriptor of an array type.
    pub fn class_name(&self, index: ConstantIndex) -> Option<&[u8]> {
        match self.get(index)? {
            Constant::Class { name } => self.utf8(name),
            _ => None,
        }
    }

    /// A reference to a field, method or interface method.
    pub fn member(&self, index: ConstantIndex) -> Option<MemberRef<'_>> {
        let Constant::Member { kind, class, name_and_type } = self.get(index)? else {
            return None;
        };
        let (name, descriptor) = self.name_and_type(name_and_type)?;
        Some(MemberRef { kind, class: self.class_name(class)?, name, descriptor })
    }

    /// Name and descriptor of a name-and-type constant.
    pub fn name_and_type(&self, index: ConstantIndex) -> Option<(&[u8], &[u8])> {
        match self.get(index)? {
            Constant::NameAndType { name, descriptor } => {
                Some((self.utf8(name)?, self.utf8(descriptor)?))
            }
            _ => None,
        }
    }

    /// The index of a string of modified UTF-8.
    pub fn add_utf8(&mut self, bytes: &[u8]) -> Result<ConstantIndex, PoolError> {
        let length =
            u16::try_from(bytes.len()).map_err(|_| PoolError::StringTooLong(bytes.len()))?;
        let mut entry = Vec::with_capacity(3 + bytes.len());
        entry.push(1);
        put_u16(&mut entry, length);
        entry.extend_from_slice(bytes);
        self.add(&entry)
    }

    /// The index of an `int`.
    pub fn add_integer(&mut self, value: i32) -> Result<ConstantIndex, PoolError> {
        self.add_tagged(3, &value.to_be_bytes())
    }

    /// The index of a `float`, given by its bits.
    pub fn add_float(&mut self, bits: u32) -> Result<ConstantIndex, PoolError> {
        self.add_tagged(4, &bits.to_be_bytes())
    }

    /// The index of a `long`.
    pub fn add_long(&mut self, value: i64) -> Result<ConstantIndex, PoolError> {
        self.add_tagged(5, &value.to_be_bytes())
    }

    /// The index of a `double`, given by its bits.
    pub fn add_double(&mut self, bits: u64) -> Result<ConstantIndex, PoolError> {
        self.add_tagged(6, &bits.to_be_bytes())
    }

    /// The index of a class by its internal name, or of an array type by its descriptor.
    pub fn add_class(&mut self, name: &[u8]) -> Result<ConstantIndex, PoolError> {
        let name = self.add_utf8(name)?;
        self.add_tagged(7, &name.0.to_be_bytes())
    }

    /// The index of a string constant with this text.
    pub fn add_string(&mut self, text: &[u8]) -> Result<ConstantIndex, PoolError> {
        let text = self.add_utf8(text)?;
        self.add_tagged(8, &text.0.to_be_bytes())
    }

    /// The index of a reference to a field, method or interface method.
    pub fn add_member(
        &mut self,
        kind: MemberKind,
        class: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<ConstantIndex, PoolError> {
        let class = self.add_class(class)?;
        let name_and_type = self.add_name_and_type(name, descriptor)?;
        let tag = match kind {
            MemberKind::Field => 9,
            MemberKind::Method => 10,
            MemberKind::InterfaceMethod => 11,
        };
        self.add_pair(tag, class.0, name_and_type.0)
    }

    /// The index of a name-and-type constant.
    pub fn add_name_and_type(
        &mut self,
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<ConstantIndex, PoolError> {
        let name = self.add_utf8(name)?;
        let descriptor = self.add_utf8(descriptor)?;
        self.add_pair(12, name.0, descriptor.0)
    }

    /// The index of a method handle; `kind` is 1 `getField` to 9 `invokeInterface`.
    pub fn add_method_handle(
        &mut self,
        kind: u8,
        reference: ConstantIndex,
    ) -> Result<ConstantIndex, PoolError> {
        let [high, low] = reference.0.to_be_bytes();
        self.add_tagged(15, &[kind, high, low])
    }

    /// The index of a method type.
    pub fn add_method_type(&mut self, descriptor: &[u8]) -> Result<ConstantIndex, PoolError> {
        let descriptor = self.add_utf8(descriptor)?;
        self.add_tagged(16, &descriptor.0.to_be_bytes())
    }

    /// The index of a dynamic call site whose bootstrap method has number `bootstrap`.
    pub fn add_invoke_dynamic(
        &mut self,
        bootstrap: u16,
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<ConstantIndex, PoolError> {
        let name_and_type = self.add_name_and_type(name, descriptor)?;
        self.add_pair(18, bootstrap, name_and_type.0)
    }

    fn add_pair(&mut self, tag: u8, first: u16, second: u16) -> Result<ConstantIndex, PoolError> {
        let ([a, b], [c, d]) = (first.to_be_bytes(), second.to_be_bytes());
        self.add(&[tag, a, b, c, d])
    }

    fn add_tagged(&mut self, tag: u8, content: &[u8]) -> Result<ConstantIndex, PoolError> {
        let mut entry = [0; 9];
        entry[0] = tag;
        entry[1..=content.len()].copy_from_slice(content);
        self.add(&entry[..=content.len()])
    }

    fn add(&mut self, bytes: &[u8]) -> Result<ConstantIndex, PoolError> {
        let Self { original, added, known } = self;
        let known = known.get_or_insert_with(|| index(original));
        let entry_at = |index: u16| {
            entry(original, added, ConstantIndex(index))
                .expect("only known entries are in the table")
        };
        if let Some(&index) = known.find(hash(bytes), |&index| entry_at(index) == bytes) {
            return Ok(ConstantIndex(index));
        }
        let slots = if matches!(bytes[0], 5 | 6) { 2 } else { 1 };
        let index = original.count() + added.entries.len();
        if index + slots > MAX_COUNT {
            return Err(PoolError::Full);
        }
        let start = added.bytes.len() as u32;
        added.bytes.extend_from_slice(bytes);
        added.entries.push(Some(start..added.bytes.len() as u32));
        if slots == 2 {
            added.entries.push(None);
        }
        let index = index as u16;
        let (original, added) = (&*original, &*added);
        known.insert_unique(hash(bytes), index, |&other| {
            hash(entry(original, added, ConstantIndex(other)).expect("in the table"))
        });
        Ok(ConstantIndex(index))
    }

    /// Appends count and entries.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put_u16(out, self.count() as u16);
        out.extend_from_slice(self.original.bytes());
        out.extend_from_slice(&self.added.bytes);
    }
}

fn entry<'p>(
    original: &'p ConstantPool<'_>,
    added: &'p Added,
    index: ConstantIndex,
) -> Option<&'p [u8]> {
    match usize::from(index.0).checked_sub(original.count()) {
        None => original.entry(index),
        Some(place) => {
            let range = added.entries.get(place)?.clone()?;
            Some(&added.bytes[range.start as usize..range.end as usize])
        }
    }
}

fn index(original: &ConstantPool<'_>) -> HashTable<u16> {
    let entry = |index: u16| original.entry(ConstantIndex(index)).unwrap_or_default();
    let mut known = HashTable::with_capacity(original.count());
    for ConstantIndex(index) in original.indices() {
        let bytes = entry(index);
        let hash_of = hash(bytes);
        // Of equal entries the first stays, as with every other class-file tool.
        if known.find(hash_of, |&other| entry(other) == bytes).is_none() {
            known.insert_unique(hash_of, index, |&other| hash(entry(other)));
        }
    }
    known
}

fn hash(bytes: &[u8]) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(bytes)
}
