//! Small programs, compiled and checked.

use unsnarl_classpath::{ClassPath, JdkChoice, Options as PathOptions};
use unsnarl_detect_static::{Checked, Options, check, explain_field};
use unsnarl_findings::{Finding, Rule};
use unsnarl_models::Models;
use unsnarl_program::Program;
use unsnarl_program::callgraph::{Entries, EntryPoints};
use unsnarl_symbolic::{Execution, Settings};

/// What was found in a program, and what is said about the fields that were asked for.
pub(crate) struct Outcome {
    pub(crate) checked: Checked,
    pub(crate) explained: Vec<Option<Vec<String>>>,
}

/// Compiles the file `T.java` with this text and checks it from its `main`.
pub(crate) fn checked(source: &str) -> Outcome {
    run(source, &Entries::Main, &Options::default(), &[])
}

/// Compiles, checks and explains.
pub(crate) fn run(
    source: &str,
    entries: &Entries,
    options: &Options,
    fields: &[(&str, &str)],
) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let jdk = unsnarl_testing::jdk();
    let file = folder.path().join("T.java");
    std::fs::write(&file, source).expect("a writable folder");
    let classes = folder.path().join("classes");
    jdk.compile([file.as_path()], &classes);
    let path = ClassPath::open(&PathOptions {
        inputs: vec![classes],
        class_path: Vec::new(),
        jdk: JdkChoice::Home(jdk.home),
        release: None,
    });
    let models = Models::builtin();
    let mut program = Program::new(&path);
    let points = EntryPoints::find(&mut program, &models, entries);
    let settings = Settings { is_library: *entries == Entries::Library };
    let execution = Execution::run(&mut program, &models, &points, settings, &mut |_| {});
    let checked = check(&mut program, &models, &execution, options);
    let explained = fields
        .iter()
        .map(|(class, field)| explain_field(&mut program, &execution, &checked, class, field))
        .collect();
    Outcome { checked, explained }
}

impl Outcome {
    /// The findings of a rule, by the name of the variable.
    pub(crate) fn of(&self, rule: Rule) -> Vec<(&str, &Finding)> {
        let findings = self.checked.findings.iter().filter(|finding| finding.rule == rule);
        let named = findings.map(|finding| {
            let variable = finding.subject.as_variable().expect("a variable");
            (variable.field.as_str(), finding)
        });
        named.collect()
    }

    /// The only data race.
    pub(crate) fn race(&self) -> &Finding {
        match *self.of(Rule::DataRace) {
            [(_, finding)] => finding,
            ref others => panic!("expected one data race, found {others:#?}"),
        }
    }

    /// The only unsafe publication.
    pub(crate) fn publication(&self) -> &Finding {
        match *self.of(Rule::UnsafePublication) {
            [(_, finding)] => finding,
            ref others => panic!("expected one unsafe publication, found {others:#?}"),
        }
    }

    /// A count.
    pub(crate) fn statistic(&self, name: &str) -> u64 {
        let found = self.checked.stats.iter().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("no statistic {name}")).1
    }
}

/// The names of the reasons of a finding.
pub(crate) fn reasons(finding: &Finding) -> Vec<&str> {
    finding.reasons.iter().map(|reason| reason.name.as_ref()).collect()
}
