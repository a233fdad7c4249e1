use crate::read::{Code, ConstantPool, Cursor};
use crate::{ConstantIndex, Pc, Result};

/// The attributes of a class, member, code or record component: a list that is walked, not decoded.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    count: u16,
    entries: Cursor<'a>,
}

/// An attribute as it stands in the file.
#[derive(Clone, Copy, Debug)]
pub struct RawAttribute<'a> {
    /// Its name.
    pub name: ConstantIndex,
    /// Its content, without name and length.
    pub body: Cursor<'a>,
}

/// A decoded attribute.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of JVMS 4.7")]
pub enum Attribute<'a> {
    Code(Code<'a>),
    LineNumberTable(Vec<LineNumber>),
    BootstrapMethods(Vec<BootstrapMethod>),
    /// An attribute that the specification does not name, kept as bytes.
    Unknown {
        name: &'a [u8],
        bytes: &'a [u8],
    },
}

/// From here on, instructions belong to this line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineNumber {
    /// The first instruction.
    pub start: Pc,
    /// The line in the source file.
    pub line: u16,
}

/// A bootstrap method and its static arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootstrapMethod {
    /// A method handle.
    pub method: ConstantIndex,
    /// Loadable constants.
    pub arguments: Vec<ConstantIndex>,
}

impl<'a> Attributes<'a> {
    pub(crate) fn read(cursor: &mut Cursor<'a>) -> Result<Self> {
        let count = cursor.u16("the number of attributes")?;
        let mut walk = *cursor;
        for _ in 0..count {
            RawAttribute::read(&mut walk)?;
        }
        let length = walk.position() - cursor.position();
        Ok(Self { count, entries: cursor.split(length, "the attributes")? })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The attributes in their order.
    pub fn iter(&self) -> impl Iterator<Item = RawAttribute<'a>> + use<'a> {
        let mut cursor = self.entries;
        (0..self.count)
            .map(move |_| RawAttribute::read(&mut cursor).expect("walked once by `read`"))
    }

    /// The first attribute with this name.
    pub fn find(&self, pool: &ConstantPool<'a>, name: &[u8]) -> Result<Option<RawAttribute<'a>>> {
        for attribute in self.iter() {
            if pool.utf8(attribute.name)? == name {
                return Ok(Some(attribute));
            }
        }
        Ok(None)
    }
}

impl<'a> RawAttribute<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self> {
        let name = cursor.index("the name of an attribute")?;
        let length = cursor.u32("the length of an attribute")? as usize;
        Ok(Self { name, body: cursor.split(length, "a whole attribute")? })
    }

    /// Its content, decoded by its name.
    pub fn decode(&self, pool: &ConstantPool<'a>) -> Result<Attribute<'a>> {
        let mut body = self.body;
        let attribute = match pool.utf8(self.name)? {
            b"Code" => return Ok(Attribute::Code(Code::read(body)?)),
            b"LineNumberTable" => Attribute::LineNumberTable(line_numbers(&mut body)?),
            b"BootstrapMethods" => Attribute::BootstrapMethods(bootstrap_methods(&mut body)?),
            name => return Ok(Attribute::Unknown { name, bytes: body.rest() }),
        };
        body.finish("the end of an attribute")?;
        Ok(attribute)
    }
}

pub(crate) fn line_numbers(body: &mut Cursor<'_>) -> Result<Vec<LineNumber>> {
    body.table("the line numbers", |entry| {
        Ok(LineNumber { start: Pc(entry.u16("a code offset")?), line: entry.u16("a line")? })
    })
}

pub(crate) fn bootstrap_methods(body: &mut Cursor<'_>) -> Result<Vec<BootstrapMethod>> {
    body.table("the bootstrap methods", |entry| {
        Ok(BootstrapMethod {
            method: entry.index("a bootstrap method")?,
            arguments: entry
                .table("the bootstrap arguments", |entry| entry.index("a bootstrap argument"))?,
        })
    })
}
