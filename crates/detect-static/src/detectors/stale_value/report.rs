//! Findings about stale values: one for each method and variable, with the use that convinces most.

use std::collections::BTreeMap;

use unsnarl_entity::EntityId;
use unsnarl_findings::{
    Access, AccessKind, Effect, Evidence, Finding, Heuristic, Reason, Rule, Severity, Subject,
    Variable,
};
use unsnarl_program::MethodId;
use unsnarl_symbolic::{Accessed, Event, EventId};

use super::NAME;
use super::reads::{Accesses, is_same_variable};
use super::summary::{Stale, Taken, Use, Write};
use crate::code::Site;
use crate::wording::describe::{Describe, simple_name};
use crate::wording::reasons;

static WRITTEN_BACK: Heuristic = Heuristic {
    name: "written-back",
    effect: Effect::raises(2),
    sentence: "what is computed from the old value is stored in the same variable, so that a change in \
               between gets lost",
};
static CHECKED_THEN_ACTED: Heuristic = Heuristic {
    name: "checked-then-acted",
    effect: Effect::raises(1),
    sentence: "the old value decides whether the same variable is written",
};
static OTHER_DATA: Heuristic = Heuristic {
    name: "other-data",
    effect: Effect::lowers(2),
    sentence: "what is written is not guarded by the lock under which the value was read",
};
static OTHER_OBJECT: Heuristic = Heuristic {
    name: "other-object",
    effect: Effect::lowers(2),
    sentence: "the value was read from another object than the one that is written, as far as the code tells",
};
static POLLED: Heuristic = Heuristic {
    name: "polled",
    effect: Effect::lowers(2),
    sentence: "the value is the test of a loop, which reads it again in every round",
};
static CHECKED_AGAIN: Heuristic = Heuristic {
    name: "checked-again",
    effect: Effect::lowers(3),
    sentence: "the variable is read again under the lock, and that decides whether the write is done",
};
static HANDED_OVER: Heuristic = Heuristic {
    name: "handed-over",
    effect: Effect::lowers(3),
    sentence: "the variable is changed before the lock is given back, so the value is taken and not copied",
};
static ONLY_SHOWN: Heuristic = Heuristic {
    name: "only-shown",
    effect: Effect::lowers(3),
    sentence: "the value only becomes part of a text or is handed to a library that returns nothing",
};

/// One finding for each method and variable.
pub(super) fn findings(
    describe: &Describe<'_, '_>,
    accesses: &Accesses,
    stale: Vec<Stale>,
    taken: &Taken,
) -> Vec<Finding> {
    let mut best: BTreeMap<(MethodId, Variable), Candidate> = BTreeMap::new();
    for stale in stale {
        let write = stale.write().map(|write| write.event);
        if write.is_some_and(|write| !accesses.is_noticed(describe, write)) {
            continue;
        }
        let candidate = Candidate::new(describe, accesses, stale, taken);
        let key = (candidate.stale.method, candidate.variable.clone());
        match best.get_mut(&key) {
            Some(known) if known.rank() <= candidate.rank() => {}
            Some(known) => *known = candidate,
            None => {
                best.insert(key, candidate);
            }
        }
    }
    best.into_values().map(|candidate| candidate.finding(describe)).collect()
}

impl Stale {
    fn write(&self) -> Option<&Write> {
        match &self.used {
            Use::Stored(write) | Use::Decides { write, .. } => Some(write),
            Use::Any { .. } => None,
        }
    }
}

/// A stale value as it could be reported.
struct Candidate {
    stale: Stale,
    variable: Variable,
    name: String,
    reasons: Vec<Reason>,
}

impl Candidate {
    fn new(describe: &Describe<'_, '_>, accesses: &Accesses, stale: Stale, taken: &Taken) -> Self {
        let read = describe.event(stale.read);
        let (variable, name) = variable(describe, read);
        let mut reasons = Vec::new();
        let is_taken = is_taken(&stale, taken);
        if is_taken {
            reasons.push(HANDED_OVER.holds());
        }
        match stale.used {
            Use::Decides { is_loop: true, .. } => reasons.push(POLLED.holds()),
            Use::Any { is_shown: true, .. } => reasons.push(ONLY_SHOWN.holds()),
            _ => {}
        }
        if let Some(write) = stale.write() {
            let written = describe.event(write.event);
            let is_same = is_same_variable(read, written);
            match stale.used {
                _ if is_same && is_taken => {}
                _ if is_same && is_elsewhere(&stale, write) => reasons.push(OTHER_OBJECT.holds()),
                _ if is_same && stale.base.is_none() && !is_one(describe, read) => {}
                Use::Stored(_) if is_same => reasons.push(WRITTEN_BACK.holds()),
                _ if is_same => reasons.push(CHECKED_THEN_ACTED.holds()),
                _ if !accesses.is_guarded_alike(describe, stale.read, write.event) => {
                    reasons.push(OTHER_DATA.holds());
                }
                _ => {}
            }
            if write.checked.contains(&read.accessed) {
                reasons.push(CHECKED_AGAIN.holds());
            }
            let object = written.objects.first();
            reasons.extend(object.and_then(|&object| {
                reasons::coarse_heap(describe.execution, object, [read, written])
            }));
        }
        Self { stale, variable, name, reasons }
    }

    fn signs(&self) -> i32 {
        self.reasons.iter().map(|reason| reason.effect.signs()).sum()
    }

    /// What convinces most comes first.
    fn rank(&self) -> impl Ord + use<> {
        let is_any = matches!(self.stale.used, Use::Any { .. });
        let is_stored = matches!(self.stale.used, Use::Stored(_));
        let depth = self.stale.write().map_or(0, |write| write.depth);
        let write = self.stale.write().map(|write| write.event);
        (is_any, -self.signs(), !is_stored, depth, self.stale.read, self.stale.release, write)
    }

    fn finding(self, describe: &Describe<'_, '_>) -> Finding {
        let read = describe.event(self.stale.read);
        let release = describe.frame(self.stale.release.0, self.stale.release.1);
        let mut accesses = vec![
            // What takes something out of a collection is a write to that; here it matters what it gets.
            Access { kind: AccessKind::Read, ..describe.access(self.stale.read) },
            Access::new(AccessKind::Release, vec![release]).by(describe.thread(read.thread)),
        ];
        accesses.push(match (&self.stale.used, self.stale.write()) {
            (_, Some(write)) => describe.access(write.event),
            (Use::Any { place, .. }, None) => {
                let frame = describe.frame(place.0, place.1);
                Access::new(AccessKind::Call, vec![frame]).by(describe.thread(read.thread))
            }
            _ => unreachable!("what is stored or decided is a write"),
        });
        let method = describe.method_reference(self.stale.method);
        let subject = Subject::method(method).and_variable(self.variable.clone());
        let message = self.message(describe);
        let evidence = Evidence::Suspected;
        let mut finding =
            Finding::new(Rule::StaleValue, subject, evidence, NAME, message, accesses);
        if self.signs() < 0 {
            finding.severity = Severity::Note;
        }
        finding.hint = Some(self.hint());
        finding.reasons = self.reasons;
        finding
    }

    fn message(&self, describe: &Describe<'_, '_>) -> String {
        let read = describe.place(self.stale.read);
        let name = &self.name;
        let since = format!(
            "a value of {name} that was read at {read} and may be out of date since the lock was given \
             back at {}",
            place(describe, self.stale.release)
        );
        match &self.stale.used {
            Use::Stored(write) => {
                let (_, written) = variable(describe, describe.event(write.event));
                let verb = verb(describe.event(write.event));
                format!("{written} is {verb} at {} from {since}", describe.place(write.event))
            }
            Use::Decides { branch, write, .. } => {
                let (_, written) = variable(describe, describe.event(write.event));
                format!(
                    "whether {written} is {} at {} is decided at {} by {since}",
                    verb(describe.event(write.event)),
                    describe.place(write.event),
                    place(describe, *branch)
                )
            }
            Use::Any { place: used, .. } => {
                format!("{} uses {since}", place(describe, *used))
            }
        }
    }

    fn hint(&self) -> String {
        let name = &self.name;
        match self.stale.used {
            Use::Any { .. } => format!("use {name} while the lock is held, or read it again"),
            _ => format!(
                "hold the lock from the read of {name} to the write, or read it again under the lock"
            ),
        }
    }
}

/// Whether the value was taken away: the variable is written before the lock is given back, and by another
/// write than that of the old value.
fn is_taken(stale: &Stale, taken: &Taken) -> bool {
    let stored = match &stale.used {
        Use::Stored(write) => Some(write.event),
        _ => None,
    };
    let takers = taken.range((stale.read, EventId::from_index(0))..);
    let mut takers = takers.take_while(|taken| taken.0 == stale.read);
    takers.any(|&(_, taker)| Some(taker) != stored)
}

/// Whether there is only one variable that an access can be to.
fn is_one(describe: &Describe<'_, '_>, event: &Event) -> bool {
    event.objects.iter().all(|&object| describe.execution.is_unique(object))
        && event.objects.len() < 2
}

/// Whether the method that reads and writes names two objects.
fn is_elsewhere(stale: &Stale, write: &Write) -> bool {
    stale.base.is_some() && write.base.is_some() && stale.base != write.base
}

fn verb(written: &Event) -> &'static str {
    match written.accessed {
        Accessed::Contents => "changed",
        _ => "written",
    }
}

fn place(describe: &Describe<'_, '_>, (method, statement): Site) -> String {
    describe.place_of(method, statement)
}

/// The variable that an access is to, and its name in sentences.
fn variable(describe: &Describe<'_, '_>, event: &Event) -> (Variable, String) {
    let named = |field| (describe.field(field), describe.short_field(field));
    let object = event.objects.first().copied();
    match (event.accessed, object) {
        (Accessed::Field(field), _) => named(field),
        (Accessed::Element, Some(object)) => {
            let class = describe.object_class(object);
            let name = format!("an element of {class}");
            (Variable::elements(class), name)
        }
        (_, Some(object)) => {
            let field = event.loaded_from.filter(|&field| describe.is_input_field(field));
            match field.or_else(|| describe.holder(object)) {
                Some(field) => {
                    let (variable, name) = named(field);
                    (variable, format!("the {} in {name}", describe.object_class(object)))
                }
                None => {
                    let variable = describe.local_variable(object);
                    let class = variable.class.as_deref().map_or("", simple_name);
                    let name = format!("{class}.{}", variable.field);
                    (variable, name)
                }
            }
        }
        (_, None) => (Variable::untyped("unknown"), "an unknown variable".to_owned()),
    }
}
