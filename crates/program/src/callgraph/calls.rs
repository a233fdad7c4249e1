//! Where calls lead, by what is known of their receivers, and which classes they initialize.

use std::sync::Arc;

use unsnarl_classfile::flags;
use unsnarl_entity::EntityId;
use unsnarl_models::Treatment;

use super::EdgeKind;
use super::build::{Builder, Precision, Selected, Site, SiteId, Watcher};
use super::library::Knowledge;
use super::object::{Object, ObjectId};
use super::solver::{NodeId, Solver};
use super::threads::Threads;
use crate::body::{InvokeKind, StatementId};
use crate::class::{ClassId, FieldId, MethodId};
use crate::heap::{Call, Instance, InstanceId};
use crate::names::{MethodRefId, Type};
use unsnarl_classpath::Role;

/// A call with more targets than this joins the other such calls of its method.
const MOST_TARGETS: usize = 100;

impl Builder<'_, '_, '_> {
    /// A call by an instruction.
    pub(super) fn invoke(&mut self, site: SiteId, kind: InvokeKind, reference: MethodRefId) {
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
            InvokeKind::Special => self.special(site, method),
            InvokeKind::Virtual | InvokeKind::Interface => {
                if let Some(receiver) = self.sites[site].arguments[0] {
                    self.watch(receiver, Watcher::Dispatch { site, method });
                }
            }
        }
    }

    /// Objects arrive at the receiver of a call.
    pub(super) fn dispatch(&mut self, site: SiteId, method: MethodId, objects: &[ObjectId]) {
        if self.joined.contains(&site) {
            // The receivers flow on to the hub.
            return;
        }
        let mut entered: Vec<(InstanceId, NodeId)> = Vec::new();
        let mut others = Vec::new();
        for &object in objects {
            match self.select(method, object) {
                Selected::Bytecode(target) => {
                    let origin = self.origin_for(site, target, Some(object));
                    let (instance, first) =
                        self.reach(target, origin, Some(object)).expect("it has a body");
                    self.solver.add_id(first, object);
                    if !self.linked.contains(&(site, instance)) {
                        entered.push((instance, first));
                    }
                }
                other => others.push((other, object)),
            }
        }
        entered.sort_unstable();
        entered.dedup();
        let count = self.target_counts.entry(site).or_default();
        *count += entered.len();
        if *count > MOST_TARGETS && self.may_join(site) {
            self.join_hub(site, method);
            return;
        }
        for (instance, first) in entered {
            self.connect(site, instance, first, true);
        }
        for (other, object) in others {
            match other {
                Selected::Other(target) => self.link(site, target, Some(object)),
                _ => self.unknown_receiver(site, method, object),
            }
        }
    }

    /// What a call of a method on an object runs.
    fn select(&mut self, method: MethodId, object: ObjectId) -> Selected {
        let class = self.solver.objects.class(object, self.program);
        if let Some(&selected) = self.targets.get(&(method, class)) {
            return selected;
        }
        let selected = match self.program.select_method(class, method) {
            None => Selected::None,
            Some(target) => match self.knowledge(class, target) {
                Knowledge::Bytecode => Selected::Bytecode(target),
                _ => Selected::Other(target),
            },
        };
        self.targets.insert((method, class), selected);
        selected
    }

    /// A call of a constructor, a private method or one of a superclass.
    fn special(&mut self, site: SiteId, method: MethodId) {
        let class = self.program.methods()[method].class;
        if self.precision == Precision::Heap
            && let Some(&Some(receiver)) = self.sites[site].arguments.first()
            && let Knowledge::Bytecode = self.knowledge(class, method)
        {
            self.watch(receiver, Watcher::Special { site, method });
        } else {
            self.link(site, method, None);
        }
    }

    /// A call enters a method on an object.
    pub(super) fn enter_on(&mut self, site: SiteId, method: MethodId, object: ObjectId) {
        let origin = self.origin_for(site, method, Some(object));
        let Some((instance, first)) = self.reach(method, origin, Some(object)) else { return };
        self.solver.add_id(first, object);
        self.connect(site, instance, first, true);
    }

    /// From now on a call with very many targets goes the same way as all such calls of its method.
    /// Else the work would be the product of calls and targets, which are thousands each in programs
    /// that are interpreters or generated.
    fn join_hub(&mut self, site: SiteId, method: MethodId) {
        let Site { caller, statement, arguments, result, .. } = self.sites[site].clone();
        let origin = self.origin_of(caller);
        let shared = self.instances.intern(Instance { method, origin, receiver: None });
        let hub = match self.hubs.get(&shared) {
            Some(&hub) => hub,
            None => {
                let arguments = arguments.iter().map(|_| Some(self.solver.node())).collect();
                let hub = self.sites.push(Site {
                    caller: shared,
                    statement: StatementId::from_index(0),
                    arguments,
                    result: Some(self.solver.node()),
                    kind: EdgeKind::Target,
                });
                self.hubs.insert(shared, hub);
                if self.values[shared].is_none() {
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
        self.calls.push(Call { caller, statement, callee: shared, kind });
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

    /// Whether a call may go the way of others: what runs in another thread is recorded for each call.
    fn may_join(&self, site: SiteId) -> bool {
        matches!(self.sites[site].kind, EdgeKind::Call | EdgeKind::Callback)
    }

    /// Nobody knows what runs when the method is called on the object.
    fn unknown_receiver(&mut self, site: SiteId, method: MethodId, object: ObjectId) {
        match self.solver.objects.all[object] {
            Object::Unknown(_) => {}
            // Handles and updaters are members too, of whatever class they are declared to be.
            Object::Member { .. } => {
                if self.program.role(self.program.methods()[method].class) == Some(Role::Jdk) {
                    self.link(site, method, Some(object));
                }
                return;
            }
            Object::Proxy { .. } => {
                self.call_handler(site, object);
                return;
            }
            _ => return,
        }
        // A model may know what is declared only.
        let receiver = self.solver.objects.class(object, self.program);
        if let Knowledge::Model(model) = self.knowledge(receiver, method) {
            self.apply_model(site, method, model, Some(object));
        } else if self.left.insert((site, method)) {
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
        match self.knowledge(receiver, target) {
            Knowledge::Model(model) => self.apply_model(site, target, model, object),
            Knowledge::Opaque => {
                if self.left.insert((site, target)) {
                    self.graph.gaps.opaque_calls += 1;
                    self.opaque(site, signature);
                }
            }
            Knowledge::Bytecode => {
                let origin = self.origin_for(site, target, object);
                let (instance, first) = self.reach(target, origin, object).expect("it has a body");
                if let Some(object) = object {
                    self.solver.add_id(first, object);
                }
                self.connect(site, instance, first, object.is_some());
            }
        }
    }

    /// Lets arguments flow to a method that is entered, and its result back. Where the call was
    /// dispatched, `this` is not an argument: only the objects that select the method go there.
    fn connect(&mut self, site: SiteId, callee: InstanceId, first: NodeId, is_dispatched: bool) {
        if !self.linked.insert((site, callee)) {
            return;
        }
        let Site { caller, statement, arguments, result, kind } = self.sites[site].clone();
        self.record(Call { caller, statement, callee, kind });
        let target = self.method_of(callee);
        // A model knows the number of arguments that a callback has, but not their types.
        let is_typed = matches!(kind, EdgeKind::Call | EdgeKind::Target);
        let data = &self.program.methods()[target];
        let this = usize::from(!data.is_static());
        let types = self.program.names.signature_data(data.signature).parameters.clone();
        for (index, argument) in arguments.into_iter().enumerate().skip(usize::from(is_dispatched))
        {
            let Some(from) = argument else { continue };
            let ty = index.checked_sub(this).and_then(|index| types.get(index).copied());
            let filter = match ty {
                Some(ty) if !is_typed && ty != self.program.names.known.object => {
                    Some(self.solver.objects.filter(ty))
                }
                _ => None,
            };
            self.solver.flow_filtered(self.program, from, Solver::offset(first, index), filter);
        }
        if let Some(result) = result {
            let from = self.result_of(callee);
            self.flow(from, result);
        }
    }

    /// Keeps a call; one that starts a thread is where the thread begins.
    fn record(&mut self, call: Call) {
        self.calls.push(call);
        if !call.kind.is_within_thread() {
            let origin = self.origin_of(call.callee);
            let entries = &mut self.threads.all[origin].entries;
            if !entries.contains(&call.callee) {
                entries.push(call.callee);
            }
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
    pub(super) fn handed(&mut self, site: SiteId, class: ClassId, object: ObjectId) {
        let found = match self.solver.objects.all[object] {
            Object::Instance(found)
            | Object::Allocated { class: found, .. }
            | Object::OfThread { class: found, .. } => found,
            Object::Proxy { .. } => {
                let Site { caller, statement, .. } = self.sites[site];
                let kind = EdgeKind::Later;
                let arguments = Default::default();
                let site =
                    self.sites.push(Site { caller, statement, arguments, result: None, kind });
                self.call_handler(site, object);
                return;
            }
            _ => return,
        };
        if self.treatment(found) != Treatment::Analyse
            || self.program.role(found) == Some(Role::Jdk)
            || !self.program.may_be(found, class)
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
        // By types, nobody knows when. On the heap they are taken to be called at once: opaque code that
        // keeps what it is handed and calls it in another thread has a model.
        let kind = match self.precision {
            Precision::Types => EdgeKind::Later,
            Precision::Heap => EdgeKind::Callback,
        };
        for &target in targets.iter() {
            self.call_unknown(site, target, Some(object), kind);
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
        let Site { caller, statement, .. } = self.sites[site];
        let origin = self.origin_of(caller);
        let Some((callee, first)) = self.reach(target, origin, object) else { return };
        if let Some(object) = object {
            self.solver.add_id(first, object);
        }
        if !self.linked.insert((site, callee)) {
            return;
        }
        self.calls.push(Call { caller, statement, callee, kind });
        let data = &self.program.methods()[target];
        let this = usize::from(!data.is_static());
        let parameters = self.program.names.signature_data(data.signature).parameters.clone();
        for (index, &ty) in parameters.iter().enumerate() {
            self.add_unknown(Solver::offset(first, index + this), ty);
        }
    }

    /// The statement uses a static field.
    pub(super) fn initialize_of_field(
        &mut self,
        field: Option<FieldId>,
        instance: InstanceId,
        statement: StatementId,
    ) {
        if let Some(field) = field {
            self.initialize(self.program.fields()[field].class, instance, statement);
        }
    }

    /// The statement may be the first to use the class, which runs its initializer and those above.
    pub(super) fn initialize(
        &mut self,
        class: ClassId,
        caller: InstanceId,
        statement: StatementId,
    ) {
        let method = self.method_of(caller);
        let inside = self.program.class_around(self.program.methods()[method].class);
        for &callee in self.initializers(class).iter() {
            // The code of a class runs when its own initialization has begun.
            let initialized = self.program.methods()[callee].class;
            if !self.program.is_subclass(inside, initialized) {
                self.run_initializer(callee, caller, statement);
            }
        }
    }

    /// The JVM initializes the class of an entry point.
    pub(super) fn initialize_for_entry(&mut self, class: ClassId, entry: InstanceId) {
        for &callee in self.initializers(class).iter() {
            self.run_initializer(callee, entry, StatementId::from_index(0));
        }
    }

    fn run_initializer(&mut self, callee: MethodId, caller: InstanceId, statement: StatementId) {
        let origin = match self.precision {
            Precision::Types => Threads::main(),
            Precision::Heap => Threads::init(),
        };
        if let Some((callee, _)) = self.reach(callee, origin, None) {
            let kind = EdgeKind::ClassInit;
            self.calls.push(Call { caller, statement, callee, kind });
        }
    }

    /// The initializers that run before a class is used (JVMS 5.5): its own, those of its superclasses,
    /// and those of interfaces above it that have default methods.
    fn initializers(&mut self, class: ClassId) -> Arc<[MethodId]> {
        if let Some(initializers) = self.initializers.get(&class) {
            return Arc::clone(initializers);
        }
        let mut classes: Vec<ClassId> = self.program.superclasses(class).collect();
        if !self.program.classes()[class].is_interface() {
            let above = self.program.classes()[class].ancestors.iter().copied();
            classes.extend(above.filter(|&above| self.has_default_method(above)));
        }
        let name = self.program.names.known.class_init;
        let descriptor = self.program.names.symbol(b"()V");
        let mut initializers = Vec::new();
        for class in classes {
            if self.treatment(class) == Treatment::Analyse {
                initializers.extend(self.program.declared_method(class, name, descriptor));
            }
        }
        let initializers: Arc<[MethodId]> = initializers.into();
        self.initializers.insert(class, Arc::clone(&initializers));
        initializers
    }

    fn has_default_method(&self, class: ClassId) -> bool {
        let data = &self.program.classes()[class];
        data.is_interface()
            && data.methods.iter().any(|&method| {
                self.program.methods()[method].access & (flags::ABSTRACT | flags::STATIC) == 0
            })
    }
}
