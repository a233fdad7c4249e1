//! Types, methods and fields of a Java text, by their shape.
//!
//! A declaration begins after `;`, `{` or `}` of the body of a type, or of the file. A name after `class`,
//! `interface`, `enum` or `record` makes it a type; a name before a parenthesis a method; names before `=`, `,` or
//! `;` make it fields.

use std::ops::RangeInclusive;

use crate::tokens::{Token, TokenKind};

/// Something with a name in the body of a type, or a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declaration<'t> {
    pub(crate) kind: Kind<'t>,
    /// From its first annotation to its end.
    pub(crate) lines: RangeInclusive<u32>,
    /// What its `@SuppressWarnings` says, with the lines of that.
    pub(crate) suppressed: Vec<(&'t str, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind<'t> {
    Type { name: String },
    Method,
    Fields { class: String, names: Vec<&'t str> },
}

pub(crate) fn declarations<'t>(tokens: &[Token<'t>]) -> Vec<Declaration<'t>> {
    let code = tokens.iter().filter(|token| !matches!(token.kind, TokenKind::Comment(_)));
    let mut reader = Reader { tokens: code.copied().collect(), at: 0, found: Vec::new() };
    let package = reader.package();
    reader.body(&package, None);
    reader.found
}

struct Reader<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    found: Vec<Declaration<'t>>,
}

/// What is known of a declaration before its end.
#[derive(Default)]
struct Header<'t> {
    start: Option<u32>,
    suppressed: Vec<(&'t str, u32)>,
    /// The name after `class` and the like.
    type_name: Option<&'t str>,
    is_method: bool,
    names: Vec<&'t str>,
    last_word: Option<&'t str>,
}

/// More types inside each other than this are nobody's program.
const DEEPEST: usize = 100;

impl<'t> Reader<'t> {
    fn kind(&self) -> Option<TokenKind<'t>> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    fn line(&self) -> u32 {
        let at = self.at.min(self.tokens.len().saturating_sub(1));
        self.tokens.get(at).map_or(1, |token| token.line)
    }

    /// What stands before the names of classes: `a.b.`, or nothing.
    fn package(&mut self) -> String {
        let is_package = |token: &Token<'_>| token.kind == TokenKind::Word("package");
        let Some(position) = self.tokens.iter().position(is_package) else { return String::new() };
        let mut name = String::new();
        for token in &self.tokens[position + 1..] {
            match token.kind {
                TokenKind::Word(word) => name.push_str(word),
                TokenKind::Sign('.') => name.push('.'),
                _ => break,
            }
        }
        name + "."
    }

    /// The declarations up to the brace that closes the body, which is passed over. `prefix` stands before the names
    /// of types in it, `class` is the type whose body it is.
    fn body(&mut self, prefix: &str, class: Option<&str>) {
        let mut header = Header::default();
        while let Some(kind) = self.kind() {
            let line = self.line();
            header.start.get_or_insert(line);
            match kind {
                TokenKind::Sign('}') => {
                    self.at += 1;
                    if class.is_some() {
                        return;
                    }
                    header = Header::default();
                }
                TokenKind::Sign('@') => self.annotation(&mut header),
                TokenKind::Sign('<') => self.skip('<', '>'),
                TokenKind::Sign('[') => self.skip('[', ']'),
                TokenKind::Sign('(') => {
                    header.is_method |= header.type_name.is_none() && header.last_word.is_some();
                    self.skip('(', ')');
                }
                TokenKind::Sign('{') => {
                    let header = std::mem::take(&mut header);
                    match header.type_name {
                        Some(name) if prefix.matches('$').count() < DEEPEST => {
                            self.at += 1;
                            let name = format!("{prefix}{name}");
                            self.body(&format!("{name}$"), Some(&name));
                            self.end(header, Kind::Type { name });
                        }
                        _ => {
                            self.skip('{', '}');
                            if header.is_method {
                                self.end(header, Kind::Method);
                            }
                        }
                    }
                }
                TokenKind::Sign('=' | ',') if !header.is_method => {
                    header.names.extend(header.last_word.take());
                    self.initializer(kind);
                }
                TokenKind::Sign(';') => {
                    let mut header = std::mem::take(&mut header);
                    self.at += 1;
                    header.names.extend(header.last_word.take());
                    let names = std::mem::take(&mut header.names);
                    match class {
                        Some(_) if header.is_method => self.end(header, Kind::Method),
                        Some(class) => {
                            self.end(header, Kind::Fields { class: class.to_owned(), names })
                        }
                        None => {}
                    }
                }
                TokenKind::Word(word) => {
                    self.at += 1;
                    match (word, self.kind()) {
                        (
                            "class" | "interface" | "enum" | "record",
                            Some(TokenKind::Word(name)),
                        ) if !header.is_method && header.type_name.is_none() => {
                            header.type_name = Some(name);
                            self.at += 1;
                        }
                        _ if !header.is_method => header.last_word = Some(word),
                        _ => {}
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    fn end(&mut self, header: Header<'t>, kind: Kind<'t>) {
        let last = self.tokens[..self.at].last().map_or(1, |token| token.line);
        let lines = header.start.unwrap_or(last)..=last;
        self.found.push(Declaration { kind, lines, suppressed: header.suppressed });
    }

    /// `@a.b.Name`, with what is in its parentheses.
    fn annotation(&mut self, header: &mut Header<'t>) {
        self.at += 1;
        // `@interface` declares a type.
        if self.kind() == Some(TokenKind::Word("interface")) {
            return;
        }
        let mut name = "";
        while let Some(kind) = self.kind() {
            match kind {
                TokenKind::Word(word) if name.is_empty() => name = word,
                TokenKind::Sign('.') => name = "",
                _ => break,
            }
            self.at += 1;
        }
        if self.kind() == Some(TokenKind::Sign('(')) {
            let from = self.at;
            self.skip('(', ')');
            if name == "SuppressWarnings" {
                let inside = self.tokens[from..self.at].iter();
                header.suppressed.extend(inside.filter_map(|token| match token.kind {
                    TokenKind::Text(text) => Some((text, token.line)),
                    _ => None,
                }));
            }
        }
    }

    /// Passes over brackets and all that is in them.
    fn skip(&mut self, open: char, close: char) {
        let mut depth = 0_usize;
        while let Some(kind) = self.kind() {
            self.at += 1;
            match kind {
                TokenKind::Sign(sign) if sign == open => depth += 1,
                TokenKind::Sign(sign) if sign == close => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// Passes over the value of a field, up to `;`, or to a comma before the next field's name.
    fn initializer(&mut self, begins_with: TokenKind<'t>) {
        self.at += 1;
        if begins_with != TokenKind::Sign('=') {
            return;
        }
        while let Some(kind) = self.kind() {
            match kind {
                TokenKind::Sign(';' | '}') => return,
                TokenKind::Sign(',') if self.is_next_field() => return,
                TokenKind::Sign('(') => self.skip('(', ')'),
                TokenKind::Sign('{') => self.skip('{', '}'),
                TokenKind::Sign('[') => self.skip('[', ']'),
                _ => self.at += 1,
            }
        }
    }

    /// Whether `, name` with `=`, `,` or `;` follows, unlike in the type arguments of `new Map<A, B>()`.
    fn is_next_field(&self) -> bool {
        let kind = |ahead: usize| self.tokens.get(self.at + ahead).map(|token| token.kind);
        matches!(
            (kind(1), kind(2)),
            (Some(TokenKind::Word(_)), Some(TokenKind::Sign('=' | ',' | ';' | '[')))
        )
    }
}
