//! One data file: TOML in, checked rules, models and entry sets out.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

use crate::class_model::{ClassModel, MethodModel, StoredModel};
use crate::key::{self, MethodKey};
use crate::parse::{SentenceError, parse};
use crate::{EntrySet, MethodPattern, PackageRule, Relay, Treatment};

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
    pub(crate) relays: Vec<(Box<str>, Relay)>,
    pub(crate) classes: FxHashMap<Box<[u8]>, ClassModel>,
    pub(crate) entries: Vec<EntrySet>,
}

/// Reads a user's file; `file` is only a name for messages.
pub(crate) fn read(file: &str, text: &str) -> Result<Layer, ModelError> {
    read_with(file, text, |sentences| {
        let parsed = sentences
            .iter()
            .map(|sentence| parse(sentence).map_err(|error| (sentence.to_string(), error)));
        let effects = parsed.collect::<Result<_, _>>()?;
        Ok(MethodModel { effects }.into())
    })
}

/// Reads an embedded file, whose sentences are known to be well formed.
pub(crate) fn read_embedded(file: &str, text: &'static str) -> Result<Layer, ModelError> {
    read_with(file, text, |sentences| {
        let kept = sentences.iter().map(|sentence| sentence.0.clone()).collect();
        Ok(StoredModel::unread(kept))
    })
}

/// Turns the sentences of a method into a model, or says which of them is wrong.
type Store<'a> = fn(&[Text<'a>]) -> Result<StoredModel, (String, SentenceError)>;

fn read_with<'a>(file: &str, text: &'a str, store: Store<'a>) -> Result<Layer, ModelError> {
    let raw: RawFile<'a> = toml::from_str(text)
        .map_err(|error| ModelError::Toml { file: file.to_owned(), source: Box::new(error) })?;
    if raw.schema != SCHEMA {
        return Err(ModelError::Schema { file: file.to_owned(), found: raw.schema });
    }
    let reader = Reader { file, store };
    let mut layer = Layer::default();
    for (prefix, rule) in raw.packages {
        layer.packages.push(reader.package(&prefix, rule)?);
    }
    for (class, methods) in raw.relays {
        let class = reader.internal_name("relays", &class)?;
        layer
            .relays
            .push((class, Relay { methods: methods.into_iter().map(Into::into).collect() }));
    }
    layer.classes = reader.classes(&raw.methods)?;
    for raw_entry in raw.entry {
        layer.entries.push(reader.entry(raw_entry)?);
    }
    Ok(layer)
}

/// A table of methods: keys and what they say.
type RawTable<'a> = BTreeMap<Text<'a>, Sentences<'a>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile<'a> {
    schema: String,
    #[serde(default)]
    packages: BTreeMap<String, RawPackage>,
    #[serde(default)]
    relays: BTreeMap<String, Vec<String>>,
    #[serde(default, borrow)]
    methods: BTreeMap<Text<'a>, RawTable<'a>>,
    #[serde(default)]
    entry: Vec<RawEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPackage {
    treat: RawTreatment,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    interleaved: bool,
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
struct Sentences<'a>(Vec<Text<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Sentences<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;

        impl<'de> Visitor<'de> for OneOrMany {
            type Value = Sentences<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sentence or a list of sentences")
            }

            fn visit_borrowed_str<E>(self, sentence: &'de str) -> Result<Sentences<'de>, E> {
                Ok(Sentences(vec![Text(Cow::Borrowed(sentence))]))
            }

            fn visit_str<E>(self, sentence: &str) -> Result<Sentences<'de>, E> {
                Ok(Sentences(vec![Text(Cow::Owned(sentence.to_owned()))]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Sentences<'de>, A::Error> {
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

/// A string that is borrowed from the file where it has no escapes; serde's own `Cow` copies.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Text<'a>(Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowed;

        impl<'de> Visitor<'de> for Borrowed {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(Borrowed)
    }
}

struct Reader<'f, 'a> {
    file: &'f str,
    store: Store<'a>,
}

impl<'a> Reader<'_, 'a> {
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
            is_interleaved: raw.interleaved,
        };
        Ok((self.internal_name("packages", prefix)?, rule))
    }

    /// All tables of methods. Where two speak of the same method of a class, the one with fewer
    /// classes decides, as an exception to what is said of many.
    fn classes(
        &self,
        tables: &BTreeMap<Text<'a>, RawTable<'a>>,
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
        methods: &RawTable<'a>,
        models: &mut FxHashMap<Box<[u8]>, ClassModel>,
    ) -> Result<(), ModelError> {
        let table = format!("methods.\"{classes}\"");
        let mut parsed = Vec::new();
        for (text, sentences) in methods {
            let path = || format!("{table}.\"{}\"", text.0);
            let keys = key::parse_keys(text).map_err(|error| self.error(path(), text, error))?;
            let model = (self.store)(&sentences.0)
                .map_err(|(sentence, error)| self.error(path(), &sentence, error))?;
            parsed.push((text, keys, Arc::new(model)));
        }
        for class in classes.split(',') {
            let class = self.internal_name(&table, class.trim())?;
            let class_model = models.entry(class.as_bytes().into()).or_default();
            for (text, keys, model) in &parsed {
                for key in keys {
                    if !class_model.add(key, Arc::clone(model)) {
                        return Err(self.twice(format!("{table}.\"{}\"", text.0), key));
                    }
                }
            }
        }
        Ok(())
    }

    fn twice(&self, path: String, key: &MethodKey) -> ModelError {
        let parameters = key.parameters.as_ref().map(|list| format!("({list})"));
        ModelError::Twice {
            file: self.file.to_owned(),
            key: path,
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
