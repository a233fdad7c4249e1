//! Who may send to an object of the library.
//!
//! A look at an object need not be recorded again if nobody has sent to it since. The runtime knows that if it has seen all
//! who may: if they do it by calls on the object itself, which are recorded.

use rustc_hash::FxHashSet;
use unsnarl_classfile::MethodDescriptor;
use unsnarl_models::{Call, ClassModel, Effect, MethodModel, ModelPlace, Models};

use crate::asked::made_by;
use crate::calls::is_interrupt;

/// The modelled classes to whose objects nothing is sent but by calls on them.
pub(crate) fn sent_to_by_own_calls(models: &Models) -> FxHashSet<Box<[u8]>> {
    let Some(others) = sent_to_by_others(models) else { return FxHashSet::default() };
    models
        .classes()
        .filter(|(class, model)| !others.contains(*class) && speaks_of_itself(model))
        .map(|(class, _)| class.into())
        .collect()
}

/// Whether all that a class orders is what its methods send to their object and receive from it. What a constructor sends
/// has a number after it, and the object may be known by then.
fn speaks_of_itself(class: &ClassModel) -> bool {
    class.methods().all(|(name, _, method)| {
        method.effects.iter().all(|effect| match effect {
            Effect::Send { channel, within, .. } => {
                *channel == ModelPlace::This && within.is_none() && name != b"<init>"
            }
            // Not what others have sent to the object.
            effect if is_interrupt(effect) => true,
            Effect::Receive { channel, within, once, .. } => {
                *channel == ModelPlace::This && within.is_none() && !once
            }
            Effect::Read { .. }
            | Effect::Write { .. }
            | Effect::Flow { .. }
            | Effect::Return(_) => true,
            // Another method of the object, which may send, and of which no call is recorded.
            Effect::Call(call) => call.receiver != ModelPlace::This,
            _ => false,
        })
    })
}

/// The classes of objects to which methods send that are called on others: what they return, or what is in a slot. Nothing if
/// these may be of any class. Slots of one name are distinguished by the classes that have them, as the sentences name them.
fn sent_to_by_others(models: &Models) -> Option<FxHashSet<Box<[u8]>>> {
    let mut classes: FxHashSet<Box<[u8]>> = FxHashSet::default();
    let mut slots: Vec<(Option<Box<[u8]>>, &str)> = Vec::new();
    let all = || {
        models.classes().flat_map(|(class, model)| {
            model.methods().map(move |(_, parameters, method)| Speaker {
                models,
                class,
                parameters,
                method,
            })
        })
    };
    for speaker in all() {
        for effect in &speaker.method.effects {
            let Effect::Send { channel, within: None, .. } = effect else { continue };
            match channel {
                // A part of an object has a channel of its own.
                ModelPlace::This
                | ModelPlace::Variable { .. }
                | ModelPlace::Element(_)
                | ModelPlace::Static { .. } => {}
                ModelPlace::Slot(of, slot) => slots.push((speaker.class_of(of), slot)),
                other => {
                    classes.insert(speaker.class_of(other)?);
                }
            }
        }
    }
    // What is in one slot may come from another.
    loop {
        let known = slots.len();
        for speaker in all() {
            for effect in &speaker.method.effects {
                let (from, to) = match effect {
                    Effect::Flow { from, to } => (Some(from), to),
                    Effect::Call(Call { result: Some(to), .. }) => (None, to),
                    _ => continue,
                };
                let ModelPlace::Slot(of, slot) = to else { continue };
                let class = speaker.class_of(of);
                let is_it = |(of, name): &(Option<Box<[u8]>>, &str)| {
                    *name == &**slot && (of.is_none() || class.is_none() || *of == class)
                };
                if !slots.iter().any(is_it) {
                    continue;
                }
                match from? {
                    ModelPlace::Slot(of, slot) => {
                        let further = (speaker.class_of(of), &**slot);
                        if !slots.contains(&further) {
                            slots.push(further);
                        }
                    }
                    from => {
                        classes.insert(speaker.class_of(from)?);
                    }
                }
            }
        }
        if slots.len() == known {
            return Some(classes);
        }
    }
}

/// A modelled method, in whose sentences a place has a class.
struct Speaker<'m> {
    models: &'m Models,
    class: &'m [u8],
    parameters: Option<&'m [u8]>,
    method: &'m MethodModel,
}

impl Speaker<'_> {
    /// The class that what is at a place is said to have; nothing if it may be any.
    fn class_of(&self, place: &ModelPlace) -> Option<Box<[u8]>> {
        match place {
            ModelPlace::This => Some(self.class.into()),
            ModelPlace::Thread => Some(b"java/lang/Thread"[..].into()),
            ModelPlace::Result => made_by(self.method).next().map(|class| class.as_bytes().into()),
            ModelPlace::Argument(position) => {
                let descriptor = [b"(", self.parameters?, b")V"].concat();
                let descriptor = MethodDescriptor::parse(&descriptor)?;
                let parameter = descriptor.parameters().nth((*position).into())?;
                let class = parameter.descriptor().strip_prefix(b"L")?.strip_suffix(b";")?;
                // What is declared as a number may be an atomic one: only who sends itself is no more than that.
                let model = self.models.methods_of(class)?;
                let is_send = |effect: &Effect| matches!(effect, Effect::Send { .. });
                let sends =
                    model.methods().any(|(_, _, method)| method.effects.iter().any(is_send));
                sends.then(|| class.into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(more: &str) -> FxHashSet<Box<[u8]>> {
        let mut models = Models::builtin();
        let text = format!("schema = \"unsnarl.models/1\"\n{more}");
        models.extend("more.toml", &text).unwrap();
        sent_to_by_own_calls(&models)
    }

    #[test]
    fn atomic_variables_are_sent_to_by_their_own_methods() {
        let found = classes("");
        let mut all: Vec<_> =
            found.iter().map(|c| String::from_utf8_lossy(c).into_owned()).collect();
        all.sort();
        for class in ["AtomicInteger", "AtomicLong", "AtomicBoolean", "AtomicReference"] {
            let class = format!("java/util/concurrent/atomic/{class}");
            assert!(found.contains(class.as_bytes()), "{class}");
        }
        for class in [
            "java/util/concurrent/FutureTask",
            "java/util/concurrent/CompletableFuture",
            "java/util/concurrent/CountedCompleter",
            "java/util/concurrent/atomic/AtomicIntegerArray",
            "java/util/concurrent/ConcurrentHashMap",
        ] {
            assert!(!found.contains(class.as_bytes()), "{class}");
        }
    }

    #[test]
    fn whoever_may_send_to_anything_is_believed() {
        let bell = "[methods.\"a.Bell\"]\n";
        for sentence in [
            "\"ring(Object)\" = \"send arg0\"",
            "\"ring(Number)\" = \"send arg0\"",
            "\"ring()\" = [\"return this.last\", \"send result\"]",
            "\"put(Object)\" = \"flow arg0 -> this.last\"\n\"ring()\" = \"send this.last\"",
        ] {
            assert!(classes(&format!("{bell}{sentence}\n")).is_empty(), "{sentence}");
        }
        // By way of a slot.
        let handed = "\"<init>(a.Bell)\" = [\"flow this -> this.all\", \"flow arg0.all -> this.all\"]\n\"ring()\" = \"send this.all\"\n";
        let found = classes(&format!("{bell}{handed}"));
        assert!(found.contains(&b"java/util/concurrent/atomic/AtomicLong"[..]), "only bells");
        let hung = "\"hang(Object)\" = \"flow arg0 -> this.last\"\n\"tie()\" = \"flow this.last -> this.all\"\n";
        assert!(classes(&format!("{bell}{handed}{hung}")).is_empty());
        let own = "\"ring()\" = \"send this\"\n\"hears()\" = \"receive this\"\n";
        assert!(classes(&format!("{bell}{own}")).contains(&b"a/Bell"[..]));
        let made = "\"<init>()\" = \"send this\"\n\"hears()\" = \"receive this\"\n";
        assert!(!classes(&format!("{bell}{made}")).contains(&b"a/Bell"[..]));
    }
}
