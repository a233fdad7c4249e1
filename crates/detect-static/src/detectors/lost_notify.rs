//! Rule `lost-notify`: a notification that reaches the wrong thread, or nobody.
//!
//! Waits that nobody ends are described in [vonPraun04 §6.2]; the rule is our own. Two mistakes are reported.
//! **The wrong thread**: `notify` wakes one thread, and threads wait on the same object for different conditions.
//! **Nobody**: a thread waits without testing anything first, so that a notification that came before is lost.
//!
//! Waits and notifications belong together when they name the same field, or objects of one class through `this`, a
//! parameter or a variable. Conditions are different when each tests something that the other does not.
//!
//! **Guarantees**: every `notify` of the input is judged, reachable or not. **Misses**: waits and notifications that reach
//! one object by different names; conditions that are tested in a method of their own. **Reports wrongly** where only
//! threads of one kind wait at a time, and where each condition has an object of the class of its own.

use std::collections::{BTreeMap, BTreeSet};

use unsnarl_findings::{
    Access, AccessKind, Effect, Evidence, Finding, Heuristic, Rule, Severity, Subject, hints,
};
use unsnarl_program::FieldId;
use unsnarl_program::names::{Type, TypeId};

use crate::locks::name::{NamePart, Root};
use crate::locks::uses::{Code, LockOperation, Use};
use crate::locks::waits;
use crate::locks::waits::WaitSite;
use crate::wording::lock_text;
use crate::{Input, Output};

/// The name in findings.
pub(crate) const NAME: &str = "static/lost-notify";
/// The most sites of a kind that a finding shows.
const MOST_PLACES: usize = 3;

static DIFFERENT_CONDITIONS: Heuristic = Heuristic {
    name: "different-conditions",
    effect: Effect::raises(1),
    sentence: "the thread that is woken may wait for another condition, and nobody else is woken",
};

static NOTHING_TESTED: Heuristic = Heuristic {
    name: "nothing-tested",
    effect: Effect::raises(1),
    sentence: "the wait begins whether the notification has come or not",
};

static TIMED: Heuristic = Heuristic {
    name: "timed-wait",
    effect: Effect::lowers(2),
    sentence: "the wait ends after some time, so that the notification is late and not lost",
};

/// What waits and notifications have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Meeting {
    Field(FieldId),
    ObjectsOf(TypeId),
    Class(TypeId),
}

#[derive(Default)]
struct Group<'l> {
    waits: Vec<WaitSite<'l>>,
    notifications: Vec<(&'l Code, &'l Use, bool)>,
}

/// Finds notifications that may be lost.
pub(crate) fn run(input: &Input<'_, '_>, output: &mut Output) {
    let mut groups: BTreeMap<Meeting, Group<'_>> = BTreeMap::new();
    for site in waits::waits(&input.lock_use) {
        if let Some(meeting) = meeting(input, site.code, site.wait) {
            groups.entry(meeting).or_default().waits.push(site);
        }
    }
    for code in &input.lock_use.methods {
        for it in &code.uses {
            if let LockOperation::Notify { all } = it.action
                && let Some(meeting) = meeting(input, code, it)
            {
                groups.entry(meeting).or_default().notifications.push((code, it, all));
            }
        }
    }
    for group in groups.values() {
        output.findings.extend(wrong_thread(input, group));
        output.findings.extend(nobody(input, group));
    }
}

fn meeting(input: &Input<'_, '_>, code: &Code, it: &Use) -> Option<Meeting> {
    let program = input.describe.program;
    let ty = code.ty(it.value);
    match (it.lock.root, it.lock.parts.last()) {
        (_, Some(&NamePart::Field(field))) => {
            let data = &program.fields()[field];
            // The surrounding object of an inner class.
            let is_outer = program.names.bytes(data.name).starts_with(b"this$");
            Some(if is_outer { Meeting::ObjectsOf(data.ty) } else { Meeting::Field(field) })
        }
        (_, Some(_)) => None,
        (Root::Static(field), None) => Some(Meeting::Field(field)),
        (Root::Class(ty), None) => Some(Meeting::Class(ty)),
        _ => {
            let is_significant =
                ty != program.names.known.object && matches!(program.names.ty(ty), Type::Class(_));
            is_significant.then_some(Meeting::ObjectsOf(ty))
        }
    }
}

/// A `notify` where threads wait for different conditions.
fn wrong_thread(input: &Input<'_, '_>, group: &Group<'_>) -> Option<Finding> {
    let names = &input.describe.program.names;
    let single: Vec<&(&Code, &Use, bool)> =
        group.notifications.iter().filter(|(_, _, all)| !all).collect();
    let &&(code, notified, _) = single.first()?;
    let conditions: Vec<(&WaitSite<'_>, BTreeSet<String>)> = group
        .waits
        .iter()
        .map(|site| (site, site.conditions(names)))
        .filter(|(_, conditions)| !conditions.is_empty())
        .collect();
    let (one, other) = conditions.iter().enumerate().find_map(|(position, (one, tested))| {
        let differs = |(_, others): &&(&WaitSite<'_>, BTreeSet<String>)| {
            !tested.is_subset(others) && !others.is_subset(tested)
        };
        let (other, _) = conditions[position + 1..].iter().find(differs)?;
        Some((*one, *other))
    })?;
    let describe = input.describe;
    let lock = lock_text::lock(describe, code, notified);
    let message = format!(
        "the notify at {} wakes one thread that waits for {}, and threads wait for different \
         conditions at {} and {}",
        lock_text::place(describe, code, notified.statement),
        lock_text::short(&lock),
        lock_text::place(describe, one.code, one.wait.statement),
        lock_text::place(describe, other.code, other.wait.statement),
    );
    let mut accesses: Vec<Access> = single
        .iter()
        .take(MOST_PLACES)
        .map(|(code, it, _)| lock_text::access(describe, AccessKind::Notify, code, it.statement))
        .collect();
    accesses.extend(
        [one, other].map(|site| {
            lock_text::access(describe, AccessKind::Wait, site.code, site.wait.statement)
        }),
    );
    let subject = Subject::locks(lock, []);
    let mut finding =
        Finding::new(Rule::LostNotify, subject, Evidence::Suspected, NAME, message, accesses);
    finding.reasons.push(DIFFERENT_CONDITIONS.holds());
    if [one, other].iter().all(|site| site.is_timed) {
        finding.reasons.push(TIMED.holds());
    }
    finding.hint = Some(
        "wake all with notifyAll, or give each condition an object of its own to wait for".into(),
    );
    Some(finding)
}

/// A wait that begins whether the notification has come or not.
fn nobody(input: &Input<'_, '_>, group: &Group<'_>) -> Option<Finding> {
    let describe = input.describe;
    let is_blind = |site: &&WaitSite<'_>| {
        !site.is_guarded() && !site.is_repeated && !site.is_in_outer_loop && !site.is_called_in_loop
    };
    let site = group.waits.iter().find(is_blind)?;
    let &(code, notified, _) =
        group.notifications.iter().find(|(code, _, _)| code.method != site.code.method)?;
    let lock = lock_text::lock(describe, site.code, site.wait);
    let message = format!(
        "the notification for {} at {} is lost when it comes before the wait at {}, which tests nothing",
        lock_text::short(&lock),
        lock_text::place(describe, code, notified.statement),
        lock_text::place(describe, site.code, site.wait.statement),
    );
    let accesses = vec![
        lock_text::access(describe, AccessKind::Wait, site.code, site.wait.statement),
        lock_text::access(describe, AccessKind::Notify, code, notified.statement),
    ];
    let subject = Subject::locks(lock, []);
    let mut finding =
        Finding::new(Rule::LostNotify, subject, Evidence::Suspected, NAME, message, accesses);
    finding.reasons.push(NOTHING_TESTED.holds());
    if site.is_timed {
        finding.reasons.push(TIMED.holds());
        finding.severity = Severity::Note;
    }
    finding.hint = Some(hints::REMEMBER_THE_NOTIFICATION.to_owned());
    Some(finding)
}
