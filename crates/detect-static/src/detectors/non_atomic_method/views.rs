//! Lock views and method views [vonPraun04 §5.2.1]: what is read and updated in each lock scope, and
//! which lock scopes are below each context. As variables of different classes are judged apart, a lock scope has a view
//! for each class; lock scopes that do the same with a class share it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use unsnarl_entity::{EntitySet, PrimaryMap, SecondaryMap, UniqueMap, entity_id};
use unsnarl_findings::Variable;
use unsnarl_program::body::StatementId;
use unsnarl_program::heap::{ObjectId, OriginKind};
use unsnarl_program::{ClassId, FieldId};
use unsnarl_symbolic::{
    AccessKind, Accessed, ActionKind, ContextEventId, ContextId, Event, Execution,
};

use super::below::{Calls, CircleId};
use super::sets::{ViewSets, ViewsId};
use crate::Options;
use crate::wording::describe::{Describe, simple_name};

entity_id! {
    /// A variable, whichever object it is in.
    pub(super) struct VariableId("x");
    /// A class to which variables belong.
    pub(super) struct PartId("part");
    /// An access that is judged.
    pub(super) struct AccessId("a");
    /// What is done in a lock scope with the variables of a class.
    pub(super) struct ViewId("l");
    /// Views with the same entries.
    pub(super) struct AlikeId("alike");
    /// All that is done in a lock scope.
    struct WholeId("w");
}

/// The views of an execution.
#[derive(Default)]
pub(super) struct Views {
    pub(super) variables: PrimaryMap<VariableId, VariableData>,
    pub(super) accesses: PrimaryMap<AccessId, Access>,
    pub(super) lock_views: PrimaryMap<ViewId, LockView>,
    pub(super) alike: SecondaryMap<ViewId, Option<AlikeId>>,
    pub(super) calls: Calls,
    /// The accesses below contexts, in lock scopes or not.
    accesses_below: SecondaryMap<CircleId, EntitySet<AccessId>>,
    access_of: SecondaryMap<ContextEventId, Option<AccessId>>,
    /// The contexts that make each access themselves.
    makers: SecondaryMap<AccessId, Vec<ContextId>>,
    /// The lock scopes of contexts.
    own: FxHashMap<ContextId, Vec<(StatementId, WholeId)>>,
    wholes: PrimaryMap<WholeId, ViewsId>,
    below: SecondaryMap<CircleId, Option<ViewsId>>,
    sets: RefCell<ViewSets>,
}

/// A variable.
pub(super) struct VariableData {
    /// Variables of one class are taken to belong together.
    pub(super) part: PartId,
    /// Its name in findings.
    pub(super) variable: Variable,
    /// Its name in sentences.
    pub(super) name: String,
    /// It is in an object of a library.
    pub(super) is_library: bool,
}

/// What a variable is known by.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Field(FieldId),
    /// The inside of an object that a field holds.
    Held(FieldId, Accessed),
    /// The inside of an object that no field of the input holds, by the class of the object.
    Inside(String, Accessed),
}

/// What variables belong to.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Part {
    Class(ClassId),
    /// A class of a library, by its name.
    Library(String),
    /// What is atomic by itself belongs to nothing else: such as the counters of statistics.
    Alone(FieldId),
}

/// An access that is judged.
pub(super) struct Access {
    pub(super) event: ContextEventId,
    pub(super) variable: VariableId,
    pub(super) is_update: bool,
}

/// What is done in lock scopes with the variables of a class.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct LockView {
    pub(super) part: PartId,
    pub(super) accesses: Box<[AccessId]>,
    /// Its variables: read, or updated (true). Sorted.
    pub(super) entries: Box<[(VariableId, bool)]>,
}

/// A statement of a method with lock scopes below it: a lock that it takes, or a call.
pub(super) struct ScopeStatement {
    pub(super) statement: StatementId,
    pub(super) views: ViewsId,
    /// The lock scopes of the same method around it, with what the locks may be.
    pub(super) within: Vec<(StatementId, Arc<[ObjectId]>)>,
    /// The statements with accesses and calls in it.
    pub(super) parts: Vec<StatementId>,
}

impl Views {
    pub(super) fn new(describe: &Describe<'_, '_>, options: &Options) -> Self {
        let execution = describe.execution;
        let mut views = Self { calls: Calls::new(execution), ..Self::default() };
        views.find_accesses(describe, options);
        views.accesses_below = views.calls.closure(|contexts, called| {
            let actions = contexts.iter().flat_map(|&context| execution.actions(context));
            let own = actions.filter_map(|action| match action.kind {
                ActionKind::Access(event) => views.access_of[event],
                ActionKind::Call(_) => None,
            });
            let mut all: EntitySet<AccessId> = own.collect();
            for below in called {
                all.union_with(below);
            }
            all
        });
        views.find_lock_views(execution);
        let sets = views.sets.get_mut();
        views.below = views.calls.closure(|contexts, called| {
            let own = contexts.iter().filter_map(|context| views.own.get(context)).flatten();
            let own = own.map(|&(_, whole)| views.wholes[whole]);
            Some(sets.union(own.chain(called.filter_map(|below| *below))))
        });
        views
    }

    /// The members of a set of lock views, sorted.
    pub(super) fn members(&self, set: ViewsId) -> Rc<[ViewId]> {
        self.sets.borrow().views(set)
    }

    /// The statements of a context with lock scopes below them.
    pub(super) fn steps(
        &self,
        execution: &Execution<'_>,
        context: ContextId,
    ) -> Vec<ScopeStatement> {
        let mut sets = self.sets.borrow_mut();
        let mut steps: BTreeMap<(StatementId, bool), (ScopeStatement, Vec<ViewsId>)> =
            BTreeMap::new();
        for action in execution.actions(context) {
            let scopes = execution.scopes(action.scopes);
            let around = |depth: usize| {
                let around = scopes[..depth].iter();
                around.map(|scope| (scope.site, Arc::clone(&scope.lock))).collect()
            };
            for (depth, scope) in scopes.iter().enumerate() {
                let Some(views) = self.own_views(context, scope.site) else { continue };
                let (step, _) = steps.entry((scope.site, false)).or_insert_with(|| {
                    let (statement, within) = (scope.site, around(depth));
                    (ScopeStatement { statement, views, within, parts: Vec::new() }, vec![views])
                });
                step.parts.push(action.statement);
            }
            if let ActionKind::Call(callee) = action.kind
                && let Some(views) = self.below[self.calls.circle(callee)]
            {
                let (_, below) = steps.entry((action.statement, true)).or_insert_with(|| {
                    let (statement, within) = (action.statement, around(scopes.len()));
                    let parts = vec![action.statement];
                    (ScopeStatement { statement, views, within, parts }, Vec::new())
                });
                below.push(views);
            }
        }
        let steps = steps
            .into_values()
            .map(|(step, below)| ScopeStatement { views: sets.union(below), ..step });
        let mut steps: Vec<ScopeStatement> = steps.collect();
        steps.retain(|step| !sets.views(step.views).is_empty());
        steps
    }

    fn find_accesses(&mut self, describe: &Describe<'_, '_>, options: &Options) {
        let execution = describe.execution;
        let mut variables: UniqueMap<VariableId, Key> = UniqueMap::new();
        let mut parts: UniqueMap<PartId, Part> = UniqueMap::new();
        let mut done: EntitySet<ContextEventId> = EntitySet::new();
        for &context in &self.calls.contexts {
            for action in execution.actions(context) {
                let ActionKind::Access(id) = action.kind else { continue };
                if let Some(access) = self.access_of[id] {
                    self.makers[access].push(context);
                }
                if !done.insert(id) {
                    continue;
                }
                let mut events = execution.events_of(id).iter().map(|&event| describe.event(event));
                let is_judged = |event: &&Event| is_judged(describe, options, event);
                let Some(event) = events.find(is_judged) else { continue };
                let Some(key) = key(describe, event) else { continue };
                let variable = variables.intern(key.clone());
                if variable == self.variables.next_key() {
                    let data = variable_data(describe, event, &key, &mut parts);
                    self.variables.push(data);
                }
                let is_update = event.kind == AccessKind::Write;
                let access = self.accesses.push(Access { event: id, variable, is_update });
                self.access_of[id] = Some(access);
                self.makers[access].push(context);
            }
        }
    }

    /// Whether a context, or one that it calls, makes an access.
    pub(super) fn is_below(&self, context: ContextId, access: AccessId) -> bool {
        self.accesses_below[self.calls.circle(context)].contains(access)
    }

    /// The contexts that make an access themselves.
    pub(super) fn makers(&self, access: AccessId) -> &[ContextId] {
        &self.makers[access]
    }

    fn find_lock_views(&mut self, execution: &Execution<'_>) {
        let mut known: UniqueMap<WholeId, Box<[AccessId]>> = UniqueMap::new();
        for &context in &self.calls.contexts {
            let mut found: BTreeMap<StatementId, EntitySet<AccessId>> = BTreeMap::new();
            for action in execution.actions(context) {
                for scope in execution.scopes(action.scopes) {
                    let view = found.entry(scope.site).or_default();
                    match action.kind {
                        ActionKind::Access(event) => view.extend(self.access_of[event]),
                        ActionKind::Call(callee) => {
                            view.union_with(&self.accesses_below[self.calls.circle(callee)]);
                        }
                    }
                }
            }
            let wholes = found.into_iter().map(|(site, accesses)| {
                let whole = known.intern(accesses.iter().collect());
                (site, whole)
            });
            self.own.insert(context, wholes.collect());
        }
        // What is updated in no lock scope cannot change between two of them.
        let all = known.iter().flat_map(|(_, accesses)| accesses.iter());
        let updates = all.map(|&access| &self.accesses[access]).filter(|access| access.is_update);
        let updated: EntitySet<VariableId> = updates.map(|access| access.variable).collect();
        let mut lock_views: UniqueMap<ViewId, LockView> = UniqueMap::new();
        for (_, accesses) in known.iter() {
            let mut parts: BTreeMap<PartId, Vec<AccessId>> = BTreeMap::new();
            for &access in accesses {
                let variable = self.accesses[access].variable;
                if updated.contains(variable) {
                    parts.entry(self.variables[variable].part).or_default().push(access);
                }
            }
            let views = parts.into_iter().map(|(part, accesses)| {
                let mut entries: BTreeMap<VariableId, bool> = BTreeMap::new();
                for access in accesses.iter().map(|&access| &self.accesses[access]) {
                    *entries.entry(access.variable).or_default() |= access.is_update;
                }
                let (accesses, entries) = (accesses.into(), entries.into_iter().collect());
                lock_views.intern(LockView { part, accesses, entries })
            });
            self.wholes.push(self.sets.get_mut().of(views));
        }
        self.lock_views = lock_views.iter().map(|(_, view)| view.clone()).collect();
        let mut entries: UniqueMap<AlikeId, &[(VariableId, bool)]> = UniqueMap::new();
        for (id, view) in lock_views.iter() {
            self.alike[id] = Some(entries.intern(&view.entries));
        }
    }

    /// The views of a lock scope of a context.
    fn own_views(&self, context: ContextId, site: StatementId) -> Option<ViewsId> {
        let mut own = self.own.get(&context)?.iter();
        own.find(|(at, _)| *at == site).map(|&(_, whole)| self.wholes[whole])
    }
}

/// Whether an access can be part of a view: not while its object is made, and not of a volatile variable.
fn is_judged(describe: &Describe<'_, '_>, options: &Options, event: &Event) -> bool {
    let execution = describe.execution;
    let method = &describe.program.methods()[describe.method_of(event.instance)];
    let is_made = event.is_fresh
        || execution.heap.origins[event.thread].kind == OriginKind::Init
        || event.is_through_this && method.name == describe.program.names.known.init;
    let is_kind = match event.accessed {
        Accessed::Field(field) => {
            let class = describe.program.fields()[field].class;
            !event.is_atomic && !execution.is_interleaved(class)
        }
        Accessed::Element => options.arrays,
        Accessed::Contents | Accessed::Slot(_) => true,
    };
    is_kind && !is_made
}

fn key(describe: &Describe<'_, '_>, event: &Event) -> Option<Key> {
    if let Accessed::Field(field) = event.accessed {
        return Some(Key::Field(field));
    }
    let &object = event.objects.first()?;
    let loaded = event.loaded_from.filter(|&field| describe.is_input_field(field));
    Some(match loaded.or_else(|| describe.holder(object)) {
        Some(field) => Key::Held(field, event.accessed),
        None => Key::Inside(describe.object_class(object), event.accessed),
    })
}

fn variable_data(
    describe: &Describe<'_, '_>,
    event: &Event,
    key: &Key,
    parts: &mut UniqueMap<PartId, Part>,
) -> VariableData {
    let class = |field: FieldId| describe.program.fields()[field].class;
    match key {
        Key::Field(field) => VariableData {
            part: parts.intern(Part::Class(class(*field))),
            variable: describe.field(*field),
            name: describe.short_field(*field),
            is_library: !describe.is_input(class(*field)),
        },
        Key::Held(field, accessed) => VariableData {
            part: parts.intern(match event.is_atomic {
                true => Part::Alone(*field),
                false => Part::Class(class(*field)),
            }),
            variable: describe.field(*field),
            name: match accessed {
                Accessed::Element => format!("an element of {}", describe.short_field(*field)),
                _ => format!("the contents of {}", describe.short_field(*field)),
            },
            is_library: false,
        },
        Key::Inside(class, accessed) => VariableData {
            part: parts.intern(Part::Library(class.clone())),
            variable: match (accessed, event.objects.first()) {
                (Accessed::Element, _) => Variable::elements(class),
                (_, Some(&object)) => describe.local_variable(object),
                (_, None) => Variable::field(class, "contents"),
            },
            name: format!("the contents of the {}", simple_name(class)),
            is_library: true,
        },
    }
}
