//! Words on a page: breaking, cutting, escaping, counting.

use std::fmt::Display;

use anstyle::Style;

use crate::source::steers;

/// The width at which prose is wrapped.
pub const WIDTH: usize = 100;

/// What later lines of a broken text begin with, and how many columns that takes.
pub(super) struct Margin {
    pub(super) text: String,
    pub(super) width: usize,
}

/// A margin of spaces.
pub(super) fn blank(width: usize) -> Margin {
    Margin { text: " ".repeat(width), width }
}

/// The text broken between words so that lines end before [`WIDTH`]. The first line begins at `column`,
/// the others with `margin`. A longer word stays whole.
pub(super) fn wrapped(text: &str, column: usize, margin: &Margin) -> String {
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

/// The text without what does not fit before `column`.
pub(super) fn cut(text: &str, column: usize) -> String {
    let room = WIDTH.saturating_sub(column);
    match text.chars().count() > room {
        true => text.chars().take(room.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// The text with characters escaped that would steer the terminal.
pub(super) fn visible(text: impl Display) -> String {
    let mut escaped = String::new();
    for character in text.to_string().chars() {
        if steers(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    escaped
}

pub(super) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// `1 finding`, `2 findings`.
pub(super) fn counted(count: usize, word: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {word}{plural}")
}
