//! Finds the source of the classes that a report is about: in the folders and jars of `--source`, and where Maven,
//! Gradle and plain javac leave it near the classes.
//!
//! A file is the right one if it is where its package says, or if it declares that package. In a folder of `--source`
//! it may be anywhere. What cannot be read is reported as a warning and shown without source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use unsnarl_classpath::read_texts;
use unsnarl_findings::Finding;
use unsnarl_report::source::{SourceFile, SourceKey, Sources, wanted};

use crate::error::CommandError;
use crate::feedback::Feedback;

/// Where build tools expect sources, below the folder of a project.
const LAYOUTS: [&str; 10] = [
    "src/main/java",
    "src/main/kotlin",
    "src/main/scala",
    "src/main/groovy",
    "src/test/java",
    "src/test/kotlin",
    "src/java",
    "src",
    "java",
    "",
];

/// How many folders above the classes that of the project may be: four above `build/classes/java/main`.
const ABOVE: usize = 5;

/// A larger file is cut off.
const FILE_LIMIT: u64 = 16 << 20;

/// The most files that are looked at in a folder of `--source`.
const MOST_FILES: usize = 200_000;

/// The sources of `findings`: of `given` folders and jars, or near `inputs`, which are classes and jars.
///
/// # Errors
/// If something that is given is not there.
pub fn find(
    findings: &[Finding],
    given: &[PathBuf],
    inputs: &[PathBuf],
    feedback: &dyn Feedback,
) -> Result<Sources, CommandError> {
    if let Some(missing) = given.iter().find(|path| !path.exists()) {
        let missing = missing.display();
        return Err(CommandError::failed(format!("there is no {missing} to look for source in")));
    }
    let mut search = Search { wanted: wanted(findings), found: Sources::default(), feedback };
    for path in given {
        match path.is_dir() {
            true => search.below(path),
            false => search.in_archive(path),
        }
    }
    for input in inputs {
        // The folder in which the program was started may be gone: a report without source is better than none.
        if let Ok(input) = std::path::absolute(input) {
            search.near(&input);
        }
    }
    if let Ok(here) = std::env::current_dir() {
        search.in_project(&here);
    }
    Ok(search.found)
}

struct Search<'a> {
    wanted: BTreeSet<SourceKey>,
    found: Sources,
    feedback: &'a dyn Feedback,
}

impl Search<'_> {
    /// Looks through a whole folder.
    fn below(&mut self, folder: &Path) {
        self.in_project(folder);
        if self.wanted.is_empty() {
            return;
        }
        let names: BTreeSet<&str> = self.wanted.iter().map(|key| key.file.as_str()).collect();
        let files = files_below(folder, &names);
        for key in self.wanted.clone() {
            let Some(files) = files.get(&key.file) else { continue };
            let by_path = files.iter().find(|file| file.ends_with(key.path()));
            let by_package = || files.iter().find(|file| self.declares(file, &key.package));
            if let Some(file) = by_path.or_else(by_package).cloned() {
                self.take(&key, &file);
            }
        }
    }

    fn declares(&self, file: &Path, package: &str) -> bool {
        let text = self.read(file).unwrap_or_default();
        let declared = text.lines().find_map(|line| line.trim().strip_prefix("package "));
        declared.map_or("", |rest| rest.trim_end_matches(';').trim()) == package
    }

    /// Looks where the source of classes or of a jar usually is.
    fn near(&mut self, input: &Path) {
        if let (true, Some(stem)) = (input.is_file(), input.file_stem()) {
            let jar = input.with_file_name(format!("{}-sources.jar", stem.to_string_lossy()));
            if jar.is_file() {
                self.in_archive(&jar);
            }
        }
        for folder in input.ancestors().take(ABOVE + 1) {
            if folder.parent().is_some() {
                self.in_project(folder);
            }
        }
    }

    fn in_project(&mut self, folder: &Path) {
        for root in LAYOUTS.map(|layout| folder.join(layout)) {
            if !root.is_dir() {
                continue;
            }
            for key in self.wanted.clone() {
                let (in_package, beside) = (root.join(key.path()), root.join(&key.file));
                if in_package.is_file() {
                    self.take(&key, &in_package);
                } else if beside.is_file() && self.declares(&beside, &key.package) {
                    self.take(&key, &beside);
                }
            }
        }
    }

    fn in_archive(&mut self, jar: &Path) {
        let names = self.wanted.iter().map(SourceKey::path).collect();
        match read_texts(jar, &names) {
            Ok(texts) => {
                for key in self.wanted.clone() {
                    if let Some(text) = texts.get(&key.path()) {
                        let path = format!("{}!/{}", shown(jar), key.path());
                        self.insert(key, &path, &String::from_utf8_lossy(text));
                    }
                }
            }
            Err(error) => self.feedback.warn(&format!("no source from there: {error}")),
        }
    }

    fn take(&mut self, key: &SourceKey, file: &Path) {
        if let Some(text) = self.read(file) {
            self.insert(key.clone(), &shown(file), &text);
        }
    }

    fn insert(&mut self, key: SourceKey, path: &str, text: &str) {
        self.wanted.remove(&key);
        self.found.insert(key, SourceFile::new(path, text));
    }

    /// The text of a file; of other encodings than UTF-8 what can be shown.
    fn read(&self, file: &Path) -> Option<String> {
        match read_at_most(file, FILE_LIMIT) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) => {
                self.feedback.warn(&format!("no source from {}: {error}", file.display()));
                None
            }
        }
    }
}

fn read_at_most(file: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The files with these names in a folder and those below it, in the order of their paths. Links are not followed.
fn files_below(folder: &Path, names: &BTreeSet<&str>) -> BTreeMap<String, Vec<PathBuf>> {
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MOST_FILES {
                break;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() && names.contains(name.as_str()) => {
                    found.entry(name).or_default().push(entry.path());
                }
                _ => {}
            }
        }
    }
    found.values_mut().for_each(|files| files.sort());
    found
}

/// A path as people would type it: from the current folder if it is below that, with slashes.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(&here).unwrap_or(path);
    path.display().to_string().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use unsnarl_findings::{
        Access, AccessKind, Evidence, Frame, MethodReference, Rule, Subject, Variable,
    };

    use super::*;
    use crate::feedback::Silent;

    fn finding(class: &str, file: &str) -> Finding {
        let method = MethodReference::new(class, "m", "()V");
        let frame = Frame::Code { method, file: Some(file.to_owned()), line: Some(1) };
        Finding::new(
            Rule::DataRace,
            Subject::variable(Variable::field(class, "x")),
            Evidence::Observed,
            "test",
            "so",
            vec![Access::new(AccessKind::Read, vec![frame])],
        )
    }

    /// The path of the source that was found below the folder in which `files` are.
    fn found(files: &[(&str, &str)], given: &[&str], inputs: &[&str]) -> Option<String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |path: &&str| folder.path().join(path);
        for (path, text) in files {
            let file = at(path);
            std::fs::create_dir_all(file.parent().expect("it is in a folder")).expect("a folder");
            std::fs::write(file, text).expect("a file");
        }
        let paths = |paths: &[&str]| paths.iter().map(at).collect::<Vec<_>>();
        let findings = [finding("a.b.C$1", "C.java")];
        let sources =
            find(&findings, &paths(given), &paths(inputs), &Silent).expect("all is there");
        let (_, file) = sources.iter().next()?;
        let below = file.path.strip_prefix(&format!("{}/", folder.path().display()));
        below.map(str::to_owned)
    }

    #[test]
    fn source_is_found_where_build_tools_put_it() {
        for (source, input) in [
            ("src/main/java/a/b/C.java", "target/classes"),
            ("src/main/java/a/b/C.java", "build/classes/java/main"),
            ("src/test/java/a/b/C.java", "target/test-classes"),
            ("src/a/b/C.java", "out"),
            ("a/b/C.java", "."),
            ("C.java", "classes"),
        ] {
            let path = found(&[(source, "package a.b;")], &[], &[input]);
            assert!(path.is_some_and(|path| path.ends_with(source)), "{source}");
        }
        assert_eq!(found(&[("other/a/b/C.java", "")], &[], &["target/classes"]), None);
    }

    #[test]
    fn a_given_folder_is_looked_through() {
        let package = "// C\npackage a.b;\n";
        let cases = [
            (vec![("x/y/a/b/C.java", "")], Some("x/y/a/b/C.java")),
            (vec![("x/C.java", "package a;"), ("z/C.java", package)], Some("z/C.java")),
            (vec![("x/C.java", ""), ("C.java", "package a.b.c;")], None),
        ];
        for (files, expected) in cases {
            assert_eq!(
                found(&files, &["."], &[]).as_deref().map(|it| it.trim_start_matches("./")),
                expected
            );
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let error = find(&[], &["no/such".into()], &[], &Silent).expect_err("it is not there");
        assert_eq!(error.to_string(), "there is no no/such to look for source in");
    }
}
