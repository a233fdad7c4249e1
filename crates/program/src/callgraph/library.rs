//! What is known about the code that a call leads to: analysed, modelled or opaque.
//!
//! `docs/models.md` says which model applies, in four steps; [`Builder::knowledge`] takes them.

use unsnarl_classfile::resolution;
use unsnarl_models::{Effect, MethodModel, Treatment};

use super::build::{Builder, Precision};
use super::object::{MadeIn, Object};
use crate::body::StatementId;
use crate::class::{ClassId, MethodId};
use crate::heap::{Instance, InstanceId};
use unsnarl_classpath::Role;

/// How a call is followed.
#[derive(Clone, Copy)]
pub(super) enum Knowledge<'m> {
    /// By what a model says.
    Model(&'m MethodModel),
    /// Into the bytecode of the method.
    Bytecode,
    /// Not at all.
    Opaque,
}

impl<'b> Builder<'_, 'b, '_> {
    /// How to follow a call of `method` on an object of `receiver`.
    pub(super) fn knowledge(&mut self, receiver: ClassId, method: MethodId) -> Knowledge<'b> {
        if let Some(&knowledge) = self.knowledge.get(&(receiver, method)) {
            return knowledge;
        }
        let class = self.program.methods()[method].class;
        let knowledge = if let Some(model) = self.exact_model(receiver, class, method) {
            Knowledge::Model(model)
        } else if self.treatment(class) == Treatment::Analyse && self.program.body(method).is_some()
        {
            Knowledge::Bytecode
        } else if let Some(model) = self.nearest_model(receiver, method) {
            Knowledge::Model(model)
        } else {
            Knowledge::Opaque
        };
        self.knowledge.insert((receiver, method), knowledge);
        knowledge
    }

    /// A model on the receiver's class, on one between, or on the declaring class.
    fn exact_model(
        &self,
        receiver: ClassId,
        declaring: ClassId,
        method: MethodId,
    ) -> Option<&'b MethodModel> {
        let below = self.program.superclasses(receiver).take_while(|&class| class != declaring);
        below.chain([declaring]).find_map(|class| self.model_on(class, method))
    }

    /// A model on something above: superclasses first, then interfaces, those furthest down first.
    fn nearest_model(&self, receiver: ClassId, method: MethodId) -> Option<&'b MethodModel> {
        let data = &self.program.methods()[method];
        if data.is_static() || data.name == self.program.names.known.init {
            return None;
        }
        let nearest = |class: ClassId| {
            resolution::nearest(
                self.program.superclasses(class),
                self.program.classes()[class].ancestors.iter().copied(),
                |class, above| self.program.is_subclass(class, above),
                |class| self.model_on(class, method),
            )
        };
        [data.class, receiver].into_iter().find_map(nearest)
    }

    fn model_on(&self, class: ClassId, method: MethodId) -> Option<&'b MethodModel> {
        let names = &self.program.names;
        let data = &self.program.methods()[method];
        let class = names.bytes(self.program.classes()[class].name);
        self.models.method(class, names.bytes(data.name), names.bytes(data.descriptor))
    }

    /// The object that a statement makes.
    pub(super) fn allocated(
        &mut self,
        class: ClassId,
        instance: InstanceId,
        statement: StatementId,
    ) -> Object {
        let method = self.method_of(instance);
        let context = self.made_in(instance);
        let precision = self.precision;
        match precision {
            Precision::Types if self.starts_threads(class) => {
                Object::Allocated { class, method, statement, context }
            }
            Precision::Types => Object::Instance(class),
            // Exceptions go many ways, and nobody looks into them.
            Precision::Heap if self.is_exception(class) => {
                Object::OfThread { class, origin: self.origin_of(instance) }
            }
            Precision::Heap => Object::Allocated { class, method, statement, context },
        }
    }

    /// When objects are made in an instance.
    pub(super) fn made_in(&self, instance: InstanceId) -> MadeIn {
        if self.precision == Precision::Types {
            return MadeIn::default();
        }
        let Instance { origin, receiver, .. } = self.instances[instance];
        let made = receiver.and_then(|object| self.solver.objects.all[object].made());
        MadeIn {
            origin: Some(origin),
            host: made.map(|(method, statement, _)| (method, statement)),
        }
    }

    fn is_exception(&mut self, class: ClassId) -> bool {
        let throwable = self.program.class_of_type(self.program.names.known.throwable);
        throwable.is_some_and(|throwable| self.program.is_subclass(class, throwable))
    }

    fn starts_threads(&mut self, class: ClassId) -> bool {
        match self.starters[class] {
            Some(is_starter) => is_starter,
            None => {
                let is_starter = self.is_starter(class);
                self.starters[class] = Some(is_starter);
                is_starter
            }
        }
    }

    /// Whether a class has a model, of its own or from above, that starts threads.
    fn is_starter(&self, class: ClassId) -> bool {
        self.program.classes()[class].ancestors.iter().any(|&above| {
            let name = self.program.names.bytes(self.program.classes()[above].name);
            let mut methods = self.models.methods_of(name).into_iter().flat_map(|c| c.methods());
            methods.any(|(_, _, model)| {
                model.effects.iter().any(|effect| matches!(effect, Effect::Start { .. }))
            })
        })
    }

    /// How the code of a class is treated; classes of the application are always analysed.
    pub(super) fn treatment(&mut self, class: ClassId) -> Treatment {
        if let Some(treatment) = self.treatments[class] {
            return treatment;
        }
        let treatment = match self.program.role(class) {
            Some(Role::Input) | None => Treatment::Analyse,
            Some(_) => {
                let name = self.program.names.text(self.program.classes()[class].name);
                self.models.treatment(&name)
            }
        };
        self.treatments[class] = Some(treatment);
        treatment
    }
}
