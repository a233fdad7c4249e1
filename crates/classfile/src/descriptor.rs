//! Field and method descriptors (JVMS 4.3), checked once and then sliced without allocation.

/// The type of a field, parameter or array element: a valid field descriptor such as `I`,
/// `Ljava/lang/String;` or `[[J`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FieldType<'a>(&'a [u8]);

/// A primitive type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Primitive {
    Boolean,
    Byte,
    Char,
    Short,
    Int,
    Long,
    Float,
    Double,
}

impl<'a> FieldType<'a> {
    /// The whole of `descriptor` as one type.
    pub fn parse(descriptor: &'a [u8]) -> Option<Self> {
        let length = first_type(descriptor)?;
        (length == descriptor.len()).then_some(Self(descriptor))
    }

    /// The descriptor.
    pub fn descriptor(self) -> &'a [u8] {
        self.0
    }

    /// The primitive type, if it is one.
    pub fn primitive(self) -> Option<Primitive> {
        Some(match self.0[0] {
            b'Z' => Primitive::Boolean,
            b'B' => Primitive::Byte,
            b'C' => Primitive::Char,
            b'S' => Primitive::Short,
            b'I' => Primitive::Int,
            b'J' => Primitive::Long,
            b'F' => Primitive::Float,
            b'D' => Primitive::Double,
            _ => return None,
        })
    }

    /// The internal name (`java/lang/String`) of a class or interface type.
    pub fn class_name(self) -> Option<&'a [u8]> {
        (self.0[0] == b'L').then(|| &self.0[1..self.0.len() - 1])
    }

    /// The type of the elements of an array type.
    pub fn element(self) -> Option<FieldType<'a>> {
        (self.0[0] == b'[').then(|| FieldType(&self.0[1..]))
    }

    /// Whether values are references to objects or arrays.
    pub fn is_reference(self) -> bool {
        matches!(self.0[0], b'L' | b'[')
    }

    /// How many local variables or stack words a value takes.
    pub fn slots(self) -> usize {
        if matches!(self.0[0], b'J' | b'D') { 2 } else { 1 }
    }

    /// What a `CONSTANT_Class` names: the internal name of a class, the descriptor of an array.
    pub fn constant_class_name(self) -> &'a [u8] {
        self.class_name().unwrap_or(self.0)
    }
}

impl std::fmt::Debug for FieldType<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::mutf8::to_str(self.0))
    }
}

/// A valid method descriptor such as `(ILjava/lang/String;)V`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MethodDescriptor<'a> {
    parameters: &'a [u8],
    result: Option<FieldType<'a>>,
}

impl<'a> MethodDescriptor<'a> {
    /// Checks the whole of `descriptor`.
    pub fn parse(descriptor: &'a [u8]) -> Option<Self> {
        let rest = descriptor.strip_prefix(b"(")?;
        let mut length = 0;
        while *rest.get(length)? != b')' {
            length += first_type(&rest[length..])?;
        }
        let result = match &rest[length + 1..] {
            b"V" => None,
            result => Some(FieldType::parse(result)?),
        };
        Some(Self { parameters: &rest[..length], result })
    }

    /// The parameter types in order, without `this`.
    pub fn parameters(self) -> impl Iterator<Item = FieldType<'a>> {
        let mut rest = self.parameters;
        std::iter::from_fn(move || {
            let length = first_type(rest)?;
            let (first, tail) = rest.split_at(length);
            rest = tail;
            Some(FieldType(first))
        })
    }

    /// The type of the result; nothing for `void`.
    pub fn result(self) -> Option<FieldType<'a>> {
        self.result
    }

    /// How many local variables the arguments take, without `this`.
    pub fn parameter_slots(self) -> usize {
        self.parameters().map(FieldType::slots).sum()
    }
}

impl std::fmt::Debug for MethodDescriptor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({}) -> {:?}", crate::mutf8::to_str(self.parameters), self.result)
    }
}

/// The length of the type at the front of `descriptor`.
fn first_type(descriptor: &[u8]) -> Option<usize> {
    let dimensions = descriptor.iter().take_while(|&&byte| byte == b'[').count();
    if dimensions > 255 {
        return None;
    }
    match descriptor.get(dimensions)? {
        b'Z' | b'B' | b'C' | b'S' | b'I' | b'J' | b'F' | b'D' => Some(dimensions + 1),
        b'L' => {
            let name = &descriptor[dimensions + 1..];
            let length = name.iter().position(|&byte| byte == b';')?;
            (length > 0).then_some(dimensions + length + 2)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn method_descriptors_are_taken_apart() {
        let descriptor = MethodDescriptor::parse(b"(I[[JLa/B;D)[La/C;").unwrap();
        let parameters: Vec<_> = descriptor.parameters().map(|t| t.descriptor()).collect();
        assert_eq!(parameters, [&b"I"[..], b"[[J", b"La/B;", b"D"]);
        assert_eq!(descriptor.parameter_slots(), 5);
        let result = descriptor.result().unwrap();
        assert_eq!(result.constant_class_name(), b"[La/C;");
        assert_eq!(result.element().unwrap().class_name(), Some(&b"a/C"[..]));
        assert_eq!(MethodDescriptor::parse(b"()V").unwrap().result(), None);
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in ["", "(", "()", "(V)V", "(I", "(L;)V", "(Lx)V", "()VV", "([)V", "()[", "I"] {
            assert_eq!(MethodDescriptor::parse(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(FieldType::parse(b"II"), None);
        assert_eq!(FieldType::parse(&[b'['; 300]), None);
    }
}
