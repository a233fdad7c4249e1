//! The words, signs, strings and comments of a Java text, with their lines.

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'t> {
    pub(crate) kind: TokenKind<'t>,
    pub(crate) line: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind<'t> {
    /// A name, a keyword or a number.
    Word(&'t str),
    /// A string, without its quotes.
    Text(&'t str),
    Sign(char),
    /// With its slashes.
    Comment(&'t str),
}

/// Takes a text apart. What does not end goes to the end of its line, or of the text.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let (kind, length) = match first {
            _ if rest.starts_with("//") => {
                let length = rest.find('\n').unwrap_or(rest.len());
                (Some(TokenKind::Comment(&rest[..length])), length)
            }
            _ if rest.starts_with("/*") => {
                let length = rest[2..].find("*/").map_or(rest.len(), |end| end + 4);
                (Some(TokenKind::Comment(&rest[..length])), length)
            }
            _ if rest.starts_with("\"\"\"") => {
                let length = 3 + quoted(&rest[3..], "\"\"\"", true);
                (Some(TokenKind::Text(inner(&rest[..length], 3))), length)
            }
            '"' | '\'' => {
                let length = 1 + quoted(&rest[1..], &rest[..1], false);
                (Some(TokenKind::Text(inner(&rest[..length], 1))), length)
            }
            _ if is_word(first) => {
                let length = rest.find(|it| !is_word(it)).unwrap_or(rest.len());
                (Some(TokenKind::Word(&rest[..length])), length)
            }
            _ if first.is_whitespace() => (None, first.len_utf8()),
            _ => (Some(TokenKind::Sign(first)), first.len_utf8()),
        };
        tokens.extend(kind.map(|kind| Token { kind, line }));
        line += rest[..length].bytes().map(|byte| u32::from(byte == b'\n')).sum::<u32>();
        rest = &rest[length..];
    }
    tokens
}

/// How long a literal is after its opening quotes, with its closing ones.
fn quoted(rest: &str, quotes: &str, spans_lines: bool) -> usize {
    let mut escaped = false;
    for (position, character) in rest.char_indices() {
        if !escaped && rest[position..].starts_with(quotes) {
            return position + quotes.len();
        }
        if character == '\n' && !spans_lines {
            return position;
        }
        escaped = character == '\\' && !escaped;
    }
    rest.len()
}

/// A literal without its quotes.
fn inner(literal: &str, quotes: usize) -> &str {
    literal[quotes..].trim_end_matches(['"', '\''])
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}
