//! What the tests of several crates share: the JDKs of the machine, and running their tools. Nothing but
//! tests may depend on it, and it depends on none of the other crates.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The source of `Load`: a program that links every class that a file names and counts those that the
/// verifier refuses.
pub const LOAD: &str = include_str!("../java/Load.java");

/// An installed JDK.
#[derive(Clone, Debug)]
pub struct Jdk {
    /// Its folder, without links on the way.
    pub home: PathBuf,
    /// The feature release, such as 17; 0 if it does not say.
    pub release: u16,
}

/// Every JDK with a compiler under `/usr/lib/jvm` and in `JAVA_HOME`, each once, in the order of their
/// folders.
///
/// # Panics
/// If there is none: the tests need one.
pub fn jdks() -> Vec<Jdk> {
    let mut jdks = images();
    jdks.retain(Jdk::has_compiler);
    assert!(!jdks.is_empty(), "no JDK with a javac under /usr/lib/jvm or in JAVA_HOME");
    jdks
}

/// Every JDK with an image of its classes, also those without a compiler.
///
/// # Panics
/// If there is none: the tests need one.
pub fn images() -> Vec<Jdk> {
    let installed = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let homes: BTreeSet<PathBuf> = installed
        .map(|entry| entry.path())
        .chain(named())
        .filter(|home| home.join("lib/modules").is_file())
        .map(|home| home.canonicalize().unwrap_or(home))
        .collect();
    assert!(!homes.is_empty(), "no JDK with lib/modules under /usr/lib/jvm or in JAVA_HOME");
    homes.into_iter().map(Jdk::at).collect()
}

/// The JDK of `JAVA_HOME`, else the first of all.
///
/// # Panics
/// If there is none: the tests need one.
pub fn jdk() -> Jdk {
    let named = named().filter(|home| home.join("lib/modules").is_file()).map(Jdk::at);
    named.filter(Jdk::has_compiler).unwrap_or_else(|| jdks().remove(0))
}

fn named() -> Option<PathBuf> {
    std::env::var_os("JAVA_HOME").map(PathBuf::from)
}

impl Jdk {
    fn at(home: PathBuf) -> Self {
        let text = std::fs::read_to_string(home.join("release")).unwrap_or_default();
        let version = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION=\""));
        let feature = version.and_then(|version| version.split(['.', '"', '-']).next());
        let release = feature.and_then(|feature| feature.parse().ok()).unwrap_or(0);
        Self { home, release }
    }

    fn has_compiler(&self) -> bool {
        self.tool("javac").is_file()
    }

    /// The name of its folder.
    pub fn name(&self) -> String {
        let name = self.home.file_name().unwrap_or(self.home.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// The file of a tool such as `java`.
    pub fn tool(&self, name: &str) -> PathBuf {
        self.home.join("bin").join(name)
    }

    /// A command that starts a tool.
    pub fn command(&self, name: &str) -> Command {
        Command::new(self.tool(name))
    }

    /// Compiles sources, with line numbers and no names of local variables.
    ///
    /// # Panics
    /// If they are not correct.
    pub fn compile<'s>(&self, sources: impl IntoIterator<Item = &'s Path>, to: &Path) {
        let mut command = self.command("javac");
        command.args(["-nowarn", "-Xlint:none", "-proc:none", "-g:lines,source", "-d"]).arg(to);
        run(command.args(sources));
    }
}

/// Runs a command that must succeed, and returns what it printed.
///
/// # Panics
/// If it fails, with all that it printed.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{text}{errors}");
    text
}

/// Shows figures to whoever runs the tests.
#[expect(clippy::print_stderr, reason = "only tests call it")]
pub fn report(line: &str) {
    eprintln!("{line}");
}
