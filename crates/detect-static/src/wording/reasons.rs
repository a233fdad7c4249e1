//! Why a conflict is likely or unlikely to be a real data race, and why no order was found.

use std::collections::BTreeMap;

use unsnarl_findings::{Effect, Heuristic, Reason};
use unsnarl_models::LockMode;
use unsnarl_program::heap::{InstanceId, ObjectId, OriginId, OriginKind};
use unsnarl_symbolic::{AccessKind, Event, EventId, Execution, Guard, PathStep};

use crate::code;
use crate::conflicts::{VariableKind, is_candidate};
use crate::detectors::data_race::{ConflictClass, Race};
use crate::wording::describe::{Describe, counted, simple_name};

static NO_LOCK_AT_ALL: Heuristic = Heuristic {
    name: "no-lock-at-all",
    effect: Effect::raises(1),
    sentence: "neither access holds a lock",
};
static NO_COMMON_LOCK: Heuristic = Heuristic {
    name: "no-common-lock",
    effect: Effect::NONE,
    sentence: "the accesses hold different locks",
};
static GUARDED_ELSEWHERE: Heuristic = Heuristic {
    name: "guarded-elsewhere",
    effect: Effect::raises(2),
    sentence: "most other accesses hold a lock",
};
static WRITE_UNDER_READ_LOCK: Heuristic = Heuristic {
    name: "write-under-read-lock",
    effect: Effect::raises(2),
    sentence: "a write holds a lock only in the mode that lets other readers in",
};
static LOCK_NOT_UNIQUE: Heuristic = Heuristic {
    name: "lock-not-unique",
    effect: Effect::lowers(1),
    sentence: "all accesses hold a lock, but it may be a different object for each",
};
static ALL_WRITES_LOCKED: Heuristic = Heuristic {
    name: "all-writes-locked",
    effect: Effect::NONE,
    sentence: "all writes hold a lock; only reads without it can go wrong, and see an old value",
};
static NO_READ: Heuristic = Heuristic {
    name: "no-read",
    effect: Effect::lowers(1),
    sentence: "no conflicting access reads the value",
};
static SAME_CONSTANT: Heuristic = Heuristic {
    name: "same-constant-written",
    effect: Effect::lowers(2),
    sentence: "all writes store the constant that is there from the beginning",
};
static LOST_UPDATE: Heuristic = Heuristic {
    name: "lost-update",
    effect: Effect::raises(1),
    sentence: "the new value is computed from the old one, so that updates get lost",
};
static ONE_OBJECT: Heuristic = Heuristic {
    name: "one-object",
    effect: Effect::raises(1),
    sentence: "there is only one such variable, so both accesses are to the same",
};
static MERGED_OBJECTS: Heuristic = Heuristic {
    name: "merged-objects",
    effect: Effect::lowers(1),
    sentence: "the objects are not told apart, so the accesses may be to different ones",
};
static OWN_OBJECTS: Heuristic = Heuristic {
    name: "own-objects",
    effect: Effect::lowers(2),
    sentence: "each of these threads makes such objects and may use only its own",
};
static COARSE_HEAP: Heuristic = Heuristic {
    name: "coarse-heap",
    effect: Effect::lowers(3),
    sentence: "the program is so large that its objects are told apart only roughly",
};
static UNKNOWN_OBJECT: Heuristic = Heuristic {
    name: "unknown-object",
    effect: Effect::lowers(2),
    sentence: "the object comes out of code that was not analysed",
};
static ARRAY_ELEMENT: Heuristic = Heuristic {
    name: "array-element",
    effect: Effect::lowers(1),
    sentence: "the threads may use different elements of the array",
};
static UNKNOWN_THREAD: Heuristic = Heuristic {
    name: "unknown-thread",
    effect: Effect::lowers(1),
    sentence: "an access is in a callback of which the thread is not known",
};
static CLIENTS: Heuristic = Heuristic {
    name: "clients",
    effect: Effect::NONE,
    sentence: "it takes two client threads that use the same object",
};
static THREAD_NOT_UNIQUE: Heuristic = Heuristic {
    name: "thread-not-unique",
    effect: Effect::NONE,
    sentence: "several such threads run at the same time",
};
static NEVER_JOINED: Heuristic = Heuristic {
    name: "never-joined",
    effect: Effect::NONE,
    sentence: "the starting thread may access it while the other runs",
};
static INDEPENDENT_THREADS: Heuristic = Heuristic {
    name: "independent-threads",
    effect: Effect::NONE,
    sentence: "the threads run independently of each other",
};
static BARRIER_PHASES: Heuristic = Heuristic {
    name: "barrier-phases",
    effect: Effect::lowers(1),
    sentence: "both threads wait at the same barrier, which may keep the accesses apart",
};

/// The reasons that hold, those about the conflict first, then those about the missing order.
pub(crate) fn reasons(race: &Race<'_, '_>) -> Vec<Reason> {
    let mut reasons = locking(race);
    reasons.extend(values(race));
    let accesses = [race.event(race.best.write), race.event(race.best.other)];
    reasons.extend(objects(race.describe, race.best.object, accesses));
    reasons.extend(order(race.describe, race.best.write, race.best.other));
    reasons.extend(barrier(race));
    reasons
}

/// A barrier that both threads pass: which phase an access belongs to is not looked at.
fn barrier(race: &Race<'_, '_>) -> Option<Reason> {
    let (first, second) = (race.event(race.best.write), race.event(race.best.other));
    let barrier = race.describe.execution.common_barrier(first.thread, second.thread)?;
    let class = race.describe.object_class(barrier);
    let made = race.describe.made_at(barrier).map_or(String::new(), |at| format!(" made at {at}"));
    Some(BARRIER_PHASES.holds_because(format!(
        "both threads wait at the {class}{made}, which may keep the accesses apart"
    )))
}

/// What locks say.
fn locking(race: &Race<'_, '_>) -> Vec<Reason> {
    let describe = race.describe;
    let (first, second) = (race.event(race.best.write), race.event(race.best.other));
    let mut reasons = Vec::new();
    let is_shared = |guard: &Guard| guard.mode != LockMode::Exclusive;
    if first.guards.is_empty() && second.guards.is_empty() {
        reasons.push(NO_LOCK_AT_ALL.holds());
    } else {
        let (one, other) = (locks_text(describe, first), locks_text(describe, second));
        let sentence = match one == other {
            true => format!("both hold {one}, which does not keep them apart"),
            false => format!("held: {one} vs {other}"),
        };
        reasons.push(NO_COMMON_LOCK.holds_because(sentence));
    }
    let is_weak = |event: &Event| !event.guards.is_empty() && event.guards.iter().all(is_shared);
    if race.writes().any(is_weak) {
        reasons.push(WRITE_UNDER_READ_LOCK.holds());
    }
    match race.class {
        ConflictClass::LockNotUnique => reasons.push(LOCK_NOT_UNIQUE.holds()),
        ConflictClass::AllWritesLocked => reasons.push(ALL_WRITES_LOCKED.holds()),
        ConflictClass::NoRead => reasons.push(NO_READ.holds()),
        ConflictClass::Other => {}
    }
    if race.class != ConflictClass::LockNotUnique
        && let Some(usual) = usual_lock(race)
        && usual.is_significant()
    {
        reasons.push(GUARDED_ELSEWHERE.holds_because(format!(
            "{} of {} hold {}",
            usual.holding,
            counted(usual.all, "access", "accesses"),
            usual.label
        )));
    }
    reasons
}

/// What the values say.
fn values(race: &Race<'_, '_>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if is_same_constant(race) {
        reasons.push(SAME_CONSTANT.holds());
    }
    if is_update(race) {
        reasons.push(LOST_UPDATE.holds());
    }
    if matches!(race.conflicting.kind, VariableKind::Elements(_)) {
        reasons.push(ARRAY_ELEMENT.holds());
    }
    reasons
}

/// What the object and the kinds of threads of two accesses say.
pub(crate) fn objects(
    describe: &Describe<'_, '_>,
    object: Option<ObjectId>,
    [first, second]: [&Event; 2],
) -> Vec<Reason> {
    let execution = describe.execution;
    let mut reasons = Vec::new();
    match object {
        Some(object) if describe.is_unknown(object) => reasons.push(UNKNOWN_OBJECT.holds()),
        Some(object) if !execution.is_unique(object) => {
            let made =
                describe.made_at(object).map_or(String::new(), |at| format!(" made at {at}"));
            let class = describe.object_class(object);
            let is_own = first.thread == second.thread
                && execution.heap.objects[object].origin == Some(first.thread);
            reasons.push(match is_own {
                true => OWN_OBJECTS.holds_because(format!(
                    "each of these threads makes {class} objects{made} and may use only its own"
                )),
                false => MERGED_OBJECTS.holds_because(format!(
                    "the {class} objects{made} are not told apart, so the accesses may be to \
                     different ones"
                )),
            });
        }
        _ => reasons.push(ONE_OBJECT.holds()),
    }
    reasons.extend(object.and_then(|object| coarse_heap(execution, object, [first, second])));
    let kinds = [first, second].map(|event| execution.heap.origins[event.thread].kind);
    if kinds.contains(&OriginKind::Later) {
        reasons.push(UNKNOWN_THREAD.holds());
    }
    if kinds == [OriginKind::Client, OriginKind::Client] {
        reasons.push(CLIENTS.holds());
    }
    reasons
}

/// Whether the object or who accesses it is distinguished only roughly.
pub(crate) fn coarse_heap(
    execution: &Execution<'_>,
    object: ObjectId,
    accesses: [&Event; 2],
) -> Option<Reason> {
    coarse(execution, object, &accesses.map(|event| event.instance))
}

/// Whether an object or one of the methods that have to do with it is distinguished only roughly.
pub(crate) fn coarse(
    execution: &Execution<'_>,
    object: ObjectId,
    instances: &[InstanceId],
) -> Option<Reason> {
    let heap = &execution.heap;
    let is_mixed = |instance: &InstanceId| {
        let origin = heap.instances[*instance].origin;
        heap.origins[origin].kind == OriginKind::Mixed
    };
    let made = &heap.objects[object];
    let is_object_mixed = !heap.widened.is_empty() && made.origin.is_none() && made.made.is_some();
    (is_object_mixed || instances.iter().any(is_mixed)).then(|| COARSE_HEAP.holds())
}

/// Why the accesses are not ordered.
pub(crate) fn order(
    describe: &Describe<'_, '_>,
    first: EventId,
    second: EventId,
) -> Option<Reason> {
    let (first, second) = (describe.event(first).thread, describe.event(second).thread);
    let origins = &describe.execution.heap.origins;
    let started = |thread: OriginId| origins[thread].start;
    let is_starter = |thread: OriginId, of: OriginId| {
        let start = started(of);
        start.is_some_and(|start| {
            describe.execution.heap.threads_of(start.instance).contains(&thread)
        })
    };
    // Where a thread is started, unless its name says so.
    let at = |thread: OriginId| {
        let place = started(thread)
            .map(|start| describe.place_of(describe.method_of(start.instance), start.statement));
        match place {
            Some(place) if !describe.thread(thread).ends_with(&place) => {
                format!(" (started at {place})")
            }
            _ => String::new(),
        }
    };
    if first == second {
        if origins[first].kind == OriginKind::Client {
            return None;
        }
        let several = describe.several_threads(first);
        let sentence = format!("{several} may run at the same time{}", at(first));
        return Some(THREAD_NOT_UNIQUE.holds_because(sentence));
    }
    let parent_and_child = if is_starter(first, second) {
        Some((first, second))
    } else if is_starter(second, first) {
        Some((second, first))
    } else {
        None
    };
    let sentence = match parent_and_child {
        Some((parent, child)) => {
            let child_name = describe.other_thread(parent, child);
            let parent = describe.one_thread(parent);
            return Some(NEVER_JOINED.holds_because(format!(
                "{parent} may do this while {child_name}{} runs: it comes neither before the start \
                 nor after the end",
                at(child)
            )));
        }
        None => format!(
            "{}{} and {}{} run independently of each other",
            describe.one_thread(first),
            at(first),
            describe.other_thread(first, second),
            at(second)
        ),
    };
    Some(INDEPENDENT_THREADS.holds_because(sentence))
}

/// Whether the writes never change the value: all store the same constant, which the variable has from
/// the beginning.
pub(crate) fn is_same_constant(race: &Race<'_, '_>) -> bool {
    let VariableKind::Field(field) = race.conflicting.kind else { return false };
    let describe = race.describe;
    let constant = |event: &Event| {
        let body = code::body(describe.program, &describe.execution.heap, event.instance)?;
        code::stored_constant(body, event.statement)
    };
    let mut writes = describe.writes_of(field).iter().map(|&id| describe.event(id));
    let Some(first) = writes.next() else { return false };
    let value = constant(first);
    let is_initial =
        |event: &Event| event.writes_default || !is_candidate(describe.execution, event);
    value.is_some()
        && (is_initial(first) || writes.clone().any(is_initial))
        && writes.all(|event| constant(event) == value)
}

/// Whether an update gets lost: two writes conflict, and one computes the new value from the old one.
pub(crate) fn is_update(race: &Race<'_, '_>) -> bool {
    conflicting_writes(race).any(|event| {
        let program = race.describe.program;
        code::body(program, &race.describe.execution.heap, event.instance)
            .is_some_and(|body| code::is_update(&program.names, body, event.statement))
    })
}

/// Whether two writes conflict, and one is in a method that tests the variable.
pub(crate) fn is_tested(race: &Race<'_, '_>) -> bool {
    conflicting_writes(race).any(|event| {
        let program = race.describe.program;
        code::body(program, &race.describe.execution.heap, event.instance)
            .is_some_and(|body| code::is_tested(&program.names, body, event.statement))
    })
}

/// The writes that conflict with a write.
fn conflicting_writes<'r>(race: &Race<'r, '_>) -> impl Iterator<Item = &'r Event> {
    let describe = race.describe;
    let writes = race
        .conflicting
        .pairs
        .iter()
        .map(|pair| [describe.event(pair.write), describe.event(pair.other)]);
    writes.filter(|[_, other]| other.kind == AccessKind::Write).flatten()
}

/// The lock that most accesses hold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UsualLock {
    /// `this.lock`, `Bank.LOCK`, or the class.
    pub(crate) label: String,
    /// The lines that hold it.
    pub(crate) holding: usize,
    /// All lines with an access.
    pub(crate) all: usize,
}

impl UsualLock {
    /// Whether so many hold it that those that do not look forgotten.
    pub(crate) fn is_significant(&self) -> bool {
        self.holding < self.all && 2 * self.holding >= self.all
    }
}

/// What makes a lock the same at different accesses.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum LockIdentity {
    Object(ObjectId),
    Path(Vec<PathStep>, Vec<PathStep>),
}

fn identity(describe: &Describe<'_, '_>, guard: &Guard) -> Option<LockIdentity> {
    match (&*guard.objects, &guard.relation) {
        (&[object], _) if describe.execution.is_unique(object) => {
            Some(LockIdentity::Object(object))
        }
        (_, Some(relation)) => {
            Some(LockIdentity::Path(relation.to_base.to_vec(), relation.to_lock.to_vec()))
        }
        (&[object], None) => Some(LockIdentity::Object(object)),
        _ => None,
    }
}

/// The lock that most lines with an access hold.
pub(crate) fn usual_lock(race: &Race<'_, '_>) -> Option<UsualLock> {
    let describe = race.describe;
    // A line holds a lock if all its accesses do.
    let mut lines: BTreeMap<String, Option<Vec<LockIdentity>>> = BTreeMap::new();
    let mut labels: BTreeMap<LockIdentity, String> = BTreeMap::new();
    for &id in &race.conflicting.events {
        let event = describe.event(id);
        let mut held = Vec::new();
        for guard in event.guards.iter() {
            let Some(lock) = identity(describe, guard) else { continue };
            let label = describe.lock_label(event, guard);
            let label = match (label, &*guard.objects) {
                (Some(label), &[object]) if label == "class" => {
                    format!("{}.class", simple_name(&describe.object_class(object)))
                }
                (Some(label), _) => label,
                (None, &[object, ..]) => format!("a {}", describe.object_class(object)),
                (None, []) => continue,
            };
            // `this` says more than `the object itself`.
            let known = labels.entry(lock.clone()).or_insert_with(|| label.clone());
            if label.starts_with("this") {
                *known = label;
            }
            held.push(lock);
        }
        let line = lines.entry(describe.place(id)).or_default();
        *line = Some(match line.take() {
            Some(before) => before.into_iter().filter(|lock| held.contains(lock)).collect(),
            None => held,
        });
    }
    let mut counts: BTreeMap<LockIdentity, usize> = BTreeMap::new();
    for lock in lines.values().flatten().flatten() {
        *counts.entry(lock.clone()).or_default() += 1;
    }
    let most = counts.values().copied().max()?;
    let (lock, &holding) = counts.iter().find(|&(_, &count)| count == most)?;
    Some(UsualLock { label: labels.remove(lock)?, holding, all: lines.len() })
}

fn locks_text(describe: &Describe<'_, '_>, event: &Event) -> String {
    let locks: Vec<String> = describe.locks(event).iter().map(ToString::to_string).collect();
    match locks.is_empty() {
        true => "no lock".to_owned(),
        false => locks.join(", "),
    }
}

/// Whether the starting thread writes what the started one accesses, or reads what it wrote: then an
/// order by start or join is the natural repair.
pub(crate) fn start_or_join(race: &Race<'_, '_>) -> Option<StartOrJoin> {
    let describe = race.describe;
    let heap = &describe.execution.heap;
    let (first, second) = (race.event(race.best.write), race.event(race.best.other));
    let is_starter = |thread: OriginId, of: OriginId| {
        let start = heap.origins[of].start;
        start.is_some_and(|start| heap.threads_of(start.instance).contains(&thread))
    };
    if first.thread == second.thread || second.kind == AccessKind::Write {
        return None;
    }
    if is_starter(first.thread, second.thread) {
        return Some(StartOrJoin::WriteBeforeStart(second.thread));
    }
    is_starter(second.thread, first.thread).then_some(StartOrJoin::ReadAfterJoin(first.thread))
}

/// How starting or joining a thread could order two accesses.
pub(crate) enum StartOrJoin {
    /// The starting thread could write before it starts this one.
    WriteBeforeStart(OriginId),
    /// The starting thread could read after it has joined this one.
    ReadAfterJoin(OriginId),
}
