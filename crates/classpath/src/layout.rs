//! How archives are laid out: where their classes begin, and which archives inside them count.
//!
//! | archive | classes | archives inside |
//! |---|---|---|
//! | Spring Boot | `BOOT-INF/classes/`; its loader at the top is a library | `BOOT-INF/lib/`: libraries |
//! | war | `WEB-INF/classes/`; what is at the top is a library | `WEB-INF/lib/`, `lib-provided/`: libraries |
//! | ear | at the top | `lib/`: libraries; the others are the application |
//! | jmod | `classes/` | none |
//! | any other file but `.jar` | at the top | all, in the role of the file |
//! | jar | at the top | none: a JVM does not look into them |
//!
//! In each of these, `META-INF` holds no classes but the versions of a multi-release jar.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::Role;
use crate::archive::{ArchiveEntry, Record};
use crate::name;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    Boot,
    War,
    Ear,
    Jmod,
    Bundle,
    Jar,
}

/// A class of an archive.
#[derive(Debug)]
pub(crate) struct Class<'a> {
    pub(crate) name: Cow<'a, [u8]>,
    /// The release from which on it counts; 0 for all.
    pub(crate) version: u16,
    pub(crate) place: ArchiveEntry,
}

impl Layout {
    pub(crate) fn of(file: &str, records: &[Record<'_>]) -> Self {
        let has = |prefix: &[u8]| records.iter().any(|record| record.path.starts_with(prefix));
        let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
        if has(b"BOOT-INF/") {
            Self::Boot
        } else if has(b"WEB-INF/") {
            Self::War
        } else if extension.eq_ignore_ascii_case("ear") {
            Self::Ear
        } else if extension.eq_ignore_ascii_case("jmod") {
            Self::Jmod
        } else if extension.eq_ignore_ascii_case("jar") {
            Self::Jar
        } else {
            Self::Bundle
        }
    }

    /// The prefixes under which paths are class names, in the order in which they are searched.
    pub(crate) fn roots(self, role: Role) -> Vec<(&'static str, Role)> {
        let library = role.max(Role::Library);
        match self {
            Self::Boot => vec![("BOOT-INF/classes/", role), ("", library)],
            Self::War => vec![("WEB-INF/classes/", role), ("", library)],
            Self::Jmod => vec![("classes/", role)],
            Self::Ear | Self::Bundle | Self::Jar => vec![("", role)],
        }
    }

    /// The role of an archive inside this one, if it counts.
    pub(crate) fn nested(self, path: &[u8], role: Role) -> Option<Role> {
        let extension = path.rsplit(|&byte| byte == b'.').next()?;
        let is = |kind: &str| extension.eq_ignore_ascii_case(kind.as_bytes());
        let library = role.max(Role::Library);
        match self {
            Self::Boot if path.starts_with(b"BOOT-INF/lib/") => is("jar").then_some(library),
            Self::War
                if path.starts_with(b"WEB-INF/lib/")
                    || path.starts_with(b"WEB-INF/lib-provided/") =>
            {
                is("jar").then_some(library)
            }
            Self::Ear | Self::Bundle if ["jar", "war", "rar", "ear"].into_iter().any(is) => {
                let in_library = self == Self::Ear && path.starts_with(b"lib/");
                Some(if in_library { library } else { role })
            }
            _ => None,
        }
    }

    /// The classes under a prefix. From a multi-release jar, each comes in its last version up to
    /// `release`; 0 means that the jar is none.
    pub(crate) fn classes<'a>(
        self,
        prefix: &str,
        records: &[Record<'a>],
        release: u16,
    ) -> Vec<Class<'a>> {
        let mut classes: Vec<Class<'a>> = Vec::with_capacity(records.len());
        let mut versioned: FxHashMap<Cow<'a, [u8]>, usize> = FxHashMap::default();
        for record in records {
            let Some(path) = record.path.strip_prefix(prefix.as_bytes()) else { continue };
            // What belongs to another root of the same archive.
            if prefix.is_empty()
                && (path.starts_with(b"BOOT-INF/") && self == Self::Boot
                    || path.starts_with(b"WEB-INF/") && matches!(self, Self::Boot | Self::War))
            {
                continue;
            }
            let (version, path) = match split_version(path) {
                Some((version, path)) if version <= release => (version, path),
                None if !path.starts_with(b"META-INF/") => (0, path),
                _ => continue,
            };
            let Some(name) = name::class_of_path(path) else { continue };
            let class = Class { name, version, place: record.place };
            if release == 0 {
                classes.push(class);
                continue;
            }
            match versioned.get(&class.name) {
                Some(&index) if classes[index].version < class.version => classes[index] = class,
                Some(&index) if classes[index].version > class.version => {}
                _ => {
                    versioned.insert(class.name.clone(), classes.len());
                    classes.push(class);
                }
            }
        }
        classes
    }
}

/// `META-INF/versions/11/a/B.class` is `a/B.class` for release 11. Versions begin with 9.
fn split_version(path: &[u8]) -> Option<(u16, &[u8])> {
    let rest = path.strip_prefix(b"META-INF/versions/")?;
    let slash = rest.iter().position(|&byte| byte == b'/')?;
    let version: u16 = std::str::from_utf8(&rest[..slash]).ok()?.parse().ok()?;
    (version >= 9).then_some((version, &rest[slash + 1..]))
}
