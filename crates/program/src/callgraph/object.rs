//! What a variable may refer to, and sets of that.

use smallvec::SmallVec;
use unsnarl_entity::{EntityId, SecondaryMap, UniqueMap, entity_id};
use unsnarl_models::MemberKind;

use crate::body::StatementId;
use crate::class::{ClassId, MethodId};
use crate::heap::OriginId;
use crate::names::{Symbol, Type, TypeId};
use crate::program::Program;
use unsnarl_classpath::Role;

entity_id! {
    /// An abstract object.
    pub struct ObjectId("o");
    /// A type to which an assignment narrows.
    pub(super) struct FilterId("filter");
}

/// All objects of a kind, as one. Variable-type analysis does not distinguish objects of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// The instances of exactly this class.
    Instance(ClassId),
    /// The instances of exactly this class that one statement makes. Only threads, executors and the
    /// like are distinguished so finely, for it is they who decide what runs in parallel.
    Allocated {
        /// The class.
        class: ClassId,
        /// The method that makes them.
        method: MethodId,
        /// The statement that makes them.
        statement: StatementId,
        /// When the statement makes them, where that is distinguished.
        context: MadeIn,
    },
    /// The instances of exactly this class that one thread makes.
    OfThread {
        /// The class.
        class: ClassId,
        /// The thread.
        origin: OriginId,
    },
    /// The arrays of exactly this type.
    Array(TypeId),
    /// The arrays of exactly this type that one statement makes.
    AllocatedArray {
        /// The type of the array.
        ty: TypeId,
        /// The method that makes them.
        method: MethodId,
        /// The statement that makes them.
        statement: StatementId,
        /// When the statement makes them.
        context: MadeIn,
    },
    /// The arrays of references that a library makes on behalf of one statement. Nobody knows their
    /// exact type.
    LibraryArray {
        /// The method with the statement.
        method: MethodId,
        /// The statement.
        statement: StatementId,
        /// When the statement makes them, where that is distinguished.
        context: MadeIn,
    },
    /// The constant string that names a class of the program.
    ClassName(Symbol),
    /// The objects of an interface that one statement makes, whose calls go to an `InvocationHandler`.
    Proxy {
        /// The interface.
        interface: ClassId,
        /// The method with the statement.
        method: MethodId,
        /// The statement.
        statement: StatementId,
    },
    /// The `Class` object of a type.
    Class(TypeId),
    /// A member that was looked up by reflection; any name if the name is not known.
    Member {
        /// What sort of member.
        kind: MemberKind,
        /// The type that was searched.
        of: TypeId,
        /// The name that was asked for.
        name: Option<Symbol>,
    },
    /// Something of this class or below it that comes from code that was not analysed.
    Unknown(ClassId),
}

/// When a statement makes an object: in which thread, and on behalf of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MadeIn {
    /// The thread, where threads are distinguished.
    pub origin: Option<OriginId>,
    /// The statement that made the object on which the making method was called.
    pub host: Option<(MethodId, StatementId)>,
}

impl Object {
    /// The class of the object, if it has one of its own and is not an array.
    pub fn class(self) -> Option<ClassId> {
        match self {
            Self::Instance(class)
            | Self::Allocated { class, .. }
            | Self::OfThread { class, .. }
            | Self::Unknown(class) => Some(class),
            _ => None,
        }
    }

    /// The class of which it is certainly a direct instance.
    pub fn exact_class(self) -> Option<ClassId> {
        match self {
            Self::Unknown(_) => None,
            object => object.class(),
        }
    }

    /// The statement that makes it, with its method and context.
    pub fn made(self) -> Option<(MethodId, StatementId, MadeIn)> {
        match self {
            Self::Allocated { method, statement, context, .. }
            | Self::AllocatedArray { method, statement, context, .. }
            | Self::LibraryArray { method, statement, context } => {
                Some((method, statement, context))
            }
            _ => None,
        }
    }
}

/// A set of objects: a short list, or a bit each in words that are not zero when it is long.
#[derive(Clone, Debug)]
pub(super) enum ObjectSet {
    Few(SmallVec<[ObjectId; 4]>),
    /// Sorted by the number of the word.
    Many(Vec<(u32, u64)>),
}

const FEW: usize = 12;

impl Default for ObjectSet {
    fn default() -> Self {
        Self::Few(SmallVec::new())
    }
}

impl ObjectSet {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Few(objects) => objects.is_empty(),
            Self::Many(words) => words.is_empty(),
        }
    }

    /// Adds an object; says whether it is new.
    pub(super) fn insert(&mut self, object: ObjectId) -> bool {
        match self {
            Self::Few(objects) => {
                if objects.contains(&object) {
                    return false;
                }
                if objects.len() < FEW {
                    objects.push(object);
                    return true;
                }
                let mut words = Vec::new();
                for &old in objects.iter().chain([&object]) {
                    set_bits(&mut words, word_of(old), bit_of(old));
                }
                *self = Self::Many(words);
                true
            }
            Self::Many(words) => set_bits(words, word_of(object), bit_of(object)) != 0,
        }
    }

    /// Adds the objects of up to 64 bits.
    fn insert_word(&mut self, index: u32, word: u64) {
        let mut rest = word;
        while rest != 0 {
            if let Self::Many(words) = self {
                set_bits(words, index, rest);
                return;
            }
            self.insert(object_at(index, rest.trailing_zeros()));
            rest &= rest - 1;
        }
    }

    pub(super) fn for_each(&self, visit: impl FnMut(ObjectId)) {
        self.for_each_of(None, visit);
    }

    /// Visits the objects that pass a mask.
    pub(super) fn for_each_of(&self, mask: Option<&[u64]>, mut visit: impl FnMut(ObjectId)) {
        match self {
            Self::Few(objects) => {
                let passes = |&object: &ObjectId| mask.is_none_or(|mask| has_bit(mask, object));
                objects.iter().copied().filter(passes).for_each(visit);
            }
            Self::Many(words) => {
                for &(index, word) in words {
                    let mut rest = word & allowed(mask, index);
                    while rest != 0 {
                        visit(object_at(index, rest.trailing_zeros()));
                        rest &= rest - 1;
                    }
                }
            }
        }
    }

    pub(super) fn to_vec(&self) -> Vec<ObjectId> {
        let mut objects = Vec::new();
        self.for_each(|object| objects.push(object));
        objects
    }

    /// Moves what passes `mask` into `all`, and what is new there into `fresh` as well.
    pub(super) fn flow_into(&self, mask: Option<&[u64]>, all: &mut Self, fresh: &mut Self) -> bool {
        if let (Self::Many(_), Self::Few(few), None) = (self, &*all, mask) {
            // It will be long.
            let mut words = Vec::new();
            few.iter().for_each(|&old| _ = set_bits(&mut words, word_of(old), bit_of(old)));
            *all = Self::Many(words);
        }
        if let (Self::Many(from), Self::Many(to)) = (self, &mut *all) {
            return merge_words(from, mask, to, fresh);
        }
        let mut grown = false;
        self.for_each_of(mask, |object| {
            if all.insert(object) {
                fresh.insert(object);
                grown = true;
            }
        });
        grown
    }
}

/// Moves the bits of `from` that pass the mask into `to`; those that are new go into `fresh` too.
fn merge_words(
    from: &[(u32, u64)],
    mask: Option<&[u64]>,
    to: &mut Vec<(u32, u64)>,
    fresh: &mut ObjectSet,
) -> bool {
    let is_short = from.len() * 8 < to.len();
    let mut grown = false;
    let mut position = 0;
    let mut missing: Vec<(u32, u64)> = Vec::new();
    for &(index, word) in from {
        let word = word & allowed(mask, index);
        if word == 0 {
            continue;
        }
        if is_short {
            position += to[position..].partition_point(|&(found, _)| found < index);
        }
        while position < to.len() && to[position].0 < index {
            position += 1;
        }
        let new = match to.get_mut(position) {
            Some((found, present)) if *found == index => {
                let new = word & !*present;
                *present |= new;
                new
            }
            _ => {
                missing.push((index, word));
                word
            }
        };
        if new != 0 {
            fresh.insert_word(index, new);
            grown = true;
        }
    }
    if !missing.is_empty() {
        let old = std::mem::take(to);
        to.reserve(old.len() + missing.len());
        let (mut left, mut right) = (old.into_iter().peekable(), missing.into_iter().peekable());
        while let (Some(first), Some(second)) = (left.peek(), right.peek()) {
            to.extend(if first.0 < second.0 { left.next() } else { right.next() });
        }
        to.extend(left);
        to.extend(right);
    }
    grown
}

/// The bits of a word that pass a mask.
fn allowed(mask: Option<&[u64]>, index: u32) -> u64 {
    mask.map_or(!0, |mask| mask.get(index as usize).copied().unwrap_or(0))
}

fn word_of(object: ObjectId) -> u32 {
    (object.index() / 64) as u32
}

fn bit_of(object: ObjectId) -> u64 {
    1 << (object.index() % 64)
}

fn object_at(word: u32, bit: u32) -> ObjectId {
    ObjectId::from_index(word as usize * 64 + bit as usize)
}

/// Sets bits of one word; returns those that are new.
fn set_bits(words: &mut Vec<(u32, u64)>, index: u32, bits: u64) -> u64 {
    match words.binary_search_by_key(&index, |&(found, _)| found) {
        Ok(position) => {
            let new = bits & !words[position].1;
            words[position].1 |= new;
            new
        }
        Err(position) => {
            words.insert(position, (index, bits));
            bits
        }
    }
}

fn has_bit(words: &[u64], object: ObjectId) -> bool {
    words.get(object.index() / 64).is_some_and(|word| word >> (object.index() % 64) & 1 != 0)
}

/// All abstract objects, and for every type that narrows which of them pass.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub(super) all: UniqueMap<ObjectId, Object>,
    filters: UniqueMap<FilterId, TypeId>,
    masks: Vec<Mask>,
    /// A bit for each object that is something unknown of a class, and how many have been looked at.
    unknown: (Vec<u64>, usize),
}

#[derive(Debug, Default)]
struct Mask {
    words: Vec<u64>,
    /// How many objects have been looked at.
    seen: usize,
    /// Whether the objects of a class pass.
    by_class: SecondaryMap<ClassId, Option<bool>>,
}

impl Objects {
    pub(super) fn filter(&mut self, ty: TypeId) -> FilterId {
        let filter = self.filters.intern(ty);
        if filter.index() == self.masks.len() {
            self.masks.push(Mask::default());
        }
        filter
    }

    pub(super) fn filter_type(&self, filter: FilterId) -> TypeId {
        self.filters[filter]
    }

    /// Which objects are something unknown of a class, as bits.
    pub(super) fn unknown(&mut self) -> &[u64] {
        let (words, seen) = &mut self.unknown;
        words.resize(self.all.len().div_ceil(64), 0);
        for index in *seen..self.all.len() {
            if let Object::Unknown(_) = self.all[ObjectId::from_index(index)] {
                words[index / 64] |= 1 << (index % 64);
            }
        }
        *seen = self.all.len();
        words
    }

    /// Which objects pass a filter, as bits.
    pub(super) fn mask(&mut self, filter: FilterId, program: &mut Program<'_>) -> &[u64] {
        let ty = self.filters[filter];
        let Mask { words, seen, by_class } = &mut self.masks[filter.index()];
        words.resize(self.all.len().div_ceil(64), 0);
        while *seen < self.all.len() {
            let object = self.all[ObjectId::from_index(*seen)];
            let does_pass = match object.class() {
                Some(class) => match by_class[class] {
                    Some(does_pass) => does_pass,
                    None => {
                        let does_pass = passes(program, object, ty);
                        by_class[class] = Some(does_pass);
                        does_pass
                    }
                },
                None => passes(program, object, ty),
            };
            if does_pass {
                words[*seen / 64] |= 1 << (*seen % 64);
            }
            *seen += 1;
        }
        words
    }

    /// The class whose methods an object has.
    pub(super) fn class(&self, object: ObjectId, program: &mut Program<'_>) -> ClassId {
        self.class_of(self.all[object], program)
    }

    pub(super) fn class_of(&self, object: Object, program: &mut Program<'_>) -> ClassId {
        match object.class() {
            Some(class) => class,
            None => {
                let name: &[u8] = match object {
                    Object::Array(_)
                    | Object::AllocatedArray { .. }
                    | Object::LibraryArray { .. }
                    | Object::Proxy { .. } => b"java/lang/Object",
                    Object::ClassName(_) => b"java/lang/String",
                    Object::Class(_) => b"java/lang/Class",
                    Object::Member { kind: MemberKind::Field, .. } => b"java/lang/reflect/Field",
                    Object::Member { kind: MemberKind::Method, .. } => b"java/lang/reflect/Method",
                    _ => b"java/lang/reflect/Constructor",
                };
                let name = program.names.symbol(name);
                program.class_named(name)
            }
        }
    }
}

/// Whether an object may be used as a value of a type.
fn passes(program: &mut Program<'_>, object: Object, ty: TypeId) -> bool {
    if ty == program.names.known.object {
        return true;
    }
    if let Some(class) = object.class() {
        let Type::Class(name) = program.names.ty(ty) else { return false };
        let above = program.class_named(name);
        return program.may_be(class, above);
    }
    let object = match object {
        Object::AllocatedArray { ty, .. } => Object::Array(ty),
        object => object,
    };
    match (object, program.names.ty(ty)) {
        (Object::Array(array), Type::Array(wanted)) => match program.names.ty(array) {
            Type::Array(element) if element == wanted => true,
            Type::Array(element) => match program.names.ty(element) {
                Type::Array(_) => passes(program, Object::Array(element), wanted),
                Type::Class(name) => {
                    let class = program.class_named(name);
                    passes(program, Object::Instance(class), wanted)
                }
                _ => false,
            },
            _ => false,
        },
        (Object::LibraryArray { .. }, Type::Array(element)) => program.names.is_reference(element),
        (Object::ClassName(_), Type::Class(name)) => {
            let string = program.class_of_type(program.names.known.string);
            let above = program.class_named(name);
            string.is_some_and(|string| program.may_be(string, above))
        }
        (Object::Proxy { interface, .. }, Type::Class(name)) => {
            let above = program.class_named(name);
            program.may_be(interface, above)
        }
        (Object::Array(_) | Object::LibraryArray { .. }, Type::Class(name)) => {
            matches!(program.names.bytes(name), b"java/lang/Cloneable" | b"java/io/Serializable")
        }
        (Object::Class(_), Type::Class(name)) => {
            let class = program.class_of_type(program.names.known.class);
            let above = program.class_named(name);
            class.is_some_and(|class| program.is_subclass(class, above))
        }
        // Handles and updaters stand for members too, whatever class of the JDK they have.
        (Object::Member { .. }, Type::Class(name)) => {
            let above = program.class_named(name);
            program.role(above) == Some(Role::Jdk)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(range: impl IntoIterator<Item = usize>) -> ObjectSet {
        let mut set = ObjectSet::default();
        for index in range {
            set.insert(ObjectId::from_index(index));
        }
        set
    }

    #[test]
    fn short_and_long_sets_flow_alike() {
        let mask: Vec<u64> = vec![!0 << 5, 1];
        for (from, to) in [(3..8, 0..0), (0..40, 0..3), (60..70, 0..100), (0..100, 60..64)] {
            for mask in [None, Some(mask.as_slice())] {
                let expected: std::collections::BTreeSet<usize> = from
                    .clone()
                    .filter(|&index| mask.is_none_or(|m| has_bit(m, ObjectId::from_index(index))))
                    .filter(|index| !to.contains(index))
                    .collect();
                let (mut all, mut fresh) = (set(to.clone()), ObjectSet::default());
                let grown = set(from.clone()).flow_into(mask, &mut all, &mut fresh);
                assert_eq!(grown, !expected.is_empty());
                let mut found: Vec<_> = fresh.to_vec().iter().map(|id| id.index()).collect();
                found.sort_unstable();
                assert_eq!(found, expected.iter().copied().collect::<Vec<_>>());
                let size = all.to_vec().len();
                assert_eq!(size, to.len() + expected.len());
            }
        }
    }
}
