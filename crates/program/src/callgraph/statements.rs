//! What the statements of a body move where.

use std::sync::Arc;

use unsnarl_classfile::flags;
use unsnarl_entity::EntityId;
use unsnarl_models::Treatment;

use super::EdgeKind;
use super::build::{Builder, Precision, Site, Watcher};
use super::object::Object;
use super::solver::{NodeId, Solver};
use crate::body::{Body, Constant, Operation, PureKind, Statement, StatementId, Value};
use crate::heap::{InstanceId, Variable};
use crate::names::{Symbol, Type, TypeId};
use unsnarl_classpath::Role;

impl Builder<'_, '_, '_> {
    /// Brings in the assignments and calls of a method that was reached.
    pub(super) fn enter(&mut self, instance: InstanceId) {
        let method = self.method_of(instance);
        let body = self.program.body(method).expect("only methods with a body are reached");
        let first = self.values[instance].expect("what is pending was reached");
        for (id, statement) in body.statements.iter() {
            self.statement(instance, first, &body, id, statement);
        }
    }

    fn statement(
        &mut self,
        instance: InstanceId,
        first: NodeId,
        body: &Arc<Body>,
        id: StatementId,
        statement: &Statement,
    ) {
        let known = self.program.names.known;
        let node = |value: Value| Solver::offset(first, value.index());
        let result = statement.result.map(|value| (node(value), body.values[value].ty));
        let reference = result.filter(|&(_, ty)| self.is_reference(ty));
        match &statement.operation {
            Operation::Phi(inputs) => {
                if let Some((to, _)) = reference {
                    for &input in inputs {
                        self.flow(node(input), to);
                    }
                }
            }
            Operation::Catch(types) => {
                let Some((to, _)) = reference else { return };
                let thrown = self.thrown(self.origin_of(instance));
                let any: &[TypeId] = &[known.throwable];
                for &ty in if types.is_empty() { any } else { types } {
                    let filter = self.solver.objects.filter(ty);
                    self.solver.flow_filtered(self.program, thrown, to, Some(filter));
                    // Errors of the JVM itself, and exceptions of code that is not analysed.
                    self.add_unknown(to, ty);
                }
            }
            Operation::Constant(constant) => {
                let Some((to, ty)) = reference else { return };
                match *constant {
                    Constant::Null => {}
                    Constant::Class(ty) => self.solver.add(to, Object::Class(ty)),
                    Constant::String(text) if self.names_a_class(text) => {
                        self.solver.add(to, Object::ClassName(text));
                    }
                    _ => self.add_unknown(to, ty),
                }
            }
            Operation::Pure { kind, operands } => {
                match *kind {
                    PureKind::Concatenate => {
                        let shown = operands.iter().map(|&value| (value, body.values[value].ty));
                        for (value, ty) in shown {
                            if self.is_reference(ty) && ty != known.string {
                                self.call_by_name(instance, id, &[node(value)], b"toString");
                            }
                        }
                    }
                    PureKind::RecordMethod(name) => self.call_on_components(instance, id, name),
                    PureKind::TypeSwitch => {}
                }
                let Some((to, ty)) = reference else { return };
                let is_text = *kind == PureKind::Concatenate;
                self.add_unknown(to, if is_text { known.string } else { ty });
            }
            Operation::GetField { field, .. } | Operation::GetStatic { field } => {
                let resolved = self.program.resolve_field(*field);
                if let Operation::GetStatic { .. } = statement.operation {
                    self.initialize_of_field(resolved, instance, id);
                }
                let Some((to, ty)) = reference else { return };
                match (resolved, &statement.operation) {
                    (Some(field), &Operation::GetField { object, .. })
                        if self.precision == Precision::Heap =>
                    {
                        let variable = Variable::Field(field);
                        self.watch(node(object), Watcher::Load { variable, to });
                    }
                    (Some(field), _) => {
                        let from = self.field(field);
                        let class = self.program.fields()[field].class;
                        if self.treatment(class) != Treatment::Analyse {
                            self.add_unknown(from, ty);
                        }
                        self.flow(from, to);
                    }
                    (None, _) => self.add_unknown(to, ty),
                }
            }
            Operation::PutField { field, value, .. } | Operation::PutStatic { field, value } => {
                let resolved = self.program.resolve_field(*field);
                if let Operation::PutStatic { .. } = statement.operation {
                    self.initialize_of_field(resolved, instance, id);
                }
                if let Some(field) = resolved
                    && self.is_reference(body.values[*value].ty)
                {
                    let from = node(*value);
                    if let Operation::PutField { object, .. } = statement.operation
                        && self.precision == Precision::Heap
                    {
                        let variable = Variable::Field(field);
                        self.watch(node(object), Watcher::Store { variable, from });
                    } else {
                        let to = self.field(field);
                        self.flow(from, to);
                    }
                }
            }
            Operation::ArrayLoad { array, .. } => {
                let Some((to, _)) = reference else { return };
                if let Some(stored) = body.stored_element(id) {
                    self.flow(node(stored), to);
                } else {
                    self.watch(node(*array), Watcher::Load { variable: self.element, to });
                }
            }
            Operation::ArrayStore { array, value, .. }
                if self.is_reference(body.values[*value].ty) =>
            {
                let from = node(*value);
                self.watch(node(*array), Watcher::Store { variable: self.element, from });
            }
            Operation::New(ty) => {
                let Some((to, _)) = reference else { return };
                if let Some(class) = self.program.class_of_type(*ty) {
                    let object = self.allocated(class, instance, id);
                    self.solver.add(to, object);
                    self.initialize(class, instance, id);
                }
            }
            Operation::NewArray { ty, lengths } => {
                let Some((to, _)) = reference else { return };
                let object = self.array(*ty, instance, id);
                let mut array = self.solver.object(object);
                self.solver.add_id(to, array);
                let mut ty = *ty;
                for _ in 1..lengths.len() {
                    let Type::Array(inner) = self.program.names.ty(ty) else { break };
                    let elements = self.slot(array, self.element);
                    ty = inner;
                    let object = self.array(ty, instance, id);
                    array = self.solver.object(object);
                    self.solver.add_id(elements, array);
                }
            }
            Operation::Cast { ty, value } => {
                let Some((to, _)) = reference else { return };
                let filter = self.solver.objects.filter(*ty);
                self.solver.flow_filtered(self.program, node(*value), to, Some(filter));
            }
            Operation::Throw(value) => {
                let thrown = self.thrown(self.origin_of(instance));
                self.flow(node(*value), thrown);
            }
            Operation::Return(Some(value)) if self.is_reference(body.values[*value].ty) => {
                let to = self.result_of(instance);
                self.flow(node(*value), to);
            }
            Operation::InvokeDynamic { .. } => {
                self.graph.gaps.dynamic_calls += 1;
                if let Some((to, ty)) = reference {
                    self.add_unknown(to, ty);
                }
            }
            Operation::Invoke { kind, method: callee, arguments } => {
                let is_reference = |&value: &Value| self.is_reference(body.values[value].ty);
                let arguments = arguments
                    .iter()
                    .map(|value| is_reference(value).then(|| node(*value)))
                    .collect();
                let site = self.sites.push(Site {
                    caller: instance,
                    statement: id,
                    arguments,
                    result: reference.map(|(node, _)| node),
                    kind: EdgeKind::Call,
                });
                self.invoke(site, *kind, *callee);
            }
            _ => {}
        }
    }

    /// The array that a statement makes.
    fn array(&mut self, ty: TypeId, instance: InstanceId, statement: StatementId) -> Object {
        match self.precision {
            Precision::Types => Object::Array(ty),
            Precision::Heap => Object::AllocatedArray {
                ty,
                method: self.method_of(instance),
                statement,
                context: self.made_in(instance),
            },
        }
    }

    /// What the methods that a record has by itself do with its components.
    fn call_on_components(&mut self, instance: InstanceId, id: StatementId, name: Symbol) {
        let this = self.values[instance].expect("its statements are being looked at");
        let class = self.program.methods()[self.method_of(instance)].class;
        let name = self.program.names.bytes(name).to_vec();
        for field in self.program.classes()[class].fields.clone() {
            let data = &self.program.fields()[field];
            if data.access & flags::STATIC == 0 && self.is_reference(data.ty) {
                let component = match self.precision {
                    Precision::Types => self.field(field),
                    Precision::Heap => {
                        let to = self.solver.node();
                        self.watch(this, Watcher::Load { variable: Variable::Field(field), to });
                        to
                    }
                };
                let both = [component, component];
                let count = if name == b"equals" { 2 } else { 1 };
                self.call_by_name(instance, id, &both[..count], &name);
            }
        }
    }

    /// A call that the statement makes without saying so.
    fn call_by_name(
        &mut self,
        caller: InstanceId,
        statement: StatementId,
        arguments: &[NodeId],
        name: &[u8],
    ) {
        let site = self.sites.push(Site {
            caller,
            statement,
            arguments: arguments.iter().copied().map(Some).collect(),
            result: None,
            kind: EdgeKind::Callback,
        });
        let name = self.program.names.symbol(name);
        self.watch_callback(arguments[0], site, name);
    }

    /// Whether a text is the name of a class outside the JDK. Where such a text goes, reflection may
    /// look for the class.
    fn names_a_class(&mut self, text: Symbol) -> bool {
        let text = self.program.names.bytes(text);
        let is_name = |&byte: &u8| byte.is_ascii_alphanumeric() || b"._$".contains(&byte);
        if text.is_empty() || !text.iter().all(is_name) {
            return false;
        }
        let internal = internal_name(text);
        let path = self.program.path();
        path.find(&internal).is_some_and(|entry| path.role(entry) != Role::Jdk)
    }
}

/// `a/b/C` for `a.b.C`.
pub(super) fn internal_name(name: &[u8]) -> Vec<u8> {
    name.iter().map(|&byte| if byte == b'.' { b'/' } else { byte }).collect()
}
