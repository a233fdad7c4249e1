//! Small programs with expectations on their lines.
//!
//! A program is one top-level class; every other class is nested in it, so that the programs of a
//! folder are compiled together. The first lines may be directives: `//@ jdk: 17 25` names the JDKs that it
//! is for, `//@ jdk: 21+` the oldest; `//@ library` checks it with `--library`, `//@ arrays` with
//! `--arrays`.
//!
//! `//~ RULE(FIELD) [KIND[:NUMBER]]` expects a finding of that rule about that field, with an access in
//! this line. With KIND (`read`, `write`) the access must be of that kind, with NUMBER it must be the
//! first, second, … of the finding. For a collection, FIELD is the field that holds it; for elements of an
//! array it is `[]`. The rules and fields of the findings must be exactly those that are
//! expected somewhere in the program, each once: a program without an expectation asserts silence.
//!
//! `//~ known-miss[RULE(FIELD)] reason` says that there is a defect that is not found, and
//! `//~ known-false[RULE(FIELD)] reason` that something is found that is no defect: both fail when the
//! analysis gets better. `docs/limits.md` says how many there are.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::run::Finding;

/// A program with its expectations.
pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) is_library: bool,
    pub(crate) judges_arrays: bool,
    jdks: Option<(Vec<u16>, bool)>,
    marks: Vec<Mark>,
}

/// What is said on a line.
struct Mark {
    line: u64,
    sort: Sort,
    subject: Subject,
    kind: Option<String>,
    number: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Expected,
    KnownMiss,
    KnownFalse,
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject {
    pub(crate) rule: String,
    pub(crate) field: String,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.rule, self.field)
    }
}

impl Fixture {
    /// The programs of a folder, sorted by name.
    pub(crate) fn all(folder: &str) -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(folder);
        let entries = std::fs::read_dir(&folder).expect("a folder of fixtures");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "java"));
        paths.sort();
        paths.into_iter().map(Self::read).collect()
    }

    fn read(path: PathBuf) -> Self {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut fixture = Self {
            name,
            path,
            text: String::new(),
            is_library: false,
            judges_arrays: false,
            jdks: None,
            marks: Vec::new(),
        };
        for (line, content) in (1..).zip(text.lines()) {
            if let Some(directive) = content.strip_prefix("//@ ") {
                fixture.direct(directive);
            }
            for mark in content.split("//~").skip(1) {
                let mark = Mark::parse(line, mark.trim());
                fixture.marks.push(mark.unwrap_or_else(|| {
                    panic!("{}.java:{line}: not understood: {content}", fixture.name)
                }));
            }
        }
        fixture.text = text;
        fixture
    }

    fn direct(&mut self, directive: &str) {
        match directive.trim() {
            "library" => self.is_library = true,
            "arrays" => self.judges_arrays = true,
            other => {
                let list = other.strip_prefix("jdk: ").expect("a directive that is known");
                let numbers = list.split_whitespace().map(|word| word.trim_end_matches('+'));
                let releases = numbers.map(|word| word.parse().expect("a release")).collect();
                self.jdks = Some((releases, list.ends_with('+')));
            }
        }
    }

    /// Whether the program is for a JDK of this release.
    pub(crate) fn is_for(&self, release: u16) -> bool {
        self.jdks.as_ref().is_none_or(|(releases, and_later)| {
            releases.contains(&release)
                || *and_later && releases.iter().any(|&oldest| oldest <= release)
        })
    }

    /// Whether the program has a defect, found or not.
    pub(crate) fn has_defects(&self) -> bool {
        self.marks.iter().any(|mark| mark.sort != Sort::KnownFalse)
    }

    /// The text without expectations and directives, as a page would show it.
    pub(crate) fn shown(&self) -> String {
        let lines = self.text.lines().filter(|line| !line.starts_with("//@"));
        let bare = lines.map(|line| line.split("//~").next().unwrap_or(line).trim_end());
        bare.collect::<Vec<_>>().join("\n").trim().to_owned()
    }

    /// What is wrong with the findings, one sentence each.
    pub(crate) fn differences(&self, findings: &[Finding]) -> Vec<String> {
        let mut differences = Vec::new();
        let mut found: BTreeMap<&Subject, Vec<&Finding>> = BTreeMap::new();
        for finding in findings {
            found.entry(&finding.subject).or_default().push(finding);
        }
        for (subject, findings) in &found {
            let marks = self.marks.iter().filter(|mark| mark.subject == **subject);
            let sorts: Vec<Sort> = marks.map(|mark| mark.sort).collect();
            let places = findings.iter().map(|finding| finding.places(&self.name));
            let places: Vec<String> = places.collect();
            if sorts.is_empty() {
                differences.push(self.say(None, &format!("not expected: {subject} {}", places[0])));
            } else if sorts.iter().all(|&sort| sort == Sort::KnownMiss) {
                differences.push(self.say(None, &format!("no longer a known miss: {subject}")));
            } else if places.len() > 1 {
                let all = places.join(" and ");
                differences.push(self.say(None, &format!("found more than once: {subject} {all}")));
            }
        }
        for mark in self.marks.iter().filter(|mark| mark.sort != Sort::KnownMiss) {
            let subject = &mark.subject;
            match found.get(subject) {
                None if mark.sort == Sort::KnownFalse => {
                    differences.push(
                        self.say(Some(mark.line), &format!("no longer a known false: {subject}")),
                    );
                }
                None => {
                    differences.push(self.say(Some(mark.line), &format!("not found: {subject}")));
                }
                Some(findings) if findings.iter().any(|f| mark.is_met_by(f, &self.name)) => {}
                Some(findings) => {
                    let wanted = mark.kind.as_deref().unwrap_or("access");
                    let places = findings[0].places(&self.name);
                    let text = format!("{subject} has no such {wanted} here, but {places}");
                    differences.push(self.say(Some(mark.line), &text));
                }
            }
        }
        differences
    }

    fn say(&self, line: Option<u64>, text: &str) -> String {
        match line {
            Some(line) => format!("{}.java:{line}: {text}", self.name),
            None => format!("{}.java: {text}", self.name),
        }
    }
}

impl Mark {
    fn parse(line: u64, text: &str) -> Option<Self> {
        let debt = ["known-miss[", "known-false["].into_iter().find(|word| text.starts_with(word));
        let (sort, subject, rest) = match debt {
            Some(word) => {
                // The field of an array's elements is `[]` itself, hence the parenthesis.
                let (subject, reason) = text[word.len()..].split_once(")]")?;
                let sort = if word == "known-miss[" { Sort::KnownMiss } else { Sort::KnownFalse };
                (!reason.trim().is_empty()).then_some((sort, subject, ""))?
            }
            None => {
                let (subject, rest) = text.split_once(')')?;
                (Sort::Expected, subject, rest.trim())
            }
        };
        let (rule, field) = subject.split_once('(')?;
        let subject = Subject { rule: rule.to_owned(), field: field.to_owned() };
        let (kind, number) = match rest.split_once(':') {
            Some((kind, number)) => (kind, Some(number.parse().ok()?)),
            None => (rest, None),
        };
        let kind = match kind {
            "" => None,
            "read" | "write" => Some(kind.to_owned()),
            _ => return None,
        };
        Some(Self { line, sort, subject, kind, number })
    }

    fn is_met_by(&self, finding: &Finding, program: &str) -> bool {
        let mut accesses = finding.accesses(program);
        let is_it = |(kind, line): (String, u64)| {
            line == self.line && self.kind.as_ref().is_none_or(|wanted| *wanted == kind)
        };
        match self.number {
            Some(number) => number.checked_sub(1).and_then(|n| accesses.nth(n)).is_some_and(is_it),
            None => accesses.any(is_it),
        }
    }
}
