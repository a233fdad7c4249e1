//! The state of the analysis, and its loop: whatever arrives somewhere is passed to those who wait for it.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use unsnarl_entity::{PrimaryMap, SecondaryMap, UniqueMap, entity_id};
use unsnarl_models::{MemberKind, MethodModel, Models, Treatment};

use super::effects::Deferred;
use super::entries::EntryPoints;
use super::library::Knowledge;
use super::object::{Object, ObjectId};
use super::solver::{NodeId, Solver, WatcherId};
use super::threads::Threads;
use super::{CallGraph, EdgeKind};
use crate::body::StatementId;
use crate::class::{ClassId, FieldId, MethodId};
use crate::heap::{self, Instance, InstanceId, ModelCall, OriginId, Variable};
use crate::names::{Symbol, Type, TypeId};
use crate::program::Program;
use unsnarl_classpath::Role;

entity_id! {
    /// A call, by a statement or by a model on behalf of a statement.
    pub(super) struct SiteId("site");
    /// A start of a thread in a group that may not exist.
    pub(super) struct StartId("start");
}

/// A call.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) caller: InstanceId,
    pub(super) statement: StatementId,
    /// `this` first if there is one; nothing where the argument is not a reference.
    pub(super) arguments: SmallVec<[Option<NodeId>; 4]>,
    pub(super) result: Option<NodeId>,
    pub(super) kind: EdgeKind,
}

/// A method is analysed for itself on this many receivers in a thread; further ones are taken together.
const MOST_RECEIVERS: usize = 16;

/// With more nodes than this, methods that are reached are no longer distinguished by thread and receiver.
const MOST_NODES: usize = 80_000;

/// A load or store distinguishes this many objects; of further ones it takes those of a kind together.
const MOST_OBJECTS: usize = 48;

/// Objects that a load or store of very many objects does not distinguish.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Class(ClassId),
    Array(TypeId),
    Other,
}

impl Kind {
    fn of(object: Object) -> Self {
        match object {
            Object::Array(ty) | Object::AllocatedArray { ty, .. } => Self::Array(ty),
            object => object.class().map_or(Self::Other, Self::Class),
        }
    }
}

/// Where a variable of all objects of a kind is read and written.
#[derive(Clone, Copy)]
struct AllSlots {
    loads: NodeId,
    stores: NodeId,
}

/// What a call runs on an object.
#[derive(Clone, Copy)]
pub(super) enum Selected {
    /// A method that is entered.
    Bytecode(MethodId),
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
    /// A call of exactly this method on the object.
    Special { site: SiteId, method: MethodId },
    /// A read of the object's contents.
    Load { variable: Variable, to: NodeId },
    /// A write of the object's contents.
    Store { variable: Variable, from: NodeId },
    /// A read of one of the object's fields or elements, nobody knows which.
    LoadVariable { to: NodeId },
    /// A write of one of the object's fields or elements, nobody knows which.
    StoreVariable { from: NodeId },
    /// A read of the variable that the handle stands for, in `of` if the handle does not say.
    LoadBy { site: SiteId, of: Option<NodeId>, to: NodeId },
    /// A write of the variable that the handle stands for, in `of` if the handle does not say.
    StoreBy { site: SiteId, of: Option<NodeId>, from: NodeId },
    /// A call by a model of the methods with this name and number of arguments.
    Callback { site: SiteId, method: Symbol },
    /// Whatever a library can call on an object that it takes for one of this class.
    Handed { site: SiteId, class: ClassId },
    /// A thread that is started once its group exists.
    Begin(StartId),
    /// A search for the class of this name.
    ReflectClass { site: SiteId, to: NodeId },
    /// An allocation by reflection.
    ReflectNew { site: SiteId, arguments: Arguments, to: NodeId },
    /// A search for a member of the class.
    ReflectMember { kind: MemberKind, name: Option<Symbol>, to: NodeId },
    /// A proxy of an interface.
    ReflectProxy { site: SiteId, handler: NodeId, to: NodeId },
    /// A call by reflection.
    ReflectCall { site: SiteId, on: Option<NodeId>, arguments: Arguments },
}

/// The arguments of a reflective call.
#[derive(Clone, Copy)]
pub(super) enum Arguments {
    /// Those of the call itself.
    Own,
    /// The elements of an array.
    Elements(NodeId),
    /// Nobody knows.
    Unknown,
}

/// A model by its address: two models may say the same of different methods.
pub(super) type ModelKey = *const MethodModel;

pub(super) struct Builder<'p, 'b, 'a> {
    pub(super) program: &'p mut Program<'a>,
    pub(super) models: &'b Models,
    pub(super) solver: Solver,
    pub(super) graph: CallGraph,
    pub(super) sites: PrimaryMap<SiteId, Site>,
    watchers: PrimaryMap<WatcherId, Watcher>,
    /// Starts that wait for something to arrive at their group.
    pub(super) deferred: PrimaryMap<StartId, Option<Deferred<'b>>>,
    /// How finely methods and objects are distinguished.
    pub(super) precision: Precision,
    /// The methods that were reached, each in its contexts.
    pub(super) instances: UniqueMap<InstanceId, Instance>,
    pub(super) threads: Threads<'b>,
    /// What threads run first.
    pub(super) begins: FxHashSet<(MethodId, OriginId)>,
    /// How many receivers a method has in a thread.
    pub(super) receivers: FxHashMap<(MethodId, OriginId), usize>,
    pub(super) calls: Vec<heap::Call>,
    /// The modelled methods that a statement calls.
    pub(super) model_calls: FxHashMap<(InstanceId, StatementId), SmallVec<[ModelCall<'b>; 1]>>,
    /// The first node of a method's values; its parameters come first.
    pub(super) values: SecondaryMap<InstanceId, Option<NodeId>>,
    results: FxHashMap<InstanceId, NodeId>,
    /// Fields that are not distinguished by their object: static ones, and all of them by types.
    pub(super) fields: FxHashMap<FieldId, NodeId>,
    pub(super) slots: FxHashMap<(ObjectId, Variable), NodeId>,
    pub(super) statics: FxHashMap<(Symbol, Symbol), NodeId>,
    /// How many objects arrived at a load or store.
    arrivals: SecondaryMap<WatcherId, usize>,
    all_slots: FxHashMap<(Variable, Kind), AllSlots>,
    slots_of_kind: FxHashMap<(Variable, Kind), Vec<NodeId>>,
    /// The exceptions that a thread throws.
    thrown: FxHashMap<OriginId, NodeId>,
    /// The name for the elements of an array.
    pub(super) element: Variable,
    /// The name under which models speak of the class object of an object.
    class_slot: Variable,
    pending: VecDeque<InstanceId>,
    /// The calls that were followed into a method in a context.
    pub(super) linked: FxHashSet<(SiteId, InstanceId)>,
    /// The calls that lead to a method that is not entered.
    pub(super) left: FxHashSet<(SiteId, MethodId)>,
    /// What a method selects on the objects of a class, as far as it was asked.
    pub(super) targets: FxHashMap<(MethodId, ClassId), Selected>,
    /// The calls that meet others in a hub.
    pub(super) joined: FxHashSet<SiteId>,
    /// How many targets a dispatched call has.
    pub(super) target_counts: FxHashMap<SiteId, usize>,
    /// Where calls of a method with very many targets meet.
    pub(super) hubs: FxHashMap<InstanceId, SiteId>,
    /// Where the receivers of a modelled call are collected.
    pub(super) modelled: FxHashMap<(SiteId, ModelKey), NodeId>,
    /// The calls that a modelled method makes on contents.
    pub(super) shared: FxHashMap<(InstanceId, ModelKey), SiteId>,
    /// What a callback by name and number of arguments leads to.
    pub(super) callbacks: FxHashMap<(ClassId, Symbol, usize), Arc<[MethodId]>>,
    /// What opaque code can call on an object that it sees as one of a class.
    pub(super) handed_targets: FxHashMap<(ClassId, ClassId), Arc<[MethodId]>>,
    /// The calls of handlers that were made.
    pub(super) proxied: FxHashSet<(SiteId, NodeId)>,
    pub(super) knowledge: FxHashMap<(ClassId, MethodId), Knowledge<'b>>,
    /// Whether a class can start threads.
    pub(super) starters: SecondaryMap<ClassId, Option<bool>>,
    pub(super) treatments: SecondaryMap<ClassId, Option<Treatment>>,
    /// The initializers that run when a class is used for the first time.
    pub(super) initializers: FxHashMap<ClassId, Arc<[MethodId]>>,
}

/// How finely methods and objects are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    /// Objects by class, and methods not at all: variable-type analysis.
    Types,
    /// Objects by the statement, thread and object that make them, methods by thread and receiver.
    Heap,
}

/// Solves the whole program.
pub(super) fn build<'p, 'b, 'a>(
    program: &'p mut Program<'a>,
    models: &'b Models,
    entries: &EntryPoints,
    precision: Precision,
) -> Builder<'p, 'b, 'a> {
    let element = Variable::Slot(program.names.symbol(b"[]"));
    let class_slot = Variable::Slot(program.names.symbol(b"class"));
    let mut builder = Builder {
        program,
        models,
        solver: Solver::default(),
        graph: CallGraph::default(),
        sites: PrimaryMap::new(),
        watchers: PrimaryMap::new(),
        deferred: PrimaryMap::new(),
        precision,
        instances: UniqueMap::new(),
        threads: Threads::new(),
        begins: FxHashSet::default(),
        receivers: FxHashMap::default(),
        calls: Vec::new(),
        model_calls: FxHashMap::default(),
        values: SecondaryMap::new(),
        results: FxHashMap::default(),
        fields: FxHashMap::default(),
        slots: FxHashMap::default(),
        statics: FxHashMap::default(),
        arrivals: SecondaryMap::new(),
        all_slots: FxHashMap::default(),
        slots_of_kind: FxHashMap::default(),
        thrown: FxHashMap::default(),
        element,
        class_slot,
        pending: VecDeque::new(),
        linked: FxHashSet::default(),
        left: FxHashSet::default(),
        targets: FxHashMap::default(),
        joined: FxHashSet::default(),
        target_counts: FxHashMap::default(),
        hubs: FxHashMap::default(),
        modelled: FxHashMap::default(),
        shared: FxHashMap::default(),
        callbacks: FxHashMap::default(),
        handed_targets: FxHashMap::default(),
        proxied: FxHashSet::default(),
        knowledge: FxHashMap::default(),
        starters: SecondaryMap::new(),
        treatments: SecondaryMap::new(),
        initializers: FxHashMap::default(),
    };
    builder.seed(entries);
    builder.solve();
    builder
}

impl Builder<'_, '_, '_> {
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
            let data = &self.program.methods()[method];
            let (class, is_static, signature) = (data.class, data.is_static(), data.signature);
            let Some((instance, first)) = self.reach(method, Threads::main(), None) else {
                continue;
            };
            self.graph.entries.push(method);
            self.threads.all[Threads::main()].entries.push(instance);
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
            self.initialize_for_entry(class, instance);
        }
    }

    // Nodes.

    /// Makes a method reachable in a context; returns its first value node unless it has no body.
    pub(super) fn reach(
        &mut self,
        method: MethodId,
        origin: OriginId,
        receiver: Option<ObjectId>,
    ) -> Option<(InstanceId, NodeId)> {
        let receiver = receiver.filter(|&object| self.is_distinguished(method, origin, object));
        let mut instance = Instance { method, origin, receiver };
        if self.is_full()
            && self.instances.find(&instance).is_none()
            && !self.begins.contains(&(method, origin))
        {
            instance = Instance { method, origin: Threads::mixed(), receiver: None };
        }
        let instance = self.instances.intern(instance);
        if let Some(first) = self.values[instance] {
            return Some((instance, first));
        }
        let body = self.program.body(method)?;
        let first = self.solver.nodes(body.values.len());
        self.values[instance] = Some(first);
        *self.receivers.entry((method, origin)).or_default() += 1;
        if !self.hubs.contains_key(&instance) {
            self.graph.methods.push(method);
        }
        self.pending.push_back(instance);
        Some((instance, first))
    }

    /// Whether a method is analysed for itself when it is called on the object.
    fn is_distinguished(&self, method: MethodId, origin: OriginId, object: ObjectId) -> bool {
        if self.precision == Precision::Types {
            return false;
        }
        let is_allocated = origin != Threads::mixed()
            && matches!(self.solver.objects.all[object], Object::Allocated { .. });
        let receiver = Some(object);
        is_allocated
            && (self.instances.find(&Instance { method, origin, receiver }).is_some()
                || self
                    .receivers
                    .get(&(method, origin))
                    .is_none_or(|&count| count < MOST_RECEIVERS)
                    && !self.is_full())
    }

    /// Whether there are so many nodes that receivers are no longer distinguished.
    pub(super) fn is_full(&self) -> bool {
        self.precision == Precision::Heap && self.solver.node_count() >= MOST_NODES
    }

    /// The method of an instance.
    pub(super) fn method_of(&self, instance: InstanceId) -> MethodId {
        self.instances[instance].method
    }

    /// The thread that runs an instance.
    pub(super) fn origin_of(&self, instance: InstanceId) -> OriginId {
        self.instances[instance].origin
    }

    /// The place where the exceptions of a thread meet.
    pub(super) fn thrown(&mut self, origin: OriginId) -> NodeId {
        let solver = &mut self.solver;
        *self.thrown.entry(origin).or_insert_with(|| solver.node())
    }

    pub(super) fn result_of(&mut self, instance: InstanceId) -> NodeId {
        let solver = &mut self.solver;
        *self.results.entry(instance).or_insert_with(|| solver.node())
    }

    pub(super) fn field(&mut self, field: FieldId) -> NodeId {
        let solver = &mut self.solver;
        *self.fields.entry(field).or_insert_with(|| solver.node())
    }

    /// A variable of an object. Where a model names a field of a library class that is analysed, it
    /// means that field.
    pub(super) fn slot(&mut self, object: ObjectId, variable: Variable) -> NodeId {
        if let Some(&node) = self.slots.get(&(object, variable)) {
            return node;
        }
        let variable = match variable {
            Variable::Slot(name) => {
                self.library_field(object, name).map_or(variable, Variable::Field)
            }
            field => field,
        };
        let node = match variable {
            Variable::Field(field) if self.precision == Precision::Types => self.field(field),
            _ => match self.slots.get(&(object, variable)) {
                Some(&node) => node,
                None => {
                    let node = self.solver.node();
                    self.fill_unknown(object, variable, node);
                    let kind = Kind::of(self.solver.objects.all[object]);
                    self.slots_of_kind.entry((variable, kind)).or_default().push(node);
                    if let Some(&all) = self.all_slots.get(&(variable, kind)) {
                        self.flow(node, all.loads);
                        self.flow(all.stores, node);
                    }
                    node
                }
            },
        };
        self.slots.insert((object, variable), node);
        node
    }

    /// What is in the fields of something unknown is unknown.
    fn fill_unknown(&mut self, object: ObjectId, variable: Variable, node: NodeId) {
        if let (Object::Unknown(_), Variable::Field(field)) =
            (self.solver.objects.all[object], variable)
        {
            let ty = self.program.fields()[field].ty;
            self.add_unknown(node, ty);
        }
    }

    fn library_field(&mut self, object: ObjectId, name: Symbol) -> Option<FieldId> {
        let class = self.solver.objects.all[object].exact_class()?;
        let classes: Vec<ClassId> = self.program.superclasses(class).collect();
        for class in classes {
            let is_library = self.program.role(class).is_some_and(|role| role != Role::Input);
            if is_library && self.treatment(class) == Treatment::Analyse {
                let mut fields = self.program.classes()[class].fields.iter().copied();
                let found = fields.find(|&field| self.program.fields()[field].name == name);
                if found.is_some() {
                    return found;
                }
            }
        }
        None
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
            Watcher::Load { variable, to } if variable != self.class_slot => {
                let own = self.few(watcher, objects);
                for &object in &objects[..own] {
                    let from = self.slot(object, variable);
                    self.flow(from, to);
                }
                for kind in self.kinds(&objects[own..]) {
                    let from = self.all_slots(variable, kind).loads;
                    self.flow(from, to);
                }
            }
            Watcher::Store { variable, from } => {
                let own = self.few(watcher, objects);
                for &object in &objects[..own] {
                    let to = self.slot(object, variable);
                    self.flow(from, to);
                }
                for kind in self.kinds(&objects[own..]) {
                    let to = self.all_slots(variable, kind).stores;
                    self.flow(from, to);
                }
            }
            watcher => objects.iter().for_each(|&object| self.arrived_one(watcher, object)),
        }
    }

    fn arrived_one(&mut self, watcher: Watcher, object: ObjectId) {
        match watcher {
            Watcher::Dispatch { site, method } => self.dispatch(site, method, &[object]),
            Watcher::Special { site, method } => self.enter_on(site, method, object),
            Watcher::Load { to, .. } => self.load_class(object, to),
            Watcher::Store { .. } => unreachable!("many objects arrive at once"),
            Watcher::LoadVariable { to } => {
                for (variable, _) in self.variables(object) {
                    self.flow(variable, to);
                }
            }
            Watcher::StoreVariable { from } => {
                for (variable, ty) in self.variables(object) {
                    let filter = ty.map(|ty| self.solver.objects.filter(ty));
                    self.solver.flow_filtered(self.program, from, variable, filter);
                }
            }
            Watcher::LoadBy { site, of, to } => match self.variables_of_handle(site, object) {
                Some(variables) => {
                    variables.into_iter().for_each(|(variable, _)| self.flow(variable, to));
                }
                None => self.watch_if_any(of, Watcher::LoadVariable { to }),
            },
            Watcher::StoreBy { site, of, from } => match self.variables_of_handle(site, object) {
                Some(variables) => {
                    for (variable, ty) in variables {
                        let filter = ty.map(|ty| self.solver.objects.filter(ty));
                        self.solver.flow_filtered(self.program, from, variable, filter);
                    }
                }
                None => self.watch_if_any(of, Watcher::StoreVariable { from }),
            },
            Watcher::Callback { site, method } => self.callback(site, method, object),
            Watcher::Handed { site, class } => self.handed(site, class, object),
            Watcher::Begin(start) => self.begin(start),
            Watcher::ReflectClass { site, to } => self.reflect_class(site, to, object),
            Watcher::ReflectNew { site, arguments, to } => {
                self.reflect_new(site, arguments, to, object);
            }
            Watcher::ReflectMember { kind, name, to } => {
                self.reflect_member(kind, name, to, object);
            }
            Watcher::ReflectProxy { site, handler, to } => {
                self.reflect_proxy(site, handler, to, object);
            }
            Watcher::ReflectCall { site, on, arguments } => {
                self.reflect_call(site, on, arguments, object);
            }
        }
    }

    /// How many of the objects that arrive at a load or store are distinguished there.
    fn few(&mut self, watcher: WatcherId, objects: &[ObjectId]) -> usize {
        let before = self.arrivals[watcher];
        self.arrivals[watcher] += objects.len();
        if self.precision == Precision::Types {
            return objects.len();
        }
        objects.len().min(MOST_OBJECTS.saturating_sub(before))
    }

    /// The kinds of some objects, each once.
    fn kinds(&self, objects: &[ObjectId]) -> Vec<Kind> {
        let mut kinds: Vec<Kind> =
            objects.iter().map(|&object| Kind::of(self.solver.objects.all[object])).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Where the variable of all objects of a kind is read and written at once. Else the work would be
    /// the product of statements and objects, which are thousands each in a large program.
    fn all_slots(&mut self, variable: Variable, kind: Kind) -> AllSlots {
        if let Some(&all) = self.all_slots.get(&(variable, kind)) {
            return all;
        }
        let all = AllSlots { loads: self.solver.node(), stores: self.solver.node() };
        self.all_slots.insert((variable, kind), all);
        for slot in self.slots_of_kind.get(&(variable, kind)).cloned().unwrap_or_default() {
            self.flow(slot, all.loads);
            self.flow(all.stores, slot);
        }
        all
    }

    fn watch_if_any(&mut self, node: Option<NodeId>, watcher: Watcher) {
        if let Some(node) = node {
            self.watch(node, watcher);
        }
    }
}
