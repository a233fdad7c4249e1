//! Source code as far as it is at hand: data that the caller has read from files, and what of a line an
//! access is.
//!
//! A class file names its source file without folders; package and name together are the key. Texts are
//! cleaned when they come in: tabs become spaces, and characters that could steer a terminal or turn the
//! order of what is shown become a replacement mark.
//!
//! What is marked in a line is found by its name, not by parsing: in `next = head.next` it is the first of
//! the two. Where no name is found the whole line is marked.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use unsnarl_findings::{Access, AccessKind, Finding, Frame};

/// Which source file: the package of its classes, and its name. Neither leads out of a folder of sources, whatever the
/// class file says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceKey {
    /// `com.acme`; empty for the unnamed package.
    pub package: String,
    /// `Account.java`.
    pub file: String,
}

impl SourceKey {
    /// The file in which a frame is, and the line in it, if the class file tells them.
    #[must_use]
    pub fn of(frame: &Frame) -> Option<(Self, u32)> {
        let Frame::Code { method, file: Some(file), line: Some(line) } = frame else { return None };
        let package = method.class.rsplit_once('.').map_or("", |(package, _)| package);
        let is_name = |name: &str| !name.is_empty() && !name.contains(['/', '\\', ':', '\0']);
        let is_inside = is_name(file)
            && file != ".."
            && (package.is_empty() || package.split('.').all(is_name));
        let key = Self { package: package.to_owned(), file: file.clone() };
        is_inside.then_some((key, *line))
    }

    /// `com/acme/Account.java`: where a file is below a folder of sources.
    #[must_use]
    pub fn path(&self) -> String {
        match self.package.is_empty() {
            true => self.file.clone(),
            false => format!("{}/{}", self.package.replace('.', "/"), self.file),
        }
    }
}

/// The text of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Where it is, as it is shown.
    pub path: String,
    lines: Vec<String>,
}

impl SourceFile {
    /// The file at `path` with its text.
    #[must_use]
    pub fn new(path: impl Into<String>, text: &str) -> Self {
        Self { path: path.into(), lines: text.lines().map(cleaned).collect() }
    }

    /// A line, from 1.
    #[must_use]
    pub fn line(&self, number: u32) -> Option<&str> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.lines.get(index).map(String::as_str)
    }

    /// The lines from `around` before `line` to `around` after it, with their numbers; none if there is no such line.
    pub fn window(&self, line: u32, around: u32) -> impl Iterator<Item = (u32, &str)> {
        let numbers = match self.line(line) {
            Some(_) => line.saturating_sub(around).max(1)..line.saturating_add(around + 1),
            None => 0..0,
        };
        numbers.filter_map(|number| Some((number, self.line(number)?)))
    }
}

/// All source that is at hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    files: BTreeMap<SourceKey, SourceFile>,
}

impl Sources {
    /// None.
    pub const NONE: &'static Self = &Self { files: BTreeMap::new() };

    /// Adds a file.
    pub fn insert(&mut self, key: SourceKey, file: SourceFile) {
        self.files.insert(key, file);
    }

    /// The files with their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&SourceKey, &SourceFile)> {
        self.files.iter()
    }

    /// The file in which a frame is, if it has the line, and the line.
    #[must_use]
    pub fn of(&self, frame: &Frame) -> Option<(&SourceFile, u32)> {
        let (key, line) = SourceKey::of(frame)?;
        let file = self.files.get(&key)?;
        file.line(line).map(|_| (file, line))
    }

    /// The path by which people and tools find the file of a frame, and the line in it.
    #[must_use]
    pub fn place(&self, frame: &Frame) -> Option<(String, u32)> {
        let (key, line) = SourceKey::of(frame)?;
        Some((self.files.get(&key).map_or_else(|| key.path(), |file| file.path.clone()), line))
    }
}

/// The files of which source is wanted: where accesses happen, and the frames that lead there.
#[must_use]
pub fn wanted(findings: &[Finding]) -> BTreeSet<SourceKey> {
    let accesses = findings.iter().flat_map(|finding| &finding.accesses);
    let frames = accesses.flat_map(|access| &access.stack);
    frames.filter_map(SourceKey::of).map(|(key, _)| key).collect()
}

/// Which characters of a line are the access.
#[must_use]
pub fn marked(text: &str, finding: &Finding, access: &Access) -> Range<usize> {
    let field = finding.subject.as_variable().map(|variable| variable.field.as_str());
    let names: &[&str] = match access.kind {
        AccessKind::Read | AccessKind::Write | AccessKind::Call => &[],
        AccessKind::Acquire => &["synchronized", "lock", "tryLock", "acquire"],
        AccessKind::Release => &["unlock", "release"],
        AccessKind::Wait => &["wait", "await"],
        AccessKind::Notify => &["notifyAll", "notify", "signalAll", "signal"],
    };
    let named = field.filter(|_| names.is_empty()).into_iter().chain(names.iter().copied());
    let whole = text.len() - text.trim_start().len()..text.trim_end().len();
    let bytes = named.filter_map(|name| word(text, name)).next().unwrap_or(whole);
    let characters = |end: usize| text[..end].chars().count();
    characters(bytes.start)..characters(bytes.end)
}

/// Where a name stands as a whole word of the code, in bytes.
fn word(text: &str, name: &str) -> Option<Range<usize>> {
    let is_part =
        |character: char| character.is_alphanumeric() || character == '_' || character == '$';
    let places = text.match_indices(name).map(|(start, _)| start..start + name.len());
    let mut words = places.filter(|place| {
        let before = &text[..place.start];
        let is_code = before.matches('"').count().is_multiple_of(2) && !before.contains("//");
        is_code && !before.ends_with(is_part) && !text[place.end..].starts_with(is_part)
    });
    words.next().filter(|_| name.starts_with(is_part))
}

fn cleaned(line: &str) -> String {
    let shown = |character: char| match character {
        '\t' => "    ".to_owned(),
        hidden if steers(hidden) => char::REPLACEMENT_CHARACTER.to_string(),
        other => other.to_string(),
    };
    line.chars().map(shown).collect::<String>().trim_end().to_owned()
}

/// Whether a character does something else than to be seen: control characters, and those that turn the direction
/// of writing.
pub(crate) fn steers(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use unsnarl_findings::{Evidence, MethodReference, Rule, Subject, Variable};

    use super::*;

    fn mark(text: &str, kind: AccessKind) -> String {
        let subject = Subject::variable(Variable::field("a.B", "count"));
        let access = Access::new(kind, Vec::new());
        let finding =
            Finding::new(Rule::DataRace, subject, Evidence::Observed, "test", "so", Vec::new());
        let range = marked(text, &finding, &access);
        text.chars().skip(range.start).take(range.len()).collect()
    }

    #[test]
    fn the_name_is_marked_or_else_the_line() {
        assert_eq!(mark("  ücounts = account.count + count;", AccessKind::Read), "count");
        assert_eq!(
            mark("  this.total++;  // count ", AccessKind::Write),
            "this.total++;  // count"
        );
        assert_eq!(
            mark("print(\"count \" + get());", AccessKind::Read),
            "print(\"count \" + get());"
        );
        assert_eq!(mark("  synchronized (lock) {", AccessKind::Acquire), "synchronized");
        assert_eq!(mark("  first.lock();", AccessKind::Acquire), "lock");
        assert_eq!(mark("  queue.notifyAll();", AccessKind::Notify), "notifyAll");
        assert_eq!(mark("", AccessKind::Notify), "");
    }

    #[test]
    fn a_window_ends_where_the_file_does() {
        let file = SourceFile::new("A.java", "one\n\ttwo \u{1b}[2J\u{202e}\nthree\n");
        let lines: Vec<(u32, &str)> = file.window(1, 1).collect();
        assert_eq!(lines, [(1, "one"), (2, "    two \u{fffd}[2J\u{fffd}")]);
        assert_eq!(file.window(3, 1).last(), Some((3, "three")));
        assert_eq!((file.window(0, 2).count(), file.window(4, 2).count()), (0, 0));
        assert_eq!(file.window(u32::MAX, u32::MAX - 1).count(), 0);
    }

    #[test]
    fn a_frame_finds_its_file_by_package_and_name() {
        let frame = |class: &str| Frame::Code {
            method: MethodReference::new(class, "m", "()V"),
            file: Some("B.java".to_owned()),
            line: Some(2),
        };
        let mut sources = Sources::default();
        let (key, _) = SourceKey::of(&frame("a.b.B$Inner")).expect("it has a line");
        assert_eq!(key.path(), "a/b/B.java");
        sources.insert(key, SourceFile::new("src/a/b/B.java", "1\n2"));
        assert_eq!(sources.place(&frame("a.b.C")), Some(("src/a/b/B.java".to_owned(), 2)));
        assert_eq!(sources.place(&frame("B")), Some(("B.java".to_owned(), 2)));
        assert!(sources.of(&frame("B")).is_none());
        assert_eq!(sources.place(&Frame::Location(3)), None);
    }

    #[test]
    fn no_name_leads_out_of_a_folder() {
        let key = |class: &str, file: &str| {
            let method = MethodReference::new(class, "m", "()V");
            SourceKey::of(&Frame::Code { method, file: Some(file.to_owned()), line: Some(1) })
        };
        assert!(key("a.B", "B.java").is_some());
        for (class, file) in [
            ("a.B", "../../secret"),
            ("a.B", "/etc/secret"),
            ("a.B", "C:\\secret"),
            ("a.B", ".."),
            ("a.B", ""),
            (".etc.B", "secret"),
            ("a/../b.B", "secret"),
        ] {
            assert_eq!(key(class, file), None, "{class} {file}");
        }
    }
}
