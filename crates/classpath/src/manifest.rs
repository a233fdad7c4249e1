//! A jar's manifest, as far as it decides what is on the class path, and the files that its `Class-Path` names.
//!
//! Used by [`ClassPath`](crate::ClassPath) and by the agent, which looks classes up before the JVM loads them. It does no
//! IO: whether a file exists, and what to do if it does not, is the caller's business.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// Where a jar has its manifest. Jars may write it in other cases.
pub const MANIFEST_PATH: &[u8] = b"META-INF/MANIFEST.MF";

/// What the main section of a manifest says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// `Multi-Release: true`.
    pub multi_release: bool,
    /// The elements of `Class-Path`, as written: URLs, nearly always relative ones.
    pub class_path: Vec<String>,
}

impl Manifest {
    /// Reads as much as makes sense; a manifest has no errors that would matter here.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut manifest = Self::default();
        for (name, value) in main_attributes(bytes) {
            let value = String::from_utf8_lossy(&value);
            if name.eq_ignore_ascii_case(b"Multi-Release") {
                manifest.multi_release = value.trim().eq_ignore_ascii_case("true");
            } else if name.eq_ignore_ascii_case(b"Class-Path") {
                manifest.class_path = value.split_ascii_whitespace().map(str::to_owned).collect();
            }
        }
        manifest
    }
}

/// The file or folder that an element of `Class-Path` means: a URL relative to the jar that holds it. Only local files
/// have one.
pub fn resolve_class_path_url(jar: &Path, url: &str) -> Option<PathBuf> {
    let path = match url.split_once(':') {
        Some((scheme, path)) if scheme.eq_ignore_ascii_case("file") => path,
        Some(_) => return None,
        None => url,
    };
    // A host may be given if it is empty.
    let path = match path.strip_prefix("//") {
        Some(path) if path.starts_with('/') => path,
        Some(_) => return None,
        None => path,
    };
    let path = PathBuf::from(OsString::from_vec(percent_decode(path.as_bytes())));
    Some(jar.parent()?.join(without_dots(&path)))
}

/// The attributes up to the first empty line; a line that begins with a space continues the one before it, even in the
/// middle of a character.
fn main_attributes(text: &[u8]) -> Vec<(&[u8], Vec<u8>)> {
    let mut attributes: Vec<(&[u8], Vec<u8>)> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
        let (line, tail) = rest.split_at(end);
        rest = tail.strip_prefix(b"\r\n").or_else(|| tail.get(1..)).unwrap_or_default();
        if line.is_empty() {
            break;
        }
        if let Some(continued) = line.strip_prefix(b" ") {
            if let Some((_, value)) = attributes.last_mut() {
                value.extend_from_slice(continued);
            }
        } else if let Some(colon) = line.iter().position(|&byte| byte == b':') {
            let value = &line[colon + 1..];
            let value = value.strip_prefix(b" ").unwrap_or(value);
            attributes.push((&line[..colon], value.to_owned()));
        }
    }
    attributes
}

/// Replaces `%20` and the like by the bytes they stand for.
fn percent_decode(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        let digits = tail.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| str::from_utf8(digits).ok());
        let (byte, tail) = match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(escaped) if *byte == b'%' => (escaped, &tail[2..]),
            _ => (*byte, tail),
        };
        bytes.push(byte);
        rest = tail;
    }
    bytes
}

/// A path without `.`, and without each `..` that cancels a name before it: within a URL these are no folders that have
/// to exist.
fn without_dots(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(result.components().next_back(), Some(Component::Normal(_))) =>
            {
                result.pop();
            }
            part => result.push(part),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_as_the_jvm_does() {
        for (manifest, expected) in [
            (
                &b"Manifest-Version: 1.0\r\nclass-path: a.jar\r\n  b.jar\r\nX: y\r\n"[..],
                &["a.jar", "b.jar"][..],
            ),
            (b"Class-Path: a.j\n ar", &["a.jar"]),
            (b"Class-Path: a.j\r ar\r\rClass-Path: b.jar", &["a.jar"]),
            (b"Class-Path: \xc3\n \xa4.jar\n", &["\u{e4}.jar"]),
            (b"X: y\n Class-Path: a.jar\n", &[]),
            (b"X: y\n\nName: p/A.class\nClass-Path: a.jar\n", &[]),
            (b"Class-Path", &[]),
            (b"", &[]),
        ] {
            assert_eq!(Manifest::parse(manifest).class_path, expected);
        }
        assert!(Manifest::parse(b"multi-release: True \n").multi_release);
        assert!(!Manifest::parse(b"Multi-Release: yes\n").multi_release);
    }

    #[test]
    fn urls_are_relative_to_the_jar() {
        let resolve = |url| resolve_class_path_url(Path::new("lib/app.jar"), url);
        for (url, expected) in [
            ("a.jar", "lib/a.jar"),
            ("./x/../a%20b.jar", "lib/a b.jar"),
            ("../../a.jar", "lib/../../a.jar"),
            ("classes/", "lib/classes"),
            ("file:a.jar", "lib/a.jar"),
            ("File:/x/a.jar", "/x/a.jar"),
            ("file:///x/a.jar", "/x/a.jar"),
        ] {
            assert_eq!(resolve(url).as_deref(), Some(Path::new(expected)), "{url}");
        }
        for elsewhere in ["http://x/a.jar", "file://host/a.jar", "//host/a.jar"] {
            assert_eq!(resolve(elsewhere), None, "{elsewhere}");
        }
    }

    #[test]
    fn only_whole_escapes_are_decoded() {
        assert_eq!(percent_decode(b"a%20b%2"), b"a b%2");
        assert_eq!(percent_decode(b"%zz%41%+f"), b"%zzA%+f");
    }
}
