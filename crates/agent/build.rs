//! Compiles the runtime, which the library carries inside itself.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The oldest release whose class files every supported JVM can load, and the one to compile with.
const RELEASE: &str = "17";

fn main() {
    let sources = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../../runtime");
    println!("cargo::rerun-if-changed={}", sources.display());
    println!("cargo::rerun-if-env-changed=JAVA_HOME");
    let out = PathBuf::from(variable("OUT_DIR"));
    let classes = out.join("runtime");
    let mut files: Vec<PathBuf> = fs::read_dir(sources.join("java/lang"))
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", sources.display()))
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "java"))
        .collect();
    files.sort();

    let Some(javac) = javac() else {
        println!(
            "cargo::error=no javac was found, and a part of unsnarl is written in Java: install a JDK of \
             release {RELEASE} or later (on Debian: apt install default-jdk-headless), or name one in JAVA_HOME"
        );
        return;
    };
    let result = Command::new(&javac)
        .args(["-proc:none", "-g:lines,source", "-source", RELEASE, "-target", RELEASE])
        .args(["-Xlint:-options", "--patch-module"])
        .arg(format!("java.base={}", sources.display()))
        .arg("-d")
        .arg(&classes)
        .args(&files)
        .output()
        .unwrap_or_else(|error| panic!("cannot start {}: {error}", javac.display()));
    let errors = String::from_utf8_lossy(&result.stderr);
    assert!(result.status.success(), "{} cannot compile the runtime:\n{errors}", javac.display());

    let mut list = String::from("[\n");
    for file in &files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let class = classes.join("java/lang").join(format!("{name}.class"));
        list += &format!("(c\"java/lang/{name}\", include_bytes!({class:?})),\n");
    }
    list += "]\n";
    let file = out.join("runtime.rs");
    fs::write(&file, list).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

/// The compiler of `JAVA_HOME`, else of an installed JDK, release 17 first, else that on the `PATH`.
fn javac() -> Option<PathBuf> {
    let named = env::var_os("JAVA_HOME").map(PathBuf::from);
    let mut installed: Vec<PathBuf> = fs::read_dir("/usr/lib/jvm")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    installed.sort_by_key(|home| {
        let release = fs::read_to_string(home.join("release")).unwrap_or_default();
        (!release.contains(&format!("JAVA_VERSION=\"{RELEASE}.")), home.clone())
    });
    let homes = named.into_iter().chain(installed).map(|home| home.join("bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    let mut tools = homes.chain(env::split_paths(&path)).map(|folder| folder.join("javac"));
    tools.find(|javac| javac.is_file())
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
