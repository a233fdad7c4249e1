//! Opening: from the elements of the path to the index of names.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_classfile::read::ClassFile;
use unsnarl_entity::{Interner, PrimaryMap};

use crate::archive::{self, Archive, ArchiveEntry, Fault, Record, SharedBytes};
use crate::image::{self, Image};
use crate::jdk::{self, Classes};
use crate::layout::{self, Layout};
use crate::manifest::{MANIFEST_PATH, Manifest, resolve_class_path_url};
use crate::problem::{LoadError, Problem, Reason, Severity};
use crate::{
    ClassPath, Container, ContainerId, ContainerKind, DEFAULT_RELEASE, Entry, EntrySource,
    MODULE_INFO, Options, Role, Root, RootId, folder, read_file,
};

/// A jar, a war or whatever else is read as a whole.
pub(crate) const ARCHIVE_LIMIT: u64 = 4 << 30;
/// All archives that are packed inside others together.
const NESTED_LIMIT: u64 = 1 << 30;
/// A jar in a war in an ear, and one to spare.
const NESTING_LIMIT: usize = 4;
const MANIFEST_LIMIT: u64 = 4 << 20;

pub(crate) fn open(options: &Options) -> ClassPath {
    let mut problems = Vec::new();
    let located = jdk::locate(&options.jdk, &mut problems);
    let (jdk, classes) = located.unzip();
    let release =
        options.release.or(jdk.as_ref().map(|jdk| jdk.release)).unwrap_or(DEFAULT_RELEASE);
    let mut opening = Opening {
        path: ClassPath {
            names: Interner::new(),
            first: PrimaryMap::new(),
            entries: PrimaryMap::new(),
            roots: PrimaryMap::new(),
            containers: PrimaryMap::new(),
            loaded: Vec::new(),
            loaded_bytes: Default::default(),
            shadowed: 0,
            problems,
            jdk,
            release,
        },
        seen: FxHashSet::default(),
        packed_libraries: Vec::new(),
        nested_bytes: 0,
    };

    // What is packed into an input or named by its manifest is a library, unless it is an input as
    // well: all inputs first.
    let mut named = Vec::new();
    for input in opening.expand_all(&options.inputs) {
        named.extend(opening.element(&input, Role::Input));
    }
    for packed in std::mem::take(&mut opening.packed_libraries) {
        opening.nested(&packed.archive, packed.place, packed.file, Role::Library, packed.depth);
    }
    opening.libraries(named);
    let class_path = opening.expand_all(&options.class_path);
    opening.libraries(class_path);
    match classes {
        Some(Classes::Image(image)) => opening.image(&image, Role::Jdk),
        Some(Classes::Jars(jars)) => {
            for jar in jars {
                opening.element(&jar, Role::Jdk);
            }
        }
        None => {}
    }

    let mut path = opening.path;
    path.loaded.resize_with(path.entries.len(), Default::default);
    path
}

struct Opening {
    path: ClassPath,
    /// The real paths of the elements so far.
    seen: FxHashSet<PathBuf>,
    /// Libraries inside inputs, to be opened after all inputs.
    packed_libraries: Vec<PackedLibrary>,
    nested_bytes: u64,
}

struct PackedLibrary {
    archive: Archive,
    place: ArchiveEntry,
    file: String,
    depth: usize,
}

impl Opening {
    fn expand_all(&mut self, elements: &[PathBuf]) -> Vec<PathBuf> {
        let mut expanded = Vec::new();
        for element in elements {
            match expand(element) {
                Ok(elements) => expanded.extend(elements),
                Err(error) => self.fail(error),
            }
        }
        expanded
    }

    /// Opens libraries, each followed by those that its manifest names.
    fn libraries(&mut self, elements: Vec<PathBuf>) {
        let mut pending: Vec<_> = elements.into_iter().rev().collect();
        while let Some(element) = pending.pop() {
            let named = self.element(&element, Role::Library);
            pending.extend(named.into_iter().rev());
        }
    }

    /// Opens one element, and returns the paths of the libraries that it brings along.
    fn element(&mut self, path: &Path, role: Role) -> Vec<PathBuf> {
        let file = path.display().to_string();
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) => {
                self.fail(LoadError::io(file, &error));
                return Vec::new();
            }
        };
        if !self.seen.insert(real.clone()) {
            return Vec::new();
        }
        if real.is_dir() {
            self.folder(path, role);
            if role == Role::Input { unpacked_libraries(path) } else { Vec::new() }
        } else if real.is_file() {
            self.file(path, file, role)
        } else {
            self.fail(LoadError::new(file, None, Reason::NotAFile));
            Vec::new()
        }
    }

    fn file(&mut self, path: &Path, file: String, role: Role) -> Vec<PathBuf> {
        let bytes = match read_start(path) {
            Ok(start) if image::is_image(&start) => {
                self.image(path, role);
                return Vec::new();
            }
            Ok(_) => read_file(path, ARCHIVE_LIMIT),
            Err(error) => Err(Fault::new(None, LoadError::io("", &error).reason)),
        };
        match bytes {
            Err(fault) => self.fail(fault.within(file)),
            Ok(bytes) if is_class(path, &bytes) => self.single_class(path, file, &bytes, role),
            Ok(bytes) => return self.archive_on_disk(path, file, bytes, role),
        }
        Vec::new()
    }

    fn single_class(&mut self, path: &Path, file: String, bytes: &[u8], role: Role) {
        match ClassFile::read(bytes) {
            Ok(class) => {
                let root = self.root(Container { file, kind: ContainerKind::Files }, role);
                self.add(class.name(), root, EntrySource::File(path.to_owned()));
            }
            Err(error) => {
                let reason = Reason::ClassFile(format!("expected {}", error.expected));
                self.fail(LoadError::new(file, Some(error.offset as u64), reason));
            }
        }
    }

    fn folder(&mut self, path: &Path, role: Role) {
        let file = path.display().to_string();
        let mut contents = folder::walk(path);
        if role == Role::Input {
            folder::find_roots(&mut contents.classes);
        }
        for error in contents.errors {
            let severity = match error.reason {
                Reason::LinkLoop(_) | Reason::LinkRepeated(_) => Severity::Note,
                _ => Severity::Failure,
            };
            self.path.problems.push(Problem { severity, error });
        }
        if contents.classes.is_empty() && contents.jars > 0 {
            let reason = Reason::OnlyJars(contents.jars);
            self.note(LoadError::new(file.clone(), None, reason));
        }
        let root = self.root(Container { file, kind: ContainerKind::Files }, role);
        for (name, path) in contents.classes {
            self.add(&name, root, EntrySource::File(path));
        }
    }

    fn image(&mut self, path: &Path, role: Role) {
        let file = path.display().to_string();
        let mut image = match Image::open(path) {
            Ok(image) => image,
            Err(fault) => return self.fail(fault.within(file)),
        };
        let mut classes = Vec::new();
        let mut names = Vec::new();
        let faults = image.classes(|name, resource| {
            names.extend_from_slice(name);
            classes.push((names.len(), resource));
        });
        for fault in faults {
            self.fail(fault.within(file.clone()));
        }
        let root = self.root(Container { file, kind: ContainerKind::Image(image) }, role);
        let mut start = 0;
        for (end, resource) in classes {
            self.add(&names[start..end], root, EntrySource::Image(resource));
            start = end;
        }
    }

    fn archive_on_disk(
        &mut self,
        path: &Path,
        file: String,
        bytes: Vec<u8>,
        role: Role,
    ) -> Vec<PathBuf> {
        let manifest = self.archive(SharedBytes::new(bytes), file.clone(), role, 0);
        let mut missing = Vec::new();
        let mut named = Vec::new();
        for url in manifest.class_path {
            match resolve_class_path_url(path, &url) {
                Some(path) if path.exists() => named.push(path),
                _ => missing.push(url),
            }
        }
        if !missing.is_empty() {
            let reason = Reason::ManifestClassPath(missing.join(", "));
            self.note(LoadError::new(file, None, reason));
        }
        named
    }

    /// Adds the classes of an archive, and of those inside it.
    fn archive(&mut self, bytes: SharedBytes, file: String, role: Role, depth: usize) -> Manifest {
        let archive = match archive::open(bytes) {
            Ok(archive) => archive,
            Err(fault) => {
                self.fail(fault.within(file));
                return Manifest::default();
            }
        };
        let (records, fault) = archive::records(&archive);
        if let Some(fault) = fault {
            self.fail(fault.within(file.clone()));
        }
        let manifest = self.manifest(&archive, &records, &file);
        let layout = Layout::of(&file, &records);
        // A second handle on the same bytes: the records borrow from the first.
        let kind = ContainerKind::Archive(archive.clone());
        let container = self.path.containers.push(Container { file: file.clone(), kind });
        let release = if manifest.multi_release { self.path.release } else { 0 };
        for (prefix, role) in layout.roots(role) {
            self.archive_root(layout.classes(prefix, &records, release), container, prefix, role);
        }
        for record in &records {
            let Some(nested_role) = layout.nested(record.path, role) else { continue };
            let file = format!("{file}!/{}", String::from_utf8_lossy(record.path));
            if role == Role::Input && nested_role == Role::Library {
                let (archive, place) = (archive.clone(), record.place);
                self.packed_libraries.push(PackedLibrary {
                    archive,
                    place,
                    file,
                    depth: depth + 1,
                });
            } else {
                self.nested(&archive, record.place, file, nested_role, depth + 1);
            }
        }
        manifest
    }

    fn archive_root(
        &mut self,
        classes: Vec<layout::Class<'_>>,
        container: ContainerId,
        prefix: &str,
        role: Role,
    ) {
        let mut roots: FxHashMap<u16, RootId> = FxHashMap::default();
        for class in classes {
            let root = *roots.entry(class.version).or_insert_with(|| {
                let prefix = match class.version {
                    0 => prefix.to_owned(),
                    version => format!("{prefix}META-INF/versions/{version}/"),
                };
                self.path.roots.push(Root { container, prefix, role })
            });
            self.add(&class.name, root, EntrySource::Archive(class.place));
        }
    }

    /// Adds the classes of an archive that is inside another.
    fn nested(
        &mut self,
        outer: &Archive,
        place: ArchiveEntry,
        file: String,
        role: Role,
        depth: usize,
    ) {
        if depth > NESTING_LIMIT {
            return self.fail(LoadError::new(file, None, Reason::TooDeep(NESTING_LIMIT)));
        }
        match archive::read_shared(outer, &place, NESTED_LIMIT - self.nested_bytes) {
            Ok(bytes) => {
                self.nested_bytes += archive::allocation(&place);
                self.archive(bytes, file, role, depth);
            }
            Err(fault) => self.fail(fault.within(file)),
        }
    }

    fn manifest(&mut self, archive: &Archive, records: &[Record<'_>], file: &str) -> Manifest {
        let mut records = records.iter();
        let is_manifest = |record: &&Record<'_>| record.path.eq_ignore_ascii_case(MANIFEST_PATH);
        let Some(record) = records.find(is_manifest) else {
            return Manifest::default();
        };
        match archive::read(archive, &record.place, MANIFEST_LIMIT) {
            Ok(bytes) => Manifest::parse(&bytes),
            Err(fault) => {
                let path = String::from_utf8_lossy(record.path);
                self.fail(fault.within(format!("{file}!/{path}")));
                Manifest::default()
            }
        }
    }

    /// A container that is one root as a whole.
    fn root(&mut self, container: Container, role: Role) -> RootId {
        let container = self.path.containers.push(container);
        self.path.roots.push(Root { container, prefix: String::new(), role })
    }

    fn add(&mut self, name: &[u8], root: RootId, source: EntrySource) {
        let known = self.path.names.find(name);
        if known.is_some() && name != MODULE_INFO {
            self.path.shadowed += 1;
            return;
        }
        let name = known.unwrap_or_else(|| {
            self.path.first.push(self.path.entries.next_key());
            self.path.names.intern(name)
        });
        self.path.entries.push(Entry { name, root, source });
    }

    fn fail(&mut self, error: LoadError) {
        self.path.problems.push(Problem { severity: Severity::Failure, error });
    }

    fn note(&mut self, error: LoadError) {
        self.path.problems.push(Problem { severity: Severity::Note, error });
    }
}

/// The jars of a folder for `DIR/*`, in the order of their names; any other path stays as it is.
fn expand(path: &Path) -> Result<Vec<PathBuf>, LoadError> {
    if path.file_name().is_none_or(|name| name != "*") {
        return Ok(vec![path.to_owned()]);
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let listing = folder.read_dir().and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = listing.map_err(|error| LoadError::io(folder.display().to_string(), &error))?;
    let mut jars: Vec<_> = entries.iter().map(std::fs::DirEntry::path).collect();
    jars.retain(|path| path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("jar")));
    jars.sort();
    Ok(jars)
}

/// The libraries of an application that was unpacked into a folder.
fn unpacked_libraries(folder: &Path) -> Vec<PathBuf> {
    let libraries = ["BOOT-INF/lib", "WEB-INF/lib"].map(|libraries| folder.join(libraries));
    let present = libraries.iter().filter(|libraries| libraries.is_dir());
    // A folder that cannot be read was named when it was walked.
    present.filter_map(|libraries| expand(&libraries.join("*")).ok()).flatten().collect()
}

fn is_class(path: &Path, bytes: &[u8]) -> bool {
    path.extension().is_some_and(|kind| kind == "class") || bytes.starts_with(b"\xca\xfe\xba\xbe")
}

fn read_start(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(4).read_to_end(&mut start)?;
    Ok(start)
}
