//! What models do to the call graph: callbacks, thread starts, flows of references and reflection.
//! Locks and order do not concern it.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use unsnarl_classfile::flags;
use unsnarl_entity::EntityId;
use unsnarl_models::{Call, Effect, MethodModel, ModelPlace};

use super::build::{Builder, Precision, Site, SiteId, StartId, Watcher};
use super::library::Knowledge;
use super::object::{Object, ObjectId};
use super::solver::{NodeId, Solver};
use super::{EdgeKind, Start};
use crate::body::StatementId;
use crate::class::{ClassId, MethodId};
use crate::heap::{self, Instance, ModelCall, Variable};
use crate::names::{Symbol, Type};

impl<'b> Builder<'_, 'b, '_> {
    /// A call arrives at a modelled method.
    pub(super) fn apply_model(
        &mut self,
        site: SiteId,
        method: MethodId,
        model: &'b MethodModel,
        object: Option<ObjectId>,
    ) {
        let key = (site, std::ptr::from_ref(model));
        let this = match self.modelled.get(&key) {
            Some(&this) => this,
            None => {
                let is_static = self.program.methods()[method].is_static();
                let given = self.sites[site].arguments.first().copied().flatten();
                let this = match (object, is_static, given) {
                    (None, false, Some(this)) => this,
                    _ => self.solver.node(),
                };
                self.modelled.insert(key, this);
                self.note_model(site, method, model);
                self.effects(site, method, model, this);
                this
            }
        };
        if let Some(object) = object {
            self.solver.add_id(this, object);
        }
    }

    /// Keeps what a statement calls, for those who look at locks and order.
    fn note_model(&mut self, site: SiteId, method: MethodId, model: &'b MethodModel) {
        let Site { caller, statement, kind, .. } = self.sites[site];
        if self.precision == Precision::Heap && kind == EdgeKind::Call {
            let calls = self.model_calls.entry((caller, statement)).or_default();
            calls.push(ModelCall { method, model });
        }
    }

    fn effects(&mut self, site: SiteId, method: MethodId, model: &'b MethodModel, this: NodeId) {
        let mut context = Modelled { site, method, model, this, returns: false, is_shared: false };
        for effect in &model.effects {
            self.effect(&mut context, effect);
        }
        let signature = self.program.methods()[method].signature;
        let result = self.program.names.signature_data(signature).result;
        if let (false, Some(ty), Some(node)) = (context.returns, result, self.sites[site].result) {
            self.add_unknown(node, ty);
        }
    }

    fn effect(&mut self, context: &mut Modelled<'b>, effect: &'b Effect) {
        match effect {
            Effect::Call(call) | Effect::Later(call)
                if is_contents(&call.receiver) && !self.is_started(context.site) =>
            {
                context.returns |= call.result == Some(ModelPlace::Result);
                self.share(context);
            }
            Effect::Start { call, kind, groups, .. } => {
                let kind = EdgeKind::Start(Start(*kind));
                if !groups.is_empty() && groups.iter().all(may_be_empty) {
                    let start = Deferred { context: *context, call, kind, effect };
                    self.defer(context, start, groups);
                } else {
                    self.call(context, call, kind, effect);
                }
            }
            Effect::Call(call) => {
                let kind = self.callback_kind(context.site);
                self.call(context, call, kind, effect);
            }
            Effect::Later(call) => self.call(context, call, EdgeKind::Later, effect),
            Effect::Flow { from, to } | Effect::Copy { from, to } => {
                if let Some(from) = self.read_place(context, from) {
                    self.write_place(context, to, from);
                }
            }
            Effect::Return(place) => {
                context.returns = true;
                if let Some(from) = self.read_place(context, place) {
                    self.write_place(context, &ModelPlace::Result, from);
                }
            }
            Effect::Reflect(reflect) => self.reflect(context, reflect),
            Effect::Acquire { .. }
            | Effect::Release { .. }
            | Effect::Wait { .. }
            | Effect::Notify { .. }
            | Effect::Send { .. }
            | Effect::Receive { .. }
            | Effect::Join { .. }
            | Effect::Serial(_)
            | Effect::Limited(_)
            | Effect::Read { .. }
            | Effect::Write { .. } => {}
        }
    }

    /// A start in a group that is empty starts nothing: it waits until something arrives there.
    fn defer(&mut self, context: &Modelled<'b>, start: Deferred<'b>, groups: &[ModelPlace]) {
        let start = self.deferred.push(Some(start));
        for group in groups {
            if let Some(group) = self.read_place(context, group) {
                self.watch(group, Watcher::Begin(start));
            }
        }
    }

    /// The group of a start exists.
    pub(super) fn begin(&mut self, start: StartId) {
        if let Some(Deferred { mut context, call, kind, effect }) = self.deferred[start].take() {
            self.call(&mut context, call, kind, effect);
        }
    }

    /// Calls on the contents of objects (`this.key.hashCode()`) would be the same at every call site,
    /// and there are thousands of sites and of types: they are made once, by the modelled method as a
    /// node of its own.
    fn share(&mut self, context: &mut Modelled<'b>) {
        let method = context.method;
        let origin = self.origin_of(self.sites[context.site].caller);
        let node = self.instances.intern(Instance { method, origin, receiver: None });
        let key = (node, std::ptr::from_ref(context.model));
        let shared = match self.shared.get(&key) {
            Some(&shared) => shared,
            None => {
                let count = self.sites[context.site].arguments.len();
                let arguments = (0..count).map(|_| Some(self.solver.node())).collect();
                let result = Some(self.solver.node());
                let statement = StatementId::from_index(0);
                let kind = EdgeKind::Call;
                let shared =
                    self.sites.push(Site { caller: node, statement, arguments, result, kind });
                self.shared.insert(key, shared);
                self.graph.methods.push(method);
                self.share_calls(shared, method, context.model);
                shared
            }
        };
        if !std::mem::replace(&mut context.is_shared, true) {
            let Site { caller, statement, arguments, result, kind } =
                self.sites[context.site].clone();
            let common = self.sites[shared].clone();
            let is_static = self.program.methods()[method].is_static();
            for (index, (from, to)) in arguments.into_iter().zip(common.arguments).enumerate() {
                let from = if index == 0 && !is_static { Some(context.this) } else { from };
                if let (Some(from), Some(to)) = (from, to) {
                    self.flow(from, to);
                }
            }
            if let (Some(from), Some(to)) = (common.result, result) {
                self.flow(from, to);
            }
            self.calls.push(heap::Call { caller, statement, callee: node, kind });
        }
    }

    fn share_calls(&mut self, site: SiteId, method: MethodId, model: &'b MethodModel) {
        let this = match self.sites[site].arguments.first() {
            Some(&Some(this)) if !self.program.methods()[method].is_static() => this,
            _ => self.solver.node(),
        };
        let mut context = Modelled { site, method, model, this, returns: false, is_shared: true };
        for effect in &model.effects {
            match effect {
                Effect::Call(call) if is_contents(&call.receiver) => {
                    self.call(&mut context, call, EdgeKind::Callback, effect);
                }
                Effect::Later(call) if is_contents(&call.receiver) => {
                    self.call(&mut context, call, EdgeKind::Later, effect);
                }
                _ => {}
            }
        }
    }

    /// Whether the call runs in a thread of its own: what runs there is recorded for each site.
    fn is_started(&self, site: SiteId) -> bool {
        matches!(self.sites[site].kind, EdgeKind::Start(_))
    }

    /// What a callback of this call is: one that a started thread makes belongs to that thread.
    fn callback_kind(&self, site: SiteId) -> EdgeKind {
        match self.sites[site].kind {
            EdgeKind::Call | EdgeKind::Target => EdgeKind::Callback,
            kind => kind,
        }
    }

    // Places.

    /// A node with what the place may refer to.
    pub(super) fn read_place(
        &mut self,
        context: &Modelled<'_>,
        place: &ModelPlace,
    ) -> Option<NodeId> {
        match place {
            ModelPlace::This => Some(context.this),
            ModelPlace::Argument(index) => self.argument(context, usize::from(*index)),
            ModelPlace::Last => self.sites[context.site].arguments.last().copied().flatten(),
            ModelPlace::Result => self.sites[context.site].result,
            ModelPlace::Unknown => None,
            ModelPlace::Thread => {
                let caller = self.sites[context.site].caller;
                Some(self.thread_object(self.origin_of(caller)))
            }
            ModelPlace::New(class) => {
                let node = self.solver.node();
                let ty = self.program.names.class_constant(class.as_bytes())?;
                match self.program.names.ty(ty) {
                    Type::Class(name) => {
                        let class = self.program.class_named(name);
                        let Site { caller, statement, .. } = self.sites[context.site];
                        let object = self.allocated(class, caller, statement);
                        self.solver.add(node, object);
                    }
                    Type::Array(element) if self.is_reference(element) => {
                        let Site { caller, statement, .. } = self.sites[context.site];
                        let (method, context) = (self.method_of(caller), self.made_in(caller));
                        self.solver.add(node, Object::LibraryArray { method, statement, context });
                    }
                    _ => self.solver.add(node, Object::Array(ty)),
                }
                Some(node)
            }
            ModelPlace::Static { class, name } => Some(self.static_place(class, name)),
            ModelPlace::Slot(object, slot) => {
                let slot = Variable::Slot(self.program.names.symbol(slot.as_bytes()));
                self.read_contents(context, object, slot)
            }
            ModelPlace::Element(array) => self.read_contents(context, array, self.element),
            ModelPlace::Variable { object, selector } => {
                if let Some(slot) = per_selector_slot(selector) {
                    let slot = Variable::Slot(self.program.names.symbol(slot));
                    return self.read_contents(context, object, slot);
                }
                let (site, of) = (context.site, self.read_place(context, object));
                let to = self.solver.node();
                match self.read_place(context, selector) {
                    Some(handle) => self.watch(handle, Watcher::LoadBy { site, of, to }),
                    None => self.watch(of?, Watcher::LoadVariable { to }),
                }
                Some(to)
            }
        }
    }

    pub(super) fn read_contents(
        &mut self,
        context: &Modelled<'_>,
        object: &ModelPlace,
        variable: Variable,
    ) -> Option<NodeId> {
        let base = self.read_place(context, object)?;
        let to = self.solver.node();
        self.watch(base, Watcher::Load { variable, to });
        Some(to)
    }

    /// Lets what is in `from` flow to the place.
    pub(super) fn write_place(
        &mut self,
        context: &mut Modelled<'b>,
        place: &ModelPlace,
        from: NodeId,
    ) {
        match place {
            ModelPlace::Slot(object, slot) => {
                let slot = Variable::Slot(self.program.names.symbol(slot.as_bytes()));
                self.write_contents(context, object, slot, from);
            }
            ModelPlace::Element(array) => self.write_contents(context, array, self.element, from),
            ModelPlace::Variable { object, selector } => {
                if let Some(slot) = per_selector_slot(selector) {
                    let slot = Variable::Slot(self.program.names.symbol(slot));
                    self.write_contents(context, object, slot, from);
                    return;
                }
                let (site, of) = (context.site, self.read_place(context, object));
                match (self.read_place(context, selector), of) {
                    (Some(handle), _) => self.watch(handle, Watcher::StoreBy { site, of, from }),
                    (None, Some(of)) => self.watch(of, Watcher::StoreVariable { from }),
                    (None, None) => {}
                }
            }
            place => {
                context.returns |= *place == ModelPlace::Result;
                if let Some(to) = self.read_place(context, place) {
                    self.flow(from, to);
                }
            }
        }
    }

    fn write_contents(
        &mut self,
        context: &mut Modelled<'b>,
        object: &ModelPlace,
        variable: Variable,
        from: NodeId,
    ) {
        if let Some(base) = self.read_place(context, object) {
            self.watch(base, Watcher::Store { variable, from });
        }
    }

    /// A place that exists once. What it refers to at first is something of the class it belongs to.
    fn static_place(&mut self, class: &str, name: &str) -> NodeId {
        let names = &mut self.program.names;
        let key = (names.symbol(class.as_bytes()), names.symbol(name.as_bytes()));
        if let Some(&node) = self.statics.get(&key) {
            return node;
        }
        let node = self.solver.node();
        self.statics.insert(key, node);
        let class = self.program.class_named(key.0);
        self.solver.add(node, Object::Unknown(class));
        node
    }

    /// The node of an argument, counted without the receiver.
    fn argument(&self, context: &Modelled<'_>, index: usize) -> Option<NodeId> {
        let this = usize::from(!self.program.methods()[context.method].is_static());
        self.sites[context.site].arguments.get(index + this).copied().flatten()
    }

    // Calls.

    /// Makes a call on behalf of a model. One that a started thread makes belongs to the effect that
    /// started it.
    fn call(
        &mut self,
        context: &mut Modelled<'b>,
        call: &Call,
        kind: EdgeKind,
        effect: &'b Effect,
    ) {
        let Some(receiver) = self.read_place(context, &call.receiver) else { return };
        let mut arguments: SmallVec<[Option<NodeId>; 4]> = smallvec![Some(receiver)];
        for place in &call.arguments {
            arguments.push(self.read_place(context, place));
        }
        let result = call.result.as_ref().map(|place| {
            let node = self.solver.node();
            self.write_place(context, place, node);
            node
        });
        let Site { caller, statement, .. } = self.sites[context.site];
        let site = self.sites.push(Site { caller, statement, arguments, result, kind });
        if !kind.is_within_thread() {
            let outer = self.threads.effects.get(&context.site).copied();
            self.threads.effects.insert(site, outer.unwrap_or((context.method, effect)));
        }
        let method = self.program.names.symbol(call.method.as_bytes());
        self.watch_callback(receiver, site, method);
    }

    /// Calls the methods of a name on what arrives at the receiver.
    pub(super) fn watch_callback(&mut self, receiver: NodeId, site: SiteId, name: Symbol) {
        let count = self.sites[site].arguments.len() - 1;
        let watcher = match self.method_of_object(name, count) {
            Some(method) => Watcher::Dispatch { site, method },
            None => Watcher::Callback { site, method: name },
        };
        self.watch(receiver, watcher);
    }

    /// The method that every object has: `toString`, `hashCode` or `equals`.
    fn method_of_object(&mut self, name: Symbol, count: usize) -> Option<MethodId> {
        let object = self.program.class_of_type(self.program.names.known.object)?;
        let mut methods = self.program.classes()[object].methods.iter().copied();
        methods.find(|&method| {
            let data = &self.program.methods()[method];
            data.name == name
                && data.access & (flags::FINAL | flags::STATIC) == 0
                && self.program.names.signature_data(data.signature).parameters.len() == count
        })
    }

    /// A model calls the methods of this name on an object.
    pub(super) fn callback(&mut self, site: SiteId, name: Symbol, object: ObjectId) {
        let class = self.solver.objects.class(object, self.program);
        let count = self.sites[site].arguments.len() - 1;
        let targets = match self.callbacks.get(&(class, name, count)) {
            Some(targets) => Arc::clone(targets),
            None => {
                let targets = self.methods_like(class, name, count);
                self.callbacks.insert((class, name, count), Arc::clone(&targets));
                targets
            }
        };
        for &target in targets.iter() {
            self.link(site, target, Some(object));
            self.fill_unknown_arguments(site, target, object);
        }
    }

    /// What objects of a class run when a method of this name and number of parameters is called.
    fn methods_like(&mut self, class: ClassId, name: Symbol, count: usize) -> Arc<[MethodId]> {
        let mut targets: Vec<MethodId> = Vec::new();
        let ancestors = self.program.classes()[class].ancestors.clone();
        for above in ancestors {
            for method in self.program.classes()[above].methods.clone() {
                let data = &self.program.methods()[method];
                let signature = self.program.names.signature_data(data.signature);
                if data.name == name && !data.is_static() && signature.parameters.len() == count {
                    targets.extend(self.program.select_method(class, method));
                }
            }
        }
        targets.sort_unstable();
        targets.dedup();
        if self.precision == Precision::Heap {
            self.leave_bridges_out(&mut targets);
        }
        targets.into()
    }

    /// A bridge calls the method that it is a bridge to: the two are one call, not two.
    fn leave_bridges_out(&self, targets: &mut Vec<MethodId>) {
        let is_bridge = |method: MethodId| {
            let data = &self.program.methods()[method];
            data.access & flags::BRIDGE != 0
        };
        let bridged: Vec<ClassId> = targets
            .iter()
            .filter(|&&method| !is_bridge(method))
            .map(|&method| self.program.methods()[method].class)
            .collect();
        targets.retain(|&method| {
            !is_bridge(method) || !bridged.contains(&self.program.methods()[method].class)
        });
    }

    /// An argument that the model does not name is an unknown object of the declared type.
    fn fill_unknown_arguments(&mut self, site: SiteId, target: MethodId, object: ObjectId) {
        let class = self.solver.objects.class(object, self.program);
        let Knowledge::Bytecode = self.knowledge(class, target) else { return };
        let origin = self.origin_for(site, target, Some(object));
        let Some((_, first)) = self.reach(target, origin, Some(object)) else { return };
        let signature = self.program.methods()[target].signature;
        let parameters = self.program.names.signature_data(signature).parameters.clone();
        for (index, &ty) in parameters.iter().enumerate() {
            if self.sites[site].arguments[index + 1].is_none() && self.is_reference(ty) {
                self.add_unknown(Solver::offset(first, index + 1), ty);
            }
        }
    }
}

/// A start that waits for its group to exist.
pub(super) struct Deferred<'m> {
    context: Modelled<'m>,
    call: &'m Call,
    kind: EdgeKind,
    effect: &'m Effect,
}

/// A call of a modelled method.
#[derive(Clone, Copy)]
pub(super) struct Modelled<'m> {
    pub(super) site: SiteId,
    pub(super) method: MethodId,
    model: &'m MethodModel,
    this: NodeId,
    /// Whether an effect said what the method returns.
    returns: bool,
    /// Whether the calls on contents were connected.
    is_shared: bool,
}

/// Whether a place is reached through the contents of something.
fn is_contents(place: &ModelPlace) -> bool {
    matches!(
        place,
        ModelPlace::Slot(..)
            | ModelPlace::Element(_)
            | ModelPlace::Static { .. }
            | ModelPlace::Variable { .. }
    )
}

/// Whether there may be nothing in a place: a slot that nobody filled.
fn may_be_empty(place: &ModelPlace) -> bool {
    is_contents(place) && !matches!(place, ModelPlace::Static { .. })
}

/// Variables that belong to something else than a field: the copy of a thread-local of each thread.
fn per_selector_slot(selector: &ModelPlace) -> Option<&'static [u8]> {
    (*selector == ModelPlace::Thread).then_some(b"per thread")
}
