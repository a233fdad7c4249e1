use crate::read::annotation::{
    annotations, element_value, parameter_annotations, type_annotations,
};
use crate::read::frame::stack_map_table;
use crate::read::module::module;
use crate::read::{
    Annotation, Code, ConstantPool, Cursor, ElementValue, Module, StackMapFrame, TypeAnnotation,
};
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
    ConstantValue(ConstantIndex),
    Code(Code<'a>),
    StackMapTable(Vec<StackMapFrame>),
    /// The classes of the exceptions that a method declares.
    Exceptions(Vec<ConstantIndex>),
    InnerClasses(Vec<InnerClass>),
    EnclosingMethod {
        class: ConstantIndex,
        /// A name-and-type constant; none if the class is not inside a method.
        method: Option<ConstantIndex>,
    },
    Synthetic,
    Signature(ConstantIndex),
    SourceFile(ConstantIndex),
    SourceDebugExtension(&'a [u8]),
    LineNumberTable(Vec<LineNumber>),
    LocalVariableTable(Vec<LocalVariable>),
    /// As the table above, with signatures for descriptors.
    LocalVariableTypeTable(Vec<LocalVariable>),
    Deprecated,
    RuntimeVisibleAnnotations(Vec<Annotation>),
    RuntimeInvisibleAnnotations(Vec<Annotation>),
    RuntimeVisibleParameterAnnotations(Vec<Vec<Annotation>>),
    RuntimeInvisibleParameterAnnotations(Vec<Vec<Annotation>>),
    RuntimeVisibleTypeAnnotations(Vec<TypeAnnotation>),
    RuntimeInvisibleTypeAnnotations(Vec<TypeAnnotation>),
    AnnotationDefault(ElementValue),
    BootstrapMethods(Vec<BootstrapMethod>),
    MethodParameters(Vec<MethodParameter>),
    Module(Box<Module>),
    ModulePackages(Vec<ConstantIndex>),
    ModuleMainClass(ConstantIndex),
    NestHost(ConstantIndex),
    NestMembers(Vec<ConstantIndex>),
    Record(Vec<RecordComponent<'a>>),
    PermittedSubclasses(Vec<ConstantIndex>),
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

/// A class that is a member of another one, or local, or anonymous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerClass {
    /// The class.
    pub class: ConstantIndex,
    /// The class that it is a member of.
    pub outer: Option<ConstantIndex>,
    /// Its simple name; none if it is anonymous.
    pub name: Option<ConstantIndex>,
    /// The access flags of its declaration.
    pub access: u16,
}

/// A local variable and where it has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalVariable {
    /// The first instruction.
    pub start: Pc,
    /// How many bytes from there.
    pub length: u16,
    /// The name.
    pub name: ConstantIndex,
    /// The descriptor or the signature, by the table it is from.
    pub descriptor: ConstantIndex,
    /// The number of the variable.
    pub local: u16,
}

/// A formal parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodParameter {
    /// The name, if it has one.
    pub name: Option<ConstantIndex>,
    /// Whether it is final, synthetic or mandated.
    pub access: u16,
}

/// A component of a record.
#[derive(Clone, Copy, Debug)]
pub struct RecordComponent<'a> {
    /// The name.
    pub name: ConstantIndex,
    /// The descriptor.
    pub descriptor: ConstantIndex,
    /// Signature and annotations.
    pub attributes: Attributes<'a>,
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

    /// The entries as they stand in the file, without their count.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.entries.rest()
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
        let body = &mut body;
        let attribute = match pool.utf8(self.name)? {
            b"ConstantValue" => Attribute::ConstantValue(body.index("a constant value")?),
            b"Code" => return Ok(Attribute::Code(Code::read(*body)?)),
            b"StackMapTable" => Attribute::StackMapTable(stack_map_table(body)?),
            b"Exceptions" => Attribute::Exceptions(indices(body, "the declared exceptions")?),
            b"InnerClasses" => Attribute::InnerClasses(inner_classes(body)?),
            b"EnclosingMethod" => Attribute::EnclosingMethod {
                class: body.index("the enclosing class")?,
                method: body.optional_index("the enclosing method")?,
            },
            b"Synthetic" => Attribute::Synthetic,
            b"Signature" => Attribute::Signature(body.index("a signature")?),
            b"SourceFile" => Attribute::SourceFile(body.index("the name of the source file")?),
            b"SourceDebugExtension" => return Ok(Attribute::SourceDebugExtension(body.rest())),
            b"LineNumberTable" => Attribute::LineNumberTable(line_numbers(body)?),
            b"LocalVariableTable" => Attribute::LocalVariableTable(local_variables(body)?),
            b"LocalVariableTypeTable" => Attribute::LocalVariableTypeTable(local_variables(body)?),
            b"Deprecated" => Attribute::Deprecated,
            b"RuntimeVisibleAnnotations" => {
                Attribute::RuntimeVisibleAnnotations(annotations(body)?)
            }
            b"RuntimeInvisibleAnnotations" => {
                Attribute::RuntimeInvisibleAnnotations(annotations(body)?)
            }
            b"RuntimeVisibleParameterAnnotations" => {
                Attribute::RuntimeVisibleParameterAnnotations(parameter_annotations(body)?)
            }
            b"RuntimeInvisibleParameterAnnotations" => {
                Attribute::RuntimeInvisibleParameterAnnotations(parameter_annotations(body)?)
            }
            b"RuntimeVisibleTypeAnnotations" => {
                Attribute::RuntimeVisibleTypeAnnotations(type_annotations(body)?)
            }
            b"RuntimeInvisibleTypeAnnotations" => {
                Attribute::RuntimeInvisibleTypeAnnotations(type_annotations(body)?)
            }
            b"AnnotationDefault" => Attribute::AnnotationDefault(element_value(body)?),
            b"BootstrapMethods" => Attribute::BootstrapMethods(bootstrap_methods(body)?),
            b"MethodParameters" => Attribute::MethodParameters(method_parameters(body)?),
            b"Module" => Attribute::Module(Box::new(module(body)?)),
            b"ModulePackages" => Attribute::ModulePackages(indices(body, "the packages")?),
            b"ModuleMainClass" => Attribute::ModuleMainClass(body.index("the main class")?),
            b"NestHost" => Attribute::NestHost(body.index("the host of the nest")?),
            b"NestMembers" => Attribute::NestMembers(indices(body, "the members of the nest")?),
            b"Record" => Attribute::Record(record_components(body)?),
            b"PermittedSubclasses" => {
                Attribute::PermittedSubclasses(indices(body, "the permitted subclasses")?)
            }
            name => return Ok(Attribute::Unknown { name, bytes: body.rest() }),
        };
        body.finish("the end of an attribute")?;
        Ok(attribute)
    }
}

fn indices(body: &mut Cursor<'_>, expected: &'static str) -> Result<Vec<ConstantIndex>> {
    body.table(expected, |entry| entry.index(expected))
}

fn inner_classes(body: &mut Cursor<'_>) -> Result<Vec<InnerClass>> {
    body.table("the inner classes", |entry| {
        Ok(InnerClass {
            class: entry.index("an inner class")?,
            outer: entry.optional_index("an outer class")?,
            name: entry.optional_index("the name of an inner class")?,
            access: entry.u16("the access flags of an inner class")?,
        })
    })
}

fn method_parameters(body: &mut Cursor<'_>) -> Result<Vec<MethodParameter>> {
    let count = body.u8("the number of parameters")?;
    (0..count)
        .map(|_| {
            Ok(MethodParameter {
                name: body.optional_index("the name of a parameter")?,
                access: body.u16("the access flags of a parameter")?,
            })
        })
        .collect()
}

fn record_components<'a>(body: &mut Cursor<'a>) -> Result<Vec<RecordComponent<'a>>> {
    body.table("the components of the record", |entry| {
        Ok(RecordComponent {
            name: entry.index("the name of a record component")?,
            descriptor: entry.index("the descriptor of a record component")?,
            attributes: Attributes::read(entry)?,
        })
    })
}

pub(crate) fn local_variables(body: &mut Cursor<'_>) -> Result<Vec<LocalVariable>> {
    body.table("the local variables", |entry| {
        Ok(LocalVariable {
            start: Pc(entry.u16("a code offset")?),
            length: entry.u16("a length of code")?,
            name: entry.index("the name of a variable")?,
            descriptor: entry.index("the type of a variable")?,
            local: entry.u16("the number of a variable")?,
        })
    })
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
