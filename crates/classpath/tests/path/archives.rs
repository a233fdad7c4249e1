//! Jars, and archives inside archives.

use unsnarl_classpath::{ClassPath, JdkChoice, Options, Role};

use crate::build::*;

#[test]
fn a_jar_gives_names_and_bytes() {
    let folder = Folder::new();
    let long = vec![7; 100_000];
    let entries: [(&str, &[u8]); 3] =
        [("a/A.class", &long), ("a/text.txt", b""), ("B.class", b"b")];
    for (file, jar) in [("deflated.jar", zip(&entries)), ("stored.jar", stored_zip(&entries))] {
        let path = open(&[folder.write(file, &jar)]);
        assert_eq!(names(&path), ["a/A", "B"]);
        assert_eq!(bytes(&path, "a/A"), long);
        assert_eq!(bytes(&path, "B"), b"b");
        assert_eq!(place(&path, "a/A", &folder), format!("{file}!/a/A.class"));
        assert_eq!(path.role(entry(&path, "B")), Role::Input);
        assert!(path.find(b"a/text").is_none());
        assert!(path.problems().is_empty());
    }
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
fn a_class_path_can_be_shared_by_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&open(&[]));
}

#[test]
fn spring_boot_has_its_classes_then_its_libraries_then_its_loader() {
    let folder = Folder::new();
    let library = zip(&[("l/L.class", b"l"), ("app/App.class", b"hidden")]);
    let entries: [(&str, &[u8]); 4] = [
        ("org/springframework/boot/loader/Launcher.class", b"loader"),
        ("BOOT-INF/lib/l.jar", &library),
        ("BOOT-INF/classes/app/App.class", b"app"),
        ("BOOT-INF/classpath.idx", b""),
    ];
    for jar in [zip(&entries), stored_zip(&entries)] {
        let path = open(&[folder.write("app.jar", &jar)]);
        assert_eq!(bytes(&path, "app/App"), b"app");
        assert_eq!(bytes(&path, "l/L"), b"l");
        assert_eq!(place(&path, "app/App", &folder), "app.jar!/BOOT-INF/classes/app/App.class");
        assert_eq!(place(&path, "l/L", &folder), "app.jar!/BOOT-INF/lib/l.jar!/l/L.class");
        assert_eq!(path.role(entry(&path, "app/App")), Role::Input);
        assert_eq!(path.role(entry(&path, "l/L")), Role::Library);
        let loader = entry(&path, "org/springframework/boot/loader/Launcher");
        assert_eq!(path.role(loader), Role::Library);
        assert_eq!(path.entries().len(), 3);
        assert!(path.problems().is_empty());
    }
}

#[test]
fn an_input_comes_before_the_copy_of_it_inside_another() {
    let folder = Folder::new();
    let module = zip(&[("m/M.class", b"m")]);
    let boot = zip(&[("BOOT-INF/classes/A.class", b"a"), ("BOOT-INF/lib/m.jar", &module)]);
    let path = open(&[folder.write("boot.jar", &boot), folder.write("m.jar", &module)]);
    assert_eq!(place(&path, "m/M", &folder), "m.jar!/m/M.class");
    assert_eq!(path.role(entry(&path, "m/M")), Role::Input);
    assert_eq!(path.shadowed(), 1);
}

#[test]
fn a_war_in_an_ear() {
    let folder = Folder::new();
    let library = zip(&[("l/L.class", b"l")]);
    let shared = zip(&[("s/S.class", b"s")]);
    let beans = zip(&[("b/B.class", b"b")]);
    let war = zip(&[("WEB-INF/classes/w/W.class", b"w"), ("WEB-INF/lib/l.jar", &library)]);
    let ear = zip(&[("web.war", &war), ("beans.jar", &beans), ("lib/shared.jar", &shared)]);
    let path = open(&[folder.write("app.ear", &ear)]);
    let roles: Vec<_> = ["w/W", "b/B", "l/L", "s/S"]
        .map(|name| (place(&path, name, &folder), path.role(entry(&path, name))))
        .into();
    assert_eq!(
        roles,
        [
            ("app.ear!/web.war!/WEB-INF/classes/w/W.class".into(), Role::Input),
            ("app.ear!/beans.jar!/b/B.class".into(), Role::Input),
            ("app.ear!/web.war!/WEB-INF/lib/l.jar!/l/L.class".into(), Role::Library),
            ("app.ear!/lib/shared.jar!/s/S.class".into(), Role::Library),
        ]
    );
}

#[test]
fn jars_in_a_zip_count_and_jars_in_a_jar_do_not() {
    let folder = Folder::new();
    let inner = zip(&[("A.class", b"a")]);
    let outer = zip(&[("dist/lib/inner.jar", &inner)]);
    let path = open(&[folder.write("dist.zip", &outer)]);
    assert_eq!(path.role(entry(&path, "A")), Role::Input);
    let path = open(&[folder.write("outer.jar", &outer)]);
    assert!(path.find(b"A").is_none());
}

#[test]
fn a_jmod_has_its_classes_in_a_folder() {
    let folder = Folder::new();
    let mut jmod = b"JM\x01\x00".to_vec();
    jmod.extend(zip(&[("classes/m/M.class", b"m"), ("bin/tool", b"")]));
    let path = open(&[folder.write("m.jmod", &jmod)]);
    assert_eq!(bytes(&path, "m/M"), b"m");
}

const MULTI_RELEASE: &[u8] = b"Manifest-Version: 1.0\r\nMulti-Release: true\r\n\r\n";

fn versions(manifest: &[u8]) -> Vec<u8> {
    zip(&[
        ("META-INF/MANIFEST.MF", manifest),
        ("META-INF/versions/21/A.class", b"21"),
        ("A.class", b"base"),
        ("META-INF/versions/11/A.class", b"11"),
        ("META-INF/versions/11/New.class", b"new"),
        ("META-INF/versions/7/A.class", b"no version"),
        ("META-INF/other/B.class", b"no class"),
    ])
}

#[test]
fn a_multi_release_jar_gives_the_version_for_the_release() {
    let folder = Folder::new();
    let jar = folder.write("a.jar", &versions(MULTI_RELEASE));
    for (release, expected, file, count) in [
        (8, "base", "a.jar!/A.class", 1),
        (10, "base", "a.jar!/A.class", 1),
        (11, "11", "a.jar!/META-INF/versions/11/A.class", 2),
        (20, "11", "a.jar!/META-INF/versions/11/A.class", 2),
        (25, "21", "a.jar!/META-INF/versions/21/A.class", 2),
    ] {
        let path = ClassPath::open(&Options {
            inputs: vec![jar.clone()],
            class_path: vec![],
            jdk: JdkChoice::None,
            release: Some(release),
        });
        assert_eq!(path.release(), release);
        assert_eq!(bytes(&path, "A"), expected.as_bytes(), "release {release}");
        assert_eq!(place(&path, "A", &folder), file);
        assert_eq!(path.entries().len(), count, "release {release}");
    }
}

#[test]
fn versions_mean_nothing_unless_the_manifest_says_so() {
    let folder = Folder::new();
    let path = open(&[folder.write("a.jar", &versions(b"Manifest-Version: 1.0\n\n"))]);
    assert_eq!(names(&path), ["A"]);
    assert_eq!(bytes(&path, "A"), b"base");
    // Only the main section of the manifest counts.
    let section = b"Manifest-Version: 1.0\n\nName: x\nMulti-Release: true\n\n";
    assert_eq!(bytes(&open(&[folder.write("a.jar", &versions(section))]), "A"), b"base");
    // A value may be broken over lines.
    let broken = b"Manifest-Version: 1.0\r\nMulti-Release: tr\r\n ue\r\n\r\n";
    assert_eq!(bytes(&open(&[folder.write("a.jar", &versions(broken))]), "A"), b"21");
}

#[test]
fn module_descriptors_are_listed_and_not_found() {
    let folder = Folder::new();
    let one = folder.write("1.jar", &zip(&[("module-info.class", b"1"), ("A.class", b"a")]));
    let two = folder.write("2.jar", &zip(&[("module-info.class", b"2")]));
    let path = open(&[one, two]);
    assert!(path.find(b"module-info").is_none());
    let modules: Vec<_> = path
        .entries()
        .filter(|&entry| path.is_module_info(entry))
        .map(|entry| path.read(entry).expect("whole"))
        .collect();
    assert_eq!(modules, [b"1", b"2"]);
    assert_eq!(path.shadowed(), 0);
}

#[test]
fn names_are_modified_utf8_and_files_are_not() {
    let folder = Folder::new();
    let path = open(&[folder.write("a.jar", &zip(&[("ü/\u{1d4a9}X.class", b"x")]))]);
    let name = b"\xc3\xbc/\xed\xa0\xb5\xed\xb2\xa9X";
    let entry = path.find(name).expect("found by the name that a class file would have");
    assert_eq!(path.name(entry), name);
    let location = relative(&path.location(entry).to_string(), &folder);
    assert_eq!(location, "a.jar!/ü/\u{1d4a9}X.class");
}
