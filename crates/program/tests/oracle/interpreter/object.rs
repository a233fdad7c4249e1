//! Values and the heap.

use std::collections::HashMap;

use unsnarl_classfile::{Primitive, flags, mutf8};
use unsnarl_program::FieldId;
use unsnarl_program::names::{Symbol, Type, TypeId};

use super::{Machine, Outcome};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    Null,
    Object(Handle),
    ReturnAddress,
}

/// An object on the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Handle(pub(crate) usize);

#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) ty: TypeId,
    pub(crate) content: Content,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Fields(HashMap<FieldId, Value>),
    Array(Vec<Value>),
    /// A string or a string builder, in UTF-16.
    Text(Vec<u16>),
    /// An object of `java.lang.Class`.
    Class(TypeId),
}

impl Value {
    pub(crate) fn int(self) -> i32 {
        match self {
            Self::Int(value) => value,
            other => panic!("{other:?} is not an int"),
        }
    }

    pub(crate) fn long(self) -> i64 {
        match self {
            Self::Long(value) => value,
            other => panic!("{other:?} is not a long"),
        }
    }

    pub(crate) fn float(self) -> f32 {
        match self {
            Self::Float(value) => value,
            other => panic!("{other:?} is not a float"),
        }
    }

    pub(crate) fn double(self) -> f64 {
        match self {
            Self::Double(value) => value,
            other => panic!("{other:?} is not a double"),
        }
    }

    pub(crate) fn handle(self) -> Handle {
        match self {
            Self::Object(handle) => handle,
            other => panic!("{other:?} is not an object"),
        }
    }

    /// Whether it is a value of the primitive type, small integers being ints.
    pub(crate) fn is_of(self, primitive: Primitive) -> bool {
        match primitive {
            Primitive::Long => matches!(self, Self::Long(_)),
            Primitive::Float => matches!(self, Self::Float(_)),
            Primitive::Double => matches!(self, Self::Double(_)),
            _ => matches!(self, Self::Int(_)),
        }
    }

    /// As a field or an element of the type keeps it.
    pub(crate) fn narrowed(self, ty: Type) -> Self {
        match (ty, self) {
            (Type::Primitive(Primitive::Boolean), Self::Int(value)) => Self::Int(value & 1),
            (Type::Primitive(Primitive::Byte), Self::Int(value)) => {
                Self::Int(i32::from(value as i8))
            }
            (Type::Primitive(Primitive::Char), Self::Int(value)) => {
                Self::Int(i32::from(value as u16))
            }
            (Type::Primitive(Primitive::Short), Self::Int(value)) => {
                Self::Int(i32::from(value as i16))
            }
            (Type::Primitive(primitive), value) => {
                assert!(value.is_of(primitive), "{value:?} is not a {primitive:?}");
                value
            }
            (_, value) => {
                assert!(matches!(value, Self::Null | Self::Object(_)), "{value:?} is no reference");
                value
            }
        }
    }

    pub(crate) fn default_of(ty: Type) -> Self {
        match ty {
            Type::Primitive(Primitive::Long) => Self::Long(0),
            Type::Primitive(Primitive::Float) => Self::Float(0.0),
            Type::Primitive(Primitive::Double) => Self::Double(0.0),
            Type::Primitive(_) => Self::Int(0),
            _ => Self::Null,
        }
    }
}

impl Machine<'_, '_> {
    pub(super) fn push(&mut self, ty: TypeId, content: Content) -> Handle {
        self.heap.push(Object { ty, content });
        Handle(self.heap.len() - 1)
    }

    /// A new object; a string builder is text from the beginning.
    pub(super) fn allocate(&mut self, ty: TypeId) -> Handle {
        let name = self.program.names.type_text(ty);
        if matches!(&*name, "java.lang.StringBuilder" | "java.lang.StringBuffer") {
            return self.push(ty, Content::Text(Vec::new()));
        }
        let class = self.program.class_of_type(ty).expect("the type of a class");
        let mut fields = HashMap::new();
        for class in self.program.superclasses(class) {
            for &field in &self.program.classes()[class].fields {
                let data = &self.program.fields()[field];
                if data.access & flags::STATIC == 0 {
                    let default = Value::default_of(self.program.names.ty(data.ty));
                    fields.insert(field, default);
                }
            }
        }
        self.push(ty, Content::Fields(fields))
    }

    /// An array; further lengths are for arrays inside.
    pub(super) fn array(&mut self, ty: TypeId, lengths: &[i32]) -> Value {
        let Type::Array(element) = self.program.names.ty(ty) else { panic!("an array type") };
        let elements = (0..lengths[0])
            .map(|_| match &lengths[1..] {
                [] => Value::default_of(self.program.names.ty(element)),
                inner => self.array(element, inner),
            })
            .collect();
        Value::Object(self.push(ty, Content::Array(elements)))
    }

    pub(super) fn fields(&mut self, object: Handle) -> &mut HashMap<FieldId, Value> {
        match &mut self.heap[object.0].content {
            Content::Fields(fields) => fields,
            other => panic!("{other:?} has no fields"),
        }
    }

    pub(super) fn elements(&mut self, array: Handle) -> &mut Vec<Value> {
        match &mut self.heap[array.0].content {
            Content::Array(elements) => elements,
            other => panic!("{other:?} has no elements"),
        }
    }

    /// The field of that name that is highest above the object.
    pub(super) fn field_named(&mut self, object: Handle, name: &str) -> FieldId {
        let fields = self.fields(object).keys().copied().collect::<Vec<_>>();
        let named =
            |&field: &FieldId| self.program.names.text(self.program.fields()[field].name) == name;
        fields.into_iter().find(named).expect("a field of that name")
    }

    pub(super) fn element(&mut self, array: Value, index: Value) -> Outcome<(Handle, usize)> {
        let array = self.non_null(array)?;
        let index = usize::try_from(index.int()).ok();
        match index.filter(|&index| index < self.elements(array).len()) {
            Some(index) => Ok((array, index)),
            None => Err(self.exception("java/lang/ArrayIndexOutOfBoundsException")),
        }
    }

    pub(super) fn non_null(&mut self, value: Value) -> Outcome<Handle> {
        match value {
            Value::Object(object) => Ok(object),
            Value::Null => Err(self.exception("java/lang/NullPointerException")),
            other => panic!("{other:?} is no reference"),
        }
    }

    /// A new exception of the JVM, without its message.
    pub(super) fn exception(&mut self, class: &str) -> Handle {
        let ty = self.program.names.class_constant(class.as_bytes()).expect("a class");
        self.allocate(ty)
    }

    pub(super) fn is_instance(&mut self, object: Handle, of: TypeId) -> bool {
        self.is_subtype(self.heap[object.0].ty, of)
    }

    fn is_subtype(&mut self, ty: TypeId, of: TypeId) -> bool {
        let names = &self.program.names;
        match (names.ty(ty), names.ty(of)) {
            _ if ty == of || of == names.known.object => true,
            (Type::Array(element), Type::Array(of)) => {
                names.is_reference(element) && self.is_subtype(element, of)
            }
            (Type::Array(_), Type::Class(of)) => {
                matches!(&*names.text(of), "java/lang/Cloneable" | "java/io/Serializable")
            }
            (Type::Class(class), Type::Class(of)) => {
                let (class, of) = (self.program.class_named(class), self.program.class_named(of));
                self.program.is_subclass(class, of)
            }
            _ => false,
        }
    }

    // Texts.

    pub(super) fn new_string(&mut self, text: Vec<u16>) -> Handle {
        self.push(self.program.names.known.string, Content::Text(text))
    }

    pub(super) fn string_constant(&mut self, symbol: Symbol) -> Handle {
        if let Some(&string) = self.strings.get(&symbol) {
            return string;
        }
        let text = mutf8::to_str(self.program.names.bytes(symbol)).encode_utf16().collect();
        let string = self.new_string(text);
        self.strings.insert(symbol, string);
        string
    }

    pub(super) fn units(&mut self, text: Handle) -> &mut Vec<u16> {
        match &mut self.heap[text.0].content {
            Content::Text(units) => units,
            other => panic!("{other:?} is no text"),
        }
    }

    pub(crate) fn text(&mut self, text: Handle) -> String {
        String::from_utf16_lossy(self.units(text))
    }

    pub(super) fn class_object(&mut self, ty: TypeId) -> Handle {
        if let Some(&object) = self.class_objects.get(&ty) {
            return object;
        }
        let object = self.push(self.program.names.known.class, Content::Class(ty));
        self.class_objects.insert(ty, object);
        object
    }

    pub(super) fn class_name(&self, object: Handle) -> String {
        self.program.names.type_text(self.heap[object.0].ty)
    }
}
