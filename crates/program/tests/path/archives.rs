//! Jars, folders, single classes, and archives inside archives.

use unsnarl_program::path::{ClassPath, JdkChoice, Options, Role, split_class_path};

use crate::build::*;

#[test]
fn a_jar_gives_names_and_bytes() {
    let folder = Folder::new();
    let long = vec![7; 100_000];
    let jar = folder
        .write("a.jar", &zip(&[("a/A.class", &long), ("a/text.txt", b""), ("B.class", b"b")]));
    let path = open(&[jar]);
    assert_eq!(names(&path), ["a/A", "B"]);
    assert_eq!(bytes(&path, "a/A"), long);
    assert_eq!(bytes(&path, "B"), b"b");
    assert_eq!(place(&path, "a/A", &folder), "a.jar!/a/A.class");
    assert_eq!(path.role(entry(&path, "B")), Role::Input);
    assert!(path.find(b"a/text").is_none());
    assert!(path.problems().is_empty());
}

#[test]
fn bytes_live_as_long_as_the_path_and_are_unpacked_once() {
    let folder = Folder::new();
    let jar = folder.write("a.jar", &zip(&[("A.class", b"aaaa"), ("B.class", b"bbbb")]));
    let path = open(&[jar]);
    let first = bytes(&path, "A");
    let other = bytes(&path, "B");
    assert!(std::ptr::eq(first, bytes(&path, "A")));
    assert_eq!((first, other), (&b"aaaa"[..], &b"bbbb"[..]));
}

#[test]
fn a_folder_gives_the_names_of_its_paths() {
    let folder = Folder::new();
    folder.write("classes/a/b/C.class", b"c");
    folder.write("classes/D.class", b"d");
    folder.write("classes/readme.txt", b"");
    let path = open(&[folder.path("classes")]);
    assert_eq!(names(&path), ["D", "a/b/C"]);
    assert_eq!(bytes(&path, "a/b/C"), b"c");
    assert_eq!(place(&path, "a/b/C", &folder), "classes/a/b/C.class");
}

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
