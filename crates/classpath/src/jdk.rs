//! Which JDK: the one that is named, else `JAVA_HOME`'s, else that of the `java` on the path.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::problem::{LoadError, Problem, Reason, Severity};

/// Where the classes of the JDK come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JdkChoice {
    /// No JDK: every class of the platform will be missing.
    None,
    /// The JDK in this folder and no other.
    Home(PathBuf),
    /// The first one that is found.
    Search {
        /// The value of `JAVA_HOME`, looked at first.
        java_home: Option<PathBuf>,
        /// The value of `PATH`, searched for a `java`.
        path: Option<OsString>,
    },
}

impl JdkChoice {
    /// Searches where the environment of this process points.
    pub fn from_environment() -> Self {
        let java_home = std::env::var_os("JAVA_HOME").filter(|value| !value.is_empty());
        Self::Search { java_home: java_home.map(PathBuf::from), path: std::env::var_os("PATH") }
    }
}

/// The JDK whose classes are on the class path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jdk {
    /// Its folder.
    pub home: PathBuf,
    /// Its feature release: 8, 17, 25.
    pub release: u16,
    /// Its version in full, if it says: `17.0.15`.
    pub version: Option<String>,
}

/// The files that hold a JDK's classes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Classes {
    Image(PathBuf),
    Jars(Vec<PathBuf>),
}

/// The JDK, or nothing and the reason.
pub(crate) fn locate(choice: &JdkChoice, problems: &mut Vec<Problem>) -> Option<(Jdk, Classes)> {
    match choice {
        JdkChoice::None => None,
        JdkChoice::Home(home) => match classes_of(home) {
            Some(classes) => Some((describe(home, &classes, problems), classes)),
            None => {
                let reason = if home.exists() { Reason::NotAJdk } else { Reason::Missing };
                let error = LoadError::new(home.display().to_string(), None, reason);
                problems.push(Problem { severity: Severity::Failure, error });
                None
            }
        },
        JdkChoice::Search { java_home, path } => {
            let mut looked_at = Vec::new();
            let found = java_home
                .as_deref()
                .and_then(|home| search_home(home, &mut looked_at))
                .or_else(|| search_path(path.as_ref(), &mut looked_at));
            let Some((home, classes)) = found else {
                let error = LoadError::new("", None, Reason::NoJdk(looked_at.join(", ")));
                problems.push(Problem { severity: Severity::Failure, error });
                return None;
            };
            // A `JAVA_HOME` that is set and useless is worth a word, not a failure.
            if let Some(home) = java_home.as_deref().filter(|_| !looked_at.is_empty()) {
                let error = LoadError::new(home.display().to_string(), None, Reason::NotAJdk);
                problems.push(Problem { severity: Severity::Note, error });
            }
            Some((describe(&home, &classes, problems), classes))
        }
    }
}

fn search_home(home: &Path, looked_at: &mut Vec<String>) -> Option<(PathBuf, Classes)> {
    let classes = classes_of(home);
    if classes.is_none() {
        looked_at.push(format!("JAVA_HOME ({})", home.display()));
    }
    Some((home.to_owned(), classes?))
}

/// The first `java` on the path, and the folders above the file it really is.
fn search_path(path: Option<&OsString>, looked_at: &mut Vec<String>) -> Option<(PathBuf, Classes)> {
    let folders = path.map(|path| std::env::split_paths(path).collect::<Vec<_>>());
    let executable = format!("java{}", std::env::consts::EXE_SUFFIX);
    for folder in folders.into_iter().flatten() {
        // Where the link leads nowhere, there is no `java`.
        let Ok(java) = folder.join(&executable).canonicalize() else { continue };
        for home in java.ancestors().skip(1) {
            if let Some(classes) = classes_of(home) {
                return Some((home.to_owned(), classes));
            }
        }
        looked_at.push(java.display().to_string());
    }
    looked_at.push("java on the PATH".into());
    None
}

/// The image of a JDK from 9 on, or the jars of an older one.
fn classes_of(home: &Path) -> Option<Classes> {
    let image = home.join("lib/modules");
    if image.is_file() {
        return Some(Classes::Image(image));
    }
    let library = ["jre/lib", "lib"]
        .map(|folder| home.join(folder))
        .into_iter()
        .find(|folder| folder.join("rt.jar").is_file())?;
    let jars = ["rt.jar", "jsse.jar", "jce.jar", "charsets.jar"];
    Some(Classes::Jars(
        jars.map(|jar| library.join(jar)).into_iter().filter(|jar| jar.is_file()).collect(),
    ))
}

fn describe(home: &Path, classes: &Classes, problems: &mut Vec<Problem>) -> Jdk {
    let file = home.join("release");
    let version = std::fs::read(&file).ok().and_then(|bytes| java_version(&bytes));
    let known = version.as_deref().and_then(feature_release);
    let release = known.unwrap_or(match classes {
        Classes::Image(_) => crate::DEFAULT_RELEASE,
        Classes::Jars(_) => 8,
    });
    if known.is_none() {
        let error = LoadError::new(file.display().to_string(), None, Reason::NoRelease(release));
        problems.push(Problem { severity: Severity::Note, error });
    }
    Jdk { home: home.to_owned(), release, version }
}

/// The value of `JAVA_VERSION="…"` in a JDK's `release` file.
fn java_version(release_file: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(release_file);
    let value = text.lines().find_map(|line| line.trim().strip_prefix("JAVA_VERSION="))?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// `17.0.15` is 17, `25-ea` is 25, `1.8.0_392` is 8.
fn feature_release(version: &str) -> Option<u16> {
    let modern = version.strip_prefix("1.").unwrap_or(version);
    let digits = modern.find(|c: char| !c.is_ascii_digit()).unwrap_or(modern.len());
    modern[..digits].parse().ok()
}
