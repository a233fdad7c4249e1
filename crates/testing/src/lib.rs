//! What the tests of several crates share: the JDKs of the machine, running their tools, and keeping what they
//! make. Nothing but tests may depend on it, and it depends on none of the other crates.

mod cache;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub use cache::{Cache, Source, files_of};

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

/// Names the JDKs to test with: a feature release such as `17`, or `newest`. Without it, tests use all.
const CHOICE: &str = "UNSNARL_TEST_JDK";

/// Every JDK with a compiler under `/usr/lib/jvm` and in `JAVA_HOME`, each once, in the order of their
/// folders; only some of them if the environment variable `UNSNARL_TEST_JDK` has the number of a release or is
/// `newest`.
///
/// # Panics
/// If there is none: the tests need one.
pub fn jdks() -> Vec<Jdk> {
    let mut jdks = all_images();
    jdks.retain(Jdk::has_compiler);
    keep_chosen(&mut jdks);
    assert!(!jdks.is_empty(), "no JDK with a javac under /usr/lib/jvm or in JAVA_HOME");
    jdks
}

/// Every JDK with an image of its classes, also those without a compiler.
///
/// # Panics
/// If there is none: the tests need one.
pub fn images() -> Vec<Jdk> {
    let mut jdks = all_images();
    keep_chosen(&mut jdks);
    jdks
}

/// Every JDK of [`jdks`] with a word for it in the names of tests: its release, such as `17`, and of several with
/// one release, the name of its folder as well.
pub fn jdks_with_words() -> Vec<(String, Jdk)> {
    let jdks = jdks();
    let is_twin = |jdk: &Jdk| jdks.iter().filter(|other| other.release == jdk.release).count() > 1;
    let word = |jdk: &Jdk| match is_twin(jdk) {
        true => format!("{}-{}", jdk.release, jdk.name()),
        false => jdk.release.to_string(),
    };
    jdks.iter().map(|jdk| (word(jdk), jdk.clone())).collect()
}

fn keep_chosen(jdks: &mut Vec<Jdk>) {
    let Ok(choice) = std::env::var(CHOICE) else { return };
    let newest = jdks.iter().map(|jdk| jdk.release).max();
    let release = if choice == "newest" { newest } else { choice.parse().ok() };
    jdks.retain(|jdk| Some(jdk.release) == release);
    assert!(!jdks.is_empty(), "{CHOICE} is {choice}, and there is no such JDK");
}

fn all_images() -> Vec<Jdk> {
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

/// The JDK of `JAVA_HOME`, else the first of all; of those that `UNSNARL_TEST_JDK` names, if it is set.
///
/// # Panics
/// If there is none: the tests need one.
pub fn jdk() -> Jdk {
    if std::env::var_os(CHOICE).is_some() {
        return jdks().remove(0);
    }
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
        run(command.args(COMPILER_OPTIONS).arg("-d").arg(to).args(sources));
    }

    /// The folder with the classes of a program, which are nested in one. It is compiled together with the
    /// others of its group, and kept under `cache`.
    ///
    /// # Panics
    /// If one of them is not correct.
    pub fn classes_of(&self, program: &Source, group: &[Source], cache: &Path) -> PathBuf {
        let version = std::fs::read(self.home.join("release")).unwrap_or_default();
        let cache = Cache::new(cache.join(self.name()), (version, COMPILER_OPTIONS));
        cache.get(program, group, |missing, to| {
            self.compile(missing.iter().map(|source| source.path.as_path()), to);
            move_apart(to).expect("files can be moved within a folder");
        })
    }
}

const COMPILER_OPTIONS: [&str; 4] = ["-nowarn", "-Xlint:none", "-proc:none", "-g:lines,source"];

/// Moves every class of a folder into the folder of its top-level class.
///
/// # Errors
/// If files cannot be moved.
pub fn move_apart(classes: &Path) -> std::io::Result<()> {
    for file in files_of(classes, "class") {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let outer = name.split(['$', '.']).next().unwrap_or(&name);
        let folder = classes.join(outer);
        std::fs::create_dir_all(&folder)?;
        std::fs::rename(&file, folder.join(&name))?;
    }
    Ok(())
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

/// How long tests wait for what must happen soon, on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// Waits until there is something, and returns it.
///
/// # Panics
/// If it takes a minute.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < DEADLINE, "there is no {what} after {DEADLINE:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Shows figures to whoever runs the tests.
#[expect(clippy::print_stderr, reason = "only tests call it")]
pub fn report(line: &str) {
    eprintln!("{line}");
}
