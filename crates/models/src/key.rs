//! Names of classes and methods as the data files write them, and their form in class files.

use crate::parse::SentenceError;

/// A method key: `name(types)`, or `name` alone for all overloads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MethodKey {
    pub(crate) name: String,
    /// The parameter part of the descriptor, without parentheses.
    pub(crate) parameters: Option<String>,
}

/// Reads a list of method keys separated by commas.
pub(crate) fn parse_keys(text: &str) -> Result<Vec<MethodKey>, SentenceError> {
    let mut keys = Vec::new();
    let mut start = 0;
    let mut depth = 0;
    for (offset, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                keys.push(parse_key(text, start, offset)?);
                start = offset + 1;
            }
            _ => {}
        }
    }
    keys.push(parse_key(text, start, text.len())?);
    Ok(keys)
}

/// Reads the key at `text[start..end]`.
fn parse_key(text: &str, start: usize, end: usize) -> Result<MethodKey, SentenceError> {
    let fail = |offset: usize, message: String| SentenceError {
        column: text[..offset].chars().count() + 1,
        message,
    };
    let key = &text[start..end];
    let name_end = key.find('(').unwrap_or(key.len());
    let name = key[..name_end].trim();
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_$".contains(c))
    };
    if name != "<init>" && !is_name(name) {
        let message = format!("expected the name of a method or <init>, found `{name}`");
        return Err(fail(start, message));
    }
    let mut parameters = None;
    if name_end < key.len() {
        let Some(list) = key[name_end + 1..].trim_end().strip_suffix(')') else {
            return Err(fail(end, "expected `)` at the end of the key".to_owned()));
        };
        let mut descriptor = String::new();
        let mut offset = start + name_end + 1;
        for part in list.split(',').filter(|_| !list.trim().is_empty()) {
            match type_descriptor(part.trim()) {
                Some(parameter) => descriptor.push_str(&parameter),
                None => return Err(fail(offset, format!("`{}` is not a type", part.trim()))),
            }
            offset += part.len() + 1;
        }
        parameters = Some(descriptor);
    }
    Ok(MethodKey { name: name.to_owned(), parameters })
}

/// `java.util.List[]` as `[Ljava/util/List;`; a name without a package is one of `java.lang`.
fn type_descriptor(name: &str) -> Option<String> {
    let mut element = name;
    let mut dimensions = 0;
    while let Some(rest) = element.strip_suffix("[]").or_else(|| element.strip_suffix("...")) {
        element = rest.trim_end();
        dimensions += 1;
    }
    let class = || {
        let valid = is_class_name(element);
        let package = if element.contains('.') { "" } else { "java/lang/" };
        valid.then(|| format!("L{package}{};", element.replace('.', "/")))
    };
    let descriptor = match descriptor_of_primitive(element) {
        Some(primitive) => primitive.to_owned(),
        None => class()?,
    };
    Some("[".repeat(dimensions) + &descriptor)
}

/// Whether this is a dotted name of a class (or package).
pub(crate) fn is_class_name(name: &str) -> bool {
    name.split('.').all(|part| {
        !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "_$-".contains(c))
    })
}

const PRIMITIVES: [(&str, &str); 8] = [
    ("boolean", "Z"),
    ("byte", "B"),
    ("char", "C"),
    ("short", "S"),
    ("int", "I"),
    ("long", "J"),
    ("float", "F"),
    ("double", "D"),
];

pub(crate) fn descriptor_of_primitive(name: &str) -> Option<&'static str> {
    PRIMITIVES.iter().find(|(word, _)| *word == name).map(|(_, descriptor)| *descriptor)
}

pub(crate) fn primitive_of_descriptor(descriptor: &str) -> Option<&'static str> {
    PRIMITIVES.iter().find(|(_, sign)| *sign == descriptor).map(|(word, _)| *word)
}
