//! The baseline: a file that lists the findings a project lives with, so that only new ones count.
//!
//! JSON with a line for each finding, sorted by fingerprint: two versions of it are compared line by line. Only the
//! fingerprint counts; rule and subject are there to be read.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use unsnarl_findings::{Finding, Fingerprint, Rule};

use crate::error::{CommandError, Context};

/// The name and version of the form.
const SCHEMA: &str = "unsnarl.baseline/1";

/// The findings that may stay.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Baseline {
    entries: BTreeMap<Fingerprint, Accepted>,
}

/// What a baseline says about a finding besides its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Accepted {
    rule: String,
    subject: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    findings: Vec<Line>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    fingerprint: String,
    rule: String,
    subject: String,
}

impl Baseline {
    /// A baseline of these findings.
    pub(crate) fn of<'f>(findings: impl Iterator<Item = &'f Finding>) -> Self {
        let entry = |finding: &Finding| Accepted {
            rule: finding.rule.id().to_owned(),
            subject: finding.subject.to_string(),
        };
        Self { entries: findings.map(|it| (it.fingerprint(), entry(it))).collect() }
    }

    pub(crate) fn read(path: &Path) -> Result<Self, CommandError> {
        let name = path.display();
        let text = std::fs::read_to_string(path).context(|| {
            format!("cannot read the baseline {name}, which --write-baseline writes")
        })?;
        Self::parse(&text).context(|| format!("{name} is no baseline"))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if file.schema != SCHEMA {
            return Err(format!("expected the schema {SCHEMA}, found {}", file.schema));
        }
        let mut entries = BTreeMap::new();
        for Line { fingerprint, rule, subject } in file.findings {
            let parsed = Fingerprint::parse(&fingerprint)
                .ok_or_else(|| format!("'{fingerprint}' is no fingerprint"))?;
            entries.insert(parsed, Accepted { rule, subject });
        }
        Ok(Self { entries })
    }

    pub(crate) fn write(&self, path: &Path) -> Result<(), CommandError> {
        let failed = || format!("cannot write the baseline {}", path.display());
        std::fs::write(path, self.text()).context(failed)
    }

    fn text(&self) -> String {
        let lines: Vec<String> = self
            .entries
            .iter()
            .map(|(fingerprint, Accepted { rule, subject })| {
                let [fingerprint, rule, subject] =
                    [&fingerprint.to_string(), rule, subject].map(|it| serde_json::Value::from(it.as_str()));
                format!("\n    {{ \"fingerprint\": {fingerprint}, \"rule\": {rule}, \"subject\": {subject} }}")
            })
            .collect();
        let end = if lines.is_empty() { "" } else { "\n  " };
        format!("{{\n  \"schema\": \"{SCHEMA}\",\n  \"findings\": [{}{end}]\n}}\n", lines.join(","))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn has(&self, finding: &Finding) -> bool {
        self.entries.contains_key(&finding.fingerprint())
    }

    /// The entries of rules that were looked for, without those that were found, each in a line.
    pub(crate) fn stale(
        &self,
        found: &[Finding],
        was_looked_for: impl Fn(Rule) -> bool,
    ) -> Vec<String> {
        let found = Self::of(found.iter());
        let stale = self.entries.iter().filter(|(fingerprint, entry)| {
            !found.entries.contains_key(fingerprint)
                && Rule::from_id(&entry.rule).is_none_or(&was_looked_for)
        });
        stale
            .map(|(fingerprint, entry)| {
                format!("{} of {} ({fingerprint})", entry.rule, entry.subject)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use unsnarl_findings::{Evidence, Subject, Variable};

    use super::*;

    fn race(field: &str) -> Finding {
        let subject = Subject::variable(Variable::field("a.B", field));
        Finding::new(
            Rule::DataRace,
            subject,
            Evidence::Suspected,
            "static/conflict",
            "so",
            Vec::new(),
        )
    }

    #[test]
    fn a_baseline_is_read_back_and_its_bytes_are_stable() {
        let two = Baseline::of([race("x"), race("\"y\"")].iter());
        let text = two.text();
        assert_eq!(
            text,
            "{\n  \"schema\": \"unsnarl.baseline/1\",\n  \"findings\": [\n    \
             { \"fingerprint\": \"075d370f4e813baf\", \"rule\": \"data-race\", \"subject\": \"a.B.\\\"y\\\"\" },\n    \
             { \"fingerprint\": \"aabb6cc28881a908\", \"rule\": \"data-race\", \"subject\": \"a.B.x\" }\n  ]\n}\n"
        );
        assert_eq!(Baseline::parse(&text).expect("it was just written"), two);
        let none = Baseline::default();
        assert_eq!(Baseline::parse(&none.text()).expect("it was just written"), none);
    }

    #[test]
    fn what_is_no_baseline_is_told() {
        for (text, words) in [
            ("[]", "expected struct File"),
            ("{\"schema\": \"unsnarl.baseline/9\", \"findings\": []}", "found unsnarl.baseline/9"),
            (
                "{\"schema\": \"unsnarl.baseline/1\", \"findings\": [{\"fingerprint\": \"1\", \
                 \"rule\": \"r\", \"subject\": \"s\"}]}",
                "'1' is no fingerprint",
            ),
        ] {
            let error = Baseline::parse(text).expect_err(words);
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn only_what_was_looked_for_can_be_stale() {
        let both = Baseline::of([race("x"), race("y")].iter());
        let stale = both.stale(&[race("x")], |_| true);
        assert_eq!(stale.len(), 1);
        assert!(stale[0].starts_with("data-race of a.B.y ("), "{stale:?}");
        assert!(both.stale(&[race("x")], |_| false).is_empty());
    }
}
