//! What the files of the class path say of classes that are not loaded yet.
//!
//! Code is rewritten before the classes are loaded whose fields it accesses, and what can be reported together depends on
//! what these are. So their files are read ahead: only of classes that are asked for, each once. What is found is a guess:
//! another loader may have another class of the name, and another agent may change it. Whoever uses it must ask again
//! when the class is loaded.
//!
//! *Invariants*: nothing of the JVM is called, no file stays open, and nothing fails: what cannot be read is not known.
//! Neither is a class of which a jar has several versions. What the `Class-Path` in a jar's manifest names comes right behind
//! the jar, as the JVM has it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use flate2::read::DeflateDecoder;
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveEntryWayfinder};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_classfile::read::ClassFile;

use crate::fields::Class;

/// No class file is longer that is worth the time.
const LONGEST_FILE: u64 = 4 << 20;
const CLASS: &[u8] = b".class";
const VERSIONS: &[u8] = b"META-INF/versions/";
const MANIFEST: &[u8] = b"META-INF/MANIFEST.MF";
const CLASS_PATH: &[u8] = b"Class-Path:";

/// The class path, and the classes that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    places: Vec<Place>,
    /// The files and folders that were opened.
    opened: FxHashSet<PathBuf>,
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
        Self { places: places.collect(), ..Self::default() }
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
        while next < self.places.len() {
            self.open(next);
            if let Some(bytes) = self.places[next].read(class) {
                return bytes;
            }
            next += 1;
        }
        None
    }

    /// Opens a place, behind which come those that its manifest names. What was opened before has been asked already.
    fn open(&mut self, place: usize) {
        let Place::Unopened(path) = &self.places[place] else { return };
        let opened = match path.canonicalize() {
            Ok(path) if self.opened.insert(path.clone()) => Place::open(path),
            _ => Place::Nothing,
        };
        let named = match &opened {
            Place::Jar(path, entries) => named_by_manifest(path, entries),
            _ => Vec::new(),
        };
        self.places[place] = opened;
        let behind = place + 1;
        self.places.splice(behind..behind, named.into_iter().map(Place::Unopened));
    }
}

impl Place {
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

/// The files and folders that the manifest of a jar puts on the class path, as URLs that are relative to it.
fn named_by_manifest(jar: &Path, entries: &FxHashMap<Vec<u8>, Entry>) -> Vec<PathBuf> {
    let Some(Entry::At(place, method)) = entries.get(MANIFEST) else { return Vec::new() };
    let Some(manifest) = read_entry(jar, *place, *method) else { return Vec::new() };
    let names = class_path(&manifest);
    let names = names.split(u8::is_ascii_whitespace).filter(|name| !name.is_empty());
    names.filter_map(|name| resolve(jar, name)).collect()
}

/// The value of `Class-Path` in the main section of a manifest. A line goes on behind a line break and a space.
fn class_path(manifest: &[u8]) -> Vec<u8> {
    let mut value = Vec::new();
    let mut goes_on = false;
    for line in manifest.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.split_first() {
            Some((b' ', rest)) if goes_on => value.extend(rest),
            Some((b' ', _)) => {}
            Some(_) => {
                let (name, rest) = line.split_at(line.len().min(CLASS_PATH.len()));
                goes_on = name.eq_ignore_ascii_case(CLASS_PATH);
                if goes_on {
                    value = rest.to_vec();
                }
            }
            None => break,
        }
    }
    value
}

/// What a URL in a manifest stands for, if that is there: a folder if it ends with a slash, else a jar.
fn resolve(jar: &Path, url: &[u8]) -> Option<PathBuf> {
    let path = match url.iter().position(|&byte| byte == b':') {
        Some(end) if url[..end].eq_ignore_ascii_case(b"file") => &url[end + 1..],
        Some(_) => return None,
        None => url,
    };
    // An empty host.
    let path = path.strip_prefix(b"//").unwrap_or(path);
    let mut resolved = jar.parent()?.to_owned();
    for part in Path::new(OsStr::from_bytes(&decoded(path))).components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            // What begins with a slash replaces all before it.
            part => resolved.push(part),
        }
    }
    let is_folder = fs::metadata(&resolved).ok()?.is_dir();
    (is_folder == path.ends_with(b"/")).then_some(resolved)
}

/// A part of a URL without what stands for other bytes there.
fn decoded(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    bytes
}

/// The classes of a jar, and its manifest under its whole name.
fn entries(path: &Path) -> Option<FxHashMap<Vec<u8>, Entry>> {
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(open(path)?, &mut buffer).ok()?;
    let mut classes = FxHashMap::default();
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().ok()? {
        let path = entry.file_path();
        if path.as_bytes().eq_ignore_ascii_case(MANIFEST) {
            let place = Entry::At(entry.wayfinder(), entry.compression_method());
            classes.entry(MANIFEST.to_vec()).or_insert(place);
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

        let mut ahead = Ahead::new(at("app.jar").as_os_str());
        assert!(ahead.class(b"p/A").is_some() && ahead.class(b"p/B").is_some());
        assert!(ahead.class(b"p/C").is_none());

        // A folder needs a slash, and a jar must not have one.
        for wrong in ["last", "lib/first.jar/", "https://last/", "../last/"] {
            jar_with(&at("app.jar"), &format!("Class-Path: {wrong}\n"), None);
            let mut ahead = Ahead::new(at("app.jar").as_os_str());
            assert!(ahead.class(b"p/B").is_none(), "{wrong}");
        }
    }

    /// What a manifest names comes before the rest of the class path.
    #[test]
    fn what_a_manifest_names_comes_right_behind_its_jar() {
        let folder = tempfile::tempdir().unwrap();
        let classes = compiled(folder.path());
        let jar = folder.path().join("app.jar");
        jar_with(&jar, "Class-Path: other/\n", None);
        let other = folder.path().join("other/p");
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("A.class"), b"not a class").unwrap();
        let class_path = format!("{}:{}", jar.display(), classes.display());
        let mut ahead = Ahead::new(OsStr::new(&class_path));
        assert!(ahead.class(b"p/A").is_none());
        assert!(ahead.class(b"p/B").is_some());
    }

    #[test]
    fn a_manifest_is_read_as_the_jvm_does() {
        for (manifest, expected) in [
            (
                &b"Manifest-Version: 1.0\r\nclass-path: a.jar\r\n  b.jar\r\nX: y\r\n"[..],
                "a.jar b.jar",
            ),
            (b"Class-Path: a.j\n ar", "a.jar"),
            (b"X: y\n Class-Path: a.jar\n", ""),
            (b"X: y\n\nName: p/A.class\nClass-Path: a.jar\n", ""),
            (b"Class-Path", ""),
            (b"", ""),
        ] {
            let value = String::from_utf8(class_path(manifest)).unwrap();
            assert_eq!(value.trim(), expected);
        }
        assert_eq!(decoded(b"a%20b%2"), b"a b%2");
        assert_eq!(decoded(b"%zz%41"), b"%zzA");
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
