//! Says all that is known about a field, and why it was or was not reported.

use std::collections::{BTreeMap, BTreeSet};

use unsnarl_classfile::flags;
use unsnarl_classpath::Role;
use unsnarl_findings::Rule;
use unsnarl_program::body::Operation;
use unsnarl_program::heap::{ObjectId, OriginId, OriginKind};
use unsnarl_program::{ClassId, FieldId, Program};
use unsnarl_symbolic::{
    AccessKind, Accessed, CommonGuard, Event, EventId, Execution, Order, Sharing,
};

use crate::Checked;
use crate::conflicts::{Budget, Safe, by_object, is_candidate, judge, pairs};
use crate::wording::describe::{Describe, counted, listed};

/// The most accesses that are listed one by one.
const MOST_LINES: usize = 40;

/// Says all that is known about a field: who accesses it, with which locks, and why it was or was not
/// reported. `class` and `field` are names as in Java source. `None` if the input has no such field.
pub fn explain_field(
    program: &mut Program<'_>,
    execution: &Execution<'_>,
    checked: &Checked,
    class: &str,
    field: &str,
) -> Option<Vec<String>> {
    let field = find_field(program, class, field)?;
    let describe = Describe::new(program, execution);
    let mut explanation = Explanation { describe: &describe, field, sentences: Vec::new() };
    explanation.field(checked);
    Some(explanation.sentences)
}

/// The field of the input with this name, also if it is inherited.
fn find_field(program: &mut Program<'_>, class: &str, field: &str) -> Option<FieldId> {
    let class = find_class(program, class)?;
    let is_meant = |&candidate: &FieldId| {
        let data = &program.fields()[candidate];
        program.names.text(data.name) == field && program.role(data.class) == Some(Role::Input)
    };
    program.all_fields(class).find(is_meant)
}

/// The class of the input with this name: in full, with dots or dollars before nested classes, or only
/// the last parts of it if they fit one class only.
pub(crate) fn find_class(program: &mut Program<'_>, class: &str) -> Option<ClassId> {
    let mut internal = class.replace('.', "/");
    loop {
        if let Some(found) = program.find_class(internal.as_bytes())
            && program.role(found) == Some(Role::Input)
        {
            return Some(found);
        }
        let Some((before, after)) = internal.rsplit_once('/') else { break };
        internal = format!("{before}${after}");
    }
    let wanted = class.replace('$', ".");
    let fits = |name: &str| {
        let name = name.replace('$', ".");
        name.strip_suffix(&*wanted).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    let classes = program.classes().iter().filter(|(id, class)| {
        class.file().is_some()
            && program.role(*id) == Some(Role::Input)
            && fits(&program.class_text(*id))
    });
    let found: Vec<ClassId> = classes.map(|(id, _)| id).collect();
    match *found {
        [only] => Some(only),
        _ => None,
    }
}

struct Explanation<'e, 'm> {
    describe: &'e Describe<'e, 'm>,
    field: FieldId,
    sentences: Vec<String>,
}

impl Explanation<'_, '_> {
    fn say(&mut self, sentence: impl Into<String>) {
        self.sentences.push(sentence.into());
    }

    fn field(&mut self, checked: &Checked) {
        let describe = self.describe;
        let data = &describe.program.fields()[self.field];
        let name = describe.field(self.field).to_string();
        let is = |flag: u16| data.access & flag != 0;
        let words: Vec<&str> =
            [(flags::STATIC, "static"), (flags::FINAL, "final"), (flags::VOLATILE, "volatile")]
                .into_iter()
                .filter_map(|(flag, word)| is(flag).then_some(word))
                .collect();
        let ty = describe.program.names.type_text(data.ty);
        let words = words.iter().map(|word| format!("{word} ")).collect::<String>();
        self.say(format!("{name} is a {words}field of type {ty}"));
        if is(flags::FINAL) {
            self.say(
                "reads of a final field never race: it is written once, while its object is made",
            );
        } else {
            if is(flags::VOLATILE) {
                self.say("accesses to a volatile field never race with each other");
            }
            self.variable(is(flags::STATIC));
        }
        self.contents();
        self.verdict(checked);
    }

    /// The accesses to the field itself.
    fn variable(&mut self, is_static: bool) {
        let execution = self.describe.execution;
        let wanted = Accessed::Field(self.field);
        let events: Vec<EventId> = select(execution, |event| event.accessed == wanted);
        if events.is_empty() {
            self.not_shared();
            return;
        }
        self.accesses(&events);
        self.judged("it", by_object(execution, is_static, &events));
    }

    /// The accesses to the collections that the field refers to.
    fn contents(&mut self) {
        let describe = self.describe;
        let execution = describe.execution;
        let field = self.field;
        let named: Vec<EventId> = select(execution, |event| {
            event.loaded_from == Some(field)
                && matches!(event.accessed, Accessed::Contents | Accessed::Slot(_))
        });
        let objects: BTreeSet<ObjectId> =
            named.iter().flat_map(|&event| describe.event(event).objects.iter().copied()).collect();
        for object in objects {
            let events: Vec<EventId> = select(execution, |event| {
                matches!(event.accessed, Accessed::Contents | Accessed::Slot(_))
                    && event.objects.contains(&object)
            });
            let class = describe.object_class(object);
            let made =
                describe.made_at(object).map_or(String::new(), |at| format!(" made at {at}"));
            self.say(format!("it refers to a {class}{made}, whose contents are accessed too"));
            self.accesses(&events);
            self.judged("the contents", BTreeMap::from([(Some(object), events)]));
        }
    }

    /// Why there are no accesses to judge.
    fn not_shared(&mut self) {
        let describe = self.describe;
        let execution = describe.execution;
        let names = &describe.program.names;
        let data = &describe.program.fields()[self.field];
        let mut threads: BTreeSet<OriginId> = BTreeSet::new();
        for (id, instance) in execution.heap.instances.iter() {
            let Some(body) = describe.program.lowered_body(instance.method) else { continue };
            let is_access = body.statements.values().any(|statement| match statement.operation {
                Operation::GetField { field, .. }
                | Operation::PutField { field, .. }
                | Operation::GetStatic { field }
                | Operation::PutStatic { field, .. } => {
                    let reference = names.field_ref_data(field);
                    reference.name == data.name && reference.ty == data.ty
                }
                _ => false,
            });
            if is_access {
                threads.extend(execution.heap.threads_of(id));
            }
        }
        if threads.is_empty() {
            self.say("no code that can be reached accesses it");
            return;
        }
        let threads = thread_names(describe, threads);
        self.say(format!(
            "it is not shared: code that accesses it is run by {threads}, but no object is reached by \
             more than one of them"
        ));
    }

    /// Who accesses it where, with which locks.
    fn accesses(&mut self, events: &[EventId]) {
        let describe = self.describe;
        let threads = events.iter().map(|&event| describe.event(event).thread);
        let threads = thread_names(describe, threads);
        self.say(format!("it is accessed by {threads}"));
        self.sentences.extend(access_lines(describe, events));
    }

    /// Whether the objects are shared, and what keeps their accesses apart.
    fn judged(&mut self, what: &str, objects: BTreeMap<Option<ObjectId>, Vec<EventId>>) {
        let describe = self.describe;
        let execution = describe.execution;
        let mut kinds = [0_usize; 3];
        let mut tally: BTreeMap<String, usize> = BTreeMap::new();
        let (mut conflicts, mut is_written, mut fresh, mut initial) = (0, false, 0, 0);
        for (&object, events) in &objects {
            if let Some(object) = object {
                match execution.sharing(object) {
                    Sharing::OneThread => kinds[0] += 1,
                    Sharing::ThreadSpecific => kinds[1] += 1,
                    Sharing::Shared => kinds[2] += 1,
                }
                if execution.sharing(object) != Sharing::Shared {
                    continue;
                }
            }
            let (candidates, others): (Vec<EventId>, Vec<EventId>) =
                events.iter().partition(|&&id| is_candidate(execution, describe.event(id)));
            for other in others {
                match describe.event(other).is_fresh {
                    true => fresh += 1,
                    false => initial += 1,
                }
            }
            is_written |= candidates.iter().any(|&id| describe.event(id).kind == AccessKind::Write);
            let found =
                pairs(execution, object, &candidates, &mut Budget::new(), &mut |first, second| {
                    let safe = judge(execution, object, first, second);
                    if let Some(safe) = &safe {
                        *tally.entry(self.safety(object, safe)).or_default() += 1;
                    }
                    safe
                });
            conflicts += found.len();
        }
        let [one_thread, specific, shared] = kinds;
        for (count, sentence) in [
            (one_thread, "used by one thread only"),
            (specific, "thread-specific: used only by the thread that it is handed to"),
            (shared, "shared by several threads"),
        ] {
            if count > 0 {
                self.say(format!("{} {sentence}", counted(count, "object is", "objects are")));
            }
        }
        if shared == 0 && !objects.contains_key(&None) {
            return;
        }
        for (count, sentence) in [
            (fresh, "before the object is visible to other threads (NEW-safe)"),
            (initial, "in class initializers, which are not judged"),
        ] {
            if count > 0 {
                self.say(format!("{} {sentence}", counted(count, "access is", "accesses are")));
            }
        }
        if !is_written {
            self.say(format!("{what} is only read after that: read-only"));
            return;
        }
        for (sentence, count) in tally {
            self.say(format!(
                "{} {sentence}",
                counted(count, "pair of accesses is", "pairs of accesses are")
            ));
        }
        match conflicts {
            0 => self.say("no two accesses can overlap"),
            count => self.say(format!(
                "{} neither ordered nor guarded",
                counted(count, "pair of accesses is", "pairs of accesses are")
            )),
        }
    }

    fn safety(&self, object: Option<ObjectId>, safe: &Safe) -> String {
        match safe {
            Safe::Ordered(order) => ordered(*order).to_owned(),
            Safe::Guarded(CommonGuard::Unique(lock)) if Some(*lock) == object => {
                self.safety(object, &Safe::Guarded(CommonGuard::Itself))
            }
            Safe::Guarded(guard) => format!("guarded by {}", self.guard(guard)),
        }
    }

    fn guard(&self, guard: &CommonGuard) -> String {
        match guard {
            CommonGuard::Unique(object) => {
                let class = self.describe.object_class(*object);
                match self.describe.holder(*object) {
                    Some(field) => format!("{} ({class})", self.describe.short_field(field)),
                    None => format!("a {class} that exists once"),
                }
            }
            CommonGuard::Itself => "the object's own lock".to_owned(),
            CommonGuard::Member(steps) => format!("its {}", self.describe.path(steps)),
            CommonGuard::Host(relation) => {
                let to_base = self.describe.path(&relation.to_base);
                match relation.to_lock.is_empty() {
                    true => format!("the holder of {to_base}"),
                    false => {
                        let to_lock = self.describe.path(&relation.to_lock);
                        format!("{to_lock} of the holder of {to_base}")
                    }
                }
            }
        }
    }

    fn verdict(&mut self, checked: &Checked) {
        let variable = self.describe.field(self.field);
        let found = checked
            .findings
            .iter()
            .filter(|finding| finding.subject.as_variable() == Some(&variable));
        let mut is_reported = false;
        for finding in found {
            is_reported = true;
            let confidence = finding.confidence();
            self.say(format!(
                "reported as {} with confidence {confidence}: {}",
                finding.rule, finding.message
            ));
        }
        if !is_reported {
            let rules = [Rule::DataRace, Rule::UnsafePublication].map(Rule::id);
            self.say(format!("not reported as {}", rules.join(" or ")));
        }
    }
}

/// `main and several Worker threads`.
pub(crate) fn thread_names(
    describe: &Describe<'_, '_>,
    threads: impl IntoIterator<Item = OriginId>,
) -> String {
    let names: BTreeSet<String> = threads
        .into_iter()
        .map(|thread| match describe.execution.is_unique_thread(thread) {
            true => describe.one_thread(thread),
            false => describe.several_threads(thread),
        })
        .collect();
    listed(&names.into_iter().collect::<Vec<_>>())
}

/// Who accesses something where, with which locks, one sentence each.
pub(crate) fn access_lines(describe: &Describe<'_, '_>, events: &[EventId]) -> Vec<String> {
    let mut lines: BTreeMap<(String, AccessKind, String, &str), BTreeSet<String>> = BTreeMap::new();
    for &id in events {
        let event = describe.event(id);
        let locks: Vec<String> = describe.locks(event).iter().map(ToString::to_string).collect();
        let locks = if locks.is_empty() { "no lock".to_owned() } else { locks.join(", ") };
        let kind = describe.execution.heap.origins[event.thread].kind;
        let remark = match (kind, event.is_fresh) {
            (OriginKind::Init, _) => ", in a class initializer",
            (_, true) => ", before the object is visible to other threads",
            (_, false) if event.is_atomic => ", atomically",
            _ => "",
        };
        let thread = describe.one_thread(event.thread);
        lines.entry((describe.place(id), event.kind, locks, remark)).or_default().insert(thread);
    }
    let more = lines.len().saturating_sub(MOST_LINES);
    let mut sentences: Vec<String> = lines
        .into_iter()
        .take(MOST_LINES)
        .map(|((place, kind, locks, remark), threads)| {
            let verb = match kind {
                AccessKind::Read => "read",
                AccessKind::Write => "written",
            };
            let threads = listed(&threads.into_iter().collect::<Vec<_>>());
            format!("{verb} at {place} by {threads}, holding {locks}{remark}")
        })
        .collect();
    if more > 0 {
        sentences.push(format!("and in {more} more ways"));
    }
    sentences
}

fn select(execution: &Execution<'_>, is_wanted: impl Fn(&Event) -> bool) -> Vec<EventId> {
    let events = execution.events.iter().filter(|(_, event)| is_wanted(event));
    events.map(|(id, _)| id).collect()
}

/// What an order says about a pair of accesses.
fn ordered(order: Order) -> &'static str {
    match order {
        Order::SameThread => "by the same thread",
        Order::Fresh => "NEW-safe: one comes before the object is visible to other threads",
        Order::Start => "START-safe: one comes before the other's thread is started",
        Order::Join { is_assumed: false } => {
            "JOIN-safe: one comes after the other's thread has ended"
        }
        Order::Join { is_assumed: true } => {
            "JOIN-safe if the join, which is in a loop, waits for all of the other's threads"
        }
        Order::Signal => "ordered by a signal: a volatile field, latch, queue or future",
        Order::Serial => "by tasks that run one after the other",
        Order::Encapsulated => "by the thread that the object belongs to",
    }
}
