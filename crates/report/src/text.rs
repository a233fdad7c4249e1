//! The form for people at a terminal, in the manner of rustc.
//!
//! ```text
//! error[data-race]: MESSAGE
//!   --> SUBJECT
//!    |
//!  1 | write by thread T1, holding LOCK
//!    |   at CLASS.METHOD(FILE:LINE)
//!    |
//!  2 | read by thread T2, holding no lock
//!    |   at …
//!    |
//!    = why: ++ HEURISTIC: SENTENCE
//!    = hint: …
//!    = found: observed by DETECTOR
//!    = confidence: 0.94, fingerprint …
//! ```
//!
//! Long prose is wrapped at [`WIDTH`] columns; names and frames never are, so that they can be
//! searched and copied. Names come from class files and traces, where any character may be in them:
//! control characters are escaped, so that no input can steer the terminal.

use std::fmt::Display;
use std::io;

use anstyle::{AnsiColor, Style};
use unsnarl_findings::{Access, Finding, Report, Severity};

/// The width at which prose is wrapped.
pub const WIDTH: usize = 100;

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
pub fn write(report: &Report, styles: &Styles, out: &mut dyn io::Write) -> io::Result<()> {
    for finding in report.findings() {
        write_finding(finding, styles, out)?;
        writeln!(out)?;
    }
    for note in &report.notes {
        let label = styled(styles.note, "note");
        write_wrapped(out, &format!("{label}: "), "note: ".len(), "      ", note)?;
    }
    if !report.notes.is_empty() {
        writeln!(out)?;
    }
    writeln!(out, "{}", styled(styles.message, summary(report)))
}

/// Writes one finding, as the head of the module shows.
///
/// # Errors
/// Those of `out`.
pub fn write_finding(
    finding: &Finding,
    styles: &Styles,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let header = format!("{}[{}]", finding.severity, finding.rule);
    let header = styled(styles.of(finding.severity), header);
    let message = styled(styles.message, format!(": {}", visible(&finding.message)));
    writeln!(out, "{header}{message}")?;
    writeln!(out, "{} {}", styled(styles.frame, "  -->"), visible(&finding.subject))?;
    let bar = styled(styles.frame, "   |");
    writeln!(out, "{bar}")?;
    for (position, access) in finding.accesses.iter().enumerate() {
        let number = styled(styles.frame, format!("{:>2} |", position + 1));
        writeln!(out, "{number} {}", visible(describe(access)))?;
        for frame in &access.stack {
            writeln!(out, "{bar}   at {}", visible(frame))?;
        }
        writeln!(out, "{bar}")?;
    }
    for reason in &finding.reasons {
        write_remark(out, styles, "why", &reason.to_string())?;
    }
    if let Some(hint) = &finding.hint {
        write_remark(out, styles, "hint", hint)?;
    }
    let found = format!("{} by {}", joined(&finding.evidence), joined(&finding.detectors));
    write_remark(out, styles, "found", &found)?;
    let confidence = format!("{}, fingerprint {}", finding.confidence(), finding.fingerprint());
    write_remark(out, styles, "confidence", &confidence)
}

/// `write by thread Update, holding bank.Account (this)`.
fn describe(access: &Access) -> String {
    let thread = match &access.thread {
        Some(name) => format!("thread {name}"),
        None => "any thread".to_owned(),
    };
    let locks = if access.locks.is_empty() { "no lock".to_owned() } else { joined(&access.locks) };
    format!("{} by {thread}, holding {locks}", access.kind)
}

/// `3 findings: 1 error, 2 warnings`.
fn summary(report: &Report) -> String {
    let counted = |count: usize, word: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {word}{plural}")
    };
    let parts: Vec<String> = Severity::ALL
        .iter()
        .rev()
        .map(|&severity| (report.count(severity), severity.name()))
        .filter(|&(count, _)| count > 0)
        .map(|(count, name)| counted(count, name))
        .collect();
    if parts.is_empty() {
        return "no findings".to_owned();
    }
    format!("{}: {}", counted(report.findings().len(), "finding"), parts.join(", "))
}

/// A line `   = label: text`, wrapped under its text.
fn write_remark(
    out: &mut dyn io::Write,
    styles: &Styles,
    label: &str,
    text: &str,
) -> io::Result<()> {
    let head = format!("{} {label}: ", styled(styles.frame, "   ="));
    let indent = " ".repeat("   = ".len() + label.len() + ": ".len());
    write_wrapped(out, &head, indent.len(), &indent, text)
}

/// Writes `text` after `head`, which takes `head_width` columns, broken between words so that lines
/// end before [`WIDTH`]; later lines start with `indent`. A longer word stays whole.
fn write_wrapped(
    out: &mut dyn io::Write,
    head: &str,
    head_width: usize,
    indent: &str,
    text: &str,
) -> io::Result<()> {
    write!(out, "{head}")?;
    let mut column = head_width;
    let mut at_line_start = true;
    for word in text.split_whitespace().map(visible) {
        let width = word.chars().count();
        if !at_line_start && column + 1 + width > WIDTH {
            write!(out, "\n{indent}")?;
            column = indent.len();
            at_line_start = true;
        }
        if !at_line_start {
            write!(out, " ")?;
            column += 1;
        }
        write!(out, "{word}")?;
        column += width;
        at_line_start = false;
    }
    writeln!(out)
}

/// The text with control characters escaped.
fn visible(text: impl Display) -> String {
    let mut escaped = String::new();
    for character in text.to_string().chars() {
        if character.is_control() {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    escaped
}

fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

fn joined<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}
