//! The compilers and JVMs of the machine, and the comparison of a JVM with the interpreter.

use std::path::{Path, PathBuf};
use std::process::Command;

use unsnarl_classpath::{ClassPath, JdkChoice, Options};
use unsnarl_program::{Program, check};
pub(crate) use unsnarl_testing::{jdks, report, run};

use crate::interpreter::{Machine, Value};

/// The program that calls methods in a JVM.
pub(crate) const DRIVER: &str = include_str!("Driver.java");

const ECLIPSE: &str = "/usr/share/java/eclipse-jdt-core.jar";
const ECLIPSE_MAIN: &str = "org.eclipse.jdt.internal.compiler.batch.Main";

/// A compiler and the language level at which it is used.
pub(crate) struct Compiler {
    pub(crate) jdk: PathBuf,
    kind: Kind,
    /// The language level: 4 is Java 1.4.
    pub(crate) release: u16,
}

enum Kind {
    Javac,
    /// It still writes subroutines for old releases.
    Eclipse,
}

/// Each `javac` for its own release and for Java 8, and Eclipse's compiler, if it is installed, for
/// one old enough for subroutines and one that it masters.
pub(crate) fn compilers() -> Vec<Compiler> {
    let mut compilers = Vec::new();
    for jdk in jdks() {
        for release in [8, jdk.release] {
            compilers.push(Compiler { jdk: jdk.home.clone(), kind: Kind::Javac, release });
        }
    }
    if eclipse_is_present() {
        let jdk = jdks().remove(0).home;
        for release in [4, 11] {
            compilers.push(Compiler { jdk: jdk.clone(), kind: Kind::Eclipse, release });
        }
    }
    compilers
}

/// Whether Eclipse's compiler is installed.
pub(crate) fn eclipse_is_present() -> bool {
    Path::new(ECLIPSE).is_file()
}

impl Compiler {
    pub(crate) fn name(&self) -> String {
        let jdk = self.jdk.file_name().expect("a folder").to_string_lossy();
        let compiler = match self.kind {
            Kind::Javac => "javac",
            Kind::Eclipse => "ecj",
        };
        format!("{compiler} {} of {jdk}", self.release)
    }

    /// Its name in the names of tests.
    pub(crate) fn word(&self) -> String {
        self.name().replace(' ', "-")
    }

    /// Changes with the compiler.
    pub(crate) fn version(&self) -> Vec<u8> {
        let mut version = std::fs::read(self.jdk.join("release")).unwrap_or_default();
        if let Kind::Eclipse = self.kind {
            let jar = std::fs::canonicalize(ECLIPSE).unwrap_or_default();
            version.extend(jar.as_os_str().as_encoded_bytes());
        }
        version
    }

    pub(crate) fn compile(&self, sources: &[PathBuf], folder: &Path) {
        let release = self.release.to_string();
        let mut command = match self.kind {
            Kind::Javac => {
                let mut command = Command::new(self.jdk.join("bin/javac"));
                command.args(["-nowarn", "-Xlint:-options", "--release", &release]);
                command
            }
            Kind::Eclipse => {
                let mut command = Command::new(self.jdk.join("bin/java"));
                command.args(["-cp", ECLIPSE, ECLIPSE_MAIN, "-nowarn", "-proc:none"]);
                let level = if self.release < 9 { format!("1.{release}") } else { release };
                command.args(["-source", &level, "-target", &level]);
                command
            }
        };
        run(command.arg("-d").arg(folder).args(sources));
    }

    /// Runs static methods of the classes in a folder in the JVM and in the interpreter.
    pub(crate) fn compare(&self, folder: &Path, methods: &[String], seeds: i32) {
        compare(&self.jdk, &self.name(), folder, methods, seeds);
    }
}

/// Calls static methods, named `Class.method`, with the arguments below `seeds`, in a JVM and in the
/// interpreter; the lines that they print must be the same.
pub(crate) fn compare(jdk: &Path, name: &str, folder: &Path, methods: &[String], seeds: i32) {
    let expected = run_in_jvm(jdk, folder, methods, seeds);
    let count = compare_with(&expected, jdk, folder, methods, seeds);
    report(&format!("{name}: {} methods, {count} results agree", methods.len()));
}

/// Calls static methods in a JVM, and returns the lines that it prints.
pub(crate) fn run_in_jvm(jdk: &Path, folder: &Path, methods: &[String], seeds: i32) -> String {
    let driver = tempfile::tempdir().expect("a folder");
    let source = driver.path().join("Driver.java");
    std::fs::write(&source, DRIVER).expect("a writable folder");
    run(Command::new(jdk.join("bin/javac")).arg("-d").arg(driver.path()).arg(source));
    let class_path = std::env::join_paths([folder, driver.path()]).expect("paths without colons");
    run(Command::new(jdk.join("bin/java"))
        .arg("-Xverify:all")
        .args(["-XX:-OmitStackTraceInFastThrow", "-Xint", "-cp"])
        .arg(class_path)
        .args(["Driver", &seeds.to_string()])
        .args(methods))
}

/// Calls static methods in the interpreter, and compares the results, which it counts, with those of a JVM.
pub(crate) fn compare_with(
    expected: &str,
    jdk: &Path,
    folder: &Path,
    methods: &[String],
    seeds: i32,
) -> usize {
    let actual = on_a_large_stack(|| interpret(jdk, folder, methods, seeds));
    let differences: Vec<String> = expected
        .lines()
        .zip(&actual)
        .filter(|(expected, actual)| expected != actual)
        .map(|(expected, actual)| format!("  JVM  {expected}\n  SSA  {actual}"))
        .collect();
    assert_eq!(expected.lines().count(), actual.len(), "as many lines as calls");
    assert!(
        differences.is_empty(),
        "{}: {} of {} results differ\n{}",
        folder.display(),
        differences.len(),
        actual.len(),
        differences[..differences.len().min(10)].join("\n")
    );
    actual.len()
}

fn interpret(jdk: &Path, folder: &Path, methods: &[String], seeds: i32) -> Vec<String> {
    let path = ClassPath::open(&Options {
        inputs: vec![folder.to_owned()],
        class_path: Vec::new(),
        jdk: JdkChoice::Home(jdk.to_owned()),
        release: None,
    });
    assert!(path.problems().is_empty(), "{:?}", path.problems());
    let mut program = Program::new(&path);
    let mut lines = Vec::new();
    let mut machine = Machine::new(&mut program);
    for name in methods {
        let (class, method) = name.rsplit_once('.').expect("a class and a method");
        for seed in 0..seeds {
            let result = machine.call(class, method, vec![Value::Int(seed)]);
            lines.push(format!("{name}({seed}) = {result}"));
        }
    }
    assert!(program.failures().is_empty(), "{:?}", program.failures());
    for method in program.methods().keys() {
        if let Some(body) = program.lowered_body(method)
            && let Err(problem) = check::check(body)
        {
            panic!("{}: {problem}", program.method_text(method));
        }
    }
    lines
}

/// Calls of the interpreted program are calls of the interpreter.
fn on_a_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(256 << 20);
        let thread = builder.spawn_scoped(scope, work).expect("a thread");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
