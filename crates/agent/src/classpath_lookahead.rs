//! Looks classes up on the class path before the JVM loads them.
//!
//! Code is rewritten before the classes are loaded whose fields it accesses, and which accesses can be reported together
//! depends on these classes. So their files are read early: only of classes that are asked for, each once. The answer is a
//! guess: another loader may have another class of the name, and another agent may change it. Whoever uses it must ask again
//! when the class is loaded.
//!
//! *Invariants*: nothing of the JVM is called, no file stays open, and nothing fails: what cannot be read is unknown.
//! So is a class of which a jar has several versions. What the `Class-Path` in a jar's manifest names follows the jar
//! immediately, as in the JVM.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use flate2::read::DeflateDecoder;
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveEntryWayfinder};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_classfile::read::ClassFile;
use unsnarl_classpath::{MANIFEST_PATH, Manifest, resolve_class_path_url};

use crate::fields::Class;

/// Longer class files are not worth the time.
const LONGEST_FILE: u64 = 4 << 20;
const CLASS: &[u8] = b".class";
const VERSIONS: &[u8] = b"META-INF/versions/";

/// The class path, and the classes that were asked for.
#[derive(Debug, Default)]
pub(crate) struct ClassPathLookahead {
    elements: Vec<Element>,
    /// The files and folders that were opened.
    opened: FxHashSet<PathBuf>,
    classes: FxHashMap<Vec<u8>, Option<Class>>,
}

/// An element of the class path.
#[derive(Debug)]
enum Element {
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

impl ClassPathLookahead {
    /// The elements of a class path, as the JVM writes it. They are opened when a class is asked for.
    pub(crate) fn new(class_path: &OsStr) -> Self {
        let elements = class_path.as_bytes().split(|&byte| byte == b':').map(|element| {
            // An empty name is the folder in which the JVM was started.
            let element = if element.is_empty() { b"." } else { element };
            Element::Unopened(OsStr::from_bytes(element).into())
        });
        Self { elements: elements.collect(), ..Self::default() }
    }

    /// What the first file of a class says, by its internal name.
    pub(crate) fn class(&mut self, name: &[u8]) -> Option<&Class> {
        if !self.classes.contains_key(name) {
            let bytes = self.read(name);
            let file = bytes.as_deref().and_then(|bytes| ClassFile::read(bytes).ok());
            let class = file.filter(|it| it.name() == name).map(|it| Class::new(&it, 0));
            self.classes.insert(name.to_vec(), class);
        }
        self.classes.get(name)?.as_ref()
    }

    /// The bytes of the first file of a class; nothing if they cannot be known.
    fn read(&mut self, class: &[u8]) -> Option<Vec<u8>> {
        let mut next = 0;
        while next < self.elements.len() {
            self.open(next);
            if let Some(bytes) = self.elements[next].read(class) {
                return bytes;
            }
            next += 1;
        }
        None
    }

    /// Opens an element, and puts those that its manifest names after it. What was opened before has been asked already.
    fn open(&mut self, index: usize) {
        let Element::Unopened(path) = &self.elements[index] else { return };
        let opened = match path.canonicalize() {
            Ok(path) if self.opened.insert(path.clone()) => Element::open(path),
            _ => Element::Nothing,
        };
        let named = match &opened {
            Element::Jar(path, entries) => named_by_manifest(path, entries),
            _ => Vec::new(),
        };
        self.elements[index] = opened;
        let next = index + 1;
        self.elements.splice(next..next, named.into_iter().map(Element::Unopened));
    }
}

impl Element {
    /// The bytes of a class; an inner nothing if it is there and its bytes cannot be known.
    fn read(&self, class: &[u8]) -> Option<Option<Vec<u8>>> {
        match self {
            Self::Unopened(_) | Self::Nothing => None,
            Self::Folder(folder) => {
                let path = folder.join(OsStr::from_bytes(&[class, CLASS].concat()));
                let file = open(&path)?;
                Some(limited(file))
            }
            Self::Jar(path, entries) => match entries.get(class)? {
                Entry::At(wayfinder, method) => Some(read_entry(path, *wayfinder, *method)),
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

/// A file that is one: to open a pipe may take forever.
fn open(path: &Path) -> Option<File> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    File::open(path).ok()
}

fn limited(source: impl Read) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = source.take(LONGEST_FILE + 1).read_to_end(&mut bytes).ok()?;
    (length as u64 <= LONGEST_FILE).then_some(bytes)
}

/// The files and folders that the manifest of a jar adds to the class path.
fn named_by_manifest(jar: &Path, entries: &FxHashMap<Vec<u8>, Entry>) -> Vec<PathBuf> {
    let Some(Entry::At(wayfinder, method)) = entries.get(MANIFEST_PATH) else { return Vec::new() };
    let Some(manifest) = read_entry(jar, *wayfinder, *method) else { return Vec::new() };
    let urls = Manifest::parse(&manifest).class_path;
    let existing = urls.iter().filter_map(|url| {
        let path = resolve_class_path_url(jar, url)?;
        // To the JVM a URL stands for a folder if it ends with a slash, and else for a jar.
        let is_folder = fs::metadata(&path).ok()?.is_dir();
        (is_folder == url.ends_with('/')).then_some(path)
    });
    existing.collect()
}

/// The classes of a jar, and its manifest under its whole name.
fn entries(path: &Path) -> Option<FxHashMap<Vec<u8>, Entry>> {
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(open(path)?, &mut buffer).ok()?;
    let mut classes = FxHashMap::default();
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().ok()? {
        let path = entry.file_path();
        if path.as_bytes().eq_ignore_ascii_case(MANIFEST_PATH) {
            let manifest = Entry::At(entry.wayfinder(), entry.compression_method());
            classes.entry(MANIFEST_PATH.to_vec()).or_insert(manifest);
        }
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
                let found = Entry::At(entry.wayfinder(), entry.compression_method());
                // Of two entries of one name it is not known which counts.
                let known = classes.contains_key(name);
                classes.insert(name.to_vec(), if known { Entry::Ambiguous } else { found });
            }
        }
    }
    Some(classes)
}

fn read_entry(
    jar: &Path,
    wayfinder: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
) -> Option<Vec<u8>> {
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(open(jar)?, &mut buffer).ok()?;
    let entry = archive.get_entry(wayfinder).ok()?;
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
            let mut lookahead = ClassPathLookahead::new(OsStr::from_bytes(&path));
            assert!(lookahead.class(b"p/A").is_some(), "{}", place.display());
            assert!(lookahead.class(b"p/B").is_some(), "{}", place.display());
            assert!(lookahead.class(b"p/C").is_none());
        }
    }

    /// Makes a jar with a manifest of these lines, and a class if one is named.
    fn jar_with(jar: &Path, manifest: &str, class: Option<(&Path, &str)>) {
        let file = jar.with_extension("mf");
        fs::create_dir_all(jar.parent().unwrap()).unwrap();
        fs::write(&file, manifest).unwrap();
        let mut command: Command = unsnarl_testing::jdk().command("jar");
        command.arg("cfm").arg(jar).arg(&file);
        if let Some((classes, name)) = class {
            command.arg("-C").arg(classes).arg(name);
        }
        unsnarl_testing::run(&mut command);
    }

    #[test]
    fn the_class_path_of_a_manifest_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let classes = compiled(&folder);
        let at = |name: &str| folder.join(name);
        // Round in circles, by a missing jar, by another host, into a folder with a space, and by a name that is cut in two.
        let main = "Class-Path: lib/none.jar http://x/y.jar app.jar lib/first.j\n ar\n";
        jar_with(&at("app.jar"), main, None);
        jar_with(&at("lib/first.jar"), "Class-Path: ../app.jar ./with%20space/second.jar\n", None);
        let last = format!("Class-Path: file:{}/ first.jar\n", at("last").display());
        jar_with(&at("lib/with space/second.jar"), &last, Some((&classes, "p/A.class")));
        fs::create_dir_all(at("last/p")).unwrap();
        fs::copy(classes.join("p/B.class"), at("last/p/B.class")).unwrap();

        let mut lookahead = ClassPathLookahead::new(at("app.jar").as_os_str());
        assert!(lookahead.class(b"p/A").is_some() && lookahead.class(b"p/B").is_some());
        assert!(lookahead.class(b"p/C").is_none());

        // A folder needs a slash, and a jar must not have one.
        for wrong in ["last", "lib/first.jar/", "https://last/", "../last/"] {
            jar_with(&at("app.jar"), &format!("Class-Path: {wrong}\n"), None);
            let mut lookahead = ClassPathLookahead::new(at("app.jar").as_os_str());
            assert!(lookahead.class(b"p/B").is_none(), "{wrong}");
        }
    }

    /// What a manifest names comes before the rest of the class path.
    #[test]
    fn what_a_manifest_names_comes_right_after_its_jar() {
        let folder = tempfile::tempdir().unwrap();
        let classes = compiled(folder.path());
        let jar = folder.path().join("app.jar");
        jar_with(&jar, "Class-Path: other/\n", None);
        let other = folder.path().join("other/p");
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("A.class"), b"not a class").unwrap();
        let class_path = format!("{}:{}", jar.display(), classes.display());
        let mut lookahead = ClassPathLookahead::new(OsStr::new(&class_path));
        assert!(lookahead.class(b"p/A").is_none());
        assert!(lookahead.class(b"p/B").is_some());
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
        let mut lookahead = ClassPathLookahead::new(jar.as_os_str());
        assert!(lookahead.class(b"p/A").is_some());
        assert!(lookahead.class(b"p/B").is_none());
    }

    #[test]
    fn what_is_damaged_or_absent_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let classes = compiled(folder.path());
        let jar = jar(folder.path(), &classes, &[]);
        let whole = fs::read(&jar).unwrap();
        for length in (0..whole.len()).step_by(13) {
            fs::write(&jar, &whole[..length]).unwrap();
            assert!(
                ClassPathLookahead::new(jar.as_os_str()).class(b"p/A").is_none(),
                "{length} bytes"
            );
        }
        fs::write(&jar, &whole).unwrap();
        let mut lookahead = ClassPathLookahead::new(jar.as_os_str());
        assert!(lookahead.class(b"p/B").is_some());
        fs::write(&jar, b"another file by now").unwrap();
        assert!(lookahead.class(b"p/A").is_none());

        fs::write(classes.join("p/A.class"), b"not a class").unwrap();
        fs::copy(classes.join("p/B.class"), classes.join("p/C.class")).unwrap();
        let mut lookahead = ClassPathLookahead::new(classes.as_os_str());
        assert!(lookahead.class(b"p/A").is_none());
        assert!(lookahead.class(b"p/C").is_none(), "its name is another one");
        assert!(lookahead.class(b"p").is_none());
    }
}
