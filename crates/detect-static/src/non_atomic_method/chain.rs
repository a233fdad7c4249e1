//! Which methods break the chain (seed 000, sections 5.1 and 5.2.2): two of their steps, and a lock scope of
//! another thread that can come between them.
//!
//! Contexts are judged callees first, and a variable that breaks the chain in a method is not looked at again
//! in its callers: so only the lowest method is told, and large programs can be judged at all.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_entity::{EntitySet, SecondaryMap};
use unsnarl_models::Effect;
use unsnarl_program::MethodId;
use unsnarl_program::body::{StatementId, Value};
use unsnarl_program::heap::ObjectId;
use unsnarl_symbolic::{AccessKind, Accessed, ContextId, DeedKind, Event, EventId, Execution};

use super::depends::Code;
use super::meetings::{Meeting, Meetings, Touched, is_nested};
use super::views::{AccessId, PartId, Step, VariableId, ViewId, Views};
use crate::code;
use crate::describe::Describe;

/// How many comparisons are made for one context. In a large program most of them compare what is taken together anyway.
const MOST_COMPARISONS: usize = 5_000;

/// Two steps of a method between which another thread can come.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Incident {
    /// What the second step does depends on what the first has found out.
    pub(super) is_dependent: bool,
    /// The second step looks again before it writes.
    pub(super) is_tested: bool,
    /// Both are done under a lock.
    pub(super) is_locked: bool,
    pub(super) first: EventId,
    pub(super) second: EventId,
    /// What the other thread does to the variable of the first step, and to that of the second.
    pub(super) between: [EventId; 2],
    /// The object of the first step and of the second; nothing for a static field.
    pub(super) objects: [Option<ObjectId>; 2],
    pub(super) variables: [VariableId; 2],
    pub(super) context: ContextId,
    /// The statements of the method that are the steps.
    pub(super) at: [StatementId; 2],
}

/// A method that is not one step for the variables of one class.
pub(super) struct Broken {
    pub(super) method: MethodId,
    /// The incident that convinces most.
    pub(super) best: Incident,
}

/// What is looked for in which views.
pub(super) struct Search<'s, 'm> {
    pub(super) describe: &'s Describe<'s, 'm>,
    pub(super) views: &'s Views,
    meetings: Meetings<'s, 'm>,
    /// How many contexts were not judged to the end.
    cut: Cell<usize>,
}

impl<'s, 'm> Search<'s, 'm> {
    pub(super) fn new(describe: &'s Describe<'s, 'm>, views: &'s Views) -> Self {
        let meetings = Meetings::new(describe, views);
        Self { describe, views, meetings, cut: Cell::new(0) }
    }

    /// How many methods were not judged to the end.
    pub(super) fn cut(&self) -> usize {
        self.cut.get()
    }

    /// The methods of the input that are not one step, each without those that only call such methods.
    pub(super) fn broken(&self) -> Vec<Broken> {
        type Appearance = (MethodId, Vec<(StatementId, Vec<ViewId>)>);
        let mut known: FxHashMap<Appearance, Vec<VariableId>> = FxHashMap::default();
        let mut broken: BTreeMap<(MethodId, Option<PartId>), Broken> = BTreeMap::new();
        let mut explained: SecondaryMap<ContextId, EntitySet<VariableId>> = SecondaryMap::new();
        for &context in &self.views.contexts {
            let mut below: EntitySet<VariableId> = EntitySet::new();
            for deed in self.describe.execution.deeds(context) {
                if let DeedKind::Call(callee) = deed.kind {
                    below.union_with(&explained[callee]);
                }
            }
            let method = self.method(context);
            let steps = match self.is_judged(method) {
                true => self.views.steps(self.describe.execution, context),
                false => Vec::new(),
            };
            if steps.len() > 1 {
                let appearance = |step: &Step| (step.statement, step.views.iter().collect());
                let appearance = (method, steps.iter().map(appearance).collect());
                let variables = known.entry(appearance).or_insert_with(|| {
                    let found = self.context(context, &steps, &below);
                    let variables = found.iter().flat_map(|(_, incident)| incident.variables);
                    let variables = variables.collect();
                    for (part, incident) in found {
                        self.add(&mut broken, part, incident);
                    }
                    variables
                });
                below.extend(variables.iter().copied());
            }
            explained[context] = below;
        }
        broken.into_values().collect()
    }

    fn is_judged(&self, method: MethodId) -> bool {
        let class = self.describe.program.methods()[method].class;
        self.describe.is_input(class) && self.describe.program.classes()[class].file().is_some()
    }

    fn add(
        &self,
        broken: &mut BTreeMap<(MethodId, Option<PartId>), Broken>,
        part: PartId,
        incident: Incident,
    ) {
        let method = self.method(incident.context);
        // How many classes a library has for one collection is nobody's business.
        let is_library = self.views.variables[incident.variables[0]].is_library;
        let part = Some(part).filter(|_| !is_library);
        let known = broken
            .entry((method, part))
            .or_insert_with(|| Broken { method, best: incident.clone() });
        if self.rank(&incident) < self.rank(&known.best) {
            known.best = incident;
        }
    }

    fn method(&self, context: ContextId) -> MethodId {
        self.describe.method_of(self.describe.execution.instance(context))
    }

    /// Those that convince more come first.
    fn rank<'i>(&self, incident: &'i Incident) -> impl Ord + use<'i> {
        let kind = |event: EventId| self.describe.event(event).kind;
        (
            incident.is_tested,
            incident.is_locked,
            !incident.is_dependent,
            incident.variables[0] != incident.variables[1],
            kind(incident.second) != AccessKind::Write,
            kind(incident.first) != AccessKind::Read,
            self.describe.event(incident.first).statement,
            incident,
        )
    }

    /// What breaks the chain in a context: for each class, one incident for each pair of variables.
    fn context(
        &self,
        context: ContextId,
        steps: &[Step],
        explained: &EntitySet<VariableId>,
    ) -> Vec<(PartId, Incident)> {
        let execution = self.describe.execution;
        let instance = execution.instance(context);
        let Some(body) = code::body(self.describe.program, &execution.heap, instance) else {
            return Vec::new();
        };
        let mut judge = Judge {
            search: self,
            code: Code::new(&self.describe.program.names, body),
            context,
            steps,
            explained,
            pairs: FxHashMap::default(),
            found: BTreeMap::new(),
            left: MOST_COMPARISONS,
        };
        let mut by_part: BTreeMap<PartId, Vec<(usize, ViewId)>> = BTreeMap::new();
        for (number, step) in steps.iter().enumerate() {
            for view in step.views.iter() {
                by_part.entry(self.views.lock_views[view].part).or_default().push((number, view));
            }
        }
        for (part, views) in by_part {
            if views.first().map(|first| first.0) != views.last().map(|last| last.0) {
                judge.part(part, &views);
            }
        }
        if judge.left == 0 {
            self.cut.set(self.cut.get() + 1);
        }
        judge.found.into_iter().map(|((part, _), incident)| (part, incident)).collect()
    }
}

/// What a lock scope of a step has to do with one of another thread, at a variable.
struct Touch<'t> {
    step: usize,
    view: ViewId,
    is_nested: bool,
    variable: VariableId,
    met: &'t [Meeting],
}

/// The steps of one context while they are judged.
struct Judge<'j, 's, 'm> {
    search: &'j Search<'s, 'm>,
    code: Code<'j>,
    context: ContextId,
    steps: &'j [Step],
    /// Variables that break the chain in a method that is called.
    explained: &'j EntitySet<VariableId>,
    /// What is known of two steps; nothing if the second cannot come after the first.
    pairs: FxHashMap<(usize, usize), Option<Rc<Pair>>>,
    found: BTreeMap<(PartId, [VariableId; 2]), Incident>,
    left: usize,
}

/// Two steps of a method.
struct Pair {
    steps: [usize; 2],
    /// What the locks may be that are held from one to the other.
    spanning: FxHashSet<ObjectId>,
    is_dependent: OnceCell<bool>,
    /// The second begins with a wait.
    is_wait: bool,
}

impl Judge<'_, '_, '_> {
    /// Looks for two steps that one lock scope of another thread conflicts with, if the three do not form a
    /// chain.
    fn part(&mut self, part: PartId, views: &[(usize, ViewId)]) {
        let meetings = views.iter().map(|&(_, view)| self.search.meetings.of(view));
        let meetings: Vec<Rc<[Touched]>> = meetings.collect();
        let mut disturbed: BTreeMap<ViewId, Vec<Touch<'_>>> = BTreeMap::new();
        for (&(step, view), touched) in views.iter().zip(&meetings) {
            for Touched { between, is_nested, variables } in touched.iter() {
                let touches = variables.iter().map(|(variable, met)| {
                    let (is_nested, variable) = (*is_nested, *variable);
                    Touch { step, view, is_nested, variable, met }
                });
                disturbed.entry(*between).or_default().extend(touches);
            }
        }
        for touches in disturbed.values() {
            for one in touches {
                for two in touches.iter().filter(|two| two.step != one.step) {
                    if self.left == 0 {
                        return;
                    }
                    let is_explained =
                        [one, two].iter().all(|touch| self.explained.contains(touch.variable));
                    if !is_explained && !self.is_settled(part, [one, two]) {
                        self.left -= 1;
                        self.between(part, one, two);
                    }
                }
            }
        }
    }

    /// Whether nothing could convince more than what is known of two variables.
    fn is_settled(&self, part: PartId, touches: [&Touch<'_>; 2]) -> bool {
        let variables = touches.map(|touch| touch.variable);
        self.found.get(&(part, variables)).is_some_and(|known| self.is_plain(known))
    }

    fn between(&mut self, part: PartId, one: &Touch<'_>, two: &Touch<'_>) {
        let Some(pair) = self.pair(one.step, two.step) else { return };
        let entries = |view: ViewId| &self.search.views.lock_views[view].entries;
        let is_self_needed = one.is_nested && two.is_nested;
        if !is_self_needed || !is_nested(entries(one.view), entries(two.view)) {
            self.judge(part, &pair, [one, two], is_self_needed);
        }
    }

    fn pair(&mut self, first: usize, second: usize) -> Option<Rc<Pair>> {
        if let Some(known) = self.pairs.get(&(first, second)) {
            return known.clone();
        }
        let (one, two) = (&self.steps[first], &self.steps[second]);
        let is_possible = is_apart(one, two) && self.code.precedes(one.statement, two.statement);
        let pair = is_possible.then(|| {
            Rc::new(Pair {
                steps: [first, second],
                spanning: spanning(self.search.describe.execution, self.context, one, two),
                is_dependent: OnceCell::new(),
                is_wait: self.is_wait(two.statement),
            })
        });
        self.pairs.insert((first, second), pair.clone());
        pair
    }

    /// Whether what the second step does depends on what the first has found out.
    fn is_dependent(&self, pair: &Pair) -> bool {
        let [one, two] = pair.steps.map(|step| &self.steps[step].parts);
        *pair.is_dependent.get_or_init(|| self.code.depends(one, two))
    }

    fn is_wait(&self, statement: StatementId) -> bool {
        let execution = self.search.describe.execution;
        let models = execution.heap.models_at(execution.instance(self.context), statement);
        let mut effects = models.iter().flat_map(|call| &call.model.effects);
        effects.any(|effect| matches!(effect, Effect::Wait { .. }))
    }

    fn judge(
        &mut self,
        part: PartId,
        pair: &Pair,
        [one, two]: [&Touch<'_>; 2],
        is_self_needed: bool,
    ) {
        let steps = pair.steps;
        let variables = [one.variable, two.variable];
        let key = (part, variables);
        for first in one.met {
            for second in two.met {
                if !self.is_interleaving(pair, [first, second], is_self_needed)
                    || !self.is_about_one(steps, variables, [first.object, second.object])
                {
                    continue;
                }
                let incident = Incident {
                    is_dependent: self.is_dependent(pair),
                    is_tested: one.variable == two.variable
                        && (self.is_tested(two.view, second.access)
                            || self.is_tested_between(steps, one.variable)),
                    is_locked: !pair.spanning.is_empty(),
                    first: first.own,
                    second: second.own,
                    between: [first.other, second.other],
                    objects: [first.object, second.object],
                    variables,
                    context: self.context,
                    at: steps.map(|step| self.steps[step].statement),
                };
                if pair.is_wait && self.looks_after_waiting(&incident) {
                    return;
                }
                let search = self.search;
                let better = self.found.entry(key).or_insert_with(|| incident.clone());
                if search.rank(&incident) < search.rank(better) {
                    *better = incident;
                }
                return;
            }
        }
    }

    /// Who waits and then looks again knows what has changed.
    fn looks_after_waiting(&self, incident: &Incident) -> bool {
        incident.is_tested || self.event(incident.second).kind == AccessKind::Read
    }

    /// Whether nothing could convince more: what was read decides what is written.
    fn is_plain(&self, incident: &Incident) -> bool {
        let kinds = [incident.first, incident.second].map(|event| self.event(event).kind);
        incident.is_dependent
            && !incident.is_tested
            && kinds == [AccessKind::Read, AccessKind::Write]
    }

    /// Whether one thread can do the one and another the other, the second thread in between.
    fn is_interleaving(
        &self,
        pair: &Pair,
        [first, second]: [&Meeting; 2],
        is_self_needed: bool,
    ) -> bool {
        let execution = self.search.describe.execution;
        let thread = |event: EventId| self.event(event).thread;
        let is_protected = |event: EventId| {
            let mut held = self.event(event).guards.iter().flat_map(|guard| guard.objects.iter());
            held.any(|lock| pair.spanning.contains(lock))
        };
        let is_library = |event: EventId| {
            let event = self.event(event);
            event.is_atomic && !matches!(event.accessed, Accessed::Field(_))
        };
        let is_compound = is_library(first.own) && is_library(second.own);
        thread(first.own) == thread(second.own)
            && thread(first.other) == thread(second.other)
            && !is_protected(first.other)
            && !is_protected(second.other)
            && (!is_self_needed || execution.order(first.object, first.own, first.own).is_none())
            && (!is_compound
                || self.is_dependent(pair) && self.is_check_then_act(first.own, second.own))
    }

    /// A library's atomic call that reads, and one that changes whatever is there then.
    fn is_check_then_act(&self, first: EventId, second: EventId) -> bool {
        let (first, second) = (self.event(first), self.event(second));
        first.kind == AccessKind::Read && second.kind == AccessKind::Write && !second.is_conditional
    }

    /// Whether an access of the input is done only on some outcome of what its method reads of the same variable
    /// in the same lock scope, or tells what it found.
    fn is_tested(&self, view: ViewId, access: AccessId) -> bool {
        let Search { describe, views, .. } = self.search;
        let event = |access: AccessId| {
            let events = describe.execution.events_of(views.accesses[access].seen);
            events.first().map(|&event| describe.event(event))
        };
        let Some(own) = event(access).filter(|own| describe.is_by_input(own)) else {
            return false;
        };
        let reads = views.lock_views[view].accesses.iter().filter(|&&read| {
            let read = &views.accesses[read];
            !read.is_update && read.variable == views.accesses[access].variable
        });
        let reads = reads.filter_map(|&read| event(read));
        let reads = reads.filter(|read| read.instance == own.instance);
        let reads: Vec<StatementId> = reads.map(|read| read.statement).collect();
        code::body(describe.program, &describe.execution.heap, own.instance).is_some_and(|body| {
            let code = Code::new(&describe.program.names, body);
            code.is_tested(&reads, own.statement) || own.is_atomic && code.is_asked(own.statement)
        })
    }

    /// Whether the second step is done only on some outcome of a step between the two that is about the same
    /// variable: the method has looked again.
    fn is_tested_between(&self, [first, second]: [usize; 2], variable: VariableId) -> bool {
        let views = self.search.views;
        let is_about = |view: ViewId| {
            let accesses = views.lock_views[view].accesses.iter();
            accesses.map(|&access| views.accesses[access].variable).any(|found| found == variable)
        };
        let end = self.steps[second].statement;
        self.steps.iter().enumerate().any(|(at, step)| {
            at != first
                && at != second
                && step.views.iter().any(is_about)
                && self.code.precedes(self.steps[first].statement, step.statement)
                && self.code.precedes(step.statement, end)
                && self.code.is_tested(&step.parts, end)
        })
    }

    /// Whether the two steps may be about one object: it is the only one, or the method reaches both by the
    /// same references.
    fn is_about_one(
        &self,
        steps: [usize; 2],
        [x, y]: [VariableId; 2],
        objects: [Option<ObjectId>; 2],
    ) -> bool {
        let execution = self.search.describe.execution;
        let is_one =
            |object: Option<ObjectId>| object.is_none_or(|object| execution.is_unique(object));
        if x == y && objects[0] != objects[1] {
            return false;
        }
        let instance = execution.instance(self.context);
        let can_be = |value: Value| {
            let found = execution.heap.points_to(instance, value);
            objects.iter().flatten().any(|object| found.contains(object))
        };
        let [first, second] = steps.map(|step| self.steps[step].statement);
        // What a library does with its own objects is its own business.
        let is_used =
            |statement| self.code.references(statement).iter().any(|&value| can_be(value));
        let is_known = |variable: VariableId, object: Option<ObjectId>| {
            !self.search.views.variables[variable].is_library
                || object.is_some_and(|object| self.is_of_input(object))
                || is_used(first) && is_used(second)
        };
        is_known(x, objects[0])
            && is_known(y, objects[1])
            && (objects.map(is_one) == [true; 2] || self.code.may_be_same(first, second, can_be))
    }

    /// Whether the input makes an object or holds it in a field.
    fn is_of_input(&self, object: ObjectId) -> bool {
        let describe = self.search.describe;
        let made = describe.execution.heap.objects[object].made;
        describe.holder(object).is_some()
            || made.is_some_and(|(method, _)| {
                describe.is_input(describe.program.methods()[method].class)
            })
    }

    fn event(&self, event: EventId) -> &Event {
        self.search.describe.event(event)
    }
}

/// What the locks may be that are held from one step to the other.
fn spanning(
    execution: &Execution<'_>,
    context: ContextId,
    first: &Step,
    second: &Step,
) -> FxHashSet<ObjectId> {
    let own = first.within.iter().filter(|scope| second.within.contains(scope));
    let own = own.map(|(_, lock)| lock);
    let all = own.chain(execution.outer_locks(context));
    all.flat_map(|lock: &Arc<[ObjectId]>| lock.iter().copied()).collect()
}

/// Whether neither of two steps is part of the other.
fn is_apart(first: &Step, second: &Step) -> bool {
    let is_inside =
        |inner: &Step, outer: &Step| inner.within.iter().any(|&(site, _)| site == outer.statement);
    first.statement != second.statement && !is_inside(first, second) && !is_inside(second, first)
}
