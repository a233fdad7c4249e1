//! The JDKs of the machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A JDK with a compiler and an image.
pub(crate) struct Jdk {
    pub(crate) home: PathBuf,
    pub(crate) release: u16,
}

/// Every JDK under `/usr/lib/jvm` and in `JAVA_HOME`.
pub(crate) fn jdks() -> Vec<Jdk> {
    let installed = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let named = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let homes: BTreeSet<PathBuf> = installed
        .map(|entry| entry.path())
        .chain(named)
        .filter(|home| home.join("lib/modules").is_file() && home.join("bin/javac").is_file())
        .map(|home| home.canonicalize().unwrap_or(home))
        .collect();
    assert!(!homes.is_empty(), "no JDK found under /usr/lib/jvm or in JAVA_HOME");
    homes.into_iter().map(|home| Jdk { release: release(&home), home }).collect()
}

fn release(home: &Path) -> u16 {
    let text = std::fs::read_to_string(home.join("release")).expect("the file `release`");
    let line = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION=\""));
    let version = line.expect("a version").split(['.', '"', '-']).next();
    version.and_then(|number| number.parse().ok()).expect("a number")
}

impl Jdk {
    /// Compiles sources, with line numbers and nothing else.
    pub(crate) fn compile<'s>(&self, sources: impl IntoIterator<Item = &'s Path>, to: &Path) {
        let mut command = Command::new(self.home.join("bin/javac"));
        command.args(["-nowarn", "-Xlint:none", "-proc:none", "-g:lines,source", "-d"]).arg(to);
        let output = command.args(sources).output().expect("javac runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Shows figures to whoever runs the tests.
#[expect(clippy::print_stderr, reason = "this is a test")]
pub(crate) fn report(line: &str) {
    eprintln!("{line}");
}
