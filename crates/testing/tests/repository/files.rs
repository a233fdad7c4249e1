//! The text files of the repository, and the prose in them.

use std::path::{Path, PathBuf};

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A text file.
pub(crate) struct File {
    /// Its path from the folder of the repository on.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A paragraph of a page or of a comment, in one line.
pub(crate) struct Paragraph {
    /// The line in which it begins.
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// All files with one of the given endings, sorted, without what is built and without `tests/repository` itself.
pub(crate) fn all(endings: &[&str]) -> Vec<File> {
    let root = root();
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_ours = !name.starts_with('.') && name != "target" && name != "repository";
            if path.is_dir() && is_ours && !path.is_symlink() {
                folders.push(path);
            } else if endings.iter().any(|ending| name.ends_with(&format!(".{ending}"))) {
                let text = std::fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                files.push(File { path, text });
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

impl File {
    /// The paragraphs of a page; of any other file those of its comments.
    pub(crate) fn paragraphs(&self) -> Vec<Paragraph> {
        let mut paragraphs: Vec<Paragraph> = Vec::new();
        let mut is_open = false;
        for (line, content) in (1..).zip(self.text.lines()) {
            match self.prose(content) {
                Some(prose) if !prose.is_empty() => {
                    if !is_open {
                        paragraphs.push(Paragraph { line, text: String::new() });
                    }
                    let paragraph = paragraphs.last_mut().unwrap();
                    paragraph.text += prose;
                    paragraph.text += " ";
                    is_open = true;
                }
                _ => is_open = false,
            }
        }
        paragraphs
    }

    fn prose<'l>(&self, line: &'l str) -> Option<&'l str> {
        let line = line.trim();
        if self.path.ends_with(".md") {
            return Some(line);
        }
        if self.path.ends_with(".toml") {
            return line.strip_prefix('#').map(str::trim);
        }
        // A comment after code is a paragraph of its own.
        let comment = line
            .find("//")
            .map(|start| &line[start..])
            .or_else(|| (line.starts_with('*') || line.starts_with("/*")).then_some(line))?;
        Some(comment.trim_start_matches(['/', '*', '!']).trim())
    }
}
