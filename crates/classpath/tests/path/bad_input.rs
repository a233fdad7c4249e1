//! Damaged and missing elements: one message each, and the rest works.

use std::fs;
use std::path::PathBuf;

use unsnarl_classpath::{JdkChoice, Severity};

use crate::build::*;
use crate::image;

/// Opens a damaged element before a good one, and returns all that is said about it, when it is
/// opened or read.
fn complaints(folder: &Folder, element: PathBuf) -> Vec<String> {
    let good = folder.write("good.jar", &zip(&[("Good.class", b"good")]));
    let path = open(&[element, good]);
    assert_eq!(bytes(&path, "Good"), b"good");
    let mut complaints = problems(&path, folder);
    let errors = path.entries().filter_map(|entry| path.read(entry).err());
    complaints.extend(errors.map(|error| relative(&error.to_string(), folder)));
    complaints
}

fn jar_complaints(bytes: &[u8]) -> Vec<String> {
    let folder = Folder::new();
    complaints(&folder, folder.write("a.jar", bytes))
}

fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) -> usize {
    let position = bytes.windows(from.len()).position(|window| window == from).expect("there");
    bytes[position..position + to.len()].copy_from_slice(to);
    position
}

#[test]
fn a_text_file_named_jar() {
    assert_eq!(
        jar_complaints(b"This is no archive at all.\n"),
        ["a.jar, offset 0: expected a jar (zip archive), a class file or a runtime image, \
          found text: \"This is no archi\""]
    );
    assert_eq!(
        jar_complaints(b""),
        ["a.jar, offset 0: expected a jar (zip archive), a class file or a runtime image, \
          found an empty file"]
    );
    assert_eq!(
        jar_complaints(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0]),
        ["a.jar, offset 0: expected a jar (zip archive), a class file or a runtime image, \
          found bytes 7f 45 4c 46 02 01 01 00"]
    );
}

#[test]
fn a_jar_that_is_cut_short() {
    let jar = zip(&[("A.class", b"a")]);
    assert_eq!(
        jar_complaints(&jar[..jar.len() - 30]),
        [format!(
            "a.jar, offset {}: broken list of entries (central directory): \
             expected an end record, found the end of the file",
            jar.len() - 30
        )]
    );
}

#[test]
fn an_entry_with_a_wrong_checksum() {
    let mut jar = stored_zip(&[("A.class", b"original"), ("B.class", b"b")]);
    let offset = replace(&mut jar, b"original", b"0riginal");
    assert_eq!(
        jar_complaints(&jar),
        [format!(
            "a.jar!/A.class, offset {offset}: wrong checksum: \
             expected CRC-32 2f727085, found a37491ef"
        )]
    );
}

#[test]
fn an_entry_with_a_broken_stream() {
    let contents: Vec<u8> = (0..2000u32).map(|i| (i * i % 251) as u8).collect();
    let mut jar = zip(&[("A.class", &contents), ("B.class", b"b")]);
    let start = 30 + "A.class".len();
    // A block of a kind that does not exist.
    jar[start] |= 0b110;
    let complaints = jar_complaints(&jar);
    assert_eq!(complaints.len(), 1);
    assert!(complaints[0].starts_with("a.jar!/A.class, offset "), "{complaints:?}");
    assert!(complaints[0].contains(": broken deflate stream: "), "{complaints:?}");
}

#[test]
fn an_entry_with_a_broken_header() {
    let mut jar = zip(&[("A.class", b"a"), ("B.class", b"b")]);
    jar[..4].copy_from_slice(b"XXXX");
    assert_eq!(
        jar_complaints(&jar),
        ["a.jar!/A.class, offset 0: broken entry header: \
          expected signature 04034b50, found 58585858"]
    );
}

#[test]
fn a_list_of_entries_that_breaks_off() {
    let mut jar = zip(&[("A.class", b"a"), ("B.class", b"b"), ("C.class", b"c")]);
    let second = jar.windows(4).enumerate().filter(|(_, window)| window == b"PK\x01\x02");
    let offset = second.map(|(offset, _)| offset).nth(1).expect("three entries");
    jar[offset..offset + 4].copy_from_slice(b"YYYY");
    assert_eq!(
        jar_complaints(&jar),
        [format!(
            "a.jar, offset {offset}: broken list of entries (central directory): \
             expected signature 02014b50, found 59595959"
        )]
    );
    let folder = Folder::new();
    let path = open(&[folder.write("a.jar", &jar)]);
    assert_eq!(bytes(&path, "A"), b"a");
}

/// The offset of the only record in the list of entries.
fn central_record(jar: &[u8]) -> usize {
    jar.windows(4).position(|window| window == b"PK\x01\x02").expect("an entry")
}

#[test]
fn an_entry_that_claims_to_be_huge() {
    let mut jar = zip(&[("A.class", b"a")]);
    let record = central_record(&jar);
    jar[record + 24..record + 28].copy_from_slice(&(3u32 << 30).to_le_bytes());
    assert_eq!(
        jar_complaints(&jar),
        ["a.jar!/A.class, offset 0: 3221225472 bytes, more than the limit of 67108864: not read"]
    );
    // Less than the limit, and more than the packed bytes can hold.
    jar[record + 24..record + 28].copy_from_slice(&(60u32 << 20).to_le_bytes());
    let complaints = jar_complaints(&jar);
    assert_eq!(complaints.len(), 1);
    assert!(complaints[0].contains("wrong size: expected 62914560 bytes"), "{complaints:?}");
}

#[test]
fn an_entry_with_more_bytes_than_it_claims() {
    let mut jar = zip(&[("A.class", &[7; 1000])]);
    let record = central_record(&jar);
    jar[record + 24..record + 28].copy_from_slice(&10u32.to_le_bytes());
    let complaints = jar_complaints(&jar);
    assert_eq!(complaints.len(), 1);
    assert!(complaints[0].ends_with("expected its end after 10 bytes"), "{complaints:?}");
}

#[test]
fn an_entry_that_is_encrypted_or_packed_in_another_way() {
    let jar = zip(&[("A.class", b"a")]);
    let record = central_record(&jar);
    let mut encrypted = jar.clone();
    encrypted[record + 8] |= 1;
    assert_eq!(jar_complaints(&encrypted), ["a.jar!/A.class, offset 0: the entry is encrypted"]);
    let mut lzma = jar;
    lzma[record + 10] = 14;
    assert_eq!(
        jar_complaints(&lzma),
        ["a.jar!/A.class, offset 0: compression method 14 is not supported: \
          expected stored (0) or deflated (8)"]
    );
}

#[test]
fn a_broken_jar_inside_an_archive() {
    let folder = Folder::new();
    let good = zip(&[("L.class", b"l")]);
    let war = zip(&[("WEB-INF/lib/bad.jar", b"no jar"), ("WEB-INF/lib/good.jar", &good)]);
    let war = folder.write("a.war", &war);
    assert_eq!(
        complaints(&folder, war.clone()),
        ["a.war!/WEB-INF/lib/bad.jar, offset 0: expected a jar (zip archive), a class file or a \
          runtime image, found text: \"no jar\""]
    );
    assert_eq!(bytes(&open(&[war]), "L"), b"l");
}

#[test]
fn archives_inside_each_other_without_end() {
    let folder = Folder::new();
    let mut bytes = zip(&[("A.class", b"a")]);
    for _ in 0..50 {
        bytes = stored_zip(&[("x.ear", &bytes)]);
    }
    let complaints = complaints(&folder, folder.write("a.ear", &bytes));
    assert_eq!(complaints.len(), 1);
    assert!(complaints[0].ends_with("nested deeper than 4 levels: not looked into"));
}

#[test]
fn an_element_that_is_not_there() {
    let folder = Folder::new();
    let expected = ["gone.jar: no such file or folder"];
    assert_eq!(complaints(&folder, folder.path("gone.jar")), expected);
    assert_eq!(complaints(&folder, folder.path("gone/*")), ["gone: no such file or folder"]);
}

#[test]
fn a_class_that_is_cut_short() {
    let folder = Folder::new();
    let class = class_named("a/A");
    let cut = folder.write("A.class", &class[..15]);
    let expected = ["A.class, offset 14: not a class file: expected the length of a string"];
    assert_eq!(complaints(&folder, cut), expected);
    let text = folder.write("A.class", b"text");
    let expected =
        ["A.class, offset 0: not a class file: expected 0xCAFEBABE, the mark of a class file"];
    assert_eq!(complaints(&folder, text), expected);
    // However it is cut, nothing more happens than that.
    for length in 0..class.len() {
        assert_eq!(complaints(&folder, folder.write("A.class", &class[..length])).len(), 1);
    }
}

#[test]
fn a_folder_of_jars() {
    let folder = Folder::new();
    folder.write("lib/a.jar", &zip(&[("A.class", b"a")]));
    assert_eq!(
        complaints(&folder, folder.path("lib")),
        ["lib: the folder holds no classes, and its jars (1) are not looked into: \
          name them, or DIR/*"]
    );
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_folder_that_contains_itself() {
        let folder = Folder::new();
        folder.write("classes/a/A.class", b"a");
        symlink(folder.path("classes"), folder.path("classes/a/loop")).expect("a link");
        let path = open(&[folder.path("classes")]);
        assert_eq!(names(&path), ["a/A"]);
        assert_eq!(
            problems(&path, &folder),
            ["classes/a/loop: symbolic link to classes, which contains it: not followed"]
        );
        assert_eq!(path.problems()[0].severity, Severity::Note);
    }

    #[test]
    fn folders_that_contain_each_other() {
        let folder = Folder::new();
        folder.write("one/A.class", b"a");
        folder.write("two/B.class", b"b");
        symlink(folder.path("two"), folder.path("one/two")).expect("a link");
        symlink(folder.path("one"), folder.path("two/one")).expect("a link");
        let path = open(&[folder.path("one")]);
        assert_eq!(names(&path), ["A", "two/B"]);
        assert_eq!(path.problems().len(), 1);
    }

    #[test]
    fn links_that_multiply() {
        let folder = Folder::new();
        for level in 0..30 {
            let below = folder.path(&format!("{}", level + 1));
            fs::create_dir_all(folder.path(&format!("{level}"))).expect("a folder");
            for side in ["left", "right"] {
                symlink(&below, folder.path(&format!("{level}/{side}"))).expect("a link");
            }
        }
        folder.write("30/A.class", b"a");
        let path = open(&[folder.path("0")]);
        assert_eq!(path.entries().len(), 1);
        assert_eq!(path.problems().len(), 30);
    }

    #[test]
    fn a_link_is_followed_and_one_to_nowhere_is_named() {
        let folder = Folder::new();
        folder.write("real/A.class", b"a");
        folder.write("classes/B.class", b"b");
        symlink(folder.path("real"), folder.path("classes/linked")).expect("a link");
        symlink(folder.path("real/A.class"), folder.path("classes/C.class")).expect("a link");
        symlink(folder.path("gone"), folder.path("classes/D.class")).expect("a link");
        symlink(folder.path("gone"), folder.path("classes/text")).expect("a link");
        let path = open(&[folder.path("classes")]);
        assert_eq!(names(&path), ["B", "C", "linked/A"]);
        assert_eq!(bytes(&path, "C"), b"a");
        let expected = ["classes/D.class: no such file or folder"];
        assert_eq!(problems(&path, &folder), expected);
    }

    #[test]
    fn a_folder_that_may_not_be_read() {
        let folder = Folder::new();
        folder.write("classes/closed/A.class", b"a");
        folder.write("classes/open/B.class", b"b");
        let closed = folder.path("classes/closed");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).expect("the owner may");
        // The administrator may read everything: nothing is left to test then.
        let refused = fs::read_dir(&closed).is_err();
        let path = open(&[folder.path("classes")]);
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("the owner may");
        if refused {
            assert_eq!(names(&path), ["open/B"]);
            let expected = ["classes/closed: cannot be read: Permission denied (os error 13)"];
            assert_eq!(problems(&path, &folder), expected);
        }
    }

    #[test]
    fn what_is_neither_file_nor_folder_is_not_opened() {
        let path = open(&[PathBuf::from("/dev/null")]);
        let expected = "/dev/null: expected a file or a folder, found something else";
        assert_eq!(path.problems()[0].to_string(), expected);
    }
}

/// Every byte of a small archive in another archive is changed, and it is cut at every place.
#[test]
fn no_damage_to_an_archive_makes_it_panic() {
    let folder = Folder::new();
    let library = zip(&[("L.class", b"library library library")]);
    let manifest = b"Multi-Release: true\nClass-Path: x.jar\n\n";
    let whole = stored_zip(&[
        ("META-INF/MANIFEST.MF", manifest),
        ("WEB-INF/classes/A.class", b"aaa"),
        ("WEB-INF/lib/l.jar", &library),
    ]);
    each_damage(&whole, |bytes| {
        let path = open(&[folder.write("a.war", bytes)]);
        for entry in path.entries() {
            if let Err(error) = path.read(entry) {
                assert!(!error.to_string().is_empty());
            }
        }
    });
}

/// The same for a runtime image, as it is and compressed.
#[test]
fn no_damage_to_an_image_makes_it_panic() {
    let folder = Folder::new();
    for whole in [image::small(false), image::small(true)] {
        each_damage(&whole, |bytes| {
            folder.write("jdk/lib/modules", bytes);
            let path = image::open(JdkChoice::Home(folder.path("jdk")));
            for entry in path.entries() {
                if let Err(error) = path.read(entry) {
                    assert!(!error.to_string().is_empty());
                }
            }
        });
    }
}

fn each_damage(whole: &[u8], mut test: impl FnMut(&[u8])) {
    for length in 0..whole.len() {
        test(&whole[..length]);
    }
    let mut bytes = whole.to_vec();
    for position in 0..whole.len() {
        for change in [0x01, 0x80, 0xff, whole[position], !whole[position]] {
            bytes[position] = whole[position] ^ change;
            test(&bytes);
        }
        bytes[position] = whole[position];
    }
}
