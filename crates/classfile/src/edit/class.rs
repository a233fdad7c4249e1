//! A class with all its parts open for change.

use unsnarl_entity::{PrimaryMap, entity_id};

use crate::edit::code::Context;
use crate::edit::{
    AttributeList, CodeEditor, EditError, PoolEditor, PoolError, emit, open, put_u16, put_u32,
};
use crate::read::{ClassFile, Code, Member};
use crate::{ConstantIndex, Result as ReadResult, flags, mutf8};

entity_id! {
    /// A field of a class that is being changed; those of the file come first, in their order.
    pub struct FieldId("field");
    /// A method of a class that is being changed; those of the file come first, in their order.
    pub struct MethodId("method");
}

/// The first class-file version whose methods are checked by their stack map frames. In this one, and
/// in no other, the JVM checks a class without them when the check by frames fails.
const FIRST_VERSION_WITH_FRAMES: u16 = 50;

/// A class that is being changed.
#[derive(Clone, Debug)]
pub struct ClassEditor<'a> {
    original: ClassFile<'a>,
    /// The constant pool.
    pub pool: PoolEditor<'a>,
    /// Access flags, see [`crate::flags`].
    pub access: u16,
    /// The direct superinterfaces, class constants.
    pub interfaces: Vec<ConstantIndex>,
    /// The fields.
    pub fields: PrimaryMap<FieldId, MemberEditor<'a>>,
    /// The methods.
    pub methods: PrimaryMap<MethodId, MemberEditor<'a>>,
    /// The attributes of the class.
    pub attributes: AttributeList<'a>,
}

/// A field or a method.
#[derive(Clone, Debug)]
pub struct MemberEditor<'a> {
    /// Access flags, see [`crate::flags`].
    pub access: u16,
    /// The name.
    pub name: ConstantIndex,
    /// The descriptor.
    pub descriptor: ConstantIndex,
    /// The attributes of the member. The body of a method is better changed with
    /// [`ClassEditor::open_code`] and [`ClassEditor::set_code`].
    pub attributes: AttributeList<'a>,
}

impl<'a> ClassEditor<'a> {
    /// Opens a class file.
    pub fn open(file: &'a [u8]) -> ReadResult<Self> {
        Ok(Self::new(ClassFile::read(file)?))
    }

    /// Opens a class file that was read before.
    pub fn new(original: ClassFile<'a>) -> Self {
        Self {
            pool: PoolEditor::new(original.pool.clone()),
            access: original.access,
            interfaces: original.interfaces.clone(),
            fields: original.fields.iter().map(MemberEditor::original).collect(),
            methods: original.methods.iter().map(MemberEditor::original).collect(),
            attributes: AttributeList::original(original.attributes),
            original,
        }
    }

    /// The class as it was opened.
    pub fn original(&self) -> &ClassFile<'a> {
        &self.original
    }

    /// Adds a direct superinterface if it is not one already.
    pub fn add_interface(&mut self, name: &[u8]) -> Result<(), EditError> {
        if self.interface_position(name).is_none() {
            check_room("interfaces", self.interfaces.len())?;
            self.interfaces.push(self.pool.add_class(name)?);
        }
        Ok(())
    }

    /// Removes a direct superinterface; says whether it was one.
    pub fn remove_interface(&mut self, name: &[u8]) -> bool {
        let position = self.interface_position(name);
        if let Some(index) = position {
            self.interfaces.remove(index);
        }
        position.is_some()
    }

    fn interface_position(&self, name: &[u8]) -> Option<usize> {
        self.interfaces.iter().position(|&index| self.pool.class_name(index) == Some(name))
    }

    /// Adds a field after the others.
    pub fn add_field(
        &mut self,
        access: u16,
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<FieldId, EditError> {
        check_room("fields", self.fields.len())?;
        let field = MemberEditor::new(&mut self.pool, access, name, descriptor)?;
        Ok(self.fields.push(field))
    }

    /// Adds a method after the others. Unless it is abstract or native it needs a body:
    /// [`ClassEditor::new_code`], then [`ClassEditor::set_code`].
    pub fn add_method(
        &mut self,
        access: u16,
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<MethodId, EditError> {
        check_room("methods", self.methods.len())?;
        let method = MemberEditor::new(&mut self.pool, access, name, descriptor)?;
        Ok(self.methods.push(method))
    }

    /// The first method with this name and descriptor.
    pub fn find_method(&self, name: &[u8], descriptor: &[u8]) -> Option<MethodId> {
        self.methods.keys().find(|&method| {
            self.method_name(method) == name && self.method_descriptor(method) == descriptor
        })
    }

    /// The name of a method; empty if somebody put a constant there that is not one.
    pub fn method_name(&self, method: MethodId) -> &[u8] {
        self.pool.utf8(self.methods[method].name).unwrap_or_default()
    }

    /// The descriptor of a method; empty if somebody put a constant there that is not one.
    pub fn method_descriptor(&self, method: MethodId) -> &[u8] {
        self.pool.utf8(self.methods[method].descriptor).unwrap_or_default()
    }

    /// The body of a method as it is now; none for abstract and native methods.
    pub fn open_code(&self, method: MethodId) -> Result<Option<CodeEditor>, EditError> {
        let Some(body) = self.methods[method].attributes.get(&self.pool, b"Code") else {
            return Ok(None);
        };
        Code::read(body)
            .and_then(|code| open::open(&code, self.context(method), &self.pool))
            .map(Some)
            .map_err(|source| EditError::Read { method: self.describe(method), source })
    }

    /// An empty body for a method, with room for its arguments.
    pub fn new_code(&self, method: MethodId) -> CodeEditor {
        CodeEditor::empty(self.context(method))
    }

    /// Gives a method this body. If it cannot be written, the method keeps the one it has; constants
    /// that were added stay in the pool.
    pub fn set_code(&mut self, method: MethodId, code: &CodeEditor) -> Result<(), EditError> {
        let content = emit::emit(code, &mut self.pool)
            .map_err(|source| EditError::Code { method: self.describe(method), source })?;
        Ok(self.methods[method].attributes.set(&mut self.pool, b"Code", content)?)
    }

    /// The bytes of the changed class.
    pub fn write(&self) -> Result<Vec<u8>, EditError> {
        let mut out = Vec::new();
        put_u32(&mut out, 0xCAFE_BABE);
        put_u16(&mut out, self.original.minor_version);
        put_u16(&mut out, self.original.major_version);
        self.pool.write(&mut out);
        put_u16(&mut out, self.access);
        put_u16(&mut out, self.original.this_class.0);
        put_u16(&mut out, self.original.super_class.map_or(0, |index| index.0));
        put_count(&mut out, "interfaces", self.interfaces.len())?;
        for interface in &self.interfaces {
            put_u16(&mut out, interface.0);
        }
        put_count(&mut out, "fields", self.fields.len())?;
        for field in self.fields.values() {
            field.write(&mut out)?;
        }
        put_count(&mut out, "methods", self.methods.len())?;
        for method in self.methods.values() {
            method.write(&mut out)?;
        }
        write_attributes(&self.attributes, &mut out)?;
        Ok(out)
    }

    fn context(&self, method: MethodId) -> Context {
        Context {
            is_static: self.methods[method].access & flags::STATIC != 0,
            // The constructor of `Object` has nobody else to call.
            is_constructor: self.method_name(method) == b"<init>"
                && self.original.super_class.is_some(),
            descriptor: self.method_descriptor(method).into(),
            this_class: self.original.this_class,
            has_frames: self.original.major_version >= FIRST_VERSION_WITH_FRAMES,
            may_lack_frames: self.original.major_version == FIRST_VERSION_WITH_FRAMES,
        }
    }

    fn describe(&self, method: MethodId) -> String {
        format!(
            "{}{}",
            mutf8::to_str(self.method_name(method)),
            mutf8::to_str(self.method_descriptor(method))
        )
    }
}

impl<'a> MemberEditor<'a> {
    fn original(member: &Member<'a>) -> Self {
        Self {
            access: member.access,
            name: member.name,
            descriptor: member.descriptor,
            attributes: AttributeList::original(member.attributes),
        }
    }

    fn new(
        pool: &mut PoolEditor<'a>,
        access: u16,
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<Self, PoolError> {
        let name = pool.add_utf8(name)?;
        let descriptor = pool.add_utf8(descriptor)?;
        Ok(Self { access, name, descriptor, attributes: AttributeList::empty() })
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EditError> {
        put_u16(out, self.access);
        put_u16(out, self.name.0);
        put_u16(out, self.descriptor.0);
        write_attributes(&self.attributes, out)
    }
}

fn write_attributes(attributes: &AttributeList<'_>, out: &mut Vec<u8>) -> Result<(), EditError> {
    let count = attributes.len();
    if count > usize::from(u16::MAX) {
        return Err(EditError::TooMany { what: "attributes", count });
    }
    attributes.write(out);
    Ok(())
}

fn check_room(what: &'static str, count: usize) -> Result<(), EditError> {
    if count < usize::from(u16::MAX) {
        Ok(())
    } else {
        Err(EditError::TooMany { what, count: count + 1 })
    }
}

fn put_count(out: &mut Vec<u8>, what: &'static str, count: usize) -> Result<(), EditError> {
    let short = u16::try_from(count).map_err(|_| EditError::TooMany { what, count })?;
    put_u16(out, short);
    Ok(())
}
