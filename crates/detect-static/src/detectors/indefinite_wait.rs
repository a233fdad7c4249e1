//! Rule `indefinite-wait`: waiting for what cannot come [vonPraun04 §6.2.2].
//!
//! A wait without a limit is indefinite if no other thread can notify its object while it waits. Von Praun asks whether
//! the object is notified anywhere; here a notification by the waiting thread itself, before the waiting thread begins
//! or after it has ended does not count. The same mistake is a task that waits for a task that it has submitted to its own
//! executor, if that has one thread, or so few that all of them can wait like this.
//!
//! **Guarantees**: nobody that the execution knows can notify while the thread waits.
//! **Misses**: a notification that can come too early, which is `lost-notify`; latches and queues that nobody fills.
//! **Reports wrongly**: where code that is not analysed notifies, and where the condition of the wait always holds.

use std::collections::BTreeMap;

use unsnarl_findings::{
    Effect, Evidence, Finding, Heuristic, Reason, Rule, Severity, Subject, hints,
};
use unsnarl_program::MethodId;
use unsnarl_program::body::StatementId;
use unsnarl_program::heap::{ObjectId, OriginId};
use unsnarl_symbolic::{LockAction, LockEventId};

use crate::code;
use crate::wording::describe::Describe;
use crate::wording::reasons;
use crate::{Input, Output};

/// The name in findings.
pub(crate) const NAME: &str = "static/indefinite-wait";

static NEVER_NOTIFIED: Heuristic = Heuristic {
    name: "never-notified",
    effect: Effect::raises(2),
    sentence: "nothing in the program notifies this object",
};
static NOTIFIED_IN_VAIN: Heuristic = Heuristic {
    name: "notified-in-vain",
    effect: Effect::raises(1),
    sentence: "it is notified only when nobody can be waiting",
};
static OWN_QUEUE: Heuristic = Heuristic {
    name: "own-queue",
    effect: Effect::raises(2),
    sentence: "the executor runs its tasks one after the other, and this one waits for a later one",
};
static OWN_POOL: Heuristic = Heuristic {
    name: "own-pool",
    effect: Effect::lowers(1),
    sentence: "the pool has a limited number of threads: if as many of these tasks run, nobody runs what they wait for",
};

/// Finds indefinite waits.
pub(crate) fn run(input: &Input<'_, '_>, output: &mut Output) {
    let describe = input.describe;
    let execution = describe.execution;
    let mut found: BTreeMap<(MethodId, StatementId), Option<Finding>> = BTreeMap::new();
    for (id, event) in execution.lock_events.iter() {
        let method = describe.method_of(event.instance);
        if !describe.is_input(describe.program.methods()[method].class) {
            continue;
        }
        let finding = match event.action {
            LockAction::Wait { is_timed: false } => unnotified(input, id),
            LockAction::Join => own_queue(describe, id),
            _ => continue,
        };
        // If the same wait is notified elsewhere, it is not indefinite by itself.
        let known = found.entry((method, event.statement)).or_insert_with(|| finding.clone());
        if finding.is_none() && event.action != LockAction::Join {
            *known = None;
        }
    }
    output.findings.extend(found.into_values().flatten());
}

/// A wait for a notification that cannot come.
fn unnotified(input: &Input<'_, '_>, wait: LockEventId) -> Option<Finding> {
    let describe = input.describe;
    let execution = describe.execution;
    let event = describe.lock_event(wait);
    // A thread object is notified when its thread ends; of others nobody knows who has them.
    let is_known = |object: &ObjectId| {
        execution.heap.objects[*object].made.is_some() && !describe.is_unknown(*object)
    };
    if event.objects.is_empty()
        || !event.objects.iter().all(is_known)
        || !execution.joined_threads(&event.objects).is_empty()
    {
        return None;
    }
    let notifies = input.lock_index().notifies(&event.objects);
    if notifies.iter().any(|&id| execution.lock_order(None, wait, id).is_none()) {
        return None;
    }
    let first = notifies.first();
    // Who was notified before may have seen from a condition that it need not wait.
    let body = code::body(describe.program, &execution.heap, event.instance)?;
    if first.is_some() && code::is_avoidable(body, event.statement) {
        return None;
    }
    let lock = *event.given_up.first().or(event.objects.first())?;
    let by = describe.one_thread(event.thread);
    let at = describe.lock_place(wait);
    let named = describe.lock_of(lock);
    let (how, reason) = match first {
        None => ("nothing notifies it".to_owned(), &NEVER_NOTIFIED),
        Some(&id) => {
            let place = describe.lock_place(id);
            (format!("the notification at {place} cannot come meanwhile"), &NOTIFIED_IN_VAIN)
        }
    };
    let message = format!("{by} waits with {named} at {at} without a limit, and {how}");
    let hint = hints::NOTIFY_UNDER_THE_LOCK;
    Some(finding(describe, wait, lock, message, hint, reason.holds()))
}

/// A task that waits for one that can only run after it.
fn own_queue(describe: &Describe<'_, '_>, join: LockEventId) -> Option<Finding> {
    let execution = describe.execution;
    let event = describe.lock_event(join);
    let joined = execution.joined_threads(&event.objects);
    let is_own =
        |task: &OriginId| execution.starters(*task) == [event.thread] && *task != event.thread;
    let own: Vec<OriginId> = joined.into_iter().filter(is_own).collect();
    let queued =
        own.iter().find_map(|&task| Some((task, execution.common_queue(event.thread, task)?)));
    // One task alone leaves the other threads of a pool to those that it waits for.
    let pooled = || {
        let mut own = own.iter().filter(|_| !execution.is_unique_thread(event.thread));
        own.find_map(|&task| Some((task, execution.common_pool(event.thread, task)?)))
    };
    let (task, queue) = queued.or_else(pooled)?;
    let [by, whom] = [event.thread, task].map(|thread| describe.one_thread(thread));
    let (when, reason) = match queued {
        Some(_) => ("only after it", &OWN_QUEUE),
        None => ("only if not all of its threads wait so", &OWN_POOL),
    };
    let message = format!(
        "{by} waits at {} for {whom}, which the same {} runs {when}",
        describe.lock_place(join),
        describe.lock_of(queue)
    );
    let hint = "give the inner task to another executor, or call it directly";
    let mut finding = finding(describe, join, queue, message, hint, reason.holds());
    if queued.is_some() {
        finding.severity = Severity::Error;
    }
    Some(finding)
}

fn finding(
    describe: &Describe<'_, '_>,
    event: LockEventId,
    lock: ObjectId,
    message: String,
    hint: &str,
    reason: Reason,
) -> Finding {
    let instance = describe.lock_event(event).instance;
    let subject = Subject::locks(describe.lock_of(lock), []);
    let accesses = vec![describe.lock_access(event)];
    let (rule, evidence) = (Rule::IndefiniteWait, Evidence::Suspected);
    let mut finding = Finding::new(rule, subject, evidence, NAME, message, accesses);
    finding.hint = Some(hint.to_owned());
    finding.reasons.push(reason);
    finding.reasons.extend(reasons::coarse(describe.execution, lock, &[instance]));
    finding
}
