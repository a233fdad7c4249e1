//! What the tables of a session say. Together with the events this is the input of the translator.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_recording::class_table::{ClassTable, internal_name};
use unsnarl_recording::records::SiteRecord;

use super::ids::Pages;

/// What the tables of a session say.
#[derive(Debug, Default)]
pub(crate) struct Descriptions {
    pub(crate) sites: FxHashMap<u32, SiteRecord>,
    pub(crate) classes: ClassTable,
    /// The names of classes by the id of their `Class`.
    pub(crate) class_names: FxHashMap<u64, Vec<u8>>,
    pub(crate) thread_names: FxHashMap<u64, Vec<u8>>,
    pub(crate) daemons: FxHashSet<u64>,
    /// The id of the `Class` of an object; 0 if it is not known.
    pub(super) class_of: Pages<u64>,
    /// The texts of strings.
    pub(crate) texts: FxHashMap<u64, Vec<u8>>,
}

impl Descriptions {
    /// The id of the `Class` of an object, if it is known.
    pub(super) fn class_of(&self, object: u64) -> Option<u64> {
        self.class_of.get(object).copied().filter(|&class| class != 0)
    }

    /// The internal name of the class of an object.
    pub(super) fn class_name_of(&self, object: u64) -> Option<Vec<u8>> {
        let Some(class) = self.class_of(object) else {
            let is_class = self.class_names.contains_key(&object);
            return is_class.then(|| b"java/lang/Class".to_vec());
        };
        self.class_names.get(&class).map(|name| internal_name(name))
    }

    /// What a thread is called. Virtual threads have no names but those that a program gives them.
    pub(super) fn thread_name(&self, number: u64) -> Cow<'_, [u8]> {
        match self.thread_names.get(&number) {
            Some(name) if !name.is_empty() => Cow::Borrowed(name),
            _ => Cow::Owned(format!("thread {number}").into_bytes()),
        }
    }
}

/// The binary name of a class, with dots.
pub(super) fn binary_name(internal: &[u8]) -> Vec<u8> {
    internal.iter().map(|&byte| if byte == b'/' { b'.' } else { byte }).collect()
}

/// The name that `Class.getName` gives, with arrays as in Java source.
pub(super) fn source_type(name: &[u8]) -> Vec<u8> {
    let dimensions = name.iter().take_while(|&&byte| byte == b'[').count();
    if dimensions == 0 {
        return name.to_vec();
    }
    let mut text = match &name[dimensions..] {
        b"Z" => b"boolean".to_vec(),
        b"B" => b"byte".to_vec(),
        b"C" => b"char".to_vec(),
        b"S" => b"short".to_vec(),
        b"I" => b"int".to_vec(),
        b"J" => b"long".to_vec(),
        b"F" => b"float".to_vec(),
        b"D" => b"double".to_vec(),
        [b'L', class @ .., b';'] => class.to_vec(),
        other => other.to_vec(),
    };
    text.extend(b"[]".repeat(dimensions));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_without_a_name_has_its_number() {
        let name = |name: Option<&str>| {
            let names = name.map(|it| (7, it.as_bytes().to_vec())).into_iter().collect();
            let descriptions = Descriptions { thread_names: names, ..Descriptions::default() };
            descriptions.thread_name(7).into_owned()
        };
        assert_eq!(name(Some("worker")), b"worker");
        assert_eq!(name(Some("")), b"thread 7");
        assert_eq!(name(None), b"thread 7");
    }

    #[test]
    fn arrays_are_named_as_in_source() {
        for (name, expected) in
            [("a.B", "a.B"), ("[I", "int[]"), ("[[La.B;", "a.B[][]"), ("[", "[]"), ("", "")]
        {
            assert_eq!(source_type(name.as_bytes()), expected.as_bytes(), "{name}");
        }
    }
}
