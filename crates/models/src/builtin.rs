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
    "relays.toml",
];

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::FILES;

    #[test]
    fn no_method_is_modelled_in_two_files() {
        let mut seen = HashMap::new();
        for (file, text) in FILES {
            let layer = crate::file::read(file, text).expect("an embedded file is well formed");
            for (class, model) in &layer.classes {
                for (name, parameters, _) in model.methods() {
                    let method = (class.clone(), name.to_vec(), parameters.map(<[u8]>::to_vec));
                    let other = seen.insert(method, file);
                    let shown = String::from_utf8_lossy(class);
                    let name = String::from_utf8_lossy(name);
                    assert!(other.is_none(), "{shown}.{name} is in {file} and {other:?}");
                }
            }
        }
    }
}
