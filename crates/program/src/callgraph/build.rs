//! The assignments and calls of the bodies that are reached.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use unsnarl_entity::{EntityId, PrimaryMap, SecondaryMap, entity_id};
use unsnarl_models::{MemberKind, MethodModel, Models, Treatment};

use super::entries::EntryPoints;
use super::library::Knowledge;
use super::object::{Object, ObjectId};
use super::solver::{NodeId, Solver, WatcherId};
use super::{CallGraph, Edge, EdgeKind};
use crate::body::{Body, Constant, InvokeKind, Operation, PureKind, Statement, StatementId, Value};
use crate::class::{ClassId, FieldId, MethodId};
use crate::names::{MethodRefId, Symbol, Type, TypeId};
use crate::path::Role;
use crate::program::Program;

entity_id! {
    /// A call, by a statement or by a model on behalf of a statement.
    pub(super) struct SiteId("site");
}

/// A call with more targets than this joins the other such calls of its method.
const MOST_TARGETS: usize = 100;

/// A call.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) caller: MethodId,
    pub(super) statement: StatementId,
    /// `this` first if there is one; nothing where the argument is not a reference.
    pub(super) arguments: SmallVec<[Option<NodeId>; 4]>,
    pub(super) result: Option<NodeId>,
    pub(super) kind: EdgeKind,
}

/// What a call runs on an object.
#[derive(Clone, Copy)]
enum Selected {
    /// A method that is entered, and its first value node.
    Bytecode(MethodId, NodeId),
    /// A method that is modelled or opaque.
    Other(MethodId),
    /// Nobody knows.
    None,
}

/// What happens when an object arrives at a node.
#[derive(Clone, Copy)]
pub(super) enum Watcher {
    /// A call of this method on the object.
    Dispatch { site: SiteId, method: MethodId },
    /// A read of the object's contents.
    Load { slot: Symbol, to: NodeId },
    /// A write of the object's contents.
    Store { slot: Symbol, from: NodeId },
    /// A read of one of the object's fields or elements, nobody knows which.
    LoadVariable { to: NodeId },
    /// A write of one of the object's fields or elements, nobody knows which.
    StoreVariable { from: NodeId },
    /// A call by a model of the methods with this name and number of arguments.
    Callback { site: SiteId, method: Symbol },
    /// Whatever a library can call on an object that it takes for one of this class.
    Handed { site: SiteId, class: ClassId },
    /// An allocation by reflection.
    ReflectNew { site: SiteId, to: NodeId },
    /// A search for a member of the class.
    ReflectMember { kind: MemberKind, name: Option<Symbol>, to: NodeId },
    /// A call by reflection.
    ReflectCall { site: SiteId, on: Option<NodeId> },
}

/// A model by its address: two models may say the same of different methods.
pub(super) type ModelKey = *const MethodModel;

pub(super) struct Builder<'b, 'a> {
    pub(super) program: &'b mut Program<'a>,
    pub(super) models: &'b Models,
    pub(super) solver: Solver,
    pub(super) graph: CallGraph,
    pub(super) sites: PrimaryMap<SiteId, Site>,
    watchers: PrimaryMap<WatcherId, Watcher>,
    /// The first node of a method's values; its parameters come first.
    values: FxHashMap<MethodId, NodeId>,
    results: FxHashMap<MethodId, NodeId>,
    fields: FxHashMap<FieldId, NodeId>,
    slots: FxHashMap<(ObjectId, Symbol), NodeId>,
    pub(super) statics: FxHashMap<(Symbol, Symbol), NodeId>,
    thrown: NodeId,
    pub(super) element: Symbol,
    pending: VecDeque<MethodId>,
    linked: FxHashSet<(SiteId, MethodId)>,
    /// What a method selects on each object, as far as it was asked.
    targets: FxHashMap<MethodId, Vec<Option<Selected>>>,
    /// The calls that meet others in a hub.
    joined: FxHashSet<SiteId>,
    /// How many targets a dispatched call has.
    target_counts: FxHashMap<SiteId, usize>,
    /// Where calls of a method with very many targets meet.
    hubs: FxHashMap<MethodId, SiteId>,
    /// Where the receivers of a modelled call are collected.
    pub(super) modelled: FxHashMap<(SiteId, ModelKey), NodeId>,
    /// The calls that a modelled method makes on contents.
    pub(super) shared: FxHashMap<(MethodId, ModelKey), SiteId>,
    /// What a callback by name and number of arguments leads to.
    pub(super) callbacks: FxHashMap<(ClassId, Symbol, usize), Arc<[MethodId]>>,
    /// What opaque code can call on an object that it sees as one of a class.
    handed_targets: FxHashMap<(ClassId, ClassId), Arc<[MethodId]>>,
    pub(super) knowledge: FxHashMap<(ClassId, MethodId), Knowledge<'b>>,
    /// Whether a class can start threads.
    pub(super) starters: SecondaryMap<ClassId, Option<bool>>,
    pub(super) treatments: SecondaryMap<ClassId, Option<Treatment>>,
    initialized: FxHashSet<ClassId>,
}

pub(super) fn build(
    program: &mut Program<'_>,
    models: &Models,
    entries: &EntryPoints,
) -> CallGraph {
    let mut solver = Solver::default();
    let thrown = solver.node();
    let element = program.names.symbol(b"[]");
    let mut builder = Builder {
        program,
        models,
        solver,
        graph: CallGraph::default(),
        sites: PrimaryMap::new(),
        watchers: PrimaryMap::new(),
        values: FxHashMap::default(),
        results: FxHashMap::default(),
        fields: FxHashMap::default(),
        slots: FxHashMap::default(),
        statics: FxHashMap::default(),
        thrown,
        element,
        pending: VecDeque::new(),
        linked: FxHashSet::default(),
        targets: FxHashMap::default(),
        joined: FxHashSet::default(),
        target_counts: FxHashMap::default(),
        hubs: FxHashMap::default(),
        modelled: FxHashMap::default(),
        shared: FxHashMap::default(),
        callbacks: FxHashMap::default(),
        handed_targets: FxHashMap::default(),
        knowledge: FxHashMap::default(),
        starters: SecondaryMap::new(),
        treatments: SecondaryMap::new(),
        initialized: FxHashSet::default(),
    };
    builder.seed(entries);
    builder.solve();
    let mut graph = builder.graph;
    graph.objects = builder.solver.objects.all.len();
    graph.finish();
    graph
}

impl Builder<'_, '_> {
    fn solve(&mut self) {
        loop {
            while let Some(method) = self.pending.pop_front() {
                self.enter(method);
            }
            let Some((watchers, objects)) = self.solver.step(self.program) else {
                if self.pending.is_empty() {
                    return;
                }
                continue;
            };
            for watcher in watchers {
                self.arrived(watcher, &objects);
            }
        }
    }

    // Entry points.

    fn seed(&mut self, entries: &EntryPoints) {
        let known = self.program.names.known;
        // Everything that clients of a library can make themselves.
        let clients = self.solver.node();
        for &class in &entries.instantiated {
            self.solver.add(clients, Object::Instance(class));
        }
        for &method in &entries.methods {
            let Some(first) = self.reach(method) else { continue };
            self.graph.entries.push(method);
            let data = &self.program.methods()[method];
            let (class, is_static, signature) = (data.class, data.is_static(), data.signature);
            let parameters = self.program.names.signature_data(signature).parameters.clone();
            if !is_static {
                let this =
                    self.program.names.type_id(Type::Class(self.program.classes()[class].name));
                let filter = self.solver.objects.filter(this);
                self.solver.flow_filtered(self.program, clients, first, Some(filter));
                if self.program.classes()[class].is_concrete() {
                    self.solver.add(first, Object::Instance(class));
                }
            }
            for (index, &ty) in parameters.iter().enumerate() {
                if !self.program.names.is_reference(ty) {
                    continue;
                }
                let node = Solver::offset(first, index + usize::from(!is_static));
                self.add_unknown(node, ty);
                if ty != known.object {
                    let filter = self.solver.objects.filter(ty);
                    self.solver.flow_filtered(self.program, clients, node, Some(filter));
                }
            }
            let statement = StatementId::from_index(0);
            self.initialize(class, method, statement);
        }
    }

    // Nodes.

    /// Makes a method reachable; returns its first value node unless it has no body.
    pub(super) fn reach(&mut self, method: MethodId) -> Option<NodeId> {
        if let Some(&first) = self.values.get(&method) {
            return Some(first);
        }
        let body = self.program.body(method)?;
        let first = self.solver.nodes(body.values.len());
        self.values.insert(method, first);
        if !self.hubs.contains_key(&method) {
            self.graph.methods.push(method);
        }
        self.pending.push_back(method);
        Some(first)
    }

    /// The first value node of a method that was reached.
    pub(super) fn entered(&self, method: MethodId) -> Option<NodeId> {
        self.values.get(&method).copied()
    }

    pub(super) fn result_of(&mut self, method: MethodId) -> NodeId {
        let solver = &mut self.solver;
        *self.results.entry(method).or_insert_with(|| solver.node())
    }

    fn field(&mut self, field: FieldId) -> NodeId {
        let solver = &mut self.solver;
        *self.fields.entry(field).or_insert_with(|| solver.node())
    }

    pub(super) fn slot(&mut self, object: ObjectId, slot: Symbol) -> NodeId {
        let solver = &mut self.solver;
        *self.slots.entry((object, slot)).or_insert_with(|| solver.node())
    }

    pub(super) fn is_reference(&self, ty: TypeId) -> bool {
        self.program.names.is_reference(ty)
    }

    pub(super) fn flow(&mut self, from: NodeId, to: NodeId) {
        self.solver.flow(self.program, from, to);
    }

    /// Adds something of a declared type of which nothing else is known.
    pub(super) fn add_unknown(&mut self, node: NodeId, ty: TypeId) {
        match self.program.names.ty(ty) {
            Type::Array(element) => {
                let array = self.solver.object(Object::Array(ty));
                self.solver.add_id(node, array);
                if self.is_reference(element) {
                    let elements = self.slot(array, self.element);
                    self.add_unknown(elements, element);
                }
            }
            Type::Class(name) => {
                let class = self.program.class_named(name);
                let is_final =
                    self.program.classes()[class].access & unsnarl_classfile::flags::FINAL != 0;
                let object =
                    if is_final { Object::Instance(class) } else { Object::Unknown(class) };
                self.solver.add(node, object);
            }
            _ => {}
        }
    }

    pub(super) fn watch(&mut self, node: NodeId, watcher: Watcher) {
        let watcher = self.watchers.push(watcher);
        let objects = self.solver.watch(node, watcher);
        self.arrived(watcher, &objects);
    }

    fn arrived(&mut self, watcher: WatcherId, objects: &[ObjectId]) {
        match self.watchers[watcher] {
            Watcher::Dispatch { site, method } => self.dispatch(site, method, objects),
            watcher => objects.iter().for_each(|&object| self.arrived_one(watcher, object)),
        }
    }

    fn arrived_one(&mut self, watcher: Watcher, object: ObjectId) {
        match watcher {
            Watcher::Dispatch { site, method } => self.dispatch(site, method, &[object]),
            Watcher::Load { slot, to } => {
                let from = self.slot(object, slot);
                self.flow(from, to);
            }
            Watcher::Store { slot, from } => {
                let to = self.slot(object, slot);
                self.flow(from, to);
            }
            Watcher::LoadVariable { to } => self.variable(object, |builder, variable, _| {
                builder.flow(variable, to);
            }),
            Watcher::StoreVariable { from } => {
                self.variable(object, |builder, variable, filter| {
                    let filter = filter.map(|ty| builder.solver.objects.filter(ty));
                    builder.solver.flow_filtered(builder.program, from, variable, filter);
                })
            }
            Watcher::Callback { site, method } => self.callback(site, method, object),
            Watcher::Handed { site, class } => self.handed(site, class, object),
            Watcher::ReflectNew { site, to } => self.reflect_new(site, to, object),
            Watcher::ReflectMember { kind, name, to } => {
                if let Object::Class(of) = self.solver.objects.all[object] {
                    self.solver.add(to, Object::Member { kind, of, name });
                }
            }
            Watcher::ReflectCall { site, on } => self.reflect_call(site, on, object),
        }
    }

    /// Visits all variables that a handle on an object may stand for, with their declared types.
    fn variable(&mut self, object: ObjectId, visit: impl Fn(&mut Self, NodeId, Option<TypeId>)) {
        let elements = self.slot(object, self.element);
        visit(self, elements, None);
        let class = match self.solver.objects.all[object] {
            Object::Instance(class) | Object::Allocated { class, .. } => class,
            // A static field is reached through the class object.
            Object::Class(ty) => match self.program.names.ty(ty) {
                Type::Class(name) => self.program.class_named(name),
                _ => return,
            },
            _ => return,
        };
        let fields: Vec<FieldId> = self
            .program
            .superclasses(class)
            .flat_map(|class| self.program.classes()[class].fields.iter().copied())
            .collect();
        for field in fields {
            let ty = self.program.fields()[field].ty;
            if self.is_reference(ty) {
                let node = self.field(field);
                visit(self, node, Some(ty));
            }
        }
    }

    // Bodies.

    fn enter(&mut self, method: MethodId) {
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

    // Calls.

    fn invoke(&mut self, site: SiteId, kind: InvokeKind, reference: MethodRefId) {
        let Some(method) = self.program.resolve_method(reference) else {
            self.graph.gaps.unresolved_calls += 1;
            let signature = self.program.names.method_ref_data(reference).signature;
            self.opaque(site, signature);
            return;
        };
        let Site { caller, statement, .. } = self.sites[site];
        match kind {
            InvokeKind::Static => {
                self.initialize(self.program.methods()[method].class, caller, statement);
                self.link(site, method, None);
            }
            InvokeKind::Special => self.link(site, method, None),
            InvokeKind::Virtual | InvokeKind::Interface => {
                if let Some(receiver) = self.sites[site].arguments[0] {
                    self.watch(receiver, Watcher::Dispatch { site, method });
                }
            }
        }
    }

    /// Objects arrive at the receiver of a call.
    fn dispatch(&mut self, site: SiteId, method: MethodId, objects: &[ObjectId]) {
        if self.joined.contains(&site) {
            // The receivers flow on to the hub.
            return;
        }
        let mut targets = self.targets.remove(&method).unwrap_or_default();
        targets.resize(self.solver.objects.all.len(), None);
        let mut entered: FxHashMap<MethodId, NodeId> = FxHashMap::default();
        let mut others = Vec::new();
        for &object in objects {
            let target = match targets[object.index()] {
                Some(target) => target,
                None => {
                    let target = self.select(method, object);
                    targets[object.index()] = Some(target);
                    target
                }
            };
            match target {
                Selected::Bytecode(target, first) => drop(entered.insert(target, first)),
                other => others.push((other, object)),
            }
        }
        self.targets.insert(method, targets);
        entered.retain(|&target, _| !self.linked.contains(&(site, target)));
        let count = self.target_counts.entry(site).or_default();
        *count += entered.len();
        if *count > MOST_TARGETS && self.sites[site].kind == EdgeKind::Call {
            self.join_hub(site, method);
            return;
        }
        let mut entered: Vec<_> = entered.into_iter().collect();
        entered.sort_unstable_by_key(|&(target, _)| target);
        for (target, first) in entered {
            self.connect(site, target, first, true);
        }
        for (other, object) in others {
            match other {
                Selected::Other(target) => self.link(site, target, Some(object)),
                _ => self.unknown_receiver(site, method, object),
            }
        }
    }

    /// What a call of a method on an object runs. If that is bytecode, the object becomes its `this`.
    fn select(&mut self, method: MethodId, object: ObjectId) -> Selected {
        let class = self.solver.objects.class(object, self.program);
        let Some(target) = self.program.select_method(class, method) else {
            return Selected::None;
        };
        match self.knowledge(class, target) {
            Knowledge::Bytecode => {
                let first = self.reach(target).expect("it has a body");
                self.solver.add_id(first, object);
                Selected::Bytecode(target, first)
            }
            _ => Selected::Other(target),
        }
    }

    /// From now on a call with very many targets goes the same way as all such calls of its method.
    /// Else the work would be the product of calls and targets, which are thousands each in programs
    /// that are interpreters or generated.
    fn join_hub(&mut self, site: SiteId, method: MethodId) {
        let Site { caller, statement, arguments, result, .. } = self.sites[site].clone();
        let hub = match self.hubs.get(&method) {
            Some(&hub) => hub,
            None => {
                let arguments = arguments.iter().map(|_| Some(self.solver.node())).collect();
                let hub = self.sites.push(Site {
                    caller: method,
                    statement: StatementId::from_index(0),
                    arguments,
                    result: Some(self.solver.node()),
                    kind: EdgeKind::Target,
                });
                self.hubs.insert(method, hub);
                if !self.values.contains_key(&method) {
                    self.graph.methods.push(method);
                }
                if let Some(receiver) = self.sites[hub].arguments[0] {
                    self.watch(receiver, Watcher::Dispatch { site: hub, method });
                }
                hub
            }
        };
        self.joined.insert(site);
        let kind = EdgeKind::Dispatch;
        self.graph.edges.push(Edge { caller, statement, callee: method, kind });
        let common = self.sites[hub].clone();
        for (from, to) in arguments.into_iter().zip(common.arguments) {
            if let (Some(from), Some(to)) = (from, to) {
                self.flow(from, to);
            }
        }
        if let (Some(from), Some(to)) = (common.result, result) {
            self.flow(from, to);
        }
    }

    /// Nobody knows what runs when the method is called on the object.
    fn unknown_receiver(&mut self, site: SiteId, method: MethodId, object: ObjectId) {
        let Object::Unknown(_) = self.solver.objects.all[object] else { return };
        // A model may know what is declared only.
        let receiver = self.solver.objects.class(object, self.program);
        if let Knowledge::Model(model) = self.knowledge(receiver, method) {
            self.apply_model(site, method, model, Some(object));
        } else if self.linked.insert((site, method)) {
            self.graph.gaps.unknown_receivers += 1;
            let data = &self.program.methods()[method];
            let (class, signature) = (data.class, data.signature);
            if self.program.role(class) == Some(Role::Input) {
                // Whatever it is, it is a class of the application, and that is no opaque code.
                let result = self.program.names.signature_data(signature).result;
                if let (Some(to), Some(ty)) = (self.sites[site].result, result) {
                    self.add_unknown(to, ty);
                }
            } else {
                self.opaque(site, signature);
            }
        }
    }

    /// A call arrives at a method; `object` is the receiver if the call was dispatched on it.
    pub(super) fn link(&mut self, site: SiteId, target: MethodId, object: Option<ObjectId>) {
        let data = &self.program.methods()[target];
        let (class, signature) = (data.class, data.signature);
        let receiver = match object {
            Some(object) => self.solver.objects.class(object, self.program),
            None => class,
        };
        let first = match self.knowledge(receiver, target) {
            Knowledge::Model(model) => {
                self.apply_model(site, target, model, object);
                return;
            }
            Knowledge::Opaque => {
                if self.linked.insert((site, target)) {
                    self.graph.gaps.opaque_calls += 1;
                    self.opaque(site, signature);
                }
                return;
            }
            Knowledge::Bytecode => self.reach(target).expect("it has a body"),
        };
        if let Some(object) = object {
            self.solver.add_id(first, object);
        }
        self.connect(site, target, first, object.is_some());
    }

    /// Lets arguments flow to a method that is entered, and its result back. Where the call was
    /// dispatched, `this` is not an argument: only the objects that select the method go there.
    fn connect(&mut self, site: SiteId, target: MethodId, first: NodeId, is_dispatched: bool) {
        if !self.linked.insert((site, target)) {
            return;
        }
        let Site { caller, statement, arguments, result, kind } = self.sites[site].clone();
        self.graph.edges.push(Edge { caller, statement, callee: target, kind });
        for (index, argument) in arguments.into_iter().enumerate().skip(usize::from(is_dispatched))
        {
            if let Some(from) = argument {
                self.flow(from, Solver::offset(first, index));
            }
        }
        if let Some(result) = result {
            let from = self.result_of(target);
            self.flow(from, result);
        }
    }

    /// A call whose target is not entered: it returns something, and may call back later.
    pub(super) fn opaque(&mut self, site: SiteId, signature: crate::names::SignatureId) {
        let signature = self.program.names.signature_data(signature).clone();
        let Site { arguments, result, .. } = self.sites[site].clone();
        if let (Some(to), Some(ty)) = (result, signature.result) {
            self.add_unknown(to, ty);
        }
        let skip = arguments.len().saturating_sub(signature.parameters.len());
        for (argument, &ty) in arguments.iter().skip(skip).zip(&signature.parameters) {
            if let (Some(from), Type::Class(name)) = (*argument, self.program.names.ty(ty))
                && ty != self.program.names.known.object
                && ty != self.program.names.known.string
            {
                let class = self.program.class_named(name);
                self.watch(from, Watcher::Handed { site, class });
            }
        }
    }

    /// Opaque code got an object that it takes for one of `class`, and may call what it can see.
    fn handed(&mut self, site: SiteId, class: ClassId, object: ObjectId) {
        let Object::Instance(found) = self.solver.objects.all[object] else { return };
        if self.treatment(found) != Treatment::Analyse
            || self.program.role(found) == Some(Role::Jdk)
        {
            return;
        }
        let targets = match self.handed_targets.get(&(class, found)) {
            Some(targets) => Arc::clone(targets),
            None => {
                let targets = self.visible_targets(class, found);
                self.handed_targets.insert((class, found), Arc::clone(&targets));
                targets
            }
        };
        for &target in targets.iter() {
            self.call_unknown(site, target, Some(object), EdgeKind::Later);
        }
    }

    /// The methods of the application that run when something that sees an object of class `found` as
    /// one of `class` calls all it can.
    fn visible_targets(&mut self, class: ClassId, found: ClassId) -> Arc<[MethodId]> {
        let visible: Vec<MethodId> = self.program.classes()[class]
            .ancestors
            .iter()
            .flat_map(|&above| self.program.classes()[above].methods.iter().copied())
            .collect();
        let mut targets = Vec::new();
        for method in visible {
            let data = &self.program.methods()[method];
            if data.is_static() || data.name == self.program.names.known.init {
                continue;
            }
            if let Some(target) = self.program.select_method(found, method)
                && self.program.role(self.program.methods()[target].class) != Some(Role::Jdk)
            {
                targets.push(target);
            }
        }
        targets.into()
    }

    /// A call of which nothing is known but the receiver.
    pub(super) fn call_unknown(
        &mut self,
        site: SiteId,
        target: MethodId,
        object: Option<ObjectId>,
        kind: EdgeKind,
    ) {
        let Some(first) = self.reach(target) else { return };
        if let Some(object) = object {
            self.solver.add_id(first, object);
        }
        if !self.linked.insert((site, target)) {
            return;
        }
        let Site { caller, statement, .. } = self.sites[site];
        self.graph.edges.push(Edge { caller, statement, callee: target, kind });
        let data = &self.program.methods()[target];
        let this = usize::from(!data.is_static());
        let parameters = self.program.names.signature_data(data.signature).parameters.clone();
        for (index, &ty) in parameters.iter().enumerate() {
            self.add_unknown(Solver::offset(first, index + this), ty);
        }
    }

    // Classes.

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
