//! Which JDK is taken, and its image. Some of these tests need a JDK and say so when there is none.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use unsnarl_classpath::{JdkChoice, Role, Severity};

use crate::build::*;
use crate::image::{open, small};

/// Every JDK of this machine, once.
fn jdks() -> Vec<PathBuf> {
    unsnarl_testing::images().into_iter().map(|jdk| jdk.home).collect()
}

#[test]
fn every_class_of_the_image_is_there_and_is_the_same_to_an_independent_reader() {
    for home in jdks() {
        let path = open(JdkChoice::Home(home.clone()));
        assert_eq!(path.problems(), []);
        let oracle = jimage_rs::JImage::open(home.join("lib/modules")).expect("an image");
        for entry in path.entries() {
            let location = path.location(entry);
            let module = location.module().expect("every class of an image has a module");
            let name = std::str::from_utf8(path.name(entry)).expect("names of the JDK are ASCII");
            let expected = oracle
                .find_resource(&format!("/{module}/{name}.class"))
                .expect("an image")
                .unwrap_or_else(|| panic!("{location} is not in the image"));
            assert!(path.read(entry).expect("whole") == expected.as_ref(), "{location} differs");
        }
        let all = oracle.resource_names_iter().flatten().filter(|name| name.extension == "class");
        assert_eq!(path.entries().len(), all.count());
        assert!(path.entries().len() > 20_000, "few classes in {}", home.display());
        assert_eq!(path.shadowed(), 0);

        let string = entry(&path, "java/lang/String");
        assert_eq!(path.role(string), Role::Jdk);
        assert_eq!(path.location(string).module(), Some("java.base"));
        let expected = format!("{}/lib/modules!/java.base/java/lang/String.class", home.display());
        assert_eq!(path.location(string).to_string(), expected);
        let jdk = path.jdk().expect("a JDK");
        let version = jdk.version.as_deref().expect("a version");
        assert!(version.starts_with(&jdk.release.to_string()), "{jdk:?}");
        assert_eq!(path.release(), jdk.release);
    }
}

/// The older kind of compression that `jlink` knows; the other is tested on an image made by hand.
#[test]
fn a_compressed_image_has_the_same_classes() {
    let homes = jdks();
    let linking = homes.iter().find(|home| home.join("jmods/java.base.jmod").is_file());
    let Some(home) = linking else {
        // A JDK without `jmods` has nothing to link with.
        return;
    };
    let folder = Folder::new();
    let output = Command::new(home.join("bin/jlink"))
        .args(["--add-modules", "java.base", "--compress", "1", "--output"])
        .arg(folder.path("linked"))
        .output()
        .expect("jlink starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let path = open(JdkChoice::Home(folder.path("linked")));
    assert_eq!(path.problems(), []);
    let whole = open(JdkChoice::Home(home.clone()));
    let mut equal = 0;
    for entry in path.entries() {
        let bytes = path.read(entry).unwrap_or_else(|error| panic!("{error}"));
        let original = whole.find(path.name(entry)).map(|entry| whole.read(entry));
        equal += usize::from(original == Some(Ok(bytes)));
    }
    // `jlink` generates a few classes anew, and rewrites the module's descriptor.
    assert!(path.entries().len() > 5_000, "{} classes", path.entries().len());
    assert!(path.entries().len() - equal < 10, "{equal} of {}", path.entries().len());
}

#[test]
fn an_image_made_by_hand() {
    for compressed in [false, true] {
        let folder = Folder::new();
        folder.write("jdk/lib/modules", &small(compressed));
        folder.write("jdk/release", b"IMPLEMENTOR=\"us\"\nJAVA_VERSION=\"21.0.1\"\n");
        let path = open(JdkChoice::Home(folder.path("jdk")));
        assert_eq!(path.problems(), []);
        assert_eq!(bytes(&path, "java/lang/Object"), b"object object");
        assert_eq!(names(&path), ["java/lang/Object", "module-info"]);
        assert_eq!(path.jdk().expect("a JDK").release, 21);
    }
}

#[test]
fn an_image_may_be_an_input() {
    let folder = Folder::new();
    let path = crate::build::open(&[folder.write("modules", &small(false))]);
    assert_eq!(path.role(entry(&path, "java/lang/Object")), Role::Input);
}

#[test]
fn an_image_that_is_cut_short() {
    let folder = Folder::new();
    let image = small(false);
    folder.write("jdk/release", b"JAVA_VERSION=\"25\"");
    // In the last class: the other one is still there.
    let (expected, actual) = (image.len(), image.len() - 2);
    folder.write("jdk/lib/modules", &image[..actual]);
    let path = open(JdkChoice::Home(folder.path("jdk")));
    assert_eq!(
        problems(&path, &folder),
        [format!(
            "jdk/lib/modules, offset {actual}: the runtime image is cut short: \
             expected {expected} bytes, found {actual}; classes missing: 1"
        )]
    );
    assert_eq!(bytes(&path, "java/lang/Object"), b"object object");
    // In the index, and in the header.
    for (length, message) in [
        (60, "expected an index of 125 bytes, found 60 in all"),
        (20, "expected a header of 28 bytes"),
        (0, "expected a header of 28 bytes"),
    ] {
        folder.write("jdk/lib/modules", &image[..length]);
        let path = open(JdkChoice::Home(folder.path("jdk")));
        assert_eq!(
            problems(&path, &folder),
            [format!("jdk/lib/modules, offset {length}: broken runtime image: {message}")]
        );
    }
}

#[test]
fn an_image_that_is_something_else() {
    let folder = Folder::new();
    folder.write("jdk/release", b"JAVA_VERSION=\"25\"");
    folder.write("jdk/lib/modules", b"This is certainly no runtime image.");
    assert_eq!(
        problems(&open(JdkChoice::Home(folder.path("jdk"))), &folder),
        ["jdk/lib/modules, offset 0: broken runtime image: \
          expected cafedada at its start, found 73696854"]
    );
    let mut newer = small(false);
    newer[4..8].copy_from_slice(&(2u32 << 16 | 3).to_le_bytes());
    folder.write("jdk/lib/modules", &newer);
    assert_eq!(
        problems(&open(JdkChoice::Home(folder.path("jdk"))), &folder),
        ["jdk/lib/modules, offset 4: broken runtime image: expected version 1, found 2.3"]
    );
}

#[test]
fn a_folder_that_is_no_jdk() {
    let folder = Folder::new();
    folder.write("jdk/bin/java", b"");
    let path = open(JdkChoice::Home(folder.path("jdk")));
    assert_eq!(
        problems(&path, &folder),
        ["jdk: not a JDK: expected lib/modules, or lib/rt.jar of an old one, in this folder"]
    );
    assert!(path.jdk().is_none());
    let path = open(JdkChoice::Home(folder.path("gone")));
    assert_eq!(problems(&path, &folder), ["gone: no such file or folder"]);
}

#[test]
fn an_old_jdk_has_jars() {
    let folder = Folder::new();
    folder.write("jdk/jre/lib/rt.jar", &zip(&[("java/lang/Object.class", b"object")]));
    folder.write("jdk/jre/lib/jce.jar", &zip(&[("javax/crypto/Cipher.class", b"cipher")]));
    folder.write("jdk/release", b"JAVA_VERSION=\"1.8.0_392\"\n");
    let path = open(JdkChoice::Home(folder.path("jdk")));
    assert_eq!(path.problems(), []);
    assert_eq!(path.role(entry(&path, "javax/crypto/Cipher")), Role::Jdk);
    assert_eq!(path.jdk().expect("a JDK").release, 8);
    assert_eq!(path.release(), 8);
}

#[test]
fn a_jdk_that_does_not_say_its_release() {
    let folder = Folder::new();
    folder.write("jdk/lib/modules", &small(false));
    let path = open(JdkChoice::Home(folder.path("jdk")));
    assert_eq!(
        problems(&path, &folder),
        ["jdk/release: no readable JAVA_VERSION: release taken to be 25"]
    );
    assert_eq!(path.problems()[0].severity, Severity::Note);
    assert_eq!(path.jdk().expect("a JDK").version, None);
}

fn search(java_home: Option<PathBuf>, path: &[PathBuf]) -> JdkChoice {
    let path: OsString = std::env::join_paths(path).expect("no colons");
    JdkChoice::Search { java_home, path: Some(path) }
}

#[test]
fn a_jdk_that_is_nowhere() {
    let folder = Folder::new();
    folder.write("bin/java", b"");
    let path = open(search(Some(folder.path("home")), &[folder.path("bin")]));
    let java = folder.path("bin/java").canonicalize().expect("there");
    assert_eq!(
        problems(&path, &folder),
        [relative(
            &format!(
                "no JDK found: looked at JAVA_HOME ({}), {}, java on the PATH; pass --jdk DIR",
                folder.path("home").display(),
                java.display()
            ),
            &folder
        )]
    );
    assert_eq!(path.problems()[0].severity, Severity::Failure);
}

#[cfg(unix)]
#[test]
fn the_jdk_of_the_java_on_the_path_is_found_behind_links() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    folder.write("jdk/lib/modules", &small(false));
    folder.write("jdk/release", b"JAVA_VERSION=\"25\"");
    folder.write("jdk/bin/java", b"");
    fs::create_dir_all(folder.path("bin")).expect("a folder");
    symlink("../alternatives", folder.path("bin/java")).expect("a link");
    symlink("jdk/bin/java", folder.path("alternatives")).expect("a link");
    let bin = [folder.path("gone"), folder.path("bin")];

    let path = open(search(None, &bin));
    assert_eq!(path.problems(), []);
    let home = folder.path("jdk").canonicalize().expect("there");
    assert_eq!(path.jdk().expect("a JDK").home, home);

    // A `JAVA_HOME` that leads nowhere is passed over, with a word.
    let path = open(search(Some(folder.path("old")), &bin));
    assert_eq!(path.jdk().expect("a JDK").home, home);
    let expected =
        ["old: not a JDK: expected lib/modules, or lib/rt.jar of an old one, in this folder"];
    assert_eq!(problems(&path, &folder), expected);
    assert_eq!(path.problems()[0].severity, Severity::Note);

    // One that is a JDK comes first.
    folder.write("other/lib/modules", &small(false));
    folder.write("other/release", b"JAVA_VERSION=\"17.0.1\"");
    let path = open(search(Some(folder.path("other")), &bin));
    assert_eq!(path.jdk().expect("a JDK").release, 17);
}

#[test]
fn nothing_is_said_when_no_jdk_is_wanted() {
    let path = open(JdkChoice::None);
    assert_eq!(path.problems(), []);
    assert_eq!(path.entries().len(), 0);
}
