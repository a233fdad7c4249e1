use crate::read::Cursor;
use crate::{ConstantIndex, ReadError, Result};

/// The constant pool: where each entry lies, with accessors that check kind and content when asked.
#[derive(Clone)]
pub struct ConstantPool<'a> {
    file: &'a [u8],
    /// Offset of the tag byte of every entry; 0 for the unusable ones (entry 0, and the one after
    /// every long and double).
    offsets: Vec<u32>,
    /// Where the first entry begins and the last one ends.
    range: std::ops::Range<usize>,
}

/// An entry of the constant pool. Floating-point numbers are kept as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of JVMS 4.4")]
pub enum Constant<'a> {
    Utf8(&'a [u8]),
    Integer(i32),
    Float(u32),
    Long(i64),
    Double(u64),
    Class { name: ConstantIndex },
    String { value: ConstantIndex },
    Member { kind: MemberKind, class: ConstantIndex, name_and_type: ConstantIndex },
    NameAndType { name: ConstantIndex, descriptor: ConstantIndex },
    MethodHandle { kind: u8, reference: ConstantIndex },
    MethodType { descriptor: ConstantIndex },
    Dynamic { bootstrap: u16, name_and_type: ConstantIndex },
    InvokeDynamic { bootstrap: u16, name_and_type: ConstantIndex },
    Module { name: ConstantIndex },
    Package { name: ConstantIndex },
}

/// What a member reference leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum MemberKind {
    Field,
    Method,
    InterfaceMethod,
}

/// A reference to a field or method, its names looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemberRef<'a> {
    /// Field, method or interface method.
    pub kind: MemberKind,
    /// Internal name of the class, or the descriptor of an array type.
    pub class: &'a [u8],
    /// The member's name.
    pub name: &'a [u8],
    /// The member's descriptor.
    pub descriptor: &'a [u8],
}

/// A method handle constant, looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MethodHandle<'a> {
    /// 1 `getField` to 9 `invokeInterface` (table 5.4.3.5-A).
    pub kind: u8,
    /// The member that it names.
    pub member: MemberRef<'a>,
}

impl<'a> ConstantPool<'a> {
    pub(crate) fn read(cursor: &mut Cursor<'a>, file: &'a [u8]) -> Result<Self> {
        let count = usize::from(cursor.u16("the size of the constant pool")?);
        let start = cursor.position();
        let mut offsets = Vec::with_capacity(count.min(cursor.remaining()));
        offsets.push(0);
        while offsets.len() < count {
            let offset = cursor.position();
            let tag = cursor.u8("the tag of a constant")?;
            let size = match tag {
                1 => usize::from(cursor.u16("the length of a string")?),
                3 | 4 | 9 | 10 | 11 | 12 | 17 | 18 => 4,
                5 | 6 => 8,
                7 | 8 | 16 | 19 | 20 => 2,
                15 => 3,
                _ => return Err(ReadError { offset, expected: "the tag of a constant" }),
            };
            cursor.split(size, "a whole constant")?;
            offsets.push(offset as u32);
            if matches!(tag, 5 | 6) {
                if offsets.len() == count {
                    return Err(ReadError {
                        offset,
                        expected: "room for a constant of two entries",
                    });
                }
                offsets.push(0);
            }
        }
        Ok(Self { file, offsets, range: start..cursor.position() })
    }

    /// One more than the highest index.
    pub fn count(&self) -> usize {
        self.offsets.len()
    }

    /// The indices that can be used.
    pub fn indices(&self) -> impl Iterator<Item = ConstantIndex> + '_ {
        (1u16..).zip(&self.offsets[1..]).filter(|&(_, &o)| o != 0).map(|(i, _)| ConstantIndex(i))
    }

    /// The bytes of all entries.
    pub fn bytes(&self) -> &'a [u8] {
        &self.file[self.range.clone()]
    }

    fn at(&self, index: ConstantIndex, expected: &'static str) -> Result<(u8, Cursor<'a>)> {
        let offset = match self.offsets.get(usize::from(index.0)) {
            Some(&offset) if offset != 0 => offset as usize,
            // There is no place in the file for a missing entry: the end of the pool is nearest.
            _ => return Err(ReadError { offset: self.range.end, expected }),
        };
        let mut cursor = Cursor::range(self.file, offset..self.range.end)
            .ok_or(ReadError { offset, expected })?;
        Ok((cursor.u8(expected)?, cursor))
    }

    fn tagged(&self, index: ConstantIndex, tag: u8, expected: &'static str) -> Result<Cursor<'a>> {
        match self.at(index, expected)? {
            (found, cursor) if found == tag => Ok(cursor),
            (_, cursor) => Err(ReadError { offset: cursor.position() - 1, expected }),
        }
    }

    /// The entry as it stands in the file.
    pub fn get(&self, index: ConstantIndex) -> Result<Constant<'a>> {
        let (tag, cursor) = self.at(index, "a constant")?;
        Constant::decode(tag, cursor)
    }

    /// The bytes of one entry, with its tag.
    pub(crate) fn entry(&self, index: ConstantIndex) -> Option<&'a [u8]> {
        let (tag, mut cursor) = self.at(index, "a constant").ok()?;
        let start = cursor.position() - 1;
        let size = match tag {
            1 => 2 + usize::from(cursor.u16("the length of a string").ok()?),
            5 | 6 => 8,
            7 | 8 | 16 | 19 | 20 => 2,
            15 => 3,
            _ => 4,
        };
        self.file.get(start..start + 1 + size)
    }

    /// A string of modified UTF-8.
    pub fn utf8(&self, index: ConstantIndex) -> Result<&'a [u8]> {
        const E: &str = "a UTF-8 constant";
        let mut cursor = self.tagged(index, 1, E)?;
        let length = usize::from(cursor.u16(E)?);
        cursor.bytes(length, E)
    }

    /// The internal name of a class constant, or the descriptor of an array type.
    pub fn class_name(&self, index: ConstantIndex) -> Result<&'a [u8]> {
        const E: &str = "a class constant";
        self.utf8(self.tagged(index, 7, E)?.index(E)?)
    }

    /// The text of a string constant.
    pub fn string(&self, index: ConstantIndex) -> Result<&'a [u8]> {
        const E: &str = "a string constant";
        self.utf8(self.tagged(index, 8, E)?.index(E)?)
    }

    /// The name of a module constant.
    pub fn module_name(&self, index: ConstantIndex) -> Result<&'a [u8]> {
        const E: &str = "a module constant";
        self.utf8(self.tagged(index, 19, E)?.index(E)?)
    }

    /// The name of a package constant.
    pub fn package_name(&self, index: ConstantIndex) -> Result<&'a [u8]> {
        const E: &str = "a package constant";
        self.utf8(self.tagged(index, 20, E)?.index(E)?)
    }

    /// The descriptor of a method type constant.
    pub fn method_type(&self, index: ConstantIndex) -> Result<&'a [u8]> {
        const E: &str = "a method type constant";
        self.utf8(self.tagged(index, 16, E)?.index(E)?)
    }

    /// Name and descriptor.
    pub fn name_and_type(&self, index: ConstantIndex) -> Result<(&'a [u8], &'a [u8])> {
        const E: &str = "a name-and-type constant";
        let mut cursor = self.tagged(index, 12, E)?;
        Ok((self.utf8(cursor.index(E)?)?, self.utf8(cursor.index(E)?)?))
    }

    /// A reference to a field, method or interface method.
    pub fn member(&self, index: ConstantIndex) -> Result<MemberRef<'a>> {
        const E: &str = "a field or method reference";
        let (tag, mut cursor) = self.at(index, E)?;
        let kind = match tag {
            9 => MemberKind::Field,
            10 => MemberKind::Method,
            11 => MemberKind::InterfaceMethod,
            _ => return Err(ReadError { offset: cursor.position() - 1, expected: E }),
        };
        let class = self.class_name(cursor.index(E)?)?;
        let (name, descriptor) = self.name_and_type(cursor.index(E)?)?;
        Ok(MemberRef { kind, class, name, descriptor })
    }

    /// A method handle and the member that it names.
    pub fn method_handle(&self, index: ConstantIndex) -> Result<MethodHandle<'a>> {
        const E: &str = "a method handle constant";
        let mut cursor = self.tagged(index, 15, E)?;
        Ok(MethodHandle { kind: cursor.u8(E)?, member: self.member(cursor.index(E)?)? })
    }

    /// A dynamic call site: bootstrap method number, name, descriptor.
    pub fn invoke_dynamic(&self, index: ConstantIndex) -> Result<(u16, &'a [u8], &'a [u8])> {
        const E: &str = "a dynamic call site";
        self.dynamic(self.tagged(index, 18, E)?, E)
    }

    /// A dynamic constant: bootstrap method number, name, descriptor.
    pub fn dynamic_constant(&self, index: ConstantIndex) -> Result<(u16, &'a [u8], &'a [u8])> {
        const E: &str = "a dynamic constant";
        self.dynamic(self.tagged(index, 17, E)?, E)
    }

    fn dynamic(
        &self,
        mut cursor: Cursor<'a>,
        expected: &'static str,
    ) -> Result<(u16, &'a [u8], &'a [u8])> {
        let bootstrap = cursor.u16(expected)?;
        let (name, descriptor) = self.name_and_type(cursor.index(expected)?)?;
        Ok((bootstrap, name, descriptor))
    }
}

impl<'a> Constant<'a> {
    /// Decodes the bytes of one entry.
    pub(crate) fn from_entry(entry: &'a [u8]) -> Option<Self> {
        let (&tag, content) = entry.split_first()?;
        Self::decode(tag, Cursor::new(content)).ok()
    }

    fn decode(tag: u8, mut c: Cursor<'a>) -> Result<Self> {
        const E: &str = "a constant";
        Ok(match tag {
            1 => {
                let length = usize::from(c.u16(E)?);
                Constant::Utf8(c.bytes(length, E)?)
            }
            3 => Constant::Integer(c.u32(E)? as i32),
            4 => Constant::Float(c.u32(E)?),
            5 => Constant::Long(c.u64(E)? as i64),
            6 => Constant::Double(c.u64(E)?),
            7 => Constant::Class { name: c.index(E)? },
            8 => Constant::String { value: c.index(E)? },
            9..=11 => Constant::Member {
                kind: match tag {
                    9 => MemberKind::Field,
                    10 => MemberKind::Method,
                    _ => MemberKind::InterfaceMethod,
                },
                class: c.index(E)?,
                name_and_type: c.index(E)?,
            },
            12 => Constant::NameAndType { name: c.index(E)?, descriptor: c.index(E)? },
            15 => Constant::MethodHandle { kind: c.u8(E)?, reference: c.index(E)? },
            16 => Constant::MethodType { descriptor: c.index(E)? },
            17 => Constant::Dynamic { bootstrap: c.u16(E)?, name_and_type: c.index(E)? },
            18 => Constant::InvokeDynamic { bootstrap: c.u16(E)?, name_and_type: c.index(E)? },
            19 => Constant::Module { name: c.index(E)? },
            20 => Constant::Package { name: c.index(E)? },
            _ => return Err(c.error(E)),
        })
    }
}

impl std::fmt::Debug for ConstantPool<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "constant pool of {}", self.offsets.len())
    }
}
