//! Statements as text: `v7 = invokevirtual java.util.List.add(v1, v6)`.

use std::fmt;

use crate::body::{Constant, InvokeKind, Operation, PureKind, Statement, Value};
use crate::names::{FieldRefId, MethodRefId, Names, java_name};

/// A statement with the names it needs to be shown.
#[derive(Clone, Copy, Debug)]
pub struct StatementText<'s> {
    /// The names of the program.
    pub names: &'s Names,
    /// The statement.
    pub statement: &'s Statement,
}

impl fmt::Display for StatementText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(result) = self.statement.result {
            write!(f, "{result} = ")?;
        }
        let names = self.names;
        match &self.statement.operation {
            Operation::Parameter(number) => write!(f, "parameter {number}"),
            Operation::Phi(inputs) => write!(f, "phi({})", list(inputs)),
            Operation::Catch(types) if types.is_empty() => write!(f, "catch any"),
            Operation::Catch(types) => {
                let types: Vec<_> = types.iter().map(|&ty| names.type_text(ty)).collect();
                write!(f, "catch {}", types.join(" | "))
            }
            Operation::Constant(constant) => self.constant(f, constant),
            Operation::Compute { opcode, operands } => write!(f, "{opcode}({})", list(operands)),
            Operation::Pure { kind, operands } => match kind {
                PureKind::Concatenate => write!(f, "concatenate({})", list(operands)),
                PureKind::TypeSwitch => write!(f, "typeswitch({})", list(operands)),
                PureKind::RecordMethod(name) => {
                    write!(f, "record {}({})", names.text(*name), list(operands))
                }
            },
            Operation::GetField { object, field } => {
                write!(f, "{object}.{}", self.field(*field))
            }
            Operation::PutField { object, field, value } => {
                write!(f, "{object}.{} = {value}", self.field(*field))
            }
            Operation::GetStatic { field } => write!(f, "static {}", self.field(*field)),
            Operation::PutStatic { field, value } => {
                write!(f, "static {} = {value}", self.field(*field))
            }
            Operation::ArrayLoad { array, index } => write!(f, "{array}[{index}]"),
            Operation::ArrayStore { array, index, value } => {
                write!(f, "{array}[{index}] = {value}")
            }
            Operation::ArrayLength(array) => write!(f, "{array}.length"),
            Operation::New(ty) => write!(f, "new {}", names.type_text(*ty)),
            Operation::NewArray { ty, lengths } => {
                write!(f, "new {}({})", names.type_text(*ty), list(lengths))
            }
            Operation::Invoke { kind, method, arguments } => {
                let kind = match kind {
                    InvokeKind::Virtual => "virtual",
                    InvokeKind::Interface => "interface",
                    InvokeKind::Special => "special",
                    InvokeKind::Static => "static",
                };
                write!(f, "invoke{kind} {}({})", self.method(*method), list(arguments))
            }
            Operation::InvokeDynamic { bootstrap, name, arguments } => {
                let (bootstrap, name) = (self.method(*bootstrap), names.text(*name));
                write!(f, "invokedynamic {bootstrap} {name}({})", list(arguments))
            }
            Operation::Cast { ty, value } => write!(f, "({}) {value}", names.type_text(*ty)),
            Operation::InstanceOf { ty, value } => {
                write!(f, "{value} instanceof {}", names.type_text(*ty))
            }
            Operation::MonitorEnter(value) => write!(f, "monitorenter {value}"),
            Operation::MonitorExit(value) => write!(f, "monitorexit {value}"),
            Operation::Goto(target) => write!(f, "goto {target}"),
            Operation::Branch { opcode, left, right, then, otherwise } => {
                let right = right.map_or(String::new(), |right| format!(", {right}"));
                write!(f, "{opcode} {left}{right} then {then} else {otherwise}")
            }
            Operation::Switch { value, cases, default } => {
                write!(f, "switch {value} {{")?;
                for (key, target) in cases {
                    write!(f, " {key}: {target},")?;
                }
                write!(f, " default: {default} }}")
            }
            Operation::Return(None) => f.write_str("return"),
            Operation::Return(Some(value)) => write!(f, "return {value}"),
            Operation::Throw(value) => write!(f, "throw {value}"),
        }
    }
}

impl StatementText<'_> {
    fn constant(&self, f: &mut fmt::Formatter<'_>, constant: &Constant) -> fmt::Result {
        let names = self.names;
        match *constant {
            Constant::Null => f.write_str("null"),
            Constant::Int(value) => write!(f, "{value}"),
            Constant::Long(value) => write!(f, "{value}L"),
            Constant::Float(bits) => write!(f, "{:?}f", f32::from_bits(bits)),
            Constant::Double(bits) => write!(f, "{:?}", f64::from_bits(bits)),
            Constant::String(text) => write!(f, "{:?}", names.text(text)),
            Constant::Class(ty) => write!(f, "{}.class", names.type_text(ty)),
            Constant::MethodType(descriptor) => write!(f, "method type {}", names.text(descriptor)),
            Constant::MethodHandle { kind, method } => match method {
                Some(method) => write!(f, "method handle {kind} {}", self.method(method)),
                None => write!(f, "method handle {kind}"),
            },
            Constant::Dynamic { name, bootstrap } => {
                write!(f, "dynamic {} {}", self.method(bootstrap), names.text(name))
            }
            Constant::ReturnAddress => f.write_str("return address"),
        }
    }

    fn field(&self, field: FieldRefId) -> String {
        let field = self.names.field_ref_data(field);
        format!("{}.{}", java_name(&self.names.text(field.class)), self.names.text(field.name))
    }

    fn method(&self, method: MethodRefId) -> String {
        let method = self.names.method_ref_data(method);
        format!("{}.{}", self.names.type_text(method.class), self.names.text(method.name))
    }
}

fn list(values: &[Value]) -> String {
    let values: Vec<String> = values.iter().map(Value::to_string).collect();
    values.join(", ")
}
