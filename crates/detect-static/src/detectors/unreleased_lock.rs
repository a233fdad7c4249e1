//! Rule `unreleased-lock`: a lock of `java.util.concurrent` that is still held on some way out of the
//! method that acquired it.
//!
//! From every acquisition all ways are followed ([`exit_paths`]) until the lock is
//! released, by the method itself or by one that it calls and that only releases. A method that acquires and nowhere
//! releases is half of a pair (`begin` and `end`) and is judged only if nobody ever releases the lock; one that releases first
//! gives away for a while what its caller holds, and is not judged.
//!
//! **Guarantees**: every acquisition in the input is judged, reachable or not, as far as the bound on ways reaches.
//! **Misses**: locks that are handed to other code to be released there; a lock that is acquired more often
//! than it is released. **Reports wrongly** where conditions are related in a way that the ways do not
//! show (`if (a) lock()`, later `if (b) unlock()`).

mod exit_paths;

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_findings::{AccessKind, Effect, Evidence, Finding, Heuristic, Rule, Subject};
use unsnarl_models::{Blocking, LockMode, Outcome};
use unsnarl_program::body::StatementId;
use unsnarl_program::{FieldId, MethodId};

use crate::code::walk::Walk;
use crate::locks::name::Name;
use crate::locks::uses::{Code, LockOperation, LockUse, Use};
use crate::wording::lock_text;
use crate::{Input, Output};
use exit_paths::{Exit, ExitKind};

/// The name in findings.
pub(crate) const NAME: &str = "static/ways-out";
/// How many methods may stand between a release and who relies on it.
const MOST_CALLS: usize = 3;

static RETURNS_HOLDING: Heuristic = Heuristic {
    name: "returns-holding",
    effect: Effect::raises(2),
    sentence: "the method returns with the lock held, and releases it on another way",
};

static THROWS_HOLDING: Heuristic = Heuristic {
    name: "throws-holding",
    effect: Effect::raises(1),
    sentence: "the method itself throws an exception with the lock held",
};

static LIBRARY_CALL: Heuristic = Heuristic {
    name: "only-library-calls",
    effect: Effect::lowers(1),
    sentence: "only methods of a library are called with the lock held, which may never fail here",
};

static NEVER_RELEASED: Heuristic = Heuristic {
    name: "never-released",
    effect: Effect::raises(2),
    sentence: "no code of the program releases the lock",
};

static RELEASED_ELSEWHERE: Heuristic = Heuristic {
    name: "released-elsewhere",
    effect: Effect::lowers(2),
    sentence: "another method releases the lock without acquiring it",
};

/// Finds locks that are not released.
pub(crate) fn run(input: &Input<'_, '_>, output: &mut Output) {
    let releases = Releases::new(&input.lock_use);
    for code in &input.lock_use.methods {
        let mut worst: BTreeMap<(&Name, bool), (&Use, Option<Exit>)> = BTreeMap::new();
        for acquired in &code.uses {
            let Some(mode) = acquired_mode(acquired) else { continue };
            let Some(exit) = judge(input, &releases, code, acquired, mode) else { continue };
            let key = (&acquired.lock, mode == LockMode::Shared);
            let known = worst.entry(key).or_insert((acquired, exit));
            if exit > known.1 {
                *known = (acquired, exit);
            }
        }
        let findings = worst.into_values();
        output.findings.extend(findings.map(|(acquired, exit)| {
            let elsewhere = acquired.lock.field().is_some_and(|f| releases.fields.contains(&f));
            finding(input, code, acquired, exit, elsewhere)
        }));
    }
}

fn acquired_mode(it: &Use) -> Option<LockMode> {
    match it.action {
        LockOperation::Acquire { mode, .. } if mode != LockMode::Optimistic => Some(mode),
        _ => None,
    }
}

/// The worst way out with the lock held, or no way at all if nobody ever releases the lock; nothing if all is well.
fn judge(
    input: &Input<'_, '_>,
    releases: &Releases,
    code: &Code,
    acquired: &Use,
    mode: LockMode,
) -> Option<Option<Exit>> {
    let released = releases.in_method(code, &acquired.lock, mode);
    if released.is_empty() {
        let is_blocking =
            matches!(acquired.action, LockOperation::Acquire { blocking: Blocking::Forever, .. });
        let field = acquired.lock.field()?;
        return (is_blocking && is_never_released(&input.lock_use, field)).then_some(None);
    }
    if is_held_by_caller(code, &acquired.lock, &released) {
        return None;
    }
    exit_paths::worst_exit(input.describe.program, &input.lock_use, code, acquired, &released)
        .map(Some)
}

/// Whether a lock is released before it is acquired.
fn is_held_by_caller(code: &Code, lock: &Name, released: &FxHashSet<StatementId>) -> bool {
    let of_lock = code.uses.iter().filter(|it| it.lock == *lock && acquired_mode(it).is_some());
    let bounds = of_lock.map(|it| it.statement).collect();
    let walk = Walk { code, bounds: &bounds };
    released.iter().any(|&release| walk.reaches([code.body.entry()], release, None))
}

/// Whether a field is used for nothing but to acquire the lock in it.
fn is_never_released(lock_use: &LockUse, field: FieldId) -> bool {
    let mut loads = lock_use.methods.iter().flat_map(|code| {
        let statements = code.body.statements.iter();
        statements.filter_map(move |(id, statement)| {
            let value = statement.result?;
            (code.field(id) == Some(field)).then_some((code, value))
        })
    });
    loads.all(|(code, value)| {
        let mut statements = code.body.statements.iter();
        statements.all(|(id, statement)| {
            let is_acquired =
                |it: &Use| it.value == value && matches!(it.action, LockOperation::Acquire { .. });
            !statement.operation.operands().contains(&value)
                || code.uses_at(id).iter().any(is_acquired)
        })
    })
}

/// Who releases what.
struct Releases {
    /// The locks that a method releases and does not acquire, by the names that it has for them.
    by_method: FxHashMap<MethodId, Vec<(Name, LockMode)>>,
    /// The fields with these locks.
    fields: FxHashSet<FieldId>,
    /// The calls of such methods, with what they release.
    by_call: FxHashMap<(MethodId, StatementId), Vec<(Name, LockMode)>>,
}

impl Releases {
    fn new(lock_use: &LockUse) -> Self {
        let mut releases = Self {
            by_method: FxHashMap::default(),
            fields: FxHashSet::default(),
            by_call: FxHashMap::default(),
        };
        let mut open: Vec<(MethodId, Name, LockMode)> = Vec::new();
        for code in &lock_use.methods {
            for it in &code.uses {
                if let LockOperation::Release { mode } = it.action {
                    open.push((code.method, it.lock.clone(), mode));
                }
            }
        }
        for _ in 0..MOST_CALLS {
            let mut next = Vec::new();
            for (method, name, mode) in open {
                let Some(code) = lock_use.code(method) else { continue };
                let acquires = |it: &Use| it.lock == name && acquired_mode(it) == Some(mode);
                let released = releases.by_method.entry(method).or_default();
                if code.uses.iter().any(acquires) || released.contains(&(name.clone(), mode)) {
                    continue;
                }
                released.push((name.clone(), mode));
                releases.fields.extend(name.field());
                for (caller, call) in lock_use.callers(method) {
                    let operands = caller.body.statements[call].operation.operands();
                    let argument = |number: usize| Some(caller.name(*operands.get(number)?));
                    let Some(name) = name.at_call(argument) else { continue };
                    let by_call = releases.by_call.entry((caller.method, call)).or_default();
                    by_call.push((name.clone(), mode));
                    next.push((caller.method, name, mode));
                }
            }
            open = next;
        }
        releases
    }

    /// The statements of a method that release a lock.
    fn in_method(&self, code: &Code, lock: &Name, mode: LockMode) -> FxHashSet<StatementId> {
        let own = code.uses.iter().filter(|it| {
            it.lock == *lock && matches!(it.action, LockOperation::Release { mode: m } if m == mode)
        });
        let calls = code.body.statements.keys().filter(|&statement| {
            let released = self.by_call.get(&(code.method, statement));
            released.is_some_and(|all| all.iter().any(|(name, m)| name == lock && *m == mode))
        });
        own.map(|it| it.statement).chain(calls).collect()
    }
}

fn finding(
    input: &Input<'_, '_>,
    code: &Code,
    acquired: &Use,
    exit: Option<Exit>,
    is_released_elsewhere: bool,
) -> Finding {
    let describe = input.describe;
    let lock = lock_text::lock(describe, code, acquired);
    let what = format!(
        "{}, acquired at {},",
        lock_text::short(&lock),
        lock_text::place(describe, code, acquired.statement)
    );
    let name = lock_text::short_method(describe, code);
    let mut accesses =
        vec![lock_text::access(describe, AccessKind::Acquire, code, acquired.statement)];
    let message = match exit {
        None => format!("{what} is never released"),
        Some(exit) => {
            let place = lock_text::place(describe, code, exit.statement);
            accesses.push(lock_text::access(describe, AccessKind::Call, code, exit.statement));
            match exit.kind {
                ExitKind::Return => format!("{what} is still held when {name} returns at {place}"),
                ExitKind::Throw => format!("{what} is still held when {name} throws at {place}"),
                ExitKind::Call | ExitKind::LibraryCall => format!(
                    "{what} is still held when the call at {place} ends {name} with an exception"
                ),
            }
        }
    };
    let subject =
        Subject::method(lock_text::method(describe, code, acquired.statement)).and_lock(lock);
    let mut finding =
        Finding::new(Rule::UnreleasedLock, subject, Evidence::Suspected, NAME, message, accesses);
    finding.reasons.extend(match exit.map(|exit| exit.kind) {
        None => Some(NEVER_RELEASED.holds()),
        Some(ExitKind::Return) => Some(RETURNS_HOLDING.holds()),
        Some(ExitKind::Throw) => Some(THROWS_HOLDING.holds()),
        Some(ExitKind::Call) => None,
        Some(ExitKind::LibraryCall) => Some(LIBRARY_CALL.holds()),
    });
    if is_released_elsewhere {
        finding.reasons.push(RELEASED_ELSEWHERE.holds());
    }
    finding.hint = Some(
        "release it in a finally block of a try that begins right after the acquisition".into(),
    );
    finding
}

/// Whether an acquisition depends on what the call returns.
pub(crate) fn needs_result(acquired: &Use) -> bool {
    matches!(
        acquired.action,
        LockOperation::Acquire { when: Some(Outcome::True | Outcome::NonZero), .. }
    )
}
