//! The text of `unsnarl.toml`, with the line of everything in it. What its keys mean is decided elsewhere, but for the
//! `[[suppress]]` tables, which no option of the command line can say.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use unsnarl_commands::near::suggestion;
use unsnarl_commands::suppression::{FileLine, SuppressionRule};

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
    pub(super) line: FileLine,
}

/// The value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Boolean(bool),
    One(String),
    Several(Vec<String>),
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
        let line_at = |offset: usize| {
            let line = text[..offset].matches('\n').count() + 1;
            FileLine { file: path.to_owned(), line }
        };
        let root = match DeTable::parse(text) {
            Ok(root) => root.into_inner(),
            Err(error) => {
                let offset = error.span().map_or(0, |span| span.start);
                bail!("{}: {}", line_at(offset), error.message())
            }
        };
        let mut file = Self { path: Some(path.to_owned()), ..Self::default() };
        for (key, value) in root {
            let line = line_at(key.span().start);
            let key = key.into_inner().into_owned();
            match value.into_inner() {
                DeValue::Array(tables) if key == SUPPRESS => {
                    for table in tables {
                        let line = line_at(table.span().start);
                        file.suppressions.push(suppression(table.into_inner(), line)?);
                    }
                }
                _ if key == SUPPRESS => bail!("{line}: '{SUPPRESS}' is written as [[{SUPPRESS}]]"),
                DeValue::Table(table) => {
                    for (inner, value) in table {
                        let line = line_at(inner.span().start);
                        let value = value_of(value, &line)?;
                        let command = Some(key.clone());
                        let key = inner.into_inner().into_owned();
                        file.entries.push(Entry { command, key, value, line });
                    }
                }
                value => {
                    let value = value_of(Spanned::new(0..0, value), &line)?;
                    file.entries.push(Entry { command: None, key, value, line });
                }
            }
        }
        file.entries.sort_by_key(|entry| entry.line.line);
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

fn value_of(value: Spanned<DeValue<'_>>, line: &FileLine) -> anyhow::Result<Value> {
    Ok(match value.into_inner() {
        DeValue::Boolean(value) => Value::Boolean(value),
        DeValue::Array(values) => {
            let values = values.into_iter().map(|value| scalar(&value.into_inner(), line));
            Value::Several(values.collect::<anyhow::Result<_>>()?)
        }
        other => Value::One(scalar(&other, line)?),
    })
}

fn scalar(value: &DeValue<'_>, line: &FileLine) -> anyhow::Result<String> {
    match value {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        _ => bail!("{line}: expected a text, a number, true or false, or a list of texts"),
    }
}

/// A `[[suppress]]` table.
fn suppression(table: DeValue<'_>, line: FileLine) -> anyhow::Result<SuppressionRule> {
    const KEYS: [&str; 5] = ["rule", "class", "field", "method", "reason"];
    let DeValue::Table(table) = table else {
        bail!("{line}: '{SUPPRESS}' is written as [[{SUPPRESS}]]")
    };
    let mut rule = SuppressionRule::at(line.clone());
    for (key, value) in table {
        let key = key.into_inner();
        let value = value.into_inner();
        match (key.as_ref(), value) {
            ("rule", value) => {
                let value = value_of(Spanned::new(0..0, value), &line)?;
                let ids = match value {
                    Value::Several(ids) => ids,
                    Value::One(id) => vec![id],
                    Value::Boolean(_) => {
                        bail!("{line}: 'rule' is the name of a rule, or a list of them")
                    }
                };
                for id in ids {
                    rule.add_rule(&id)?;
                }
            }
            ("class", value) => rule.class = Some(scalar(&value, &line)?),
            ("field", value) => rule.field = Some(scalar(&value, &line)?),
            ("method", value) => rule.method = Some(scalar(&value, &line)?),
            ("reason", value) => rule.reason = scalar(&value, &line)?.trim().to_owned(),
            (unknown, _) => {
                let near = suggestion(unknown, KEYS.into_iter());
                bail!("{line}: [[{SUPPRESS}]] has no key '{unknown}'{near}")
            }
        }
    }
    Ok(rule.checked()?)
}
