//! The program: classes that are loaded when they are asked for, and bodies that are lowered when
//! they are asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use unsnarl_classfile::read::{Attribute, ClassFile};
use unsnarl_classfile::{FieldType, flags, mutf8};
use unsnarl_entity::{PrimaryMap, SecondaryMap};

use crate::body::Body;
use crate::class::{Class, ClassId, Field, FieldId, FileOrigin, Method, MethodId, Origin};
use crate::lambda;
use crate::lower::{self, ClassContext, Lambda, LambdaTarget, LowerError, Lowered};
use crate::names::{FieldRefId, MethodRefId, Names, Symbol, Type, java_name};
use unsnarl_classpath::{ClassPath, EntryId, Role};

/// A class or method that could not be read, and why. The rest of the program is not affected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The file, and the method if it is about one.
    pub place: String,
    /// What was expected and where.
    pub reason: String,
}

/// The classes on a class path, as far as they have been asked for.
///
/// Invariant: when a class is known, everything above it is known as well, and the hierarchy has no
/// cycles.
#[derive(Debug)]
pub struct Program<'a> {
    /// All names.
    pub names: Names,
    path: &'a ClassPath,
    classes: PrimaryMap<ClassId, Class<'a>>,
    methods: PrimaryMap<MethodId, Method>,
    fields: PrimaryMap<FieldId, Field>,
    by_name: FxHashMap<Symbol, ClassId>,
    pub(crate) methods_by_name: FxHashMap<(ClassId, Symbol, Symbol), MethodId>,
    pub(crate) fields_by_name: FxHashMap<(ClassId, Symbol), Vec<FieldId>>,
    bodies: SecondaryMap<MethodId, BodyState>,
    pub(crate) resolved_methods: SecondaryMap<MethodRefId, Option<Option<MethodId>>>,
    pub(crate) resolved_fields: SecondaryMap<FieldRefId, Option<Option<FieldId>>>,
    pub(crate) selected: FxHashMap<(ClassId, MethodId), Option<MethodId>>,
    failures: Vec<Failure>,
    /// Class files that are newer than what is known, and their versions.
    newer: BTreeMap<EntryId, u16>,
    /// Class files that do not lie where their names say, and their classes.
    misplaced: BTreeMap<EntryId, Option<ClassId>>,
}

#[derive(Clone, Debug, Default)]
enum BodyState {
    #[default]
    NotAskedFor,
    /// Abstract, native, or broken.
    None,
    Lowered(Arc<Body>),
}

impl<'a> Program<'a> {
    /// A program of which nothing is loaded yet.
    pub fn new(path: &'a ClassPath) -> Self {
        Self {
            names: Names::new(),
            path,
            classes: PrimaryMap::new(),
            methods: PrimaryMap::new(),
            fields: PrimaryMap::new(),
            by_name: FxHashMap::default(),
            methods_by_name: FxHashMap::default(),
            fields_by_name: FxHashMap::default(),
            bodies: SecondaryMap::new(),
            resolved_methods: SecondaryMap::new(),
            resolved_fields: SecondaryMap::new(),
            selected: FxHashMap::default(),
            failures: Vec::new(),
            newer: BTreeMap::new(),
            misplaced: BTreeMap::new(),
        }
    }

    /// Where the classes come from.
    pub fn path(&self) -> &'a ClassPath {
        self.path
    }

    /// The classes that have been asked for.
    pub fn classes(&self) -> &PrimaryMap<ClassId, Class<'a>> {
        &self.classes
    }

    /// The methods of these classes.
    pub fn methods(&self) -> &PrimaryMap<MethodId, Method> {
        &self.methods
    }

    /// The fields of these classes.
    pub fn fields(&self) -> &PrimaryMap<FieldId, Field> {
        &self.fields
    }

    /// What could not be read so far.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// What a user should know but need not act on.
    pub fn notes(&self) -> Vec<String> {
        let about = |count: usize, first: EntryId, what: &str| {
            format!("{count} class files {what}, such as {}", self.path.location(first))
        };
        let misplaced = self.misplaced.keys().next().map(|&first| {
            let what = "do not lie where their names say and were read under their own names";
            about(self.misplaced.len(), first, what)
        });
        misplaced.into_iter().chain(self.newer_versions()).collect()
    }

    /// Reports class files that are newer than what is known: what is new in them is not understood.
    pub fn newer_versions(&self) -> Option<String> {
        let (&first, version) = self.newer.iter().next()?;
        Some(format!(
            "{} class files are of a version newer than {} and were read as if they were not, such \
             as {} of version {version}",
            self.newer.len(),
            unsnarl_classfile::NEWEST_KNOWN_VERSION,
            self.path.location(first)
        ))
    }

    /// The class with this internal name: loaded now if need be, a phantom if it cannot be found.
    pub fn class_named(&mut self, name: Symbol) -> ClassId {
        match self.by_name.get(&name) {
            Some(&class) => class,
            None => {
                let found = self.find_file(name);
                self.load(name, found)
            }
        }
    }

    /// The fields with a name that the class with this internal name declares, as far as that is loaded.
    pub fn fields_named(&self, class: Symbol, name: Symbol) -> &[FieldId] {
        let fields = self.by_name.get(&class).map(|&class| (class, name));
        fields.and_then(|key| self.fields_by_name.get(&key)).map_or(&[], Vec::as_slice)
    }

    /// The class with this internal name if it exists.
    pub fn find_class(&mut self, name: &[u8]) -> Option<ClassId> {
        // Looking does not make a phantom.
        let is_known =
            self.names.find_symbol(name).is_some_and(|name| self.by_name.contains_key(&name));
        if !is_known && self.path.find(name).is_none() {
            return None;
        }
        let name = self.names.symbol(name);
        let class = self.class_named(name);
        (!self.classes[class].is_phantom()).then_some(class)
    }

    /// The class in this file, under the name that it gives itself. Where several files claim one
    /// name the first on the path has it, and the others, and module descriptors, have no class.
    pub fn class_at(&mut self, entry: EntryId) -> Option<ClassId> {
        let path = self.path;
        if path.find(path.name(entry)) != Some(entry) {
            return None;
        }
        if let Some(&class) = self.misplaced.get(&entry) {
            return class;
        }
        let expected = self.names.symbol(path.name(entry));
        if let Some(&class) = self.by_name.get(&expected) {
            return (!self.classes[class].is_phantom()).then_some(class);
        }
        let class = match self.read(entry) {
            Ok(origin) if origin.file.name() == path.name(entry) => {
                self.load(expected, Some((entry, Ok(origin))))
            }
            Ok(origin) => {
                let name = self.names.symbol(origin.file.name());
                let is_free =
                    !self.by_name.contains_key(&name) && path.find(origin.file.name()).is_none();
                let class = is_free.then(|| self.load(name, Some((entry, Ok(origin)))));
                self.misplaced.insert(entry, class);
                return class;
            }
            Err(reason) => self.load(expected, Some((entry, Err(reason)))),
        };
        (!self.classes[class].is_phantom()).then_some(class)
    }

    /// Part of the application, its libraries or the JDK; lambdas belong to the class around them.
    pub fn role(&self, class: ClassId) -> Option<Role> {
        match &self.classes[class].origin {
            Origin::File(file) => Some(file.role),
            Origin::Lambda(_) => {
                self.classes[self.class_around(class)].file().map(|file| file.role)
            }
            Origin::Phantom => None,
        }
    }

    /// The class whose code has a lambda expression; any other class stands for itself.
    pub fn class_around(&self, class: ClassId) -> ClassId {
        if !matches!(self.classes[class].origin, Origin::Lambda(_)) {
            return class;
        }
        // The superclass of a lambda says nothing; its name begins with that of its class.
        let name = self.names.bytes(self.classes[class].name);
        let end = name.windows(9).rposition(|window| window == b"$$Lambda$");
        let outer = end.and_then(|end| self.names.find_symbol(&name[..end]));
        outer.and_then(|outer| self.by_name.get(&outer).copied()).unwrap_or(class)
    }

    /// The name of the source file, if the class says so.
    pub fn source_file(&self, class: ClassId) -> Option<String> {
        let file = &self.classes[class].file()?.file;
        let attribute = file.attributes.find(&file.pool, b"SourceFile").ok()??;
        let mut body = attribute.body;
        let name = file.pool.utf8(body.index("a file name").ok()?).ok()?;
        Some(mutf8::to_str(name).into_owned())
    }

    /// `a.b.C.method(int, java.lang.String)`.
    pub fn method_text(&self, method: MethodId) -> String {
        let Method { class, name, signature, .. } = self.methods[method];
        let parameters: Vec<_> = self
            .names
            .signature_data(signature)
            .parameters
            .iter()
            .map(|&ty| self.names.type_text(ty))
            .collect();
        let name = self.names.text(name);
        format!("{}.{name}({})", self.class_text(class), parameters.join(", "))
    }

    /// `a.b.C`.
    pub fn class_text(&self, class: ClassId) -> String {
        java_name(&self.names.text(self.classes[class].name))
    }

    /// What runs when a method of a lambda is called: the method that holds its code, or the method
    /// that a method reference names. Any other method stands for itself.
    pub fn lambda_target(&mut self, method: MethodId) -> MethodId {
        let Origin::Lambda(lambda) = &self.classes[self.methods[method].class].origin else {
            return method;
        };
        let (LambdaTarget::Method(_, target) | LambdaTarget::Constructor(target)) = lambda.target;
        self.resolve_method(target).unwrap_or(method)
    }

    /// The body of a method, lowered now if need be; nothing for abstract, native and broken methods.
    pub fn body(&mut self, method: MethodId) -> Option<Arc<Body>> {
        match &self.bodies[method] {
            BodyState::Lowered(body) => return Some(Arc::clone(body)),
            BodyState::None => return None,
            BodyState::NotAskedFor => {}
        }
        let body = match self.lower(method) {
            Ok(Some(Lowered { body, lambdas })) => {
                for lambda in lambdas {
                    self.define_lambda(lambda);
                }
                Some(Arc::new(body))
            }
            Ok(None) => None,
            Err(failure) => {
                self.failures.push(failure);
                None
            }
        };
        self.bodies[method] = match &body {
            Some(body) => BodyState::Lowered(Arc::clone(body)),
            None => BodyState::None,
        };
        body
    }

    /// The body of a method if it was lowered before.
    pub fn lowered_body(&self, method: MethodId) -> Option<&Arc<Body>> {
        match &self.bodies[method] {
            BodyState::Lowered(body) => Some(body),
            _ => None,
        }
    }

    /// Lowers a method without keeping the result.
    pub fn lower(&mut self, method: MethodId) -> Result<Option<Lowered>, Failure> {
        let Method { class, index, name, .. } = self.methods[method];
        let class_data = &self.classes[class];
        let result: Result<_, LowerError> = match &class_data.origin {
            Origin::Phantom => return Ok(None),
            Origin::Lambda(lambda) => {
                let body = lambda::body(lambda, usize::from(index), &mut self.names);
                return Ok(Some(Lowered { body, lambdas: Vec::new() }));
            }
            Origin::File(origin) => {
                let FileOrigin { file, bootstraps, .. } = &**origin;
                let context = ClassContext { class: file, name: class_data.name, bootstraps };
                let index = usize::from(index);
                lower::lower(context, index, &file.methods[index], &mut self.names)
            }
        };
        result.map_err(|error| {
            let entry = self.classes[class].file().expect("a class with a file").entry;
            Failure {
                place: format!("{}, method {}", self.path.location(entry), self.names.text(name)),
                reason: error.to_string(),
            }
        })
    }

    // Loading.

    /// Loads a class and everything above it.
    fn load(&mut self, name: Symbol, found: Option<Found<'a>>) -> ClassId {
        let mut batch = Vec::new();
        let class = self.declare(name, found, &mut batch);
        let mut next = 0;
        while let Some((class, superclass, interfaces)) = batch.get(next).cloned() {
            next += 1;
            let mut above = |name: Symbol| match self.by_name.get(&name) {
                Some(&class) => class,
                None => {
                    let found = self.find_file(name);
                    self.declare(name, found, &mut batch)
                }
            };
            let superclass = superclass.map(&mut above);
            let interfaces = interfaces.into_iter().map(above).collect();
            self.classes[class].superclass = superclass;
            self.classes[class].interfaces = interfaces;
        }
        let classes: Vec<ClassId> = batch.into_iter().map(|(class, ..)| class).collect();
        self.link(&classes);
        class
    }

    /// Creates a class without what is above it.
    fn declare(
        &mut self,
        name: Symbol,
        found: Option<Found<'a>>,
        batch: &mut Vec<Above>,
    ) -> ClassId {
        let class = self.classes.push(Class {
            name,
            origin: Origin::Phantom,
            access: flags::PUBLIC,
            superclass: None,
            interfaces: Box::default(),
            ancestors: Box::default(),
            is_incomplete: false,
            methods: Box::default(),
            fields: Box::default(),
        });
        self.by_name.insert(name, class);
        let mut above = (class, None, Vec::new());
        match found {
            None => {}
            Some((_, Ok(origin))) => above = self.define(class, origin),
            Some((entry, Err(reason))) => {
                let place = self.path.location(entry).to_string();
                self.failures.push(Failure { place, reason });
            }
        }
        batch.push(above);
        class
    }

    /// The file on the class path that should have a class.
    fn find_file(&mut self, name: Symbol) -> Option<Found<'a>> {
        let entry = self.path.find(self.names.bytes(name))?;
        let origin = self.read(entry).and_then(|origin| {
            if origin.file.name() == self.names.bytes(name) {
                return Ok(origin);
            }
            Err(format!(
                "expected class {}, found class {}",
                java_name(&self.names.text(name)),
                java_name(&mutf8::to_str(origin.file.name()))
            ))
        });
        Some((entry, origin))
    }

    fn read(&mut self, entry: EntryId) -> Result<FileOrigin<'a>, String> {
        let bytes = self.path.read(entry).map_err(|error| match error.offset {
            Some(offset) => format!("at byte {offset}: {}", error.reason),
            None => error.reason.to_string(),
        })?;
        let file = ClassFile::read(bytes).map_err(|error| error.to_string())?;
        let mut bootstraps = Vec::new();
        let attribute = file.attributes.find(&file.pool, b"BootstrapMethods");
        if let Some(attribute) = attribute.map_err(|error| error.to_string())?
            && let Attribute::BootstrapMethods(methods) =
                attribute.decode(&file.pool).map_err(|error| error.to_string())?
        {
            bootstraps = methods;
        }
        if file.is_newer_than_known() {
            self.newer.insert(entry, file.major_version);
        }
        let role = self.path.role(entry);
        Ok(FileOrigin { entry, role, file, bootstraps: bootstraps.into() })
    }

    fn define(&mut self, class: ClassId, origin: FileOrigin<'a>) -> Above {
        let file = &origin.file;
        let superclass = file.super_name().map(|name| self.names.symbol(name));
        let interfaces = file.interface_names().map(|name| self.names.symbol(name)).collect();
        let mut invalid = Vec::new();
        let mut methods = Vec::with_capacity(file.methods.len());
        for (index, member) in file.methods.iter().enumerate() {
            let descriptor = file.member_descriptor(member);
            let name = self.names.symbol(file.member_name(member));
            match self.names.signature(descriptor) {
                Some(signature) => {
                    let descriptor = self.names.symbol(descriptor);
                    let (index, access) = (index as u16, member.access);
                    let method = Method { class, index, access, name, descriptor, signature };
                    methods.push(self.add_method(method));
                }
                None => invalid.push(("method", name)),
            }
        }
        let mut fields = Vec::with_capacity(file.fields.len());
        for member in &file.fields {
            let name = self.names.symbol(file.member_name(member));
            match FieldType::parse(file.member_descriptor(member)) {
                Some(ty) => {
                    let ty = self.names.field_type(ty);
                    fields.push(self.add_field(Field { class, access: member.access, name, ty }));
                }
                None => invalid.push(("field", name)),
            }
        }
        for (kind, name) in invalid {
            self.failures.push(Failure {
                place: format!(
                    "{}, {kind} {}",
                    self.path.location(origin.entry),
                    self.names.text(name)
                ),
                reason: "expected a valid descriptor".to_owned(),
            });
        }
        let data = &mut self.classes[class];
        data.access = file.access;
        data.methods = methods.into();
        data.fields = fields.into();
        data.origin = Origin::File(Box::new(origin));
        (class, superclass, interfaces)
    }

    fn add_method(&mut self, method: Method) -> MethodId {
        let key = (method.class, method.name, method.descriptor);
        let id = self.methods.push(method);
        self.methods_by_name.entry(key).or_insert(id);
        id
    }

    fn add_field(&mut self, field: Field) -> FieldId {
        let key = (field.class, field.name);
        let id = self.fields.push(field);
        self.fields_by_name.entry(key).or_default().push(id);
        id
    }

    /// Creates the synthetic class of a lambda; the same call site gives the same class.
    fn define_lambda(&mut self, lambda: Lambda) {
        if self.by_name.contains_key(&lambda.class) {
            return;
        }
        let Type::Class(object) = self.names.ty(self.names.known.object) else {
            unreachable!("java.lang.Object is a class");
        };
        let superclass = self.class_named(object);
        let interfaces = lambda.interfaces.iter().map(|&name| self.class_named(name)).collect();
        let class = self.classes.next_key();
        let descriptors = lambda.descriptors.iter().enumerate();
        let methods: Vec<_> = descriptors
            .map(|(index, &descriptor)| {
                let bytes = self.names.bytes(descriptor).to_vec();
                let signature = self.names.signature(&bytes).expect("checked by the lowering");
                self.add_method(Method {
                    class,
                    index: index as u16,
                    access: flags::PUBLIC | flags::SYNTHETIC,
                    name: lambda.method,
                    descriptor,
                    signature,
                })
            })
            .collect();
        let fields: Vec<_> = (0..lambda.captured.len())
            .map(|index| {
                let field = lambda.captured_field(&mut self.names, index);
                let access = flags::PRIVATE | flags::FINAL | flags::SYNTHETIC;
                self.add_field(Field { class, access, name: field.name, ty: field.ty })
            })
            .collect();
        self.by_name.insert(lambda.class, class);
        self.classes.push(Class {
            name: lambda.class,
            origin: Origin::Lambda(Box::new(lambda)),
            access: flags::FINAL | flags::SYNTHETIC,
            superclass: Some(superclass),
            interfaces,
            ancestors: Box::default(),
            is_incomplete: false,
            methods: methods.into(),
            fields: fields.into(),
        });
        self.link(&[class]);
    }

    /// Cuts cycles out of the hierarchy of new classes and notes what is above each of them.
    fn link(&mut self, batch: &[ClassId]) {
        const NEW: u8 = 1;
        const UNDER_WAY: u8 = 2;
        let mut state: FxHashMap<ClassId, u8> = batch.iter().map(|&class| (class, NEW)).collect();
        for &root in batch {
            if state.get(&root) != Some(&NEW) {
                continue;
            }
            let mut stack = vec![(root, 0)];
            state.insert(root, UNDER_WAY);
            while let Some((class, edge)) = stack.last_mut() {
                let data = &self.classes[*class];
                let mut above = data.superclass.iter().chain(&data.interfaces);
                let Some(&next) = above.nth(*edge) else {
                    let class = *class;
                    self.note_ancestors(class);
                    state.remove(&class);
                    stack.pop();
                    continue;
                };
                *edge += 1;
                match state.get(&next) {
                    Some(&NEW) => {
                        state.insert(next, UNDER_WAY);
                        stack.push((next, 0));
                    }
                    Some(_) => {
                        let (class, edge) = (*class, edge);
                        *edge -= 1;
                        self.cut(class, next);
                    }
                    None => {}
                }
            }
        }
    }

    /// Removes an edge of the hierarchy that closes a cycle.
    fn cut(&mut self, class: ClassId, above: ClassId) {
        let place = match self.classes[class].file() {
            Some(file) => self.path.location(file.entry).to_string(),
            None => self.class_text(class),
        };
        let reason = format!(
            "expected a hierarchy without cycles: {} is above and below {}",
            self.class_text(above),
            self.class_text(class)
        );
        self.failures.push(Failure { place, reason });
        let data = &mut self.classes[class];
        if data.superclass == Some(above) {
            data.superclass = None;
        } else {
            data.interfaces = data.interfaces.iter().copied().filter(|&i| i != above).collect();
        }
        data.is_incomplete = true;
    }

    fn note_ancestors(&mut self, class: ClassId) {
        let data = &self.classes[class];
        let mut ancestors = vec![class];
        let mut incomplete = data.is_incomplete || data.is_phantom();
        for &above in data.superclass.iter().chain(&data.interfaces) {
            ancestors.extend_from_slice(&self.classes[above].ancestors);
            incomplete |= self.classes[above].is_incomplete;
        }
        ancestors.sort_unstable();
        ancestors.dedup();
        let data = &mut self.classes[class];
        data.ancestors = ancestors.into();
        data.is_incomplete = incomplete;
    }
}

/// A file, and what is in it or why that cannot be read.
type Found<'a> = (EntryId, Result<FileOrigin<'a>, String>);

/// A new class, and the names of what is above it.
type Above = (ClassId, Option<Symbol>, Vec<Symbol>);

impl Program<'_> {
    /// The classes that were asked for and not found.
    pub fn phantoms(&self) -> impl Iterator<Item = ClassId> + '_ {
        self.classes.iter().filter(|(_, class)| class.is_phantom()).map(|(id, _)| id)
    }

    /// Notes what [`Program::lower`] could not lower, so that it is reported with the rest.
    pub fn add_failures(&mut self, failures: impl IntoIterator<Item = Failure>) {
        self.failures.extend(failures);
    }
}
