//! What the text of a Java file says to Unsnarl: `@SuppressWarnings("unsnarl:<rule>")` and comments such as
//! `// unsnarl: ignore <rule> <reason>`.
//!
//! Declarations are recognized by their shape, not by a grammar: types, methods and fields with the lines that
//! they take. That is enough to know what an annotation is on.
//!
//! *Guarantees*: any text is taken; what is in a string, or in a comment that does not begin with `unsnarl:`, is never
//! a mark. *Misses*: annotations on what is declared inside a method, Unicode escapes in source, and the text of other
//! languages than Java, of which only comments are understood.

mod declarations;
mod tokens;

use std::ops::RangeInclusive;

use declarations::{Declaration, Kind, declarations};
use tokens::{Token, TokenKind, tokens};

/// That findings of some rules may stay at some place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The rules, as they are written.
    pub rules: Vec<String>,
    /// Why; only a comment has room for it.
    pub reason: Option<String>,
    /// Where it stands.
    pub line: u32,
    /// The lines of code that it is about.
    pub lines: RangeInclusive<u32>,
    /// What it is about beside the code in its lines.
    pub about: About,
    /// Whether it is a comment.
    pub is_comment: bool,
}

/// What is declared where a mark is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// Nothing that matters.
    Code,
    /// Fields, each with its class: `a.B$C`, `count`.
    Fields(Vec<(String, String)>),
    /// A type, and those in it: `a.B$C`.
    Type(String),
}

/// The marks of a text, in the order in which they stand.
#[must_use]
pub fn marks(text: &str) -> Vec<Mark> {
    let tokens = tokens(text);
    let declarations = declarations(&tokens);
    let mut marks: Vec<Mark> = declarations.iter().flat_map(annotations).collect();
    for (position, token) in tokens.iter().enumerate() {
        if let TokenKind::Comment(comment) = token.kind {
            marks.extend(comment_mark(comment, position, &tokens, &declarations));
        }
    }
    marks.sort_by_key(|mark| mark.line);
    marks
}

fn annotations(declaration: &Declaration<'_>) -> Option<Mark> {
    let rules: Vec<String> = declaration
        .suppressed
        .iter()
        .filter_map(|(text, _)| Some(text.strip_prefix("unsnarl:")?.trim().to_owned()))
        .collect();
    let (_, line) = *declaration.suppressed.first().filter(|_| !rules.is_empty())?;
    let about = match &declaration.kind {
        Kind::Type { name } => About::Type(name.clone()),
        Kind::Fields { class, names } => About::Fields(fields(class, names)),
        Kind::Method => About::Code,
    };
    let lines = declaration.lines.clone();
    Some(Mark { rules, reason: None, line, lines, about, is_comment: false })
}

/// The mark of a comment: about its line, or about the next line with code if it has a line for itself.
fn comment_mark(
    comment: &str,
    position: usize,
    tokens: &[Token<'_>],
    declarations: &[Declaration<'_>],
) -> Option<Mark> {
    let text = comment.trim_start_matches(['/', '*']).trim_end_matches('/').trim_end_matches('*');
    let said = text.trim().strip_prefix("unsnarl:")?.trim();
    let (verb, rest) = said.split_once(char::is_whitespace).unwrap_or((said, ""));
    if verb != "ignore" {
        return None;
    }
    let rest = rest.trim();
    let (rules, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let rules = rules.trim_end_matches(':').split(',');
    let rules: Vec<String> = rules.filter(|it| !it.is_empty()).map(str::to_owned).collect();
    let reason =
        reason.trim_start_matches(|it: char| it.is_whitespace() || matches!(it, ':' | '-'));
    let line = tokens[position].line;
    let mut code = tokens.iter().filter(|token| !matches!(token.kind, TokenKind::Comment(_)));
    let target = match code.clone().any(|token| token.line == line) {
        true => line,
        false => code.find(|token| token.line > line).map_or(line, |token| token.line),
    };
    let declared = declarations.iter().find_map(|declaration| match &declaration.kind {
        Kind::Fields { class, names } if declaration.lines.contains(&target) => {
            Some(About::Fields(fields(class, names)))
        }
        _ => None,
    });
    Some(Mark {
        rules,
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
        line,
        lines: target..=target,
        about: declared.unwrap_or(About::Code),
        is_comment: true,
    })
}

fn fields(class: &str, names: &[&str]) -> Vec<(String, String)> {
    names.iter().map(|&name| (class.to_owned(), name.to_owned())).collect()
}
