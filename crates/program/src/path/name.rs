//! Class names: from paths, from class files, and back.
//!
//! Paths are UTF-8, names inside class files are modified UTF-8. The two differ for characters
//! beyond the basic plane, which the latter writes as two surrogates of three bytes each (and for
//! NUL, which no path holds). All names of the class path are kept in the class files' form.

use std::borrow::Cow;

/// The class name of a path relative to its root: `a/B.class` is `a/B`.
pub(super) fn class_of_path(path: &[u8]) -> Option<Cow<'_, [u8]>> {
    let stem = path.strip_suffix(b".class")?;
    // `a/.class` and `.class` name nothing.
    if stem.is_empty() || stem.ends_with(b"/") { None } else { Some(modified_utf8(stem)) }
}

/// The same characters as a class file writes them. What is not UTF-8 stays as it is.
fn modified_utf8(utf8: &[u8]) -> Cow<'_, [u8]> {
    // Only characters beyond the basic plane have a byte as large as this.
    if utf8.iter().all(|&byte| byte < 0xf0) {
        return Cow::Borrowed(utf8);
    }
    let Ok(text) = std::str::from_utf8(utf8) else { return Cow::Borrowed(utf8) };
    let mut out = Vec::with_capacity(utf8.len() + 8);
    for character in text.chars() {
        if u32::from(character) < 0x1_0000 {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let unit = *unit;
                out.push(0xe0 | (unit >> 12) as u8);
                out.push(0x80 | (unit >> 6 & 0x3f) as u8);
                out.push(0x80 | (unit & 0x3f) as u8);
            }
        }
    }
    Cow::Owned(out)
}

/// A class name for people, and for finding its file: the inverse of [`modified_utf8`], with a
/// replacement character where there is none.
pub(super) fn display(name: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(name) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while !rest.is_empty() {
        if let Some(character) = surrogate_pair(rest) {
            out.push(character);
            rest = &rest[6..];
            continue;
        }
        // Up to the next byte that can begin a surrogate.
        let end = 1 + rest[1..].iter().position(|&b| b == 0xed).unwrap_or(rest.len() - 1);
        out.push_str(&String::from_utf8_lossy(&rest[..end]));
        rest = &rest[end..];
    }
    Cow::Owned(out)
}

fn surrogate_pair(bytes: &[u8]) -> Option<char> {
    let unit = |b: &[u8]| {
        (u16::from(b[0] & 0xf) << 12) | (u16::from(b[1] & 0x3f) << 6) | u16::from(b[2] & 0x3f)
    };
    let pair = bytes.get(..6)?;
    if pair[0] != 0xed || pair[3] != 0xed {
        return None;
    }
    char::decode_utf16([unit(&pair[..3]), unit(&pair[3..])]).next()?.ok()
}

/// The name of the class that a class file defines, by the shortest way through its constants.
/// The error is the offset and what was expected there.
pub(super) fn this_class(bytes: &[u8]) -> Result<&[u8], (u64, &'static str)> {
    let at = |offset: usize| offset as u64;
    let u8_at = |offset: usize| bytes.get(offset).copied().ok_or((at(offset), "ends too early"));
    let u16_at = |offset: usize| Ok(u16::from_be_bytes([u8_at(offset)?, u8_at(offset + 1)?]));
    if !bytes.starts_with(&[0xca, 0xfe, 0xba, 0xbe]) {
        return Err((0, "expected cafebabe"));
    }
    let count = usize::from(u16_at(8)?);
    let mut offsets = vec![0; count];
    let mut position = 10;
    let mut index = 1;
    while index < count {
        offsets[index] = position;
        let tag = u8_at(position)?;
        position += match tag {
            1 => 3 + usize::from(u16_at(position + 1)?),
            3 | 4 | 9..=12 | 17 | 18 => 5,
            5 | 6 => 9,
            7 | 8 | 16 | 19 | 20 => 3,
            15 => 4,
            _ => return Err((at(position), "unknown kind of constant")),
        };
        index += if matches!(tag, 5 | 6) { 2 } else { 1 };
    }
    let constant = |index: u16, tag: u8, from: usize, expected: &'static str| {
        let offset = offsets.get(usize::from(index)).copied().filter(|&offset| offset != 0);
        match offset {
            Some(offset) if u8_at(offset)? == tag => Ok(offset),
            _ => Err((at(from), expected)),
        }
    };
    let class = constant(u16_at(position + 2)?, 7, position + 2, "expected a class constant")?;
    let text = constant(u16_at(class + 1)?, 1, class + 1, "expected a text constant")?;
    let length = usize::from(u16_at(text + 1)?);
    bytes.get(text + 3..text + 3 + length).ok_or((at(text), "ends too early"))
}
