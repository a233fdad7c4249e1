//! Lists the pages of rules, which the binary carries inside itself.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    let out = PathBuf::from(variable("OUT_DIR"));
    list_pages(&root.join("docs/rules"), &out.join("pages.rs"));
}

/// Writes the list of the pages of rules, by which the binary carries them.
fn list_pages(folder: &Path, list: &Path) {
    println!("cargo::rerun-if-changed={}", folder.display());
    let pages =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut pages: Vec<PathBuf> = pages.flatten().map(|entry| entry.path()).collect();
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    let lines = pages.iter().map(|page| {
        let rule = page.file_stem().unwrap_or_default();
        format!("({rule:?}, include_str!({page:?})),\n")
    });
    let text = format!("&[\n{}]\n", lines.collect::<String>());
    fs::write(list, text).unwrap_or_else(|error| panic!("{}: {error}", list.display()));
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
