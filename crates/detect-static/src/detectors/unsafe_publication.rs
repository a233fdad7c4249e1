//! Rule `unsafe-publication`: objects that do not escape in order [vonPraun04 §4.6].
//!
//! What a thread writes before an object is visible to others is ordered before their reads only if the
//! variable that makes it visible is not itself subject to a data race. Where it is (double-checked
//! locking without `volatile` is the well-known case), a reader may get the reference and miss what the
//! constructor wrote. Von Praun analyses again with the order of init-escape taken away, which makes
//! many reports out of one mistake; here the racy variable is the root, and all fields of the published
//! object that may be seen half-made are reported in one finding for each class of published objects. What
//! hangs on such an object and on nothing else is of the second order: it is reported in the same finding.
//!
//! **Guarantees**: a publication is reported only if the publishing variable has a data race between
//! the publishing write and a read of a thread that then reads the object.
//! **Misses**: what hangs on the published object where something else refers to it as well; publication
//! through elements of arrays and collections that are themselves racy. Final fields are always safe (JLS 17.5), also
//! where `this` escapes from a constructor.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_classfile::flags;
use unsnarl_entity::EntitySet;
use unsnarl_findings::{Effect, Evidence, Finding, Heuristic, Rule, Subject, Variable};
use unsnarl_program::FieldId;
use unsnarl_program::heap::{self, ObjectId, OriginId};
use unsnarl_symbolic::{AccessKind, Accessed, Event, EventId, Order, Used};

use crate::code;
use crate::conflicts::{Pair, VariableKind, judged_objects};
use crate::wording::describe::{Describe, counted, listed, simple_name};
use crate::wording::reasons;
use crate::wording::use_graph::UseGraphs;
use crate::{Input, Output};

/// The name in findings.
pub(crate) const NAME: &str = "static/escape";
/// The most other fields that a finding names.
const MOST_FIELDS: usize = 8;
/// The most variables of what hangs on the object of which a finding shows the accesses.
const MOST_PARTS: usize = 2;

static RACY_VARIABLE: Heuristic = Heuristic {
    name: "racy-variable",
    effect: Effect::NONE,
    sentence: "the publishing variable is itself subject to a data race",
};
static DOUBLE_CHECKED: Heuristic = Heuristic {
    name: "double-checked-locking",
    effect: Effect::raises(2),
    sentence: "the variable is tested and written under a lock, and read without it",
};
static USED_AT_ONCE: Heuristic = Heuristic {
    name: "used-at-once",
    effect: Effect::raises(1),
    sentence: "the reader loads the reference from that variable and uses it in the same method",
};
static ALSO_AFFECTED: Heuristic = Heuristic {
    name: "also-affected",
    effect: Effect::NONE,
    sentence: "other fields of the object may be seen unset in the same way",
};
static PARTS_AFFECTED: Heuristic = Heuristic {
    name: "parts-affected",
    effect: Effect::NONE,
    sentence: "what hangs on the object may be seen unset in the same way",
};

/// Finds unsafe publications.
pub(crate) fn run(input: &Input<'_, '_>, output: &mut Output) {
    let describe = input.describe;
    let racy: Vec<(FieldId, &[Pair])> = input
        .conflicting()
        .iter()
        .filter_map(|conflicting| match conflicting.kind {
            VariableKind::Field(field) => {
                let ty = describe.program.fields()[field].ty;
                let is_reference = describe.program.names.is_reference(ty);
                is_reference.then_some((field, conflicting.pairs.as_slice()))
            }
            _ => None,
        })
        .collect();
    let accesses = if racy.is_empty() {
        Accesses::default()
    } else {
        let pairs = racy.iter().flat_map(|(_, pairs)| pairs.iter());
        Accesses::new(describe, &published(describe, pairs))
    };
    let graphs = input.use_graphs.as_ref();
    let found = racy.par_iter().map(|(field, pairs)| {
        let found = publications(describe, &accesses, *field, pairs);
        let publications = found.into_values();
        publications.map(|it| it.finding(describe, graphs)).collect()
    });
    let found: Vec<Vec<Finding>> = found.collect();
    let before = output.findings.len();
    output.findings.extend(found.into_iter().flatten());
    output.stats.push(("unsafe_publications", (output.findings.len() - before) as u64));
}

/// Accesses by object: the writes before it is visible, and the reads after that.
#[derive(Default)]
struct Accesses {
    fresh_writes: FxHashMap<ObjectId, Vec<EventId>>,
    reads: FxHashMap<(ObjectId, OriginId, Accessed), Vec<EventId>>,
}

impl Accesses {
    fn new(describe: &Describe<'_, '_>, objects: &EntitySet<ObjectId>) -> Self {
        let mut accesses = Self::default();
        for (id, event) in describe.execution.events.iter() {
            if event.is_atomic || !is_exposed(describe, event) {
                continue;
            }
            let judged = judged_objects(&event.objects).iter().copied();
            for object in judged.filter(|&object| objects.contains(object)) {
                match (event.kind, event.is_fresh) {
                    // A default value cannot be missed.
                    (AccessKind::Write, true) if !event.writes_default => {
                        accesses.fresh_writes.entry(object).or_default().push(id);
                    }
                    (AccessKind::Read, false) => {
                        let read = (object, event.thread, event.accessed);
                        accesses.reads.entry(read).or_default().push(id);
                    }
                    _ => {}
                }
            }
        }
        accesses
    }
}

/// Whether the variable of an access is one of the input that is neither final nor volatile.
fn is_exposed(describe: &Describe<'_, '_>, event: &Event) -> bool {
    match event.accessed {
        Accessed::Field(field) => {
            let access = describe.program.fields()[field].access;
            access & (flags::FINAL | flags::VOLATILE | flags::STATIC) == 0
                && describe.is_input_field(field)
        }
        Accessed::Contents | Accessed::Slot(_) => describe.is_by_input(event),
        Accessed::Element => false,
    }
}

/// One publishing variable and one class of objects that it publishes.
struct Publication {
    through: FieldId,
    /// The write that makes the object visible.
    publishing: EventId,
    object: ObjectId,
    /// For each variable that may be seen unset the write and the read that may miss it.
    missed: BTreeMap<Accessed, (EventId, EventId)>,
    /// The same for variables of objects that hang on the published one, by their names.
    parts: BTreeMap<String, (EventId, EventId)>,
}

/// What a write stores.
fn stored<'d>(describe: &Describe<'d, '_>, write: &Event) -> &'d [ObjectId] {
    let heap = &describe.execution.heap;
    code::body(describe.program, heap, write.instance)
        .and_then(|body| code::stored_value(body, write.statement))
        .map_or(&[], |value| heap.points_to(write.instance, value))
}

/// The objects that racy variables make visible, and what hangs on them alone.
fn published<'p>(
    describe: &Describe<'_, '_>,
    pairs: impl Iterator<Item = &'p Pair>,
) -> EntitySet<ObjectId> {
    let writes: FxHashSet<EventId> = pairs.map(|pair| pair.write).collect();
    let stored = writes.into_iter().map(|write| stored(describe, describe.event(write)));
    let mut objects: EntitySet<ObjectId> =
        stored.flat_map(|stored| judged_objects(stored).iter().copied()).collect();
    let parts: Vec<ObjectId> =
        objects.iter().flat_map(|object| parts_of(describe, object)).collect();
    objects.extend(parts);
    objects
}

fn publications(
    describe: &Describe<'_, '_>,
    accesses: &Accesses,
    through: FieldId,
    pairs: &[Pair],
) -> BTreeMap<String, Publication> {
    let execution = describe.execution;
    let heap = &execution.heap;
    let mut found: BTreeMap<String, Publication> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut parts: FxHashMap<ObjectId, Vec<ObjectId>> = FxHashMap::default();
    for pair in pairs {
        let (write, read) = (describe.event(pair.write), describe.event(pair.other));
        if read.kind != AccessKind::Read {
            continue;
        }
        for &object in judged_objects(stored(describe, write)) {
            if heap.objects[object].origin.is_some_and(|origin| origin != write.thread)
                || !seen.insert((object, write.thread, read.thread))
            {
                continue;
            }
            let threads = (write.thread, read.thread);
            let missed = missed(describe, accesses, Some(through), object, threads);
            if missed.is_empty() {
                continue;
            }
            let publication = found.entry(describe.object_class(object)).or_insert_with(|| {
                let (missed, parts) = (BTreeMap::new(), BTreeMap::new());
                Publication { through, publishing: pair.write, object, missed, parts }
            });
            for (accessed, pair) in missed {
                publication.missed.entry(accessed).or_insert(pair);
            }
            for &part in &*parts.entry(object).or_insert_with(|| parts_of(describe, object)) {
                for (accessed, pair) in self::missed(describe, accesses, None, part, threads) {
                    let (_, name) = variable(describe, through, part, accessed);
                    publication.parts.entry(name).or_insert(pair);
                }
            }
        }
    }
    found
}

/// The objects that can be reached from an object by fields that are not final, and from nothing else. What
/// a final field refers to is as safe as the field (JLS 17.5).
fn parts_of(describe: &Describe<'_, '_>, object: ObjectId) -> Vec<ObjectId> {
    let heap = &describe.execution.heap;
    // Where objects are distinguished only roughly, nothing hangs on one of them alone.
    if !heap.widened.is_empty() {
        return Vec::new();
    }
    let is_final = |variable: heap::Variable| match variable {
        heap::Variable::Field(field) => describe.program.fields()[field].access & flags::FINAL != 0,
        heap::Variable::Slot(_) => false,
    };
    let reached = heap.reachable([object], |_, variable| !is_final(variable));
    let others = heap
        .references()
        .filter(|&(holder, variable, _)| !reached.contains(holder) || is_final(variable));
    let statics = heap.static_fields().map(|(_, to)| to).chain(heap.static_places());
    let others = others.map(|(_, _, to)| to).chain(statics).flatten().copied();
    let outside = heap.reachable(others.filter(|&other| other != object), |holder, _| {
        reached.contains(holder) && holder != object
    });
    reached.iter().filter(|&part| part != object && !outside.contains(part)).collect()
}

/// The variables of an object that one thread writes before it publishes the object and that the other
/// reads afterwards, with nothing but the publication between. With a publishing variable, a reference that
/// was loaded from another does not count.
fn missed(
    describe: &Describe<'_, '_>,
    accesses: &Accesses,
    through: Option<FieldId>,
    object: ObjectId,
    (writer, reader): (OriginId, OriginId),
) -> BTreeMap<Accessed, (EventId, EventId)> {
    let execution = describe.execution;
    let writes = accesses.fresh_writes.get(&object).into_iter().flatten().copied();
    let writes = writes.filter(|&write| describe.event(write).thread == writer);
    let mut first_writes: BTreeMap<Accessed, EventId> = BTreeMap::new();
    for write in writes {
        first_writes.entry(describe.event(write).accessed).or_insert(write);
    }
    let is_missed = |write: EventId, read: EventId| {
        execution.order(Some(object), write, read) == Some(Order::Fresh)
            && execution.common_guard(Some(object), write, read).is_none()
    };
    let missed = first_writes.into_iter().filter_map(|(accessed, write)| {
        let reads = accesses.reads.get(&(object, reader, accessed))?;
        let is_direct = |read: &&EventId| describe.event(**read).loaded_from == through;
        // A reference that came another way may have been published in another way.
        let is_open = |read: &&EventId| {
            !is_direct(read) && (describe.event(**read).loaded_from.is_none() || through.is_none())
        };
        let direct = reads.iter().filter(is_direct);
        let read = direct.chain(reads.iter().filter(is_open)).find(|&&read| is_missed(write, read));
        read.map(|&read| (accessed, (write, read)))
    });
    missed.collect()
}

impl Publication {
    fn finding(&self, describe: &Describe<'_, '_>, graphs: Option<&UseGraphs<'_, '_>>) -> Finding {
        let through = describe.short_field(self.through);
        let class = simple_name(&describe.object_class(self.object)).to_owned();
        let (first, &(write, read)) =
            self.missed.iter().next().expect("a publication has a variable that may be missed");
        let (variable, name) = self.variable(describe, *first);
        let reader = describe.one_thread(describe.event(read).thread);
        let message = format!(
            "{reader} may not see at {} what was written to {name} at {}: the {class} is published \
             through {through} at {} without synchronization",
            describe.place(read),
            describe.place(write),
            describe.place(self.publishing),
        );
        let mut finding = Finding::new(
            Rule::UnsafePublication,
            Subject::variable(variable),
            Evidence::Suspected,
            NAME,
            message,
            vec![describe.access(write), describe.access(read)],
        );
        for &(write, read) in self.parts.values().take(MOST_PARTS) {
            finding.accesses.extend([describe.access(write), describe.access(read)]);
        }
        finding.reasons.push(RACY_VARIABLE.holds_because(format!(
            "{through}, which makes the object visible, is itself subject to a data race"
        )));
        let accesses = [write, read].map(|event| describe.event(event));
        finding.reasons.extend(reasons::coarse_heap(describe.execution, self.object, accesses));
        let publishing = describe.event(self.publishing);
        let is_tested = code::body(describe.program, &describe.execution.heap, publishing.instance)
            .is_some_and(|body| {
                code::is_tested(&describe.program.names, body, publishing.statement)
            });
        if is_tested && !publishing.guards.is_empty() {
            finding.reasons.push(DOUBLE_CHECKED.holds_because(format!(
                "{through} is tested and written under a lock, and read without it"
            )));
        }
        if describe.event(read).loaded_from == Some(self.through) {
            finding.reasons.push(USED_AT_ONCE.holds());
        }
        let others: Vec<String> =
            self.missed.keys().skip(1).map(|&other| self.variable(describe, other).1).collect();
        if !others.is_empty() {
            finding.reasons.push(
                ALSO_AFFECTED.holds_because(format!(
                    "{} may be seen unset in the same way",
                    shortened(others)
                )),
            );
        }
        if !self.parts.is_empty() {
            finding.reasons.push(PARTS_AFFECTED.holds_because(format!(
                "{} of what hangs on the {class} may be seen unset in the same way",
                shortened(self.parts.keys().cloned().collect())
            )));
        }
        let is_input = self.missed.keys().all(|accessed| matches!(accessed, Accessed::Field(_)));
        let finals =
            if is_input { format!(", or the fields of {class} final") } else { String::new() };
        finding.hint = Some(format!("make {through} volatile{finals}"));
        finding.uses = graphs.map(|graphs| {
            graphs.graph(Used::Object(self.object), [write, read], [self.publishing])
        });
        finding
    }

    fn variable(&self, describe: &Describe<'_, '_>, accessed: Accessed) -> (Variable, String) {
        variable(describe, self.through, self.object, accessed)
    }
}

/// A variable of an object as the subject of a finding and in a sentence. The contents of a collection go
/// by the name of the publishing variable.
fn variable(
    describe: &Describe<'_, '_>,
    through: FieldId,
    object: ObjectId,
    accessed: Accessed,
) -> (Variable, String) {
    match accessed {
        Accessed::Field(field) => (describe.field(field), describe.short_field(field)),
        _ => {
            let class = describe.object_class(object);
            (describe.field(through), format!("the contents of the {class}"))
        }
    }
}

/// A list of names that does not get too long.
fn shortened(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(MOST_FIELDS);
    names.truncate(MOST_FIELDS);
    if more > 0 {
        names.push(counted(more, "other", "others"));
    }
    listed(&names)
}
