//! Whether two steps of a method are disturbed: a lock scope of another thread conflicts with both of them, and the three
//! do not form a chain.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_entity::EntitySet;
use unsnarl_models::Effect;
use unsnarl_program::body::{StatementId, Value};
use unsnarl_program::heap::ObjectId;
use unsnarl_symbolic::{AccessKind, Accessed, ContextId, Event, EventId, Execution};

use super::chain::{Incident, Search};
use super::disturbed::{Disturbance, Touch};
use super::meetings::{Meeting, is_nested};
use super::views::{AccessId, PartId, ScopeStatement, VariableId, ViewId};
use crate::code;
use crate::code::dependence::Dependence;

/// How many comparisons are made for one context. In a large program most of them compare what is taken together anyway.
const MOST_COMPARISONS: usize = 1_000;
/// The steps of one context while they are judged.
pub(super) struct Judge<'j, 's, 'm> {
    search: &'j Search<'s, 'm>,
    code: Dependence<'j>,
    context: ContextId,
    steps: &'j [ScopeStatement],
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

impl<'j, 's, 'm> Judge<'j, 's, 'm> {
    pub(super) fn new(
        search: &'j Search<'s, 'm>,
        code: Dependence<'j>,
        context: ContextId,
        steps: &'j [ScopeStatement],
        explained: &'j EntitySet<VariableId>,
    ) -> Self {
        let (pairs, found) = Default::default();
        Self { search, code, context, steps, explained, pairs, found, left: MOST_COMPARISONS }
    }

    /// Judges the variables of all classes.
    pub(super) fn all(&mut self) {
        let mut by_part: BTreeMap<PartId, Vec<usize>> = BTreeMap::new();
        for (number, step) in self.steps.iter().enumerate() {
            for &(part, _) in self.search.disturbances.parts(step.views).iter() {
                by_part.entry(part).or_default().push(number);
            }
        }
        for (part, steps) in by_part {
            if steps.len() > 1 {
                self.part(part, &steps);
            }
        }
    }

    /// Whether not everything was compared.
    pub(super) fn is_cut_short(&self) -> bool {
        self.left == 0
    }

    /// For each class, one incident for each pair of variables.
    pub(super) fn found(self) -> Vec<(PartId, Incident)> {
        self.found.into_iter().map(|((part, _), incident)| (part, incident)).collect()
    }

    /// Looks for two steps that one lock scope of another thread conflicts with, if the three do not form a
    /// chain.
    fn part(&mut self, part: PartId, steps: &[usize]) {
        let disturbances = &self.search.disturbances;
        let of_steps: Vec<(usize, Rc<[Disturbance]>)> = steps
            .iter()
            .map(|&step| (step, disturbances.of(self.steps[step].views, part)))
            .collect();
        let mut disturbed: Vec<(ViewId, usize, &[Disturbance])> = of_steps
            .iter()
            .flat_map(|(step, all)| {
                let by_view = all.chunk_by(|(one, _), (other, _)| one == other);
                by_view.map(|touches| (touches[0].0, *step, touches))
            })
            .collect();
        disturbed.sort_by_key(|&(between, step, _)| (between, step));
        for steps in disturbed.chunk_by(|one, other| one.0 == other.0) {
            for &(_, first, of_first) in steps {
                for &(_, second, of_second) in steps {
                    if first == second {
                        continue;
                    }
                    let Some(pair) = self.pair(first, second) else { continue };
                    for (_, one) in of_first {
                        for (_, two) in of_second {
                            if self.left == 0 {
                                return;
                            }
                            self.left -= 1;
                            self.between(part, &pair, [one, two]);
                        }
                    }
                }
            }
        }
    }

    /// Whether nothing could convince more than what is known of two variables.
    fn is_settled(&self, part: PartId, touches: [&Touch; 2]) -> bool {
        let variables = touches.map(|touch| touch.variable);
        self.found.get(&(part, variables)).is_some_and(|known| self.is_plain(known))
    }

    fn between(&mut self, part: PartId, pair: &Pair, touches: [&Touch; 2]) {
        let is_explained = touches.iter().all(|touch| self.explained.contains(touch.variable));
        if is_explained || self.is_settled(part, touches) {
            return;
        }
        let [one, two] = touches.map(|touch| &self.search.views.lock_views[touch.view].entries);
        let is_self_needed = touches.iter().all(|touch| touch.is_nested);
        if !is_self_needed || !is_nested(one, two) {
            self.judge(part, pair, touches, is_self_needed);
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

    fn judge(&mut self, part: PartId, pair: &Pair, [one, two]: [&Touch; 2], is_self_needed: bool) {
        let steps = pair.steps;
        let variables = [one.variable, two.variable];
        let key = (part, variables);
        for first in one.met.iter() {
            for second in two.met.iter() {
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
                    accesses: [first.access, second.access],
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
    /// in the same lock scope, or says what it found.
    fn is_tested(&self, view: ViewId, access: AccessId) -> bool {
        let Search { describe, views, .. } = self.search;
        let event = |access: AccessId| {
            let events = describe.execution.events_of(views.accesses[access].event);
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
            let code = Dependence::new(&describe.program.names, body);
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
                && views.members(step.views).iter().any(|&view| is_about(view))
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
            objects.iter().flatten().any(|object| found.binary_search(object).is_ok())
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
    first: &ScopeStatement,
    second: &ScopeStatement,
) -> FxHashSet<ObjectId> {
    let own = first.within.iter().filter(|scope| second.within.contains(scope));
    let own = own.map(|(_, lock)| lock);
    let all = own.chain(execution.outer_locks(context));
    all.flat_map(|lock: &Arc<[ObjectId]>| lock.iter().copied()).collect()
}

/// Whether neither of two steps is part of the other.
fn is_apart(first: &ScopeStatement, second: &ScopeStatement) -> bool {
    let is_inside = |inner: &ScopeStatement, outer: &ScopeStatement| {
        inner.within.iter().any(|&(site, _)| site == outer.statement)
    };
    first.statement != second.statement && !is_inside(first, second) && !is_inside(second, first)
}
