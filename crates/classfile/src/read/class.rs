use crate::read::{Attributes, Code, ConstantPool, Cursor};
use crate::{ConstantIndex, NEWEST_KNOWN_VERSION, Result};

/// A class file. Its structure is checked when it is opened; constants and attributes are checked
/// when they are asked for.
#[derive(Clone, Debug)]
pub struct ClassFile<'a> {
    /// Minor version: 65535 for preview features.
    pub minor_version: u16,
    /// Major version: 45 is Java 1.1, 69 is Java 25.
    pub major_version: u16,
    /// The constant pool.
    pub pool: ConstantPool<'a>,
    /// Access flags, see [`crate::flags`].
    pub access: u16,
    /// This class.
    pub this_class: ConstantIndex,
    /// The superclass; none for `java/lang/Object` and module descriptors.
    pub super_class: Option<ConstantIndex>,
    /// The direct superinterfaces.
    pub interfaces: Vec<ConstantIndex>,
    /// The fields that are declared here.
    pub fields: Vec<Member<'a>>,
    /// The methods that are declared here.
    pub methods: Vec<Member<'a>>,
    /// The attributes of the class.
    pub attributes: Attributes<'a>,
}

/// A field or a method.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Access flags, see [`crate::flags`].
    pub access: u16,
    /// The name.
    pub name: ConstantIndex,
    /// The descriptor.
    pub descriptor: ConstantIndex,
    /// The attributes of the member.
    pub attributes: Attributes<'a>,
}

impl<'a> ClassFile<'a> {
    /// Reads the structure of a class file.
    pub fn read(file: &'a [u8]) -> Result<Self> {
        let mut cursor = Cursor::new(file);
        if cursor.u32("0xCAFEBABE, the mark of a class file")? != 0xCAFE_BABE {
            return Err(Cursor::new(file).error("0xCAFEBABE, the mark of a class file"));
        }
        let minor_version = cursor.u16("the minor version")?;
        let major_version = cursor.u16("the major version")?;
        let pool = ConstantPool::read(&mut cursor, file)?;
        let access = cursor.u16("the access flags of the class")?;
        let this_class = cursor.index("this class")?;
        pool.class_name(this_class)?;
        let super_class = cursor.optional_index("the superclass")?;
        if let Some(index) = super_class {
            pool.class_name(index)?;
        }
        let interfaces = cursor.table("the interfaces", |cursor| {
            let index = cursor.index("an interface")?;
            pool.class_name(index)?;
            Ok(index)
        })?;
        let fields = cursor.table("the fields", |cursor| Member::read(cursor, &pool))?;
        let methods = cursor.table("the methods", |cursor| Member::read(cursor, &pool))?;
        let attributes = Attributes::read(&mut cursor)?;
        cursor.finish("the end of the class file")?;
        Ok(Self {
            minor_version,
            major_version,
            pool,
            access,
            this_class,
            super_class,
            interfaces,
            fields,
            methods,
            attributes,
        })
    }

    /// Whether the file is of a version that this crate does not know. It was read as if it were of
    /// the newest known one.
    pub fn is_newer_than_known(&self) -> bool {
        self.major_version > NEWEST_KNOWN_VERSION
    }

    /// The internal name of the class.
    pub fn name(&self) -> &'a [u8] {
        self.pool.class_name(self.this_class).expect("checked by `read`")
    }

    /// The internal name of the superclass.
    pub fn super_name(&self) -> Option<&'a [u8]> {
        self.super_class.map(|index| self.pool.class_name(index).expect("checked by `read`"))
    }

    /// The internal names of the direct superinterfaces.
    pub fn interface_names(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.interfaces.iter().map(|&index| self.pool.class_name(index).expect("checked by `read`"))
    }

    /// The name of a member.
    pub fn member_name(&self, member: &Member<'a>) -> &'a [u8] {
        self.pool.utf8(member.name).expect("checked by `read`")
    }

    /// The descriptor of a member. It is a string; whether it is a valid descriptor is not checked.
    pub fn member_descriptor(&self, member: &Member<'a>) -> &'a [u8] {
        self.pool.utf8(member.descriptor).expect("checked by `read`")
    }

    /// The body of a method; none for abstract and native methods.
    pub fn code(&self, method: &Member<'a>) -> Result<Option<Code<'a>>> {
        let attribute = method.attributes.find(&self.pool, b"Code")?;
        attribute.map(|attribute| Code::read(attribute.body)).transpose()
    }
}

impl<'a> Member<'a> {
    fn read(cursor: &mut Cursor<'a>, pool: &ConstantPool<'a>) -> Result<Self> {
        let access = cursor.u16("the access flags of a member")?;
        let name = cursor.index("the name of a member")?;
        let descriptor = cursor.index("the descriptor of a member")?;
        pool.utf8(name)?;
        pool.utf8(descriptor)?;
        Ok(Self { access, name, descriptor, attributes: Attributes::read(cursor)? })
    }
}
