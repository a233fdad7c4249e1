//! The class path: where the bytes of every class come from.
//!
//! [`ClassPath::open`] looks at the names only: the lists of entries of archives, the files of
//! folders, the index of the JDK's image. The bytes of a class are unpacked or read when
//! [`ClassPath::read`] first asks for them, and then live as long as the class path: readers may
//! borrow from them. Of classes of the same name the first on the path is taken: inputs before
//! libraries before the JDK, in the order in which they were given.
//!
//! Elements of the path are jars, folders, single class files, runtime images and `DIR/*` for all
//! jars of a folder. Archives of applications are looked into: Spring Boot's (`BOOT-INF`), war files
//! (`WEB-INF`), ear and plain zip files with jars inside. Of a multi-release jar, the classes for one
//! release are taken. `Class-Path` in the manifest of a jar on disk is followed.
//!
//! What is damaged or missing is skipped and listed by [`ClassPath::problems`]; a class whose bytes
//! turn out to be damaged is an error of [`ClassPath::read`], every time it is asked for.
//!
//! Misses: names in archives are taken to be UTF-8, as the JDK's own tools write them; `Class-Path`
//! of nested jars is not followed.

mod archive;
mod compact;
mod folder;
mod image;
mod jdk;
mod layout;
mod manifest;
mod name;
mod open;
mod problem;
mod texts;

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use unsnarl_entity::{EntityId, Interner, PrimaryMap, entity_id};

pub use jdk::{Jdk, JdkChoice};
pub use manifest::{MANIFEST_PATH, Manifest, resolve_class_path_url};
pub use problem::{LoadError, Problem, Reason, Severity};
pub use texts::read_texts;

use archive::{Archive, ArchiveEntry, Fault};
use image::{Image, Resource};

entity_id! {
    /// A class file on the class path.
    pub struct EntryId("entry");
    struct NameId("name");
    struct RootId("root");
    struct ContainerId("container");
}

/// What to open.
#[derive(Clone, Debug)]
pub struct Options {
    /// The application: findings are about its classes.
    pub inputs: Vec<PathBuf>,
    /// The libraries it uses; [`split_class_path`] makes this from a string.
    pub class_path: Vec<PathBuf>,
    /// The JDK.
    pub jdk: JdkChoice,
    /// The release for which classes of multi-release jars are chosen; that of the JDK by default.
    pub release: Option<u16>,
}

/// The release where there is neither a wish nor a JDK.
pub const DEFAULT_RELEASE: u16 = 25;

/// Whose class it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The application's own.
    Input,
    /// A library's, on the class path or packed into the application.
    Library,
    /// The JDK's.
    Jdk,
}

/// The bytes of all classes, by name. See the [module](self).
pub struct ClassPath {
    names: Interner<NameId>,
    /// The entry that a name stands for.
    first: PrimaryMap<NameId, EntryId>,
    entries: PrimaryMap<EntryId, Entry>,
    roots: PrimaryMap<RootId, Root>,
    containers: PrimaryMap<ContainerId, Container>,
    /// Bytes that had to be unpacked or read from a folder, by entry.
    loaded: Vec<OnceLock<Box<[u8]>>>,
    loaded_bytes: AtomicU64,
    shadowed: usize,
    problems: Vec<Problem>,
    jdk: Option<Jdk>,
    release: u16,
}

#[derive(Debug)]
struct Entry {
    name: NameId,
    root: RootId,
    source: EntrySource,
}

#[derive(Debug)]
enum EntrySource {
    Archive(ArchiveEntry),
    Image(Resource),
    File(PathBuf),
}

/// A part of a container in which paths are class names: all of it, or `BOOT-INF/classes/`.
#[derive(Debug)]
struct Root {
    container: ContainerId,
    prefix: String,
    role: Role,
}

#[derive(Debug)]
struct Container {
    /// As it is shown: `app.jar!/BOOT-INF/lib/x.jar`.
    file: String,
    kind: ContainerKind,
}

#[derive(Debug)]
enum ContainerKind {
    Archive(Archive),
    Image(Image),
    /// A folder or a single class file: its entries have paths of their own.
    Files,
}

/// Larger than any class that a compiler writes.
const CLASS_LIMIT: u64 = 64 << 20;
/// All bytes that are unpacked or read from folders together.
const LOADED_LIMIT: u64 = 4 << 30;
const MODULE_INFO: &[u8] = b"module-info";

impl ClassPath {
    /// Finds out which classes there are. Never fails as a whole: see [`ClassPath::problems`].
    pub fn open(options: &Options) -> Self {
        open::open(options)
    }

    /// The class file of a class, by its internal name: `java/lang/String`, in modified UTF-8.
    /// Module descriptors are not classes and are not found.
    pub fn find(&self, internal_name: &[u8]) -> Option<EntryId> {
        let name = self.names.find(internal_name)?;
        (internal_name != MODULE_INFO).then(|| self.first[name])
    }

    /// All class files, in the order of the path, each container in its own order. A name comes
    /// once, but for the `module-info` of every module.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = EntryId> + ExactSizeIterator + use<> {
        self.entries.keys()
    }

    /// The name that its path gives the class, which is not always the name inside the class file.
    pub fn name(&self, entry: EntryId) -> &[u8] {
        &self.names[self.entries[entry].name]
    }

    /// Whether the class file describes a module and no class.
    pub fn is_module_info(&self, entry: EntryId) -> bool {
        self.name(entry) == MODULE_INFO
    }

    /// Whose class it is.
    pub fn role(&self, entry: EntryId) -> Role {
        self.roots[self.entries[entry].root].role
    }

    /// Where the class file lies.
    pub fn location(&self, entry: EntryId) -> Location<'_> {
        Location { class_path: self, entry }
    }

    /// The bytes of the class file. They are checked against the archive's checksum, not otherwise.
    pub fn read(&self, entry: EntryId) -> Result<&[u8], LoadError> {
        let cell = &self.loaded[entry.index()];
        if let Some(bytes) = cell.get() {
            return Ok(bytes);
        }
        let error = |fault: Fault| fault.within(self.location(entry).to_string());
        match self.fetch(entry).map_err(error)? {
            Cow::Borrowed(bytes) => Ok(bytes),
            Cow::Owned(bytes) => {
                let length = bytes.len() as u64;
                let size = length + self.loaded_bytes.fetch_add(length, Ordering::Relaxed);
                if size > LOADED_LIMIT {
                    self.loaded_bytes.fetch_sub(length, Ordering::Relaxed);
                    let reason = Reason::TooLarge { size, limit: LOADED_LIMIT };
                    return Err(error(Fault::new(None, reason)));
                }
                Ok(cell.get_or_init(|| bytes.into_boxed_slice()))
            }
        }
    }

    /// Everything that was skipped while opening, in the order of the path.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The JDK whose classes are at the end of the path.
    pub fn jdk(&self) -> Option<&Jdk> {
        self.jdk.as_ref()
    }

    /// The release for which the classes of multi-release jars were chosen.
    pub fn release(&self) -> u16 {
        self.release
    }

    /// How many class files are hidden by others of the same name.
    pub fn shadowed(&self) -> usize {
        self.shadowed
    }

    fn fetch(&self, entry: EntryId) -> Result<Cow<'_, [u8]>, Fault> {
        let Entry { root, source, .. } = &self.entries[entry];
        match (source, &self.containers[self.roots[*root].container].kind) {
            (EntrySource::File(path), _) => read_file(path, CLASS_LIMIT).map(Cow::Owned),
            (EntrySource::Archive(place), ContainerKind::Archive(archive)) => {
                archive::read(archive, place, CLASS_LIMIT)
            }
            (EntrySource::Image(resource), ContainerKind::Image(image)) => {
                image.read(resource, CLASS_LIMIT)
            }
            _ => unreachable!("an entry's source is of its container's kind"),
        }
    }
}

impl fmt::Debug for ClassPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClassPath")
            .field("containers", &self.containers)
            .field("entries", &self.entries.len())
            .field("problems", &self.problems)
            .field("jdk", &self.jdk)
            .finish_non_exhaustive()
    }
}

/// Where a class file lies; displayed as `app.jar!/BOOT-INF/lib/x.jar!/a/B.class`.
#[derive(Clone, Copy)]
pub struct Location<'a> {
    class_path: &'a ClassPath,
    entry: EntryId,
}

impl<'a> Location<'a> {
    /// The module of a class of the JDK.
    pub fn module(&self) -> Option<&'a str> {
        let Entry { root, source, .. } = &self.class_path.entries[self.entry];
        let container = &self.class_path.containers[self.class_path.roots[*root].container];
        match (source, &container.kind) {
            (EntrySource::Image(resource), ContainerKind::Image(image)) => {
                Some(image.module(resource))
            }
            _ => None,
        }
    }

    /// The jar, folder or image as it was found, with the archives around it.
    pub fn container(&self) -> &'a str {
        let root = self.class_path.entries[self.entry].root;
        &self.class_path.containers[self.class_path.roots[root].container].file
    }
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Entry { root, source, .. } = &self.class_path.entries[self.entry];
        if let EntrySource::File(path) = source {
            return write!(f, "{}", path.display());
        }
        write!(f, "{}!/", self.container())?;
        if let Some(module) = self.module() {
            write!(f, "{module}/")?;
        }
        let prefix = &self.class_path.roots[*root].prefix;
        write!(f, "{prefix}{}.class", name::display(self.class_path.name(self.entry)))
    }
}

impl fmt::Debug for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The elements of a class path as it is given to `java`: `a.jar:b/*:classes`. An empty element is
/// the current folder.
pub fn split_class_path(class_path: &str) -> Vec<PathBuf> {
    if class_path.is_empty() {
        return Vec::new();
    }
    std::env::split_paths(class_path)
        .map(|element| if element.as_os_str().is_empty() { PathBuf::from(".") } else { element })
        .collect()
}

/// A whole file, unless it is too large.
fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, Fault> {
    let io = |error: std::io::Error| {
        let LoadError { offset, reason, .. } = LoadError::io("", &error);
        Fault { offset, reason }
    };
    let file = File::open(path).map_err(io)?;
    let size = file.metadata().map_err(io)?.len();
    if size > limit {
        return Err(Fault::new(None, Reason::TooLarge { size, limit }));
    }
    let mut bytes = Vec::with_capacity(size as usize);
    // The file may grow meanwhile.
    file.take(limit).read_to_end(&mut bytes).map_err(io)?;
    Ok(bytes)
}
