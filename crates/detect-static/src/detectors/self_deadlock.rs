//! Rule `self-deadlock`: a thread acquires a lock that it holds already and that does not let it in twice.
//!
//! Monitors let their thread in again. Locks that do not are those that the models call `once`
//! (`StampedLock`), a read lock whose thread asks for the write lock (`ReentrantReadWriteLock`), and a semaphore that is made
//! with one permit. What is certainly held flows along the edges of a method; calls are followed where
//! only one method of the input can be meant.
//!
//! **Guarantees**: a finding names two acquisitions of one lock, by the name that the code has for it, with no release in
//! between on any way. **Misses**: locks that are known by two names, that are held on some ways only, or that
//! `tryLock` acquired; calls through interfaces. **Reports wrongly** where a field is assigned in between, and where
//! another thread gives the permit back.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unsnarl_entity::{EntityId, SecondaryMap};
use unsnarl_findings::{Access, AccessKind, Effect, Evidence, Finding, Heuristic, Rule, Subject};
use unsnarl_models::{Blocking, LockMode};
use unsnarl_program::MethodId;
use unsnarl_program::body::{BlockId, Constant, Operation, StatementId, Value};

use crate::code as values;
use crate::locks::name::{Name, Root};
use crate::locks::uses::{Code, LockOperation, LockUse, Use};
use crate::wording::lock_text;
use crate::{Input, Output};

/// The name in findings.
pub(crate) const NAME: &str = "static/self-deadlock";
/// How many calls may stand between the two acquisitions.
const MOST_CALLS: usize = 3;

static ONE_METHOD: Heuristic = Heuristic {
    name: "in-one-method",
    effect: Effect::raises(2),
    sentence: "one method acquires the lock twice",
};

static THROUGH_CALLS: Heuristic = Heuristic {
    name: "through-calls",
    effect: Effect::raises(1),
    sentence: "a method that is called with the lock held acquires it",
};

static GIVEN_ELSEWHERE: Heuristic = Heuristic {
    name: "given-elsewhere",
    effect: Effect::lowers(2),
    sentence: "a method that takes no permit gives one, so that another thread may do so",
};

/// How a lock is held that is not let in twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Hold {
    Exclusive { once: bool },
    Shared { once: bool },
    Permit,
}

impl Hold {
    /// Whether a thread that holds a lock in this way is stopped forever when it wants it in another.
    fn excludes(self, wanted: Self) -> bool {
        match (self, wanted) {
            (Self::Permit, Self::Permit) => true,
            (Self::Exclusive { once }, Self::Exclusive { .. } | Self::Shared { .. }) => once,
            (Self::Shared { .. }, Self::Exclusive { .. }) => true,
            _ => false,
        }
    }
}

/// The locks that are certainly held, with where they were acquired.
type Held = BTreeMap<(Name, Hold), StatementId>;

/// An acquisition that a call leads to.
#[derive(Clone)]
struct Acquisition {
    name: Name,
    hold: Hold,
    /// From the acquisition outwards.
    stack: SmallVec<[(MethodId, StatementId); 2]>,
}

/// Finds locks that are acquired twice.
pub(crate) fn run(input: &Input<'_, '_>, output: &mut Output) {
    let acquisitions = acquisitions(&input.lock_use);
    for code in &input.lock_use.methods {
        if code.uses.iter().any(|it| hold(it).is_some()) {
            Judge { input, code, acquisitions: &acquisitions }.judge(output);
        }
    }
}

/// How a use holds its lock afterwards, if it waits for it and goes on only with it.
fn hold(it: &Use) -> Option<Hold> {
    match it.action {
        LockOperation::Acquire { mode, blocking: Blocking::Forever, once, when: None } => {
            match mode {
                LockMode::Exclusive => Some(Hold::Exclusive { once }),
                LockMode::Shared => Some(Hold::Shared { once }),
                LockMode::Optimistic => None,
            }
        }
        LockOperation::Take { blocking: Blocking::Forever, when: None } => Some(Hold::Permit),
        _ => None,
    }
    .filter(|_| it.lock.is_one())
}

/// What methods acquire, themselves or through calls, unless they may have released it before.
fn acquisitions(lock_use: &LockUse) -> FxHashMap<MethodId, Vec<Acquisition>> {
    let mut all: FxHashMap<MethodId, Vec<Acquisition>> = FxHashMap::default();
    let mut open: Vec<(MethodId, Acquisition)> = Vec::new();
    for code in &lock_use.methods {
        for it in &code.uses {
            let Some(hold) = hold(it) else { continue };
            let releases_before = code.uses.iter().any(|other| {
                other.statement < it.statement
                    && other.lock == it.lock
                    && matches!(other.action, LockOperation::Release { .. } | LockOperation::Give)
            });
            if !releases_before {
                let stack = SmallVec::from_slice(&[(code.method, it.statement)]);
                let name = it.lock.clone();
                open.push((code.method, Acquisition { name, hold, stack }));
            }
        }
    }
    for _ in 0..MOST_CALLS {
        let mut next = Vec::new();
        for (method, acquisition) in open {
            let known = all.entry(method).or_default();
            let is_same =
                |it: &Acquisition| it.name == acquisition.name && it.hold == acquisition.hold;
            if known.iter().any(is_same) {
                continue;
            }
            for (caller, call) in lock_use.callers(method) {
                let is_sure = lock_use.only_callee(caller, call).is_some();
                let outer = is_sure.then(|| acquisition.at_call(caller, call)).flatten();
                next.extend(outer.map(|outer| (caller.method, outer)));
            }
            known.push(acquisition);
        }
        open = next;
    }
    all
}

impl Acquisition {
    fn at_call(&self, caller: &Code, call: StatementId) -> Option<Self> {
        let operands = caller.body.statements[call].operation.operands();
        let argument = |number: usize| Some(caller.name(*operands.get(number)?));
        let name = self.name.at_call(argument).filter(Name::is_one)?;
        let mut stack = self.stack.clone();
        stack.push((caller.method, call));
        Some(Self { name, hold: self.hold, stack })
    }
}

struct Judge<'j, 'i, 'm> {
    input: &'j Input<'i, 'm>,
    code: &'j Code,
    acquisitions: &'j FxHashMap<MethodId, Vec<Acquisition>>,
}

impl Judge<'_, '_, '_> {
    fn judge(&self, output: &mut Output) {
        let entries = self.held_at_entries();
        for (block, data) in self.code.body.blocks.iter() {
            let Some(mut held) = entries[block].clone() else { continue };
            for index in data.start.index()..data.end.index() {
                let statement = StatementId::from_index(index);
                let wanted = self.wanted_at(statement);
                let twice =
                    wanted.iter().find_map(|wanted| Some((wanted, held_by(&held, wanted)?)));
                if let Some((wanted, first)) = twice {
                    output.findings.extend(self.finding(wanted, first));
                }
                self.step(statement, &mut held);
            }
        }
    }

    /// What is held when a block is entered; nothing where no way leads.
    fn held_at_entries(&self) -> SecondaryMap<BlockId, Option<Held>> {
        let body = &self.code.body;
        let mut entries: SecondaryMap<BlockId, Option<Held>> = SecondaryMap::new();
        entries[body.entry()] = Some(Held::new());
        let mut changed = true;
        while changed {
            changed = false;
            for (block, data) in body.blocks.iter() {
                let Some(mut held) = entries[block].clone() else { continue };
                let mut always = held.clone();
                for index in data.start.index()..data.end.index() {
                    self.step(StatementId::from_index(index), &mut held);
                    always.retain(|lock, _| held.contains_key(lock));
                }
                let targets = body.terminator(block).operation.targets();
                let edges = targets.iter().map(|&target| (target, &held));
                let edges = edges.chain(data.handlers.iter().map(|&handler| (handler, &always)));
                for (target, arriving) in edges {
                    changed |= meet(&mut entries[target], arriving);
                }
            }
        }
        entries
    }

    fn step(&self, statement: StatementId, held: &mut Held) {
        for it in self.code.uses_at(statement) {
            match it.action {
                LockOperation::Release { mode } => held.retain(|(name, hold), _| {
                    let is_exclusive = matches!(hold, Hold::Exclusive { .. });
                    *name != it.lock || is_exclusive != (mode == LockMode::Exclusive)
                }),
                LockOperation::Give => held.retain(|(name, _), _| *name != it.lock),
                _ => {
                    if let Some(hold) = hold(it) {
                        held.entry((it.lock.clone(), hold)).or_insert(statement);
                    }
                }
            }
        }
        // A method that is called may release what its caller holds.
        if let Some(callee) = self.input.lock_use.only_callee(self.code, statement) {
            let gives =
                |it: &Use| matches!(it.action, LockOperation::Release { .. } | LockOperation::Give);
            let takes = |it: &Use| hold(it).is_some();
            if callee.uses.iter().any(gives) && !callee.uses.iter().any(takes) {
                held.clear();
            }
        }
    }

    fn wanted_at(&self, statement: StatementId) -> Vec<Acquisition> {
        let code = self.code;
        let mut wanted: Vec<Acquisition> = code
            .uses_at(statement)
            .iter()
            .filter_map(|it| {
                let stack = SmallVec::from_slice(&[(code.method, statement)]);
                Some(Acquisition { name: it.lock.clone(), hold: hold(it)?, stack })
            })
            .collect();
        if let Some(callee) = self.input.lock_use.only_callee(code, statement) {
            let inner = self.acquisitions.get(&callee.method).into_iter().flatten();
            wanted.extend(inner.filter_map(|inner| inner.at_call(code, statement)));
        }
        wanted
    }

    fn finding(&self, wanted: &Acquisition, first: StatementId) -> Option<Finding> {
        if wanted.hold == Hold::Permit && !self.has_one_permit(&wanted.name) {
            return None;
        }
        let (input, code, describe) = (self.input, self.code, self.input.describe);
        let used = code.uses_at(first).iter().find(|it| it.lock == wanted.name)?;
        let lock = lock_text::lock(describe, code, used);
        let &(method, statement) = wanted.stack.first()?;
        let message = format!(
            "{}, acquired at {}, is acquired again at {} by the same thread, which waits for itself",
            lock_text::short(&lock),
            lock_text::place(describe, code, first),
            describe.place_of(method, statement)
        );
        let frames = wanted.stack.iter().map(|&(method, at)| describe.frame(method, at)).collect();
        let accesses = vec![
            lock_text::access(describe, AccessKind::Acquire, code, first),
            Access::new(AccessKind::Acquire, frames).holding(vec![lock.clone()]),
        ];
        let subject = Subject::locks(lock, []);
        let mut finding =
            Finding::new(Rule::SelfDeadlock, subject, Evidence::Suspected, NAME, message, accesses);
        let reason = if wanted.stack.len() == 1 { &ONE_METHOD } else { &THROUGH_CALLS };
        finding.reasons.push(reason.holds());
        if wanted.hold == Hold::Permit && is_given_elsewhere(&input.lock_use, &wanted.name) {
            finding.reasons.push(GIVEN_ELSEWHERE.holds());
        }
        finding.hint = Some(
            "release the lock first, or do the inner work in a method that expects it to be held"
                .to_owned(),
        );
        Some(finding)
    }

    /// Whether a semaphore is always made with one permit.
    fn has_one_permit(&self, name: &Name) -> bool {
        let is_single = |code: &Code, value: Value| {
            code.body.statements.values().any(|statement| match &statement.operation {
                Operation::Invoke { arguments, .. } => match arguments[..] {
                    [made, permits, ..] => {
                        let permits = &code.body.definition(permits).operation;
                        made == value
                            && matches!(code.body.definition(made).operation, Operation::New(_))
                            && *permits == Operation::Constant(Constant::Int(1))
                    }
                    _ => false,
                },
                _ => false,
            })
        };
        match (name.field(), name.root) {
            (Some(field), _) => {
                let mut stores = self.input.lock_use.stores(field).peekable();
                stores.peek().is_some()
                    && stores.all(|(code, store)| {
                        values::stored_value(&code.body, store)
                            .is_some_and(|value| is_single(code, value))
                    })
            }
            (None, Root::Local(value)) if name.parts.is_empty() => is_single(self.code, value),
            _ => false,
        }
    }
}

fn held_by(held: &Held, wanted: &Acquisition) -> Option<StatementId> {
    let of_lock = || held.iter().filter(|((name, _), _)| *name == wanted.name);
    // Who holds the write lock as well may acquire it again.
    let is_writer = of_lock().any(|((_, hold), _)| *hold == Hold::Exclusive { once: false });
    let mut excluding = of_lock().filter(|((_, hold), _)| hold.excludes(wanted.hold));
    excluding.find(|_| !is_writer).map(|(_, &statement)| statement)
}

/// Leaves in `known` what `arriving` has as well; whether that changed anything.
fn meet(known: &mut Option<Held>, arriving: &Held) -> bool {
    match known {
        None => {
            *known = Some(arriving.clone());
            true
        }
        Some(known) => {
            let before = known.len();
            known.retain(|lock, _| arriving.contains_key(lock));
            known.len() != before
        }
    }
}

/// Whether a method gives a permit that it did not take.
fn is_given_elsewhere(lock_use: &LockUse, name: &Name) -> bool {
    let Some(field) = name.field() else { return false };
    lock_use.methods.iter().any(|code| {
        let mut of_field = code.uses.iter().filter(|it| it.lock.field() == Some(field)).peekable();
        of_field.peek().is_some()
            && !of_field.any(|it| matches!(it.action, LockOperation::Take { .. }))
            && code
                .uses
                .iter()
                .any(|it| it.action == LockOperation::Give && it.lock.field() == Some(field))
    })
}
