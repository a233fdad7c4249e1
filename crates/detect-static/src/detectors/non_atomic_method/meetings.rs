//! Where two threads meet at a variable: accesses in lock scopes that exclude each other and that nothing orders.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use unsnarl_entity::{UniqueMap, entity_id};
use unsnarl_program::heap::ObjectId;
use unsnarl_symbolic::{AccessKind, EventId, Sharing};

use super::views::{AccessId, VariableId, ViewId, Views};
use crate::wording::describe::Describe;

/// The most lock views that are looked at where several update the same variables of a class.
const MOST_VIEWS: usize = 8;
/// The most accesses to a variable in a lock scope that are looked at.
const MOST_ACCESSES: usize = 4;
/// The most meetings of two lock scopes that are kept.
const MOST_MEETINGS: usize = 8;

/// Two accesses of different threads to one variable of one object, at least one of them a write.
#[derive(Clone, Copy)]
pub(super) struct Meeting {
    pub(super) access: AccessId,
    pub(super) own: EventId,
    pub(super) other: EventId,
    /// Nothing for a static field.
    pub(super) object: Option<ObjectId>,
}

/// A lock scope of another thread that disturbs one.
pub(super) struct Touched {
    pub(super) between: ViewId,
    /// One of the two has all entries of the other.
    pub(super) is_nested: bool,
    /// The variables at which they meet, with where.
    pub(super) variables: Vec<(VariableId, Rc<[Meeting]>)>,
}

entity_id! {
    /// The accesses of lock scopes to a variable that are looked at. Few lock scopes have some that no other has.
    struct LookedAtId("looked at");
}

/// What was asked for before.
type Known<K, V> = FxHashMap<K, Rc<[V]>>;

/// A lock view that updates something of its class, and what it does to one variable.
struct Updating {
    view: ViewId,
    is_update: bool,
    accesses: LookedAtId,
}

/// All meetings, as far as they were asked for.
pub(super) struct Meetings<'s, 'm> {
    describe: &'s Describe<'s, 'm>,
    views: &'s Views,
    updating: FxHashMap<VariableId, Vec<Updating>>,
    looked_at: RefCell<UniqueMap<LookedAtId, Vec<AccessId>>>,
    of_accesses: RefCell<Known<(AccessId, AccessId), Meeting>>,
    of_scopes: RefCell<Known<(LookedAtId, LookedAtId), Meeting>>,
    of_views: RefCell<Known<ViewId, Touched>>,
}

impl<'s, 'm> Meetings<'s, 'm> {
    pub(super) fn new(describe: &'s Describe<'s, 'm>, views: &'s Views) -> Self {
        let mut updating: FxHashMap<VariableId, Vec<Updating>> = FxHashMap::default();
        let mut looked_at = UniqueMap::new();
        let mut counts: FxHashMap<&[(VariableId, bool)], usize> = FxHashMap::default();
        for (id, view) in views.lock_views.iter() {
            let count = counts.entry(&view.entries).or_default();
            if view.entries.iter().any(|&(_, is_update)| is_update) && *count < MOST_VIEWS {
                *count += 1;
                for &(variable, is_update) in &view.entries {
                    let accesses = looked_at.intern(accesses(views, id, variable));
                    let updating = updating.entry(variable).or_default();
                    updating.push(Updating { view: id, is_update, accesses });
                }
            }
        }
        let looked_at = RefCell::new(looked_at);
        let (of_accesses, of_scopes, of_views) = Default::default();
        Self { describe, views, updating, looked_at, of_accesses, of_scopes, of_views }
    }

    /// The lock scopes of other threads that a lock scope meets; sorted.
    pub(super) fn of(&self, own: ViewId) -> Rc<[Touched]> {
        if let Some(known) = self.of_views.borrow().get(&own) {
            return Rc::clone(known);
        }
        let view = &self.views.lock_views[own];
        let mut touched: BTreeMap<ViewId, Vec<_>> = BTreeMap::new();
        for &(variable, is_update) in &view.entries {
            let accesses = accesses(self.views, own, variable);
            let accesses = self.looked_at.borrow_mut().intern(accesses);
            let others = self.updating.get(&variable).into_iter().flatten();
            for other in others.filter(|other| is_update || other.is_update) {
                let met = self.of_scopes(accesses, other.accesses);
                if !met.is_empty() {
                    touched.entry(other.view).or_default().push((variable, met));
                }
            }
        }
        let touched = touched.into_iter().map(|(between, variables)| {
            let is_nested = is_nested(&view.entries, &self.views.lock_views[between].entries);
            Touched { between, is_nested, variables }
        });
        let touched: Rc<[Touched]> = touched.collect();
        self.of_views.borrow_mut().insert(own, Rc::clone(&touched));
        touched
    }

    /// Where the accesses of two lock scopes meet.
    fn of_scopes(&self, own: LookedAtId, others: LookedAtId) -> Rc<[Meeting]> {
        if let Some(known) = self.of_scopes.borrow().get(&(own, others)) {
            return Rc::clone(known);
        }
        let looked_at = self.looked_at.borrow();
        let thread = |event: EventId| self.describe.event(event).thread;
        let mut found: Vec<Meeting> = Vec::new();
        for &access in &looked_at[own] {
            for &other in &looked_at[others] {
                for meeting in &*self.of_accesses(access, other) {
                    let is_known = found.iter().any(|known| {
                        thread(known.own) == thread(meeting.own)
                            && thread(known.other) == thread(meeting.other)
                    });
                    if found.len() < MOST_MEETINGS && !is_known {
                        found.push(*meeting);
                    }
                }
            }
        }
        let found: Rc<[Meeting]> = found.into();
        self.of_scopes.borrow_mut().insert((own, others), Rc::clone(&found));
        found
    }

    /// Where two accesses meet, by the threads that make them.
    fn of_accesses(&self, access: AccessId, other: AccessId) -> Rc<[Meeting]> {
        if let Some(known) = self.of_accesses.borrow().get(&(access, other)) {
            return Rc::clone(known);
        }
        let events = |access: AccessId| {
            self.describe.execution.events_of(self.views.accesses[access].event).iter().copied()
        };
        let pairs = events(access).flat_map(|own| events(other).map(move |other| (own, other)));
        let met: Rc<[Meeting]> = pairs
            .filter_map(|(own, other)| {
                let object = self.object(own, other)?;
                Some(Meeting { access, own, other, object })
            })
            .collect();
        self.of_accesses.borrow_mut().insert((access, other), Rc::clone(&met));
        met
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

/// The accesses of a lock scope to a variable: those that update it, if any do.
fn accesses(views: &Views, view: ViewId, variable: VariableId) -> Vec<AccessId> {
    let all = views.lock_views[view].accesses.iter().copied();
    let all = all.filter(|&access| views.accesses[access].variable == variable);
    let is_update = |access: &AccessId| views.accesses[*access].is_update;
    let (updates, reads): (Vec<_>, Vec<_>) = all.partition(is_update);
    let mut all = if updates.is_empty() { reads } else { updates };
    all.truncate(MOST_ACCESSES);
    all
}

/// Whether one of two views has all entries of the other. What is updated is not what is read.
pub(super) fn is_nested(one: &[(VariableId, bool)], other: &[(VariableId, bool)]) -> bool {
    let is_in = |part: &[(VariableId, bool)], all: &[(VariableId, bool)]| {
        part.len() <= all.len() && part.iter().all(|entry| all.binary_search(entry).is_ok())
    };
    is_in(one, other) || is_in(other, one)
}
