//! The programs in `fixtures/ssa`, one behaviour each, from every compiler on the machine.
//!
//! Each has `static String run(int seed)`. The first line may say `//@ release: 16`: the oldest
//! language level that the program needs, 8 if it is missing.

use std::path::{Path, PathBuf};

use crate::java;

const SEEDS: i32 = 24;

#[test]
fn fixtures_run_alike() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/ssa");
    let mut fixtures: Vec<(PathBuf, u16)> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| {
            let release = oldest_release(&path);
            (path, release)
        })
        .collect();
    fixtures.sort();
    assert!(fixtures.len() >= 40, "fixtures were lost");
    std::thread::scope(|scope| {
        for compiler in java::compilers() {
            let chosen: Vec<PathBuf> = fixtures
                .iter()
                .filter(|(_, release)| *release <= compiler.release)
                .map(|(path, _)| path.clone())
                .collect();
            scope.spawn(move || {
                let classes = tempfile::tempdir().expect("a folder");
                compiler.compile(&chosen, classes.path());
                let methods: Vec<String> = chosen.iter().map(|path| run_method(path)).collect();
                compiler.compare(classes.path(), &methods, SEEDS);
            });
        }
    });
}

fn run_method(path: &Path) -> String {
    format!("{}.run", path.file_stem().expect("a name").to_string_lossy())
}

fn oldest_release(path: &Path) -> u16 {
    let source = std::fs::read_to_string(path).expect("a readable source");
    match source.lines().next().and_then(|line| line.strip_prefix("//@ release: ")) {
        Some(release) => release.trim().parse().expect("a number"),
        None => 8,
    }
}
