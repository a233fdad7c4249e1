//! Rule `wait-outside-loop`: a wait that is not repeated until its condition holds.
//!
//! The rule is that of `Object.wait` and `Condition.await` themselves, which may return
//! without a notification. A wait counts as repeated when the code comes to it again before it releases the lock.
//!
//! **Guarantees**: every wait of the input that is compiled into it is judged, reachable or not.
//! **Misses**: loops that test something else than what is waited for. **Reports wrongly** where a
//! caller repeats the wait in a way that is not seen (through an interface).

use unsnarl_findings::{AccessKind, Effect, Evidence, Finding, Heuristic, Rule, Severity, Subject};

use crate::locks::waits;
use crate::locks::waits::WaitSite;
use crate::wording::lock_text;
use crate::{Input, Output};

/// The name in findings.
pub(crate) const NAME: &str = "static/wait-loop";

static TESTED_ONCE: Heuristic = Heuristic {
    name: "tested-once",
    effect: Effect::raises(2),
    sentence: "the condition is tested before the wait and not after it",
};

static OUTER_LOOP: Heuristic = Heuristic {
    name: "outer-loop",
    effect: Effect::lowers(1),
    sentence: "a loop around it all comes to the test again, with the lock released in between",
};

static TIMED: Heuristic = Heuristic {
    name: "timed-wait",
    effect: Effect::lowers(2),
    sentence: "the wait ends after some time anyway, so that its caller must be ready for that",
};

static DELEGATES: Heuristic = Heuristic {
    name: "delegates",
    effect: Effect::lowers(2),
    sentence: "the method has the name of what it calls: whoever calls it may have the loop",
};

/// Finds waits that are not repeated.
pub(crate) fn run(input: &Input<'_, '_>, output: &mut Output) {
    output.findings.extend(waits::waits(&input.lock_use).filter_map(|site| judge(input, &site)));
}

fn judge(input: &Input<'_, '_>, site: &WaitSite<'_>) -> Option<Finding> {
    let (code, statement) = (site.code, site.wait.statement);
    let is_tested_by_outer_loop =
        site.is_in_outer_loop && !(site.is_guarded() && site.is_relied_on);
    if site.is_repeated || site.is_called_in_loop || is_tested_by_outer_loop {
        return None;
    }
    let describe = input.describe;
    let methods = describe.program.methods();
    let delegates =
        code.callee(statement).is_some_and(|to| methods[to].name == methods[code.method].name);
    let lock = lock_text::lock(describe, code, site.wait);
    let message = format!(
        "the wait for {} at {} is not repeated until its condition holds",
        lock_text::short(&lock),
        lock_text::place(describe, code, statement)
    );
    let subject = Subject::method(lock_text::method(describe, code, statement)).and_lock(lock);
    let accesses = vec![lock_text::access(describe, AccessKind::Wait, code, statement)];
    let mut finding =
        Finding::new(Rule::WaitOutsideLoop, subject, Evidence::Suspected, NAME, message, accesses);
    let reasons = [
        (site.is_guarded(), &TESTED_ONCE),
        (site.is_in_outer_loop, &OUTER_LOOP),
        (site.is_timed, &TIMED),
        (delegates, &DELEGATES),
    ];
    finding.reasons =
        reasons.into_iter().filter(|(holds, _)| *holds).map(|(_, reason)| reason.holds()).collect();
    if site.is_timed && !site.is_guarded() {
        finding.severity = Severity::Note;
    }
    finding.hint =
        Some("wait in a loop that tests the condition: while (!condition) wait()".into());
    Some(finding)
}
