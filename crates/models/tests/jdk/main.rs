//! Every model is about something that exists: each class and signature is looked up in the JDK
//! images of the machine, and each sentence is checked against the signature it belongs to.

mod image;

use std::collections::BTreeSet;

use image::{Class, Jdk, Method, installed};
use unsnarl_models::{Call, Effect, ModelPlace, Models, Outcome, Reflect};

#[test]
fn every_model_fits_a_jdk() {
    let jdks = installed();
    assert!(!jdks.is_empty(), "no image of a JDK can be read");
    let complete = is_complete(&jdks);
    let models = Models::builtin();
    let mut complaints = BTreeSet::new();
    for (class, model) in models.classes() {
        let class = String::from_utf8_lossy(class);
        for (name, parameters, model) in model.methods() {
            let name = String::from_utf8_lossy(name);
            let parameters = parameters.map(String::from_utf8_lossy);
            let fits = jdks
                .iter()
                .map(|jdk| check_method(jdk, &class, &name, parameters.as_deref(), &model.effects));
            let shown = parameters.as_ref().map(|list| format!("({list})")).unwrap_or_default();
            let found: Vec<_> = match best(fits) {
                Fit::Found(found) => found,
                Fit::Missing(reason) if complete => vec![reason],
                Fit::Missing(_) => Vec::new(),
            };
            complaints
                .extend(found.into_iter().map(|found| format!("{class}.{name}{shown}: {found}")));
        }
    }
    let list: Vec<_> = complaints.into_iter().collect();
    assert!(list.is_empty(), "{} complaints:\n{}", list.len(), list.join("\n"));
}

/// Without an old and a new JDK, what is not found may belong to the other one.
fn is_complete(jdks: &[Jdk]) -> bool {
    jdks.iter().any(|jdk| jdk.release <= 17) && jdks.iter().any(|jdk| jdk.release >= 25)
}

/// How a model fits one JDK.
enum Fit {
    /// The class or method is not there.
    Missing(String),
    /// It is there, with these complaints about the sentences.
    Found(Vec<String>),
}

/// What one JDK has, another may lack or declare otherwise; the best fit counts.
fn best(fits: impl Iterator<Item = Fit>) -> Fit {
    let rank = |fit: &Fit| match fit {
        Fit::Found(complaints) => complaints.len(),
        Fit::Missing(_) => usize::MAX,
    };
    fits.min_by_key(rank).unwrap_or(Fit::Missing("no JDK".to_owned()))
}

/// What a new JDK adds to the synchronizers must not go unnoticed.
#[test]
fn every_public_method_of_locks_and_atomics_has_a_model() {
    let models = Models::builtin();
    let mut forgotten = BTreeSet::new();
    for jdk in installed() {
        for package in ["java/util/concurrent/locks", "java/util/concurrent/atomic"] {
            let classes = jdk.package(package).filter_map(|name| jdk.class(name));
            for class in classes.filter(|class| class.is_public) {
                let public = class.methods.iter().filter(|method| method.is_public);
                for method in public.filter(|method| !is_of_object(&method.name)) {
                    if !is_modelled(&models, &jdk, &class, method) {
                        forgotten
                            .insert(format!("{}.{}{}", class.name, method.name, method.descriptor));
                    }
                }
            }
        }
    }
    assert!(forgotten.is_empty(), "{forgotten:#?}");
}

fn is_of_object(method: &str) -> bool {
    ["<init>", "equals", "hashCode", "toString"].contains(&method)
}

/// By a model of the class or of one of its supertypes.
fn is_modelled(models: &Models, jdk: &Jdk, class: &Class, method: &Method) -> bool {
    let (name, descriptor) = (method.name.as_bytes(), method.descriptor.as_bytes());
    models
        .methods_of(class.name.as_bytes())
        .is_some_and(|model| model.method(name, descriptor).is_some())
        || class
            .supertypes()
            .filter_map(|supertype| jdk.class(supertype))
            .any(|supertype| is_modelled(models, jdk, &supertype, method))
}

#[test]
fn every_rule_about_a_package_of_the_jdk_matches_a_class() {
    let jdks = installed();
    let models = Models::builtin();
    for (prefix, _) in models.package_rules() {
        let known = jdks.iter().any(|jdk| jdk.has_prefix(prefix));
        assert!(known || !is_complete(&jdks), "no class of any JDK is in {prefix}");
    }
}

fn check_method(
    jdk: &Jdk,
    class_name: &str,
    name: &str,
    parameters: Option<&str>,
    effects: &[Effect],
) -> Fit {
    let Some(class) = jdk.class(class_name) else {
        return Fit::Missing("no such class".to_owned());
    };
    let methods = jdk.find_methods(&class, name, parameters);
    if methods.is_empty() {
        let known: Vec<_> = class
            .methods
            .iter()
            .filter(|method| method.name == name)
            .map(|method| method.descriptor.as_str())
            .collect();
        return Fit::Missing(format!("no such method; there are {known:?}"));
    }
    // A key for all overloads is checked against those parts that all of them share.
    let check = Check { jdk, class: &class, methods: &methods, polymorphic: parameters.is_none() };
    let mut complaints = Vec::new();
    for effect in effects {
        for complaint in check.effect(effect) {
            complaints.push(format!("`{effect}`: {complaint}"));
        }
    }
    Fit::Found(complaints)
}

struct Check<'a> {
    jdk: &'a Jdk,
    /// The class that is modelled, not the one that declares the method.
    class: &'a Class,
    methods: &'a [Method],
    polymorphic: bool,
}

impl Check<'_> {
    fn effect(&self, effect: &Effect) -> Vec<String> {
        let mut complaints = Vec::new();
        let mut places: Vec<&ModelPlace> = Vec::new();
        let mut outcome = None;
        match effect {
            Effect::Acquire { lock, when, .. } | Effect::Release { lock, when, .. } => {
                places.push(lock);
                outcome = when.as_ref();
            }
            Effect::Wait { on, lock, .. } => {
                places.push(on);
                places.extend(lock);
            }
            Effect::Notify { on: place, .. } | Effect::Serial(place) | Effect::Limited(place) => {
                places.push(place);
            }
            Effect::Read { .. } => places.extend(effect.places()),
            Effect::Send { channel, within, when, .. } => {
                places.push(channel);
                places.extend(within);
                outcome = when.as_ref();
            }
            Effect::Receive { channel, within, when, .. } => {
                places.push(channel);
                places.extend(within);
                outcome = when.as_ref();
            }
            Effect::Start { call, groups, after, .. } => {
                places.extend(groups);
                places.extend(after);
                self.call(call, &mut places, &mut complaints);
            }
            Effect::Call(call) | Effect::Later(call) => {
                self.call(call, &mut places, &mut complaints);
            }
            Effect::Join { when, .. } | Effect::Write { when, .. } => {
                places.extend(effect.places());
                outcome = when.as_ref();
            }
            Effect::Flow { from, to } | Effect::Copy { from, to } => places.extend([from, to]),
            Effect::Return(place) => {
                places.extend([place, &ModelPlace::Result]);
                if let ModelPlace::New(class) = place {
                    self.returned(class, &mut complaints);
                }
            }
            Effect::Reflect(reflect) => reflect_places(reflect, &mut places),
        }
        for place in places {
            self.place(place, &mut complaints);
        }
        if let Some(outcome) = outcome {
            self.outcome(outcome, &mut complaints);
        }
        complaints
    }

    fn place(&self, place: &ModelPlace, complaints: &mut Vec<String>) {
        for method in self.methods {
            match place {
                ModelPlace::This if method.is_static => complaints.push("static: no `this`".into()),
                ModelPlace::Argument(index)
                    if !self.polymorphic && usize::from(*index) >= method.parameters().len() =>
                {
                    complaints.push(format!("there is no arg{index}"));
                }
                ModelPlace::Result if matches!(method.returns(), "V") => {
                    complaints.push("void: no `result`".into());
                }
                _ => {}
            }
        }
        match place {
            ModelPlace::New(class) => self.known(class, complaints),
            ModelPlace::Static { class, .. } => self.known(class, complaints),
            ModelPlace::Slot(inner, _) | ModelPlace::Element(inner) => {
                self.place(inner, complaints)
            }
            ModelPlace::Variable { object, selector } => {
                self.place(object, complaints);
                self.place(selector, complaints);
            }
            _ => {}
        }
    }

    fn known(&self, class: &str, complaints: &mut Vec<String>) {
        if !class.starts_with('[') && self.jdk.class(class).is_none() {
            complaints.push(format!("no class {class}"));
        }
    }

    fn outcome(&self, outcome: &Outcome, complaints: &mut Vec<String>) {
        if let Outcome::Throws(class) = outcome {
            self.known(class, complaints);
        }
        for method in self.methods {
            let fits = match outcome {
                Outcome::True | Outcome::False => method.returns() == "Z",
                Outcome::Null | Outcome::NonNull => method.returns().starts_with(['L', '[']),
                Outcome::Zero | Outcome::NonZero | Outcome::Positive | Outcome::Negative => {
                    matches!(method.returns(), "I" | "J")
                }
                _ => true,
            };
            if !fits {
                complaints.push(format!("cannot return {outcome}"));
            }
        }
    }

    /// A callback on an argument must exist in the declared type of the argument.
    fn call<'c>(
        &self,
        call: &'c Call,
        places: &mut Vec<&'c ModelPlace>,
        complaints: &mut Vec<String>,
    ) {
        places.push(&call.receiver);
        places.extend(&call.arguments);
        places.extend(&call.result);
        for method in self.methods {
            let declared = match &call.receiver {
                ModelPlace::Argument(index) if !self.polymorphic => {
                    method.parameters().get(usize::from(*index)).copied()
                }
                ModelPlace::This => Some(self.class.name.as_str()),
                _ => None,
            };
            let Some(class) = declared.and_then(|name| self.jdk.class(strip(name))) else {
                continue;
            };
            let arity = call.arguments.len();
            let candidates = self.jdk.find_methods(&class, &call.method, None);
            let fit = candidates.iter().find(|found| found.parameters().len() == arity);
            match fit {
                None if strip(&class.name) == "java/lang/Object" => {}
                None => complaints.push(format!("{} has no {}/{arity}", class.name, call.method)),
                Some(found) if found.returns() == "V" && call.result.is_some() => {
                    complaints.push(format!("{} returns nothing", call.method));
                }
                Some(_) => {}
            }
        }
    }

    fn returned(&self, class: &str, complaints: &mut Vec<String>) {
        for method in self.methods {
            let declared = method.returns();
            let array = declared.starts_with('[') && class.starts_with('[');
            if !array && !self.jdk.is_subtype(class, strip(declared)) {
                complaints.push(format!("{class} is not a {declared}"));
            }
            if self.jdk.class(class).is_some_and(|class| class.is_abstract) {
                complaints.push(format!("{class} is abstract"));
            }
        }
    }
}

fn reflect_places<'a>(reflect: &'a Reflect, places: &mut Vec<&'a ModelPlace>) {
    match reflect {
        Reflect::Class { name, to } => places.extend([name, to]),
        Reflect::Member { class, name, to, .. } => {
            places.extend([class, to]);
            places.extend(name);
        }
        Reflect::New { what, arguments, to } => {
            places.extend([what, to]);
            places.extend(arguments);
        }
        Reflect::Call { what, on, arguments, to } => {
            places.extend([what, to]);
            places.extend(on);
            places.extend(arguments);
        }
        Reflect::Proxy { interfaces, handler, to } => places.extend([interfaces, handler, to]),
    }
}

/// The class of a descriptor or of an internal name.
fn strip(descriptor: &str) -> &str {
    descriptor.strip_prefix('L').and_then(|name| name.strip_suffix(';')).unwrap_or(descriptor)
}
