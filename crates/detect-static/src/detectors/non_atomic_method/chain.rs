//! Which methods break the chain [vonPraun04 §5.1, §5.2.2]: two of their steps, and a lock scope of
//! another thread that can come between them.
//!
//! Contexts are judged callees first, and a variable that breaks the chain in a method is not looked at again
//! in its callers: so only the lowest method is reported, and large programs can be judged at all.

use std::cell::Cell;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use unsnarl_entity::{EntitySet, SecondaryMap};
use unsnarl_program::MethodId;
use unsnarl_program::body::StatementId;
use unsnarl_program::heap::ObjectId;
use unsnarl_symbolic::{AccessKind, ActionKind, ContextId, EventId};

use super::disturbed::Disturbances;
use super::judge::Judge;
use super::sets::ViewsId;
use super::views::{AccessId, PartId, ScopeStatement, VariableId, Views};
use crate::code;
use crate::code::dependence::Dependence;
use crate::wording::describe::Describe;

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
    /// The accesses whose events are the first and the second.
    pub(super) accesses: [AccessId; 2],
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
    pub(super) disturbances: Disturbances<'s, 'm>,
    /// How many contexts were not judged to the end.
    cut: Cell<usize>,
}

impl<'s, 'm> Search<'s, 'm> {
    pub(super) fn new(describe: &'s Describe<'s, 'm>, views: &'s Views) -> Self {
        let disturbances = Disturbances::new(describe, views);
        Self { describe, views, disturbances, cut: Cell::new(0) }
    }

    /// How many methods were not judged to the end.
    pub(super) fn cut(&self) -> usize {
        self.cut.get()
    }

    /// The methods of the input that are not one step, each without those that only call such methods.
    pub(super) fn broken(&self) -> Vec<Broken> {
        type Appearance = (MethodId, Vec<(StatementId, ViewsId)>);
        let mut known: FxHashMap<Appearance, Vec<VariableId>> = FxHashMap::default();
        let mut broken: BTreeMap<(MethodId, Option<PartId>), Broken> = BTreeMap::new();
        let mut explained: SecondaryMap<ContextId, EntitySet<VariableId>> = SecondaryMap::new();
        for &context in &self.views.calls.contexts {
            let mut below: EntitySet<VariableId> = EntitySet::new();
            for action in self.describe.execution.actions(context) {
                if let ActionKind::Call(callee) = action.kind {
                    below.union_with(&explained[callee]);
                }
            }
            let method = self.method(context);
            let steps = match self.is_judged(method) {
                true => self.views.steps(self.describe.execution, context),
                false => Vec::new(),
            };
            if steps.len() > 1 {
                let appearance = |step: &ScopeStatement| (step.statement, step.views);
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
    pub(super) fn rank<'i>(&self, incident: &'i Incident) -> impl Ord + use<'i> {
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
        steps: &[ScopeStatement],
        explained: &EntitySet<VariableId>,
    ) -> Vec<(PartId, Incident)> {
        let execution = self.describe.execution;
        let instance = execution.instance(context);
        let Some(body) = code::body(self.describe.program, &execution.heap, instance) else {
            return Vec::new();
        };
        let code = Dependence::new(&self.describe.program.names, body);
        let mut judge = Judge::new(self, code, context, steps, explained);
        judge.all();
        if judge.is_cut_short() {
            self.cut.set(self.cut.get() + 1);
        }
        judge.found()
    }
}
