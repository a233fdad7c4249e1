//! What is done with the classes that the JVM loads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use unsnarl_classfile::read::{Attribute, ClassFile};
use unsnarl_classfile::{flags, mutf8};
use unsnarl_instrument::{
    FieldName, Operation, Plan, RewriteError, Site, SiteNumber, SiteNumbers, Volatility, identity,
    reflection, rewrite, thread,
};
use unsnarl_trace::session::{self, ClassRecord, FieldRecord, SiteOperation, SiteRecord};

use crate::fields::Fields;
use crate::session::Session;

/// The agent's state in a JVM.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) session: Session,
    plan: Plan,
    numbers: SiteNumbers,
    fields: RwLock<Fields>,
    /// Whether the runtime is there, so that hooks can be called.
    ready: AtomicBool,
}

impl Watch {
    pub(crate) fn new(session: Session, plan: Plan) -> Self {
        Self {
            session,
            plan,
            numbers: SiteNumbers::default(),
            fields: RwLock::default(),
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
        let ready = self.ready.load(Ordering::Acquire);
        let hooks_clones = ready && identity::can_hook_clones(&class);
        if !again {
            let keeps_ids = ready && identity::declares(&class, &self.plan);
            self.remember(&class, keeps_ids, !hooks_clones && identity::clones(&class));
        }
        let result = match name {
            // The field has to be there from the beginning, and at every transformation again.
            thread::THREAD if ready => thread::hook(bytes).map(Some),
            thread::THREAD => thread::inject(bytes).map(Some),
            thread::VIRTUAL_THREAD if ready => thread::hook(bytes).map(Some),
            reflection::REFLECTION if ready => reflection::hook(bytes).map(Some),
            _ if !self.plan.watches(name) => {
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
            _ => self.rewrite(&class, bytes),
        };
        result.unwrap_or_else(|error| {
            self.fields_mut().stays_as_it_is(&class);
            self.session.log(&format!("{} stays as it is: {error}", text(name)));
            None
        })
    }

    fn rewrite(
        &self,
        class: &ClassFile<'_>,
        bytes: &[u8],
    ) -> Result<Option<Vec<u8>>, RewriteError> {
        let keeps_ids = self.fields().keeps_ids(class.name());
        let volatility = |field: &FieldName| self.fields().volatility(field);
        let rewritten = rewrite(bytes, &self.plan, &self.numbers, &volatility, keeps_ids)?;
        let Some(rewritten) = rewritten else {
            return Ok(None);
        };
        for note in &rewritten.notes {
            self.session.log(&format!("{}.{note}", text(class.name())));
        }
        let mut fields = self.fields_mut();
        for site in &rewritten.sites {
            if let Operation::Field(field, volatility) = &site.operation {
                fields.add_site(site.number, field.clone(), *volatility);
            }
        }
        drop(fields);
        let file = source_file(class);
        let sites: Vec<_> =
            rewritten.sites.into_iter().map(|site| record(class.name(), &file, site)).collect();
        // The table knows a site before any event can name it.
        self.session.add_sites(&sites);
        Ok(Some(rewritten.bytes))
    }

    /// Whether redundant accesses are left out.
    pub(crate) fn filters(&self) -> bool {
        self.plan.filters.epoch
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
        self.fields_mut().add(class, keeps_ids, clones_unseen);
    }

    fn fields(&self) -> RwLockReadGuard<'_, Fields> {
        self.fields.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn fields_mut(&self) -> RwLockWriteGuard<'_, Fields> {
        self.fields.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn record(class: &[u8], file: &[u8], site: Site) -> SiteRecord {
    let operation = match site.operation {
        Operation::Field(field, volatility) => SiteOperation::Field {
            class: field.class,
            name: field.name,
            descriptor: field.descriptor,
            volatility: match volatility {
                Volatility::Plain | Volatility::Final => session::Volatility::Plain,
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
