//! The assignments of the bodies that are reached.

use std::sync::Arc;

use unsnarl_entity::EntityId;
use unsnarl_models::Treatment;

use super::build::{Builder, Site, Watcher};
use super::object::Object;
use super::solver::{NodeId, Solver};
use super::{Edge, EdgeKind};
use crate::body::{Body, Constant, Operation, PureKind, Statement, StatementId, Value};
use crate::class::{ClassId, FieldId, MethodId};
use crate::names::{Type, TypeId};

impl Builder<'_, '_> {
    pub(super) fn enter(&mut self, method: MethodId) {
        let body = self.program.body(method).expect("only methods with a body are reached");
        let first = self.values[&method];
        for (id, statement) in body.statements.iter() {
            self.statement(method, first, &body, id, statement);
        }
    }

    fn statement(
        &mut self,
        method: MethodId,
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
                let any: &[TypeId] = &[known.throwable];
                for &ty in if types.is_empty() { any } else { types } {
                    let filter = self.solver.objects.filter(ty);
                    self.solver.flow_filtered(self.program, self.thrown, to, Some(filter));
                    // Errors of the JVM itself, and exceptions of code that is not analysed.
                    self.add_unknown(to, ty);
                }
            }
            Operation::Constant(constant) => {
                let Some((to, ty)) = reference else { return };
                match *constant {
                    Constant::Null => {}
                    Constant::Class(ty) => self.solver.add(to, Object::Class(ty)),
                    _ => self.add_unknown(to, ty),
                }
            }
            Operation::Pure { kind, .. } => {
                let Some((to, ty)) = reference else { return };
                let ty = if *kind == PureKind::Concatenate { known.string } else { ty };
                self.add_unknown(to, ty);
            }
            Operation::GetField { field, .. } | Operation::GetStatic { field } => {
                let resolved = self.program.resolve_field(*field);
                if let Operation::GetStatic { .. } = statement.operation {
                    self.initialize_of_field(resolved, method, id);
                }
                let Some((to, ty)) = reference else { return };
                match resolved {
                    Some(field) => {
                        let from = self.field(field);
                        let class = self.program.fields()[field].class;
                        if self.treatment(class) != Treatment::Analyse {
                            self.add_unknown(from, ty);
                        }
                        self.flow(from, to);
                    }
                    None => self.add_unknown(to, ty),
                }
            }
            Operation::PutField { field, value, .. } | Operation::PutStatic { field, value } => {
                let resolved = self.program.resolve_field(*field);
                if let Operation::PutStatic { .. } = statement.operation {
                    self.initialize_of_field(resolved, method, id);
                }
                if let Some(field) = resolved
                    && self.is_reference(body.values[*value].ty)
                {
                    let to = self.field(field);
                    self.flow(node(*value), to);
                }
            }
            Operation::ArrayLoad { array, .. } => {
                if let Some((to, _)) = reference {
                    self.watch(node(*array), Watcher::Load { slot: self.element, to });
                }
            }
            Operation::ArrayStore { array, value, .. }
                if self.is_reference(body.values[*value].ty) =>
            {
                let from = node(*value);
                self.watch(node(*array), Watcher::Store { slot: self.element, from });
            }
            Operation::New(ty) => {
                let Some((to, _)) = reference else { return };
                if let Some(class) = self.program.class_of_type(*ty) {
                    let object = self.allocated(class, method, id);
                    self.solver.add(to, object);
                    self.initialize(class, method, id);
                }
            }
            Operation::NewArray { ty, lengths } => {
                let Some((to, _)) = reference else { return };
                let mut array = self.solver.object(Object::Array(*ty));
                self.solver.add_id(to, array);
                let mut ty = *ty;
                for _ in 1..lengths.len() {
                    let Type::Array(inner) = self.program.names.ty(ty) else { break };
                    let elements = self.slot(array, self.element);
                    ty = inner;
                    array = self.solver.object(Object::Array(ty));
                    self.solver.add_id(elements, array);
                }
            }
            Operation::Cast { ty, value } => {
                let Some((to, _)) = reference else { return };
                let filter = self.solver.objects.filter(*ty);
                self.solver.flow_filtered(self.program, node(*value), to, Some(filter));
            }
            Operation::Throw(value) => self.flow(node(*value), self.thrown),
            Operation::Return(Some(value)) if self.is_reference(body.values[*value].ty) => {
                let to = self.result_of(method);
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
                    caller: method,
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

    fn initialize_of_field(
        &mut self,
        field: Option<FieldId>,
        method: MethodId,
        statement: StatementId,
    ) {
        if let Some(field) = field {
            self.initialize(self.program.fields()[field].class, method, statement);
        }
    }

    /// The statement may be the first to use the class, which runs its initializer and those above.
    pub(super) fn initialize(&mut self, class: ClassId, caller: MethodId, statement: StatementId) {
        let chain: Vec<ClassId> = self.program.superclasses(class).collect();
        let name = self.program.names.known.class_init;
        let descriptor = self.program.names.symbol(b"()V");
        for class in chain {
            if !self.initialized.insert(class) {
                break;
            }
            if self.treatment(class) != Treatment::Analyse {
                continue;
            }
            if let Some(callee) = self.program.declared_method(class, name, descriptor)
                && self.reach(callee).is_some()
            {
                let kind = EdgeKind::ClassInit;
                self.graph.edges.push(Edge { caller, statement, callee, kind });
            }
        }
    }
}
