//! The names of a program: symbols, types, and references to fields and methods, each interned, so
//! that everything else in the model is a small id.

use rustc_hash::FxHashMap;
use unsnarl_classfile::read::{MemberKind, MemberRef};
use unsnarl_classfile::{FieldType, MethodDescriptor, Primitive, mutf8};
use unsnarl_entity::{Interner, PrimaryMap, UniqueMap, entity_id};

entity_id! {
    /// A name or descriptor, in modified UTF-8.
    pub struct Symbol("name");
    /// A type of values.
    pub struct TypeId("type");
    /// The parameter types and the result type of a method.
    pub struct SignatureId("signature");
    /// A reference to a field, by name.
    pub struct FieldRefId("fieldref");
    /// A reference to a method, by name.
    pub struct MethodRefId("methodref");
}

/// A type of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// A primitive type.
    Primitive(Primitive),
    /// A class or interface, by internal name.
    Class(Symbol),
    /// An array, by the type of its elements.
    Array(TypeId),
    /// The type of `null`.
    Null,
    /// The return address of a subroutine in old class files.
    ReturnAddress,
}

/// The types of a method's arguments, without `this`, and of its result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// The parameter types.
    pub parameters: Box<[TypeId]>,
    /// The type of the result; nothing for `void`.
    pub result: Option<TypeId>,
}

/// A field as an instruction names it; the class is where the search begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldRef {
    /// Where the search for the field begins.
    pub class: Symbol,
    /// The name.
    pub name: Symbol,
    /// The type.
    pub ty: TypeId,
}

/// A method as an instruction names it; the class is where the search begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MethodRef {
    /// A class or an array type.
    pub class: TypeId,
    /// The name.
    pub name: Symbol,
    /// The descriptor.
    pub descriptor: Symbol,
    /// Argument and result types.
    pub signature: SignatureId,
    /// Whether the class is referred to as an interface.
    pub is_interface: bool,
}

/// A few names that the lowering itself needs, interned first.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Known {
    pub object: TypeId,
    pub string: TypeId,
    pub class: TypeId,
    pub throwable: TypeId,
    pub method_handle: TypeId,
    pub method_type: TypeId,
    pub null: TypeId,
    pub return_address: TypeId,
    pub int: TypeId,
    pub long: TypeId,
    pub float: TypeId,
    pub double: TypeId,
    pub init: Symbol,
    pub class_init: Symbol,
}

/// All names of a program.
#[derive(Clone, Debug)]
pub struct Names {
    symbols: Interner<Symbol>,
    types: UniqueMap<TypeId, Type>,
    signatures: PrimaryMap<SignatureId, Signature>,
    signature_of: FxHashMap<Symbol, SignatureId>,
    fields: UniqueMap<FieldRefId, FieldRef>,
    methods: UniqueMap<MethodRefId, MethodRef>,
    /// Names that are needed all the time.
    pub known: Known,
}

impl Names {
    /// Only the known names.
    pub fn new() -> Self {
        let mut symbols = Interner::new();
        let mut types = UniqueMap::new();
        let mut class = |name: &[u8]| types.intern(Type::Class(symbols.intern(name)));
        let (object, string) = (class(b"java/lang/Object"), class(b"java/lang/String"));
        let (class_type, throwable) = (class(b"java/lang/Class"), class(b"java/lang/Throwable"));
        let method_handle = class(b"java/lang/invoke/MethodHandle");
        let method_type = class(b"java/lang/invoke/MethodType");
        let mut primitive = |primitive| types.intern(Type::Primitive(primitive));
        let (int, long) = (primitive(Primitive::Int), primitive(Primitive::Long));
        let (float, double) = (primitive(Primitive::Float), primitive(Primitive::Double));
        let known = Known {
            object,
            string,
            class: class_type,
            throwable,
            method_handle,
            method_type,
            null: types.intern(Type::Null),
            return_address: types.intern(Type::ReturnAddress),
            int,
            long,
            float,
            double,
            init: symbols.intern(b"<init>"),
            class_init: symbols.intern(b"<clinit>"),
        };
        Self {
            symbols,
            types,
            signatures: PrimaryMap::new(),
            signature_of: FxHashMap::default(),
            fields: UniqueMap::new(),
            methods: UniqueMap::new(),
            known,
        }
    }

    /// The symbol for `name`.
    pub fn symbol(&mut self, name: &[u8]) -> Symbol {
        self.symbols.intern(name)
    }

    /// The symbol for `name` if anything has that name.
    pub fn find_symbol(&self, name: &[u8]) -> Option<Symbol> {
        self.symbols.find(name)
    }

    /// The bytes of a symbol.
    pub fn bytes(&self, symbol: Symbol) -> &[u8] {
        &self.symbols[symbol]
    }

    /// A symbol as text.
    pub fn text(&self, symbol: Symbol) -> std::borrow::Cow<'_, str> {
        mutf8::to_str(self.bytes(symbol))
    }

    /// The type `ty` as an id.
    pub fn type_id(&mut self, ty: Type) -> TypeId {
        self.types.intern(ty)
    }

    /// The type of an id.
    pub fn ty(&self, id: TypeId) -> Type {
        self.types[id]
    }

    /// The type of a field descriptor.
    pub fn field_type(&mut self, ty: FieldType<'_>) -> TypeId {
        let ty = match (ty.primitive(), ty.class_name(), ty.element()) {
            (Some(primitive), _, _) => Type::Primitive(primitive),
            (_, Some(name), _) => Type::Class(self.symbol(name)),
            (_, _, Some(element)) => Type::Array(self.field_type(element)),
            _ => unreachable!("a field type is primitive, a class or an array"),
        };
        self.type_id(ty)
    }

    /// The type that a class constant names: a class, or an array by its descriptor.
    pub fn class_constant(&mut self, name: &[u8]) -> Option<TypeId> {
        if name.first() == Some(&b'[') {
            return FieldType::parse(name).map(|ty| self.field_type(ty));
        }
        let class = Type::Class(self.symbol(name));
        Some(self.type_id(class))
    }

    /// The signature of a method descriptor; nothing if it is not one.
    pub fn signature(&mut self, descriptor: &[u8]) -> Option<SignatureId> {
        let symbol = self.symbol(descriptor);
        if let Some(&signature) = self.signature_of.get(&symbol) {
            return Some(signature);
        }
        let parsed = MethodDescriptor::parse(descriptor)?;
        let parameters = parsed.parameters().map(|ty| self.field_type(ty)).collect();
        let result = parsed.result().map(|ty| self.field_type(ty));
        let signature = self.signatures.push(Signature { parameters, result });
        self.signature_of.insert(symbol, signature);
        Some(signature)
    }

    /// The signature of an id.
    pub fn signature_data(&self, id: SignatureId) -> &Signature {
        &self.signatures[id]
    }

    /// The id of a field reference; nothing if the descriptor is not one of a field.
    pub fn field_ref(&mut self, member: &MemberRef<'_>) -> Option<FieldRefId> {
        let ty = self.field_type(FieldType::parse(member.descriptor)?);
        let (class, name) = (self.symbol(member.class), self.symbol(member.name));
        Some(self.fields.intern(FieldRef { class, name, ty }))
    }

    /// The id of a field reference whose names are known already.
    pub fn intern_field_ref(&mut self, field: FieldRef) -> FieldRefId {
        self.fields.intern(field)
    }

    /// The field reference of an id.
    pub fn field_ref_data(&self, id: FieldRefId) -> FieldRef {
        self.fields[id]
    }

    /// The id of a method reference; nothing if the descriptor is not one of a method.
    pub fn method_ref(&mut self, member: &MemberRef<'_>) -> Option<MethodRefId> {
        let signature = self.signature(member.descriptor)?;
        let class = self.class_constant(member.class)?;
        let (name, descriptor) = (self.symbol(member.name), self.symbol(member.descriptor));
        let is_interface = member.kind == MemberKind::InterfaceMethod;
        Some(self.methods.intern(MethodRef { class, name, descriptor, signature, is_interface }))
    }

    /// The method reference of an id.
    pub fn method_ref_data(&self, id: MethodRefId) -> MethodRef {
        self.methods[id]
    }

    /// Whether values of the type are references (or `null`).
    pub fn is_reference(&self, id: TypeId) -> bool {
        matches!(self.ty(id), Type::Class(_) | Type::Array(_) | Type::Null)
    }

    /// Whether values of the type take two words.
    pub fn is_wide(&self, id: TypeId) -> bool {
        id == self.known.long || id == self.known.double
    }

    /// A type as Java writes it: `int`, `java.lang.String`, `long[][]`.
    pub fn type_text(&self, id: TypeId) -> String {
        match self.ty(id) {
            Type::Primitive(primitive) => format!("{primitive:?}").to_lowercase(),
            Type::Class(name) => java_name(&self.text(name)),
            Type::Array(element) => self.type_text(element) + "[]",
            Type::Null => "null".to_owned(),
            Type::ReturnAddress => "return address".to_owned(),
        }
    }
}

impl Default for Names {
    fn default() -> Self {
        Self::new()
    }
}

/// An internal name as Java writes it: `java/util/Map$Entry` becomes `java.util.Map$Entry`.
pub fn java_name(internal: &str) -> String {
    internal.replace('/', ".")
}
