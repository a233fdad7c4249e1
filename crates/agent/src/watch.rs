//! What is done with the classes that the JVM loads.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use unsnarl_classfile::read::{Attribute, ClassFile};
use unsnarl_classfile::{flags, mutf8};
use unsnarl_instrument::{
    FieldName, Operation, Plan, Site, SiteNumbers, Volatility, process, rewrite, thread,
};
use unsnarl_launch::Agent;
use unsnarl_trace::session::{
    self, ClassRecord, ClassTable, FieldRecord, Found, SiteOperation, SiteRecord,
};

use crate::session::Session;

/// The agent's state in a JVM.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) session: Session,
    plan: Plan,
    /// This agent as JVMs get it that the program starts, if they are to be watched as well.
    child: Option<Agent>,
    numbers: SiteNumbers,
    classes: RwLock<ClassTable>,
    /// Whether the runtime is there, so that hooks can be called.
    ready: AtomicBool,
}

impl Watch {
    pub(crate) fn new(session: Session, plan: Plan, child: Option<Agent>) -> Self {
        Self {
            session,
            plan,
            child,
            numbers: SiteNumbers::default(),
            classes: RwLock::default(),
            ready: AtomicBool::new(false),
        }
    }

    /// From now on classes get hooks.
    pub(crate) fn start(&self) {
        self.ready.store(true, Ordering::Release);
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
        if !again {
            self.remember(&class);
        }
        let ready = self.ready.load(Ordering::Acquire);
        let result = match name {
            // The field has to be there from the beginning, and at every transformation again.
            thread::THREAD if ready => thread::hook(bytes).map(Some),
            thread::THREAD => thread::inject(bytes).map(Some),
            thread::VIRTUAL_THREAD if ready => thread::hook(bytes).map(Some),
            process::PROCESS if ready && self.child.is_some() => process::hook(bytes).map(Some),
            _ if !self.plan.watches(name) => return None,
            _ if !ready => {
                self.session
                    .log(&format!("{} was loaded too early and stays as it is", text(name)));
                return None;
            }
            _ => self.rewrite(&class, bytes),
        };
        result.unwrap_or_else(|error| {
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
    ) -> Result<Option<Vec<u8>>, unsnarl_instrument::RewriteError> {
        let volatility = |field: &FieldName| self.volatility(field);
        let Some(rewritten) = rewrite(bytes, &self.plan, &self.numbers, &volatility)? else {
            return Ok(None);
        };
        for note in &rewritten.notes {
            self.session.log(&format!("{}.{note}", text(class.name())));
        }
        let file = source_file(class);
        let sites: Vec<_> =
            rewritten.sites.into_iter().map(|site| record(class.name(), &file, site)).collect();
        // The table knows a site before any event can name it.
        self.session.add_sites(&sites);
        Ok(Some(rewritten.bytes))
    }

    /// Every class goes into the table, also those of the JDK: classes of the program inherit from them.
    fn remember(&self, class: &ClassFile<'_>) {
        let fields = class.fields.iter().map(|field| FieldRecord {
            name: class.member_name(field).to_vec(),
            descriptor: class.member_descriptor(field).to_vec(),
            volatile: field.access & flags::VOLATILE != 0,
        });
        let record = ClassRecord {
            name: class.name().to_vec(),
            superclass: class.super_name().unwrap_or_default().to_vec(),
            fields: fields.collect(),
        };
        self.session.add_class(&record);
        self.classes.write().unwrap_or_else(PoisonError::into_inner).add(&record);
    }

    fn volatility(&self, field: &FieldName) -> Volatility {
        let classes = self.classes.read().unwrap_or_else(PoisonError::into_inner);
        match classes.find(&field.class, &field.name, &field.descriptor) {
            Found::Field(found) if found.volatile => Volatility::Volatile,
            Found::Field(_) | Found::Nowhere => Volatility::Plain,
            Found::Unknown => Volatility::Unknown,
        }
    }
}

fn record(class: &[u8], file: &[u8], site: Site) -> SiteRecord {
    let operation = match site.operation {
        Operation::Field(field, volatility) => SiteOperation::Field {
            class: field.class,
            name: field.name,
            descriptor: field.descriptor,
            volatility: match volatility {
                Volatility::Plain => session::Volatility::Plain,
                Volatility::Volatile => session::Volatility::Volatile,
                Volatility::Unknown => session::Volatility::Unknown,
            },
        },
        Operation::Element => SiteOperation::Element,
        Operation::Monitor => SiteOperation::Monitor,
        Operation::ClassInitialized => SiteOperation::ClassInitialized,
    };
    SiteRecord {
        number: site.number.0,
        class: class.to_vec(),
        method: site.method,
        descriptor: site.descriptor,
        file: file.to_vec(),
        line: site.line,
        operation,
    }
}

/// The source file of a class; empty if it does not tell.
fn source_file(class: &ClassFile<'_>) -> Vec<u8> {
    let attribute = class.attributes.find(&class.pool, b"SourceFile");
    let decoded = attribute.ok().flatten().and_then(|it| it.decode(&class.pool).ok());
    match decoded {
        Some(Attribute::SourceFile(name)) => class.pool.utf8(name).unwrap_or_default().to_vec(),
        _ => Vec::new(),
    }
}

fn text(name: &[u8]) -> String {
    mutf8::to_str(name).replace('/', ".")
}
