//! Which class declares a field that code names. The agent asks when it rewrites, the reader when it
//! reads, and by then all classes are there.

use rustc_hash::FxHashMap;

use super::records::{ClassRecord, FieldRecord};

/// The classes that were loaded, by name. Two class loaders may load different classes of one name: the
/// fields of both count then, and what they disagree on is unknown.
#[derive(Clone, Debug, Default)]
pub struct ClassTable {
    classes: FxHashMap<Vec<u8>, Class>,
}

#[derive(Clone, Debug)]
struct Class {
    superclass: Vec<u8>,
    fields: FxHashMap<(Vec<u8>, Vec<u8>), Declared>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Declared {
    Plain,
    Volatile,
    Differently,
}

/// What is known of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'t> {
    /// A class declares it.
    Field(DeclaredField<'t>),
    /// All classes above are known and none declares it: a constant of an interface, or an error.
    Nowhere,
    /// A class is not known yet, or there are two of one name that disagree.
    Unknown,
}

/// A field and who declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredField<'t> {
    /// The internal name of the class that declares it.
    pub class: &'t [u8],
    /// Whether it is volatile.
    pub volatile: bool,
}

/// No chain of superclasses is longer; a damaged table may have a cycle.
const MOST_SUPERCLASSES: usize = 1000;

impl ClassTable {
    /// Takes a class in.
    pub fn add(&mut self, record: &ClassRecord) {
        let declared = |field: &FieldRecord| {
            if field.volatile { Declared::Volatile } else { Declared::Plain }
        };
        let class = self.classes.entry(record.name.clone()).or_insert_with(|| Class {
            superclass: record.superclass.clone(),
            fields: FxHashMap::default(),
        });
        for field in &record.fields {
            class
                .fields
                .entry((field.name.clone(), field.descriptor.clone()))
                .and_modify(|known| {
                    if *known != declared(field) {
                        *known = Declared::Differently;
                    }
                })
                .or_insert_with(|| declared(field));
        }
    }

    /// Looks a field up from the class that the code names.
    #[must_use]
    pub fn find<'t>(&'t self, class: &[u8], name: &[u8], descriptor: &[u8]) -> Found<'t> {
        let key = (name.to_vec(), descriptor.to_vec());
        let mut current = class;
        for _ in 0..MOST_SUPERCLASSES {
            let Some((own_name, found)) = self.classes.get_key_value(current) else {
                return Found::Unknown;
            };
            match found.fields.get(&key) {
                Some(Declared::Differently) => return Found::Unknown,
                Some(declared) => {
                    let volatile = *declared == Declared::Volatile;
                    return Found::Field(DeclaredField { class: own_name, volatile });
                }
                None if found.superclass.is_empty() => return Found::Nowhere,
                None => current = &found.superclass,
            }
        }
        Found::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str, superclass: &str, fields: &[(&str, bool)]) -> ClassRecord {
        let fields = fields.iter().map(|&(name, volatile)| FieldRecord {
            name: name.into(),
            descriptor: b"I".to_vec(),
            volatile,
        });
        ClassRecord { name: name.into(), superclass: superclass.into(), fields: fields.collect() }
    }

    #[test]
    fn fields_are_found_where_they_are_declared() {
        let mut table = ClassTable::default();
        table.add(&class("Lower", "Upper", &[("own", false)]));
        assert_eq!(table.find(b"Lower", b"upper", b"I"), Found::Unknown);
        table.add(&class("Upper", "", &[("upper", true), ("own", true)]));
        let upper = DeclaredField { class: b"Upper", volatile: true };
        assert_eq!(table.find(b"Lower", b"upper", b"I"), Found::Field(upper));
        let own = DeclaredField { class: b"Lower", volatile: false };
        assert_eq!(table.find(b"Lower", b"own", b"I"), Found::Field(own));
        assert_eq!(table.find(b"Lower", b"own", b"J"), Found::Nowhere);
    }

    #[test]
    fn classes_of_one_name_that_disagree_are_unknown() {
        let mut table = ClassTable::default();
        table.add(&class("Twice", "", &[("same", true), ("other", true)]));
        table.add(&class("Twice", "", &[("same", true), ("other", false)]));
        let same = DeclaredField { class: b"Twice", volatile: true };
        assert_eq!(table.find(b"Twice", b"same", b"I"), Found::Field(same));
        assert_eq!(table.find(b"Twice", b"other", b"I"), Found::Unknown);
    }

    #[test]
    fn a_cycle_ends() {
        let mut table = ClassTable::default();
        table.add(&class("A", "B", &[]));
        table.add(&class("B", "A", &[]));
        assert_eq!(table.find(b"A", b"x", b"I"), Found::Unknown);
    }
}
