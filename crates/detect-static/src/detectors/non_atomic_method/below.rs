//! What is below contexts: what they have themselves and by their calls. Contexts that call each other in a circle have the
//! same below them, which is kept once.

use rustc_hash::FxHashSet;
use unsnarl_entity::{EntitySet, PrimaryMap, SecondaryMap, components, entity_id};
use unsnarl_program::body::StatementId;
use unsnarl_symbolic::{ActionKind, ContextId, Execution};

entity_id! {
    /// Contexts that call each other in a circle, or one that is in none.
    pub(super) struct CircleId("circle");
}

/// Which contexts call which.
#[derive(Default)]
pub(super) struct Calls {
    /// The contexts that threads come to, callees before their callers but for recursion.
    pub(super) contexts: Vec<ContextId>,
    /// The circles, callees first, with the circles that they call.
    circles: PrimaryMap<CircleId, (Vec<ContextId>, Vec<CircleId>)>,
    circle_of: SecondaryMap<ContextId, Option<CircleId>>,
    /// What each context calls, and the first call that does.
    callees: SecondaryMap<ContextId, Vec<(ContextId, StatementId)>>,
}

impl Calls {
    pub(super) fn new(execution: &Execution<'_>) -> Self {
        let contexts = callees_first(execution);
        let mut positions: SecondaryMap<ContextId, usize> = SecondaryMap::new();
        contexts.iter().zip(0..).for_each(|(&context, at)| positions[context] = at);
        let mut callees: SecondaryMap<ContextId, Vec<(ContextId, StatementId)>> =
            SecondaryMap::new();
        for &context in &contexts {
            let mut known: FxHashSet<ContextId> = FxHashSet::default();
            callees[context] =
                calls(execution, context).filter(|&(callee, _)| known.insert(callee)).collect();
        }
        let successors = |&context: &ContextId| {
            callees[context].iter().map(|&(callee, _)| positions[callee]).collect()
        };
        let successors: Vec<Vec<usize>> = contexts.iter().map(successors).collect();
        let mut circles: PrimaryMap<CircleId, (Vec<ContextId>, Vec<CircleId>)> = PrimaryMap::new();
        let mut circle_of: SecondaryMap<ContextId, Option<CircleId>> = SecondaryMap::new();
        for component in components(contexts.len(), |node| &successors[node]) {
            let members: Vec<ContextId> = component.iter().map(|&node| contexts[node]).collect();
            let called = component.iter().flat_map(|&node| &successors[node]);
            let called: EntitySet<CircleId> =
                called.filter_map(|&node| circle_of[contexts[node]]).collect();
            let id = circles.push((members, called.iter().collect()));
            component.iter().for_each(|&node| circle_of[contexts[node]] = Some(id));
        }
        Self { contexts, circles, circle_of, callees }
    }

    /// The circle of a context that threads come to.
    pub(super) fn circle(&self, context: ContextId) -> CircleId {
        self.circle_of[context].expect("a thread comes to it")
    }

    /// What a context calls, and the first call that does.
    pub(super) fn callees(&self, context: ContextId) -> &[(ContextId, StatementId)] {
        &self.callees[context]
    }

    /// What is below each circle, from the contexts in it and what is below the circles that they call.
    pub(super) fn closure<T: Clone + Default>(
        &self,
        mut unite: impl FnMut(&[ContextId], &mut dyn Iterator<Item = &T>) -> T,
    ) -> SecondaryMap<CircleId, T> {
        let mut below: SecondaryMap<CircleId, T> = SecondaryMap::new();
        for (circle, (members, called)) in self.circles.iter() {
            below[circle] = unite(members, &mut called.iter().map(|&callee| &below[callee]));
        }
        below
    }
}

fn calls(
    execution: &Execution<'_>,
    context: ContextId,
) -> impl Iterator<Item = (ContextId, StatementId)> {
    execution.actions(context).iter().filter_map(|action| match action.kind {
        ActionKind::Call(callee) => Some((callee, action.statement)),
        ActionKind::Access(_) => None,
    })
}

fn callees_first(execution: &Execution<'_>) -> Vec<ContextId> {
    let mut order = Vec::new();
    let mut seen: EntitySet<ContextId> = EntitySet::new();
    for &(_, root) in execution.roots() {
        let mut path =
            if seen.insert(root) { vec![(root, calls(execution, root))] } else { Vec::new() };
        while let Some((context, rest)) = path.last_mut() {
            match rest.next() {
                Some((callee, _)) if seen.insert(callee) => {
                    path.push((callee, calls(execution, callee)));
                }
                Some(_) => {}
                None => {
                    order.push(*context);
                    path.pop();
                }
            }
        }
    }
    order
}
