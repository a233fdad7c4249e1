//! One file or folder per detector, and the table of them. A new detector needs a line in the table, a file here, a page
//! of its rule in `docs/rules` and a line in `docs/analyze.md`; tests fail when one is missing.

mod critical_wait;
mod deadlock;
mod eraser;
mod happens_before;
mod indefinite_wait;
mod lock_order;
mod lost_notify;
mod multilockset;
mod object_race;
mod stale_value;
mod sync_preserving;
mod sync_preserving_deadlock;
mod two_lockset;
mod wcp;

use unsnarl_trace_analysis::AnalysisEntry;

/// The one table of dynamic detectors.
pub static DETECTORS: [AnalysisEntry; 14] = [
    happens_before::ENTRY,
    lock_order::ENTRY,
    deadlock::ENTRY,
    critical_wait::ENTRY,
    indefinite_wait::ENTRY,
    lost_notify::ENTRY,
    eraser::ENTRY,
    two_lockset::ENTRY,
    multilockset::ENTRY,
    object_race::ENTRY,
    sync_preserving::ENTRY,
    sync_preserving_deadlock::ENTRY,
    wcp::ENTRY,
    stale_value::ENTRY,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_detector_has_a_file_a_page_and_a_line_in_the_manual() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let manual = std::fs::read_to_string(root.join("../../docs/analyze.md"));
        let manual = manual.expect("docs/analyze.md is there");
        let mut names = BTreeSet::new();
        for detector in &DETECTORS {
            let name = detector.name;
            assert!(names.insert(name), "{name} is in the table twice");
            let file = root.join("src/detectors").join(format!("{}.rs", name.replace('-', "_")));
            assert!(file.is_file(), "{} is missing", file.display());
            let page = root.join("../../docs/rules").join(format!("{}.md", detector.rule));
            assert!(page.is_file(), "{} is missing", page.display());
            let line = format!("| `{name}` | [{rule}]", rule = detector.rule);
            assert!(manual.contains(&line), "docs/analyze.md has no line that begins {line}");
        }
    }

    #[test]
    fn every_file_of_a_detector_is_in_the_table() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/detectors");
        for file in std::fs::read_dir(source).expect("the sources are there") {
            let path = file.expect("the sources can be read").path();
            if path.is_dir() || path.ends_with("mod.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source is text");
            let is_detector = text.contains("const ENTRY: AnalysisEntry");
            let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a file has a name");
            let name = stem.replace('_', "-");
            let is_listed = DETECTORS.iter().any(|detector| detector.name == name);
            assert_eq!(is_detector, is_listed, "{}", path.display());
        }
    }
}
