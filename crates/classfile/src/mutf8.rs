//! Modified UTF-8, the encoding of names and strings in class files (JVMS 4.4.7).
//!
//! It differs from UTF-8 in two ways: U+0000 takes two bytes, and a character outside the basic
//! plane is written as two surrogates of three bytes each. Surrogates may also stand alone, which no
//! Rust string can hold; that is why everything else in this crate keeps names as bytes.

use std::borrow::Cow;

/// The text for people: what is not valid becomes U+FFFD.
pub fn to_str(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        // Valid UTF-8 is also valid modified UTF-8 unless it has characters of four bytes, which a
        // class file cannot hold; showing them is harmless.
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(decode_lossy(bytes)),
    }
}

/// The bytes of `text` in modified UTF-8.
pub fn from_str(text: &str) -> Cow<'_, [u8]> {
    if text.bytes().all(|byte| byte != 0 && byte < 0xF0) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len() + 8);
    for unit in text.encode_utf16() {
        match unit {
            0x0001..=0x007F => bytes.push(unit as u8),
            0x0000 | 0x0080..=0x07FF => {
                bytes.extend([0xC0 | (unit >> 6) as u8, 0x80 | (unit & 0x3F) as u8]);
            }
            _ => bytes.extend([
                0xE0 | (unit >> 12) as u8,
                0x80 | ((unit >> 6) & 0x3F) as u8,
                0x80 | (unit & 0x3F) as u8,
            ]),
        }
    }
    Cow::Owned(bytes)
}

fn decode_lossy(bytes: &[u8]) -> String {
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, tail)) = rest.split_first() {
        let continuation = |index: usize| {
            tail.get(index).filter(|&&byte| byte & 0xC0 == 0x80).map(|&byte| u16::from(byte & 0x3F))
        };
        let (unit, length) = match (first, continuation(0), continuation(1)) {
            (0x00..=0x7F, _, _) => (u16::from(first), 1),
            (0xC0..=0xDF, Some(low), _) => (u16::from(first & 0x1F) << 6 | low, 2),
            (0xE0..=0xEF, Some(middle), Some(low)) => {
                (u16::from(first & 0x0F) << 12 | middle << 6 | low, 3)
            }
            _ => (0xFFFD, 1),
        };
        units.push(unit);
        rest = &rest[length..];
    }
    String::from_utf16_lossy(&units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_there_and_back() {
        for text in ["", "plain", "ä€", "nul\0inside", "clef 𝄞 and emoji 🧶"] {
            assert_eq!(to_str(&from_str(text)), text);
        }
        assert_eq!(&*from_str("\0"), b"\xC0\x80");
        assert_eq!(from_str("𝄞").len(), 6);
    }

    #[test]
    fn broken_bytes_become_replacement_characters() {
        assert_eq!(to_str(b"a\xFFb"), "a\u{FFFD}b");
        assert_eq!(to_str(b"a\xED\xA0\x80"), "a\u{FFFD}", "a lone surrogate");
        assert_eq!(to_str(b"\xE2\x82"), "\u{FFFD}\u{FFFD}", "cut short");
    }
}
