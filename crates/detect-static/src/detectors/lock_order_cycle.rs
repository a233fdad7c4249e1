//! Rule `lock-order-cycle`: threads that take the same locks in different orders, *mutual wait* in [vonPraun04 §6.2.3].
//!
//! Deviations: cycles are found between the acquisitions themselves, so that order and gates count;
//! two objects that one abstract lock stands for can wait for each other (`transfer(a, b)`), unless the method compares
//! them before it takes them; locks of `java.util.concurrent` count, read locks do not exclude each other, and
//! `tryLock` does not wait. Cycles of class initializers are reported along with them (`initializers`).
//!
//! **Guarantees**: for every cycle of acquisitions that the execution knows, that nothing orders and no gate excludes,
//! one with the same or fewer sites is reported, unless a note says that the search was cut short. Acquisitions that are
//! alike (same moment, locks and gates) can stand for each other: where there are many, every one is reported in some
//! cycle, but not in every combination with the others.
//! **Misses**: locks that are held only on some paths to the acquisition; deadlocks by waiting for something else than a
//! lock (`critical-wait`). **Reports wrongly**: where the threads never use the same objects, and where data keeps them
//! apart.

mod cycles;
mod graph;
mod initializers;
mod reach;

use unsnarl_findings::lock_cycle::{CAN_WAIT, WaitingThread, cycle_message};
use unsnarl_findings::{
    Access, Effect, Evidence, Finding, Heuristic, Reason, Rule, Subject, hints,
};
use unsnarl_program::heap::{ObjectId, OriginKind};
use unsnarl_symbolic::Guard;

use crate::locks::acquisition::{Pairing, pairing};
use crate::wording::describe::Describe;
use crate::wording::reasons;
use crate::{Input, Output};
use cycles::{Cycles, LockOrderEdge, cycles};

/// The name in findings.
pub(crate) const NAME: &str = "static/lock-order";

static SINGLE_LOCKS: Heuristic = Heuristic {
    name: "single-locks",
    effect: Effect::raises(2),
    sentence: "each of the locks is a single object",
};
static TWO_OF_A_KIND: Heuristic = Heuristic {
    name: "two-of-a-kind",
    effect: Effect::raises(1),
    sentence: "one method takes two locks of a kind, in the order in which its callers name them",
};
static MAY_BE_THE_SAME: Heuristic = Heuristic {
    name: "may-be-the-same",
    effect: Effect::lowers(2),
    sentence: "the two locks may always be one and the same object, which a thread can take twice",
};
static FOLLOWS_A_FIELD: Heuristic = Heuristic {
    name: "follows-a-field",
    effect: Effect::lowers(2),
    sentence: "the second lock is found by way of the first: if that never leads back, the order is fixed",
};
static MAY_BE_OTHERS: Heuristic = Heuristic {
    name: "may-be-others",
    effect: Effect::lowers(1),
    sentence: "the locks are several objects, and the threads may never use the same ones",
};
static POSSIBLE_GATE: Heuristic = Heuristic {
    name: "possible-gate",
    effect: Effect::lowers(2),
    sentence: "all hold one more lock of a kind: if that is always the same object, they exclude each other",
};
static CLIENTS: Heuristic = Heuristic {
    name: "clients",
    effect: Effect::NONE,
    sentence: "it takes two client threads that use the same objects",
};

/// Finds cycles.
pub(crate) fn run(input: &Input<'_, '_>, output: &mut Output) {
    let describe = input.describe;
    let Cycles { cycles, is_cut_short } = cycles(input);
    output.stats.push(("lock_events", describe.execution.lock_events.len() as u64));
    output.stats.push(("lock_cycles", cycles.len() as u64));
    output.findings.extend(cycles.iter().map(|cycle| finding(describe, cycle)));
    output.findings.extend(initializers::findings(describe));
    if is_cut_short {
        output.notes.push("the locks have so many cycles that not all were looked at".to_owned());
    }
}

fn finding(describe: &Describe<'_, '_>, cycle: &[LockOrderEdge]) -> Finding {
    let accesses: Vec<Access> = cycle.iter().map(|step| describe.lock_access(step.event)).collect();
    let first = describe.lock_event(cycle[0].event).thread;
    let waiting = |step: &LockOrderEdge| {
        let event = describe.lock_event(step.event);
        let thread = match step.event == cycle[0].event {
            true => describe.one_thread(event.thread),
            false => describe.other_thread(first, event.thread),
        };
        let [held, acquired] =
            [step.held, step.acquired].map(|lock| describe.lock_of(lock).to_string());
        let other = if step.held == step.acquired { "another " } else { "" };
        let (acquired, site) = (format!("{other}{acquired}"), describe.lock_place(step.event));
        WaitingThread { thread, held, acquired, site }
    };
    let message = match cycle[0] == cycle[1] {
        true => format!("{}, and so does another one: {CAN_WAIT}", waiting(&cycle[0])),
        false => cycle_message(cycle.iter().map(waiting), CAN_WAIT),
    };
    let mut locks = cycle.iter().map(|step| describe.lock_of(step.held));
    let subject = Subject::locks(locks.next().expect("a cycle has locks"), locks);
    let rule = Rule::LockOrderCycle;
    let mut finding = Finding::new(rule, subject, Evidence::Suspected, NAME, message, accesses);
    finding.reasons = reasons(describe, cycle);
    finding.hint = Some(hints::LOCK_IN_ONE_ORDER.to_owned());
    finding
}

fn reasons(describe: &Describe<'_, '_>, cycle: &[LockOrderEdge]) -> Vec<Reason> {
    let execution = describe.execution;
    let events = || cycle.iter().map(|step| describe.lock_event(step.event));
    let is_known = |step: &LockOrderEdge| {
        let event = describe.lock_event(step.event);
        event.objects.len() == 1 && event.held[step.guard].objects.len() == 1
    };
    let mut reasons = Vec::new();
    if cycle.iter().all(|step| step.held == step.acquired) {
        let pairings: Vec<Pairing> =
            cycle.iter().map(|step| pairing(describe, step.event, step.held)).collect();
        reasons.push(if pairings.iter().all(|it| *it == Pairing::Independent) {
            &TWO_OF_A_KIND
        } else if pairings.contains(&Pairing::Derived)
            || cycle.iter().any(|step| follows_a_field(describe, step))
        {
            &FOLLOWS_A_FIELD
        } else {
            &MAY_BE_THE_SAME
        });
    } else if cycle.iter().all(|step| execution.is_unique(step.held) && is_known(step)) {
        reasons.push(&SINGLE_LOCKS);
    } else if !cycle.iter().all(|step| is_related(describe, step)) {
        reasons.push(&MAY_BE_OTHERS);
    }
    if has_possible_gate(describe, cycle) {
        reasons.push(&POSSIBLE_GATE);
    }
    if events().all(|event| execution.heap.origins[event.thread].kind == OriginKind::Client) {
        reasons.push(&CLIENTS);
    }
    let mut reasons: Vec<Reason> = reasons.into_iter().map(Heuristic::holds).collect();
    let instances: Vec<_> = events().map(|event| event.instance).collect();
    let coarse = cycle.iter().find_map(|step| reasons::coarse(execution, step.held, &instances));
    reasons.extend(coarse);
    reasons
}

fn guard<'d>(describe: &Describe<'d, '_>, step: &LockOrderEdge) -> &'d Guard {
    &describe.lock_event(step.event).held[step.guard]
}

/// Whether the one lock is found by way of the other, or both by way of a third.
fn is_related(describe: &Describe<'_, '_>, step: &LockOrderEdge) -> bool {
    guard(describe, step).relation.is_some()
}

/// Whether the acquired lock is in a field of the one that is held.
fn follows_a_field(describe: &Describe<'_, '_>, step: &LockOrderEdge) -> bool {
    let relation = guard(describe, step).relation.as_ref();
    relation.is_some_and(|relation| relation.to_lock.is_empty() && !relation.to_base.is_empty())
}

/// Whether all steps are made with one more lock held that may be one object for all of them.
fn has_possible_gate(describe: &Describe<'_, '_>, cycle: &[LockOrderEdge]) -> bool {
    let is_in_cycle = |lock: &ObjectId| cycle.iter().any(|step| step.held == *lock);
    let gates = |step: &LockOrderEdge| -> Vec<ObjectId> {
        let held = describe.lock_event(step.event).held.iter().enumerate();
        let others = held.filter(|(at, _)| *at != step.guard).map(|(_, guard)| guard);
        let locks = others.flat_map(|guard| guard.objects.iter().copied());
        locks.filter(|lock| !is_in_cycle(lock)).collect()
    };
    let mut common = gates(&cycle[0]);
    for step in &cycle[1..] {
        let others = gates(step);
        common.retain(|lock| others.contains(lock));
    }
    !common.is_empty()
}
