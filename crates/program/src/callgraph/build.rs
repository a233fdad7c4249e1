//! The state of the construction: nodes for everything that can refer to an object, and what happens
//! when an object arrives somewhere.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use unsnarl_entity::{EntityId, PrimaryMap, SecondaryMap, entity_id};
use unsnarl_models::{MemberKind, MethodModel, Models, Treatment};

use super::calls::Selected;
use super::entries::EntryPoints;
use super::library::Knowledge;
use super::object::{Object, ObjectId};
use super::solver::{NodeId, Solver, WatcherId};
use super::{CallGraph, EdgeKind};
use crate::body::StatementId;
use crate::class::{ClassId, FieldId, MethodId};
use crate::names::{Symbol, Type, TypeId};
use crate::program::Program;

entity_id! {
    /// A call, by a statement or by a model on behalf of a statement.
    pub(super) struct SiteId("site");
}

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
    pub(super) watchers: PrimaryMap<WatcherId, Watcher>,
    /// The first node of a method's values; its parameters come first.
    pub(super) values: FxHashMap<MethodId, NodeId>,
    pub(super) results: FxHashMap<MethodId, NodeId>,
    pub(super) fields: FxHashMap<FieldId, NodeId>,
    pub(super) slots: FxHashMap<(ObjectId, Symbol), NodeId>,
    pub(super) statics: FxHashMap<(Symbol, Symbol), NodeId>,
    pub(super) thrown: NodeId,
    pub(super) element: Symbol,
    pub(super) pending: VecDeque<MethodId>,
    pub(super) linked: FxHashSet<(SiteId, MethodId)>,
    /// What a method selects on each object, as far as it was asked.
    pub(super) targets: FxHashMap<MethodId, Vec<Option<Selected>>>,
    /// The calls that meet others in a hub.
    pub(super) joined: FxHashSet<SiteId>,
    /// How many targets a dispatched call has.
    pub(super) target_counts: FxHashMap<SiteId, usize>,
    /// Where calls of a method with very many targets meet.
    pub(super) hubs: FxHashMap<MethodId, SiteId>,
    /// Where the receivers of a modelled call are collected.
    pub(super) modelled: FxHashMap<(SiteId, ModelKey), NodeId>,
    /// The calls that a modelled method makes on contents.
    pub(super) shared: FxHashMap<(MethodId, ModelKey), SiteId>,
    /// What a callback by name and number of arguments leads to.
    pub(super) callbacks: FxHashMap<(ClassId, Symbol, usize), Arc<[MethodId]>>,
    /// What opaque code can call on an object that it sees as one of a class.
    pub(super) handed_targets: FxHashMap<(ClassId, ClassId), Arc<[MethodId]>>,
    pub(super) knowledge: FxHashMap<(ClassId, MethodId), Knowledge<'b>>,
    /// Whether a class can start threads.
    pub(super) starters: SecondaryMap<ClassId, Option<bool>>,
    pub(super) treatments: SecondaryMap<ClassId, Option<Treatment>>,
    pub(super) initialized: FxHashSet<ClassId>,
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

    pub(super) fn field(&mut self, field: FieldId) -> NodeId {
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
}
