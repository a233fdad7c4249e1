//! The parser of effect sentences; the grammar is in `docs/models.md`.
//!
//! Recursive descent over words and signs, one function per rule of the grammar. Every error carries
//! the column (from 1, in characters) at which the sentence stopped to make sense.

use smallvec::SmallVec;

use crate::effect::{
    Blocking, Call, Effect, LockMode, MemberKind, ModelPlace, Outcome, Range, RangeEnd, Reflect,
    StartKind,
};
use crate::key;

/// Reads one sentence.
pub fn parse(sentence: &str) -> Result<Effect, SentenceError> {
    let mut parser = Parser::new(sentence)?;
    let effect = parser.effect()?;
    match parser.peek() {
        Token::End => Ok(effect),
        _ => Err(parser.expected("the end of the sentence")),
    }
}

/// Why a sentence or a method key could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}")]
pub struct SentenceError {
    /// From 1, in characters.
    pub column: usize,
    /// What was expected and what was found.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Sign(&'static str),
    End,
}

struct Parser<'a> {
    sentence: &'a str,
    /// Each token with the offset of its first byte.
    tokens: SmallVec<[(usize, Token<'a>); 24]>,
    position: usize,
}

impl<'a> Parser<'a> {
    fn new(sentence: &'a str) -> Result<Self, SentenceError> {
        let mut tokens = SmallVec::new();
        let mut offset = 0;
        loop {
            let rest = sentence[offset..].trim_start();
            offset = sentence.len() - rest.len();
            let token = match (rest.as_bytes(), sign(rest)) {
                ([], _) => Token::End,
                (_, Some(sign)) => Token::Sign(sign),
                _ => Token::Word(&rest[..word_length(rest)]),
            };
            tokens.push((offset, token));
            offset += match token {
                Token::End => return Ok(Parser { sentence, tokens, position: 0 }),
                Token::Sign(sign) => sign.len(),
                Token::Word("") => {
                    let found = rest.chars().next().unwrap_or_default();
                    return Err(error_at(
                        sentence,
                        offset,
                        format!("unexpected character `{found}`"),
                    ));
                }
                Token::Word(word) => word.len(),
            };
        }
    }

    fn peek(&self) -> Token<'a> {
        self.tokens[self.position].1
    }

    fn advance(&mut self) {
        if self.position + 1 < self.tokens.len() {
            self.position += 1;
        }
    }

    fn expected(&self, what: &str) -> SentenceError {
        let found = match self.peek() {
            Token::Word(word) => format!("`{word}`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end of the sentence".to_owned(),
        };
        let offset = self.tokens[self.position].0;
        error_at(self.sentence, offset, format!("expected {what}, found {found}"))
    }

    fn accept(&mut self, token: Token<'_>) -> bool {
        let found = self.peek() == token;
        if found {
            self.advance();
        }
        found
    }

    fn accept_word(&mut self, word: &str) -> bool {
        self.accept(Token::Word(word))
    }

    fn accept_sign(&mut self, sign: &'static str) -> bool {
        self.accept(Token::Sign(sign))
    }

    fn sign(&mut self, sign: &'static str) -> Result<(), SentenceError> {
        if self.accept_sign(sign) { Ok(()) } else { Err(self.expected(&format!("`{sign}`"))) }
    }

    fn word(&mut self, what: &str) -> Result<&'a str, SentenceError> {
        match self.peek() {
            Token::Word(word) => {
                self.advance();
                Ok(word)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn effect(&mut self) -> Result<Effect, SentenceError> {
        const VERBS: &str = "a verb (acquire, release, wait, notify, send, receive, start, join, \
                             serial, limited, call, later, flow, return, copy, read, write, reflect)";
        let Token::Word(verb) = self.peek() else {
            return Err(self.expected(VERBS));
        };
        let at_verb = self.position;
        self.advance();
        Ok(match verb {
            "acquire" => Effect::Acquire {
                lock: self.place()?,
                mode: self.mode(),
                blocking: self.blocking(Blocking::Forever),
                once: self.accept_word("once"),
                when: self.when()?,
            },
            "release" => {
                Effect::Release { lock: self.place()?, mode: self.mode(), when: self.when()? }
            }
            "wait" => Effect::Wait {
                on: self.place()?,
                lock: self.phrase("holding")?,
                timed: self.accept_word("timed"),
            },
            "notify" => Effect::Notify { on: self.place()?, all: self.accept_word("all") },
            "send" => Effect::Send {
                channel: self.place()?,
                within: self.phrase("in")?,
                blocking: self.blocking(Blocking::Never),
                when: self.when()?,
            },
            "receive" => Effect::Receive {
                channel: self.place()?,
                within: self.phrase("in")?,
                blocking: self.blocking(Blocking::Never),
                once: self.accept_word("once"),
                when: self.when()?,
            },
            "start" => self.start()?,
            "join" => Effect::Join {
                group: self.place()?,
                blocking: self.blocking(Blocking::Forever),
                when: self.when()?,
            },
            "serial" => Effect::Serial(self.place()?),
            "limited" => Effect::Limited(self.place()?),
            "call" => Effect::Call(self.call()?),
            "later" => Effect::Later(self.call()?),
            "flow" => Effect::Flow { from: self.place()?, to: self.target()? },
            "return" => Effect::Return(self.place()?),
            "copy" => Effect::Copy { from: self.place()?, to: self.target()? },
            "read" => Effect::Read {
                place: self.place()?,
                range: self.range()?,
                atomic: self.accept_word("atomic"),
            },
            "write" => Effect::Write {
                place: self.place()?,
                range: self.range()?,
                atomic: self.accept_word("atomic"),
                when: self.when()?,
            },
            "reflect" => Effect::Reflect(self.reflect()?),
            _ => {
                self.position = at_verb;
                return Err(self.expected(VERBS));
            }
        })
    }

    fn range(&mut self) -> Result<Option<Range>, SentenceError> {
        if self.accept_word("all") {
            return Ok(Some(Range::ALL));
        }
        let from = self.phrase("from")?;
        if let Some(count) = self.phrase("for")? {
            return Ok(Some(Range { from, end: Some(RangeEnd::Count(count)) }));
        }
        if let Some(end) = self.phrase("to")? {
            return Ok(Some(Range { from, end: Some(RangeEnd::Before(end)) }));
        }
        match from {
            Some(_) => Err(self.expected("`for` and how many, or `to` and an index")),
            None => Ok(None),
        }
    }

    fn start(&mut self) -> Result<Effect, SentenceError> {
        let call = self.call()?;
        if !self.accept_word("as") {
            return Err(self.expected("`as` and the kind of thread"));
        }
        let kind = self.one_of(&StartKind::ALL, "a kind of thread")?;
        Ok(Effect::Start {
            call,
            kind,
            groups: self.phrase_of_places("in")?,
            after: self.phrase_of_places("after")?,
        })
    }

    /// `word PLACE, PLACE…`, if the word is there.
    fn phrase_of_places(&mut self, word: &str) -> Result<Vec<ModelPlace>, SentenceError> {
        if self.accept_word(word) { self.places() } else { Ok(Vec::new()) }
    }

    fn places(&mut self) -> Result<Vec<ModelPlace>, SentenceError> {
        let mut places = vec![self.place()?];
        while self.accept_sign(",") {
            places.push(self.place()?);
        }
        Ok(places)
    }

    fn reflect(&mut self) -> Result<Reflect, SentenceError> {
        if self.accept_word("class") {
            return Ok(Reflect::Class { name: self.place()?, to: self.target()? });
        }
        if self.accept_word("new") {
            return Ok(Reflect::New {
                what: self.place()?,
                arguments: self.phrase("with")?,
                to: self.target()?,
            });
        }
        if self.accept_word("call") {
            return Ok(Reflect::Call {
                what: self.place()?,
                on: self.phrase("on")?,
                arguments: self.phrase("with")?,
                to: self.target()?,
            });
        }
        if self.accept_word("proxy") {
            let interfaces = self.place()?;
            let Some(handler) = self.phrase("with")? else {
                return Err(self.expected("`with` and the handler"));
            };
            let to = self.target()?;
            return Ok(Reflect::Proxy { interfaces, handler, to });
        }
        let kind = self.one_of(&MemberKind::ALL, "class, new, call, proxy or a member:")?;
        Ok(Reflect::Member {
            kind,
            class: self.place()?,
            name: self.phrase("named")?,
            to: self.target()?,
        })
    }

    /// A word of a table.
    fn one_of<T: Copy>(
        &mut self,
        table: &[(T, &'static str)],
        what: &str,
    ) -> Result<T, SentenceError> {
        for (value, word) in table {
            if self.accept_word(word) {
                return Ok(*value);
            }
        }
        let words: Vec<_> = table.iter().map(|(_, word)| *word).collect();
        Err(self.expected(&format!("{what} ({})", words.join(", "))))
    }

    fn mode(&mut self) -> LockMode {
        if self.accept_word("shared") {
            LockMode::Shared
        } else if self.accept_word("optimistic") {
            LockMode::Optimistic
        } else {
            LockMode::Exclusive
        }
    }

    fn blocking(&mut self, usual: Blocking) -> Blocking {
        if self.accept_word("try") {
            Blocking::Never
        } else if self.accept_word("timed") {
            Blocking::Timed
        } else if self.accept_word("blocking") {
            Blocking::Forever
        } else {
            usual
        }
    }

    fn when(&mut self) -> Result<Option<Outcome>, SentenceError> {
        if !self.accept_word("when") {
            return Ok(None);
        }
        const OUTCOMES: [(&str, Outcome); 11] = [
            ("true", Outcome::True),
            ("false", Outcome::False),
            ("null", Outcome::Null),
            ("nonnull", Outcome::NonNull),
            ("zero", Outcome::Zero),
            ("nonzero", Outcome::NonZero),
            ("positive", Outcome::Positive),
            ("negative", Outcome::Negative),
            ("normal", Outcome::Normal),
            ("exception", Outcome::Exception),
            ("finished", Outcome::Finished),
        ];
        if self.accept_word("throws") {
            return Ok(Some(Outcome::Throws(self.class_name()?.into())));
        }
        for (word, outcome) in OUTCOMES {
            if self.accept_word(word) {
                return Ok(Some(outcome));
            }
        }
        let words = OUTCOMES.map(|(word, _)| word).join(", ");
        Err(self.expected(&format!("an outcome ({words}, throws CLASS)")))
    }

    /// `word PLACE`, if the word is there.
    fn phrase(&mut self, word: &str) -> Result<Option<ModelPlace>, SentenceError> {
        if self.accept_word(word) { self.place().map(Some) } else { Ok(None) }
    }

    /// `-> PLACE`, where something can be put.
    fn target(&mut self) -> Result<ModelPlace, SentenceError> {
        self.sign("->")?;
        let start = self.position;
        match self.place()? {
            ModelPlace::New(_) | ModelPlace::Unknown => {
                self.position = start;
                Err(self.expected("a place that exists already"))
            }
            place => Ok(place),
        }
    }

    fn place(&mut self) -> Result<ModelPlace, SentenceError> {
        let place = self.place_or_method()?;
        match self.peek() {
            Token::Sign("(") => Err(self.expected("a place, not a call")),
            _ => Ok(place),
        }
    }

    /// `PLACE.name(PLACE, …) [-> PLACE]`.
    fn call(&mut self) -> Result<Call, SentenceError> {
        let start = self.position;
        let callee = self.place_or_method()?;
        if self.peek() != Token::Sign("(") {
            return Err(self.expected("`(` after the method to call"));
        }
        let ModelPlace::Slot(receiver, method) = callee else {
            self.position = start;
            return Err(self.expected("PLACE.method("));
        };
        self.advance();
        let mut arguments = Vec::new();
        if !self.accept_sign(")") {
            arguments = self.places()?;
            self.sign(")")?;
        }
        let result = match self.peek() {
            Token::Sign("->") => Some(self.target()?),
            _ => None,
        };
        Ok(Call { receiver: *receiver, method, arguments, result })
    }

    /// A place, whose last name is a method's if `(` follows.
    fn place_or_method(&mut self) -> Result<ModelPlace, SentenceError> {
        const PLACE: &str = "a place (this, arg0, last, result, thread, _, new CLASS, \
                             static CLASS::NAME)";
        let mut place = match self.peek() {
            Token::Word("this") => ModelPlace::This,
            Token::Word("last") => ModelPlace::Last,
            Token::Word("result") => ModelPlace::Result,
            Token::Word("thread") => ModelPlace::Thread,
            Token::Word("_") => {
                self.advance();
                return Ok(ModelPlace::Unknown);
            }
            Token::Word("new") => {
                self.advance();
                return self.fresh();
            }
            Token::Word("static") => {
                self.advance();
                let class = self.class_name()?.into();
                self.sign("::")?;
                let Token::Word(name) = self.peek() else {
                    return Err(self.expected("a name"));
                };
                ModelPlace::Static { class, name: name.into() }
            }
            Token::Word(word) => match argument_index(word) {
                Some(index) => ModelPlace::Argument(index),
                None => return Err(self.expected(PLACE)),
            },
            _ => return Err(self.expected(PLACE)),
        };
        self.advance();
        loop {
            if self.accept_sign(".") {
                let name = self.word("the name of a slot or method")?;
                place = ModelPlace::Slot(place.into(), name.into());
            } else if self.accept_sign("[") {
                if self.accept_sign("]") {
                    place = ModelPlace::Element(place.into());
                } else {
                    let selector = self.place()?.into();
                    self.sign("]")?;
                    place = ModelPlace::Variable { object: place.into(), selector };
                }
            } else {
                return Ok(place);
            }
        }
    }

    /// The class of a fresh object; it has no contents yet, so nothing can follow.
    fn fresh(&mut self) -> Result<ModelPlace, SentenceError> {
        let start = self.position;
        let class = self.class_name()?;
        let mut dimensions = 0;
        while self.accept_sign("[") {
            self.sign("]")?;
            dimensions += 1;
        }
        let primitive = key::descriptor_of_primitive(&class);
        if dimensions == 0 {
            if primitive.is_some() {
                self.position = start;
                return Err(self.expected("a class or an array"));
            }
            return Ok(ModelPlace::New(class.into()));
        }
        let element = match primitive {
            Some(descriptor) => descriptor.to_owned(),
            None => format!("L{class};"),
        };
        Ok(ModelPlace::New(("[".repeat(dimensions) + &element).into()))
    }

    /// A dotted class name, in internal form.
    fn class_name(&mut self) -> Result<String, SentenceError> {
        let mut name = self.word("the name of a class")?.to_owned();
        while self.accept_sign(".") {
            name.push('/');
            name.push_str(self.word("the rest of the name of a class")?);
        }
        Ok(name)
    }
}

/// The number in `arg7`, written without zeros in front.
fn argument_index(word: &str) -> Option<u8> {
    let digits = word.strip_prefix("arg")?;
    let plain = digits.bytes().all(|digit| digit.is_ascii_digit());
    let canonical = plain && (digits == "0" || !digits.starts_with('0'));
    digits.parse().ok().filter(|_| canonical)
}

fn error_at(sentence: &str, offset: usize, message: String) -> SentenceError {
    SentenceError { column: sentence[..offset].chars().count() + 1, message }
}

/// The sign a text begins with.
fn sign(text: &str) -> Option<&'static str> {
    Some(match text.as_bytes() {
        [b'-', b'>', ..] => "->",
        [b':', b':', ..] => "::",
        [b'.', ..] => ".",
        [b',', ..] => ",",
        [b'(', ..] => "(",
        [b')', ..] => ")",
        [b'[', ..] => "[",
        [b']', ..] => "]",
        _ => return None,
    })
}

/// Letters, digits, `_`, `$`, and single hyphens between them; also `<init>`.
fn word_length(text: &str) -> usize {
    if text.starts_with("<init>") {
        return "<init>".len();
    }
    let is_part = |c: char| {
        c.is_ascii_alphanumeric() || !c.is_ascii() && c.is_alphanumeric() || c == '_' || c == '$'
    };
    let mut length = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((offset, c)) = characters.next() {
        let hyphen =
            c == '-' && length > 0 && characters.peek().is_some_and(|(_, next)| is_part(*next));
        if !is_part(c) && !hyphen {
            break;
        }
        length = offset + c.len_utf8();
    }
    length
}
