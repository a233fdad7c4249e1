//! The names of the classes of objects.

use rustc_hash::FxHashMap;
use unsnarl_events::{NameId, Tables};

use crate::translate::descriptions::{Descriptions, source_type};

/// The names of classes whose objects occurred, by the ids of their `Class`.
#[derive(Debug, Default)]
pub(crate) struct ClassNames(FxHashMap<u64, NameId>);

impl ClassNames {
    /// The name of the class of an object.
    pub(crate) fn of(
        &mut self,
        object: u64,
        descriptions: &Descriptions,
        tables: &mut Tables,
    ) -> NameId {
        let class = descriptions.class_of(object);
        if let Some(&name) = class.and_then(|class| self.0.get(&class)) {
            return name;
        }
        let class_names = &descriptions.class_names;
        let known = class.and_then(|class| Some((class, class_names.get(&class)?)));
        let name = match known {
            Some((_, name)) => source_type(name),
            None if class_names.contains_key(&object) => b"java.lang.Class".to_vec(),
            None => b"?".to_vec(),
        };
        let name = tables.names.intern(&name);
        // A class may get its name later, and keeps it.
        if let Some((class, _)) = known {
            self.0.insert(class, name);
        }
        name
    }
}
