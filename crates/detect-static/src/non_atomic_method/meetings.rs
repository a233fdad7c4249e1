//! Where two threads meet at a variable: accesses in lock scopes that exclude each other and that nothing orders.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use unsnarl_program::heap::ObjectId;
use unsnarl_symbolic::{AccessKind, EventId, Sharing};

use super::views::{AccessId, PartId, VariableId, ViewId, Views};
use crate::describe::Describe;

/// The most lock views that are looked at where several update the same variables of a class.
const MOST_VIEWS: usize = 8;
/// The most accesses to a variable in a lock scope that are looked at.
const MOST_ACCESSES: usize = 4;
/// The most meetings of two lock scopes that are kept.
const MOST_MEETINGS: usize = 8;

/// Two accesses of different threads to one variable of one object, at least one of them a write.
pub(super) struct Meeting {
    pub(super) access: AccessId,
    pub(super) own: EventId,
    pub(super) other: EventId,
    /// Nothing for a static field.
    pub(super) object: Option<ObjectId>,
}

/// A lock scope, a variable, and a lock scope of another thread.
type Key = (ViewId, VariableId, ViewId);

/// All meetings, as far as they were asked for.
pub(super) struct Meetings<'s, 'm> {
    describe: &'s Describe<'s, 'm>,
    views: &'s Views,
    updating: BTreeMap<PartId, Vec<ViewId>>,
    known: RefCell<FxHashMap<Key, Rc<[Meeting]>>>,
}

impl<'s, 'm> Meetings<'s, 'm> {
    pub(super) fn new(describe: &'s Describe<'s, 'm>, views: &'s Views) -> Self {
        let mut updating: BTreeMap<PartId, Vec<ViewId>> = BTreeMap::new();
        let mut counts: FxHashMap<&[(VariableId, bool)], usize> = FxHashMap::default();
        for (id, view) in views.lock_views.iter() {
            for (&part, entries) in &view.parts {
                let count = counts.entry(entries).or_default();
                if entries.iter().any(|&(_, is_update)| is_update) && *count < MOST_VIEWS {
                    *count += 1;
                    updating.entry(part).or_default().push(id);
                }
            }
        }
        Self { describe, views, updating, known: RefCell::default() }
    }

    /// The lock views that update a variable of a class.
    pub(super) fn updating(&self, part: PartId) -> &[ViewId] {
        self.updating.get(&part).map_or(&[], Vec::as_slice)
    }

    /// Where a lock scope meets one of another thread, at a variable.
    pub(super) fn of(&self, own: ViewId, variable: VariableId, other: ViewId) -> Rc<[Meeting]> {
        let key = (own, variable, other);
        if let Some(known) = self.known.borrow().get(&key) {
            return Rc::clone(known);
        }
        let found: Rc<[Meeting]> = self.find(own, variable, other).into();
        self.known.borrow_mut().insert(key, Rc::clone(&found));
        found
    }

    fn find(&self, own: ViewId, variable: VariableId, other: ViewId) -> Vec<Meeting> {
        let events = |access: AccessId| {
            self.describe.execution.events_of(self.views.accesses[access].seen).iter().copied()
        };
        let thread = |event: EventId| self.describe.event(event).thread;
        let others = self.accesses(other, variable);
        let mut found: Vec<Meeting> = Vec::new();
        for access in self.accesses(own, variable) {
            for own in events(access) {
                for other in others.iter().flat_map(|&other| events(other)) {
                    let is_known = found.iter().any(|known| {
                        thread(known.own) == thread(own) && thread(known.other) == thread(other)
                    });
                    if found.len() < MOST_MEETINGS
                        && !is_known
                        && let Some(object) = self.object(own, other)
                    {
                        found.push(Meeting { access, own, other, object });
                    }
                }
            }
        }
        found
    }

    /// The accesses of a lock scope to a variable: those that update it, if any do.
    fn accesses(&self, view: ViewId, variable: VariableId) -> Vec<AccessId> {
        let all = self.views.lock_views[view].accesses.iter().copied();
        let all = all.filter(|&access| self.views.accesses[access].variable == variable);
        let is_update = |access: &AccessId| self.views.accesses[*access].is_update;
        let (updates, reads): (Vec<_>, Vec<_>) = all.partition(is_update);
        let mut all = if updates.is_empty() { reads } else { updates };
        all.truncate(MOST_ACCESSES);
        all
    }

    /// An object on which two accesses exclude each other without being ordered; the inner option is nothing
    /// for a static field.
    fn object(&self, own: EventId, other: EventId) -> Option<Option<ObjectId>> {
        let execution = self.describe.execution;
        let (one, another) = (self.describe.event(own), self.describe.event(other));
        if one.kind == AccessKind::Read && another.kind == AccessKind::Read || another.is_fresh {
            return None;
        }
        let is_atomic = one.is_atomic && another.is_atomic;
        let is_possible = |object: Option<ObjectId>| {
            // The order of threads costs most.
            (is_atomic || execution.common_guard(object, own, other).is_some())
                && execution.order(object, own, other).is_none()
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
