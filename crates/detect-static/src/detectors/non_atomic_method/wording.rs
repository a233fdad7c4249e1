//! How a method that is not one step is described.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_entity::EntitySet;
use unsnarl_findings::{Access, Effect, Heuristic, MethodReference, Reason, Variable};
use unsnarl_program::body::StatementId;
use unsnarl_program::heap::OriginKind;
use unsnarl_program::{FieldId, MethodId, Origin};
use unsnarl_symbolic::{
    AccessKind, Accessed, Action, ActionKind, ContextEventId, ContextId, EventId,
};

use super::chain::{Broken, Incident, Search};
use super::views::VariableData;
use crate::wording::describe::{Describe, simple_name};
use crate::wording::reasons;

static ACTS_ON_OLD_VALUE: Heuristic = Heuristic {
    name: "acts-on-old-value",
    effect: Effect::raises(2),
    sentence: "what the second step does depends on what the first has found out",
};
static LOST_UPDATE: Heuristic = Heuristic {
    name: "lost-update",
    effect: Effect::raises(1),
    sentence: "the method reads a variable and later writes it: what is written in between gets lost",
};
static LOOKS_AGAIN: Heuristic = Heuristic {
    name: "looks-again",
    effect: Effect::lowers(3),
    sentence: "the second step looks at the variable again before it writes",
};
static UNDER_ANOTHER_LOCK: Heuristic = Heuristic {
    name: "under-another-lock",
    effect: Effect::lowers(2),
    sentence: "both steps are done under a lock, which the other thread does not hold",
};
static WRITES_FIRST: Heuristic = Heuristic {
    name: "writes-first",
    effect: Effect::lowers(1),
    sentence: "the first step writes, and the second need not rely on that",
};
static ONLY_READS: Heuristic = Heuristic {
    name: "only-reads",
    effect: Effect::lowers(1),
    sentence: "both steps only read: they may see values that were never there at the same time",
};
static DIFFERENT_VARIABLES: Heuristic = Heuristic {
    name: "different-variables",
    effect: Effect::lowers(1),
    sentence: "the steps are about different variables, which need not belong together",
};
static FAR_BELOW: Heuristic = Heuristic {
    name: "far-below",
    effect: Effect::lowers(3),
    sentence: "many calls lead from the method to a step: what it does there is seldom meant to be one with the rest",
};
static THREAD_ENTRY: Heuristic = Heuristic {
    name: "thread-entry",
    effect: Effect::lowers(2),
    sentence: "a thread begins with this method, and all that a thread does is seldom meant to be one step",
};

/// So many calls of the input from the method to a step are many. In programs whose methods nearly all reach each other a
/// variable has such steps below hundreds of methods.
const FAR: usize = 6;

/// A method that is not one step, and what decides how it is described.
pub(super) struct MethodWording<'t, 'm> {
    describe: &'t Describe<'t, 'm>,
    search: &'t Search<'t, 'm>,
    broken: &'t Broken,
    is_entry: bool,
    /// The calls that lead to each step of the method and through it to the access.
    stacks: [Option<Stack>; 2],
}

/// Calls, the innermost first.
type Stack = Vec<(MethodId, StatementId)>;

impl<'t, 'm> MethodWording<'t, 'm> {
    /// `entries` are the methods with which threads begin.
    pub(super) fn new(
        search: &'t Search<'t, 'm>,
        entries: &EntitySet<MethodId>,
        broken: &'t Broken,
    ) -> Self {
        let is_entry = entries.contains(broken.method);
        let stacks = [0, 1].map(|step| stack(search, &broken.best, step));
        Self { describe: search.describe, search, broken, is_entry, stacks }
    }

    /// Whether a thread of the program begins with the method.
    pub(super) fn is_entry(&self) -> bool {
        self.is_entry
    }

    pub(super) fn method(&self) -> MethodReference {
        self.describe.method_reference(self.broken.method)
    }

    /// The variable of the second step.
    pub(super) fn variable(&self) -> Variable {
        match self.holder(1) {
            Some(field) => self.describe.field(field),
            None => self.data(1).variable.clone(),
        }
    }

    fn data(&self, step: usize) -> &VariableData {
        &self.search.views.variables[self.broken.best.variables[step]]
    }

    /// The field that holds the object of a library whose variable a step is about.
    fn holder(&self, step: usize) -> Option<FieldId> {
        let object = self.broken.best.objects[step].filter(|_| self.data(step).is_library)?;
        self.describe.holder(object)
    }

    fn name(&self, step: usize) -> String {
        match self.holder(step) {
            Some(field) => format!("the contents of {}", self.describe.short_field(field)),
            None => self.data(step).name.clone(),
        }
    }

    /// The two steps, then what comes between them.
    pub(super) fn accesses(&self) -> Vec<Access> {
        let best = &self.broken.best;
        let mut accesses: Vec<Access> = [best.first, best.second]
            .into_iter()
            .zip(&self.stacks)
            .map(|(event, stack)| {
                let mut access = self.describe.access(event);
                if let Some(stack) = stack {
                    access.stack = self.describe.frames_of(stack);
                }
                access
            })
            .collect();
        let mut between = best.between.to_vec();
        between.dedup();
        for event in between {
            let mut access = self.describe.access(event);
            if access.thread == accesses[0].thread {
                let thread = self.describe.event(event).thread;
                access.thread = Some(format!("{} (another)", self.describe.thread(thread)));
            }
            accesses.push(access);
        }
        accesses
    }

    /// `Account.update reads Account.balance at A.java:3 and writes it at A.java:4, and another Worker can
    /// write it at A.java:4 in between`.
    pub(super) fn message(&self) -> String {
        let best = &self.broken.best;
        let describe = self.describe;
        let [x, y] = [self.name(0), self.name(1)];
        let method = self.method();
        let name = format!("{}.{}", simple_name(&method.class), method.name);
        let [here, there] = [0, 1].map(|step| {
            let mut frames = self.stacks[step].iter().flatten();
            let frame = frames.find(|frame| frame.0 == self.broken.method);
            describe.place_of(self.broken.method, frame.map_or(best.at[step], |frame| frame.1))
        });
        let verb = |event: EventId| match self.kind(event) {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
        };
        let (first, second) = (verb(best.first), verb(best.second));
        let object = match (x == y, first == second) {
            (true, true) => "it again",
            (true, false) => "it",
            (false, _) => &y,
        };
        let [over_x, over_y] = best.between;
        let thread =
            describe.other_thread(describe.event(best.first).thread, describe.event(over_x).thread);
        let bare = |event: EventId| match self.kind(event) {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
        };
        let what = match x == y {
            true => format!("{} it at {}", bare(over_x), self.place(over_x)),
            false => format!(
                "{} the one at {} and {} the other at {}",
                bare(over_x),
                self.place(over_x),
                bare(over_y),
                self.place(over_y)
            ),
        };
        format!(
            "{name} {first} {x} at {here} and {second} {object} at {there}, and {thread} can {what} \
             in between"
        )
    }

    pub(super) fn reasons(&self) -> Vec<Reason> {
        let best = &self.broken.best;
        let [first, second] = [best.first, best.second].map(|event| self.kind(event));
        let is_same = self.name(0) == self.name(1);
        let is_far = self.stacks.iter().flatten().any(|stack| self.is_far(stack));
        let mut reasons = Vec::new();
        if is_far {
            reasons.push(FAR_BELOW.holds());
        } else if (first, second) == (AccessKind::Read, AccessKind::Write) {
            reasons.extend(best.is_dependent.then(|| ACTS_ON_OLD_VALUE.holds()));
            reasons.extend(is_same.then(|| LOST_UPDATE.holds()));
        }
        if best.is_tested {
            reasons.push(LOOKS_AGAIN.holds());
        }
        if best.is_locked {
            reasons.push(UNDER_ANOTHER_LOCK.holds());
        }
        if first == AccessKind::Write {
            reasons.push(WRITES_FIRST.holds());
        }
        if (first, second) == (AccessKind::Read, AccessKind::Read) {
            reasons.push(ONLY_READS.holds());
        }
        if !is_same && !best.is_dependent {
            reasons.push(DIFFERENT_VARIABLES.holds());
        }
        if self.is_entry {
            reasons.push(THREAD_ENTRY.holds());
        }
        let events = [best.second, best.between[1]].map(|event| self.describe.event(event));
        reasons.extend(reasons::objects(self.describe, best.objects[1], events));
        reasons.extend(reasons::order(self.describe, best.second, best.between[1]));
        reasons
    }

    pub(super) fn hint(&self) -> String {
        let second = self.describe.event(self.broken.best.second);
        if second.is_atomic && !matches!(second.accessed, Accessed::Field(_)) {
            return "use one call that does both, such as putIfAbsent, computeIfAbsent, \
                    compareAndSet or updateAndGet, or hold a lock around both"
                .to_owned();
        }
        match self.describe.locks(second).last() {
            Some(lock) => format!("hold {lock} from the first step to the end of the second"),
            None => "hold one lock from the first step to the end of the second".to_owned(),
        }
    }

    /// Whether many calls lead from the method to an access.
    fn is_far(&self, stack: &Stack) -> bool {
        let below = stack.iter().take_while(|&&(method, _)| method != self.broken.method);
        below.filter(|&&(method, _)| self.is_of_input(method)).count() >= FAR
    }

    fn is_of_input(&self, method: MethodId) -> bool {
        self.describe.is_input(self.describe.program.methods()[method].class)
    }

    fn kind(&self, event: EventId) -> AccessKind {
        self.describe.event(event).kind
    }

    /// The innermost place in the input.
    fn place(&self, event: EventId) -> String {
        let stack = self.describe.execution.stack(event);
        match stack.iter().find(|&&(method, _)| self.is_of_input(method)) {
            Some(&(method, statement)) => self.describe.place_of(method, statement),
            None => self.describe.place(event),
        }
    }
}

/// The calls that lead through a step of the method to its access, as few as possible.
fn stack(search: &Search<'_, '_>, incident: &Incident, step: usize) -> Option<Stack> {
    let Search { describe, views, .. } = search;
    let execution = describe.execution;
    let context = incident.context;
    let (access, step) = (incident.accesses[step], incident.at[step]);
    let event = views.accesses[access].event;
    let thread = describe.event(incident.first).thread;
    let is_in_step = |action: &&Action| {
        let mut scopes = execution.scopes(action.scopes).iter();
        action.statement == step || scopes.any(|scope| scope.site == step)
    };
    let in_step = || execution.actions(context).iter().filter(is_in_step);
    if let Some(action) = in_step().find(|action| action.kind == ActionKind::Access(event)) {
        return Some(execution.stack_of(thread, context, action.statement));
    }
    let makers: FxHashSet<ContextId> = views.makers(access).iter().copied().collect();
    let mut ways: FxHashMap<ContextId, (ContextId, StatementId)> = FxHashMap::default();
    let first_calls = in_step().filter_map(|action| match action.kind {
        ActionKind::Call(callee) => Some((context, callee, action.statement)),
        ActionKind::Access(_) => None,
    });
    let mut open: VecDeque<(ContextId, ContextId, StatementId)> = first_calls.collect();
    while let Some((caller, callee, statement)) = open.pop_front() {
        if callee == context || !views.is_below(callee, access) || ways.contains_key(&callee) {
            continue;
        }
        ways.insert(callee, (caller, statement));
        if makers.contains(&callee) {
            return Some(way_to(search, event, incident, &ways, callee));
        }
        let calls = views.calls.callees(callee).iter();
        open.extend(calls.map(|&(next, statement)| (callee, next, statement)));
    }
    None
}

/// The calls by which the method of an incident comes to a context that makes an access.
fn way_to(
    search: &Search<'_, '_>,
    event: ContextEventId,
    incident: &Incident,
    ways: &FxHashMap<ContextId, (ContextId, StatementId)>,
    maker: ContextId,
) -> Stack {
    let describe = search.describe;
    let execution = describe.execution;
    let method = |at| describe.method_of(execution.instance(at));
    let mut actions = execution.actions(maker).iter();
    let made = actions.find(|action| action.kind == ActionKind::Access(event));
    let mut stack: Stack =
        made.map(|action| (method(maker), action.statement)).into_iter().collect();
    let mut at = maker;
    while let Some(&(caller, statement)) = ways.get(&at) {
        at = caller;
        if at == incident.context {
            let thread = describe.event(incident.first).thread;
            stack.extend(execution.stack_of(thread, at, statement));
            break;
        }
        stack.push((method(at), statement));
    }
    stack
}

/// The methods with which threads of the program begin: also the body of a lambda.
pub(super) fn entry_methods(describe: &Describe<'_, '_>) -> EntitySet<MethodId> {
    let execution = describe.execution;
    let mut methods = EntitySet::new();
    for &(thread, root) in execution.roots() {
        if execution.heap.origins[thread].kind == OriginKind::Client {
            continue;
        }
        let method = describe.method_of(execution.instance(root));
        methods.insert(method);
        let class = describe.program.methods()[method].class;
        if matches!(describe.program.classes()[class].origin, Origin::Lambda(_)) {
            for action in execution.actions(root) {
                if let ActionKind::Call(callee) = action.kind {
                    methods.insert(describe.method_of(execution.instance(callee)));
                }
            }
        }
    }
    methods
}
