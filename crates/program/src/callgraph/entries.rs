//! Where execution begins.

use unsnarl_classfile::flags;
use unsnarl_classfile::read::Attribute;
use unsnarl_models::{Effect, EntrySet, MethodPattern, Models};

use crate::body::Operation;
use crate::class::{ClassId, MethodId};
use crate::names::{Type, java_name};
use crate::pattern::fits;
use crate::program::Program;
use unsnarl_classpath::Role;

/// Which methods to begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entries {
    /// Every `main` of the input.
    Main,
    /// The methods that fit one of the patterns, or one of the named sets of the models.
    Patterns(Vec<String>),
    /// Every public method of every public class of the input, called by clients.
    Library,
}

/// The methods to begin with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryPoints {
    /// The methods.
    pub methods: Vec<MethodId>,
    /// The classes of which callers may have instances already.
    pub instantiated: Vec<ClassId>,
    /// Whether the methods run in parallel, each with itself and with the others.
    pub are_concurrent: bool,
    /// Patterns that nothing fits.
    pub unmatched: Vec<String>,
}

impl EntryPoints {
    /// Finds the entry points among the classes of the input.
    pub fn find(program: &mut Program<'_>, models: &Models, entries: &Entries) -> Self {
        let path = program.path();
        let classes: Vec<ClassId> = path
            .entries()
            .filter(|&entry| path.role(entry) == Role::Input)
            .filter_map(|entry| program.class_at(entry))
            .collect();
        let mut found = Self::default();
        match entries {
            Entries::Main => {
                found.methods = methods_of(program, &classes, is_main);
            }
            Entries::Library => {
                found.are_concurrent = true;
                let is_public =
                    |class: &ClassId| program.classes()[*class].access & flags::PUBLIC != 0;
                let public: Vec<ClassId> = classes.iter().copied().filter(is_public).collect();
                found.methods = methods_of(program, &public, is_public_method);
                found.instantiated = classes
                    .iter()
                    .copied()
                    .filter(|&class| program.classes()[class].is_concrete() && is_public(&class))
                    .collect();
            }
            Entries::Patterns(patterns) => {
                for pattern in patterns {
                    let mut methods =
                        match models.entries().iter().find(|set| *set.name == **pattern) {
                            Some(set) => {
                                found.are_concurrent |= set.concurrent;
                                methods_of(program, &classes, |program, method| {
                                    in_set(program, method, set)
                                })
                            }
                            None => methods_of(program, &classes, |program, method| {
                                fits(pattern, &full_name(program, method))
                            }),
                        };
                    if methods.is_empty() {
                        methods = named_outside_input(program, pattern);
                    }
                    if methods.is_empty() {
                        found.unmatched.push(pattern.clone());
                    }
                    found.methods.extend(methods);
                }
                found.methods.sort_unstable();
                found.methods.dedup();
            }
        }
        found
    }

    /// Of a library, only the classes that are meant to be shared: those that are marked thread-safe, or
    /// that take a lock themselves. Returns how many there are; if there are none, nothing changes.
    pub fn keep_shared_classes(&mut self, program: &mut Program<'_>, models: &Models) -> usize {
        let mut classes: Vec<ClassId> =
            self.methods.iter().map(|&method| program.methods()[method].class).collect();
        classes.sort_unstable();
        classes.dedup();
        let marks = models.entries().iter().find(|set| &*set.name == "thread-safe");
        let marks = marks.map_or(&[][..], |set| &set.annotated_classes);
        classes.retain(|&class| {
            marks.iter().any(|mark| is_annotated(program, class, None, mark))
                || takes_lock(program, models, class)
        });
        if !classes.is_empty() {
            let is_kept = |class: &ClassId| classes.binary_search(class).is_ok();
            self.methods.retain(|&method| is_kept(&program.methods()[method].class));
        }
        classes.len()
    }
}

/// Whether a method of the class takes a lock.
fn takes_lock(program: &mut Program<'_>, models: &Models, class: ClassId) -> bool {
    for method in program.classes()[class].methods.clone() {
        if program.methods()[method].access & flags::SYNCHRONIZED != 0 {
            return true;
        }
        let Some(body) = program.body(method) else { continue };
        let is_lock = |operation: &Operation| match operation {
            Operation::MonitorEnter(_) => true,
            Operation::Invoke { method, .. } => {
                let names = &program.names;
                let called = names.method_ref_data(*method);
                let Type::Class(class) = names.ty(called.class) else { return false };
                let model = models.methods_of(names.bytes(class)).and_then(|class| {
                    class.method(names.bytes(called.name), names.bytes(called.descriptor))
                });
                let mut effects = model.into_iter().flat_map(|model| &model.effects);
                effects.any(|effect| matches!(effect, Effect::Acquire { .. }))
            }
            _ => false,
        };
        if body.statements.values().any(|statement| is_lock(&statement.operation)) {
            return true;
        }
    }
    false
}

fn methods_of(
    program: &Program<'_>,
    classes: &[ClassId],
    wanted: impl Fn(&Program<'_>, MethodId) -> bool,
) -> Vec<MethodId> {
    let methods = classes.iter().flat_map(|&class| program.classes()[class].methods.iter());
    methods.copied().filter(|&method| wanted(program, method)).collect()
}

/// A `main` that the launcher would take: static with an array of strings, and since Java 25 also an
/// instance method or one without arguments.
fn is_main(program: &Program<'_>, method: MethodId) -> bool {
    let data = &program.methods()[method];
    if program.names.bytes(data.name) != b"main" || data.access & flags::PRIVATE != 0 {
        return false;
    }
    let file = program.classes()[data.class].file();
    let relaxed = file.is_some_and(|origin| origin.file.major_version >= 69);
    let is_classic = data.access & flags::PUBLIC != 0 && data.is_static();
    match program.names.bytes(data.descriptor) {
        b"([Ljava/lang/String;)V" => is_classic || relaxed,
        b"()V" => relaxed,
        _ => false,
    }
}

fn is_public_method(program: &Program<'_>, method: MethodId) -> bool {
    let data = &program.methods()[method];
    data.access & flags::PUBLIC != 0 && data.access & (flags::SYNTHETIC | flags::ABSTRACT) == 0
}

/// A named set of the models.
fn in_set(program: &Program<'_>, method: MethodId, set: &EntrySet) -> bool {
    let data = &program.methods()[method];
    if data.is_abstract() {
        return false;
    }
    let is_like = |pattern: &MethodPattern, class: Option<ClassId>| {
        let parameters = program.names.bytes(data.descriptor);
        let parameters = parameters.split(|&byte| byte == b')').next().map(|start| &start[1..]);
        program.names.bytes(data.name) == pattern.name.as_bytes()
            && pattern
                .parameters
                .as_ref()
                .is_none_or(|wanted| Some(wanted.as_bytes()) == parameters)
            && class.is_none_or(|class| {
                program.names.bytes(program.classes()[class].name) == pattern.class.as_bytes()
            })
    };
    set.annotated.iter().any(|name| is_annotated(program, data.class, Some(method), name))
        || (is_public_method(program, method)
            && set
                .annotated_classes
                .iter()
                .any(|name| is_annotated(program, data.class, None, name)))
        || set
            .named
            .iter()
            .any(|pattern| is_like(pattern, (!pattern.class.is_empty()).then_some(data.class)))
        || program.classes()[data.class]
            .ancestors
            .iter()
            .any(|&above| set.overrides.iter().any(|pattern| is_like(pattern, Some(above))))
}

/// Whether a class, or one of its methods, has an annotation of that internal name.
fn is_annotated(
    program: &Program<'_>,
    class: ClassId,
    method: Option<MethodId>,
    annotation: &str,
) -> bool {
    let Some(origin) = program.classes()[class].file() else { return false };
    let file = &origin.file;
    let attributes = match method {
        Some(method) => file.methods[usize::from(program.methods()[method].index)].attributes,
        None => file.attributes,
    };
    let descriptor = format!("L{annotation};");
    let mut lists = attributes.iter().filter_map(|attribute| attribute.decode(&file.pool).ok());
    lists.any(|attribute| match attribute {
        Attribute::RuntimeVisibleAnnotations(list)
        | Attribute::RuntimeInvisibleAnnotations(list) => list.iter().any(|annotation| {
            file.pool.utf8(annotation.descriptor).is_ok_and(|ty| ty == descriptor.as_bytes())
        }),
        _ => false,
    })
}

/// A pattern without wildcards may name a method of a library.
fn named_outside_input(program: &mut Program<'_>, pattern: &str) -> Vec<MethodId> {
    let Some((class, name)) = pattern.rsplit_once('.') else { return Vec::new() };
    if pattern.contains('*') {
        return Vec::new();
    }
    let Some(class) = program.find_class(class.replace('.', "/").as_bytes()) else {
        return Vec::new();
    };
    methods_of(program, &[class], |program, method| {
        program.names.bytes(program.methods()[method].name) == name.as_bytes()
    })
}

fn full_name(program: &Program<'_>, method: MethodId) -> String {
    let data = &program.methods()[method];
    let class = java_name(&program.names.text(program.classes()[data.class].name));
    format!("{class}.{}", program.names.text(data.name))
}
