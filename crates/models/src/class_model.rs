//! The models of one class, found by name and parameters.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::effect::Effect;
use crate::key::MethodKey;

/// The models of the methods of one class.
#[derive(Debug, Clone, Default)]
pub struct ClassModel {
    methods: FxHashMap<Box<[u8]>, Overloads>,
}

/// What a method does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MethodModel {
    /// In the order in which they happen; none means that the method has no effect worth knowing.
    pub effects: Vec<Effect>,
}

#[derive(Debug, Clone, Default)]
struct Overloads {
    /// For every overload without a model of its own.
    any: Option<MethodModel>,
    /// By the parameter part of the descriptor, without parentheses.
    exact: SmallVec<[(Box<[u8]>, MethodModel); 1]>,
}

impl ClassModel {
    /// The model of a method, by name and descriptor (`(Ljava/lang/Runnable;)V`); the type it
    /// returns does not matter.
    pub fn method(&self, name: &[u8], descriptor: &[u8]) -> Option<&MethodModel> {
        let overloads = self.methods.get(name)?;
        let end = descriptor.iter().rposition(|byte| *byte == b')');
        let parameters = descriptor.get(1..end.unwrap_or(descriptor.len()));
        overloads
            .exact
            .iter()
            .find(|(exact, _)| Some(&**exact) == parameters)
            .map(|(_, model)| model)
            .or(overloads.any.as_ref())
    }

    /// Every model with the method's name and, unless it is for all overloads, the parameter part
    /// of its descriptor; in no order.
    pub fn methods(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>, &MethodModel)> {
        self.methods.iter().flat_map(|(name, overloads)| {
            let any = overloads.any.iter().map(|model| (None, model));
            let exact =
                overloads.exact.iter().map(|(parameters, model)| (Some(&**parameters), model));
            any.chain(exact).map(|(parameters, model)| (&**name, parameters, model))
        })
    }

    /// Adds a model of the same file; false if there is one already.
    pub(crate) fn add(&mut self, key: &MethodKey, model: MethodModel) -> bool {
        let name = key.name.as_bytes();
        if !self.methods.contains_key(name) {
            self.methods.insert(name.into(), Overloads::default());
        }
        let Some(overloads) = self.methods.get_mut(name) else {
            return false;
        };
        match &key.parameters {
            None => overloads.any.replace(model).is_none(),
            Some(parameters) => {
                let parameters = parameters.as_bytes();
                let free = overloads.exact.iter().all(|(other, _)| **other != *parameters);
                overloads.exact.push((parameters.into(), model));
                free
            }
        }
    }

    /// Replaces what a later file says anew. A key without parameters replaces every overload.
    pub(crate) fn lay_over(&mut self, later: ClassModel) {
        for (name, above) in later.methods {
            let below = self.methods.entry(name).or_default();
            if above.any.is_some() {
                *below = above;
                continue;
            }
            for (parameters, model) in above.exact {
                below.exact.retain(|(other, _)| *other != parameters);
                below.exact.push((parameters, model));
            }
        }
    }
}
