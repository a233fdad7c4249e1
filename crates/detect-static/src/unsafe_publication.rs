//! Rule `unsafe-publication`: objects that do not escape in order (seed 000, section 4.6).
//!
//! What a thread writes before an object is visible to others is ordered before their reads only if the
//! variable that makes it visible is not itself subject to a data race. Where it is (double-checked
//! locking without `volatile` is the well-known case), a reader may get the reference and miss what the
//! constructor wrote. The seed analyses again with the order of init-escape taken away, which makes
//! many reports out of one mistake; here the racy variable is the root, and all fields of the published
//! object that may be seen half-made are told in one finding for each class of published objects.
//!
//! **Guarantees**: a publication is reported only if the publishing variable has a data race between
//! the publishing write and a read of a thread that then reads the object.
//! **Misses**: what hangs on the published object, beyond its own fields; publication through elements
//! of arrays and collections that are themselves racy. Final fields are always safe (JLS 17.5), also
//! where `this` escapes from a constructor.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use unsnarl_classfile::flags;
use unsnarl_findings::{Effect, Evidence, Finding, Heuristic, Rule, Subject, Variable};
use unsnarl_program::FieldId;
use unsnarl_program::heap::{ObjectId, OriginId};
use unsnarl_symbolic::{AccessKind, Accessed, Event, EventId, Order};

use crate::conflict::{Pair, VariableKind, judged_objects};
use crate::describe::{Describe, counted, listed, simple_name};
use crate::{Input, Output, code};

/// The name in findings.
pub(crate) const NAME: &str = "static/escape";
/// The most other fields that a finding names.
const MOST_FIELDS: usize = 8;

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

/// Finds unsafe publications.
pub(crate) fn run(input: &Input<'_, '_>, output: &mut Output) {
    let describe = input.describe;
    let racy: Vec<(FieldId, &[Pair])> = input
        .conflicts
        .variables
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
    let accesses = if racy.is_empty() { Accesses::default() } else { Accesses::new(describe) };
    let mut count = 0;
    for (field, pairs) in racy {
        for publication in publications(describe, &accesses, field, pairs).into_values() {
            count += 1;
            output.findings.push(publication.finding(describe));
        }
    }
    output.stats.push(("unsafe_publications", count));
}

/// Accesses by object: the writes before it is visible, and the reads after that.
#[derive(Default)]
struct Accesses {
    fresh_writes: FxHashMap<ObjectId, Vec<EventId>>,
    reads: FxHashMap<(ObjectId, OriginId), Vec<EventId>>,
}

impl Accesses {
    fn new(describe: &Describe<'_, '_>) -> Self {
        let mut accesses = Self::default();
        for (id, event) in describe.execution.events.iter() {
            if event.is_atomic || !is_exposed(describe, event) {
                continue;
            }
            for &object in judged_objects(&event.objects) {
                match (event.kind, event.is_fresh) {
                    // A default value cannot be missed.
                    (AccessKind::Write, true) if !event.writes_default => {
                        accesses.fresh_writes.entry(object).or_default().push(id);
                    }
                    (AccessKind::Read, false) => {
                        accesses.reads.entry((object, event.thread)).or_default().push(id);
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
    for pair in pairs {
        let (write, read) = (describe.event(pair.write), describe.event(pair.other));
        if read.kind != AccessKind::Read {
            continue;
        }
        let stored = code::body(describe.program, heap, write.instance)
            .and_then(|body| code::stored_value(body, write.statement))
            .map_or(&[][..], |value| heap.points_to(write.instance, value));
        for &object in judged_objects(stored) {
            if heap.objects[object].origin.is_some_and(|origin| origin != write.thread)
                || !seen.insert((object, write.thread, read.thread))
            {
                continue;
            }
            let missed = missed(describe, accesses, through, object, write.thread, read.thread);
            if missed.is_empty() {
                continue;
            }
            let publication = found.entry(describe.object_class(object)).or_insert_with(|| {
                Publication { through, publishing: pair.write, object, missed: BTreeMap::new() }
            });
            for (accessed, pair) in missed {
                publication.missed.entry(accessed).or_insert(pair);
            }
        }
    }
    found
}

/// The variables of an object that `writer` writes before it publishes the object and that `reader`
/// reads afterwards, with nothing but the publication between.
fn missed(
    describe: &Describe<'_, '_>,
    accesses: &Accesses,
    through: FieldId,
    object: ObjectId,
    writer: OriginId,
    reader: OriginId,
) -> BTreeMap<Accessed, (EventId, EventId)> {
    let execution = describe.execution;
    let none = Vec::new();
    let writes = accesses.fresh_writes.get(&object).unwrap_or(&none).iter().copied();
    let writes = writes.filter(|&write| describe.event(write).thread == writer);
    let reads = accesses.reads.get(&(object, reader)).unwrap_or(&none);
    let mut first_writes: BTreeMap<Accessed, EventId> = BTreeMap::new();
    for write in writes {
        first_writes.entry(describe.event(write).accessed).or_insert(write);
    }
    let mut missed: BTreeMap<Accessed, (EventId, EventId)> = BTreeMap::new();
    for &read in reads {
        let event = describe.event(read);
        let Some(&write) = first_writes.get(&event.accessed) else { continue };
        // A reference that came another way may have been published in another way.
        let is_direct = event.loaded_from == Some(through);
        if !is_direct && event.loaded_from.is_some() {
            continue;
        }
        let is_better = match missed.get(&event.accessed) {
            Some(&(_, known)) => is_direct && describe.event(known).loaded_from != Some(through),
            None => true,
        };
        if is_better
            && execution.order(Some(object), write, read) == Some(Order::Fresh)
            && execution.common_guard(Some(object), write, read).is_none()
        {
            missed.insert(event.accessed, (write, read));
        }
    }
    missed
}

impl Publication {
    fn finding(&self, describe: &Describe<'_, '_>) -> Finding {
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
        finding.reasons.push(RACY_VARIABLE.holds_because(format!(
            "{through}, which makes the object visible, is itself subject to a data race"
        )));
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
            let more = others.len().saturating_sub(MOST_FIELDS);
            let mut named: Vec<String> = others.into_iter().take(MOST_FIELDS).collect();
            if more > 0 {
                named.push(counted(more, "other", "others"));
            }
            finding.reasons.push(
                ALSO_AFFECTED
                    .holds_because(format!("{} may be seen unset in the same way", listed(&named))),
            );
        }
        let is_input = self.missed.keys().all(|accessed| matches!(accessed, Accessed::Field(_)));
        let finals =
            if is_input { format!(", or the fields of {class} final") } else { String::new() };
        finding.hint = Some(format!("make {through} volatile{finals}"));
        finding
    }

    /// A variable of the published object as the subject of a finding and in a sentence. The contents
    /// of a collection go by the name of the publishing variable.
    fn variable(&self, describe: &Describe<'_, '_>, accessed: Accessed) -> (Variable, String) {
        match accessed {
            Accessed::Field(field) => (describe.field(field), describe.short_field(field)),
            _ => {
                let class = describe.object_class(self.object);
                (describe.field(self.through), format!("the contents of the {class}"))
            }
        }
    }
}
