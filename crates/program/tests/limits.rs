//! The page on known limits says how many there are.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

#[test]
fn the_counts_are_those_of_the_fixtures() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/limits.md")).unwrap();
    for mark in ["known-miss", "known-false"] {
        let count = count(&root.join("fixtures"), &format!("{mark}["));
        let row = format!("| `{mark}` | {count} |");
        assert!(page.contains(&row), "docs/limits.md should say {row}");
    }
}

fn count(folder: &Path, mark: &str) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| match path.is_dir() {
            true => count(&path, mark),
            false => std::fs::read_to_string(&path).unwrap_or_default().matches(mark).count(),
        })
        .sum()
}
