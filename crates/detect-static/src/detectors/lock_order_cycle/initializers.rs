//! Cycles of class initializers, which are reported as lock-order cycles. A thread that is the first to use a class holds
//! the lock of its initialization, and waits for the classes that its initializer needs.
//!
//! The first use of a class by each thread is not known, only its uses: of two that can be at once, and that no use
//! of one of these classes comes before, each is taken to be the first. Code of these classes themselves comes later: who
//! runs it has initialized its class.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use unsnarl_findings::{Effect, Evidence, Finding, Heuristic, Lock, Rule, Subject};
use unsnarl_program::ClassId;
use unsnarl_program::heap::OriginKind;
use unsnarl_symbolic::{ContextId, LockAction, LockEventId, LockMoment, Order};

use super::NAME;
use crate::code;
use crate::wording::describe::{Describe, simple_name};

const HINT: &str = "use one of the classes before the threads are started, or move what both need to a third class";

static INITIALIZERS: Heuristic = Heuristic {
    name: "initializers",
    effect: Effect::raises(1),
    sentence: "the initializers of the classes need each other, and threads can begin with either",
};
static BY_WAY_OF_OBJECTS: Heuristic = Heuristic {
    name: "by-way-of-objects",
    effect: Effect::lowers(2),
    sentence: "an initializer needs the other class only by calls that lead to several methods, perhaps never to this one",
};

/// The cycles of initializers that two threads can come to from different ends.
pub(crate) fn findings(describe: &Describe<'_, '_>) -> Vec<Finding> {
    let needs = describe.execution.initializer_cycles();
    let mut reported: BTreeSet<ClassId> = BTreeSet::new();
    let mut findings = Vec::new();
    for &class in needs.keys() {
        let cycle = reached(needs, class);
        // Who needs itself, with all that are needed by it and need it.
        let cycle: Vec<ClassId> =
            cycle.iter().copied().filter(|&it| reached(needs, it).contains(&class)).collect();
        if cycle.len() > 1
            && cycle.iter().any(|&class| describe.is_input(class))
            && cycle.iter().all(|&class| reported.insert(class))
        {
            findings.extend(finding(describe, &cycle));
        }
    }
    findings
}

/// The classes that the initialization of a class needs in the end.
fn reached(needs: &BTreeMap<ClassId, BTreeSet<ClassId>>, class: ClassId) -> BTreeSet<ClassId> {
    let mut found = BTreeSet::new();
    let mut open = vec![class];
    while let Some(class) = open.pop() {
        let new = needs.get(&class).into_iter().flatten().copied();
        open.extend(new.filter(|&class| found.insert(class)));
    }
    found
}

fn finding(describe: &Describe<'_, '_>, cycle: &[ClassId]) -> Option<Finding> {
    let execution = describe.execution;
    let heap = &execution.heap;
    // The class of an entry point is initialized before it runs.
    let mains = heap.origins.values().filter(|origin| origin.kind == OriginKind::Main);
    let entries = mains.flat_map(|origin| origin.entries.iter());
    let mut entered =
        entries.map(|&entry| describe.program.methods()[describe.method_of(entry)].class);
    if entered.any(|class| cycle.contains(&class)) {
        return None;
    }
    let uses: Vec<(LockEventId, ClassId)> = execution
        .lock_events
        .iter()
        .filter_map(|(id, event)| match event.action {
            LockAction::Initialize(class) if cycle.contains(&class) => Some((id, class)),
            _ => None,
        })
        .collect();
    let mut by_context: FxHashMap<ContextId, Vec<LockEventId>> = FxHashMap::default();
    let mut moments: BTreeMap<LockMoment, LockEventId> = BTreeMap::new();
    for &(id, _) in &uses {
        let event = describe.lock_event(id);
        by_context.entry(event.context).or_default().push(id);
        moments.entry(event.moment()).or_insert(id);
    }
    let is_early = |early: LockEventId, late: LockEventId| {
        let [one, other] = [early, late].map(|id| describe.lock_event(id).thread);
        one != other && execution.lock_order(None, early, late) == Some(Order::Start)
    };
    let first_moments: BTreeSet<LockMoment> = moments
        .iter()
        .filter(|&(_, &late)| !moments.values().any(|&early| is_early(early, late)))
        .map(|(&moment, _)| moment)
        .collect();
    let is_passed = |late: LockEventId| {
        let late = describe.lock_event(late);
        let body = code::body(describe.program, &execution.heap, late.instance);
        let early = by_context[&late.context].iter().map(|&id| describe.lock_event(id).statement);
        body.is_some_and(|body| code::is_always_after(body, late.statement, early))
    };
    let is_inside = |id: LockEventId| {
        let mut methods = execution.lock_stack(id).into_iter().map(|(method, _)| method);
        methods.any(|method| cycle.contains(&describe.program.methods()[method].class))
    };
    let first = uses.iter().copied().filter(|&(id, _)| {
        first_moments.contains(&describe.lock_event(id).moment())
            && !is_passed(id)
            && !is_inside(id)
    });
    // Of the uses of a class at one moment any will do.
    let mut known: BTreeSet<(LockMoment, ClassId)> = BTreeSet::new();
    let first: Vec<(LockEventId, ClassId)> = first
        .filter(|&(id, class)| known.insert((describe.lock_event(id).moment(), class)))
        .collect();
    let (one, other) = first.iter().find_map(|&(one, class)| {
        let mut others = first.iter().filter(|(_, other)| *other != class);
        let other = others.find(|(other, _)| execution.lock_order(None, one, *other).is_none());
        other.map(|&(other, to)| ((one, class), (other, to)))
    })?;
    let name = |class: ClassId| simple_name(&describe.program.class_text(class)).to_owned();
    let lock = |class: ClassId| Lock::of_class("java.lang.Class").labelled(name(class));
    let [first, second] = [one.0, other.0].map(|event| describe.lock_event(event).thread);
    let message = format!(
        "{} initializes {} at {}, which needs {}, and {} initializes {} at {}, which needs {}: they can wait for \
         each other for ever",
        describe.one_thread(first),
        name(one.1),
        describe.lock_place(one.0),
        name(other.1),
        describe.other_thread(first, second),
        name(other.1),
        describe.lock_place(other.0),
        name(one.1),
    );
    let subject = Subject::locks(lock(one.1), [lock(other.1)]);
    let accesses = [one.0, other.0].map(|event| describe.lock_access(event)).to_vec();
    let rule = Rule::LockOrderCycle;
    let mut finding = Finding::new(rule, subject, Evidence::Suspected, NAME, message, accesses);
    finding.reasons.push(INITIALIZERS.holds());
    let certain = execution.certain_initializers();
    if !reached(certain, one.1).contains(&other.1) || !reached(certain, other.1).contains(&one.1) {
        finding.reasons.push(BY_WAY_OF_OBJECTS.holds());
    }
    finding.hint = Some(HINT.to_owned());
    Some(finding)
}
