//! The methods of the synthetic classes that stand for lambda expressions and method references.
//!
//! A method loads what was captured, adapts its arguments as `LambdaMetafactory` does (casts, boxing,
//! widening), and calls the lambda's body.

use smallvec::smallvec;
use unsnarl_classfile::read::{MemberKind, MemberRef};
use unsnarl_classfile::{Opcode, Pc, Primitive};
use unsnarl_entity::PrimaryMap;

use crate::body::{
    Block, Body, InvokeKind, Operation, Statement, StatementId, Value, ValueData, Values,
};
use crate::lower::{Lambda, LambdaTarget};
use crate::names::{Names, Type, TypeId};

/// The body of the method with the descriptor of that number.
pub(crate) fn body(lambda: &Lambda, descriptor: usize, names: &mut Names) -> Body {
    let own = names.bytes(lambda.descriptors[descriptor]).to_vec();
    let own = names.signature(&own).expect("checked by the lowering");
    let own = names.signature_data(own).clone();
    let instantiated = names.signature_data(lambda.instantiated).clone();
    let this_type = names.type_id(Type::Class(lambda.class));
    let mut builder = Builder { names, statements: PrimaryMap::new(), values: PrimaryMap::new() };

    let this = builder.emit(this_type, Operation::Parameter(0));
    let parameters: Vec<Value> = (1..)
        .zip(&own.parameters)
        .map(|(number, &ty)| builder.emit(ty, Operation::Parameter(number)))
        .collect();
    let mut arguments = Vec::new();
    for (index, &ty) in lambda.captured.iter().enumerate() {
        let field = lambda.captured_field(builder.names, index);
        let field = builder.names.intern_field_ref(field);
        let value = builder.emit(ty, Operation::GetField { object: this, field });
        arguments.push((value, ty));
    }
    for (index, &value) in parameters.iter().enumerate() {
        let declared = own.parameters[index];
        let ty = instantiated.parameters.get(index).copied().unwrap_or(declared);
        arguments.push((builder.adapt(value, declared, ty), ty));
    }

    let result = builder.call(lambda.target, arguments);
    let returned = own.result.map(|ty| match result {
        Some((value, found)) => builder.adapt(value, found, ty),
        // A method without a result cannot stand for one with a result; no verifier lets it.
        None => builder.emit(ty, Operation::Constant(crate::body::Constant::Null)),
    });
    builder.perform(Operation::Return(returned));
    builder.finish()
}

struct Builder<'n> {
    names: &'n mut Names,
    statements: PrimaryMap<StatementId, Statement>,
    values: PrimaryMap<Value, ValueData>,
}

impl Builder<'_> {
    fn emit(&mut self, ty: TypeId, operation: Operation) -> Value {
        let definition = self.statements.next_key();
        let value = self.values.push(ValueData { definition, ty });
        self.statements.push(Statement { pc: Pc(0), line: 0, result: Some(value), operation });
        value
    }

    fn perform(&mut self, operation: Operation) {
        self.statements.push(Statement { pc: Pc(0), line: 0, result: None, operation });
    }

    /// Calls what the lambda stands for; returns the result and its type.
    fn call(
        &mut self,
        target: LambdaTarget,
        given: Vec<(Value, TypeId)>,
    ) -> Option<(Value, TypeId)> {
        let (LambdaTarget::Method(_, method) | LambdaTarget::Constructor(method)) = target;
        let reference = self.names.method_ref_data(method);
        let signature = self.names.signature_data(reference.signature).clone();
        let mut expected: Vec<TypeId> = signature.parameters.to_vec();
        match target {
            LambdaTarget::Method(InvokeKind::Static, _) | LambdaTarget::Constructor(_) => {}
            LambdaTarget::Method(..) => expected.insert(0, reference.class),
        }
        let mut arguments: Values = given
            .into_iter()
            .zip(expected)
            .map(|((value, from), to)| self.adapt(value, from, to))
            .collect();
        match target {
            LambdaTarget::Constructor(_) => {
                let object = self.emit(reference.class, Operation::New(reference.class));
                arguments.insert(0, object);
                self.perform(Operation::Invoke { kind: InvokeKind::Special, method, arguments });
                Some((object, reference.class))
            }
            LambdaTarget::Method(kind, _) => {
                let call = Operation::Invoke { kind, method, arguments };
                match signature.result {
                    Some(ty) => Some((self.emit(ty, call), ty)),
                    None => {
                        self.perform(call);
                        None
                    }
                }
            }
        }
    }

    /// Converts a value the way `LambdaMetafactory` does.
    fn adapt(&mut self, value: Value, from: TypeId, to: TypeId) -> Value {
        match (self.names.ty(from), self.names.ty(to)) {
            _ if from == to || to == self.names.known.object && self.names.is_reference(from) => {
                value
            }
            (Type::Primitive(from), Type::Primitive(to)) => self.widen(value, from, to),
            (Type::Primitive(from), _) => self.box_value(value, from),
            (_, Type::Primitive(to)) => self.unbox(value, from, to),
            _ => self.emit(to, Operation::Cast { ty: to, value }),
        }
    }

    fn widen(&mut self, value: Value, from: Primitive, to: Primitive) -> Value {
        use Primitive::{Double, Float, Long};
        let opcode = match (from, to) {
            _ if from == to => return value,
            (Long, Float) => Opcode::L2F,
            (Long, Double) => Opcode::L2D,
            (Float, Double) => Opcode::F2D,
            (_, Long) => Opcode::I2L,
            (_, Float) => Opcode::I2F,
            (_, Double) => Opcode::I2D,
            // The smaller integers are ints already.
            _ => return value,
        };
        let ty = self.names.type_id(Type::Primitive(to));
        self.emit(ty, Operation::Compute { opcode, operands: smallvec![value] })
    }

    fn box_value(&mut self, value: Value, primitive: Primitive) -> Value {
        let Wrapper { class, letter, .. } = wrapper(primitive);
        let descriptor = format!("({letter})L{class};");
        self.invoke(InvokeKind::Static, class, "valueOf", &descriptor, value)
    }

    /// Opens a box of whatever type, then widens; what is not known to be a box is taken for a number
    /// that is asked for the result directly.
    fn unbox(&mut self, value: Value, from: TypeId, to: Primitive) -> Value {
        let boxed = match self.names.ty(from) {
            Type::Class(name) => primitive_of(self.names.bytes(name)),
            _ => None,
        };
        let Wrapper { class, letter, open } = wrapper(boxed.unwrap_or(to));
        let descriptor = format!("(){letter}");
        match (boxed, to) {
            (Some(boxed), _) => {
                let value = self.invoke(InvokeKind::Virtual, class, open, &descriptor, value);
                self.widen(value, boxed, to)
            }
            (None, Primitive::Boolean | Primitive::Char) => {
                self.cast_and_invoke(class, open, &descriptor, value)
            }
            (None, _) => self.cast_and_invoke("java/lang/Number", open, &descriptor, value),
        }
    }

    fn cast_and_invoke(
        &mut self,
        class: &str,
        name: &str,
        descriptor: &str,
        value: Value,
    ) -> Value {
        let ty = self.names.class_constant(class.as_bytes()).expect("a class name");
        let value = self.emit(ty, Operation::Cast { ty, value });
        self.invoke(InvokeKind::Virtual, class, name, descriptor, value)
    }

    fn invoke(
        &mut self,
        kind: InvokeKind,
        class: &str,
        name: &str,
        descriptor: &str,
        argument: Value,
    ) -> Value {
        let member = MemberRef {
            kind: MemberKind::Method,
            class: class.as_bytes(),
            name: name.as_bytes(),
            descriptor: descriptor.as_bytes(),
        };
        let method = self.names.method_ref(&member).expect("a valid descriptor");
        let signature = self.names.method_ref_data(method).signature;
        let result = self.names.signature_data(signature).result.expect("a result");
        self.emit(result, Operation::Invoke { kind, method, arguments: smallvec![argument] })
    }

    fn finish(self) -> Body {
        let mut statements = self.statements.keys();
        let start = statements.next().expect("there is a return");
        let mut blocks = PrimaryMap::new();
        blocks.push(Block {
            start,
            end: self.statements.next_key(),
            predecessors: smallvec![],
            handlers: smallvec![],
        });
        Body { blocks, statements: self.statements, values: self.values }
    }
}

struct Wrapper {
    class: &'static str,
    letter: char,
    open: &'static str,
}

/// What a box of the class with this name holds.
fn primitive_of(class: &[u8]) -> Option<Primitive> {
    use Primitive::*;
    [Boolean, Byte, Char, Short, Int, Long, Float, Double]
        .into_iter()
        .find(|&primitive| wrapper(primitive).class.as_bytes() == class)
}

fn wrapper(primitive: Primitive) -> Wrapper {
    let (class, letter, open) = match primitive {
        Primitive::Boolean => ("java/lang/Boolean", 'Z', "booleanValue"),
        Primitive::Byte => ("java/lang/Byte", 'B', "byteValue"),
        Primitive::Char => ("java/lang/Character", 'C', "charValue"),
        Primitive::Short => ("java/lang/Short", 'S', "shortValue"),
        Primitive::Int => ("java/lang/Integer", 'I', "intValue"),
        Primitive::Long => ("java/lang/Long", 'J', "longValue"),
        Primitive::Float => ("java/lang/Float", 'F', "floatValue"),
        Primitive::Double => ("java/lang/Double", 'D', "doubleValue"),
    };
    Wrapper { class, letter, open }
}
