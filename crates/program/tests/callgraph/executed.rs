//! The JVM as an oracle: what it executes must be reachable.
//!
//! The classes of a program are rewritten so that every method notes that it was entered, and run; each
//! method that was entered and is not in the call graph is a hole in the analysis or in the models.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use libtest_mimic::Trial;
use unsnarl_classfile::edit::ClassEditor;
use unsnarl_classfile::mutf8;
use unsnarl_classpath::{ClassPath, Role};
use unsnarl_program::callgraph::CallGraph;
use unsnarl_program::{MethodId, Program};

use crate::fixture::{self, Analysed, Fixture};
use crate::java::{self, Jdk, run};

/// Everything that fixtures execute is reachable.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for folder in ["threads", "callgraph"] {
        for (word, jdk) in unsnarl_testing::jdks_with_words() {
            trials.push(Trial::test(format!("executed/{folder}/{word}"), move || {
                check_fixtures(&jdk, folder, &fixture::fixtures(folder));
                Ok(())
            }));
        }
    }
    trials
}

fn check_fixtures(jdk: &Jdk, folder: &str, fixtures: &[Fixture]) {
    let classes = tempfile::tempdir().expect("a temporary folder");
    let chosen: Vec<&Fixture> = fixtures.iter().filter(|f| f.is_for(jdk)).collect();
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/callgraph/java/RunAll.java");
    let sources =
        chosen.iter().map(|fixture| fixture.source.path.as_path()).chain([driver.as_path()]);
    jdk.compile(sources, classes.path());
    let path = java::class_path(jdk, vec![classes.path().to_owned()]);
    let rewritten = Rewritten::new(jdk, &path);
    let mut command = rewritten.java(jdk, &[classes.path().to_owned()]);
    let output = run(command.arg("RunAll").args(chosen.iter().map(|fixture| &fixture.name)));
    assert_eq!(output, "", "fixtures end without exceptions and print nothing");

    let executed = rewritten.executed();
    let mut problems = Vec::new();
    let mut count = 0;
    for fixture in &chosen {
        let mut analysed = Analysed::new(&path, &fixture.name);
        let nested = format!("{}$", fixture.name);
        let own = executed
            .iter()
            .filter(|method| method.class == fixture.name || method.class.starts_with(&nested));
        for method in own {
            count += 1;
            let id = method.find(&mut analysed.program).expect("it was rewritten");
            analysed.program.body(id);
            let line = analysed.first_line(id).unwrap_or(0);
            if !analysed.graph.is_reachable(id) && !fixture.is_missed(line) {
                problems.push(format!("{}.java: {}.{}", fixture.name, method.class, method.name));
            }
        }
    }
    problems.sort();
    java::report(&format!("JDK {}: {count} methods of {folder} were executed", jdk.release));
    assert!(problems.is_empty(), "executed but unreachable:\n{}", problems.join("\n"));
}

/// A method by its names.
#[derive(Clone, Debug)]
pub(crate) struct MethodName {
    /// As in `Class.getName`.
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) descriptor: String,
}

impl MethodName {
    fn find(&self, program: &mut Program<'_>) -> Option<MethodId> {
        let class = program.find_class(self.class.replace('.', "/").as_bytes())?;
        let name = program.names.symbol(self.name.as_bytes());
        let descriptor = program.names.symbol(self.descriptor.as_bytes());
        program.declared_method(class, name, descriptor)
    }
}

/// The classes of a program, in a folder, with a probe at the start of each method.
pub(crate) struct Rewritten {
    folder: tempfile::TempDir,
    methods: Vec<MethodName>,
    /// Classes that could not be rewritten and run as they are.
    pub(crate) refused: Vec<String>,
}

impl Rewritten {
    /// Rewrites the classes of the input.
    pub(crate) fn new(jdk: &Jdk, path: &ClassPath) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let probe = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/callgraph/java/Probe.java");
        jdk.compile([probe.as_path()], &folder.path().join("probe"));
        let mut rewritten = Self { folder, methods: Vec::new(), refused: Vec::new() };
        for entry in path.entries().filter(|&entry| path.role(entry) == Role::Input) {
            let name = mutf8::to_str(path.name(entry)).into_owned();
            // Of a class that is there twice only the first is loaded.
            if path.find(path.name(entry)) != Some(entry) || name.ends_with("module-info") {
                continue;
            }
            match rewritten.rewrite(path.read(entry).expect("a readable class")) {
                Ok(bytes) => {
                    let file = rewritten.classes().join(format!("{name}.class"));
                    let parent = file.parent().expect("a folder around the file");
                    std::fs::create_dir_all(parent).expect("a writable folder");
                    std::fs::write(file, bytes).expect("a writable folder");
                }
                Err(reason) => rewritten.refused.push(format!("{name}: {reason}")),
            }
        }
        let flags = vec![0; rewritten.methods.len()];
        std::fs::write(rewritten.flags(), flags).expect("a writable folder");
        rewritten
    }

    fn rewrite(&mut self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let known = self.methods.len();
        self.insert_probes(bytes).inspect_err(|_| self.methods.truncate(known))
    }

    fn insert_probes(&mut self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let mut class = ClassEditor::open(bytes).map_err(|error| error.to_string())?;
        let class_name = mutf8::to_str(class.original().name()).replace('/', ".");
        for method in class.methods.keys() {
            let code = class.open_code(method).map_err(|error| error.to_string())?;
            let Some(mut code) = code else { continue };
            let Some(first) = code.first_instruction() else { continue };
            let number = i32::try_from(self.methods.len()).expect("few methods");
            let mut probe = code.before(first, &mut class.pool);
            let inserted = probe
                .int(number)
                .and_then(|probe| probe.invoke_static("unsnarl/oracle/Probe", "hit", "(I)V"));
            inserted.map_err(|error| error.to_string())?;
            code.max_stack += 1;
            class.set_code(method, &code).map_err(|error| error.to_string())?;
            self.methods.push(MethodName {
                class: class_name.clone(),
                name: mutf8::to_str(class.method_name(method)).into_owned(),
                descriptor: mutf8::to_str(class.method_descriptor(method)).into_owned(),
            });
        }
        class.write().map_err(|error| error.to_string())
    }

    fn classes(&self) -> PathBuf {
        self.folder.path().join("classes")
    }

    fn flags(&self) -> PathBuf {
        self.folder.path().join("executed")
    }

    /// A command that runs the rewritten classes, in front of the class path they come from.
    pub(crate) fn java(&self, jdk: &Jdk, class_path: &[PathBuf]) -> std::process::Command {
        let mut command = jdk.command("java");
        let probe = self.folder.path().join("probe");
        command.arg(format!("-Xbootclasspath/a:{}", probe.display()));
        command.arg(format!("-Dunsnarl.executed={}", self.flags().display()));
        let elements = [self.classes()].into_iter().chain(class_path.iter().cloned());
        command.arg("-cp").arg(std::env::join_paths(elements).expect("paths without colons"));
        command
    }

    /// The methods that were executed so far.
    pub(crate) fn executed(&self) -> Vec<MethodName> {
        let flags = std::fs::read(self.flags()).expect("the file of flags");
        let executed = self.methods.iter().zip(flags).filter(|(_, flag)| *flag != 0);
        executed.map(|(method, _)| method.clone()).collect()
    }

    /// What was executed and is not in the call graph, by class.
    pub(crate) fn unreachable(
        &self,
        program: &mut Program<'_>,
        graph: &CallGraph,
    ) -> BTreeMap<String, Vec<String>> {
        let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for method in self.executed() {
            let id = method.find(program);
            if !id.is_some_and(|id| graph.is_reachable(id)) {
                let text = format!("{}{}", method.name, method.descriptor);
                missing.entry(method.class).or_default().push(text);
            }
        }
        missing
    }
}
