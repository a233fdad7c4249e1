//! The text of `unsnarl.toml`, with the line of everything in it. What its keys mean is decided elsewhere, but for the
//! `[[suppress]]` tables, which no option of the command line can say.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::near::suggestion;
use crate::suppress::SuppressionRule;

/// The name under which a file is looked for.
pub(super) const NAME: &str = "unsnarl.toml";

/// The table of suppressions.
const SUPPRESS: &str = "suppress";

/// A configuration file.
#[derive(Debug, Default)]
pub(super) struct ConfigFile {
    /// Where it is; nowhere if there is none.
    pub(super) path: Option<PathBuf>,
    pub(super) entries: Vec<Entry>,
    pub(super) suppressions: Vec<SuppressionRule>,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The command in whose table it is; none at the top.
    pub(super) command: Option<String>,
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) place: Place,
}

/// What stands behind a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Boolean(bool),
    One(String),
    Several(Vec<String>),
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

impl ConfigFile {
    /// The named file, else the nearest `unsnarl.toml` from the working folder upwards, else an empty one.
    pub(super) fn find(named: Option<&Path>) -> anyhow::Result<Self> {
        match named.map(Path::to_owned).or_else(nearest_file) {
            Some(path) => Self::read(&path),
            None => Ok(Self::default()),
        }
    }

    fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        Self::parse(path, &text)
    }

    pub(super) fn parse(path: &Path, text: &str) -> anyhow::Result<Self> {
        let place = |offset: usize| {
            let line = text[..offset].matches('\n').count() + 1;
            Place { file: path.to_owned(), line }
        };
        let root = match DeTable::parse(text) {
            Ok(root) => root.into_inner(),
            Err(error) => {
                let offset = error.span().map_or(0, |span| span.start);
                bail!("{}: {}", place(offset), error.message())
            }
        };
        let mut file = Self { path: Some(path.to_owned()), ..Self::default() };
        for (key, value) in root {
            let at = place(key.span().start);
            let key = key.into_inner().into_owned();
            match value.into_inner() {
                DeValue::Array(tables) if key == SUPPRESS => {
                    for table in tables {
                        let at = place(table.span().start);
                        file.suppressions.push(suppression(table.into_inner(), at)?);
                    }
                }
                _ if key == SUPPRESS => bail!("{at}: '{SUPPRESS}' is written as [[{SUPPRESS}]]"),
                DeValue::Table(table) => {
                    for (inner, value) in table {
                        let place = place(inner.span().start);
                        let value = value_of(value, &place)?;
                        let command = Some(key.clone());
                        let key = inner.into_inner().into_owned();
                        file.entries.push(Entry { command, key, value, place });
                    }
                }
                value => {
                    let value = value_of(Spanned::new(0..0, value), &at)?;
                    file.entries.push(Entry { command: None, key, value, place: at });
                }
            }
        }
        file.entries.sort_by_key(|entry| entry.place.line);
        Ok(file)
    }
}

fn nearest_file() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    if here.join(NAME).is_file() {
        return Some(NAME.into());
    }
    here.ancestors().skip(1).map(|folder| folder.join(NAME)).find(|path| path.is_file())
}

fn value_of(value: Spanned<DeValue<'_>>, place: &Place) -> anyhow::Result<Value> {
    Ok(match value.into_inner() {
        DeValue::Boolean(value) => Value::Boolean(value),
        DeValue::Array(values) => {
            let values = values.into_iter().map(|value| scalar(&value.into_inner(), place));
            Value::Several(values.collect::<anyhow::Result<_>>()?)
        }
        other => Value::One(scalar(&other, place)?),
    })
}

fn scalar(value: &DeValue<'_>, place: &Place) -> anyhow::Result<String> {
    match value {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        _ => bail!("{place}: expected a text, a number, true or false, or a list of texts"),
    }
}

/// A `[[suppress]]` table.
fn suppression(table: DeValue<'_>, place: Place) -> anyhow::Result<SuppressionRule> {
    const KEYS: [&str; 5] = ["rule", "class", "field", "method", "reason"];
    let DeValue::Table(table) = table else {
        bail!("{place}: '{SUPPRESS}' is written as [[{SUPPRESS}]]")
    };
    let mut rule = SuppressionRule::at(place.clone());
    for (key, value) in table {
        let key = key.into_inner();
        let value = value.into_inner();
        match (key.as_ref(), value) {
            ("rule", value) => {
                let value = value_of(Spanned::new(0..0, value), &place)?;
                let ids = match value {
                    Value::Several(ids) => ids,
                    Value::One(id) => vec![id],
                    Value::Boolean(_) => {
                        bail!("{place}: 'rule' is the name of a rule, or a list of them")
                    }
                };
                for id in ids {
                    rule.add_rule(&id)?;
                }
            }
            ("class", value) => rule.class = Some(scalar(&value, &place)?),
            ("field", value) => rule.field = Some(scalar(&value, &place)?),
            ("method", value) => rule.method = Some(scalar(&value, &place)?),
            ("reason", value) => rule.reason = scalar(&value, &place)?.trim().to_owned(),
            (unknown, _) => {
                let near = suggestion(unknown, KEYS.into_iter());
                bail!("{place}: [[{SUPPRESS}]] has no key '{unknown}'{near}")
            }
        }
    }
    rule.checked()
}
