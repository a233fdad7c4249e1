//! Builds the agent, which the binary carries inside itself, so that `cargo install` gives a whole `unsnarl`.
//!
//! The agent is a library that a JVM loads. Cargo cannot make it a dependency of a binary, so it is built by a
//! cargo of its own, in a folder of its own: this one holds the lock on the usual folder. `UNSNARL_AGENT` names a
//! library that was built already, as `./test` does, and saves the time.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// What the agent is made of, from the root of the workspace.
const SOURCES: [&str; 11] = [
    "runtime",
    "models",
    "crates/agent",
    "crates/classfile",
    "crates/classpath",
    "crates/entity",
    "crates/instrument",
    "crates/launch",
    "crates/models",
    "crates/events",
    "crates/recording",
];

fn main() {
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    println!("cargo::rerun-if-changed={}", root.join("Cargo.lock").display());
    println!("cargo::rerun-if-env-changed=JAVA_HOME");
    println!("cargo::rerun-if-env-changed=UNSNARL_AGENT");
    let out = PathBuf::from(variable("OUT_DIR"));
    if let Some(library) = env::var_os("UNSNARL_AGENT") {
        println!("cargo::rerun-if-changed={}", library.display());
        take_over(Path::new(&library), &out);
        return;
    }
    let target = out.join("agent");
    let is_release = variable("PROFILE") == "release";

    let mut cargo = Command::new(variable("CARGO"));
    // What cargo and clippy set for this build is not meant for that one.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let is_ours = text.starts_with("CARGO_") && !text.starts_with("CARGO_HOME");
        if (is_ours && !text.starts_with("CARGO_NET")) || text.starts_with("RUSTC_W") {
            cargo.env_remove(name);
        }
    }
    cargo.arg("build").arg("--manifest-path").arg(root.join("crates/agent/Cargo.toml"));
    cargo.arg("--target-dir").arg(&target).args(["--locked", "--quiet"]);
    if is_release {
        cargo.arg("--release").env("CARGO_PROFILE_RELEASE_DEBUG", "none");
        cargo.env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    }
    let result = cargo.output().unwrap_or_else(|error| panic!("cannot start cargo: {error}"));
    let errors = String::from_utf8_lossy(&result.stderr);
    if !result.status.success() {
        report(&errors);
        return;
    }
    let built = target.join(if is_release { "release" } else { "debug" });
    take_over(&built.join("libunsnarl_agent.so"), &out);
}

fn take_over(library: &Path, out: &Path) {
    fs::copy(library, out.join("agent.so"))
        .unwrap_or_else(|error| panic!("cannot take {} over: {error}", library.display()));
}

/// Reports why the agent could not be built: what its own build says is missing, or all that the compiler said.
fn report(errors: &str) {
    let reported = errors
        .lines()
        .filter_map(|line| line.strip_prefix("error: unsnarl-agent@")?.split_once(": "));
    let reasons: Vec<&str> = reported.map(|(_, reason)| reason).collect();
    assert!(!reasons.is_empty(), "the agent could not be built:\n{errors}");
    for reason in reasons {
        println!("cargo::error={reason}");
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
