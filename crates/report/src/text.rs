//! The form for people at a terminal, in the manner of rustc.
//!
//! ```text
//! error[data-race]: MESSAGE
//!   --> SUBJECT (confidence 0.94)
//!    |
//!  1 | write by thread T1, holding LOCK
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
//! Long prose is wrapped at [`WIDTH`] columns; names and frames never are, so that they can be
//! searched and copied. Names come from class files and traces, where any character may be in them:
//! control characters are escaped, so that no input can steer the terminal.

use std::fmt::Display;
use std::io;

use anstyle::{AnsiColor, Style};
use unsnarl_findings::{Access, Effect, Finding, Reason, Report, Severity, Statistic};

/// The width at which prose is wrapped.
pub const WIDTH: usize = 100;

/// A longer stack is cut in its middle: where it ends and where its thread begins say most.
const MOST_FRAMES: usize = 12;

/// How many frames next to the root of the thread stay when a stack is cut.
const OUTER_FRAMES: usize = 3;

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
        let width = "note: ".len();
        let note = wrapped(note, width, &blank(width));
        writeln!(out, "{}: {note}", styled(styles.note, "note"))?;
    }
    if !report.notes.is_empty() {
        writeln!(out)?;
    }
    writeln!(out, "{}", styled(styles.message, summary(report)))
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
    let width = header.len() + ": ".len();
    let header = styled(styles.of(finding.severity), header);
    let message = format!(": {}", wrapped(&finding.message, width, &blank(2)));
    writeln!(out, "{header}{}", styled(styles.message, message))?;
    let arrow = styled(styles.frame, "  -->");
    writeln!(out, "{arrow} {} (confidence {})", visible(&finding.subject), finding.confidence())?;
    let bar = styled(styles.frame, "   |");
    writeln!(out, "{bar}")?;
    for (position, access) in shown_accesses(finding).into_iter().enumerate() {
        let number = styled(styles.frame, format!("{:>2} |", position + 1));
        let margin = Margin { text: format!("{bar}     "), width: 9 };
        writeln!(out, "{number} {}", wrapped(&describe(access), 5, &margin))?;
        write_stack(out, &bar, access)?;
        writeln!(out, "{bar}")?;
    }
    write_reasons(out, styles, &finding.reasons)?;
    if let Some(hint) = &finding.hint {
        write_remark(out, styles, "hint", hint)?;
    }
    let (evidence, detectors) = (joined(&finding.evidence), joined(&finding.detectors));
    let found = format!("{evidence} by {detectors}, fingerprint {}", finding.fingerprint());
    write_remark(out, styles, "found", &found)
}

/// The accesses without those that would look the same once more; the first two are the defect.
fn shown_accesses(finding: &Finding) -> Vec<&Access> {
    let mut shown: Vec<&Access> = Vec::new();
    for access in &finding.accesses {
        if shown.len() < 2 || !shown.contains(&access) {
            shown.push(access);
        }
    }
    shown
}

/// The reasons under one label, the signs of their effects before their names.
fn write_reasons(out: &mut dyn io::Write, styles: &Styles, reasons: &[Reason]) -> io::Result<()> {
    let signs = |reason: &Reason| match reason.effect {
        Effect::NONE => String::new(),
        effect => effect.to_string(),
    };
    let width = reasons.iter().map(|reason| signs(reason).len()).max().unwrap_or(0);
    let label = format!("{} why: ", styled(styles.frame, "   ="));
    let indent = "   = why: ".len();
    for (position, reason) in reasons.iter().enumerate() {
        let label = if position == 0 { label.clone() } else { " ".repeat(indent) };
        let signs = if width == 0 { String::new() } else { format!("{:<width$} ", signs(reason)) };
        let column = indent + signs.len();
        let text = format!("{}: {}", reason.name, reason.sentence);
        writeln!(out, "{label}{signs}{}", wrapped(&text, column, &blank(column)))?;
    }
    Ok(())
}

/// The frames of a stack, innermost first, those in the middle of a long one counted.
fn write_stack(out: &mut dyn io::Write, bar: &str, access: &Access) -> io::Result<()> {
    let stack = &access.stack;
    let (inner, outer) = match stack.len() {
        length if length > MOST_FRAMES => {
            (&stack[..MOST_FRAMES - OUTER_FRAMES], &stack[length - OUTER_FRAMES..])
        }
        _ => (stack.as_slice(), [].as_slice()),
    };
    for frame in inner {
        writeln!(out, "{bar}   at {}", visible(frame))?;
    }
    if !outer.is_empty() {
        writeln!(out, "{bar}   … {} more", stack.len() - MOST_FRAMES)?;
    }
    for frame in outer {
        writeln!(out, "{bar}   at {}", visible(frame))?;
    }
    Ok(())
}

/// `write by thread Update, holding bank.Account (this)`.
fn describe(access: &Access) -> String {
    let thread = match &access.thread {
        // `pool task at Server.java:12` says itself what it is.
        Some(name) if name.contains(' ') => name.clone(),
        Some(name) => format!("thread {name}"),
        None => "any thread".to_owned(),
    };
    let locks = if access.locks.is_empty() { "no lock".to_owned() } else { joined(&access.locks) };
    format!("{} by {thread}, holding {locks}", access.kind)
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
        return format!("no findings{looked_at}");
    }
    let findings = counted(report.findings().len(), "finding");
    format!("{findings}{looked_at}: {}", parts.join(", "))
}

/// A line `   = label: text`, wrapped under its text.
fn write_remark(
    out: &mut dyn io::Write,
    styles: &Styles,
    label: &str,
    text: &str,
) -> io::Result<()> {
    let width = "   = ".len() + label.len() + ": ".len();
    let text = wrapped(text, width, &blank(width));
    writeln!(out, "{} {label}: {text}", styled(styles.frame, "   ="))
}

/// What later lines of a broken text begin with, and how many columns that takes.
struct Margin {
    text: String,
    width: usize,
}

/// The text broken between words so that lines end before [`WIDTH`]. The first line begins at `column`,
/// the others with `margin`. A longer word stays whole.
fn wrapped(text: &str, column: usize, margin: &Margin) -> String {
    let mut broken = String::new();
    let mut column = column;
    let mut at_line_start = true;
    for word in text.split_whitespace().map(visible) {
        let width = word.chars().count();
        if !at_line_start && column + 1 + width > WIDTH {
            broken.push('\n');
            broken.push_str(&margin.text);
            column = margin.width;
            at_line_start = true;
        }
        if !at_line_start {
            broken.push(' ');
            column += 1;
        }
        broken.push_str(&word);
        column += width;
        at_line_start = false;
    }
    broken
}

/// A margin of spaces.
fn blank(width: usize) -> Margin {
    Margin { text: " ".repeat(width), width }
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
