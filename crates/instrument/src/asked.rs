//! What the results of modelled methods are asked for: an iterator of a queue for the queue, in which its elements were sent,
//! and one of a list for nothing that orders.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_models::{Effect, MethodModel, ModelPlace, Models};

/// For which slots of which objects ordering sentences ask.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// The classes whose sentences name a slot.
    by: FxHashMap<Box<str>, FxHashSet<Box<[u8]>>>,
    /// Slots whose contents get to where somebody may ask for them.
    handed_on: FxHashSet<Box<str>>,
}

impl Asked {
    /// `deciding` are the places that a sentence orders by, `slots` all that matter.
    pub(crate) fn new<'m>(
        models: &'m Models,
        slots: &FxHashSet<Box<str>>,
        deciding: impl Fn(&'m Effect) -> Vec<&'m ModelPlace>,
    ) -> Self {
        let mut asked = Self::default();
        let all = || {
            models.classes().flat_map(|(class, model)| {
                model.methods().map(move |(_, _, method)| (class, method))
            })
        };
        for (class, method) in all() {
            for slot in method.effects.iter().flat_map(&deciding).flat_map(slots_of) {
                asked.by.entry(slot.into()).or_default().insert(class.into());
            }
        }
        for (_, method) in all() {
            for effect in &method.effects {
                let Effect::Flow { from, to: ModelPlace::Slot(of, to) } = effect else { continue };
                if !slots.contains(to) {
                    continue;
                }
                let is_unasked = **of == ModelPlace::Result && !asked.is_asked(method, to);
                let stays = |slot: &str| is_unasked && *slot == **to;
                let moved = slots_of(from).filter(|&slot| slots.contains(slot) && !stays(slot));
                asked.handed_on.extend(moved.map(Into::into));
            }
        }
        asked
    }

    /// Whether somebody may ask what a method returns for a slot, as far as its class is known.
    pub(crate) fn asks(&self, method: &MethodModel, slot: &str) -> bool {
        self.handed_on.contains(slot) || self.is_asked(method, slot)
    }

    fn is_asked(&self, method: &MethodModel, slot: &str) -> bool {
        let Some(by) = self.by.get(slot) else { return false };
        let mut made = made_by(method).peekable();
        let may_ask = |class: &str| by.iter().any(|asking| may_be_above(asking, class.as_bytes()));
        made.peek().is_none() || made.any(may_ask)
    }
}

/// Whether a class may speak for another one: what the JDK's classes extend is in their own package or in `java.lang`.
fn may_be_above(class: &[u8], other: &[u8]) -> bool {
    let package = |class: &[u8]| class.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    let [above, below] = [class, other].map(|class| &class[..package(class)]);
    !other.starts_with(b"java/") || above == below || above == b"java/lang"
}

/// The classes of what a method returns that it has made.
pub(crate) fn made_by(method: &MethodModel) -> impl Iterator<Item = &str> {
    method.effects.iter().filter_map(|effect| match effect {
        Effect::Return(ModelPlace::New(class)) => Some(&**class),
        _ => None,
    })
}

/// The slots that a place names.
pub(crate) fn slots_of(place: &ModelPlace) -> impl Iterator<Item = &str> {
    place.parts().into_iter().filter_map(|part| match part {
        ModelPlace::Slot(_, slot) => Some(&**slot),
        _ => None,
    })
}
