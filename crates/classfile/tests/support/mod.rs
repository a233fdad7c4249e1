//! The JDKs of the machine: their class images, and their `java` and `javac`.

#![allow(dead_code, reason = "every test takes what it needs")]

pub(crate) mod build;
pub(crate) mod exercise;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use jimage_rs::JImage;

/// A JDK with an image of its classes.
pub(crate) struct Jdk {
    pub(crate) home: PathBuf,
    pub(crate) image: JImage,
}

/// A class of an image.
pub(crate) struct ImageClass {
    pub(crate) module: String,
    /// `java/lang/Object.class`
    pub(crate) path: String,
}

impl Jdk {
    /// The class files of the image; of all modules, or of some.
    pub(crate) fn classes(&self, modules: Option<&[&str]>) -> Vec<ImageClass> {
        let mut classes = Vec::new();
        for name in self.image.resource_names_iter() {
            let name = name.expect("a readable image");
            let wanted = modules.is_none_or(|modules| modules.contains(&&*name.module));
            if name.extension == "class" && wanted {
                let (module, path) = name.get_full_name();
                classes.push(ImageClass { module, path });
            }
        }
        assert!(!classes.is_empty(), "no classes in the image of {}", self.home.display());
        classes
    }

    pub(crate) fn bytes(&self, class: &ImageClass) -> Vec<u8> {
        let name = format!("/{}/{}", class.module, class.path);
        let found = self.image.find_resource(&name).expect("a readable image");
        found.unwrap_or_else(|| panic!("{name} is listed but not there")).into_owned()
    }

    pub(crate) fn tool(&self, name: &str) -> PathBuf {
        self.home.join("bin").join(name)
    }

    /// `17`, `25` …
    pub(crate) fn name(&self) -> String {
        self.home.file_name().expect("a folder").to_string_lossy().into_owned()
    }
}

/// Every JDK with an image.
pub(crate) fn jdks() -> Vec<Jdk> {
    unsnarl_testing::images().into_iter().map(|jdk| open(jdk.home)).collect()
}

fn open(home: PathBuf) -> Jdk {
    let path = home.join("lib/modules");
    let image = JImage::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Jdk { home, image }
}

/// Runs `work` on every item, on all cores.
pub(crate) fn for_each<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(item);
                }
            });
        }
    });
}

/// Runs a command and returns whether it succeeded and what it printed.
pub(crate) fn run(command: &mut std::process::Command) -> (bool, String) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// Writes a file and the folders above it.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a writable folder");
    std::fs::write(path, bytes).expect("a writable folder");
}
