//! What compilers and JVMs make of the sources of tests, kept from one run to the next.
//!
//! `nextest` starts a process for every test, so that a compiler call per test would take most of the time. The
//! first test that needs something makes it for all sources of its group that have changed, in one go; the others
//! wait and then read.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// A source, and the name of what is made of it.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name of the file without its extension.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

impl Source {
    /// Reads a source.
    ///
    /// # Panics
    /// If it cannot be read.
    pub fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self { name, path, text }
    }
}

/// The files with this extension in a folder, sorted by name.
///
/// # Panics
/// If there is no such folder.
pub fn files_of(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    paths
}

/// A folder for what one tool makes of one group of sources.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    tool: u64,
}

impl Cache {
    /// A cache in a folder, which tests make of `CARGO_TARGET_TMPDIR`; `tool` is whatever else the result depends on.
    pub fn new(folder: PathBuf, tool: impl Hash) -> Self {
        Self { folder, tool: hash(tool) }
    }

    /// The folder with what is made of a source, which is one of `group`. If it is not there, `make` makes it, and all
    /// that is missing of the group: it gets the sources and a folder, in which it makes a folder for each,
    /// named as the source is.
    ///
    /// # Panics
    /// If files cannot be written, or `make` makes nothing for a source.
    pub fn get(
        &self,
        source: &Source,
        group: &[Source],
        make: impl FnOnce(&[&Source], &Path),
    ) -> PathBuf {
        let wanted = self.folder_of(source);
        if !wanted.is_dir() {
            self.make(group, make).unwrap_or_else(|error| {
                panic!("{}: {error}", self.folder.display());
            });
        }
        assert!(wanted.is_dir(), "nothing was made of {}", source.path.display());
        wanted
    }

    fn make(&self, group: &[Source], make: impl FnOnce(&[&Source], &Path)) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let lock = File::create(self.folder.join("lock"))?;
        // Until the file is closed.
        lock.lock()?;
        let is_missing = |source: &&Source| !self.folder_of(source).is_dir();
        let missing: Vec<&Source> = group.iter().filter(is_missing).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let new = self.folder.join("new");
        // What is left of a process that was killed.
        let _ = fs::remove_dir_all(&new);
        fs::create_dir_all(&new)?;
        make(&missing, &new);
        for source in missing {
            fs::rename(new.join(&source.name), self.folder_of(source))?;
        }
        fs::remove_dir_all(&new)
    }

    fn folder_of(&self, source: &Source) -> PathBuf {
        self.folder.join(format!("{}-{:016x}", source.name, hash((self.tool, &source.text))))
    }
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_changed_is_made_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("it can be written");
            Source::read(path)
        };
        let cache = Cache::new(folder.path().join("cache"), "tool");
        let made = |group: &[Source]| {
            let mut names = Vec::new();
            let made = cache.get(&group[0], group, |missing, to| {
                for source in missing {
                    names.push(source.name.clone());
                    fs::create_dir(to.join(&source.name)).expect("it is not there");
                }
            });
            assert!(made.is_dir());
            names
        };
        let mut group = [write("A.java", "1"), write("B.java", "1"), write("C.java", "1")];
        assert_eq!(made(&group), ["A", "B", "C"]);
        assert_eq!(made(&group), [""; 0]);
        group[0] = write("A.java", "2");
        assert_eq!(made(&group), ["A"]);
    }
}
