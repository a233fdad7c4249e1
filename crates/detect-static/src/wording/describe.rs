//! How threads, sites, locks and variables are called in findings.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use unsnarl_classpath::Role;
use unsnarl_findings::{Access, AccessKind as FoundKind, Frame, Lock, MethodReference, Variable};
use unsnarl_models::LockMode;
use unsnarl_program::body::StatementId;
use unsnarl_program::heap::{InstanceId, Object, ObjectId, OriginId, Variable as HeapVariable};
use unsnarl_program::{ClassId, FieldId, MethodId, Origin, Program};
use unsnarl_symbolic::{
    AccessKind, Accessed, Event, EventId, Execution, Guard, LockAction, LockEvent, LockEventId,
    PathStep,
};

/// Names for people, made from what the program and the execution know.
pub(crate) struct Describe<'d, 'm> {
    pub(crate) program: &'d Program<'d>,
    pub(crate) execution: &'d Execution<'m>,
    /// The fields that refer to locks and to collections, static ones first, then by name.
    holders: FxHashMap<ObjectId, Vec<FieldId>>,
    /// Where the object of a lambda class is made, if in one place.
    lambdas: FxHashMap<ClassId, (MethodId, StatementId)>,
    threads: FxHashMap<OriginId, String>,
    /// All writes of each field, those of constructors and class initializers as well.
    writes: FxHashMap<FieldId, Vec<EventId>>,
}

impl<'d, 'm> Describe<'d, 'm> {
    pub(crate) fn new(program: &'d Program<'d>, execution: &'d Execution<'m>) -> Self {
        let mut holders: FxHashMap<ObjectId, Vec<FieldId>> = FxHashMap::default();
        let mut writes: FxHashMap<FieldId, Vec<EventId>> = FxHashMap::default();
        for (id, event) in execution.events.iter() {
            if let (Accessed::Field(field), AccessKind::Write) = (event.accessed, event.kind) {
                writes.entry(field).or_default().push(id);
            }
        }
        for objects in [execution.accessed_objects(), execution.held_objects()] {
            for object in objects.iter() {
                holders.entry(object).or_default();
            }
        }
        let heap = &execution.heap;
        for (field, objects) in heap.static_fields() {
            for object in objects {
                if let Some(fields) = holders.get_mut(object) {
                    fields.push(field);
                }
            }
        }
        for (_, variable, objects) in heap.references() {
            let HeapVariable::Field(field) = variable else { continue };
            for object in objects {
                if let Some(fields) = holders.get_mut(object) {
                    fields.push(field);
                }
            }
        }
        for fields in holders.values_mut() {
            fields.sort_unstable();
            fields.dedup();
            fields.sort_by_cached_key(|&field| {
                let data = &program.fields()[field];
                let is_member = data.access & unsnarl_classfile::flags::STATIC == 0;
                (is_member, program.class_text(data.class), program.names.text(data.name))
            });
        }
        let mut lambdas = FxHashMap::default();
        for object in heap.objects.values() {
            if let (Some(class), Some(made)) = (object.object.exact_class(), object.made)
                && matches!(program.classes()[class].origin, Origin::Lambda(_))
            {
                lambdas.entry(class).or_insert(made);
            }
        }
        let threads = heap.origins.keys().map(|thread| {
            let name = execution.thread_name(program, thread);
            (thread, if name.is_empty() { format!("thread {thread}") } else { name })
        });
        Self { program, execution, holders, lambdas, threads: threads.collect(), writes }
    }

    /// The event of an id.
    pub(crate) fn event(&self, event: EventId) -> &'d Event {
        &self.execution.events[event]
    }

    /// The lock event of an id.
    pub(crate) fn lock_event(&self, event: LockEventId) -> &'d LockEvent {
        &self.execution.lock_events[event]
    }

    /// All writes of a field, those of constructors and class initializers as well.
    pub(crate) fn writes_of(&self, field: FieldId) -> &[EventId] {
        self.writes.get(&field).map_or(&[], Vec::as_slice)
    }

    /// The method in which an access happens.
    pub(crate) fn method_of(&self, instance: InstanceId) -> MethodId {
        self.execution.heap.instances[instance].method
    }

    /// Whether a class is part of the input.
    pub(crate) fn is_input(&self, class: ClassId) -> bool {
        self.program.role(class) == Some(Role::Input)
    }

    /// Whether an access is made by code of the input.
    pub(crate) fn is_by_input(&self, event: &Event) -> bool {
        let method = self.method_of(event.instance);
        self.is_input(self.program.methods()[method].class)
    }

    /// Whether a field is declared in the source of the input: captured variables of lambdas are not.
    pub(crate) fn is_input_field(&self, field: FieldId) -> bool {
        let class = self.program.fields()[field].class;
        self.is_input(class) && self.program.classes()[class].file().is_some()
    }

    // Threads.

    /// `Worker`.
    pub(crate) fn thread(&self, thread: OriginId) -> &str {
        self.threads.get(&thread).map_or("unknown thread", String::as_str)
    }

    /// `Worker`, `the pool task at Server.java:12`.
    pub(crate) fn one_thread(&self, thread: OriginId) -> String {
        let name = self.thread(thread);
        match (name.strip_prefix("thread at "), name.contains(' ')) {
            (Some(place), _) => format!("the thread started at {place}"),
            (None, true) => format!("the {name}"),
            (None, false) => name.to_owned(),
        }
    }

    /// A second thread beside a first one that may have the same name: `another Worker`.
    pub(crate) fn other_thread(&self, first: OriginId, second: OriginId) -> String {
        match self.thread(first) == self.thread(second) {
            true => format!("another {}", self.thread(second)),
            false => self.one_thread(second),
        }
    }

    /// `several Worker threads`, `several runs of the pool task at Server.java:12`.
    pub(crate) fn several_threads(&self, thread: OriginId) -> String {
        let name = self.thread(thread);
        match (name.strip_prefix("thread at "), name.contains(' ')) {
            (Some(place), _) => format!("several threads started at {place}"),
            (None, true) => format!("several runs of the {name}"),
            (None, false) => format!("several {name} threads"),
        }
    }

    // Places.

    /// The stack of an access, the access itself first.
    pub(crate) fn frames(&self, event: EventId) -> Vec<Frame> {
        self.frames_of(&self.execution.stack(event))
    }

    /// A stack as findings show it.
    pub(crate) fn frames_of(&self, stack: &[(MethodId, StatementId)]) -> Vec<Frame> {
        let mut frames = Vec::with_capacity(stack.len());
        for (position, &(method, statement)) in stack.iter().enumerate() {
            let class = self.program.methods()[method].class;
            if !matches!(self.program.classes()[class].origin, Origin::Lambda(_)) {
                frames.push(self.frame(method, statement));
            } else if position == 0 {
                // A method reference to a library method: the access is where the reference is written.
                let (method, statement) =
                    self.lambdas.get(&class).copied().unwrap_or((method, statement));
                frames.push(self.frame(method, statement));
            }
        }
        frames
    }

    pub(crate) fn frame(&self, method: MethodId, statement: StatementId) -> Frame {
        let class = self.program.class_around(self.program.methods()[method].class);
        Frame::Code {
            method: self.method_reference(method),
            file: self.program.source_file(class),
            line: self.line(method, statement),
        }
    }

    /// A method as findings name it.
    pub(crate) fn method_reference(&self, method: MethodId) -> MethodReference {
        let data = &self.program.methods()[method];
        let class = self.program.class_around(data.class);
        let names = &self.program.names;
        MethodReference::new(
            self.program.class_text(class),
            names.text(data.name),
            names.text(data.descriptor),
        )
    }

    fn line(&self, method: MethodId, statement: StatementId) -> Option<u32> {
        let line = self.program.lowered_body(method)?.statements.get(statement)?.line;
        (line != 0).then_some(u32::from(line))
    }

    /// `Account.java:12`, or the method where the class file has no lines.
    pub(crate) fn place(&self, event: EventId) -> String {
        let data = self.event(event);
        self.place_in(self.method_of(data.instance), data.statement)
    }

    /// The same of a lock event.
    pub(crate) fn lock_place(&self, event: LockEventId) -> String {
        let data = self.lock_event(event);
        self.place_in(self.method_of(data.instance), data.statement)
    }

    /// A place in source code, also for what stands in the class of a lambda.
    fn place_in(&self, method: MethodId, statement: StatementId) -> String {
        let made = self.lambdas.get(&self.program.methods()[method].class);
        let (method, statement) = made.copied().unwrap_or((method, statement));
        self.place_of(method, statement)
    }

    /// `Account.java:12`, or the method where the class file has no lines.
    pub(crate) fn place_of(&self, method: MethodId, statement: StatementId) -> String {
        let data = &self.program.methods()[method];
        let class = self.program.class_around(data.class);
        match (self.program.source_file(class), self.line(method, statement)) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            _ => {
                let class = simple_name(&self.program.class_text(class)).to_owned();
                format!("{class}.{}", self.program.names.text(data.name))
            }
        }
    }

    /// An access as findings show it.
    pub(crate) fn access(&self, event: EventId) -> Access {
        let data = self.event(event);
        let kind = match data.kind {
            AccessKind::Read => FoundKind::Read,
            AccessKind::Write => FoundKind::Write,
        };
        Access::new(kind, self.frames(event)).by(self.thread(data.thread)).holding(self.locks(data))
    }

    /// A lock event as findings show it.
    pub(crate) fn lock_access(&self, event: LockEventId) -> Access {
        let data = self.lock_event(event);
        let kind = match data.action {
            LockAction::Acquire(_) | LockAction::Initialize(_) => FoundKind::Acquire,
            LockAction::Wait { .. } | LockAction::Receive | LockAction::Put | LockAction::Join => {
                FoundKind::Wait
            }
            LockAction::Notify | LockAction::Send | LockAction::Take => FoundKind::Notify,
        };
        let held = data.held.iter().map(|guard| self.named_lock(guard, self.own_label(guard)));
        let frames = self.frames_of(&self.execution.lock_stack(event));
        Access::new(kind, frames).by(self.thread(data.thread)).holding(held.collect())
    }

    // Locks.

    /// A single lock as the subject of a finding. Runs know the lock of a class as an object of `java.lang.Class`.
    pub(crate) fn lock_of(&self, object: ObjectId) -> Lock {
        let class = self.object_class(object);
        if let Object::Class(_) = self.execution.heap.objects[object].object {
            return Lock::of_class("java.lang.Class").labelled(simple_name(&class));
        }
        let lock = Lock::of_class(class);
        match self.holder(object) {
            Some(field) => lock.labelled(self.short_field(field)),
            None => lock,
        }
    }

    /// The locks held at an access.
    pub(crate) fn locks(&self, event: &Event) -> Vec<Lock> {
        event.guards.iter().map(|guard| self.lock(event, guard)).collect()
    }

    fn lock(&self, event: &Event, guard: &Guard) -> Lock {
        self.named_lock(guard, self.lock_label(event, guard))
    }

    fn named_lock(&self, guard: &Guard, label: Option<String>) -> Lock {
        let mut classes: Vec<String> =
            guard.objects.iter().map(|&object| self.object_class(object)).collect();
        classes.sort_unstable();
        classes.dedup();
        let label = match (guard.mode, label) {
            (LockMode::Exclusive, label) => label,
            (LockMode::Shared, Some(label)) => Some(format!("{label}, shared")),
            (LockMode::Shared, None) => Some("shared".to_owned()),
            (LockMode::Optimistic, Some(label)) => Some(format!("{label}, optimistic")),
            (LockMode::Optimistic, None) => Some("optimistic".to_owned()),
        };
        let mut lock = match <[String; 1]>::try_from(classes) {
            Ok([class]) => Lock::of_class(class),
            Err(classes) if classes.is_empty() && label.is_some() => {
                Lock { class: None, label: None }
            }
            Err(classes) if classes.is_empty() => Lock::named("unknown lock"),
            Err(classes) => {
                Lock::of_class(format!("{} or {} others", classes[0], classes.len() - 1))
            }
        };
        if let Some(label) = label {
            lock.label = Some(label);
        }
        lock
    }

    /// How the code names a lock: `this`, `this.lock`, `Bank.LOCK`, `class`.
    pub(crate) fn lock_label(&self, event: &Event, guard: &Guard) -> Option<String> {
        let is_class = |object: ObjectId| {
            matches!(self.execution.heap.objects[object].object, Object::Class(_))
        };
        if let Some(relation) = &guard.relation
            && !matches!(*guard.objects, [object] if is_class(object))
        {
            let to_lock = self.path(&relation.to_lock);
            if relation.to_base.is_empty() {
                return Some(match (event.is_through_this, to_lock.is_empty()) {
                    (true, true) => "this".to_owned(),
                    (true, false) => format!("this.{to_lock}"),
                    (false, true) => "the object itself".to_owned(),
                    (false, false) => format!("its {to_lock}"),
                });
            }
            let to_base = self.path(&relation.to_base);
            return Some(match to_lock.is_empty() {
                true => format!("holder of {to_base}"),
                false => format!("{to_lock} of the holder of {to_base}"),
            });
        }
        self.own_label(guard)
    }

    /// How the code names a lock, whatever is accessed: `Bank.LOCK`, `class`.
    fn own_label(&self, guard: &Guard) -> Option<String> {
        let [object] = *guard.objects else { return None };
        if let Object::Class(_) = self.execution.heap.objects[object].object {
            return Some("class".to_owned());
        }
        Some(self.short_field(self.holder(object)?))
    }

    /// The first field of the input that refers to a lock or collection.
    pub(crate) fn holder(&self, object: ObjectId) -> Option<FieldId> {
        let holders = self.holders.get(&object).map_or(&[][..], Vec::as_slice);
        holders.iter().copied().find(|&field| self.is_input_field(field))
    }

    pub(crate) fn path(&self, steps: &[PathStep]) -> String {
        let names: Vec<_> = steps
            .iter()
            .map(|step| match *step {
                PathStep::Field(field) => {
                    self.program.names.text(self.program.fields()[field].name)
                }
                PathStep::Slot(name) => self.program.names.text(name),
            })
            .collect();
        names.join(".")
    }

    // Objects and variables.

    /// `java.util.HashMap`, `int[]`; for the lock of a class the class.
    pub(crate) fn object_class(&self, object: ObjectId) -> String {
        let program = self.program;
        match self.execution.heap.objects[object].object {
            Object::Proxy { interface, .. } => program.class_text(interface),
            Object::Array(ty) | Object::AllocatedArray { ty, .. } | Object::Class(ty) => {
                program.names.type_text(ty)
            }
            Object::LibraryArray { .. } => "java.lang.Object[]".to_owned(),
            Object::ClassName(_) => "java.lang.String".to_owned(),
            Object::Member { .. } => "java.lang.reflect.Member".to_owned(),
            object => match object.class() {
                Some(class) => program.class_text(class),
                None => "java.lang.Object".to_owned(),
            },
        }
    }

    /// Whether an object comes out of code that was not analysed.
    pub(crate) fn is_unknown(&self, object: ObjectId) -> bool {
        matches!(self.execution.heap.objects[object].object, Object::Unknown(_))
    }

    /// Where an object is made: `Bank.java:7`.
    pub(crate) fn made_at(&self, object: ObjectId) -> Option<String> {
        let (method, statement) = self.execution.heap.objects[object].made?;
        Some(self.place_of(method, statement))
    }

    /// `Account.balance`, without package and surrounding class.
    pub(crate) fn short_field(&self, field: FieldId) -> String {
        let data = &self.program.fields()[field];
        let class = self.program.class_text(data.class);
        format!("{}.{}", simple_name(&class), self.program.names.text(data.name))
    }

    /// The variable of a finding about a field.
    pub(crate) fn field(&self, field: FieldId) -> Variable {
        let data = &self.program.fields()[field];
        Variable::field(self.program.class_text(data.class), self.program.names.text(data.name))
    }

    /// The field by which people know an object of a library: the one through which most of the given
    /// accesses reach it, else one that refers to it.
    pub(crate) fn naming_field(&self, object: ObjectId, events: &[EventId]) -> Option<FieldId> {
        let mut counts: FxHashMap<FieldId, usize> = FxHashMap::default();
        for &event in events {
            if let Some(field) = self.event(event).loaded_from {
                *counts.entry(field).or_default() += 1;
            }
        }
        let counts: BTreeMap<(String, FieldId), usize> = counts
            .into_iter()
            .filter(|&(field, _)| self.is_input_field(field))
            .map(|(field, count)| ((self.field(field).to_string(), field), count))
            .collect();
        // The first of the most frequent, since later equals do not replace it.
        let most =
            counts.iter().fold(None, |best: Option<(usize, FieldId)>, (key, &count)| match best {
                Some((most, _)) if most >= count => best,
                _ => Some((count, key.1)),
            });
        most.map(|(_, field)| field).or_else(|| self.holder(object))
    }

    /// The variable that stands for an object of a library that no field of the input holds: named by
    /// the method that makes it, since a name must not depend on lines.
    pub(crate) fn local_variable(&self, object: ObjectId) -> Variable {
        let class = self.object_class(object);
        match self.execution.heap.objects[object].made {
            Some((method, _)) => {
                let data = &self.program.methods()[method];
                let around = self.program.class_around(data.class);
                let method = self.program.names.text(data.name);
                let name = format!("{} in {method}", simple_name(&class));
                Variable::field(self.program.class_text(around), name)
            }
            None => Variable::field(class, "contents"),
        }
    }
}

/// `Account` for `bank.Bank$Account`; the number of an anonymous class stays with the class around it.
pub(crate) fn simple_name(class: &str) -> &str {
    let name = class.rsplit('.').next().unwrap_or(class);
    match name.rsplit_once('$') {
        Some((_, inner)) if inner.starts_with(|first: char| first.is_alphabetic()) => inner,
        _ => name,
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// `1 access`, `3 accesses`.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_but_not_empty() {
        assert_eq!(simple_name("bank.Bank$Account"), "Account");
        assert_eq!(simple_name("bank.Bank$1"), "Bank$1");
        assert_eq!(simple_name("Bank"), "Bank");
        assert_eq!(simple_name("a.b.Outer$"), "Outer$");
    }

    #[test]
    fn lists_read_well() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(listed(&names(&["a"])), "a");
        assert_eq!(listed(&names(&["a", "b", "c"])), "a, b and c");
        assert_eq!(counted(1, "access", "accesses"), "1 access");
    }
}
