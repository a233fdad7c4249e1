//! The lowering at full size: every class of the JDKs' images, and jars of other people.
//!
//! Nothing may fail, every body must be well formed, and every body must be a faithful translation of
//! its bytecode, which [`validate`] finds out without knowing how it was made.

mod instructions;
mod validate;

use std::path::{Path, PathBuf};

use unsnarl_classpath::{ClassPath, JdkChoice, Options, Severity};
use unsnarl_entity::EntityId;
use unsnarl_program::{MethodId, Origin, Program, check};
use unsnarl_testing::report;

/// What was seen, and what is wrong.
#[derive(Default, Debug)]
struct Summary {
    classes: usize,
    bodies: usize,
    statements: usize,
    /// Methods of lambdas and method references.
    lambdas: usize,
    with_subroutines: usize,
    validated: usize,
    problems: Vec<String>,
}

#[test]
fn every_class_of_the_images_is_lowered() {
    let homes: Vec<PathBuf> = unsnarl_testing::images().into_iter().map(|jdk| jdk.home).collect();
    std::thread::scope(|scope| {
        for home in &homes {
            scope.spawn(move || {
                let path = open(Vec::new(), JdkChoice::Home(home.clone()));
                let summary = lower_all(&path);
                report(&format!("{}: {summary:?}", home.display()));
                assert!(summary.classes > 10_000, "the image is not complete");
                assert!(summary.lambdas > 1000, "lambdas were not found");
                assert!(summary.problems.is_empty(), "{} problems", summary.problems.len());
            });
        }
    });
}

/// Class files of versions 45 to 61, from several compilers.
#[test]
fn every_class_of_the_jars_is_lowered() {
    const JARS: [&str; 16] = [
        "derby.jar",
        "derbynet.jar",
        "eclipse-jdt-core.jar",
        "guava.jar",
        "h2.jar",
        "hsqldb.jar",
        "jython.jar",
        "lucene-analyzers-common-4.10.4.jar",
        "lucene-core-4.10.4.jar",
        "netty-buffer.jar",
        "netty-common.jar",
        "netty-transport.jar",
        "tomcat9-catalina.jar",
        "tomcat9-coyote.jar",
        "tomcat9-jasper.jar",
        "tomcat9-tribes.jar",
    ];
    for jar in JARS {
        let file = Path::new("/usr/share/java").join(jar);
        if !file.is_file() {
            report(&format!("skipped: {} is not installed", file.display()));
            continue;
        }
        let summary = lower_all(&open(vec![file], JdkChoice::None));
        report(&format!("{jar}: {summary:?}"));
        assert!(summary.bodies > 0, "{jar} is empty");
        assert!(summary.problems.is_empty(), "{jar}: {} problems", summary.problems.len());
    }
}

fn open(inputs: Vec<PathBuf>, jdk: JdkChoice) -> ClassPath {
    let path = ClassPath::open(&Options { inputs, class_path: Vec::new(), jdk, release: None });
    let mut problems = path.problems().iter().filter(|p| p.severity != Severity::Note);
    assert_eq!(problems.next(), None);
    path
}

fn lower_all(path: &ClassPath) -> Summary {
    let mut program = Program::new(path);
    let mut summary = Summary::default();
    for entry in path.entries().filter(|&entry| !path.is_module_info(entry)) {
        summary.classes += usize::from(program.class_at(entry).is_some());
    }
    let mut number = 0;
    // Lowering a body adds the classes of its lambdas, so the number of methods grows.
    while number < program.methods().len() {
        let method = MethodId::from_index(number);
        number += 1;
        let class = program.methods()[method].class;
        let is_lambda = matches!(program.classes()[class].origin, Origin::Lambda(_));
        let lowered = match program.lower(method) {
            Ok(Some(lowered)) => lowered,
            Ok(None) => continue,
            Err(failure) => {
                summary.problem(format!("{}: {}", failure.place, failure.reason));
                continue;
            }
        };
        if !lowered.lambdas.is_empty() {
            // Only bodies that are kept bring their lambdas along; keeping all takes too much memory.
            program.body(method);
        }
        let body = lowered.body;
        summary.bodies += 1;
        summary.lambdas += usize::from(is_lambda);
        summary.statements += body.statements.len();
        if let Err(problem) = check::check(&body) {
            summary.problem(format!("{}: {problem}", program.method_text(method)));
        }
        let Some(origin) = program.classes()[class].file() else { continue };
        let index = usize::from(program.methods()[method].index);
        let code = origin.file.code(&origin.file.methods[index]);
        let code = code.expect("it was lowered").expect("it was lowered");
        if has_subroutine(&code) {
            summary.with_subroutines += 1;
        } else {
            summary.validated += 1;
            if let Err(problem) = validate::validate(&origin.file, &code, &body, &program.names) {
                summary.problem(format!("{}: {problem}", program.method_text(method)));
            }
        }
    }
    for failure in program.failures() {
        summary.problem(format!("{}: {}", failure.place, failure.reason));
    }
    summary
}

fn has_subroutine(code: &unsnarl_classfile::read::Code<'_>) -> bool {
    use unsnarl_classfile::Opcode::{Jsr, JsrW};
    code.instructions().flatten().any(|(_, i)| matches!(i.opcode(), Jsr | JsrW))
}

impl Summary {
    fn problem(&mut self, text: String) {
        if self.problems.len() < 10 {
            report(&text);
        }
        self.problems.push(text);
    }
}
