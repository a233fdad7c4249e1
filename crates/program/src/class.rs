//! Classes, methods and fields as the analyses see them.

use unsnarl_classfile::flags;
use unsnarl_classfile::read::{BootstrapMethod, ClassFile};
use unsnarl_entity::entity_id;

use crate::lower::Lambda;
use crate::names::{SignatureId, Symbol, TypeId};
use unsnarl_classpath::{EntryId, Role};

entity_id! {
    /// A class or interface, found or not.
    pub struct ClassId("class");
    /// A method that a class declares.
    pub struct MethodId("method");
    /// A field that a class declares.
    pub struct FieldId("field");
}

/// A class or interface.
#[derive(Debug)]
pub struct Class<'a> {
    /// The internal name.
    pub name: Symbol,
    /// Where it comes from.
    pub origin: Origin<'a>,
    /// Access flags, see [`flags`].
    pub access: u16,
    /// The superclass.
    pub superclass: Option<ClassId>,
    /// The direct superinterfaces.
    pub interfaces: Box<[ClassId]>,
    /// The class itself and everything above it, sorted.
    pub ancestors: Box<[ClassId]>,
    /// Whether something above it was not found, so that nobody knows what else it is.
    pub is_incomplete: bool,
    /// The methods that it declares.
    pub methods: Box<[MethodId]>,
    /// The fields that it declares.
    pub fields: Box<[FieldId]>,
}

/// Where a class comes from.
#[derive(Debug)]
pub enum Origin<'a> {
    /// A class file.
    File(Box<FileOrigin<'a>>),
    /// A lambda expression or method reference.
    Lambda(Box<Lambda>),
    /// It was asked for and is nowhere to be found, or its class file is broken.
    Phantom,
}

/// The class file of a class.
#[derive(Debug)]
pub struct FileOrigin<'a> {
    /// Where it lies.
    pub entry: EntryId,
    /// Part of the application, its libraries or the JDK.
    pub role: Role,
    /// What it says.
    pub file: ClassFile<'a>,
    /// The bootstrap methods of its dynamic call sites.
    pub bootstraps: Box<[BootstrapMethod]>,
}

/// A method that a class declares.
#[derive(Debug)]
pub struct Method {
    /// The class.
    pub class: ClassId,
    /// The position among the methods of the class file, or among the descriptors of a lambda.
    pub index: u16,
    /// Access flags, see [`flags`].
    pub access: u16,
    /// The name.
    pub name: Symbol,
    /// The descriptor.
    pub descriptor: Symbol,
    /// Argument and result types.
    pub signature: SignatureId,
}

/// A field that a class declares.
#[derive(Debug)]
pub struct Field {
    /// The class.
    pub class: ClassId,
    /// Access flags, see [`flags`].
    pub access: u16,
    /// The name.
    pub name: Symbol,
    /// The type.
    pub ty: TypeId,
}

impl<'a> Class<'a> {
    /// Whether it was not found.
    pub fn is_phantom(&self) -> bool {
        matches!(self.origin, Origin::Phantom)
    }

    /// Whether it is an interface.
    pub fn is_interface(&self) -> bool {
        self.access & flags::INTERFACE != 0
    }

    /// Whether it can have instances of its own.
    pub fn is_concrete(&self) -> bool {
        self.access & (flags::INTERFACE | flags::ABSTRACT) == 0
    }

    /// The class file, if it has one.
    pub fn file(&self) -> Option<&FileOrigin<'a>> {
        match &self.origin {
            Origin::File(file) => Some(file),
            _ => None,
        }
    }
}

impl Method {
    /// Whether it belongs to the class and has no `this`.
    pub fn is_static(&self) -> bool {
        self.access & flags::STATIC != 0
    }

    /// Whether it has no body.
    pub fn is_abstract(&self) -> bool {
        self.access & flags::ABSTRACT != 0
    }

    /// Whether its body is outside the class file.
    pub fn is_native(&self) -> bool {
        self.access & flags::NATIVE != 0
    }
}
