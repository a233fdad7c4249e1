//! The lock events by what is done and with which object: who asks for partners of an event does not look through all.
//!
//! A method that is called on many objects stands for all of them in the heap. Where it acquires its own lock, what the
//! calls that lead there are made on says more.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use unsnarl_classfile::flags;
use unsnarl_entity::{EntitySet, SecondaryMap};
use unsnarl_program::body::{InvokeKind, Operation, StatementId};
use unsnarl_program::heap::ObjectId;
use unsnarl_symbolic::{ContextId, LockAction, LockEvent, LockEventId};

use crate::code;
use crate::wording::describe::Describe;

/// The lock events with each object.
#[derive(Default)]
pub(crate) struct LockIndex {
    /// What acquisitions of the lock of `this` may acquire, where less than the heap says.
    narrowed: FxHashMap<ContextId, Arc<[ObjectId]>>,
    acquires: ByObject,
    notifies: ByObject,
    sends: ByObject,
    takes: ByObject,
    receives: ByObject,
}

type ByObject = FxHashMap<ObjectId, Vec<LockEventId>>;

impl LockIndex {
    pub(crate) fn new(describe: &Describe<'_, '_>) -> Self {
        let execution = describe.execution;
        let mut index = Self { narrowed: narrowed(describe), ..Self::default() };
        for (id, event) in execution.lock_events.iter() {
            let objects = index.objects(describe, event);
            let events = match event.action {
                LockAction::Acquire(_) => &mut index.acquires,
                LockAction::Notify => &mut index.notifies,
                LockAction::Send => &mut index.sends,
                LockAction::Take => &mut index.takes,
                LockAction::Receive => &mut index.receives,
                LockAction::Wait { .. }
                | LockAction::Put
                | LockAction::Join
                | LockAction::Initialize(_) => {
                    continue;
                }
            };
            for &object in objects.iter() {
                events.entry(object).or_default().push(id);
            }
        }
        index
    }

    /// What the object of an event may be; sorted.
    pub(crate) fn objects(
        &self,
        describe: &Describe<'_, '_>,
        event: &LockEvent,
    ) -> Arc<[ObjectId]> {
        let narrowed = self.narrowed.get(&event.context);
        let narrowed = narrowed.filter(|_| is_own_lock(describe, event));
        Arc::clone(narrowed.unwrap_or(&event.objects))
    }

    /// The acquisitions of one of these locks; sorted.
    pub(crate) fn acquires(&self, locks: impl Iterator<Item = ObjectId>) -> Vec<LockEventId> {
        with_any(&self.acquires, locks)
    }

    /// What notifies one of these objects; sorted.
    pub(crate) fn notifies(&self, objects: &[ObjectId]) -> Vec<LockEventId> {
        with_any(&self.notifies, objects.iter().copied())
    }

    /// What makes room in one of these queues; sorted.
    pub(crate) fn takes(&self, queues: &[ObjectId]) -> Vec<LockEventId> {
        with_any(&self.takes, queues.iter().copied())
    }

    /// What waits for a signal by one of these objects; sorted.
    pub(crate) fn receives(&self, objects: &[ObjectId]) -> Vec<LockEventId> {
        with_any(&self.receives, objects.iter().copied())
    }

    /// What sends a signal by one of these objects; sorted.
    pub(crate) fn sends(&self, objects: &[ObjectId]) -> Vec<LockEventId> {
        with_any(&self.sends, objects.iter().copied())
    }
}

fn with_any(events: &ByObject, objects: impl Iterator<Item = ObjectId>) -> Vec<LockEventId> {
    let found = objects.filter_map(|object| events.get(&object));
    let mut found: Vec<LockEventId> = found.flatten().copied().collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether an event acquires the lock of the object whose method it is in.
fn is_own_lock(describe: &Describe<'_, '_>, event: &LockEvent) -> bool {
    let method = &describe.program.methods()[describe.method_of(event.instance)];
    if !matches!(event.action, LockAction::Acquire(_)) || method.access & flags::STATIC != 0 {
        return false;
    }
    let Some(body) = code::body(describe.program, &describe.execution.heap, event.instance) else {
        return false;
    };
    match body.statements[event.statement].operation {
        Operation::MonitorEnter(value) => {
            matches!(body.definition(value).operation, Operation::Parameter(0))
        }
        Operation::Invoke { .. } => false,
        _ => method.access & flags::SYNCHRONIZED != 0,
    }
}

/// For contexts with such events, what `this` may be by all calls that lead there, if that is less than the heap says.
fn narrowed(describe: &Describe<'_, '_>) -> FxHashMap<ContextId, Arc<[ObjectId]>> {
    let execution = describe.execution;
    let events = execution.lock_events.values().filter(|event| event.objects.len() > 1);
    let roots: EntitySet<ContextId> = execution.roots().iter().map(|&(_, root)| root).collect();
    let callers: SecondaryMap<ContextId, Vec<(ContextId, StatementId)>> =
        execution.context_callers();
    let mut narrowed = FxHashMap::default();
    for event in events.filter(|event| is_own_lock(describe, event)) {
        if roots.contains(event.context) || narrowed.contains_key(&event.context) {
            continue;
        }
        let receivers = callers[event.context].iter().map(|&call| receivers(describe, call));
        let receivers: Option<Vec<&[ObjectId]>> = receivers.collect();
        let objects = event.objects.iter().copied();
        let own: Arc<[ObjectId]> = match receivers {
            Some(receivers) if !receivers.is_empty() => {
                let is_one =
                    |object: &ObjectId| receivers.iter().any(|it| it.binary_search(object).is_ok());
                objects.filter(is_one).collect()
            }
            _ => continue,
        };
        if !own.is_empty() && own.len() < event.objects.len() {
            narrowed.insert(event.context, own);
        }
    }
    narrowed
}

/// What a call is made on, if the code says so.
fn receivers<'d>(
    describe: &Describe<'d, '_>,
    (context, statement): (ContextId, StatementId),
) -> Option<&'d [ObjectId]> {
    let heap = &describe.execution.heap;
    let instance = describe.execution.instance(context);
    match &code::body(describe.program, heap, instance)?.statements[statement].operation {
        Operation::Invoke { kind, arguments, .. } if *kind != InvokeKind::Static => {
            Some(heap.points_to(instance, *arguments.first()?))
        }
        _ => None,
    }
}
