//! The JDK's image. These tests need a JDK and say so when there is none.

use std::path::PathBuf;

use unsnarl_program::path::{ClassPath, JdkChoice, Options};

/// Every JDK of this machine, once.
pub(crate) fn jdks() -> Vec<PathBuf> {
    let installed = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let named = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let mut homes: Vec<_> = installed
        .map(|entry| entry.path())
        .chain(named)
        .filter(|home| home.join("lib/modules").is_file())
        .filter_map(|home| home.canonicalize().ok())
        .collect();
    homes.sort();
    homes.dedup();
    assert!(!homes.is_empty(), "no JDK in /usr/lib/jvm nor in JAVA_HOME: install one");
    homes
}

fn open(jdk: JdkChoice) -> ClassPath {
    ClassPath::open(&Options { inputs: vec![], class_path: vec![], jdk, release: None })
}

#[test]
fn every_class_of_the_image_is_there_and_is_the_same_to_an_independent_reader() {
    for home in jdks() {
        let path = open(JdkChoice::Home(home.clone()));
        assert_eq!(path.problems(), []);
        let oracle = jimage_rs::JImage::open(home.join("lib/modules")).expect("an image");
        let mut classes = 0;
        for entry in path.entries() {
            let location = path.location(entry);
            let module = location.module().expect("every class of an image has a module");
            let name = std::str::from_utf8(path.name(entry)).expect("names of the JDK are ASCII");
            let expected = oracle
                .find_resource(&format!("/{module}/{name}.class"))
                .expect("an image")
                .unwrap_or_else(|| panic!("{location} is not in the image"));
            assert!(path.read(entry).expect("whole") == expected.as_ref(), "{location} differs");
            classes += 1;
        }
        let all = oracle.resource_names_iter().flatten().filter(|name| name.extension == "class");
        assert_eq!(classes, all.count());
        assert!(classes > 20_000, "{classes} classes in {}", home.display());
        assert_eq!(path.shadowed(), 0);
    }
}
