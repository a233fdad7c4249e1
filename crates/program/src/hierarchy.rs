//! Which class is above which, and which method or field a name leads to (JVMS 5.4.3 and 5.4.6).

use unsnarl_classfile::flags;

use crate::class::{ClassId, FieldId, MethodId};
use crate::names::{FieldRefId, MethodRefId, Symbol, Type, TypeId};
use crate::program::Program;

impl Program<'_> {
    /// Whether `class` is `above` or below it.
    pub fn is_subclass(&self, class: ClassId, above: ClassId) -> bool {
        self.classes()[class].ancestors.binary_search(&above).is_ok()
    }

    /// Whether an object of `class` may be used as `above`: it is a subclass, or so much is unknown
    /// about either of them that it could be one.
    pub fn may_be(&self, class: ClassId, above: ClassId) -> bool {
        self.is_subclass(class, above)
            || self.classes()[above].is_phantom()
            || self.classes()[class].is_incomplete && self.may_have_above(class, above)
    }

    /// Whether what is unknown above a class may lead to another: an unknown interface leads to
    /// interfaces only, a known superclass is the only one, and nothing is below a final class.
    fn may_have_above(&self, class: ClassId, above: ClassId) -> bool {
        let object = self.names.ty(self.names.known.object);
        let last = self.superclasses(class).last().unwrap_or(class);
        let is_rooted = Type::Class(self.classes()[last].name) == object;
        let above = &self.classes()[above];
        above.is_interface() || !is_rooted && above.access & flags::FINAL == 0
    }

    /// The class in which the methods of a type are looked for: arrays have those of `Object`.
    pub fn class_of_type(&mut self, ty: TypeId) -> Option<ClassId> {
        match self.names.ty(ty) {
            Type::Class(name) => Some(self.class_named(name)),
            Type::Array(_) => self.class_of_type(self.names.known.object),
            _ => None,
        }
    }

    /// The method that a class itself declares.
    pub fn declared_method(
        &self,
        class: ClassId,
        name: Symbol,
        descriptor: Symbol,
    ) -> Option<MethodId> {
        self.methods_by_name.get(&(class, name, descriptor)).copied()
    }

    /// The method that an instruction names.
    pub fn resolve_method(&mut self, reference: MethodRefId) -> Option<MethodId> {
        if let Some(resolved) = self.resolved_methods[reference] {
            return resolved;
        }
        let data = self.names.method_ref_data(reference);
        let resolved = self
            .class_of_type(data.class)
            .and_then(|class| self.find_method(class, data.name, data.descriptor));
        self.resolved_methods[reference] = Some(resolved);
        resolved
    }

    /// The method of that name and descriptor in a class or above it.
    pub fn find_method(
        &self,
        class: ClassId,
        name: Symbol,
        descriptor: Symbol,
    ) -> Option<MethodId> {
        self.superclasses(class)
            .find_map(|class| self.declared_method(class, name, descriptor))
            .or_else(|| self.signature_polymorphic(class, name))
            .or_else(|| self.interface_method(class, name, descriptor))
    }

    /// Methods such as `MethodHandle.invokeExact` take whatever the caller has (JVMS 2.9.3).
    fn signature_polymorphic(&self, class: ClassId, name: Symbol) -> Option<MethodId> {
        let data = &self.classes()[class];
        let class_name = self.names.bytes(data.name);
        if class_name != b"java/lang/invoke/MethodHandle"
            && class_name != b"java/lang/invoke/VarHandle"
        {
            return None;
        }
        const NATIVE_VARARGS: u16 = flags::NATIVE | flags::VARARGS;
        data.methods.iter().copied().find(|&method| {
            let method = &self.methods()[method];
            method.name == name && method.access & NATIVE_VARARGS == NATIVE_VARARGS
        })
    }

    /// The maximally specific method of the interfaces above a class, one with a body if there is one.
    fn interface_method(
        &self,
        class: ClassId,
        name: Symbol,
        descriptor: Symbol,
    ) -> Option<MethodId> {
        let candidates: Vec<MethodId> = self.classes()[class]
            .ancestors
            .iter()
            .filter(|&&above| self.classes()[above].is_interface())
            .filter_map(|&above| self.declared_method(above, name, descriptor))
            .filter(|&method| self.methods()[method].access & (flags::PRIVATE | flags::STATIC) == 0)
            .collect();
        let is_specific = |&method: &MethodId| {
            let class = self.methods()[method].class;
            !candidates.iter().any(|&other| {
                let other = self.methods()[other].class;
                other != class && self.is_subclass(other, class)
            })
        };
        let has_body = |&method: &MethodId| !self.methods()[method].is_abstract();
        let mut specific: Vec<MethodId> = candidates.iter().copied().filter(is_specific).collect();
        specific.sort_by_key(|&method| self.class_text(self.methods()[method].class));
        specific.iter().copied().find(has_body).or_else(|| specific.first().copied())
    }

    /// The method that runs when `method` is called on an object of `class`.
    pub fn select_method(&mut self, class: ClassId, method: MethodId) -> Option<MethodId> {
        if let Some(&selected) = self.selected.get(&(class, method)) {
            return selected;
        }
        let selected = self.select(class, method);
        self.selected.insert((class, method), selected);
        selected
    }

    fn select(&self, class: ClassId, method: MethodId) -> Option<MethodId> {
        let data = &self.methods()[method];
        if data.access & (flags::PRIVATE | flags::STATIC) != 0 {
            return Some(method);
        }
        let overrides = |candidate: MethodId| {
            let access = self.methods()[candidate].access;
            let visible = data.access & (flags::PUBLIC | flags::PROTECTED) != 0
                || self.package(data.class) == self.package(self.methods()[candidate].class);
            access & (flags::PRIVATE | flags::STATIC) == 0 && visible
        };
        self.superclasses(class)
            .filter_map(|class| self.declared_method(class, data.name, data.descriptor))
            .find(|&candidate| candidate == method || overrides(candidate))
            .or_else(|| self.interface_method(class, data.name, data.descriptor))
            .or_else(|| self.is_subclass(class, data.class).then_some(method))
            .filter(|&selected| !self.methods()[selected].is_abstract())
    }

    /// The field that an instruction names.
    pub fn resolve_field(&mut self, reference: FieldRefId) -> Option<FieldId> {
        if let Some(resolved) = self.resolved_fields[reference] {
            return resolved;
        }
        let data = self.names.field_ref_data(reference);
        let class = self.class_named(data.class);
        let declared = |class: ClassId| {
            let fields = self.fields_by_name.get(&(class, data.name))?;
            fields.iter().copied().find(|&field| self.fields()[field].ty == data.ty)
        };
        // Interfaces come before the superclass, but a field is hardly ever in both.
        let resolved = self
            .superclasses(class)
            .find_map(declared)
            .or_else(|| self.classes()[class].ancestors.iter().find_map(|&above| declared(above)));
        self.resolved_fields[reference] = Some(resolved);
        resolved
    }

    /// The fields that a class and the classes above it declare, its own first.
    pub fn all_fields(&self, class: ClassId) -> impl Iterator<Item = FieldId> + '_ {
        self.superclasses(class).flat_map(|class| self.classes()[class].fields.iter().copied())
    }

    /// A class, its superclass, and so on.
    pub fn superclasses(&self, class: ClassId) -> impl Iterator<Item = ClassId> + '_ {
        std::iter::successors(Some(class), |&class| self.classes()[class].superclass)
    }

    /// The package of a class, as in its internal name.
    pub fn package(&self, class: ClassId) -> &[u8] {
        let name = self.names.bytes(self.classes()[class].name);
        let end = name.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        &name[..end]
    }
}
