//! The form for people at a terminal, in the manner of rustc.
//!
//! ```text
//! error[data-race]: MESSAGE
//!   --> SUBJECT (confidence 0.94)
//!    |
//!  1 | write by thread T1, holding LOCK
//!    |   46 | {
//!    |   47 |     balance -= amount;
//!    |      |     ^^^^^^^
//!    |   at CLASS.METHOD(FILE:LINE)
//!    |
//!  2 | read by thread T2, holding no lock
//!    |   at …
//!    |
//!    = why: ++ HEURISTIC: SENTENCE
//!           -  HEURISTIC: SENTENCE
//!    = hint: …
//!    = found: observed by DETECTOR, fingerprint …
//! ```
//!
//! Source is shown where it is at hand. Findings are grouped by class if there is more than one: the class with the
//! worst finding comes first, and in it the worst finding.
//!
//! Long prose is wrapped at [`WIDTH`] columns and long lines of source are cut; names and frames never are, so
//! that they can be searched and copied. Names come from class files and traces, where any character may be in
//! them: those that could steer the terminal are escaped.

mod finding;
mod layout;

use std::collections::BTreeMap;
use std::io;

use anstyle::{AnsiColor, Style};
use unsnarl_findings::{Finding, Report, Severity, Statistic};

pub use finding::write_finding;
pub use layout::WIDTH;

use crate::source::Sources;
use layout::{blank, counted, styled, visible, wrapped};

/// How a report is shown.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// In which colours.
    pub styles: Styles,
    /// How much of it.
    pub detail: Detail,
    /// The source that is at hand.
    pub sources: &'a Sources,
    /// Whether findings that somebody has suppressed are shown; they are always counted.
    pub shows_suppressed: bool,
}

impl View<'static> {
    /// Every finding, as much of it as people usually want to see, without source.
    #[must_use]
    pub const fn new(styles: Styles) -> Self {
        Self { styles, detail: Detail::Normal, sources: Sources::NONE, shows_suppressed: true }
    }
}

/// How much of a report is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// A line for each finding and nothing else.
    Quiet,
    /// What is long is cut.
    Normal,
    /// All accesses, reasons and frames.
    Verbose,
}

/// How the parts of a report are styled.
#[derive(Clone, Copy, Debug)]
pub struct Styles {
    error: Style,
    warning: Style,
    note: Style,
    message: Style,
    frame: Style,
}

impl Styles {
    /// No styling at all: the bytes are the text.
    #[must_use]
    pub const fn plain() -> Self {
        let plain = Style::new();
        Self { error: plain, warning: plain, note: plain, message: plain, frame: plain }
    }

    /// The colours of a terminal.
    #[must_use]
    pub const fn coloured() -> Self {
        Self {
            error: AnsiColor::Red.on_default().bold(),
            warning: AnsiColor::Yellow.on_default().bold(),
            note: AnsiColor::Cyan.on_default().bold(),
            message: Style::new().bold(),
            frame: AnsiColor::Blue.on_default().bold(),
        }
    }

    fn of(&self, severity: Severity) -> Style {
        match severity {
            Severity::Error => self.error,
            Severity::Warning => self.warning,
            Severity::Note => self.note,
        }
    }
}

/// Writes every finding, then the notes, then a line that counts the findings.
///
/// # Errors
/// Those of `out`.
pub fn write(report: &Report, view: &View<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let is_shown = |it: &&Finding| view.shows_suppressed || it.suppression.is_none();
    let mut shown = report.findings().iter().filter(is_shown);
    if view.detail == Detail::Quiet {
        return shown.try_for_each(|it| finding::write_line(it, view, out));
    }
    let groups = by_class(shown);
    for (class, findings) in &groups {
        if groups.len() > 1 {
            let title = format!("-- {}: {}", visible(class), counted(findings.len(), "finding"));
            writeln!(out, "{}\n", styled(view.styles.message, title))?;
        }
        for finding in findings {
            write_finding(finding, view, out)?;
            writeln!(out)?;
        }
    }
    for note in &report.notes {
        let width = "note: ".len();
        let note = wrapped(note, width, &blank(width));
        writeln!(out, "{}: {note}", styled(view.styles.note, "note"))?;
    }
    if !report.notes.is_empty() {
        writeln!(out)?;
    }
    writeln!(out, "{}", styled(view.styles.message, summary(report)))
}

/// The findings of every class, classes in the order of their first findings.
fn by_class<'f>(findings: impl Iterator<Item = &'f Finding>) -> Vec<(&'f str, Vec<&'f Finding>)> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Vec<(&str, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        let class = finding.class().unwrap_or("no class");
        let place = *places.entry(class).or_insert_with(|| {
            groups.push((class, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(finding);
    }
    groups
}

/// Writes what is known about something: a headline, then a line for each fact.
///
/// # Errors
/// Those of `out`.
pub fn write_facts(facts: &[String], styles: &Styles, out: &mut dyn io::Write) -> io::Result<()> {
    for (position, fact) in facts.iter().enumerate() {
        match position {
            0 => writeln!(out, "{}", styled(styles.message, wrapped(fact, 0, &blank(2))))?,
            _ => writeln!(out, "  {}", wrapped(fact, 2, &blank(4)))?,
        }
    }
    Ok(())
}

/// `3 findings in 12 classes and 4 threads: 1 error, 2 warnings`, with what of that is known.
fn summary(report: &Report) -> String {
    let looked_at: Vec<String> =
        [("classes", "class", "classes"), ("threads", "thread", "threads")]
            .into_iter()
            .filter_map(|(name, one, many)| match report.stats.get(name) {
                Some(Statistic::Count(1)) => Some(format!("1 {one}")),
                Some(Statistic::Count(count)) => Some(format!("{count} {many}")),
                _ => None,
            })
            .collect();
    let looked_at = match looked_at.is_empty() {
        true => String::new(),
        false => format!(" in {}", looked_at.join(" and ")),
    };
    let open = report.unsuppressed().count();
    let parts: Vec<String> = Severity::ALL
        .iter()
        .rev()
        .map(|&severity| (report.count(severity), severity.name()))
        .filter(|&(count, _)| count > 0)
        .map(|(count, name)| counted(count, name))
        .collect();
    let suppressed = match report.findings().len() - open {
        0 => String::new(),
        count => format!(", and {count} suppressed"),
    };
    if parts.is_empty() {
        return format!("no findings{looked_at}{suppressed}");
    }
    let findings = counted(open, "finding");
    format!("{findings}{looked_at}: {}{suppressed}", parts.join(", "))
}
