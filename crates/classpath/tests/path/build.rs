//! Small class paths to look at.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use rawzip::{CompressionMethod, ZipArchiveWriter};
use unsnarl_classpath::{ClassPath, EntryId, JdkChoice, Options};

/// A folder that vanishes with the test.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a name within the folder")).expect("a folder");
        // Some file systems flush a file to disk when it is overwritten in place.
        let _ = fs::remove_file(&path);
        fs::write(&path, bytes).expect("a file");
        path
    }
}

/// A zip archive; each entry is deflated.
pub(crate) fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    zip_by(CompressionMethod::DEFLATE, entries)
}

/// A zip archive; each entry is stored as it is.
pub(crate) fn stored_zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    zip_by(CompressionMethod::STORE, entries)
}

fn zip_by(method: CompressionMethod, entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut output = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut output);
    for (name, bytes) in entries {
        let (mut entry, config) =
            archive.new_file(*name).compression_method(method).start().expect("an entry");
        let descriptor = if method == CompressionMethod::STORE {
            let mut writer = config.wrap(&mut entry);
            writer.write_all(bytes).expect("memory");
            writer.finish().expect("an entry").1
        } else {
            let level = flate2::Compression::default();
            let encoder = flate2::write::DeflateEncoder::new(&mut entry, level);
            let mut writer = config.wrap(encoder);
            writer.write_all(bytes).expect("memory");
            let (encoder, descriptor) = writer.finish().expect("an entry");
            encoder.finish().expect("a stream");
            descriptor
        };
        entry.finish(descriptor).expect("an entry");
    }
    archive.finish().expect("an archive");
    output
}

/// A class file with nothing in it but its name: version 61, no superclass, no members.
pub(crate) fn class_named(name: &str) -> Vec<u8> {
    let mut bytes = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61, 0, 3, 7, 0, 2, 1];
    bytes.extend((name.len() as u16).to_be_bytes());
    bytes.extend(name.as_bytes());
    bytes.extend([0, 0x21, 0, 1, 0, 0]);
    // No interfaces, fields, methods and attributes.
    bytes.extend([0; 8]);
    bytes
}

/// Opens inputs alone.
pub(crate) fn open(inputs: &[PathBuf]) -> ClassPath {
    open_with(inputs, &[])
}

/// Opens inputs and libraries, without a JDK.
pub(crate) fn open_with(inputs: &[PathBuf], class_path: &[PathBuf]) -> ClassPath {
    ClassPath::open(&Options {
        inputs: inputs.to_vec(),
        class_path: class_path.to_vec(),
        jdk: JdkChoice::None,
        release: None,
    })
}

/// The entry of a class that must be there.
pub(crate) fn entry(path: &ClassPath, name: &str) -> EntryId {
    path.find(name.as_bytes())
        .unwrap_or_else(|| panic!("{name} is not there; problems: {:#?}", messages(path)))
}

/// The bytes of a class that must be there and whole.
pub(crate) fn bytes<'a>(path: &'a ClassPath, name: &str) -> &'a [u8] {
    path.read(entry(path, name)).unwrap_or_else(|error| panic!("{error}"))
}

/// Where a class lies, relative to the folder.
pub(crate) fn place(path: &ClassPath, name: &str, folder: &Folder) -> String {
    relative(&path.location(entry(path, name)).to_string(), folder)
}

/// The problems, with paths relative to the folder.
pub(crate) fn problems(path: &ClassPath, folder: &Folder) -> Vec<String> {
    messages(path).iter().map(|message| relative(message, folder)).collect()
}

/// The names of all entries, in order.
pub(crate) fn names(path: &ClassPath) -> Vec<String> {
    path.entries().map(|entry| String::from_utf8_lossy(path.name(entry)).into_owned()).collect()
}

pub(crate) fn relative(text: &str, folder: &Folder) -> String {
    let root = Path::new(folder.0.path());
    let real = root.canonicalize().expect("the folder is there");
    text.replace(&format!("{}/", root.display()), "")
        .replace(&format!("{}/", real.display()), "")
        .replace(&root.display().to_string(), ".")
}

fn messages(path: &ClassPath) -> Vec<String> {
    path.problems().iter().map(ToString::to_string).collect()
}
