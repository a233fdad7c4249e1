//! What Unsnarl knows about libraries, as data.
//!
//! The data files in `models/` say per class and method which locks are taken, which threads are
//! started and joined, what happens before what, who is called back at once or later, and where
//! references flow; per package whether a class is analysed from its bytecode, modelled or opaque;
//! and which named sets of entry points there are. They are embedded in the binary; a user's file
//! is laid over them. The format and the grammar of the sentences are in `docs/models.md`.
//!
//! No analysis lives here, and nothing is known about a program: lookup is by exact class, the walk
//! over the hierarchy is the caller's (the rules for it are in `docs/models.md`, "Which model
//! applies").

mod builtin;
mod class_model;
mod effect;
mod file;
mod key;
mod parse;
mod places;

use rustc_hash::FxHashMap;

pub use class_model::{ClassModel, MethodModel};
pub use effect::{
    Blocking, Call, Effect, LockMode, MemberKind, ModelPlace, Outcome, Range, RangeEnd, Reflect,
    StartKind,
};
pub use file::ModelError;
pub use parse::{SentenceError, parse};
pub use places::CONTENTS;

/// All that is known about libraries.
#[derive(Debug, Clone, Default)]
pub struct Models {
    packages: FxHashMap<Box<str>, PackageRule>,
    relays: FxHashMap<Box<str>, Relay>,
    classes: FxHashMap<Box<[u8]>, ClassModel>,
    entries: Vec<EntrySet>,
}

impl Models {
    /// The models that come with Unsnarl.
    pub fn builtin() -> Models {
        let mut models = Models::default();
        for (file, text) in builtin::FILES {
            let layer = file::read_embedded(file, text);
            models.lay(layer.expect("the embedded files are all read by the tests"));
        }
        models
    }

    /// Lays a file over what is known: a method with the same class and signature, a package with
    /// the same prefix, a relay of the same class and an entry set with the same name are replaced, everything else is added.
    /// After an error nothing has changed.
    pub fn extend(&mut self, file: &str, text: &str) -> Result<(), ModelError> {
        self.lay(file::read(file, text)?);
        Ok(())
    }

    fn lay(&mut self, layer: file::Layer) {
        self.packages.extend(layer.packages);
        self.relays.extend(layer.relays);
        for (class, model) in layer.classes {
            self.classes.entry(class).or_default().lay_over(model);
        }
        for set in layer.entries {
            match self.entries.iter_mut().find(|below| below.name == set.name) {
                Some(below) => *below = set,
                None => self.entries.push(set),
            }
        }
    }

    /// How to treat the code of a class, given by its internal name.
    pub fn treatment(&self, class: &str) -> Treatment {
        self.package_rule(class).map_or(Treatment::Analyse, |rule| rule.treatment)
    }

    /// Whether a rule says of this very class, or of one around it, that it is analysed.
    pub fn names_as_analysed(&self, class: &str) -> bool {
        let outer = class.split('$').next().unwrap_or(class);
        let rule = self.packages.get(class).or_else(|| self.packages.get(outer));
        rule.is_some_and(|rule| rule.treatment == Treatment::Analyse)
    }

    /// What a class of a library hands on, or one around it, given by its internal name.
    pub fn relay(&self, class: &str) -> Option<&Relay> {
        let outer = class.split('$').next().unwrap_or(class);
        self.relays.get(class).or_else(|| self.relays.get(outer))
    }

    /// The rule with the longest prefix of the internal name of a class. A prefix ends at `/` or `$`
    /// or is the whole name.
    pub fn package_rule(&self, class: &str) -> Option<&PackageRule> {
        let mut prefix = class;
        loop {
            if let Some(rule) = self.packages.get(prefix) {
                return Some(rule);
            }
            prefix = &prefix[..prefix.rfind(['/', '$'])?];
        }
    }

    /// The models of a class, given by its internal name; not those of its supertypes.
    pub fn methods_of(&self, class: &[u8]) -> Option<&ClassModel> {
        self.classes.get(class)
    }

    /// The model of a method, by the internal name of the class that it is given for; not those of its supertypes.
    pub fn method(&self, class: &[u8], name: &[u8], descriptor: &[u8]) -> Option<&MethodModel> {
        self.methods_of(class)?.method(name, descriptor)
    }

    /// Every modelled class with its internal name, in no order.
    pub fn classes(&self) -> impl Iterator<Item = (&[u8], &ClassModel)> {
        self.classes.iter().map(|(name, model)| (&**name, model))
    }

    /// The named sets of entry points.
    pub fn entries(&self) -> &[EntrySet] {
        &self.entries
    }

    /// Every rule about packages with its prefix in internal form, in no order.
    pub fn package_rules(&self) -> impl Iterator<Item = (&str, &PackageRule)> {
        self.packages.iter().map(|(prefix, rule)| (&**prefix, rule))
    }
}

/// How the code of a class is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Treatment {
    /// From its bytecode; a method with a model of its own is replaced by the model.
    Analyse,
    /// By its models and those of its supertypes; a method without one is opaque and worth a note.
    Model,
    /// Not entered: a method without a model returns an unknown instance of its declared type and
    /// may later call back what it was handed.
    Opaque,
}

/// What a data file says about a package or class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageRule {
    /// How its code is treated.
    pub treatment: Treatment,
    /// Why, for notes; may be empty.
    pub reason: Box<str>,
    /// Whether nobody expects that several steps on one of its objects are one, as with output.
    pub is_interleaved: bool,
}

/// Code of a library that calls the objects that it was given for whoever gave them: a wrapper, or what copies a collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Relay {
    /// The names of the methods that it calls; `*` stands for all methods of interfaces.
    pub methods: Vec<Box<str>>,
}

impl Relay {
    /// Whether it calls methods of this name, by way of an interface or not.
    pub fn calls(&self, name: &[u8], of_interface: bool) -> bool {
        self.methods.iter().any(|it| of_interface && &**it == "*" || it.as_bytes() == name)
    }
}

/// A named set of entry points. Class names are internal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntrySet {
    /// The name it is chosen by.
    pub name: Box<str>,
    /// Methods with one of these annotations.
    pub annotated: Vec<Box<str>>,
    /// Public methods of classes with one of these annotations.
    pub annotated_classes: Vec<Box<str>>,
    /// Methods that override or implement one of these.
    pub overrides: Vec<MethodPattern>,
    /// Methods of this name and these parameters in any class (`main`).
    pub named: Vec<MethodPattern>,
    /// The methods run in parallel, each with itself and the others.
    pub concurrent: bool,
}

/// A method of one class or of any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodPattern {
    /// Internal name of the class; empty for any.
    pub class: Box<str>,
    /// Name of the method.
    pub name: Box<str>,
    /// The parameter part of the descriptor without parentheses; any if absent.
    pub parameters: Option<Box<str>>,
}
