//! The elements of the path: their order, folders, single classes, wildcards, manifests.

use std::path::PathBuf;

use unsnarl_classpath::{Role, Severity, split_class_path};

use crate::build::*;

#[test]
fn the_first_of_equal_names_is_taken() {
    let folder = Folder::new();
    let input = folder.write("input.jar", &zip(&[("A.class", b"input")]));
    let first = folder.write("first.jar", &zip(&[("A.class", b"1"), ("B.class", b"first")]));
    let second = folder.write("second.jar", &zip(&[("B.class", b"2"), ("C.class", b"second")]));
    let path = open_with(&[input], &[first, second]);
    assert_eq!(bytes(&path, "A"), b"input");
    assert_eq!(bytes(&path, "B"), b"first");
    assert_eq!(bytes(&path, "C"), b"second");
    assert_eq!(path.role(entry(&path, "A")), Role::Input);
    assert_eq!(path.role(entry(&path, "B")), Role::Library);
    assert_eq!(path.shadowed(), 2);
    assert_eq!(names(&path), ["A", "B", "C"]);
}

#[test]
fn an_element_that_comes_twice_counts_once() {
    let folder = Folder::new();
    let jar = folder.write("a.jar", &zip(&[("A.class", b"a")]));
    let path = open_with(&[folder.path("./a.jar"), jar.clone()], &[jar]);
    assert_eq!(path.entries().len(), 1);
    assert_eq!(path.shadowed(), 0);
}

#[test]
fn a_folder_gives_the_names_of_its_paths() {
    let folder = Folder::new();
    folder.write("classes/a/b/C.class", b"c");
    folder.write("classes/D.class", b"d");
    folder.write("classes/readme.txt", b"");
    folder.write("classes/META-INF/versions/9/D.class", b"no class");
    let path = open(&[folder.path("classes")]);
    assert_eq!(names(&path), ["D", "a/b/C"]);
    assert_eq!(bytes(&path, "a/b/C"), b"c");
    assert_eq!(place(&path, "a/b/C", &folder), "classes/a/b/C.class");
    assert!(path.problems().is_empty());
}

#[test]
fn an_input_may_be_a_folder_above_the_classes() {
    let folder = Folder::new();
    folder.write("target/classes/a/A.class", &class_named("a/A"));
    folder.write("target/classes/a/Broken.class", b"no class");
    folder.write("target/classes/Top.class", &class_named("Top"));
    folder.write("target/test-classes/a/ATest.class", &class_named("a/ATest"));
    let path = open(&[folder.path("target")]);
    assert_eq!(names(&path), ["Top", "a/A", "a/Broken", "a/ATest"]);
    // A library is taken as a JVM would take it.
    let path = open_with(&[], &[folder.path("target")]);
    assert!(path.find(b"a/A").is_none());
}

#[test]
fn an_unpacked_war_has_its_libraries() {
    let folder = Folder::new();
    folder.write("app/WEB-INF/classes/a/A.class", &class_named("a/A"));
    folder.write("app/WEB-INF/lib/l.jar", &zip(&[("l/L.class", b"l")]));
    let path = open(&[folder.path("app")]);
    assert_eq!(names(&path), ["a/A", "l/L"]);
    assert_eq!(path.role(entry(&path, "a/A")), Role::Input);
    assert_eq!(path.role(entry(&path, "l/L")), Role::Library);
    assert!(path.problems().is_empty());
}

#[test]
fn a_single_class_has_the_name_it_gives_itself() {
    let folder = Folder::new();
    let file = folder.write("elsewhere/X.class", &class_named("a/b/X"));
    let path = open(&[file]);
    assert_eq!(bytes(&path, "a/b/X"), class_named("a/b/X"));
    assert_eq!(place(&path, "a/b/X", &folder), "elsewhere/X.class");
    assert!(path.find(b"X").is_none());
}

#[test]
fn a_star_means_the_jars_of_a_folder() {
    let folder = Folder::new();
    folder.write("lib/b.jar", &zip(&[("X.class", b"b")]));
    folder.write("lib/a.JAR", &zip(&[("X.class", b"a")]));
    folder.write("lib/Y.class", b"y");
    folder.write("lib/c.zip", &zip(&[("Z.class", b"z")]));
    let path = open_with(&[], &[folder.path("lib/*")]);
    assert_eq!(names(&path), ["X"]);
    assert_eq!(bytes(&path, "X"), b"a");
}

#[cfg(unix)]
#[test]
fn a_class_path_is_split_as_java_does() {
    assert_eq!(split_class_path(""), Vec::<PathBuf>::new());
    assert_eq!(split_class_path("a.jar:b/*::dir"), ["a.jar", "b/*", ".", "dir"].map(PathBuf::from));
}

fn manifest(class_path: &str) -> Vec<u8> {
    format!("Manifest-Version: 1.0\r\nClass-Path: {class_path}\r\n\r\n").into_bytes()
}

#[test]
fn a_manifest_names_libraries() {
    let folder = Folder::new();
    let main = manifest("lib/one.jar  lib/with%20space.jar lib/classes/ app.jar");
    let jar = zip(&[("META-INF/MANIFEST.MF", &main), ("App.class", b"app")]);
    let app = folder.write("app.jar", &jar);
    let one = zip(&[("META-INF/MANIFEST.MF", &manifest("deep.jar")), ("One.class", b"1")]);
    folder.write("lib/one.jar", &one);
    folder.write("lib/deep.jar", &zip(&[("Deep.class", b"d"), ("Two.class", b"first")]));
    folder.write("lib/with space.jar", &zip(&[("Two.class", b"2")]));
    folder.write("lib/classes/Three.class", b"3");
    let path = open(&[app]);
    assert_eq!(names(&path), ["App", "One", "Deep", "Two", "Three"]);
    assert_eq!(path.role(entry(&path, "App")), Role::Input);
    assert_eq!(path.role(entry(&path, "Deep")), Role::Library);
    // `deep.jar` follows the jar that names it.
    assert_eq!(bytes(&path, "Two"), b"first");
    assert!(path.problems().is_empty());
}

#[test]
fn what_is_named_by_a_manifest_and_is_an_input_is_an_input() {
    let folder = Folder::new();
    let jar = zip(&[("META-INF/MANIFEST.MF", &manifest("b.jar")), ("A.class", b"a")]);
    let a = folder.write("a.jar", &jar);
    let b = folder.write("b.jar", &zip(&[("B.class", b"b")]));
    let path = open(&[a, b]);
    assert_eq!(path.role(entry(&path, "B")), Role::Input);
}

#[test]
fn what_a_manifest_names_in_vain_is_one_note() {
    let folder = Folder::new();
    let main = manifest("gone.jar http://example.org/x.jar ../away.jar");
    let jar = zip(&[("META-INF/MANIFEST.MF", &main), ("A.class", b"a")]);
    let path = open(&[folder.write("a.jar", &jar)]);
    assert_eq!(
        problems(&path, &folder),
        ["a.jar: the manifest's Class-Path names files that do not exist: \
          gone.jar, http://example.org/x.jar, ../away.jar"]
    );
    assert_eq!(path.problems()[0].severity, Severity::Note);
}
