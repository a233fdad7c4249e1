//! Rule `critical-wait`: a thread waits while it holds another lock [vonPraun04 §6.2.2].
//!
//! Deviations: the threads that notify are looked for. If one of them needs the lock that is held, the finding
//! is more certain; if none does, it is a warning. Waiting for a latch, a permit, a barrier, an element of a queue or room
//! in it, and for a thread or task to end, counts as well, but only if all threads that are waited for need the lock.
//!
//! **Guarantees**: every `wait` with another lock certainly held is reported, if others want that lock.
//! **Misses**: locks that are held only on some paths to the wait; a thread that acquires the lock, releases it and only
//! then fills the queue. **Reports wrongly**: an outer lock that no notifying thread needs.

use std::collections::BTreeMap;

use unsnarl_findings::{
    Effect, Evidence, Finding, Heuristic, Lock, Rule, Severity, Subject, hints,
};
use unsnarl_models::{Blocking, Effect as ModelEffect, LockMode};
use unsnarl_program::MethodId;
use unsnarl_program::body::{Operation, StatementId};
use unsnarl_program::heap::{ObjectId, OriginId};
use unsnarl_symbolic::{Guard, LockAction, LockEvent, LockEventId};

use crate::code;
use crate::code::dependence::Dependence;
use crate::locks::acquisition::first_load;
use crate::wording::describe::{Describe, listed};
use crate::wording::reasons;
use crate::{Input, Output};

/// The name in findings.
pub(crate) const NAME: &str = "static/critical-wait";

static NOTIFIER_NEEDS_IT: Heuristic = Heuristic {
    name: "notifier-needs-it",
    effect: Effect::raises(2),
    sentence: "who is waited for needs the lock that is kept, and cannot go on meanwhile",
};
static SOME_NOTIFIER_NEEDS_IT: Heuristic = Heuristic {
    name: "some-notifier-needs-it",
    effect: Effect::NONE,
    sentence: "some of those who notify hold the lock that is kept, and others do without",
};
static NOTIFIER_DOES_WITHOUT: Heuristic = Heuristic {
    name: "notifier-does-without",
    effect: Effect::lowers(2),
    sentence: "nobody who notifies holds the lock that is kept",
};
static ENDS_BY_ITSELF: Heuristic = Heuristic {
    name: "ends-by-itself",
    effect: Effect::lowers(1),
    sentence: "the wait ends by itself after a while",
};
static MAY_BE_ANOTHER: Heuristic = Heuristic {
    name: "may-be-another",
    effect: Effect::lowers(2),
    sentence: "the lock is one of several objects, and who is waited for may need another one",
};

/// A wait with a lock that is kept, and why that is bad.
struct Critical {
    wait: LockEventId,
    kept: Vec<ObjectId>,
    needs: Option<Need>,
    who: Who,
}

/// Which of those who notify need a lock that is kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    /// Nobody notifies.
    Nobody,
    /// Those who notify do without it.
    Others,
    Some,
    All,
}

/// Who is waited for needs the lock.
#[derive(Clone, Copy)]
struct Need {
    event: LockEventId,
    lock: ObjectId,
}

/// Finds critical waits.
pub(crate) fn run(input: &Input<'_, '_>, output: &mut Output) {
    let describe = input.describe;
    let mut found: BTreeMap<(MethodId, StatementId), Critical> = BTreeMap::new();
    for (wait, event) in describe.execution.lock_events.iter() {
        let method = describe.method_of(event.instance);
        if event.held.is_empty() || !describe.is_input(describe.program.methods()[method].class) {
            continue;
        }
        let place = (method, event.statement);
        if found.get(&place).is_some_and(|known| known.who == Who::All) {
            continue;
        }
        let Some(critical) = judge(input, wait) else { continue };
        if found.get(&place).is_none_or(|known| known.who < critical.who) {
            found.insert(place, critical);
        }
    }
    output.findings.extend(found.values().map(|critical| critical.finding(describe)));
}

fn judge(input: &Input<'_, '_>, wait: LockEventId) -> Option<Critical> {
    let describe = input.describe;
    let event = describe.lock_event(wait);
    let (needs, who) = match event.action {
        LockAction::Wait { .. } => {
            let notifiers = meanwhile(describe, wait, input.lock_index().notifies(&event.objects));
            let holding: Vec<Need> =
                notifiers.iter().filter_map(|&notify| holds(describe, notify, event)).collect();
            let who = match (notifiers.len(), holding.len()) {
                (0, _) => Who::Nobody,
                (_, 0) => Who::Others,
                (all, some) if all == some => Who::All,
                _ => Who::Some,
            };
            (holding.into_iter().next(), who)
        }
        LockAction::Receive => {
            let senders = input.lock_index().sends(&event.objects);
            (Some(all_need(input, wait, senders)?), Who::All)
        }
        LockAction::Put => {
            let takers = input.lock_index().takes(&event.objects);
            (Some(all_need(input, wait, takers)?), Who::All)
        }
        LockAction::Join => (Some(joined_needs(input, wait)?), Who::All),
        LockAction::Acquire(_)
        | LockAction::Notify
        | LockAction::Send
        | LockAction::Take
        | LockAction::Initialize(_) => return None,
    };
    let kept = match &needs {
        Some(need) => vec![need.lock],
        None => event.held.iter().filter_map(|guard| guard.objects.first().copied()).collect(),
    };
    Some(Critical { wait, kept, needs, who })
}

/// Those of some events that can be at the same time as another.
fn meanwhile(
    describe: &Describe<'_, '_>,
    event: LockEventId,
    mut others: Vec<LockEventId>,
) -> Vec<LockEventId> {
    others.retain(|&other| describe.execution.lock_order(None, event, other).is_none());
    others
}

fn common(one: &[ObjectId], other: &[ObjectId]) -> Option<ObjectId> {
    one.iter().copied().find(|object| other.contains(object))
}

/// A lock of an event that is held at another one in a way that excludes it.
fn holds(describe: &Describe<'_, '_>, other: LockEventId, event: &LockEvent) -> Option<Need> {
    let held = &describe.lock_event(other).held;
    let same = |kept: &Guard, guard: &Guard| {
        let can_share = [kept.mode, guard.mode].iter().all(|mode| *mode == LockMode::Shared);
        common(&kept.objects, &guard.objects).filter(|_| !can_share)
    };
    event.held.iter().find_map(|kept| {
        let lock = held.iter().find_map(|guard| same(kept, guard))?;
        Some(Need { event: other, lock })
    })
}

/// A lock of an event that another one acquires.
fn acquires(input: &Input<'_, '_>, other: LockEventId, event: &LockEvent) -> Option<Need> {
    let acquire = input.describe.lock_event(other);
    let objects = input.lock_index().objects(input.describe, acquire);
    let LockAction::Acquire(mode) = acquire.action else { return None };
    event.held.iter().find_map(|kept| {
        let can_share = mode == LockMode::Shared && kept.mode == LockMode::Shared;
        let lock = common(&kept.objects, &objects).filter(|_| !can_share)?;
        Some(Need { event: other, lock })
    })
}

/// The acquisitions of a lock of an event, as far as they are not made in a way that shares it.
fn needs<'n>(input: &'n Input<'_, '_>, event: &'n LockEvent) -> impl Iterator<Item = Need> {
    let kept = event.held.iter().flat_map(|guard| guard.objects.iter().copied());
    let acquisitions = input.lock_index().acquires(kept).into_iter();
    acquisitions.filter_map(|other| acquires(input, other, event))
}

/// Whether all who can end a wait hold a lock that is kept, or acquire it before.
fn all_need(input: &Input<'_, '_>, wait: LockEventId, enders: Vec<LockEventId>) -> Option<Need> {
    let describe = input.describe;
    let execution = describe.execution;
    let event = describe.lock_event(wait);
    let mut acquired_before: BTreeMap<OriginId, Option<Need>> = BTreeMap::new();
    let mut first = None;
    for send in meanwhile(describe, wait, enders) {
        if gives_back(input, send, event) {
            continue;
        }
        let thread = describe.lock_event(send).thread;
        let need = holds(describe, send, event).or_else(|| {
            *acquired_before.entry(thread).or_insert_with(|| {
                needs(input, event).find(|need| {
                    describe.lock_event(need.event).thread == thread
                        && execution.has_not_sent(need.event, &event.objects)
                        && execution.lock_order(None, wait, need.event).is_none()
                })
            })
        })?;
        first.get_or_insert(need);
    }
    first
}

/// Whether something that is waited for, such as the permit of a semaphore, is given back by who has taken it under the
/// lock that is kept: whoever has that lock finds it there.
fn gives_back(input: &Input<'_, '_>, send: LockEventId, event: &LockEvent) -> bool {
    let describe = input.describe;
    let own = describe.lock_event(send);
    let Some(body) = code::body(describe.program, &describe.execution.heap, own.instance) else {
        return false;
    };
    input.lock_index().receives(&own.objects).iter().any(|&id| {
        let taken = describe.lock_event(id);
        taken.context == own.context
            && code::is_always_after(body, own.statement, [taken.statement].into_iter())
            && holds(describe, id, event).is_some()
    })
}

/// Whether a thread that is waited for acquires a lock that is kept.
fn joined_needs(input: &Input<'_, '_>, wait: LockEventId) -> Option<Need> {
    let execution = input.describe.execution;
    let event = input.describe.lock_event(wait);
    if has_asked(input.describe, event) {
        return None;
    }
    let joined = execution.joined_threads(&event.objects);
    needs(input, event).find(|need| {
        joined.contains(&execution.lock_events[need.event].thread)
            && execution.lock_order(None, wait, need.event).is_none()
    })
}

/// Whether a task is waited for only if it was asked before whether it has ended.
fn has_asked(describe: &Describe<'_, '_>, event: &LockEvent) -> bool {
    let heap = &describe.execution.heap;
    let Some(body) = code::body(describe.program, heap, event.instance) else { return false };
    let receiver = |statement: StatementId| match &body.statements[statement].operation {
        Operation::Invoke { arguments, .. } => Some(first_load(body, *arguments.first()?)),
        _ => None,
    };
    let asks = |statement: &StatementId| {
        let models = heap.models_at(event.instance, *statement).iter();
        let mut effects = models.flat_map(|call| &call.model.effects);
        effects.any(|effect| matches!(effect, ModelEffect::Join { blocking: Blocking::Never, .. }))
    };
    let waited = receiver(event.statement);
    let same = body.statements.keys().filter(|&it| waited.is_some() && receiver(it) == waited);
    let asked: Vec<StatementId> = same.filter(asks).collect();
    Dependence::new(&describe.program.names, body).is_tested(&asked, event.statement)
}

impl Critical {
    fn finding(&self, describe: &Describe<'_, '_>) -> Finding {
        let event = describe.lock_event(self.wait);
        let by = describe.one_thread(event.thread);
        let at = describe.lock_place(self.wait);
        let waited = if event.given_up.is_empty() { &event.objects } else { &event.given_up };
        let waited = waited
            .first()
            .map_or_else(|| Lock::named("unknown lock"), |&lock| describe.lock_of(lock));
        let kept: Vec<Lock> = self.kept.iter().map(|&lock| describe.lock_of(lock)).collect();
        let names: Vec<String> = kept.iter().map(ToString::to_string).collect();
        let how = match event.action {
            LockAction::Wait { .. } => "waits with",
            LockAction::Join => "waits for the end of",
            LockAction::Put => "waits for room in",
            _ => "waits for",
        };
        let why = self.needs.as_ref().map_or_else(String::new, |need| {
            let other = describe.lock_event(need.event);
            let whom = describe.other_thread(event.thread, other.thread);
            let verb = match other.action {
                LockAction::Acquire(_) => "acquires",
                LockAction::Notify => "holds when it notifies",
                LockAction::Take => "holds when it makes room",
                _ => "holds when it signals",
            };
            format!(", which {whom} {verb} at {}", describe.lock_place(need.event))
        });
        let message =
            format!("{by} {how} {waited} at {at} and keeps {} meanwhile{why}", listed(&names));
        let mut accesses = vec![describe.lock_access(self.wait)];
        // A run reports a wait by its own site alone, and the two are one finding.
        let is_reported_by_runs = matches!(event.action, LockAction::Wait { .. });
        let need = self.needs.as_ref().filter(|_| !is_reported_by_runs);
        accesses.extend(need.map(|need| describe.lock_access(need.event)));
        let rule = Rule::CriticalWait;
        let subject = Subject::locks(waited, kept);
        let mut finding = Finding::new(rule, subject, Evidence::Suspected, NAME, message, accesses);
        finding.hint = Some(hints::WAIT_WITHOUT_THE_OTHER_LOCK.to_owned());
        self.add_reasons(describe, &mut finding);
        finding
    }

    fn add_reasons(&self, describe: &Describe<'_, '_>, finding: &mut Finding) {
        let execution = describe.execution;
        let event = describe.lock_event(self.wait);
        finding.reasons.extend(match self.who {
            Who::All => Some(NOTIFIER_NEEDS_IT.holds()),
            Who::Some => Some(SOME_NOTIFIER_NEEDS_IT.holds()),
            Who::Others => Some(NOTIFIER_DOES_WITHOUT.holds()),
            Who::Nobody => None,
        });
        if self.who != Who::All {
            finding.severity = Severity::Warning;
        }
        if self.needs.as_ref().is_some_and(|need| !execution.is_unique(need.lock)) {
            finding.reasons.push(MAY_BE_ANOTHER.holds());
        }
        if event.action == (LockAction::Wait { is_timed: true }) {
            finding.severity = Severity::Warning;
            finding.reasons.push(ENDS_BY_ITSELF.holds());
        }
        let coarse = self.kept.iter();
        let mut coarse =
            coarse.filter_map(|&lock| reasons::coarse(execution, lock, &[event.instance]));
        finding.reasons.extend(coarse.next());
    }
}
