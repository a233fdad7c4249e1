//! Folders of class files.
//!
//! Symbolic links are followed, as a JVM does, but never into a folder that contains the link, and
//! into the same folder only once. `META-INF` is not entered: a JVM takes no classes from there.
//!
//! An input may also be a folder somewhere above the roots of its packages, such as a build folder;
//! for libraries the rules of the JVM hold.

use std::fs;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;
use unsnarl_classfile::read::ClassFile;

use crate::problem::{LoadError, Reason};
use crate::{CLASS_LIMIT, name, read_file};

/// What a folder holds.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The class files with the names that their paths give them, by folder and sorted.
    pub(crate) classes: Vec<(Vec<u8>, PathBuf)>,
    /// How many jars lie around.
    pub(crate) jars: usize,
    /// What could not be looked into.
    pub(crate) errors: Vec<LoadError>,
}

/// Deeper than any package.
const DEPTH_LIMIT: usize = 128;

/// Lists the class files of a folder, and of the folders in it.
pub(crate) fn walk(root: &Path) -> Contents {
    let mut walk = Walk {
        contents: Contents::default(),
        chain: root.canonicalize().into_iter().collect(),
        links: FxHashSet::default(),
    };
    walk.folder(root, &mut Vec::new(), 0);
    walk.contents
}

/// Names classes by what their files say, where the folder is not the root of their packages but has
/// it somewhere below: `target` for `target/classes`. One class of each folder speaks for all in it.
pub(crate) fn find_roots(classes: &mut [(Vec<u8>, PathBuf)]) {
    for group in classes.chunk_by_mut(|(_, one), (_, other)| one.parent() == other.parent()) {
        let strip = group.iter().find_map(|(path_name, file)| {
            let bytes = read_file(file, CLASS_LIMIT).ok()?;
            let name = ClassFile::read(&bytes).ok()?.name();
            let above = path_name.strip_suffix(name)?;
            (above.is_empty() || above.ends_with(b"/")).then_some(above.len())
        });
        if let Some(length @ 1..) = strip {
            for (name, _) in group {
                name.drain(..length);
            }
        }
    }
}

struct Walk {
    contents: Contents,
    /// The folders that are being walked through links, by their real paths: the root and the
    /// target of every link on the way.
    chain: Vec<PathBuf>,
    /// The targets of all links that were followed.
    links: FxHashSet<PathBuf>,
}

impl Walk {
    /// `prefix` is the path from the root, with a slash at its end unless empty.
    fn folder(&mut self, folder: &Path, prefix: &mut Vec<u8>, depth: usize) {
        if depth > DEPTH_LIMIT {
            self.error(folder, Reason::TooDeep(DEPTH_LIMIT));
            return;
        }
        let listing =
            fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        let mut entries = match listing {
            Ok(entries) => entries,
            Err(error) => {
                let error = LoadError::io(folder.display().to_string(), &error);
                self.contents.errors.push(error);
                return;
            }
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let file_name = entry.file_name();
            let length = prefix.len();
            prefix.extend_from_slice(file_name.as_encoded_bytes());
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => self.link(path, prefix, depth),
                Ok(kind) => self.file_or_folder(path, kind.is_dir(), kind.is_file(), prefix, depth),
                Err(error) => {
                    let error = LoadError::io(path.display().to_string(), &error);
                    self.contents.errors.push(error);
                }
            }
            prefix.truncate(length);
        }
    }

    fn file_or_folder(
        &mut self,
        path: PathBuf,
        is_folder: bool,
        is_file: bool,
        prefix: &mut Vec<u8>,
        depth: usize,
    ) {
        if is_folder {
            if path.file_name().is_some_and(|name| name == "META-INF") {
                return;
            }
            prefix.push(b'/');
            self.folder(&path, prefix, depth + 1);
        } else if let Some(class) = name::class_of_path(prefix) {
            if is_file {
                self.contents.classes.push((class.into_owned(), path));
            } else {
                self.error(&path, Reason::NotAFile);
            }
        } else if is_file && prefix.ends_with(b".jar") {
            self.contents.jars += 1;
        }
    }

    fn link(&mut self, path: PathBuf, prefix: &mut Vec<u8>, depth: usize) {
        let target = path.canonicalize();
        let metadata = target.as_ref().ok().and_then(|target| target.metadata().ok());
        let (Ok(target), Some(metadata)) = (target, metadata) else {
            // Only a class is missed when it leads nowhere.
            if name::class_of_path(prefix).is_some() {
                self.error(&path, Reason::Missing);
            }
            return;
        };
        if !metadata.is_dir() {
            self.file_or_folder(path, false, metadata.is_file(), prefix, depth);
        } else if self.contains_walked(&path, &target) {
            self.error(&path, Reason::LinkLoop(target.display().to_string()));
        } else if !self.links.insert(target.clone()) {
            self.error(&path, Reason::LinkRepeated(target.display().to_string()));
        } else {
            self.chain.push(target);
            self.file_or_folder(path, true, false, prefix, depth);
            self.chain.pop();
        }
    }

    /// Whether walking `target` would come back to the link or to a folder that is being walked.
    fn contains_walked(&self, link: &Path, target: &Path) -> bool {
        let place = link.parent().and_then(|folder| folder.canonicalize().ok());
        self.chain.iter().chain(&place).any(|folder| folder.starts_with(target))
    }

    fn error(&mut self, path: &Path, reason: Reason) {
        self.contents.errors.push(LoadError::new(path.display().to_string(), None, reason));
    }
}
