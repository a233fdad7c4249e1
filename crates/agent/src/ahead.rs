//! What the files of the class path say of classes that are not loaded yet.
//!
//! Code is rewritten before the classes are loaded whose fields it accesses, and what can be reported together depends on
//! what these are. So their files are read ahead: only of classes that are asked for, each once. What is found is a guess:
//! another loader may have another class of the name, and another agent may change it. Whoever uses it must ask again
//! when the class is loaded.
//!
//! *Invariants*: nothing of the JVM is called, no file stays open, and nothing fails: what cannot be read is not known.
//! Neither is a class of which a jar has several versions. The `Class-Path` in a jar's manifest is not followed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use flate2::read::DeflateDecoder;
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveEntryWayfinder};
use rustc_hash::FxHashMap;
use unsnarl_classfile::read::ClassFile;

use crate::fields::Class;

/// No class file is longer that is worth the time.
const LONGEST_FILE: u64 = 4 << 20;
const CLASS: &[u8] = b".class";
const VERSIONS: &[u8] = b"META-INF/versions/";

/// The class path, and the classes that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    places: Vec<Place>,
    classes: FxHashMap<Vec<u8>, Option<Class>>,
}

#[derive(Debug)]
enum Place {
    Unopened(PathBuf),
    Folder(PathBuf),
    Jar(PathBuf, FxHashMap<Vec<u8>, Entry>),
    /// Nothing that can be read.
    Nothing,
}

/// Where the file of a class lies in a jar.
#[derive(Debug)]
enum Entry {
    At(ZipArchiveEntryWayfinder, CompressionMethod),
    Ambiguous,
}

impl Ahead {
    /// The places of a class path, as the JVM writes it. They are looked at when a class is asked for.
    pub(crate) fn new(class_path: &OsStr) -> Self {
        let places = class_path.as_bytes().split(|&byte| byte == b':').map(|place| {
            // An empty name is the folder in which the JVM was started.
            let place = if place.is_empty() { b"." } else { place };
            Place::Unopened(OsStr::from_bytes(place).into())
        });
        Self { places: places.collect(), classes: FxHashMap::default() }
    }

    /// What the first file of a class says, by its internal name.
    pub(crate) fn class(&mut self, name: &[u8]) -> Option<&Class> {
        if !self.classes.contains_key(name) {
            let bytes = self.places.iter_mut().find_map(|place| place.read(name)).flatten();
            let file = bytes.as_deref().and_then(|bytes| ClassFile::read(bytes).ok());
            let class = file.filter(|it| it.name() == name).map(|it| Class::new(&it, 0));
            self.classes.insert(name.to_vec(), class);
        }
        self.classes.get(name)?.as_ref()
    }
}

impl Place {
    /// The bytes of a class; an inner nothing if it is there and its bytes cannot be known.
    fn read(&mut self, class: &[u8]) -> Option<Option<Vec<u8>>> {
        if let Self::Unopened(path) = self {
            *self = Self::open(std::mem::take(path));
        }
        match self {
            Self::Unopened(_) | Self::Nothing => None,
            Self::Folder(folder) => {
                let path = folder.join(OsStr::from_bytes(&[class, CLASS].concat()));
                let file = open(&path)?;
                Some(limited(file))
            }
            Self::Jar(path, entries) => match entries.get(class)? {
                Entry::At(place, method) => Some(read_entry(path, *place, *method)),
                Entry::Ambiguous => Some(None),
            },
        }
    }

    fn open(path: PathBuf) -> Self {
        match fs::metadata(&path) {
            Ok(it) if it.is_dir() => Self::Folder(path),
            Ok(it) if it.is_file() => match entries(&path) {
                Some(entries) => Self::Jar(path, entries),
                None => Self::Nothing,
            },
            _ => Self::Nothing,
        }
    }
}

/// A file that is one: to open a pipe may take for ever.
fn open(path: &Path) -> Option<File> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    File::open(path).ok()
}

fn limited(source: impl Read) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = source.take(LONGEST_FILE + 1).read_to_end(&mut bytes).ok()?;
    (length as u64 <= LONGEST_FILE).then_some(bytes)
}

/// The classes of a jar.
fn entries(path: &Path) -> Option<FxHashMap<Vec<u8>, Entry>> {
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(open(path)?, &mut buffer).ok()?;
    let mut classes = FxHashMap::default();
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().ok()? {
        let path = entry.file_path();
        let Some(name) = path.as_bytes().strip_suffix(CLASS) else { continue };
        let versioned = name.strip_prefix(VERSIONS).map(|rest| {
            let version = rest.iter().position(|&byte| byte == b'/');
            &rest[version.map_or(0, |end| end + 1)..]
        });
        match versioned {
            Some(name) => {
                classes.insert(name.to_vec(), Entry::Ambiguous);
            }
            None => {
                let place = Entry::At(entry.wayfinder(), entry.compression_method());
                // Of two entries of one name it is not known which counts.
                let known = classes.contains_key(name);
                classes.insert(name.to_vec(), if known { Entry::Ambiguous } else { place });
            }
        }
    }
    Some(classes)
}

fn read_entry(
    jar: &Path,
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
) -> Option<Vec<u8>> {
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(open(jar)?, &mut buffer).ok()?;
    let entry = archive.get_entry(place).ok()?;
    if method == CompressionMethod::STORE {
        limited(entry.reader())
    } else if method == CompressionMethod::DEFLATE {
        limited(DeflateDecoder::new(entry.reader()))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A class path with `A` and `B` in a folder, or in a jar that has further versions of `B`.
    fn compiled(folder: &Path) -> PathBuf {
        let source = folder.join("A.java");
        fs::write(&source, "package p; class A extends B { int a; volatile int v; } class B { }")
            .unwrap();
        let classes = folder.join("classes");
        unsnarl_testing::jdk().compile([source.as_path()], &classes);
        classes
    }

    fn jar(folder: &Path, classes: &Path, more: &[&str]) -> PathBuf {
        let jar = folder.join("a.jar");
        let mut command: Command = unsnarl_testing::jdk().command("jar");
        command.arg("cf").arg(&jar).arg("-C").arg(classes).arg("p").args(more);
        unsnarl_testing::run(&mut command);
        jar
    }

    #[test]
    fn classes_are_found_in_folders_and_jars() {
        let folder = tempfile::tempdir().unwrap();
        let classes = compiled(folder.path());
        for place in [classes.clone(), jar(folder.path(), &classes, &[])] {
            let mut path = b"/nowhere:".to_vec();
            path.extend(place.as_os_str().as_bytes());
            let mut ahead = Ahead::new(OsStr::from_bytes(&path));
            assert!(ahead.class(b"p/A").is_some(), "{}", place.display());
            assert!(ahead.class(b"p/B").is_some(), "{}", place.display());
            assert!(ahead.class(b"p/C").is_none());
        }
    }

    #[test]
    fn a_class_with_several_versions_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let classes = compiled(folder.path());
        let later = folder.path().join("META-INF/versions/11/p");
        fs::create_dir_all(&later).unwrap();
        fs::copy(classes.join("p/B.class"), later.join("B.class")).unwrap();
        let base = folder.path().display().to_string();
        let jar = jar(folder.path(), &classes, &["-C", &base, "META-INF/versions/11/p/B.class"]);
        let mut ahead = Ahead::new(jar.as_os_str());
        assert!(ahead.class(b"p/A").is_some());
        assert!(ahead.class(b"p/B").is_none());
    }

    #[test]
    fn what_is_damaged_or_absent_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let classes = compiled(folder.path());
        let jar = jar(folder.path(), &classes, &[]);
        let whole = fs::read(&jar).unwrap();
        for length in (0..whole.len()).step_by(13) {
            fs::write(&jar, &whole[..length]).unwrap();
            assert!(Ahead::new(jar.as_os_str()).class(b"p/A").is_none(), "{length} bytes");
        }
        fs::write(&jar, &whole).unwrap();
        let mut ahead = Ahead::new(jar.as_os_str());
        assert!(ahead.class(b"p/B").is_some());
        fs::write(&jar, b"another file by now").unwrap();
        assert!(ahead.class(b"p/A").is_none());

        fs::write(classes.join("p/A.class"), b"not a class").unwrap();
        fs::copy(classes.join("p/B.class"), classes.join("p/C.class")).unwrap();
        let mut ahead = Ahead::new(classes.as_os_str());
        assert!(ahead.class(b"p/A").is_none());
        assert!(ahead.class(b"p/C").is_none(), "its name is another one");
        assert!(ahead.class(b"p").is_none());
    }
}
