//! `compact-cp`, the compression of `jlink --compress=1`: the text constants of a class file are
//! replaced by references to the strings of the image, descriptors with their class names cut out.
//!
//! Undone as the JDK's own `libjimage` does. A class file up to the end of its constants is rebuilt,
//! the rest is as it was.

use crate::archive::Fault;
use crate::problem::Reason;

/// A whole text in the image's strings.
const EXTERNAL_STRING: u8 = 23;
/// A descriptor without class names, then package and name for each `L` in it.
const EXTERNAL_DESCRIPTOR: u8 = 25;

/// Rebuilds a class file of `size` bytes; `string` looks up the image's strings. Offsets of faults
/// are relative to `packed`.
pub(crate) fn expand<'a>(
    packed: &'a [u8],
    size: u64,
    string: impl Fn(u64) -> Result<&'a [u8], Fault>,
) -> Result<Vec<u8>, Fault> {
    let mut input = Input { bytes: packed, position: 0 };
    let mut output = Vec::new();
    output.extend_from_slice(input.take(8)?);
    let count = input.take(2)?;
    output.extend_from_slice(count);
    let count = u16::from_be_bytes([count[0], count[1]]);
    let mut index = 1;
    while index < count {
        // Nothing below adds more than one text, and that is no longer than 64 KB.
        if output.len() as u64 > size {
            break;
        }
        let tag = input.take(1)?[0];
        match tag {
            EXTERNAL_STRING => {
                let text = string(input.number()?)?;
                text_constant(&mut output, text, &input)?;
            }
            EXTERNAL_DESCRIPTOR => {
                let text = descriptor(&mut input, &string)?;
                text_constant(&mut output, &text, &input)?;
            }
            1 => {
                let length = input.take(2)?;
                let text = input.take(usize::from(u16::from_be_bytes([length[0], length[1]])))?;
                text_constant(&mut output, text, &input)?;
            }
            _ => {
                let length = match tag {
                    3 | 4 | 9..=12 | 17 | 18 => 4,
                    5 | 6 => 8,
                    7 | 8 | 16 | 19 | 20 => 2,
                    15 => 3,
                    _ => return Err(input.fault("unknown kind of constant")),
                };
                output.push(tag);
                output.extend_from_slice(input.take(length)?);
            }
        }
        index += if matches!(tag, 5 | 6) { 2 } else { 1 };
    }
    output.extend_from_slice(&packed[input.position..]);
    Ok(output)
}

fn text_constant(output: &mut Vec<u8>, text: &[u8], input: &Input<'_>) -> Result<(), Fault> {
    let length = u16::try_from(text.len()).map_err(|_| input.fault("a text is too long"))?;
    output.push(1);
    output.extend_from_slice(&length.to_be_bytes());
    output.extend_from_slice(text);
    Ok(())
}

fn descriptor<'a>(
    input: &mut Input<'a>,
    string: &impl Fn(u64) -> Result<&'a [u8], Fault>,
) -> Result<Vec<u8>, Fault> {
    let pattern = string(input.number()?)?;
    let length = input.number()? as usize;
    let mut names = Input { bytes: input.take(length)?, position: 0 };
    let mut text = Vec::with_capacity(pattern.len());
    for &byte in pattern {
        text.push(byte);
        if byte == b'L' && length > 0 {
            let package = string(names.number()?)?;
            if !package.is_empty() {
                text.extend_from_slice(package);
                text.push(b'/');
            }
            text.extend_from_slice(string(names.number()?)?);
        }
        // A descriptor is a text constant: longer ones are refused there.
        if text.len() > usize::from(u16::MAX) {
            break;
        }
    }
    Ok(text)
}

struct Input<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Input<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let end = self.position.saturating_add(length);
        let bytes =
            self.bytes.get(self.position..end).ok_or_else(|| self.fault("ends too early"))?;
        self.position = end;
        Ok(bytes)
    }

    /// A number: big-endian in four bytes, or in one to three if the first has its top bit set,
    /// whose next two bits are then the length.
    fn number(&mut self) -> Result<u64, Fault> {
        let first = self.take(1)?[0];
        let (start, more) = match first & 0x80 {
            0 => (first, 3),
            _ => (first & 0x1f, usize::from(first >> 5 & 3).saturating_sub(1)),
        };
        let rest = self.take(more)?;
        Ok(rest.iter().fold(u64::from(start), |number, &byte| number << 8 | u64::from(byte)))
    }

    fn fault(&self, reason: &str) -> Fault {
        let reason = Reason::Image(format!("compact-cp: {reason}"));
        Fault::new(self.position as u64, reason)
    }
}
