use crate::{ConstantIndex, ReadError, Result};

/// A position in a class file, and an end that it cannot pass. It keeps the whole file in sight, so
/// that every error can name an offset from the beginning of the file.
#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    file: &'a [u8],
    position: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    /// The beginning of `file`.
    pub fn new(file: &'a [u8]) -> Self {
        Self { file, position: 0, end: file.len() }
    }

    /// A part of `file`; nothing if the range lies outside.
    pub fn range(file: &'a [u8], range: std::ops::Range<usize>) -> Option<Self> {
        (range.start <= range.end && range.end <= file.len()).then_some(Self {
            file,
            position: range.start,
            end: range.end,
        })
    }

    /// Offset from the beginning of the file.
    pub fn position(&self) -> usize {
        self.position
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.end - self.position
    }

    /// The bytes that are left.
    pub fn rest(&self) -> &'a [u8] {
        &self.file[self.position..self.end]
    }

    /// An error at this position.
    pub fn error(&self, expected: &'static str) -> ReadError {
        ReadError { offset: self.position, expected }
    }

    /// Takes `length` bytes as a cursor of their own.
    pub fn split(&mut self, length: usize, expected: &'static str) -> Result<Cursor<'a>> {
        if length > self.remaining() {
            return Err(self.error(expected));
        }
        let start = self.position;
        self.position += length;
        Ok(Cursor { file: self.file, position: start, end: self.position })
    }

    /// Takes `length` bytes.
    pub fn bytes(&mut self, length: usize, expected: &'static str) -> Result<&'a [u8]> {
        Ok(self.split(length, expected)?.rest())
    }

    fn array<const N: usize>(&mut self, expected: &'static str) -> Result<[u8; N]> {
        match self.rest().first_chunk::<N>() {
            Some(bytes) => {
                self.position += N;
                Ok(*bytes)
            }
            None => Err(self.error(expected)),
        }
    }

    /// One byte.
    pub fn u8(&mut self, expected: &'static str) -> Result<u8> {
        Ok(u8::from_be_bytes(self.array(expected)?))
    }

    /// Two bytes, high byte first.
    pub fn u16(&mut self, expected: &'static str) -> Result<u16> {
        Ok(u16::from_be_bytes(self.array(expected)?))
    }

    /// Four bytes, high byte first.
    pub fn u32(&mut self, expected: &'static str) -> Result<u32> {
        Ok(u32::from_be_bytes(self.array(expected)?))
    }

    /// Eight bytes, high byte first.
    pub fn u64(&mut self, expected: &'static str) -> Result<u64> {
        Ok(u64::from_be_bytes(self.array(expected)?))
    }

    /// A constant-pool index, not checked.
    pub fn index(&mut self, expected: &'static str) -> Result<ConstantIndex> {
        Ok(ConstantIndex(self.u16(expected)?))
    }

    /// A constant-pool index where 0 means "none".
    pub fn optional_index(&mut self, expected: &'static str) -> Result<Option<ConstantIndex>> {
        let index = self.index(expected)?;
        Ok((index.0 != 0).then_some(index))
    }

    /// A table: a count of two bytes, then that many entries.
    pub fn table<T>(
        &mut self,
        expected: &'static str,
        mut entry: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let count = usize::from(self.u16(expected)?);
        // Every entry takes a byte at least, so a false count cannot make us reserve too much.
        let mut entries = Vec::with_capacity(count.min(self.remaining()));
        for _ in 0..count {
            entries.push(entry(self)?);
        }
        Ok(entries)
    }

    /// Nothing may be left.
    pub fn finish(&self, expected: &'static str) -> Result<()> {
        if self.remaining() == 0 { Ok(()) } else { Err(self.error(expected)) }
    }
}

impl std::fmt::Debug for Cursor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "bytes {}..{}", self.position, self.end)
    }
}
