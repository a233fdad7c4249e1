//! Lines of the most common shape, `T0|w(V1)|12`: every name is the usual letter and a number, and
//! nothing follows the location. They are read in one pass; every other line takes the general way,
//! which gives the same result for these as well.

/// What is on a plain line.
#[derive(Clone, Copy)]
pub(super) struct PlainLine {
    pub(super) thread: u32,
    pub(super) word: Word,
    /// The number of the variable, lock or thread.
    pub(super) target: u32,
    pub(super) location: u32,
    /// How many bytes it has, with the line feed.
    pub(super) length: usize,
}

/// The operations of plain lines.
#[derive(Clone, Copy)]
pub(super) enum Word {
    Read,
    Write,
    Acquire,
    Release,
    Fork,
    Join,
}

impl PlainLine {
    /// The line at the beginning of `bytes`, if it is a plain one with its line feed.
    #[inline]
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(b"T")?;
        let (thread, rest) = number(rest)?;
        let (word, rest) = match rest {
            [b'|', b'r', b'(', b'V', rest @ ..] => (Word::Read, rest),
            [b'|', b'w', b'(', b'V', rest @ ..] => (Word::Write, rest),
            [b'|', b'a', b'c', b'q', b'(', b'L', rest @ ..] => (Word::Acquire, rest),
            [b'|', b'r', b'e', b'l', b'(', b'L', rest @ ..] => (Word::Release, rest),
            [b'|', b'f', b'o', b'r', b'k', b'(', b'T', rest @ ..] => (Word::Fork, rest),
            [b'|', b'j', b'o', b'i', b'n', b'(', b'T', rest @ ..] => (Word::Join, rest),
            _ => return None,
        };
        let (target, rest) = number(rest)?;
        let (location, rest) = number(rest.strip_prefix(b")|")?)?;
        let rest = rest.strip_prefix(b"\n")?;
        Some(Self { thread, word, target, location, length: bytes.len() - rest.len() })
    }
}

/// The number at the beginning, and what follows. A number that another text would have as well, with
/// a zero before it, is none, and neither is a very large one.
#[allow(clippy::inline_always, reason = "three calls per event, each a measured part of the time")]
#[inline(always)]
fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    const MOST_DIGITS: usize = 9;
    let digit = |byte: u8| u32::from(byte.wrapping_sub(b'0'));
    let (&first, mut rest) = bytes.split_first()?;
    let mut number = digit(first);
    if number > 9 {
        return None;
    }
    let has_zero_first = number == 0;
    while let Some((&next, following)) = rest.split_first() {
        let next = digit(next);
        if next > 9 {
            break;
        }
        if has_zero_first || bytes.len() - rest.len() == MOST_DIGITS {
            return None;
        }
        number = number * 10 + next;
        rest = following;
    }
    Some((number, rest))
}
