//! The models of one class, found by name and parameters.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::effect::Effect;
use crate::key::MethodKey;
use crate::parse::parse;

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
    any: Option<Arc<StoredModel>>,
    exact: SmallVec<[Overload; 1]>,
}

#[derive(Debug, Clone)]
struct Overload {
    /// The parameter part of the descriptor, without parentheses.
    parameters: Box<[u8]>,
    model: Arc<StoredModel>,
}

/// A model, or the sentences of an embedded file that nobody has asked for yet: a run asks for a small
/// part of them, and reading all would take most of the time that loading takes.
#[derive(Debug)]
pub(crate) struct StoredModel {
    unread: Box<[Cow<'static, str>]>,
    model: OnceLock<MethodModel>,
}

impl StoredModel {
    /// Sentences that are known to be well formed.
    pub(crate) fn unread(sentences: Box<[Cow<'static, str>]>) -> StoredModel {
        StoredModel { unread: sentences, model: OnceLock::new() }
    }

    fn get(&self) -> &MethodModel {
        self.model.get_or_init(|| {
            let read = |sentence: &Cow<'_, str>| {
                parse(sentence).expect("the embedded sentences are all read by the tests")
            };
            MethodModel { effects: self.unread.iter().map(read).collect() }
        })
    }
}

impl From<MethodModel> for StoredModel {
    fn from(model: MethodModel) -> StoredModel {
        StoredModel { unread: Box::default(), model: OnceLock::from(model) }
    }
}

impl ClassModel {
    /// The model of a method, by name and descriptor (`(Ljava/lang/Runnable;)V`); the type it
    /// returns does not matter.
    pub fn method(&self, name: &[u8], descriptor: &[u8]) -> Option<&MethodModel> {
        let overloads = self.methods.get(name)?;
        let end = descriptor.iter().rposition(|byte| *byte == b')');
        let parameters = descriptor.get(1..end.unwrap_or(descriptor.len()));
        let exact = overloads.exact.iter().find(|exact| Some(&*exact.parameters) == parameters);
        exact.map(|exact| &exact.model).or(overloads.any.as_ref()).map(|model| model.get())
    }

    /// Every model with the method's name and, unless it is for all overloads, the parameter part
    /// of its descriptor; in no order.
    pub fn methods(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>, &MethodModel)> {
        self.methods.iter().flat_map(|(name, overloads)| {
            let any = overloads.any.iter().map(|model| (None, model));
            let exact =
                overloads.exact.iter().map(|exact| (Some(&*exact.parameters), &exact.model));
            any.chain(exact).map(|(parameters, model)| (&**name, parameters, model.get()))
        })
    }

    /// Adds a model of the same file; false if there is one already.
    pub(crate) fn add(&mut self, key: &MethodKey, model: Arc<StoredModel>) -> bool {
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
                let parameters: Box<[u8]> = parameters.as_bytes().into();
                let free = overloads.exact.iter().all(|other| other.parameters != parameters);
                overloads.exact.push(Overload { parameters, model });
                free
            }
        }
    }

    /// Replaces what a later file says anew. A key without parameters replaces every overload.
    pub(crate) fn lay_over(&mut self, later: ClassModel) {
        if self.methods.is_empty() {
            *self = later;
            return;
        }
        for (name, above) in later.methods {
            let below = self.methods.entry(name).or_default();
            if above.any.is_some() {
                *below = above;
                continue;
            }
            for exact in above.exact {
                below.exact.retain(|other| other.parameters != exact.parameters);
                below.exact.push(exact);
            }
        }
    }
}
