//! What other threads can do to a step of a method, whichever method it is of: the lock scopes that its own ones meet.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::meetings::{Meeting, Meetings};
use super::sets::ViewsId;
use super::views::{AlikeId, PartId, VariableId, ViewId, Views};
use crate::wording::describe::Describe;

/// How many lock scopes of a step are compared that do the same with the variables of a class.
const MOST_ALIKE: usize = 2;

/// What a lock scope of a step has to do with one of another thread, at a variable.
pub(super) struct Touch {
    pub(super) view: ViewId,
    pub(super) is_nested: bool,
    pub(super) variable: VariableId,
    pub(super) met: Rc<[Meeting]>,
}

/// A lock scope of another thread that a step meets, and how.
pub(super) type Disturbance = (ViewId, Touch);

/// All of them, sorted.
type Disturbed = Rc<[Disturbance]>;

/// The lock scopes of a step by the class of their variables, sorted.
type Parts = [(PartId, Vec<ViewId>)];

/// What can be done to steps, as far as it was asked for.
pub(super) struct Disturbances<'s, 'm> {
    views: &'s Views,
    meetings: Meetings<'s, 'm>,
    parts: RefCell<FxHashMap<ViewsId, Rc<Parts>>>,
    known: RefCell<FxHashMap<(ViewsId, PartId), Disturbed>>,
}

impl<'s, 'm> Disturbances<'s, 'm> {
    pub(super) fn new(describe: &'s Describe<'s, 'm>, views: &'s Views) -> Self {
        let (parts, known) = Default::default();
        Self { views, meetings: Meetings::new(describe, views), parts, known }
    }

    /// The classes of the variables of a step, sorted.
    pub(super) fn parts(&self, step: ViewsId) -> Rc<Parts> {
        let mut known = self.parts.borrow_mut();
        Rc::clone(known.entry(step).or_insert_with(|| {
            let mut alike: FxHashMap<Option<AlikeId>, usize> = FxHashMap::default();
            let mut by_part: BTreeMap<PartId, Vec<ViewId>> = BTreeMap::new();
            for &view in self.views.members(step).iter() {
                let count = alike.entry(self.views.alike[view]).or_default();
                *count += 1;
                if *count <= MOST_ALIKE {
                    by_part.entry(self.views.lock_views[view].part).or_default().push(view);
                }
            }
            by_part.into_iter().collect()
        }))
    }

    /// The lock scopes of other threads that a step meets at variables of a class, sorted.
    pub(super) fn of(&self, step: ViewsId, part: PartId) -> Rc<[Disturbance]> {
        let mut known = self.known.borrow_mut();
        Rc::clone(known.entry((step, part)).or_insert_with(|| {
            let parts = self.parts(step);
            let at = parts.binary_search_by_key(&part, |(part, _)| *part);
            let own = at.map_or(&[][..], |at| &parts[at].1);
            let mut disturbed: Vec<Disturbance> = Vec::new();
            for &view in own {
                for met in self.meetings.of(view).iter() {
                    let is_nested = met.is_nested;
                    disturbed.extend(met.variables.iter().map(|(variable, found)| {
                        let (variable, met_at) = (*variable, Rc::clone(found));
                        (met.between, Touch { view, is_nested, variable, met: met_at })
                    }));
                }
            }
            disturbed.sort_by_key(|&(between, _)| between);
            disturbed.into()
        }))
    }
}
