//! What fuzzing once found. Every input under `findings/` made the reader or the editor fail; its name
//! begins with the target and says what was wrong.

mod support;

use support::exercise;

#[test]
fn old_findings_stay_fixed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/findings");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of findings") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a finding");
        match path.file_name().and_then(|name| name.to_str()) {
            Some(name) if name.starts_with("read-") => exercise::read(&bytes),
            Some(name) if name.starts_with("edit-") => exercise::edit(&bytes),
            _ => panic!("{} belongs to no target", path.display()),
        }
        count += 1;
    }
    assert!(count > 0, "there are no findings in {folder}");
}
