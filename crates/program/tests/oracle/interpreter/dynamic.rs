//! What the bootstrap methods of the JDK compute: concatenation, the methods of records, and the
//! cases of pattern switches. The static arguments are not part of the body; they are read from the
//! class file, by the offset of the statement.

use unsnarl_classfile::read::{BootstrapMethod, Constant};
use unsnarl_classfile::{Instruction, Pc, Primitive, mutf8};
use unsnarl_program::MethodId;
use unsnarl_program::body::{InvokeKind, PureKind};
use unsnarl_program::names::{FieldRefId, Signature, Type, TypeId};

use super::{Machine, Outcome, Value};

/// A static argument of a bootstrap method.
#[derive(Clone)]
enum Argument {
    Text(String),
    Number(i32),
    Class(TypeId),
    Field(FieldRefId),
    /// The class object of a primitive type.
    Primitive,
}

impl Machine<'_, '_> {
    pub(super) fn pure(
        &mut self,
        method: MethodId,
        pc: Pc,
        kind: PureKind,
        operands: &[Value],
    ) -> Outcome<Value> {
        let (signature, arguments) = self.call_site(method, pc);
        match kind {
            PureKind::Concatenate => {
                let text = self.concatenate(&signature, &arguments, operands)?;
                Ok(Value::Object(self.new_string(text.encode_utf16().collect())))
            }
            PureKind::RecordMethod(name) => {
                let fields: Vec<_> = arguments
                    .iter()
                    .filter_map(|argument| match argument {
                        Argument::Field(field) => Some(*field),
                        _ => None,
                    })
                    .collect();
                match &*self.program.names.text(name) {
                    "toString" => self.record_text(operands[0], &fields),
                    "hashCode" => self.record_hash(operands[0], &fields),
                    "equals" => self.record_equals(operands, &fields),
                    other => panic!("{other} is not a method of records"),
                }
            }
            PureKind::TypeSwitch => self.type_switch(&arguments, operands),
        }
    }

    fn call_site(&mut self, method: MethodId, pc: Pc) -> (Signature, Vec<Argument>) {
        let data = &self.program.methods()[method];
        let origin = self.program.classes()[data.class].file().expect("a class with a file");
        let file = origin.file.clone();
        let code = file.code(&file.methods[usize::from(data.index)]).expect("readable");
        let mut instructions = code.expect("a body").instructions().map(|i| i.expect("readable"));
        let Some((_, Instruction::InvokeDynamic { call_site })) =
            instructions.find(|&(at, _)| at == pc)
        else {
            panic!("no dynamic call at {pc:?}");
        };
        let (number, _, descriptor) = file.pool.invoke_dynamic(call_site).expect("a call site");
        let BootstrapMethod { arguments, .. } = origin.bootstraps[usize::from(number)].clone();
        let signature = self.program.names.signature(descriptor).expect("a valid descriptor");
        let signature = self.program.names.signature_data(signature).clone();
        let arguments = arguments
            .iter()
            .map(|&index| match file.pool.get(index).expect("a constant") {
                Constant::String { value } => {
                    let text = file.pool.utf8(value).expect("text");
                    Argument::Text(mutf8::to_str(text).into_owned())
                }
                Constant::Integer(number) => Argument::Number(number),
                Constant::Class { .. } => {
                    let name = file.pool.class_name(index).expect("a name");
                    Argument::Class(self.program.names.class_constant(name).expect("a class"))
                }
                Constant::MethodHandle { .. } => {
                    let handle = file.pool.method_handle(index).expect("a handle");
                    let field = self.program.names.field_ref(&handle.member);
                    Argument::Field(field.expect("a getter of a record"))
                }
                Constant::Dynamic { .. } => {
                    let (_, _, descriptor) = file.pool.dynamic_constant(index).expect("a constant");
                    assert_eq!(descriptor, b"Ljava/lang/Class;", "a class of a primitive type");
                    Argument::Primitive
                }
                other => panic!("{other:?} as a static argument"),
            })
            .collect();
        (signature, arguments)
    }

    fn concatenate(
        &mut self,
        signature: &Signature,
        arguments: &[Argument],
        operands: &[Value],
    ) -> Outcome<String> {
        let mut operands = signature.parameters.iter().zip(operands);
        let (recipe, constants) = match arguments {
            [Argument::Text(recipe), constants @ ..] => (recipe.clone(), constants),
            _ => ("\u{1}".repeat(signature.parameters.len()), arguments),
        };
        let mut constants = constants.iter();
        let mut text = String::new();
        for character in recipe.chars() {
            match character {
                '\u{1}' => {
                    let (&ty, &value) = operands.next().expect("an operand");
                    text += &self.text_of(ty, value)?;
                }
                '\u{2}' => match constants.next() {
                    Some(Argument::Text(constant)) => text += constant,
                    _ => panic!("a constant that is not text"),
                },
                other => text.push(other),
            }
        }
        Ok(text)
    }

    /// `String.valueOf`.
    pub(super) fn text_of(&mut self, ty: TypeId, value: Value) -> Outcome<String> {
        Ok(match (self.program.names.ty(ty), value) {
            (Type::Primitive(Primitive::Boolean), Value::Int(value)) => (value != 0).to_string(),
            (Type::Primitive(Primitive::Char), Value::Int(value)) => {
                String::from_utf16_lossy(&[value as u16])
            }
            (Type::Primitive(_), Value::Int(value)) => value.to_string(),
            (Type::Primitive(_), Value::Long(value)) => value.to_string(),
            (_, Value::Null) => "null".to_owned(),
            (_, Value::Object(_)) => {
                match self.call_object("toString", "()Ljava/lang/String;", vec![value])? {
                    Value::Object(text) => self.text(text),
                    _ => "null".to_owned(),
                }
            }
            (_, other) => panic!("{other:?} has no text"),
        })
    }

    /// Calls a method of `java.lang.Object`.
    pub(super) fn call_object(
        &mut self,
        name: &str,
        descriptor: &str,
        arguments: Vec<Value>,
    ) -> Outcome<Value> {
        let member = unsnarl_classfile::read::MemberRef {
            kind: unsnarl_classfile::read::MemberKind::Method,
            class: b"java/lang/Object",
            name: name.as_bytes(),
            descriptor: descriptor.as_bytes(),
        };
        let method = self.program.names.method_ref(&member).expect("a valid descriptor");
        let result = self.invoke(InvokeKind::Virtual, method, arguments)?;
        Ok(result.expect("a result"))
    }

    fn component(&mut self, record: Value, reference: FieldRefId) -> (String, TypeId, Value) {
        let field = self.field(reference);
        let data = &self.program.fields()[field];
        let (name, ty) = (self.program.names.text(data.name).into_owned(), data.ty);
        (name, ty, self.fields(record.handle())[&field])
    }

    fn record_text(&mut self, record: Value, fields: &[FieldRefId]) -> Outcome<Value> {
        let class = self.class_name(record.handle());
        let simple = class.rsplit(['.', '$']).next().expect("a last part");
        let mut parts = Vec::new();
        for &field in fields {
            let (name, ty, value) = self.component(record, field);
            parts.push(format!("{name}={}", self.text_of(ty, value)?));
        }
        let text = format!("{simple}[{}]", parts.join(", "));
        Ok(Value::Object(self.new_string(text.encode_utf16().collect())))
    }

    fn record_hash(&mut self, record: Value, fields: &[FieldRefId]) -> Outcome<Value> {
        let mut hash = 0i32;
        for &field in fields {
            let (_, ty, value) = self.component(record, field);
            let part = match (self.program.names.ty(ty), value) {
                (Type::Primitive(Primitive::Boolean), Value::Int(value)) => {
                    if value != 0 {
                        1231
                    } else {
                        1237
                    }
                }
                (_, Value::Int(value)) => value,
                (_, Value::Long(value)) => (value ^ (value as u64 >> 32) as i64) as i32,
                (_, Value::Null) => 0,
                (_, Value::Object(_)) => self.call_object("hashCode", "()I", vec![value])?.int(),
                (_, other) => panic!("{other:?} in a record"),
            };
            hash = hash.wrapping_mul(31).wrapping_add(part);
        }
        Ok(Value::Int(hash))
    }

    fn record_equals(&mut self, operands: &[Value], fields: &[FieldRefId]) -> Outcome<Value> {
        let &[left, right] = operands else { panic!("two records") };
        let same_class = match right {
            Value::Object(right) => self.heap[right.0].ty == self.heap[left.handle().0].ty,
            _ => false,
        };
        let mut equal = same_class;
        for &field in fields {
            if !equal {
                break;
            }
            let (_, _, left) = self.component(left, field);
            let (_, _, right) = self.component(right, field);
            equal = match (left, right) {
                (Value::Object(_), Value::Object(_)) => {
                    let arguments = vec![left, right];
                    self.call_object("equals", "(Ljava/lang/Object;)Z", arguments)?.int() != 0
                }
                _ => left == right,
            };
        }
        Ok(Value::Int(equal.into()))
    }

    fn type_switch(&mut self, labels: &[Argument], operands: &[Value]) -> Outcome<Value> {
        let &[target, Value::Int(restart)] = operands else { panic!("a target and a number") };
        let object = match target {
            Value::Object(object) => object,
            Value::Null => return Ok(Value::Int(-1)),
            // A primitive value fits the pattern of its own type.
            _ => return Ok(Value::Int(restart)),
        };
        for (number, label) in labels.iter().enumerate().skip(restart as usize) {
            let class = self.class_name(object);
            let fits = match label {
                Argument::Class(ty) => self.is_instance(object, *ty),
                Argument::Text(text) if class == "java.lang.String" => self.text(object) == *text,
                // The label of an enum is the name of a constant.
                Argument::Text(text) => {
                    let name = self.field_named(object, "name");
                    match self.fields(object)[&name] {
                        Value::Object(name) => self.text(name) == *text,
                        _ => false,
                    }
                }
                Argument::Number(label) if class == "java.lang.Integer" => {
                    let value = self.field_named(object, "value");
                    self.fields(object)[&value] == Value::Int(*label)
                }
                _ => false,
            };
            if fits {
                return Ok(Value::Int(number as i32));
            }
        }
        Ok(Value::Int(labels.len() as i32))
    }
}
