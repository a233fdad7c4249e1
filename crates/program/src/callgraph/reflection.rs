//! Classes and members that a program names at run time.
//!
//! A class is found by a constant text that reaches the place where it is looked for, on whatever way;
//! a member by a constant at the place itself. Which of several overloads is meant is not looked at.

use smallvec::SmallVec;
use unsnarl_classfile::flags;
use unsnarl_models::{MemberKind, ModelPlace, Reflect};

use super::EdgeKind;
use super::build::{Arguments, Builder, Site, SiteId, Watcher};
use super::effects::Modelled;
use super::object::{MadeIn, Object, ObjectId};
use super::solver::NodeId;
use super::statements::internal_name;
use crate::body::{Constant, Operation};
use crate::class::{ClassId, FieldId, MethodId};
use crate::heap::Variable;
use crate::names::{Symbol, Type, TypeId};

impl<'b> Builder<'_, 'b, '_> {
    pub(super) fn reflect(&mut self, context: &mut Modelled<'b>, reflect: &Reflect) {
        let (Reflect::Class { to, .. }
        | Reflect::Member { to, .. }
        | Reflect::New { to, .. }
        | Reflect::Call { to, .. }
        | Reflect::Proxy { to, .. }) = reflect;
        let node = self.solver.node();
        self.write_place(context, to, node);
        let Site { caller, statement, .. } = self.sites[context.site];
        match reflect {
            Reflect::Class { name, .. } => {
                if let Some(class) = self.constant_class(context, name) {
                    self.found_class(context.site, node, class);
                } else if let Some(name) = self.read_place(context, name) {
                    self.watch(name, Watcher::ReflectClass { site: context.site, to: node });
                }
            }
            Reflect::Member { kind, class, name, .. } => {
                let name = name.as_ref().and_then(|name| self.constant_string(context, name));
                let name = name.map(|name| self.program.names.symbol(&name));
                if let Some(class) = self.read_place(context, class) {
                    self.watch(class, Watcher::ReflectMember { kind: *kind, name, to: node });
                }
            }
            Reflect::New { what, arguments, .. } => {
                let arguments = self.arguments(context, arguments.as_ref());
                if let Some(what) = self.read_place(context, what) {
                    let site = context.site;
                    self.watch(what, Watcher::ReflectNew { site, arguments, to: node });
                }
            }
            Reflect::Call { what, on, arguments, .. } => {
                let on = on.as_ref().and_then(|on| self.read_place(context, on));
                let arguments = match arguments {
                    None => Arguments::Own,
                    place => self.arguments(context, place.as_ref()),
                };
                let site = self.sites.push(Site {
                    caller,
                    statement,
                    arguments: self.sites[context.site].arguments.clone(),
                    result: Some(node),
                    kind: EdgeKind::Reflection,
                });
                if let Some(what) = self.read_place(context, what) {
                    self.watch(what, Watcher::ReflectCall { site, on, arguments });
                }
            }
            Reflect::Proxy { interfaces, handler, .. } => {
                let interfaces = match interfaces {
                    // One interface, or an array of them.
                    place if self.is_class_object(context, place) => {
                        self.read_place(context, place)
                    }
                    place => self.read_contents(context, place, self.element),
                };
                let handler = self.read_place(context, handler);
                if let (Some(interfaces), Some(handler)) = (interfaces, handler) {
                    let site = context.site;
                    self.watch(interfaces, Watcher::ReflectProxy { site, handler, to: node });
                }
            }
        }
    }

    /// The elements of the array that holds the arguments.
    fn arguments(&mut self, context: &Modelled<'b>, array: Option<&ModelPlace>) -> Arguments {
        match array.and_then(|array| self.read_contents(context, array, self.element)) {
            Some(elements) => Arguments::Elements(elements),
            None => Arguments::Unknown,
        }
    }

    // Classes.

    fn constant_class(&mut self, context: &Modelled<'_>, name: &ModelPlace) -> Option<ClassId> {
        let name = self.constant_string(context, name)?;
        self.program.find_class(&internal_name(&name))
    }

    fn found_class(&mut self, site: SiteId, to: NodeId, class: ClassId) {
        let name = self.program.classes()[class].name;
        let ty = self.program.names.type_id(Type::Class(name));
        self.solver.add(to, Object::Class(ty));
        let Site { caller, statement, .. } = self.sites[site];
        self.initialize(class, caller, statement);
    }

    /// A text arrives where a class is looked for.
    pub(super) fn reflect_class(&mut self, site: SiteId, to: NodeId, object: ObjectId) {
        let named = match self.solver.objects.all[object] {
            Object::ClassName(text) => {
                let name = internal_name(self.program.names.bytes(text));
                self.program.find_class(&name)
            }
            _ => None,
        };
        match named {
            Some(class) => self.found_class(site, to, class),
            None => self.add_unknown(to, self.program.names.known.class),
        }
    }

    /// The class object of an object: that of an enum, whose constants may be asked for. Others are not
    /// distinguished, since everything has a class and would come to have all of them.
    pub(super) fn load_class(&mut self, object: ObjectId, to: NodeId) {
        if let Some(class) = self.solver.objects.all[object].exact_class()
            && self.program.classes()[class].access & flags::ENUM != 0
        {
            let name = self.program.classes()[class].name;
            let ty = self.program.names.type_id(Type::Class(name));
            self.solver.add(to, Object::Class(ty));
        } else {
            self.add_unknown(to, self.program.names.known.class);
        }
    }

    // Fields.

    /// A member of a class is looked for. Of fields whose names are not known, only the constants of
    /// enums are followed: whoever reads all fields of an object, such as a printer of objects, would
    /// else connect all with all.
    pub(super) fn reflect_member(
        &mut self,
        kind: MemberKind,
        name: Option<Symbol>,
        to: NodeId,
        object: ObjectId,
    ) {
        let Object::Class(of) = self.solver.objects.all[object] else { return };
        let class = self.class_of_class_object(of);
        let is_enum = |class| self.program.classes()[class].access & flags::ENUM != 0;
        let member = Object::Member { kind, of, name };
        if kind != MemberKind::Field || name.is_some() || class.is_some_and(is_enum) {
            self.solver.add(to, member);
        } else {
            let field = self.solver.objects.class_of(member, self.program);
            self.solver.add(to, Object::Unknown(field));
        }
    }

    /// All variables that a handle on an object may stand for, with their declared types.
    pub(super) fn variables(&mut self, object: ObjectId) -> Vec<(NodeId, Option<TypeId>)> {
        let elements = self.slot(object, self.element);
        let class = match self.solver.objects.all[object] {
            Object::Instance(class)
            | Object::Allocated { class, .. }
            | Object::OfThread { class, .. } => Some(class),
            // A static field is reached through the class object.
            Object::Class(ty) => self.class_of_class_object(ty),
            _ => None,
        };
        let fields: Vec<FieldId> = match class {
            Some(class) => self.program.all_fields(class).collect(),
            None => Vec::new(),
        };
        let mut variables = vec![(elements, None)];
        variables.extend(self.reference_fields(Some(object), fields));
        variables
    }

    /// The fields that a handle stands for, if it is known whose they are.
    pub(super) fn variables_of_handle(
        &mut self,
        site: SiteId,
        handle: ObjectId,
    ) -> Option<Vec<(NodeId, Option<TypeId>)>> {
        let Object::Member { kind: MemberKind::Field, of, name } = self.solver.objects.all[handle]
        else {
            return None;
        };
        let class = self.class_of_class_object(of)?;
        let Site { caller, statement, .. } = self.sites[site];
        self.initialize(class, caller, statement);
        let is_meant =
            |&field: &FieldId| name.is_none_or(|name| self.program.fields()[field].name == name);
        let fields: Vec<FieldId> = self.program.all_fields(class).filter(is_meant).collect();
        Some(self.reference_fields(None, fields))
    }

    fn class_of_class_object(&mut self, ty: TypeId) -> Option<ClassId> {
        match self.program.names.ty(ty) {
            Type::Class(name) => Some(self.program.class_named(name)),
            _ => None,
        }
    }

    fn reference_fields(
        &mut self,
        object: Option<ObjectId>,
        fields: Vec<FieldId>,
    ) -> Vec<(NodeId, Option<TypeId>)> {
        let mut nodes = Vec::new();
        for field in fields {
            let data = &self.program.fields()[field];
            let (ty, is_static) = (data.ty, data.access & flags::STATIC != 0);
            if self.is_reference(ty) {
                let node = match object {
                    Some(object) if !is_static => self.slot(object, Variable::Field(field)),
                    _ => self.field(field),
                };
                nodes.push((node, Some(ty)));
            }
        }
        nodes
    }

    // Methods and constructors.

    /// An instance by a class object or constructor.
    pub(super) fn reflect_new(
        &mut self,
        site: SiteId,
        arguments: Arguments,
        to: NodeId,
        object: ObjectId,
    ) {
        let of = match self.solver.objects.all[object] {
            Object::Class(of) | Object::Member { of, .. } => of,
            _ => {
                self.graph.gaps.unknown_reflection += 1;
                self.add_unknown(to, self.program.names.known.object);
                return;
            }
        };
        let Some(class) = self.class_of_class_object(of) else { return };
        if !self.program.classes()[class].is_concrete() {
            return;
        }
        let Site { caller, statement, .. } = self.sites[site];
        let instance = self.allocated(class, caller, statement);
        let instance = self.solver.object(instance);
        self.solver.add_id(to, instance);
        self.initialize(class, caller, statement);
        let receiver = self.solver.node();
        self.solver.add_id(receiver, instance);
        let is_class = matches!(self.solver.objects.all[object], Object::Class(_));
        for method in self.program.classes()[class].methods.clone() {
            let data = &self.program.methods()[method];
            let signature = self.program.names.signature_data(data.signature);
            // `Class.newInstance` takes no arguments; a `Constructor` may be any.
            let fits = !is_class || signature.parameters.is_empty();
            if data.name == self.program.names.known.init && fits {
                let call = self.reflective_site(site, method, Some(receiver), arguments, None);
                self.link(call, method, None);
            }
        }
    }

    /// A call by a method object or handle.
    pub(super) fn reflect_call(
        &mut self,
        site: SiteId,
        on: Option<NodeId>,
        arguments: Arguments,
        object: ObjectId,
    ) {
        let (kind, of, name) = match self.solver.objects.all[object] {
            Object::Member { kind: MemberKind::Constructor, .. } => {
                let to = self.sites[site].result.unwrap_or_else(|| self.solver.node());
                self.reflect_new(site, arguments, to, object);
                return;
            }
            Object::Member { kind, of, name: Some(name) } => (kind, of, name),
            _ => {
                self.graph.gaps.unknown_reflection += 1;
                if let Some(result) = self.sites[site].result {
                    self.add_unknown(result, self.program.names.known.object);
                }
                return;
            }
        };
        if kind == MemberKind::Field {
            self.call_accessor(site, arguments, object);
            return;
        }
        let Some(class) = self.program.class_of_type(of) else { return };
        let ancestors = self.program.classes()[class].ancestors.clone();
        let methods =
            ancestors.iter().flat_map(|&above| self.program.classes()[above].methods.iter());
        let is_meant = |&method: &MethodId| self.program.methods()[method].name == name;
        let methods: Vec<MethodId> = methods.copied().filter(is_meant).collect();
        let result = self.sites[site].result;
        for method in methods {
            if self.program.methods()[method].is_static() {
                let declaring = self.program.methods()[method].class;
                let Site { caller, statement, .. } = self.sites[site];
                self.initialize(declaring, caller, statement);
                let call = self.reflective_site(site, method, None, arguments, result);
                self.link(call, method, None);
                continue;
            }
            let receiver = match (on, arguments) {
                (Some(on), _) => Some(on),
                (None, Arguments::Own) => self.sites[site].arguments.get(1).copied().flatten(),
                (None, Arguments::Elements(elements)) => Some(elements),
                (None, Arguments::Unknown) => None,
            };
            let Some(receiver) = receiver else { continue };
            let narrowed = self.solver.node();
            let filter = self.solver.objects.filter(of);
            self.solver.flow_filtered(self.program, receiver, narrowed, Some(filter));
            let call = self.reflective_site(site, method, Some(narrowed), arguments, result);
            self.watch(narrowed, Watcher::Dispatch { site: call, method });
        }
    }

    /// A call of a handle on a field reads or writes it.
    fn call_accessor(&mut self, site: SiteId, arguments: Arguments, handle: ObjectId) {
        let Some(variables) = self.variables_of_handle(site, handle) else { return };
        let value = match arguments {
            Arguments::Own => self.sites[site].arguments.last().copied().flatten(),
            Arguments::Elements(elements) => Some(elements),
            Arguments::Unknown => None,
        };
        for (variable, ty) in variables {
            if let Some(result) = self.sites[site].result {
                self.flow(variable, result);
            }
            if let Some(value) = value {
                let filter = ty.map(|ty| self.solver.objects.filter(ty));
                self.solver.flow_filtered(self.program, value, variable, filter);
            }
        }
    }

    /// The call of one method, with arguments as its parameters want them.
    fn reflective_site(
        &mut self,
        site: SiteId,
        method: MethodId,
        receiver: Option<NodeId>,
        given: Arguments,
        result: Option<NodeId>,
    ) -> SiteId {
        let data = &self.program.methods()[method];
        let parameters = self.program.names.signature_data(data.signature).parameters.clone();
        let is_static = data.is_static();
        // After the handle come the receiver, if there is one, and the arguments.
        let is_constructor = data.name == self.program.names.known.init;
        let first = if is_static || is_constructor { 1 } else { 2 };
        let mut arguments: SmallVec<[Option<NodeId>; 4]> = SmallVec::new();
        if !is_static {
            arguments.push(receiver);
        }
        for (index, &ty) in parameters.iter().enumerate() {
            if !self.is_reference(ty) {
                arguments.push(None);
                continue;
            }
            let node = self.solver.node();
            let from = match given {
                Arguments::Own => self.sites[site].arguments.get(index + first).copied().flatten(),
                Arguments::Elements(elements) => Some(elements),
                Arguments::Unknown => None,
            };
            match from {
                Some(from) => {
                    let filter = self.solver.objects.filter(ty);
                    self.solver.flow_filtered(self.program, from, node, Some(filter));
                }
                None => self.add_unknown(node, ty),
            }
            arguments.push(Some(node));
        }
        let Site { caller, statement, .. } = self.sites[site];
        let kind = EdgeKind::Reflection;
        self.sites.push(Site { caller, statement, arguments, result, kind })
    }

    /// Whether the argument is declared to be a class object.
    fn is_class_object(&self, context: &Modelled<'_>, place: &ModelPlace) -> bool {
        let ModelPlace::Argument(index) = place else { return false };
        let signature = self.program.methods()[context.method].signature;
        let parameters = &self.program.names.signature_data(signature).parameters;
        parameters.get(usize::from(*index)) == Some(&self.program.names.known.class)
    }

    /// An interface of which there is to be a proxy.
    pub(super) fn reflect_proxy(
        &mut self,
        site: SiteId,
        handler: NodeId,
        to: NodeId,
        object: ObjectId,
    ) {
        let Site { caller, statement, .. } = self.sites[site];
        let method = self.method_of(caller);
        let interface = match self.solver.objects.all[object] {
            Object::Class(ty) => self.class_of_class_object(ty),
            _ => None,
        };
        let Some(interface) = interface else {
            self.graph.gaps.unknown_reflection += 1;
            return;
        };
        if !self.program.classes()[interface].is_interface() {
            return;
        }
        let proxy = self.solver.object(Object::Proxy { interface, method, statement });
        self.solver.add_id(to, proxy);
        let slot = Variable::Slot(self.program.names.symbol(b"handler"));
        let own_handler = self.slot(proxy, slot);
        self.flow(handler, own_handler);
    }

    /// A call on a proxy is one of its handler.
    pub(super) fn call_handler(&mut self, site: SiteId, proxy: ObjectId) {
        let slot = Variable::Slot(self.program.names.symbol(b"handler"));
        let handler = self.slot(proxy, slot);
        let key = (site, handler);
        if !self.proxied.insert(key) {
            return;
        }
        let Site { caller, statement, arguments: given, result, kind } = self.sites[site].clone();
        let this = self.solver.node();
        self.solver.add_id(this, proxy);
        let Object::Proxy { method: maker, statement: made, .. } = self.solver.objects.all[proxy]
        else {
            return;
        };
        // Whoever calls it: a proxy has one array of arguments.
        let context = MadeIn::default();
        let array = Object::LibraryArray { method: maker, statement: made, context };
        let array = self.solver.object(array);
        let elements = self.slot(array, self.element);
        for argument in given.into_iter().skip(1).flatten() {
            self.flow(argument, elements);
        }
        let packed = self.solver.node();
        self.solver.add_id(packed, array);
        let arguments = [Some(handler), Some(this), None, Some(packed)].into_iter().collect();
        let kind = match kind {
            EdgeKind::Call | EdgeKind::Target => EdgeKind::Callback,
            kind => kind,
        };
        let outer = self.threads.effects.get(&site).copied();
        let site = self.sites.push(Site { caller, statement, arguments, result, kind });
        if let Some(effect) = outer {
            self.threads.effects.insert(site, effect);
        }
        let method = self.program.names.symbol(b"invoke");
        self.watch(handler, Watcher::Callback { site, method });
    }

    /// The text of a string argument, if it is a constant.
    fn constant_string(&mut self, context: &Modelled<'_>, place: &ModelPlace) -> Option<Vec<u8>> {
        let ModelPlace::Argument(index) = place else { return None };
        let Site { caller, statement, .. } = self.sites[context.site];
        let body = self.program.body(self.method_of(caller))?;
        let Operation::Invoke { arguments, .. } = &body.statements[statement].operation else {
            return None;
        };
        let this = usize::from(!self.program.methods()[context.method].is_static());
        let value = *arguments.get(usize::from(*index) + this)?;
        match body.definition(value).operation {
            Operation::Constant(Constant::String(text)) => {
                Some(self.program.names.bytes(text).to_vec())
            }
            _ => None,
        }
    }
}
