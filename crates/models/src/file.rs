//! One data file: TOML in, checked rules, models and entry sets out.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

use crate::class_model::{ClassModel, MethodModel};
use crate::key::{self, MethodKey};
use crate::parse::{SentenceError, parse};
use crate::{EntrySet, MethodPattern, PackageRule, Treatment};

const SCHEMA: &str = "unsnarl.models/1";

/// Why a data file was refused.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// It is not TOML, or not of the expected shape.
    #[error("{file}: {source}")]
    Toml {
        /// The file.
        file: String,
        /// Line, column and reason.
        source: Box<toml::de::Error>,
    },
    /// It is of another schema.
    #[error("{file}: schema is `{found}`, expected `{SCHEMA}`")]
    Schema {
        /// The file.
        file: String,
        /// What it says.
        found: String,
    },
    /// A key or sentence makes no sense.
    #[error("{file}: {key}: {error} in `{text}`")]
    Sentence {
        /// The file.
        file: String,
        /// The path of the key in the file.
        key: String,
        /// The sentence or key that was read.
        text: String,
        /// Where and why.
        error: SentenceError,
    },
    /// A method is modelled twice in one file.
    #[error("{file}: {key}: {method} is modelled twice in this file")]
    Twice {
        /// The file.
        file: String,
        /// The path of the key in the file.
        key: String,
        /// The method, with the parameter part of its descriptor.
        method: String,
    },
}

/// What one file says.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    pub(crate) packages: Vec<(Box<str>, PackageRule)>,
    pub(crate) classes: FxHashMap<Box<[u8]>, ClassModel>,
    pub(crate) entries: Vec<EntrySet>,
}

/// Reads a file; `file` is only a name for messages.
pub(crate) fn read(file: &str, text: &str) -> Result<Layer, ModelError> {
    let raw: RawFile = toml::from_str(text)
        .map_err(|error| ModelError::Toml { file: file.to_owned(), source: Box::new(error) })?;
    if raw.schema != SCHEMA {
        return Err(ModelError::Schema { file: file.to_owned(), found: raw.schema });
    }
    let reader = Reader { file };
    let mut layer = Layer::default();
    for (prefix, rule) in raw.packages {
        layer.packages.push(reader.package(&prefix, rule)?);
    }
    layer.classes = reader.classes(&raw.methods)?;
    for raw_entry in raw.entry {
        layer.entries.push(reader.entry(raw_entry)?);
    }
    Ok(layer)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    schema: String,
    #[serde(default)]
    packages: BTreeMap<String, RawPackage>,
    #[serde(default)]
    methods: BTreeMap<String, BTreeMap<String, Sentences>>,
    #[serde(default)]
    entry: Vec<RawEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPackage {
    treat: RawTreatment,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawTreatment {
    Analyse,
    Model,
    Opaque,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    name: String,
    #[serde(default)]
    annotated: Vec<String>,
    #[serde(default)]
    annotated_classes: Vec<String>,
    #[serde(default)]
    overrides: Vec<String>,
    #[serde(default)]
    named: Vec<String>,
    #[serde(default)]
    concurrent: bool,
}

/// One sentence or a list of them.
struct Sentences(Vec<String>);

impl<'de> Deserialize<'de> for Sentences {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;

        impl<'de> Visitor<'de> for OneOrMany {
            type Value = Sentences;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sentence or a list of sentences")
            }

            fn visit_str<E>(self, sentence: &str) -> Result<Sentences, E> {
                Ok(Sentences(vec![sentence.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Sentences, A::Error> {
                let mut sentences = Vec::new();
                while let Some(sentence) = list.next_element()? {
                    sentences.push(sentence);
                }
                Ok(Sentences(sentences))
            }
        }

        deserializer.deserialize_any(OneOrMany)
    }
}

struct Reader<'a> {
    file: &'a str,
}

impl Reader<'_> {
    fn error(&self, key: String, text: &str, error: SentenceError) -> ModelError {
        ModelError::Sentence { file: self.file.to_owned(), key, text: text.to_owned(), error }
    }

    /// A dotted name in internal form.
    fn internal_name(&self, key: &str, name: &str) -> Result<Box<str>, ModelError> {
        if key::is_class_name(name) {
            return Ok(name.replace('.', "/").into());
        }
        let message = "expected a dotted name".to_owned();
        Err(self.error(key.to_owned(), name, SentenceError { column: 1, message }))
    }

    fn internal_names(&self, key: &str, names: &[String]) -> Result<Vec<Box<str>>, ModelError> {
        names.iter().map(|name| self.internal_name(key, name)).collect()
    }

    fn package(
        &self,
        pattern: &str,
        raw: RawPackage,
    ) -> Result<(Box<str>, PackageRule), ModelError> {
        let prefix =
            pattern.strip_suffix(".**").or_else(|| pattern.strip_suffix(".*")).unwrap_or(pattern);
        let rule = PackageRule {
            treatment: match raw.treat {
                RawTreatment::Analyse => Treatment::Analyse,
                RawTreatment::Model => Treatment::Model,
                RawTreatment::Opaque => Treatment::Opaque,
            },
            reason: raw.reason.into(),
        };
        Ok((self.internal_name("packages", prefix)?, rule))
    }

    /// All tables of methods. Where two speak of the same method of a class, the one with fewer
    /// classes decides, as an exception to what is said of many.
    fn classes(
        &self,
        tables: &BTreeMap<String, BTreeMap<String, Sentences>>,
    ) -> Result<FxHashMap<Box<[u8]>, ClassModel>, ModelError> {
        let mut by_size: BTreeMap<_, FxHashMap<Box<[u8]>, ClassModel>> = BTreeMap::new();
        for (classes, methods) in tables {
            let size = Reverse(classes.split(',').count());
            self.table(classes, methods, by_size.entry(size).or_default())?;
        }
        let mut all: FxHashMap<Box<[u8]>, ClassModel> = FxHashMap::default();
        for (class, model) in by_size.into_values().flatten() {
            all.entry(class).or_default().lay_over(model);
        }
        Ok(all)
    }

    /// The table `[methods."A, B"]`, for each of its classes.
    fn table(
        &self,
        classes: &str,
        methods: &BTreeMap<String, Sentences>,
        models: &mut FxHashMap<Box<[u8]>, ClassModel>,
    ) -> Result<(), ModelError> {
        let table = format!("methods.\"{classes}\"");
        let mut parsed = Vec::new();
        for (keys, sentences) in methods {
            let path = || format!("{table}.\"{keys}\"");
            let keys = key::parse_keys(keys).map_err(|error| self.error(path(), keys, error))?;
            let mut effects = Vec::new();
            for sentence in &sentences.0 {
                let effect = parse(sentence);
                effects.push(effect.map_err(|error| self.error(path(), sentence, error))?);
            }
            parsed.push((path(), keys, MethodModel { effects }));
        }
        for class in classes.split(',') {
            let class = self.internal_name(&table, class.trim())?;
            let model = models.entry(class.as_bytes().into()).or_default();
            for (path, keys, effects) in &parsed {
                for key in keys {
                    if !model.add(key, effects.clone()) {
                        return Err(self.twice(path, key));
                    }
                }
            }
        }
        Ok(())
    }

    fn twice(&self, path: &str, key: &MethodKey) -> ModelError {
        let parameters = key.parameters.as_ref().map(|list| format!("({list})"));
        ModelError::Twice {
            file: self.file.to_owned(),
            key: path.to_owned(),
            method: key.name.clone() + &parameters.unwrap_or_default(),
        }
    }

    fn entry(&self, raw: RawEntry) -> Result<EntrySet, ModelError> {
        let path = format!("entry \"{}\"", raw.name);
        let patterns = |list: &[String], qualified| -> Result<Vec<MethodPattern>, ModelError> {
            list.iter().map(|text| self.pattern(&path, text, qualified)).collect()
        };
        Ok(EntrySet {
            annotated: self.internal_names(&path, &raw.annotated)?,
            annotated_classes: self.internal_names(&path, &raw.annotated_classes)?,
            overrides: patterns(&raw.overrides, true)?,
            named: patterns(&raw.named, false)?,
            concurrent: raw.concurrent,
            name: raw.name.into(),
        })
    }

    /// `[CLASS.]name[(types)]`.
    fn pattern(
        &self,
        path: &str,
        text: &str,
        qualified: bool,
    ) -> Result<MethodPattern, ModelError> {
        let fail = |error| self.error(path.to_owned(), text, error);
        let head = text.find('(').unwrap_or(text.len());
        let dot = text[..head].rfind('.');
        if dot.is_none() && qualified {
            let message = "expected CLASS.method".to_owned();
            return Err(fail(SentenceError { column: 1, message }));
        }
        let class = match dot {
            Some(dot) => self.internal_name(path, &text[..dot])?,
            None => Box::default(),
        };
        let method = &text[dot.map_or(0, |dot| dot + 1)..];
        let mut keys = key::parse_keys(method).map_err(fail)?;
        match (keys.pop(), keys.is_empty()) {
            (Some(key), true) => Ok(MethodPattern {
                class,
                name: key.name.into(),
                parameters: key.parameters.map(Into::into),
            }),
            _ => {
                let message = "expected one method".to_owned();
                Err(fail(SentenceError { column: 1, message }))
            }
        }
    }
}
