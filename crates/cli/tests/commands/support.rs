//! Java programs in temporary folders, and the tool run on them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with a compiled program.
pub(crate) struct Project {
    pub(crate) folder: tempfile::TempDir,
}

/// What a run of the tool came to.
pub(crate) struct Outcome {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) messages: String,
}

impl Project {
    /// A program of one source file.
    pub(crate) fn new(file: &str, source: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file);
        std::fs::write(&path, source).unwrap();
        compile(&path, &folder.path().join("classes"));
        Self { folder }
    }

    pub(crate) fn classes(&self) -> PathBuf {
        self.folder.path().join("classes")
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

pub(crate) fn compile(source: &Path, to: &Path) {
    unsnarl_testing::run(
        unsnarl_testing::jdk().command("javac").arg("-g").arg("-d").arg(to).arg(source),
    );
}

pub(crate) fn command(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unsnarl"));
    command.arg(name).args(arguments);
    command
}

pub(crate) fn run(name: &str, arguments: &[&str]) -> Outcome {
    let output = command(name, arguments).output().unwrap();
    Outcome {
        status: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        messages: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The lines of standard error that are not notes; each problem must have one.
pub(crate) fn messages(outcome: &Outcome) -> Vec<&str> {
    outcome.messages.lines().filter(|line| !line.contains(": note:")).collect()
}
