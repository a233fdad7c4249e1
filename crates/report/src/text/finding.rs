//! One finding, as the head of the module above shows it.

use std::collections::BTreeSet;
use std::io;

use unsnarl_findings::{
    Access, Effect, Finding, Frame, Reason, StepKind, Subject, SuppressionKind,
};

use super::layout::{Margin, WIDTH, blank, cut, styled, visible, wrapped};
use super::{Detail, View};
use crate::source::marked;
use crate::words::{MOST, describe, joined};

/// A longer stack is cut in its middle: where it ends and where its thread begins say most.
const MOST_FRAMES: usize = 12;

/// How many frames next to the root of the thread stay when a stack is cut.
const OUTER_FRAMES: usize = 3;

/// How many lines of source are shown before and after that of an access.
const AROUND: u32 = 1;

/// Writes one finding.
///
/// # Errors
/// Those of `out`.
pub fn write_finding(
    finding: &Finding,
    view: &View<'_>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let header = format!("{}[{}]", finding.severity, finding.rule);
    let width = header.len() + ": ".len();
    let header = styled(view.styles.of(finding.severity), header);
    let message = format!(": {}", wrapped(&finding.message, width, &blank(2)));
    writeln!(out, "{header}{}", styled(view.styles.message, message))?;
    Writer { finding, view, bar: styled(view.styles.frame, "   |"), out }.write()
}

/// One line: where, what, and the name by which it can be asked for.
pub(super) fn write_line(
    finding: &Finding,
    view: &View<'_>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let place = finding.accesses.first().and_then(Access::site).map(|site| {
        let place = view.sources.place(site).map(|(path, line)| format!("{path}:{line}"));
        place.unwrap_or_else(|| site.to_string())
    });
    let place = visible(place.unwrap_or_else(|| shown_subject(&finding.subject, Detail::Normal)));
    let header = format!("{}[{}]", finding.severity, finding.rule);
    let header = styled(view.styles.of(finding.severity), header);
    let message = visible(&finding.message);
    let (confidence, fingerprint) = (finding.confidence(), finding.fingerprint());
    writeln!(out, "{place}: {header}: {message} ({confidence}, {fingerprint})")
}

/// The lines of a finding below its message.
struct Writer<'a, 'o> {
    finding: &'a Finding,
    view: &'a View<'a>,
    bar: String,
    out: &'o mut dyn io::Write,
}

impl Writer<'_, '_> {
    fn write(&mut self) -> io::Result<()> {
        let Self { finding, view, .. } = *self;
        let arrow = styled(view.styles.frame, "  -->");
        let subject = visible(shown_subject(&finding.subject, view.detail));
        writeln!(self.out, "{arrow} {subject} (confidence {})", finding.confidence())?;
        writeln!(self.out, "{}", self.bar)?;
        let accesses = different_accesses(finding);
        let shown = self.most_of(accesses.len());
        for (position, access) in accesses[..shown].iter().enumerate() {
            self.write_access(position, access)?;
        }
        if shown < accesses.len() {
            writeln!(self.out, "{} {}", self.bar, more(accesses.len() - shown))?;
            writeln!(self.out, "{}", self.bar)?;
        }
        if view.detail == Detail::Verbose {
            self.write_timeline()?;
        }
        self.write_reasons()?;
        if let Some(hint) = &finding.hint {
            self.write_remark("hint", hint)?;
        }
        if let Some(suppression) = &finding.suppression {
            let place = match suppression.kind {
                SuppressionKind::InSource => "in the source",
                SuppressionKind::External => "in a file beside it",
            };
            let why = suppression.justification.as_deref().unwrap_or("no reason is given");
            self.write_remark("suppressed", &format!("{place}: {why}"))?;
        }
        let (evidence, detectors) = (joined(&finding.evidence), joined(&finding.detectors));
        let found = format!("{evidence} by {detectors}, fingerprint {}", finding.fingerprint());
        self.write_remark("found", &found)
    }

    /// How many of `all` are shown.
    fn most_of(&self, all: usize) -> usize {
        match self.view.detail {
            Detail::Verbose => all,
            Detail::Normal | Detail::Quiet => MOST.min(all),
        }
    }

    fn write_access(&mut self, position: usize, access: &Access) -> io::Result<()> {
        let number = styled(self.view.styles.frame, format!("{:>2} |", position + 1));
        let margin = Margin { text: format!("{}     ", self.bar), width: 9 };
        writeln!(self.out, "{number} {}", wrapped(&describe(access), 5, &margin))?;
        self.write_source(access)?;
        self.write_stack(access)?;
        writeln!(self.out, "{}", self.bar)
    }

    /// The line of the access with those around it, and what of it is the access.
    fn write_source(&mut self, access: &Access) -> io::Result<()> {
        let Some((file, line)) = access.site().and_then(|site| self.view.sources.of(site)) else {
            return Ok(());
        };
        let lines: Vec<(u32, &str)> = file.window(line, AROUND).collect();
        let spaces = |text: &str| text.len() - text.trim_start_matches(' ').len();
        let written = lines.iter().filter(|(_, text)| !text.is_empty());
        let indent = written.map(|(_, text)| spaces(text)).min().unwrap_or(0);
        let width = (line + AROUND).to_string().len();
        let column = "   |   ".len() + width + " | ".len();
        for (number, text) in lines {
            let is_blank = text.trim().is_empty() && number != line;
            if is_blank {
                continue;
            }
            let shown = cut(text.get(indent..).unwrap_or_default(), column);
            let gutter = styled(self.view.styles.frame, format!("{number:>width$} |"));
            writeln!(self.out, "{}   {gutter} {shown}", self.bar)?;
            if number == line {
                let mark = marked(text, self.finding, access);
                // What is cut away is marked where it was cut.
                let start = mark.start.saturating_sub(indent).min(WIDTH - column - 1);
                let carets = "^".repeat(mark.len().clamp(1, WIDTH - column - start));
                let carets = styled(self.view.styles.of(self.finding.severity), carets);
                let gutter = styled(self.view.styles.frame, format!("{:>width$} |", ""));
                writeln!(self.out, "{}   {gutter} {}{carets}", self.bar, " ".repeat(start))?;
            }
        }
        Ok(())
    }

    /// The frames of a stack, innermost first, those in the middle of a long one counted.
    fn write_stack(&mut self, access: &Access) -> io::Result<()> {
        let stack = &access.stack;
        let is_cut = self.view.detail != Detail::Verbose && stack.len() > MOST_FRAMES;
        let (inner, outer) = match is_cut {
            true => (&stack[..MOST_FRAMES - OUTER_FRAMES], &stack[stack.len() - OUTER_FRAMES..]),
            false => (stack.as_slice(), [].as_slice()),
        };
        self.write_frames(inner)?;
        if is_cut {
            writeln!(self.out, "{}   … {} more", self.bar, stack.len() - MOST_FRAMES)?;
        }
        self.write_frames(outer)
    }

    fn write_frames(&mut self, frames: &[Frame]) -> io::Result<()> {
        for frame in frames {
            writeln!(self.out, "{}   at {}", self.bar, visible(frame))?;
        }
        Ok(())
    }

    /// What the threads did to synchronize, a line each.
    fn write_timeline(&mut self) -> io::Result<()> {
        let Finding { timeline, accesses, .. } = self.finding;
        let thread = |lane: usize| {
            let access = accesses.get(lane);
            access.and_then(|access| access.thread.as_deref()).unwrap_or("any thread")
        };
        let label = format!("{} run: ", styled(self.view.styles.frame, "   ="));
        let indent = "   = run: ".len();
        for (position, step) in timeline.iter().enumerate() {
            let mut line = thread(step.lane).to_owned();
            match (step.kind, &step.on) {
                (StepKind::Access, _) => line.push_str(&format!(": access {}", step.lane + 1)),
                (kind, on) => {
                    line.push_str(&format!(": {kind} {}", on.as_deref().unwrap_or_default()));
                }
            }
            if let Some(site) = &step.site {
                line.push_str(&format!(" at {site}"));
            }
            if let Some(before) = step.after.and_then(|after| timeline.get(after)) {
                line.push_str(&format!(", after {} by {}", before.kind, thread(before.lane)));
            }
            if step.is_behind_gap {
                line.push_str(", and perhaps more before it");
            }
            let label = if position == 0 { label.clone() } else { " ".repeat(indent) };
            writeln!(self.out, "{label}{}", wrapped(&line, indent, &blank(indent + 2)))?;
        }
        Ok(())
    }

    /// The reasons under one label, the signs of their effects before their names.
    fn write_reasons(&mut self) -> io::Result<()> {
        let reasons = &self.finding.reasons;
        let signs = |reason: &Reason| match reason.effect {
            Effect::NONE => String::new(),
            effect => effect.to_string(),
        };
        let width = reasons.iter().map(|reason| signs(reason).len()).max().unwrap_or(0);
        let label = format!("{} why: ", styled(self.view.styles.frame, "   ="));
        let indent = "   = why: ".len();
        let shown = self.most_of(reasons.len());
        for (position, reason) in reasons[..shown].iter().enumerate() {
            let label = if position == 0 { label.clone() } else { " ".repeat(indent) };
            let signs =
                if width == 0 { String::new() } else { format!("{:<width$} ", signs(reason)) };
            let column = indent + signs.len();
            let text = format!("{}: {}", reason.name, reason.sentence);
            writeln!(self.out, "{label}{signs}{}", wrapped(&text, column, &blank(column)))?;
        }
        if shown < reasons.len() {
            writeln!(self.out, "{}{}", " ".repeat(indent), more(reasons.len() - shown))?;
        }
        Ok(())
    }

    /// A line `   = label: text`, wrapped under its text.
    fn write_remark(&mut self, label: &str, text: &str) -> io::Result<()> {
        let width = "   = ".len() + label.len() + ": ".len();
        let text = wrapped(text, width, &blank(width));
        writeln!(self.out, "{} {label}: {text}", styled(self.view.styles.frame, "   ="))
    }
}

/// The accesses without those that would look the same once more; the first two are the defect.
fn different_accesses(finding: &Finding) -> Vec<&Access> {
    let mut seen = BTreeSet::new();
    let accesses = finding.accesses.iter().enumerate();
    let different = accesses.filter(|&(position, access)| seen.insert(access) || position < 2);
    different.map(|(_, access)| access).collect()
}

/// The subject, of a long cycle only its beginning.
fn shown_subject(subject: &Subject, detail: Detail) -> String {
    let locks = subject.as_locks();
    if detail == Detail::Verbose || locks.len() <= MOST {
        return subject.to_string();
    }
    let first: Vec<String> = locks[..MOST].iter().map(ToString::to_string).collect();
    format!("{} -> … {} more", first.join(" -> "), locks.len() - MOST)
}

fn more(count: usize) -> String {
    format!("… {count} more (-v shows them)")
}
