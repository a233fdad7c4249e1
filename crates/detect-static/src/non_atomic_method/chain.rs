//! Which methods break the chain (seed 000, sections 5.1 and 5.2.2): two of their steps, and a lock scope of
//! another thread that can come between them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_entity::{EntitySet, UniqueMap, entity_id};
use unsnarl_program::MethodId;
use unsnarl_program::body::StatementId;
use unsnarl_program::heap::ObjectId;
use unsnarl_symbolic::{AccessKind, Accessed, ContextId, DeedKind, Event, EventId, Sharing};

use super::depends::Code;
use super::views::{AccessId, PartId, Step, VariableId, ViewId, Views};
use crate::code;
use crate::describe::Describe;

/// The most pairs of steps of a method that are judged for one class.
const MOST_PAIRS: usize = 2_000;
/// The most lock views that are compared where several have the same variables.
const MOST_VIEWS: usize = 100;
/// The most accesses to a variable in a lock scope that are looked at.
const MOST_ACCESSES: usize = 4;

/// Two steps of a method between which another thread can come.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Incident {
    /// What the second step does depends on what the first has found out.
    pub(super) is_dependent: bool,
    /// The second step looks again before it writes.
    pub(super) is_tested: bool,
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

/// The incidents of a method with the variables of one class.
pub(super) struct Broken {
    pub(super) method: MethodId,
    /// Nothing for the classes of libraries.
    part: Option<PartId>,
    /// The one that convinces most.
    pub(super) best: Incident,
    pub(super) variables: BTreeSet<VariableId>,
    contexts: BTreeSet<ContextId>,
}

entity_id! {
    /// The variables of one class in a lock view. Many lock views have the same.
    struct ContentId("content");
}

/// Lock views by the variables of one class in them.
type ByContent = BTreeMap<ContentId, Vec<ViewId>>;

/// What is looked for in which views.
pub(super) struct Search<'s, 'm> {
    pub(super) describe: &'s Describe<'s, 'm>,
    pub(super) views: &'s Views,
    contents: UniqueMap<ContentId, Vec<(VariableId, bool)>>,
    content_of: FxHashMap<(ViewId, PartId), ContentId>,
    /// For each class the lock views that update something in it.
    updating: BTreeMap<PartId, ByContent>,
}

impl<'s, 'm> Search<'s, 'm> {
    pub(super) fn new(describe: &'s Describe<'s, 'm>, views: &'s Views) -> Self {
        let mut contents = UniqueMap::new();
        let mut content_of = FxHashMap::default();
        let mut updating: BTreeMap<PartId, ByContent> = BTreeMap::new();
        for (id, view) in views.lock_views.iter() {
            for (&part, entries) in &view.parts {
                let content = contents.intern(entries.clone());
                content_of.insert((id, part), content);
                if entries.iter().any(|&(_, is_update)| is_update) {
                    updating.entry(part).or_default().entry(content).or_default().push(id);
                }
            }
        }
        Self { describe, views, contents, content_of, updating }
    }

    /// The methods of the input that are not one step, each without those that only call such methods.
    pub(super) fn broken(&self) -> Vec<Broken> {
        let mut known: FxHashSet<(MethodId, Vec<(StatementId, Vec<ViewId>)>)> =
            FxHashSet::default();
        let mut chosen = Vec::new();
        for &context in &self.views.contexts {
            let method = self.method(context);
            let class = self.describe.program.methods()[method].class;
            let is_written = self.describe.program.classes()[class].file().is_some();
            if !self.describe.is_input(class) || !is_written {
                continue;
            }
            let steps = self.views.steps(self.describe.execution, context);
            let appearance = |step: &Step| (step.statement, step.views.iter().collect());
            if steps.len() > 1 && known.insert((method, steps.iter().map(appearance).collect())) {
                chosen.push((context, steps));
            }
        }
        let found: Vec<Vec<(PartId, Incident)>> =
            chosen.par_iter().map(|(context, steps)| self.context(*context, steps)).collect();
        let mut broken: BTreeMap<(MethodId, Option<PartId>), Broken> = BTreeMap::new();
        for (part, incident) in found.into_iter().flatten() {
            let method = self.method(incident.context);
            // How many classes a library has for one collection is nobody's business.
            let is_library = self.views.variables[incident.variables[0]].is_library;
            let part = Some(part).filter(|_| !is_library);
            let entry = broken.entry((method, part)).or_insert_with(|| Broken {
                method,
                part,
                best: incident.clone(),
                variables: BTreeSet::new(),
                contexts: BTreeSet::new(),
            });
            entry.variables.extend(incident.variables);
            entry.contexts.insert(incident.context);
            if self.rank(&incident) < self.rank(&entry.best) {
                entry.best = incident;
            }
        }
        self.lowest(broken.into_values().collect())
    }

    fn method(&self, context: ContextId) -> MethodId {
        self.describe.method_of(self.describe.execution.instance(context))
    }

    /// Whether nothing could convince more: what was read decides what is written.
    fn is_plain(&self, incident: &Incident) -> bool {
        let kinds = [incident.first, incident.second].map(|event| self.describe.event(event).kind);
        incident.is_dependent
            && !incident.is_tested
            && kinds == [AccessKind::Read, AccessKind::Write]
    }

    /// Those that convince more come first.
    fn rank<'i>(&self, incident: &'i Incident) -> impl Ord + use<'i> {
        let kind = |event: EventId| self.describe.event(event).kind;
        (
            incident.is_tested,
            !incident.is_dependent,
            incident.variables[0] != incident.variables[1],
            kind(incident.second) != AccessKind::Write,
            kind(incident.first) != AccessKind::Read,
            self.describe.event(incident.first).statement,
            incident,
        )
    }

    /// Leaves out methods all of whose variables break the chain in a method that they call.
    fn lowest(&self, broken: Vec<Broken>) -> Vec<Broken> {
        let mut is_lowest = vec![true; broken.len()];
        for (at, upper) in broken.iter().enumerate() {
            let methods = self.called(&upper.contexts);
            let below = broken.iter().filter(|lower| {
                lower.part == upper.part
                    && lower.method != upper.method
                    && methods.contains(lower.method)
            });
            let explained: BTreeSet<VariableId> =
                below.flat_map(|lower| lower.variables.iter().copied()).collect();
            is_lowest[at] = !upper.variables.is_subset(&explained);
        }
        let mut is_lowest = is_lowest.into_iter();
        broken.into_iter().filter(|_| is_lowest.next() == Some(true)).collect()
    }

    /// The methods that contexts call, directly or not.
    fn called(&self, contexts: &BTreeSet<ContextId>) -> EntitySet<MethodId> {
        let mut open: Vec<ContextId> = contexts.iter().copied().collect();
        let mut seen: EntitySet<ContextId> = EntitySet::new();
        let mut methods: EntitySet<MethodId> = EntitySet::new();
        while let Some(context) = open.pop() {
            for deed in self.describe.execution.deeds(context) {
                if let DeedKind::Call(callee) = deed.kind
                    && seen.insert(callee)
                {
                    methods.insert(self.method(callee));
                    open.push(callee);
                }
            }
        }
        methods
    }

    /// What breaks the chain in a context: for each class, one incident for each pair of variables.
    fn context(&self, context: ContextId, steps: &[Step]) -> Vec<(PartId, Incident)> {
        let execution = self.describe.execution;
        let instance = execution.instance(context);
        let Some(body) = code::body(self.describe.program, &execution.heap, instance) else {
            return Vec::new();
        };
        let code = Code { names: &self.describe.program.names, body };
        let mut by_part: BTreeMap<PartId, Vec<(&Step, ByContent)>> = BTreeMap::new();
        for step in steps {
            let mut of_step: BTreeMap<PartId, ByContent> = BTreeMap::new();
            for view in step.views.iter() {
                for &part in self.views.lock_views[view].parts.keys() {
                    let content = self.content_of[&(view, part)];
                    of_step.entry(part).or_default().entry(content).or_default().push(view);
                }
            }
            for (part, views) in of_step {
                by_part.entry(part).or_default().push((step, views));
            }
        }
        let mut found: BTreeMap<(PartId, [VariableId; 2]), Incident> = BTreeMap::new();
        for (part, steps) in by_part {
            let Some(updating) = self.updating.get(&part) else { continue };
            let pairs =
                steps.iter().flat_map(|first| steps.iter().map(move |second| (first, second)));
            let apart = pairs.filter(|((first, _), (second, _))| {
                is_apart(first, second) && code.precedes(first.statement, second.statement)
            });
            for ((first, of_first), (second, of_second)) in apart.take(MOST_PAIRS) {
                let mut pair = Pair {
                    search: self,
                    code: &code,
                    steps: [first, second],
                    spanning: self.spanning(context, first, second),
                    is_dependent: None,
                    context,
                };
                for one in of_first {
                    for other in of_second {
                        for between in updating {
                            pair.judge(part, [one, other, between], &mut found);
                        }
                    }
                }
            }
        }
        found.into_iter().map(|((part, _), incident)| (part, incident)).collect()
    }

    /// What the locks may be that are held from one step to the other.
    fn spanning(&self, context: ContextId, first: &Step, second: &Step) -> BTreeSet<ObjectId> {
        let own = first.within.iter().filter(|scope| second.within.contains(scope));
        let own = own.map(|(_, lock)| lock);
        let all = own.chain(self.describe.execution.outer_locks(context));
        all.flat_map(|lock: &Arc<[ObjectId]>| lock.iter().copied()).collect()
    }
}

/// Whether neither of two steps is part of the other.
fn is_apart(first: &Step, second: &Step) -> bool {
    let is_inside =
        |inner: &Step, outer: &Step| inner.within.iter().any(|&(site, _)| site == outer.statement);
    first.statement != second.statement && !is_inside(first, second) && !is_inside(second, first)
}

/// Two steps of a method.
struct Pair<'p, 's, 'm> {
    search: &'p Search<'s, 'm>,
    code: &'p Code<'p>,
    steps: [&'p Step; 2],
    spanning: BTreeSet<ObjectId>,
    is_dependent: Option<bool>,
    context: ContextId,
}

impl Pair<'_, '_, '_> {
    /// Looks for variables on which a lock view of another thread conflicts with both steps, if the three do
    /// not form a chain.
    fn judge(
        &mut self,
        part: PartId,
        views: [(&ContentId, &Vec<ViewId>); 3],
        found: &mut BTreeMap<(PartId, [VariableId; 2]), Incident>,
    ) {
        let search = self.search;
        let [first, second, other] = views.map(|(&content, _)| &search.contents[content][..]);
        let is_chain = [(first, other), (second, other), (first, second)]
            .map(|(one, other)| is_nested(one, other));
        if is_chain == [true; 3] {
            return;
        }
        let [first_views, second_views, others] = views.map(|(_, views)| views);
        let variables =
            conflicts(first, other).flat_map(|x| conflicts(second, other).map(move |y| [x, y]));
        for variables in variables {
            if found.get(&(part, variables)).is_some_and(|known| self.search.is_plain(known)) {
                continue;
            }
            let pairs = first_views
                .iter()
                .flat_map(|&first| second_views.iter().map(move |&second| [first, second]));
            let mut triples = pairs
                .flat_map(|own| others.iter().map(move |&between| (own, between)))
                .take(MOST_VIEWS);
            let is_self_needed = is_chain[0] && is_chain[1];
            let incident = triples
                .find_map(|(own, between)| self.incident(own, between, variables, is_self_needed));
            if let Some(incident) = incident {
                let better = found.entry((part, variables)).or_insert_with(|| incident.clone());
                if search.rank(&incident) < search.rank(better) {
                    *better = incident;
                }
            }
        }
    }

    /// Accesses to the variables that nothing keeps from happening in this order.
    fn incident(
        &mut self,
        own: [ViewId; 2],
        between: ViewId,
        variables: [VariableId; 2],
        is_self_needed: bool,
    ) -> Option<Incident> {
        let search = self.search;
        let accesses = |view: ViewId, variable: VariableId| {
            let all = search.views.lock_views[view].accesses.iter().copied();
            let all = all.filter(|&id| search.views.accesses[id].variable == variable);
            let is_update = |access: &AccessId| search.views.accesses[*access].is_update;
            let (updates, reads): (Vec<_>, Vec<_>) = all.partition(is_update);
            let mut all = if updates.is_empty() { reads } else { updates };
            all.truncate(MOST_ACCESSES);
            all
        };
        let [x, y] = variables;
        let (first, second) = (accesses(own[0], x), accesses(own[1], y));
        let (over_x, over_y) = (accesses(between, x), accesses(between, y));
        for &first in &first {
            for &second in &second {
                for &over_x in &over_x {
                    for &over_y in &over_y {
                        let four = [first, second, over_x, over_y];
                        if let Some(mut incident) = self.interleaving(four, is_self_needed) {
                            incident.is_tested = x == y && self.is_tested(own[1], second);
                            return Some(incident);
                        }
                    }
                }
            }
        }
        None
    }

    fn interleaving(&mut self, four: [AccessId; 4], is_self_needed: bool) -> Option<Incident> {
        let search = self.search;
        let describe = search.describe;
        let [x, y] = [four[0], four[1]].map(|access| search.views.accesses[access].variable);
        let events = |access: AccessId| {
            describe.execution.events_of(search.views.accesses[access].seen).iter().copied()
        };
        let together = |one: AccessId, other: AccessId| {
            events(one)
                .flat_map(move |one| events(other).map(move |other| (one, other)))
                .filter(|&(one, other)| describe.event(one).thread == describe.event(other).thread)
        };
        for (first, second) in together(four[0], four[1]) {
            for (over_x, over_y) in together(four[2], four[3]) {
                let Some(object) = self.conflict(first, over_x) else { continue };
                let Some(other) = self.conflict(second, over_y) else { continue };
                let is_self = || describe.execution.order(object, first, first).is_none();
                if is_self_needed && !is_self() || !self.is_about_one(x, y, [object, other]) {
                    continue;
                }
                let is_library = |event: EventId| {
                    let event = describe.event(event);
                    event.is_atomic && !matches!(event.accessed, Accessed::Field(_))
                };
                let is_dependent = self.is_dependent();
                let is_compound = is_library(first) && is_library(second);
                if is_compound && !(is_dependent && self.is_check_then_act(first, second)) {
                    continue;
                }
                let between = [over_x, over_y];
                return Some(Incident {
                    is_dependent,
                    is_tested: false,
                    first,
                    second,
                    between,
                    objects: [object, other],
                    variables: [x, y],
                    context: self.context,
                    at: self.steps.map(|step| step.statement),
                });
            }
        }
        None
    }

    /// Whether an access of the input is done only on some outcome of what its method reads of the same variable in
    /// the same lock scope.
    fn is_tested(&self, view: ViewId, access: AccessId) -> bool {
        let Search { describe, views, .. } = self.search;
        let event = |access: AccessId| {
            let events = describe.execution.events_of(views.accesses[access].seen);
            events.first().map(|&event| describe.event(event))
        };
        let Some(own) = event(access) else { return false };
        if !describe.is_by_input(own) {
            return false;
        }
        let reads = views.lock_views[view].accesses.iter().filter(|&&read| {
            let read = &views.accesses[read];
            !read.is_update && read.variable == views.accesses[access].variable
        });
        let reads = reads.filter_map(|&read| event(read));
        let reads = reads.filter(|read| read.instance == own.instance);
        let reads: Vec<StatementId> = reads.map(|read| read.statement).collect();
        code::body(describe.program, &describe.execution.heap, own.instance).is_some_and(|body| {
            Code { names: &describe.program.names, body }.is_tested(&reads, own.statement)
        })
    }

    fn is_dependent(&mut self) -> bool {
        let [first, second] = self.steps;
        *self.is_dependent.get_or_insert_with(|| self.code.depends(&first.parts, &second.parts))
    }

    /// A library's atomic call that reads, and one that changes whatever is there then.
    fn is_check_then_act(&self, first: EventId, second: EventId) -> bool {
        let (first, second) = (self.event(first), self.event(second));
        first.kind == AccessKind::Read && second.kind == AccessKind::Write && !second.is_conditional
    }

    /// Whether the two steps may be about one object: it is the only one, or the method reaches both by the
    /// same references.
    fn is_about_one(&self, x: VariableId, y: VariableId, objects: [Option<ObjectId>; 2]) -> bool {
        let execution = self.search.describe.execution;
        let is_one =
            |object: Option<ObjectId>| object.is_none_or(|object| execution.is_unique(object));
        let [first, second] = self.steps;
        if x == y && objects[0] != objects[1] {
            return false;
        }
        objects.map(is_one) == [true; 2] || self.code.may_be_same(first.statement, second.statement)
    }

    fn event(&self, event: EventId) -> &Event {
        self.search.describe.event(event)
    }

    /// An object on which an access of this method and one of another thread exclude each other without being
    /// ordered, and that no lock protects which is held from one step to the other; the inner option is
    /// nothing for a static field.
    fn conflict(&self, own: EventId, other: EventId) -> Option<Option<ObjectId>> {
        let execution = self.search.describe.execution;
        let (one, another) = (self.event(own), self.event(other));
        if one.kind == AccessKind::Read && another.kind == AccessKind::Read || another.is_fresh {
            return None;
        }
        let mut held = another.guards.iter().flat_map(|guard| guard.objects.iter());
        if held.any(|lock| self.spanning.contains(lock)) {
            return None;
        }
        let is_possible = |object: Option<ObjectId>| {
            let is_atomic = one.is_atomic && another.is_atomic;
            execution.order(object, own, other).is_none()
                && (is_atomic || execution.common_guard(object, own, other).is_some())
        };
        if one.objects.is_empty() && another.objects.is_empty() {
            return is_possible(None).then_some(None);
        }
        let mut common = one.objects.iter().filter(|object| {
            another.objects.binary_search(object).is_ok()
                && execution.sharing(**object) == Sharing::Shared
        });
        common.find(|&&object| is_possible(Some(object))).map(|&object| Some(object))
    }
}

/// Whether one of two views has all entries of the other. What is updated is not what is read.
fn is_nested(one: &[(VariableId, bool)], other: &[(VariableId, bool)]) -> bool {
    let is_in = |part: &[(VariableId, bool)], all: &[(VariableId, bool)]| {
        part.iter().all(|entry| all.contains(entry))
    };
    is_in(one, other) || is_in(other, one)
}

/// The variables that are in two views and updated in one.
fn conflicts<'v>(
    one: &'v [(VariableId, bool)],
    other: &'v [(VariableId, bool)],
) -> impl Iterator<Item = VariableId> + 'v {
    one.iter().filter_map(|&(variable, is_update)| {
        let same = other.iter().find(|entry| entry.0 == variable)?;
        (is_update || same.1).then_some(variable)
    })
}
