//! Judges the accesses to one variable of one object in pairs.
//!
//! Pairs grow with the square of the accesses: accesses by the same thread, at the same statement and with
//! the same locks are one *class*, a pair of classes is left as soon as it has a conflict, and there is a bound
//! for each variable.

use rustc_hash::FxHashMap;
use unsnarl_program::heap::{ObjectId, OriginId};
use unsnarl_symbolic::{AccessKind, Event, EventId, Execution, Guard};

use super::{Pair, Safe};

/// The most pairs of accesses that are judged for one variable.
const MOST_PAIRS: usize = 60_000;
/// The most pairs of accesses that are judged for two classes of accesses.
const MOST_PAIRS_OF_CLASSES: usize = 1024;
/// The most conflicts that are kept for one variable: more would be of no use.
const MOST_CONFLICTS: usize = 256;

/// How many pairs of accesses may still be judged for a variable.
#[derive(Debug)]
pub(crate) struct Budget {
    left: usize,
    was_short: bool,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { left: MOST_PAIRS, was_short: false }
    }

    /// Whether a pair was not judged.
    pub(crate) fn was_short(&self) -> bool {
        self.was_short
    }

    fn take(&mut self) -> bool {
        let is_left = self.left > 0;
        self.was_short |= !is_left;
        self.left = self.left.saturating_sub(1);
        is_left
    }
}

/// The conflicting pairs among accesses to one variable of one object.
pub(crate) fn pairs(
    execution: &Execution<'_>,
    object: Option<ObjectId>,
    events: &[EventId],
    budget: &mut Budget,
    judge: &mut dyn FnMut(EventId, EventId) -> Option<Safe>,
) -> Vec<Pair> {
    let classes = classes(execution, events);
    let mut found = Vec::new();
    for (position, first) in classes.iter().enumerate() {
        for second in &classes[position..] {
            if !may_conflict(execution, first, second) {
                continue;
            }
            if found.len() >= MOST_CONFLICTS || budget.was_short && budget.left == 0 {
                return found;
            }
            let conflict = members(first, second, budget)
                .find(|&(first, second)| judge(first, second).is_none());
            if let Some((first, second)) = conflict {
                let is_write = execution.events[first].kind == AccessKind::Write;
                let (write, other) = if is_write { (first, second) } else { (second, first) };
                found.push(Pair { object, write, other });
            }
        }
    }
    found
}

/// Accesses that are alike but for the calls that lead to them.
struct AccessClass {
    thread: OriginId,
    kind: AccessKind,
    is_atomic: bool,
    members: Vec<EventId>,
}

fn classes(execution: &Execution<'_>, events: &[EventId]) -> Vec<AccessClass> {
    let mut guards: FxHashMap<&[Guard], usize> = FxHashMap::default();
    let mut positions = FxHashMap::default();
    let mut classes: Vec<AccessClass> = Vec::new();
    for &id in events {
        let event = &execution.events[id];
        let next = guards.len();
        let held = *guards.entry(&event.guards).or_insert(next);
        let Event { thread, kind, is_atomic, is_through_this, statement, .. } = *event;
        let method = execution.heap.instances[event.instance].method;
        let key = (thread, kind, is_atomic, is_through_this, method, statement, held);
        let position = *positions.entry(key).or_insert_with(|| {
            classes.push(AccessClass { thread, kind, is_atomic, members: Vec::new() });
            classes.len() - 1
        });
        classes[position].members.push(id);
    }
    // Writes first: with a bound, the pairs that matter most are judged.
    classes.sort_by_key(|class| class.kind != AccessKind::Write);
    classes
}

fn may_conflict(execution: &Execution<'_>, first: &AccessClass, second: &AccessClass) -> bool {
    let is_written = first.kind == AccessKind::Write || second.kind == AccessKind::Write;
    let are_atomic = first.is_atomic && second.is_atomic;
    let is_parallel = first.thread != second.thread || !execution.is_unique_thread(first.thread);
    is_written && !are_atomic && is_parallel
}

/// Pairs of members of two classes, evenly chosen if there are too many; each is taken from the budget.
fn members<'c>(
    first: &'c AccessClass,
    second: &'c AccessClass,
    budget: &'c mut Budget,
) -> impl Iterator<Item = (EventId, EventId)> + 'c {
    let is_same = std::ptr::eq(first, second);
    let total = first.members.len() * second.members.len();
    let step = total.div_ceil(MOST_PAIRS_OF_CLASSES).max(1);
    // A step that shares a factor with the length of a row would see a few columns only.
    let step = if step > 1 { step | 1 } else { 1 };
    budget.was_short |= step > 1;
    (0..total)
        .step_by(step)
        .map(|index| (index / second.members.len(), index % second.members.len()))
        .filter(move |&(row, column)| !is_same || row <= column)
        .map(|(row, column)| (first.members[row], second.members[column]))
        .take_while(move |_| budget.take())
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_entity::EntityId;
    use unsnarl_program::body::StatementId;
    use unsnarl_program::heap::{Instance, InstanceId};
    use unsnarl_program::{FieldId, MethodId};
    use unsnarl_symbolic::ContextId;
    use unsnarl_symbolic::{Accessed, Order};

    fn execution(events: impl IntoIterator<Item = Event>) -> Execution<'static> {
        let mut execution = Execution::default();
        let method = MethodId::from_index(0);
        let origin = OriginId::from_index(0);
        execution.heap.instances.push(Instance { method, origin, receiver: None });
        for event in events {
            execution.events.push(event);
        }
        execution
    }

    fn event(kind: AccessKind, thread: usize, statement: usize) -> Event {
        Event {
            kind,
            objects: [ObjectId::from_index(0)].into(),
            accessed: Accessed::Field(FieldId::from_index(0)),
            thread: OriginId::from_index(thread),
            instance: InstanceId::from_index(0),
            context: ContextId::from_index(0),
            statement: StatementId::from_index(statement),
            guards: [].into(),
            is_atomic: false,
            is_fresh: false,
            is_through_this: true,
            loaded_from: None,
            writes_default: false,
            is_conditional: false,
        }
    }

    fn found(execution: &Execution<'_>, budget: &mut Budget) -> Vec<(usize, usize)> {
        let events: Vec<EventId> = execution.events.keys().collect();
        let object = Some(ObjectId::from_index(0));
        let found = pairs(execution, object, &events, budget, &mut |_, _| None);
        found.iter().map(|pair| (pair.write.index(), pair.other.index())).collect()
    }

    #[test]
    fn a_write_meets_everything_and_the_write_comes_first() {
        let execution = execution([
            event(AccessKind::Read, 1, 0),
            event(AccessKind::Write, 2, 1),
            event(AccessKind::Read, 3, 2),
        ]);
        let mut budget = Budget::new();
        assert_eq!(found(&execution, &mut budget), [(1, 1), (1, 0), (1, 2)]);
        assert!(!budget.was_short());
    }

    #[test]
    fn atomic_accesses_do_not_meet_each_other() {
        let atomic = |kind, thread| Event { is_atomic: true, ..event(kind, thread, thread) };
        let all = [atomic(AccessKind::Write, 1), atomic(AccessKind::Read, 2)];
        assert_eq!(found(&execution(all.clone()), &mut Budget::new()), []);
        let plain = event(AccessKind::Read, 3, 3);
        assert_eq!(found(&execution(all.into_iter().chain([plain])), &mut Budget::new()), [(0, 2)]);
    }

    #[test]
    fn contexts_of_one_statement_are_one_class() {
        let execution = execution((0..500).map(|_| event(AccessKind::Write, 1, 0)));
        let mut budget = Budget::new();
        assert_eq!(found(&execution, &mut budget), [(0, 0)]);
        assert_eq!(budget.left, MOST_PAIRS - 1);
    }

    #[test]
    fn thousands_of_safe_accesses_stay_within_the_bound() {
        let execution = execution((0..3000).map(|number| event(AccessKind::Write, 1, number)));
        let events: Vec<EventId> = execution.events.keys().collect();
        let (mut budget, mut judged) = (Budget::new(), 0);
        let found = pairs(&execution, None, &events, &mut budget, &mut |_, _| {
            judged += 1;
            Some(Safe::Ordered(Order::Serial))
        });
        assert!(found.is_empty());
        assert_eq!((budget.was_short(), judged), (true, MOST_PAIRS));
    }
}
