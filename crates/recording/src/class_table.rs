//! Which class declares a field that code names, and which model speaks for a call. The agent asks when it
//! rewrites and when the program first calls, the reader when it reads, and by then all classes are there.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_classfile::resolution::{self, Resolved, Visited};

use crate::records::{ClassRecord, Volatility};

/// The classes that were loaded, by name. Two class loaders may load different classes of one name: the
/// fields of both count then, and what they disagree on is unknown.
#[derive(Clone, Debug, Default)]
pub struct ClassTable {
    classes: FxHashMap<Vec<u8>, Class>,
}

#[derive(Clone, Debug)]
struct Class {
    superclass: Vec<u8>,
    interfaces: Vec<Vec<u8>>,
    /// The methods with a body, in a class with probes, that the models have a name for.
    methods: FxHashSet<(Vec<u8>, Vec<u8>)>,
    /// Unknown if two of one name disagree.
    fields: FxHashMap<(Vec<u8>, Vec<u8>), Volatility>,
    /// The names of those that are static.
    statics: FxHashSet<Vec<u8>>,
}

/// A field and who declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredField<'t> {
    /// The internal name of the class that declares it.
    pub class: &'t [u8],
    /// Whether it is volatile or final.
    pub volatility: Volatility,
}

/// A field that reflection found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedField<'t> {
    /// The internal name of the class that declares it.
    pub class: &'t [u8],
    /// Whether it is volatile or final.
    pub volatility: Volatility,
    /// Whether it is static.
    pub is_static: bool,
}

impl ClassTable {
    /// Takes a class in.
    pub fn add(&mut self, record: &ClassRecord) {
        let class = self.classes.entry(record.name.clone()).or_insert_with(|| Class {
            superclass: record.superclass.clone(),
            interfaces: Vec::new(),
            methods: FxHashSet::default(),
            fields: FxHashMap::default(),
            statics: FxHashSet::default(),
        });
        for interface in &record.interfaces {
            if !class.interfaces.contains(interface) {
                class.interfaces.push(interface.clone());
            }
        }
        class.methods.extend(record.methods.iter().cloned());
        let statics = record.fields.iter().filter(|field| field.is_static);
        class.statics.extend(statics.map(|field| field.name.clone()));
        for field in &record.fields {
            class
                .fields
                .entry((field.name.clone(), field.descriptor.clone()))
                .and_modify(|known| *known = known.or(field.volatility))
                .or_insert(field.volatility);
        }
    }

    /// Looks a field up from the class that the code names.
    #[must_use]
    pub fn find<'t>(
        &'t self,
        class: &'t [u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Resolved<DeclaredField<'t>> {
        let key = (name.to_vec(), descriptor.to_vec());
        resolution::through_superclasses(class, |class| {
            let Some((own_name, found)) = self.classes.get_key_value(class) else {
                return Visited::Unknown;
            };
            match found.fields.get(&key) {
                Some(Volatility::Unknown) => Visited::Unknown,
                Some(&volatility) => Visited::Found(DeclaredField { class: own_name, volatility }),
                None => Visited::superclass(&found.superclass[..]),
            }
        })
    }

    /// Looks a field up by its name alone, as reflection does: the class itself declares it, or one above.
    #[must_use]
    pub fn find_named<'t>(&'t self, class: &'t [u8], name: &[u8]) -> Option<NamedField<'t>> {
        self.ancestors(class).0.into_iter().find_map(|class| {
            let found = self.classes.get(class)?;
            let (_, &volatility) = found.fields.iter().find(|((own, _), _)| own == name)?;
            Some(NamedField { class, volatility, is_static: found.statics.contains(name) })
        })
    }

    /// The fields of objects of a class that are neither volatile nor final, with the classes that declare them.
    pub fn plain_fields<'t>(
        &'t self,
        class: &'t [u8],
    ) -> impl Iterator<Item = (&'t [u8], &'t [u8])> {
        self.superclasses(class).filter_map(|name| Some((name, self.classes.get(name)?))).flat_map(
            |(class, found)| {
                let mut names: Vec<&[u8]> = found
                    .fields
                    .iter()
                    .filter(|((name, _), volatility)| {
                        **volatility == Volatility::Plain && !found.statics.contains(name)
                    })
                    .map(|((name, _), _)| &**name)
                    .collect();
                // The order of a trace is a function of the trace.
                names.sort_unstable();
                names.into_iter().map(move |name| (class, name))
            },
        )
    }

    /// The class whose model speaks for a call of a method on an object of `class`, as `docs/models.md` says, of those
    /// that `has_model`. What has probes is recorded from its own code; all else is not entered, also if it could be analysed.
    #[must_use]
    pub fn model<'t>(
        &'t self,
        class: &'t [u8],
        name: &[u8],
        descriptor: &[u8],
        has_model: impl Fn(&[u8]) -> bool,
    ) -> Option<&'t [u8]> {
        let method = (name.to_vec(), descriptor.to_vec());
        let has_body =
            |class: &[u8]| self.classes.get(class).is_some_and(|it| it.methods.contains(&method));
        let is_below = |class: &[u8], above: &[u8]| self.ancestors(class).0.contains(&above);
        let above = self.ancestors(class).0;
        resolution::nearest(self.superclasses(class), above, is_below, |class: &'t [u8]| {
            if has_model(class) { Some(Some(class)) } else { has_body(class).then_some(None) }
        })
        .flatten()
    }

    /// Whether a class that is known may have a method from one above it that is not.
    #[must_use]
    pub fn may_inherit(&self, class: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
        let method = (name.to_vec(), descriptor.to_vec());
        let mut above = self.superclasses(class).map(|class| self.classes.get(class));
        let has_none =
            |known: &Option<&Class>| known.is_none_or(|it| !it.methods.contains(&method));
        above.next().flatten().is_some_and(|own| !own.methods.contains(&method))
            && above.take_while(has_none).any(|known| known.is_none())
    }

    /// Whether a method runs code that has probes when it is called on an object of the class.
    #[must_use]
    pub fn has_probes(&self, class: &[u8], name: &[u8], arguments: usize) -> bool {
        let takes = |descriptor: &[u8]| argument_count(descriptor) == arguments;
        self.ancestors(class).0.iter().any(|class| {
            self.classes.get(*class).is_some_and(|class| {
                class.methods.iter().any(|(own, descriptor)| own == name && takes(descriptor))
            })
        })
    }

    /// A class and all that is above it, and whether all of these are known.
    #[must_use]
    pub fn ancestors<'t>(&'t self, class: &'t [u8]) -> (Vec<&'t [u8]>, bool) {
        let mut all = vec![class];
        let mut is_complete = true;
        let mut next = 0;
        while let Some(&class) = all.get(next) {
            next += 1;
            let Some(found) = self.classes.get(class) else {
                is_complete = false;
                continue;
            };
            for above in std::iter::once(&found.superclass).chain(&found.interfaces) {
                if !above.is_empty() && !all.contains(&&above[..]) {
                    all.push(above);
                }
            }
        }
        (all, is_complete)
    }

    /// A class and its superclasses, from it upwards.
    pub fn superclasses<'t>(&'t self, class: &'t [u8]) -> impl Iterator<Item = &'t [u8]> {
        let above = |class: &&'t [u8]| {
            let found = self.classes.get(*class)?;
            Some(&found.superclass[..]).filter(|superclass| !superclass.is_empty())
        };
        std::iter::successors(Some(class), above).take(resolution::MOST_SUPERCLASSES)
    }
}

/// The internal name of a class by the one that `Class.getName` gives. That of a hidden class ends with a
/// slash and a number of the JVM's.
#[must_use]
pub fn internal_name(name: &[u8]) -> Vec<u8> {
    let name = name.split(|&byte| byte == b'/').next().unwrap_or_default();
    name.iter().map(|&byte| if byte == b'.' { b'/' } else { byte }).collect()
}

/// How many arguments a method takes.
pub fn argument_count(descriptor: &[u8]) -> usize {
    arguments(descriptor).count()
}

/// The first letters of the types of the arguments, by the descriptor of a method.
pub fn arguments(descriptor: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = descriptor.strip_prefix(b"(").unwrap_or_default();
    std::iter::from_fn(move || {
        let (&first, tail) = rest.split_first().filter(|(first, _)| **first != b')')?;
        let element = tail.iter().position(|&byte| byte != b'[').unwrap_or(tail.len());
        let name = if first == b'[' { &tail[element..] } else { rest };
        rest = match name.first() {
            Some(b'L') => {
                let end = name.iter().position(|&byte| byte == b';');
                end.map_or(&[], |end| &name[end + 1..])
            }
            _ => name.get(1..).unwrap_or_default(),
        };
        Some(first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::FieldRecord;

    fn class(name: &str, superclass: &str, fields: &[(&str, Volatility)]) -> ClassRecord {
        let fields = fields.iter().map(|&(name, volatility)| FieldRecord {
            name: name.into(),
            descriptor: b"I".to_vec(),
            volatility,
            is_static: false,
        });
        ClassRecord {
            name: name.into(),
            superclass: superclass.into(),
            interfaces: Vec::new(),
            methods: Vec::new(),
            fields: fields.collect(),
        }
    }

    fn below(name: &str, superclass: &str, interfaces: &[&str], methods: &[&str]) -> ClassRecord {
        ClassRecord {
            interfaces: interfaces.iter().map(|name| name.as_bytes().to_vec()).collect(),
            methods: methods
                .iter()
                .map(|name| (name.as_bytes().to_vec(), b"()V".to_vec()))
                .collect(),
            ..class(name, superclass, &[])
        }
    }

    #[test]
    fn the_nearest_model_speaks_unless_there_is_code_with_probes() {
        const LOCK: &str = "java/util/concurrent/locks/Lock";
        const OBJECT: &str = "java/lang/Object";
        let mut table = ClassTable::default();
        table.add(&below(OBJECT, "", &[], &[]));
        table.add(&below("lib/Lock", OBJECT, &[LOCK], &[]));
        table.add(&below("app/Lock", "lib/Lock", &[], &["lock"]));
        table.add(&below("app/Lower", "app/Lock", &[LOCK], &[]));
        let models = [(LOCK, "lock"), (LOCK, "unlock"), (OBJECT, "notify")];
        let model = |class: &str, name: &str| {
            let has_model =
                |class: &[u8]| models.iter().any(|it| (it.0.as_bytes(), it.1) == (class, name));
            let found = table.model(class.as_bytes(), name.as_bytes(), b"()V", has_model);
            found.map(|it| String::from_utf8_lossy(it).into_owned())
        };
        assert_eq!(model("lib/Lock", "lock"), Some(LOCK.into()));
        assert_eq!(model("app/Lower", "lock"), None);
        assert_eq!(model("app/Lower", "unlock"), Some(LOCK.into()));
        assert_eq!(model("app/Lower", "notify"), Some(OBJECT.into()));
        assert_eq!(model(OBJECT, "lock"), None);
        assert!(table.has_probes(b"app/Lower", b"lock", 0));
        assert!(!table.has_probes(b"app/Lower", b"lock", 1));
    }

    #[test]
    fn hidden_classes_have_no_number() {
        assert_eq!(internal_name(b"a.B$$Lambda$1/0x0000"), b"a/B$$Lambda$1");
        assert_eq!(internal_name(b"a.B"), b"a/B");
    }

    #[test]
    fn arguments_are_counted() {
        for (descriptor, count) in [("()V", 0), ("(I[JLa/B;[[Lc;D)V", 5), ("(La", 1), ("", 0)] {
            assert_eq!(argument_count(descriptor.as_bytes()), count, "{descriptor}");
        }
    }

    #[test]
    fn fields_are_found_where_they_are_declared() {
        let mut table = ClassTable::default();
        table.add(&class("Lower", "Upper", &[("own", Volatility::Final)]));
        assert_eq!(table.find(b"Lower", b"upper", b"I"), Resolved::Unknown);
        table.add(&class(
            "Upper",
            "",
            &[("upper", Volatility::Volatile), ("own", Volatility::Volatile)],
        ));
        let upper = DeclaredField { class: b"Upper", volatility: Volatility::Volatile };
        assert_eq!(table.find(b"Lower", b"upper", b"I"), Resolved::Found(upper));
        let own = DeclaredField { class: b"Lower", volatility: Volatility::Final };
        assert_eq!(table.find(b"Lower", b"own", b"I"), Resolved::Found(own));
        assert_eq!(table.find(b"Lower", b"own", b"J"), Resolved::Nowhere);
    }

    #[test]
    fn classes_of_one_name_that_disagree_are_unknown() {
        let mut table = ClassTable::default();
        let [plain, last, volatile] = [Volatility::Plain, Volatility::Final, Volatility::Volatile];
        table.add(&class("Twice", "", &[("same", volatile), ("other", volatile), ("last", last)]));
        table.add(&class("Twice", "", &[("same", volatile), ("other", plain), ("last", plain)]));
        let found = |volatility| Resolved::Found(DeclaredField { class: b"Twice", volatility });
        assert_eq!(table.find(b"Twice", b"same", b"I"), found(volatile));
        assert_eq!(table.find(b"Twice", b"other", b"I"), Resolved::Unknown);
        assert_eq!(table.find(b"Twice", b"last", b"I"), found(plain));
    }

    #[test]
    fn what_is_not_known_may_be_inherited() {
        let mut classes = ClassTable::default();
        classes.add(&below("A", "B", &[], &["own"]));
        classes.add(&below("C", "A", &[], &[]));
        let may = |classes: &ClassTable, class: &str, name: &str| {
            classes.may_inherit(class.as_bytes(), name.as_bytes(), b"()V")
        };
        assert!(may(&classes, "A", "other") && may(&classes, "C", "other"));
        assert!(!may(&classes, "A", "own") && !may(&classes, "C", "own"), "it has a body");
        assert!(!may(&classes, "B", "other"), "nothing is known of the class itself");
        classes.add(&below("B", "", &[], &[]));
        assert!(!may(&classes, "A", "other"));
    }

    #[test]
    fn arguments_are_told_by_their_first_letters() {
        let letters = |descriptor: &[u8]| arguments(descriptor).collect::<Vec<u8>>();
        assert_eq!(letters(b"()V"), b"");
        assert_eq!(letters(b"(Ljava/lang/Object;J[[ILa/B;[Lc/D;Z)V"), b"LJ[L[Z");
        assert_eq!(argument_count(b"([I[[Ljava/lang/String;D)J"), 3);
        assert_eq!(letters(b"(I"), b"I");
        assert_eq!(letters(b"(Lbroken"), b"L");
        assert_eq!(letters(b"(["), b"[");
    }

    #[test]
    fn a_cycle_ends() {
        let mut table = ClassTable::default();
        table.add(&class("A", "B", &[]));
        table.add(&class("B", "A", &[]));
        assert_eq!(table.find(b"A", b"x", b"I"), Resolved::Unknown);
    }
}
