//! The data files that are carried inside the binary.

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        &[$((
            concat!("models/", $name),
            include_str!(concat!("../../../models/", $name)),
        )),*]
    };
}

/// Name and text of each file.
pub(crate) const FILES: &[(&str, &str)] = embedded![
    "entries.toml",
    "java.io.toml",
    "java.lang.invoke.toml",
    "java.lang.reflect.toml",
    "java.lang.toml",
    "java.util.concurrent.atomic.toml",
    "java.util.concurrent.collections.toml",
    "java.util.concurrent.completable.toml",
    "java.util.concurrent.locks.toml",
    "java.util.concurrent.toml",
    "java.util.stream.collectors.toml",
    "java.util.stream.toml",
    "java.util.toml",
    "mutable.toml",
    "natives.toml",
    "packages.toml",
];
