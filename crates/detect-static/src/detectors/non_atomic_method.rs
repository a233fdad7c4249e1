//! Methods that are not one step although all that they do is synchronized ("method
//! consistency", [vonPraun04 §5]).
//!
//! A *lock view* is what is read and updated in a lock scope, a *method view* what is accessed in the dynamic
//! scope of a method. Lock views that overlap a method view and do not form a chain (neither of two has all
//! that the other has) are a sign that locks are held for too short. As in [vonPraun04 §5.2], views are partitioned by
//! class, nested and reentrant locks are subordinate, and only the lowest method is reported. Left out are accesses
//! while an object is made, variables that are final, volatile or updated in no lock scope, what the models call
//! interleaved (output), and elements of arrays unless they are asked for.
//!
//! Where it deviates:
//! - Von Praun reports every broken chain. Here two steps of the method must be apart, one of them may come
//!   after the other, and *one* lock scope of another thread must conflict with both: only then no order of
//!   the three is as good as the method in one piece.
//! - Von Praun compares fields. Here accesses must be to one object of the heap, must not be ordered by
//!   start, join or signals, and must exclude each other by a lock: what does not is a data race.
//! - A lock that is held from the first step to the second, by the method or by its callers, protects against
//!   everybody who holds it.
//! - Library methods that are atomic by their model are lock scopes of their own. Two of them count
//!   if the second changes something depending on what the first has read, and does not look again itself.
//! - The contents of a library's object belong to the class whose field holds it.
//!
//! What it guarantees: no more than its parts do; it reports schedules that nothing excludes. What it misses:
//! chains that are kept by several updates of one variable (the Counter of [vonPraun04 §5.4.1]), steps that different methods of
//! the other thread disturb one each, variables of different classes, methods of which one step is
//! called in a loop, waits in methods that are entered with the lock.

mod below;
mod chain;
mod disturbed;
mod judge;
mod meetings;
mod sets;
mod views;
mod wording;

use unsnarl_findings::{Evidence, Finding, Rule, Severity, Subject};

use crate::{Input, Output};
use chain::Search;
use views::Views;
use wording::{MethodWording, entry_methods};

/// The name in findings.
pub(crate) const NAME: &str = "static/method-consistency";

/// Finds methods that are not one step.
pub(crate) fn run(input: &Input<'_, '_>, output: &mut Output) {
    let views = Views::new(input.describe, input.options);
    let search = Search::new(input.describe, &views);
    let entries = entry_methods(input.describe);
    for broken in search.broken() {
        let wording = MethodWording::new(&search, &entries, &broken);
        let mut finding = Finding::new(
            Rule::NonAtomicMethod,
            Subject::method(wording.method()).and_variable(wording.variable()),
            Evidence::Suspected,
            NAME,
            wording.message(),
            wording.accesses(),
        );
        finding.reasons = wording.reasons();
        finding.hint = Some(wording.hint());
        if wording.is_entry() {
            finding.severity = Severity::Note;
        }
        output.findings.push(finding);
    }
    if search.cut() > 0 {
        output.notes.push(format!(
            "{} methods have so many steps that not all were compared with what other threads do",
            search.cut()
        ));
    }
    output.stats.push(("lock_views", views.lock_views.len() as u64));
}
