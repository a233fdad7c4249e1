//! Papers are cited by the keys of `docs/bibliography.md`, and files name only documents that are there.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

use crate::files::{self, File};

const BIBLIOGRAPHY: &str = "docs/bibliography.md";

/// `[vonPraun04 §4.4]`: a key with a year, or one of the two without, and what follows it.
const CITATION: &str = r"\[([A-Za-z]*[A-Z][A-Za-z]*\d\d|JVMS|Rapid)(?:[ ,][^\]]*)?\]";

/// What cites a work without a key.
const WITHOUT_KEY: &str = concat!(
    r"\bet al\b|\b([Ss]ections?|[Cc]hapters?|[Ff]igures?|[Ff]ig\.) \d|§",
    r"|\b(ASE|ATVA|CC|ECOOP|ICSE|ISSTA|OOPSLA|PLDI|POPL|PPoPP|SPIN|TOCS|TOPLAS) ?(19|20)\d\d",
    r"|\b[Ss]eed 00\d|\b([Tt]he|[Nn]o) seeds?\b|\b([Tt]hesis|[Dd]issertation)\b|\b[Tt]he paper\b|\bDESIGN\.md|\b[Ff]irst design\b",
);

fn cited(file: &File) -> Vec<(usize, String)> {
    let citation = Regex::new(CITATION).unwrap();
    let mut cited = Vec::new();
    for paragraph in file.paragraphs() {
        let keys = citation.captures_iter(&paragraph.text).map(|found| found[1].to_owned());
        cited.extend(keys.map(|key| (paragraph.line, key)));
    }
    cited
}

fn uncited(file: &File) -> Vec<(usize, String)> {
    let (citation, without) = (Regex::new(CITATION).unwrap(), Regex::new(WITHOUT_KEY).unwrap());
    let mut uncited = Vec::new();
    for paragraph in file.paragraphs() {
        let rest = citation.replace_all(&paragraph.text, "");
        let phrases = without.find_iter(&rest).map(|found| found.as_str().to_owned());
        uncited.extend(phrases.map(|phrase| (paragraph.line, phrase)));
    }
    uncited
}

fn prose() -> Vec<File> {
    let mut files = files::all(&["rs", "java", "md", "toml", "std"]);
    files.retain(|file| file.path != BIBLIOGRAPHY);
    files
}

#[test]
fn keys_are_in_the_bibliography() {
    let page = std::fs::read_to_string(files::root().join(BIBLIOGRAPHY)).unwrap();
    let mut keys = BTreeSet::new();
    for row in page.lines().filter(|line| line.starts_with("| [")) {
        let key = &row[3..row.find(']').unwrap()];
        assert!(keys.insert(key.to_owned()), "{BIBLIOGRAPHY} has {key} twice");
    }
    assert!(keys.len() > 20, "{keys:?}");
    let mut wrong = Vec::new();
    for file in prose() {
        for (line, key) in cited(&file) {
            if !keys.contains(&key) {
                wrong.push(format!("{}:{line}: [{key}] is not in {BIBLIOGRAPHY}", file.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_is_cited_without_a_key() {
    let mut wrong = Vec::new();
    for file in prose() {
        for (line, phrase) in uncited(&file) {
            let path = &file.path;
            wrong.push(format!("{path}:{line}: \"{phrase}\": cite as in [vonPraun04 §4.4]"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_wrong_is_found() {
    let file = |text: &str| File { path: "some.rs".to_owned(), text: text.to_owned() };
    let phrases = |text: &str| uncited(&file(text)).len();
    assert_eq!(
        phrases("//! After [vonPraun04 §4.4], and [Wang06, fig. 3].\nlet section = 3;\n"),
        0
    );
    assert_eq!(phrases("//! After seed 000, section 4.4.\n"), 2);
    assert_eq!(phrases("//! After L. Wang et\n//! al.\n"), 1);
    assert_eq!(phrases("    x(); // see figure 3\n"), 1);
    assert_eq!(phrases("/**\n * As the seed\n */\n"), 1);
    let keys: Vec<_> = cited(&file("// [Nobody99 §1], [u64], [`Key`] and\n// [JVMS\n// §4]\n"));
    assert_eq!(keys, [(1, "Nobody99".to_owned()), (1, "JVMS".to_owned())]);
}

#[test]
fn pages_that_are_named_are_there() {
    let name = Regex::new(r"[A-Za-z0-9_./-]*[A-Za-z0-9_-]\.md\b").unwrap();
    let root = files::root();
    let mut wrong = Vec::new();
    for file in prose() {
        let folder = root.join(Path::new(&file.path).parent().unwrap());
        for paragraph in file.paragraphs() {
            for found in name.find_iter(&paragraph.text) {
                let page = found.as_str();
                let is_there = |folder: &Path| folder.join(page.trim_start_matches('/')).is_file();
                if !page.contains("//")
                    && ![&root, &root.join("docs"), &folder].into_iter().any(|f| is_there(f))
                {
                    wrong.push(format!("{}:{}: there is no {page}", file.path, paragraph.line));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
