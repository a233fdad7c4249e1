//! Dynamic escape analysis: which objects only the thread that made them can know. What it does to them need not be
//! looked at, by detectors that tolerate [`Filter::Escape`](unsnarl_events::Filter::Escape).
//!
//! After [Wang06 §3]. An object
//! escapes when it is stored into a static field or into an object that has escaped, when it is passed to code that
//! is not watched, or when it is the object of a thread that is started; and with it escapes all that it refers to.
//!
//! Deviations:
//! - An object that an event names before its allocation has escaped: where it was made is not known.
//! - An object refers to all that was ever stored into it, also if that was overwritten since.
//! - When another thread accesses an object, the object has escaped, however it came there: reflection, deserialization
//!   and code without probes hand objects over without an event. What its maker did until then is dropped.
//!
//! Guarantees: an access is dropped only if, by the events so far, its object has not escaped.

use rustc_hash::FxHashSet;
use unsnarl_entity::SecondaryMap;
use unsnarl_events::{Container, Event, ObjectId, Operation, Tables, ThreadId, Variable};

/// The objects of a trace, and which of them have escaped so far.
#[derive(Debug, Default)]
pub struct Escape {
    objects: SecondaryMap<ObjectId, Known>,
}

#[derive(Clone, Debug, Default)]
enum Known {
    /// No event has named it.
    #[default]
    Nothing,
    /// Who made it, and what was stored into it.
    Confined(ThreadId, FxHashSet<ObjectId>),
    Escaped,
}

impl Escape {
    /// Takes in an event, and returns whether it is to be looked at.
    pub fn keeps(&mut self, event: &Event, tables: &Tables) -> bool {
        match event.operation {
            Operation::Allocate(object) => {
                let known = &mut self.objects[object];
                if matches!(known, Known::Nothing) {
                    *known = Known::Confined(event.thread, FxHashSet::default());
                }
            }
            Operation::Store(store) => {
                let store = tables.stores[store];
                match store.into {
                    Container::Field(object, _) | Container::Element(object) => {
                        self.store(object, store.value);
                    }
                    Container::Static(_) | Container::Unknown => self.escape(store.value),
                }
            }
            Operation::Fork(thread) => {
                if let Some(object) = tables.thread_objects[thread] {
                    self.escape(object);
                }
            }
            Operation::Read(variable) | Operation::Write(variable) => {
                match tables.variables[variable] {
                    Variable::Field(object, _) | Variable::Element(object, _) => {
                        return self.access(object, event.thread);
                    }
                    Variable::Static(_) | Variable::Named(_) => {}
                }
            }
            Operation::ReadElements(elements) | Operation::WriteElements(elements) => {
                return self.access(elements.array(), event.thread);
            }
            _ => {}
        }
        true
    }

    fn store(&mut self, into: ObjectId, value: ObjectId) {
        match &mut self.objects[into] {
            Known::Confined(_, references) => {
                references.insert(value);
                if matches!(self.objects[value], Known::Nothing) {
                    self.escape(value);
                }
            }
            Known::Nothing | Known::Escaped => {
                self.escape(into);
                self.escape(value);
            }
        }
    }

    fn access(&mut self, object: ObjectId, by: ThreadId) -> bool {
        let is_own = matches!(self.objects[object], Known::Confined(maker, _) if maker == by);
        if !is_own {
            self.escape(object);
        }
        !is_own
    }

    /// The object has escaped, and all that it refers to.
    fn escape(&mut self, object: ObjectId) {
        let mut escaping = vec![object];
        while let Some(object) = escaping.pop() {
            let known = std::mem::replace(&mut self.objects[object], Known::Escaped);
            if let Known::Confined(_, references) = known {
                escaping.extend(references);
            }
        }
    }
}
