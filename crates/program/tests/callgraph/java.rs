//! Programs with the library of a JDK.

use std::path::PathBuf;

use unsnarl_classpath::{ClassPath, JdkChoice, Options};
pub(crate) use unsnarl_testing::{Jdk, jdks, report, run};

/// The class path of a program with the library of a JDK.
pub(crate) fn class_path(jdk: &Jdk, inputs: Vec<PathBuf>) -> ClassPath {
    let jdk = JdkChoice::Home(jdk.home.clone());
    ClassPath::open(&Options { inputs, class_path: Vec::new(), jdk, release: None })
}
