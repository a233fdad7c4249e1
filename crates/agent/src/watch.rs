//! What is done with the classes that the JVM loads.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use memmap2::MmapOptions;
use unsnarl_classfile::read::{ClassFile, Constant};
use unsnarl_classfile::{flags, mutf8};
use unsnarl_events::Filter;
use unsnarl_instrument::{
    AskedMethod, Caller, Calls, KnownClasses, MethodNumber, Plan, RecordedCall, RewriteError,
    SiteNumbers, Task, hidden, identity, is_of_the_jdk, may_coalesce, process, reflection, rewrite,
    thread,
};
use unsnarl_launch::Agent;
use unsnarl_models::Relay;
use unsnarl_recording::format::STARTED_IN_LOG;
use unsnarl_recording::{
    AgentOptions, ClassRecord, ClassTable, Dispatch, FieldName, FieldRecord, MethodName,
    RecordedEvents, RecordingSpec, SiteNumber, SiteOperation, Volatility,
};

use crate::classpath_lookahead::ClassPathLookahead;
use crate::fields::Fields;
use crate::session::{Session, lock};

/// So many objects cost the reader about a hundred megabytes.
const SWEEP_EVERY: u32 = 250_000;
/// For so many times what a sweep took there is none, unless it was asked for them.
const SWEEP_PAUSE: u32 = 15;

/// Classes through which others are called, as beginnings of internal names.
const PASSES_ON: [&[u8]; 8] = [
    b"java/lang/Unsnarl",
    b"java/lang/reflect/Constructor",
    b"java/lang/reflect/Method",
    b"jdk/internal/reflect/",
    b"java/lang/invoke/LambdaForm$",
    b"java/lang/invoke/DirectMethodHandle$Holder",
    b"java/lang/invoke/DelegatingMethodHandle$Holder",
    b"java/lang/invoke/Invokers$Holder",
];

/// What to record, with the names of fields that the spec has in a file.
pub(crate) fn plan(spec: &RecordingSpec) -> std::io::Result<Plan> {
    let mut plan = Plan::new(spec.clone());
    if let Some(file) = &spec.planned_fields {
        let names = std::fs::read(file)?;
        let names = names.split(|&byte| byte == b'\n').filter(|name| !name.is_empty());
        plan.fields = Some(names.map(<[u8]>::to_vec).collect());
    }
    Ok(plan)
}

/// The agent's state in a JVM.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) session: Session,
    plan: Plan,
    /// After how many new ids the living objects are reported again, at least.
    pub(crate) sweep_every: u32,
    pub(crate) sweep_pause: u32,
    /// This agent as JVMs get it that the program starts, if they are to be watched as well.
    child: Option<Agent>,
    numbers: SiteNumbers,
    calls: Calls,
    classes: RwLock<ClassTable>,
    definer: OnceLock<Vec<u8>>,
    early: Mutex<Vec<Vec<u8>>>,
    fields: RwLock<Fields>,
    lookahead: Mutex<ClassPathLookahead>,
    /// Whether the runtime is there, so that hooks can be called.
    ready: AtomicBool,
    /// Whether a class of the program was loaded.
    has_started: AtomicBool,
    /// Whether a class was loaded that may make a stream parallel after its first operations.
    names_parallel: AtomicBool,
}

impl Watch {
    pub(crate) fn new(
        session: Session,
        plan: Plan,
        options: &AgentOptions,
        child: Option<Agent>,
    ) -> Self {
        let models = session.models(&options.models);
        let (sweep_every, sweep_pause) = match options.sweep {
            Some(count) => (count, 0),
            None => (SWEEP_EVERY, SWEEP_PAUSE),
        };
        Self {
            sweep_every,
            sweep_pause,
            session,
            child,
            numbers: SiteNumbers::default(),
            calls: Calls::new(Arc::new(models), &plan),
            classes: RwLock::default(),
            definer: OnceLock::new(),
            early: Mutex::default(),
            fields: RwLock::default(),
            lookahead: Mutex::default(),
            ready: AtomicBool::new(false),
            has_started: AtomicBool::new(false),
            names_parallel: AtomicBool::new(false),
            plan,
        }
    }

    /// From now on classes get hooks. Classes of the program may be found on the class path before they are loaded.
    pub(crate) fn start(&self, class_path: &OsStr) {
        *lock(&self.lookahead) = ClassPathLookahead::new(class_path);
        let never = self.plan.never_watched();
        if !never.is_empty() {
            let never = never.join(", ");
            self.session.log(&format!("classes that hooks need or cannot understand: {never}"));
        }
        self.ready.store(true, Ordering::Release);
    }

    /// Logs that the program has started, once.
    pub(crate) fn program_starts(&self) {
        let has_started = self.has_started.load(Ordering::Relaxed);
        if !has_started && !self.has_started.swap(true, Ordering::Relaxed) {
            self.session.log(STARTED_IN_LOG);
        }
    }

    /// From now on classes stay as they are.
    pub(crate) fn stop(&self) {
        self.ready.store(false, Ordering::Release);
    }

    /// The bytes that the JVM shall take in place of these; none if they are to stay as they are.
    /// `again` says that the class is there already and is transformed once more.
    pub(crate) fn class(&self, bytes: &[u8], again: bool) -> Option<Vec<u8>> {
        let class = match ClassFile::read(bytes) {
            Ok(class) => class,
            Err(error) => {
                self.session.log(&format!("a class that cannot be read stays as it is: {error}"));
                return None;
            }
        };
        let name = class.name();
        let ready = self.ready.load(Ordering::Acquire);
        let hooks_clones = ready && identity::can_hook_clones(&class);
        if !again {
            if !is_of_the_jdk(name) {
                self.program_starts();
            }
            if !self.may_become_parallel() && !is_of_the_jdk(name) && names_parallel(&class) {
                self.names_parallel.store(true, Ordering::Relaxed);
            }
            if hidden::is_definer(&class) {
                // There is one in a JVM.
                let _ = self.definer.set(name.to_vec());
            }
            let keeps_ids = ready && identity::declares(&class, &self.plan);
            self.remember(&class, keeps_ids, !hooks_clones && identity::clones(&class));
        }
        let result = match name {
            // The field has to be there from the beginning, and at every transformation again.
            thread::THREAD if ready => thread::hook(bytes).map(Some),
            thread::THREAD => thread::inject(bytes).map(Some),
            thread::VIRTUAL_THREAD if ready => thread::hook(bytes).map(Some),
            process::PROCESS if ready && self.child.is_some() => process::hook(bytes).map(Some),
            reflection::REFLECTION if ready => reflection::hook(bytes).map(Some),
            _ if ready && self.definer() == Some(name) => hidden::hook(bytes).map(Some),
            _ if !ready && (self.is_library(name) || self.is_named_of_the_jdk(name)) => {
                lock(&self.early).push(name.to_vec());
                return None;
            }
            _ if !self.watches(name) && !self.is_library(name) => {
                if !hooks_clones || !identity::clones(&class) {
                    return None;
                }
                identity::hook_clones(bytes)
            }
            _ if !ready => {
                self.session
                    .log(&format!("{} was loaded too early and stays as it is", text(name)));
                return None;
            }
            _ if self.is_library(name) => {
                let mut plan = self.plan.clone();
                plan.spec = plan.spec.with(RecordedEvents::SYNCHRONIZATION);
                let library = Library {
                    watch: self,
                    monitors: self.is_analysed(name),
                    relay: self.calls.models().relay(&mutf8::to_str(name)),
                };
                self.rewrite(&class, bytes, &plan, &library)
            }
            _ => self.rewrite(&class, bytes, &self.plan, self),
        };
        result.unwrap_or_else(|error| {
            self.fields_mut().stays_as_it_is(&class);
            self.session.log(&format!("{} stays as it is: {error}", text(name)));
            None
        })
    }

    /// The command that starts a JVM with this agent; none if it starts none. Its parts have zeros between
    /// them, as modified UTF-8 writes them.
    pub(crate) fn command(&self, command: &[u8]) -> Option<Vec<u8>> {
        const ZERO: &[u8] = b"\xC0\x80";
        let mut parts = Vec::new();
        let mut rest = command;
        while let Some(at) = rest.windows(2).position(|bytes| bytes == ZERO) {
            parts.push(OsString::from_vec(rest[..at].to_vec()));
            rest = &rest[at + 2..];
        }
        parts.push(OsString::from_vec(rest.to_vec()));
        let (program, arguments) = parts.split_first()?;
        let agent = self.child.as_ref().filter(|_| unsnarl_launch::is_java(program))?;
        let mut changed = program.as_bytes().to_vec();
        for argument in agent.arguments(arguments) {
            changed.extend(ZERO);
            changed.extend(argument.as_bytes());
        }
        Some(changed)
    }

    fn rewrite(
        &self,
        class: &ClassFile<'_>,
        bytes: &[u8],
        plan: &Plan,
        known_classes: &dyn KnownClasses,
    ) -> Result<Option<Vec<u8>>, RewriteError> {
        let keeps_ids = self.fields().keeps_ids(class.name());
        let Some(rewritten) = rewrite(bytes, plan, &self.numbers, known_classes, keeps_ids)? else {
            return Ok(None);
        };
        for note in &rewritten.notes {
            self.session.log(&format!("{}.{note}", text(class.name())));
        }
        let mut fields = self.fields_mut();
        for site in &rewritten.sites {
            if let SiteOperation::Field(field, volatility) = &site.operation {
                fields.add_site(site.number, field.clone(), *volatility);
            }
        }
        for conditional in rewritten.conditionals {
            fields.add_conditional(conditional);
        }
        drop(fields);
        // The table knows a site before any event can name it.
        self.session.add_sites(&rewritten.sites);
        Ok(Some(rewritten.bytes))
    }

    /// Whether redundant accesses are left out.
    pub(crate) fn filters(&self) -> bool {
        may_coalesce(self.plan.spec.filters)
    }

    /// Zeros for so many bytes, which stay there as long as the JVM; nothing if what owners do is recorded.
    pub(crate) fn owners(&self, bytes: usize) -> Option<*mut u8> {
        if !self.plan.spec.filters.contains(Filter::Owner) {
            return None;
        }
        // Only what is touched takes memory.
        match MmapOptions::new().len(bytes).no_reserve_swap().map_anon() {
            Ok(table) => Some(std::mem::ManuallyDrop::new(table).as_mut_ptr()),
            Err(error) => {
                self.session.log(&format!("no table of owners, so nothing is left out: {error}"));
                None
            }
        }
    }

    /// Whether it is reported how threads come to places; where all calls are, there is no need.
    pub(crate) fn tells_stacks(&self) -> bool {
        !self.plan.spec.events.methods
    }

    /// The index of the first element of arrays that is recorded, and the one after the last.
    pub(crate) fn elements(&self) -> (u32, u32) {
        (self.plan.spec.elements.start(), self.plan.spec.elements.end())
    }

    /// What the runtime has to know of a probe, as `UnsnarlSites` has it.
    pub(crate) fn cell(&self, probe: u32, count: u32) -> u64 {
        self.fields().cell_of_all(SiteNumber(probe), count, &self.plan)
    }

    /// The binary name of the class that declares the field of a place in the code.
    pub(crate) fn declaring_class(&self, site: u32) -> Option<Vec<u8>> {
        let fields = self.fields();
        let class = fields.declaring_class(SiteNumber(site))?;
        Some(class.iter().map(|&byte| if byte == b'/' { b'.' } else { byte }).collect())
    }

    /// Whether the instances of a class keep their ids in its field, by its binary name.
    pub(crate) fn has_safe_ids(&self, class: &[u8]) -> bool {
        let internal: Vec<u8> =
            class.iter().map(|&byte| if byte == b'.' { b'/' } else { byte }).collect();
        self.fields().has_safe_ids(&internal)
    }

    /// Every class goes into the table, also those of the JDK: classes of the program inherit from them.
    fn remember(&self, class: &ClassFile<'_>, keeps_ids: bool, clones_unseen: bool) {
        let is_of_program = self.is_of_program(class.name());
        let is_watched = self.watches(class.name());
        let methods = class.methods.iter().filter(|method| {
            let (name, descriptor) = (class.member_name(method), class.member_descriptor(method));
            // What is called in a class of the JDK is known by its model, what is started by its own code.
            method.access & flags::ABSTRACT == 0
                && (is_of_program && self.calls.knows(name, descriptor)
                    || is_watched && self.calls.task(name, descriptor).is_some())
        });
        let methods = methods
            .map(|it| (class.member_name(it).to_vec(), class.member_descriptor(it).to_vec()))
            .collect();
        let fields = class.fields.iter().map(|field| FieldRecord {
            name: class.member_name(field).to_vec(),
            descriptor: class.member_descriptor(field).to_vec(),
            volatility: Volatility::of(field.access),
            is_static: field.access & flags::STATIC != 0,
        });
        let record = ClassRecord {
            name: class.name().to_vec(),
            superclass: class.super_name().unwrap_or_default().to_vec(),
            interfaces: class.interface_names().map(<[u8]>::to_vec).collect(),
            methods,
            fields: fields.collect(),
        };
        self.session.add_class(&record);
        self.classes.write().unwrap_or_else(PoisonError::into_inner).add(&record);
        self.fields_mut().add(class, keeps_ids, clones_unseen);
    }

    /// The internal name of the class that defines hidden classes.
    pub(crate) fn definer(&self) -> Option<&[u8]> {
        self.definer.get().map(Vec::as_slice)
    }

    /// The internal names of the JDK's classes that were loaded before the runtime was there: those that are watched, and
    /// those whose monitors are to be recorded.
    pub(crate) fn early(&self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let early = std::mem::take(&mut *lock(&self.early));
        early.into_iter().partition(|name| self.is_named_of_the_jdk(name))
    }

    /// Whether monitors that are entered are recorded.
    pub(crate) fn tells_monitors(&self) -> bool {
        self.plan.spec.events.synchronization
    }

    /// Whether code of a class has probes.
    pub(crate) fn has_probes(&self, class: &[u8]) -> bool {
        self.watches(class) || self.is_analysed(class)
    }

    /// Whether classes of the JDK are watched.
    pub(crate) fn watches_jdk(&self) -> bool {
        self.plan.watches_jdk()
    }

    /// Whether code of a class does what it does for whoever calls it: a watched one of the JDK, the runtime, reflection.
    pub(crate) fn passes_on(&self, class: &[u8]) -> bool {
        let begins = |beginning: &&[u8]| class.starts_with(beginning);
        self.is_named_of_the_jdk(class) || PASSES_ON.iter().any(begins)
    }

    /// The number of a further place in the code.
    pub(crate) fn new_site(&self) -> SiteNumber {
        self.numbers.take(1)
    }

    /// A class of the library that is not watched, of which synchronization is recorded nevertheless.
    fn is_library(&self, class: &[u8]) -> bool {
        let is_relay = || self.calls.models().relay(&mutf8::to_str(class)).is_some();
        self.is_analysed(class) || !self.watches(class) && is_relay()
    }

    /// A class of the library of which the models say that its own code tells what it orders: a `Vector` is
    /// known by its monitor. An exception hands nothing over, and `Object` calls only itself: who waits is seen already.
    fn is_analysed(&self, class: &[u8]) -> bool {
        class != b"java/lang/Object"
            && !self.watches(class)
            && self.calls.models().names_as_analysed(&mutf8::to_str(class))
            && !self.classes().ancestors(class).0.contains(&&b"java/lang/Throwable"[..])
    }

    /// A lambda expression belongs to the class that has it.
    fn watches(&self, class: &[u8]) -> bool {
        self.plan.watches(&class[..end_of_host(class).unwrap_or(class.len())])
    }

    /// Whether a class is watched that is none of the JDK: there the models speak for what is called, watched or not.
    fn is_of_program(&self, class: &[u8]) -> bool {
        self.watches(class) && !is_of_the_jdk(class)
    }

    /// Whether a class of the JDK is watched, because it was named.
    fn is_named_of_the_jdk(&self, class: &[u8]) -> bool {
        self.watches(class) && is_of_the_jdk(class)
    }

    /// Whether a class is watched and was written: that of a lambda expression only calls what was.
    pub(crate) fn is_source(&self, class: &[u8]) -> bool {
        self.plan.watches(class) && end_of_host(class).is_none()
    }

    /// Whether a stream may become parallel after its first operations.
    pub(crate) fn may_become_parallel(&self) -> bool {
        self.names_parallel.load(Ordering::Relaxed)
    }

    /// How calls of a method are recorded on objects of a class, which `Class.getName` names: 0 if they are not. The code may
    /// name a class above it, of which others may do more.
    pub(crate) fn models(&self, method: u32, class: &[u8]) -> u8 {
        let Some(asked) = self.calls.method(MethodNumber(method)) else { return 0 };
        let AskedMethod { name, descriptor, caller } = asked;
        let class = unsnarl_recording::internal_name(class);
        let classes = self.classes();
        let has_model =
            |class: &[u8]| self.calls.models().method(class, &name, &descriptor).is_some();
        let model = classes.model(&class, &name, &descriptor, has_model);
        let Some(model) = model else { return 0 };
        let method = MethodName { class: model.to_vec(), name, descriptor };
        self.calls.known_call(model, &method, caller).map_or(0, |call| call.answer())
    }

    /// A call that goes to a method of the receiver's class.
    fn virtual_call(&self, method: &MethodName, caller: Caller) -> Option<RecordedCall> {
        let class = &method.class;
        let classes = self.classes();
        let (above, all_known) = classes.ancestors(class);
        let is_of_program = self.is_of_program(class);
        self.calls.virtual_call(method, caller, |model| {
            // A class of the program has nothing modelled below it but what it implements itself.
            let (above_model, all_of_model) = classes.ancestors(model);
            let below = || !is_of_program && (above_model.contains(&&class[..]) || !all_of_model);
            above.contains(&model) || !all_known || below()
        })
    }

    fn fields(&self) -> RwLockReadGuard<'_, Fields> {
        self.fields.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn fields_mut(&self) -> RwLockWriteGuard<'_, Fields> {
        self.fields.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn classes(&self) -> RwLockReadGuard<'_, ClassTable> {
        self.classes.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownClasses for Watch {
    fn volatility(&self, field: &FieldName) -> Volatility {
        self.fields().volatility(field)
    }

    fn assumed(&self, field: &FieldName) -> Volatility {
        match self.watches(&field.class) {
            true => self.fields().assumed(field, &mut lock(&self.lookahead)),
            false => Volatility::Unknown,
        }
    }

    fn group(&self, field: &FieldName) -> u64 {
        match self.watches(&field.class) {
            true => self.fields().group(field, &mut lock(&self.lookahead)),
            false => 0,
        }
    }

    fn watches_field(&self, field: &FieldName) -> bool {
        self.plan.watches_field(&field.name)
    }

    fn call(&self, method: &MethodName, dispatch: Dispatch) -> Option<RecordedCall> {
        let MethodName { class, name, descriptor } = method;
        if !self.calls.knows(name, descriptor) {
            return None;
        }
        let classes = self.classes();
        let models = self.calls.models();
        if !dispatch.is_virtual() {
            // No class inherits a constructor.
            let may_be_inherited = name != b"<init>";
            let has_model = |class: &[u8]| models.method(class, name, descriptor).is_some();
            return match classes.model(class, name, descriptor, has_model) {
                Some(model) if may_be_inherited || model == class => {
                    self.calls.known_call(model, method, Caller::Program)
                }
                // A class is rewritten before those above it are known. Whoever reads the events knows them.
                None if may_be_inherited && classes.may_inherit(class, name, descriptor) => {
                    self.calls.possible_call(method)
                }
                _ => None,
            };
        }
        drop(classes);
        self.virtual_call(method, Caller::Program)
    }

    /// What has nothing above it but `Object` cannot be handed over as a task, unless `Object` has the method.
    fn task(&self, class: &[u8], name: &[u8], descriptor: &[u8]) -> Option<Task> {
        let task = self.calls.task(name, descriptor)?;
        if name == b"finalize" {
            return Some(task);
        }
        let classes = self.classes();
        let (above, all_known) = classes.ancestors(class);
        (above.len() > 2 || !all_known).then_some(task)
    }
}

/// What is recorded of a class of a library that is not watched: its monitors, if nothing else tells what they order, and the calls
/// that it hands on.
struct Library<'w> {
    watch: &'w Watch,
    monitors: bool,
    relay: Option<&'w Relay>,
}

impl KnownClasses for Library<'_> {
    fn volatility(&self, _field: &FieldName) -> Volatility {
        Volatility::Plain
    }

    fn is_library(&self) -> bool {
        true
    }

    fn monitors(&self) -> bool {
        self.monitors
    }

    fn call(&self, method: &MethodName, dispatch: Dispatch) -> Option<RecordedCall> {
        // What is static, or its own, is no call of an object that it was given.
        let of_interface = dispatch == Dispatch::Interface;
        let hands_on = dispatch.is_virtual() && self.relay?.calls(&method.name, of_interface);
        if hands_on { self.watch.virtual_call(method, Caller::Library) } else { None }
    }
}

/// Where the name of the class ends that has the lambda expression that a class is made of.
fn end_of_host(class: &[u8]) -> Option<usize> {
    const LAMBDA: &[u8] = b"$$Lambda";
    class.windows(LAMBDA.len()).position(|part| part == LAMBDA)
}

/// Whether the name of `BaseStream.parallel` is in a class, for whatever.
fn names_parallel(class: &ClassFile<'_>) -> bool {
    let is_name = |constant| matches!(constant, Ok(Constant::Utf8(name)) if name == b"parallel");
    class.pool.indices().any(|index| is_name(class.pool.get(index)))
}

fn text(name: &[u8]) -> String {
    mutf8::to_str(name).replace('/', ".")
}
