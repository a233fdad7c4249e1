//! What a variable may refer to, and sets of that.

use smallvec::SmallVec;
use unsnarl_entity::{EntityId, UniqueMap, entity_id};
use unsnarl_models::MemberKind;

use crate::body::StatementId;
use crate::class::{ClassId, MethodId};
use crate::names::{Symbol, Type, TypeId};
use crate::path::Role;
use crate::program::Program;

entity_id! {
    /// An abstract object.
    pub struct ObjectId("o");
    /// A type to which an assignment narrows.
    pub(super) struct FilterId("filter");
}

/// All objects of a kind, as one. Variable-type analysis does not tell objects of a class apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// The instances of exactly this class.
    Instance(ClassId),
    /// The instances of exactly this class that one statement makes. Only threads, executors and the
    /// like are told apart so finely, for it is they who decide what runs in parallel.
    Allocated {
        /// The class.
        class: ClassId,
        /// The method that makes them.
        method: MethodId,
        /// The statement that makes them.
        statement: StatementId,
    },
    /// The arrays of exactly this type.
    Array(TypeId),
    /// The arrays of references that a library makes on behalf of one statement. Nobody knows their
    /// exact type.
    LibraryArray {
        /// The method with the statement.
        method: MethodId,
        /// The statement.
        statement: StatementId,
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

/// A set of objects: a short list, or a bit each when it is long.
#[derive(Clone, Debug)]
pub(super) enum ObjectSet {
    Few(SmallVec<[ObjectId; 4]>),
    Many(Vec<u64>),
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
            Self::Many(words) => words.iter().all(|&word| word == 0),
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
                    set_bit(&mut words, old);
                }
                *self = Self::Many(words);
                true
            }
            Self::Many(words) => set_bit(words, object),
        }
    }

    /// Adds the objects of up to 64 bits.
    fn insert_word(&mut self, index: usize, word: u64) {
        let mut rest = word;
        while rest != 0 {
            if let Self::Many(words) = self {
                if words.len() <= index {
                    words.resize(index + 1, 0);
                }
                words[index] |= rest;
                return;
            }
            self.insert(ObjectId::from_index(index * 64 + rest.trailing_zeros() as usize));
            rest &= rest - 1;
        }
    }

    pub(super) fn for_each(&self, mut visit: impl FnMut(ObjectId)) {
        match self {
            Self::Few(objects) => objects.iter().copied().for_each(visit),
            Self::Many(words) => {
                for (index, &word) in words.iter().enumerate() {
                    let mut rest = word;
                    while rest != 0 {
                        let bit = rest.trailing_zeros() as usize;
                        visit(ObjectId::from_index(index * 64 + bit));
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
        let mut grown = false;
        if let (Self::Many(from), Self::Many(to)) = (self, &mut *all) {
            if to.len() < from.len() {
                to.resize(from.len(), 0);
            }
            for (index, &word) in from.iter().enumerate() {
                let allowed = mask.map_or(!0, |mask| mask.get(index).copied().unwrap_or(0));
                let new = word & allowed & !to[index];
                if new != 0 {
                    to[index] |= new;
                    fresh.insert_word(index, new);
                    grown = true;
                }
            }
            return grown;
        }
        self.for_each(|object| {
            if mask.is_none_or(|mask| has_bit(mask, object)) && all.insert(object) {
                fresh.insert(object);
                grown = true;
            }
        });
        grown
    }
}

fn set_bit(words: &mut Vec<u64>, object: ObjectId) -> bool {
    let (word, bit) = (object.index() / 64, 1 << (object.index() % 64));
    if words.len() <= word {
        words.resize(word + 1, 0);
    }
    let new = words[word] & bit == 0;
    words[word] |= bit;
    new
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
}

#[derive(Debug, Default)]
struct Mask {
    words: Vec<u64>,
    /// How many objects have been looked at.
    seen: usize,
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

    /// Which objects pass a filter, as bits.
    pub(super) fn mask(&mut self, filter: FilterId, program: &mut Program<'_>) -> &[u64] {
        let ty = self.filters[filter];
        let Mask { words, seen } = &mut self.masks[filter.index()];
        while *seen < self.all.len() {
            let id = ObjectId::from_index(*seen);
            if passes(program, self.all[id], ty) {
                set_bit(words, id);
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
        match object {
            Object::Instance(class) | Object::Allocated { class, .. } | Object::Unknown(class) => {
                class
            }
            other => {
                let name: &[u8] = match other {
                    Object::Array(_) | Object::LibraryArray { .. } | Object::Proxy { .. } => {
                        b"java/lang/Object"
                    }
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
    match (object, program.names.ty(ty)) {
        (_, _) if ty == program.names.known.object => true,
        (
            Object::Instance(class) | Object::Allocated { class, .. } | Object::Unknown(class),
            Type::Class(name),
        ) => {
            let above = program.class_named(name);
            program.may_be(class, above)
        }
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
