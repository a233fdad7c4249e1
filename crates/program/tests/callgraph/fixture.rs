//! Small programs with expectations on their lines.
//!
//! A program is one top-level class with a `main`; every other class is nested in it, so that the
//! programs of a folder are compiled together. `//@ jdk: 17 25` in the first line names the JDKs it is
//! for, `//@ jdk: 21+` the oldest. An expectation is `//~ WORD NAMES`; a line may have several.
//! `//~ known-miss[WORD NAME] reason` says that something is missing that should be there, and
//! `//~ known-false[WORD NAME] reason` that something is there that should not be: both fail when the
//! analysis gets better.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use libtest_mimic::Trial;
use unsnarl_classpath::{ClassPath, Role};
use unsnarl_models::Models;
use unsnarl_program::callgraph::{CallGraph, Edge, Entries, EntryPoints};
use unsnarl_program::{MethodId, Origin, Program};
use unsnarl_testing::Source;

use crate::java::{self, Jdk};

/// A program with its expectations.
pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) source: Source,
    jdks: Option<(Vec<u16>, bool)>,
    /// By line and word, the names that are expected.
    expected: BTreeMap<(u16, String), BTreeSet<String>>,
    misses: BTreeMap<(u16, String), BTreeSet<String>>,
    pub(crate) debts: Debts,
}

/// How many expectations state a weakness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Debts {
    pub(crate) misses: usize,
    pub(crate) false_: usize,
}

/// The fixtures of a folder, sorted by name.
pub(crate) fn fixtures(folder: &str) -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(folder);
    let paths = unsnarl_testing::files_of(&folder, "java").into_iter();
    paths.map(|path| Fixture::read(Source::read(path))).collect()
}

impl Fixture {
    fn read(source: Source) -> Self {
        let (name, text) = (source.name.clone(), source.text.clone());
        let jdks =
            text.lines().next().and_then(|line| line.strip_prefix("//@ jdk: ")).map(|list| {
                let and_later = list.trim_end().ends_with('+');
                let numbers = list.split_whitespace().map(|word| word.trim_end_matches('+'));
                (numbers.map(|word| word.parse().expect("a release")).collect(), and_later)
            });
        let mut fixture = Fixture {
            name,
            source,
            jdks,
            expected: BTreeMap::new(),
            misses: BTreeMap::new(),
            debts: Debts::default(),
        };
        for (line, text) in (1..).zip(text.lines()) {
            for expectation in text.split("//~").skip(1) {
                fixture.expect(line, expectation.trim());
            }
        }
        fixture
    }

    fn expect(&mut self, line: u16, text: &str) {
        let (text, debt) = match text.split_once('[') {
            Some((kind @ ("known-miss" | "known-false"), rest)) => {
                let (text, reason) = rest.split_once(']').expect("a closing bracket");
                assert!(!reason.trim().is_empty(), "{}:{line}: debt needs a reason", self.name);
                (text, Some(kind))
            }
            _ => (text, None),
        };
        let (word, names) = text.split_once(' ').unwrap_or((text, ""));
        // A start is reported with its kind.
        let (word, names) = match (word, names.split_once(' ')) {
            ("start", Some((kind, names))) => (format!("start {kind}"), names),
            _ => (word.to_owned(), names),
        };
        let target = match debt {
            Some("known-miss") => &mut self.misses,
            _ => &mut self.expected,
        };
        let names = names.split(',').map(|name| name.trim().to_owned());
        target.entry((line, word)).or_default().extend(names.filter(|name| !name.is_empty()));
        match debt {
            Some("known-miss") => self.debts.misses += 1,
            Some(_) => self.debts.false_ += 1,
            None => {}
        }
    }

    /// Whether the program is for a JDK.
    pub(crate) fn is_for(&self, jdk: &Jdk) -> bool {
        self.jdks.as_ref().is_none_or(|(releases, and_later)| {
            releases.contains(&jdk.release)
                || *and_later && releases.iter().any(|&oldest| oldest <= jdk.release)
        })
    }

    /// The lines with an expectation of this word.
    pub(crate) fn lines(&self, word: &str) -> BTreeSet<u16> {
        self.expected.keys().filter(|(_, other)| other == word).map(|&(line, _)| line).collect()
    }

    /// Whether the method with this first line should be reachable and is known not to be found.
    pub(crate) fn is_missed(&self, line: u16) -> bool {
        self.misses.contains_key(&(line, "reachable".to_owned()))
    }

    /// Compares what was found with what is expected, all lines or those of which something is said.
    pub(crate) fn compare(
        &self,
        words: &[&str],
        all_lines: bool,
        found: &BTreeMap<(u16, String), BTreeSet<String>>,
    ) -> Vec<String> {
        let is_wanted = |word: &str| words.contains(&word.split(' ').next().unwrap_or(word));
        let expected = self.expected.iter().filter(|((_, word), _)| is_wanted(word));
        let mut differences = Vec::new();
        let file = format!("{}.java", self.name);
        for (key @ (line, word), names) in expected {
            let actual = found.get(key).cloned().unwrap_or_default();
            if actual != *names {
                differences.push(format!(
                    "{file}:{line}: expected {word} {{{}}}, found {{{}}}",
                    join(names),
                    join(&actual)
                ));
            }
        }
        for (key @ (line, word), names) in &self.misses {
            for name in found.get(key).into_iter().flatten().filter(|name| names.contains(*name)) {
                differences.push(format!("{file}:{line}: no longer a known miss: {word} {name}"));
            }
        }
        for (key @ (line, word), names) in found {
            if all_lines && !self.expected.contains_key(key) && !self.misses.contains_key(key) {
                differences.push(format!("{file}:{line}: not expected: {word} {}", join(names)));
            }
        }
        differences
    }
}

fn join(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// What a test looks at; it returns what is wrong.
type Look = fn(&Fixture, &mut Analysed<'_>) -> Vec<String>;

/// A test of the call graph of each fixture of a folder with each JDK, and one of how many weaknesses they state.
pub(crate) fn trials(folder: &'static str, expected: Debts, look: Look) -> Vec<Trial> {
    let fixtures = Arc::new(fixtures(folder));
    let debts = fixtures.iter().fold(Debts::default(), |sum, fixture| Debts {
        misses: sum.misses + fixture.debts.misses,
        false_: sum.false_ + fixture.debts.false_,
    });
    let mut trials = vec![Trial::test(format!("{folder}/known-limits"), move || {
        assert_eq!(debts, expected, "docs/models.md publishes the counts");
        Ok(())
    })];
    for (word, jdk) in unsnarl_testing::jdks_with_words() {
        // The image of the JDK is opened once.
        let path = Arc::new(OnceLock::new());
        for index in (0..fixtures.len()).filter(|&index| fixtures[index].is_for(&jdk)) {
            let (fixtures, jdk, path) = (Arc::clone(&fixtures), jdk.clone(), Arc::clone(&path));
            let name = format!("{folder}/{}/{word}", fixtures[index].name);
            trials.push(Trial::test(name, move || {
                let path = path.get_or_init(|| class_path(&jdk, folder, &fixtures));
                let fixture = &fixtures[index];
                let problems = look(fixture, &mut Analysed::new(path, &fixture.name));
                if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
            }));
        }
    }
    trials
}

/// The class path of all fixtures of a folder that are for a JDK, compiled by it.
pub(crate) fn class_path(jdk: &Jdk, folder: &str, fixtures: &[Fixture]) -> ClassPath {
    let chosen = fixtures.iter().filter(|fixture| fixture.is_for(jdk));
    let sources: Vec<Source> = chosen.map(|fixture| fixture.source.clone()).collect();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures").join(folder);
    let classes = sources.iter().map(|source| jdk.classes_of(source, &sources, &cache));
    java::class_path(jdk, classes.collect())
}

/// A program with its call graph.
pub(crate) struct Analysed<'p> {
    pub(crate) program: Program<'p>,
    pub(crate) graph: CallGraph,
    /// The top-level class.
    outer: String,
}

impl<'p> Analysed<'p> {
    pub(crate) fn new(path: &'p ClassPath, main_class: &str) -> Self {
        let mut program = Program::new(path);
        let models = Models::builtin();
        let main = Entries::Patterns(vec![format!("{main_class}.main")]);
        let entries = EntryPoints::find(&mut program, &models, &main);
        assert!(entries.unmatched.is_empty(), "{main_class} has no main method");
        let graph = CallGraph::build(&mut program, &models, &entries);
        Self { program, graph, outer: main_class.to_owned() }
    }

    /// The methods of the program itself that have code.
    pub(crate) fn methods(&mut self) -> Vec<MethodId> {
        let ids: Vec<MethodId> = self.program.methods().keys().collect();
        let nested = format!("{}$", self.outer);
        let is_here = |method: MethodId| {
            let class = self.program.class_text(self.program.methods()[method].class);
            self.is_own(method) && (class == self.outer || class.starts_with(&nested))
        };
        let own: Vec<MethodId> = ids.into_iter().filter(|&method| is_here(method)).collect();
        own.into_iter().filter(|&method| self.program.body(method).is_some()).collect()
    }

    /// The line of a statement; nothing in code without lines, such as that of a lambda's class.
    pub(crate) fn line(&self, edge: &Edge) -> Option<u16> {
        let body = self.program.lowered_body(edge.caller)?;
        Some(body.statements[edge.statement].line).filter(|&line| line != 0)
    }

    /// The first line of a method.
    pub(crate) fn first_line(&self, method: MethodId) -> Option<u16> {
        let body = self.program.lowered_body(method)?;
        body.statements.values().map(|statement| statement.line).find(|&line| line != 0)
    }

    /// The methods of the program that a call leads to, directly or through library code and the
    /// classes of lambdas.
    pub(crate) fn targets(&self, callee: MethodId) -> BTreeSet<MethodId> {
        let mut targets = BTreeSet::new();
        let mut seen = BTreeSet::from([callee]);
        let mut open = vec![callee];
        while let Some(method) = open.pop() {
            if self.is_own(method) {
                targets.insert(method);
                continue;
            }
            let calls = self.graph.calls_of(method).iter();
            let within = calls.filter(|edge| edge.kind.is_within_thread());
            open.extend(within.map(|edge| edge.callee).filter(|&callee| seen.insert(callee)));
        }
        targets
    }

    /// Whether the program itself has the code of a method; the class of a lambda is no code.
    pub(crate) fn is_own(&self, method: MethodId) -> bool {
        let class = self.program.methods()[method].class;
        let is_lambda = matches!(self.program.classes()[class].origin, Origin::Lambda(_));
        !is_lambda && self.program.role(class) == Some(Role::Input)
    }

    /// `Worker.run`, without the class around; what holds the code of a lambda is `lambda`.
    pub(crate) fn short_name(&self, method: MethodId) -> String {
        let data = &self.program.methods()[method];
        let name = self.program.names.text(data.name);
        if name.starts_with("lambda$") {
            return "lambda".to_owned();
        }
        let class = self.program.class_text(data.class);
        let class = class.rsplit('$').next().unwrap_or(&class);
        let class = class.trim_start_matches(|c: char| c.is_ascii_digit());
        let class = if class.is_empty() { "anonymous" } else { class };
        format!("{class}.{name}")
    }
}
