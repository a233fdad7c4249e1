//! Which model a call has.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use unsnarl_models::{Effect, MethodModel, Models};
use unsnarl_recording::records::{Dispatch, MethodName, SiteOperation};

use super::call::Arguments;
use super::effects;
use crate::translate::descriptions::Descriptions;

/// The models, and what was looked up in them.
#[derive(Debug)]
pub(crate) struct CallModels {
    models: Arc<Models>,
    /// By site and by the id of the receiver's `Class`.
    known: FxHashMap<(u32, u64), KnownCall>,
    /// The sites of calls, and whether their effects may depend on how they end.
    conditional: FxHashMap<u32, bool>,
}

/// What is known of calls at a site on objects of a class.
#[derive(Clone, Debug)]
pub(crate) struct KnownCall {
    pub(crate) model: Option<Arc<MethodModel>>,
    pub(crate) arguments: Arguments,
    /// Whether they may have effects before they end.
    pub(crate) begins: bool,
}

impl CallModels {
    pub(crate) fn new(models: Arc<Models>) -> Self {
        Self { models, known: FxHashMap::default(), conditional: FxHashMap::default() }
    }

    /// What is known of a call at a site on a receiver.
    pub(crate) fn known_call(
        &mut self,
        site: u32,
        receiver: u64,
        descriptions: &Descriptions,
    ) -> KnownCall {
        let class = descriptions.class_of(receiver).unwrap_or(0);
        if let Some(known) = self.known.get(&(site, class)) {
            return known.clone();
        }
        let model = self.find(site, receiver, descriptions);
        let arguments = match descriptions.sites.get(&site).map(|it| &it.operation) {
            Some(SiteOperation::Call(method, _)) => Arguments::of(&method.descriptor),
            _ => Arguments::default(),
        };
        let begins = model.as_ref().is_some_and(|model| {
            model.effects.iter().any(|effect| !effects::only_at_the_end(effect))
        });
        let known = KnownCall { model, arguments, begins };
        // A class may get its name later.
        if receiver == 0 || descriptions.class_name_of(receiver).is_some() {
            self.known.insert((site, class), known.clone());
        }
        known
    }

    fn find(
        &self,
        site: u32,
        receiver: u64,
        descriptions: &Descriptions,
    ) -> Option<Arc<MethodModel>> {
        let operation = &descriptions.sites.get(&site)?.operation;
        let SiteOperation::Call(MethodName { class, name, descriptor }, dispatch) = operation
        else {
            return None;
        };
        let receiver = match dispatch {
            Dispatch::Virtual | Dispatch::Interface => descriptions.class_name_of(receiver)?,
            Dispatch::Static | Dispatch::Special => class.clone(),
        };
        let model_on = |class: &[u8]| self.models.method(class, name, descriptor);
        let model = descriptions
            .classes
            .model(&receiver, name, descriptor, |class| model_on(class).is_some())
            .and_then(model_on)?;
        Some(Arc::new(model.clone()))
    }

    /// The model of the first method of a name that a class or one above it has.
    pub(crate) fn named(
        &self,
        class: &[u8],
        method: &str,
        descriptions: &Descriptions,
    ) -> Option<&MethodModel> {
        descriptions.classes.ancestors(class).0.into_iter().find_map(|class| {
            let mut methods = self.models.methods_of(class)?.methods();
            methods.find(|(name, _, _)| *name == method.as_bytes()).map(|(_, _, model)| model)
        })
    }

    /// Whether a call at a site may release or send something only if it succeeds, whatever it is called on.
    pub(crate) fn depends_on_outcome(&mut self, site: u32, descriptions: &Descriptions) -> bool {
        if let Some(&known) = self.conditional.get(&site) {
            return known;
        }
        let operation = descriptions.sites.get(&site).map(|record| &record.operation);
        let Some(SiteOperation::Call(MethodName { name, descriptor, .. }, _)) = operation else {
            return false;
        };
        let is_conditional = |effect: &Effect| {
            matches!(
                effect,
                Effect::Release { when: Some(_), .. }
                    | Effect::Send { when: Some(_), .. }
                    | Effect::Write { when: Some(_), .. }
            )
        };
        let conditional = self
            .models
            .classes()
            .filter_map(|(_, class)| class.method(name, descriptor))
            .any(|model| model.effects.iter().any(is_conditional));
        self.conditional.insert(site, conditional);
        conditional
    }
}
