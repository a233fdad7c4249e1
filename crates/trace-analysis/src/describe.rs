//! Names for what is in a trace, as findings have them.

use unsnarl_entity::EntityId;
use unsnarl_events::{
    self as trace, FieldId, LockId, MethodId, NameId, SiteId, Sites, Tables, ThreadId,
};
use unsnarl_findings::{Frame, Lock, MethodReference, Variable};

use crate::analysis::Accessed;

/// What a race is about: races on the same field of different objects, or on different elements of
/// arrays of one type, are one defect if they are at the same places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeclaredVariable {
    /// A field, whatever the object.
    Field(FieldId),
    /// The elements of arrays of a type.
    Elements(NameId),
    /// A variable of which only the name is known.
    Named(NameId),
}

impl DeclaredVariable {
    /// What a race on the variable is about.
    pub fn of(variable: impl Into<Accessed>, tables: &Tables) -> Self {
        match variable.into().variable(tables) {
            trace::Variable::Field(_, field) | trace::Variable::Static(field) => Self::Field(field),
            trace::Variable::Element(array, _) => Self::Elements(tables.objects[array].class),
            trace::Variable::Named(name) => Self::Named(name),
        }
    }

    /// The variable of a finding.
    pub fn variable(self, tables: &Tables) -> Variable {
        match self {
            Self::Field(field) => {
                let field = tables.fields[field];
                Variable::field(tables.text(field.class), tables.text(field.name))
            }
            Self::Elements(class) => Variable::elements(tables.text(class)),
            Self::Named(name) => Variable::untyped(tables.text(name)),
        }
    }
}

/// The frame of a place in the code.
pub fn frame(site: SiteId, tables: &Tables) -> Frame {
    let site = match &tables.sites {
        Sites::Numbered => return Frame::Location(site.index() as u64),
        Sites::Known(sites) => sites[site],
    };
    let file = tables.methods[site.method].file.map(|name| tables.text(name).into_owned());
    Frame::Code { method: method(site.method, tables), file, line: site.line }
}

/// A method, as findings have it.
pub fn method(method: MethodId, tables: &Tables) -> MethodReference {
    let method = tables.methods[method];
    let text = |name: Option<NameId>| name.map(|name| tables.text(name).into_owned());
    MethodReference::new(
        text(method.class).unwrap_or_default(),
        tables.text(method.name),
        text(method.descriptor).unwrap_or_default(),
    )
}

/// The frames of a place where a thread was and of those that it was called from; if no calls were recorded, as it was
/// when the thread came there for the first time. Callers that the trace does not know are left out.
pub fn stack(
    (thread, site): (ThreadId, SiteId),
    callers: impl Iterator<Item = SiteId>,
    tables: &Tables,
) -> Vec<Frame> {
    let mut callers: Vec<SiteId> = callers.collect();
    if callers.is_empty() {
        callers.extend(tables.stacks.get(&(thread, site)).into_iter().flatten());
    }
    let callers = callers.into_iter().filter_map(|caller| known_frame(caller, tables));
    std::iter::once(frame(site, tables)).chain(callers).collect()
}

/// The frame of a place, if the trace knows its method.
pub fn known_frame(site: SiteId, tables: &Tables) -> Option<Frame> {
    let is_known = match &tables.sites {
        Sites::Numbered => true,
        Sites::Known(sites) => tables.methods[sites[site].method].class.is_some(),
    };
    is_known.then(|| frame(site, tables))
}

/// The place in a sentence: `location 17`, `Account.java:8`.
pub fn place(frame: &Frame) -> String {
    match frame {
        Frame::Code { file: Some(file), line: Some(line), .. } => format!("{file}:{line}"),
        other => other.to_string(),
    }
}

/// A lock, as findings have it.
pub fn lock(lock: LockId, tables: &Tables) -> Lock {
    match tables.locks[lock] {
        trace::Lock::Object(object) => lock_of(tables.objects[object], tables),
        trace::Lock::Named(name) => Lock::named(tables.text(name)),
    }
}

/// The lock that an object is, as findings have it.
pub fn lock_of(object: trace::Object, tables: &Tables) -> Lock {
    Lock::of_class(tables.text(object.class)).labelled(format!("#{}", object.number))
}

/// The name of a thread.
pub fn thread(thread: ThreadId, tables: &Tables) -> String {
    tables.text(tables.threads[thread].name).into_owned()
}
