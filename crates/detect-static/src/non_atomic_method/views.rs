//! Lock views and method views (seed 000, section 5.2.1): what is read and updated in each lock scope, and
//! which lock scopes are below each context. As variables of different classes are judged apart, a lock scope has a view
//! for each class; lock scopes that do the same with a class share it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unsnarl_entity::{EntitySet, PrimaryMap, SecondaryMap, UniqueMap, entity_id};
use unsnarl_findings::Variable;
use unsnarl_program::body::StatementId;
use unsnarl_program::heap::{ObjectId, OriginKind};
use unsnarl_program::{ClassId, FieldId};
use unsnarl_symbolic::{AccessKind, Accessed, ContextId, DeedKind, Event, Execution, SeenId};

use crate::Options;
use crate::describe::{Describe, simple_name};

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
    /// The contexts that threads come to, callees first.
    pub(super) contexts: Vec<ContextId>,
    access_of: SecondaryMap<SeenId, Option<AccessId>>,
    own: FxHashMap<(ContextId, StatementId), WholeId>,
    wholes: PrimaryMap<WholeId, Box<[ViewId]>>,
    below: SecondaryMap<ContextId, EntitySet<ViewId>>,
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
    pub(super) seen: SeenId,
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
pub(super) struct Step {
    pub(super) statement: StatementId,
    pub(super) views: EntitySet<ViewId>,
    /// The lock scopes of the same method around it, with what the locks may be.
    pub(super) within: Vec<(StatementId, Arc<[ObjectId]>)>,
    /// The statements with accesses and calls in it.
    pub(super) parts: Vec<StatementId>,
}

impl Views {
    pub(super) fn new(describe: &Describe<'_, '_>, options: &Options) -> Self {
        let execution = describe.execution;
        let mut views = Self { contexts: callees_first(execution), ..Self::default() };
        views.find_accesses(describe, options);
        let accesses = views.accesses_below(execution);
        views.find_lock_views(execution, &accesses);
        views.find_below(execution);
        views
    }

    /// The statements of a context with lock scopes below them.
    pub(super) fn steps(&self, execution: &Execution<'_>, context: ContextId) -> Vec<Step> {
        let mut steps: BTreeMap<(StatementId, bool), Step> = BTreeMap::new();
        for deed in execution.deeds(context) {
            let scopes = execution.scopes(deed.scopes);
            let around =
                || scopes.iter().map(|scope| (scope.site, Arc::clone(&scope.lock))).collect();
            for (depth, scope) in scopes.iter().enumerate() {
                let views = self.own_views(context, scope.site);
                if views.is_empty() {
                    continue;
                }
                let step = steps.entry((scope.site, false)).or_insert_with(|| {
                    let within: Vec<_> = around();
                    let within = within[..depth].to_vec();
                    let views = views.iter().copied().collect();
                    Step { statement: scope.site, views, within, parts: Vec::new() }
                });
                step.parts.push(deed.statement);
            }
            if let DeedKind::Call(callee) = deed.kind
                && !self.below[callee].is_empty()
            {
                let step = steps.entry((deed.statement, true)).or_insert_with(|| {
                    let parts = vec![deed.statement];
                    let (statement, within) = (deed.statement, around());
                    Step { statement, views: EntitySet::new(), within, parts }
                });
                step.views.union_with(&self.below[callee]);
            }
        }
        steps.into_values().collect()
    }

    fn find_accesses(&mut self, describe: &Describe<'_, '_>, options: &Options) {
        let execution = describe.execution;
        let mut variables: UniqueMap<VariableId, Key> = UniqueMap::new();
        let mut parts: UniqueMap<PartId, Part> = UniqueMap::new();
        let mut done: EntitySet<SeenId> = EntitySet::new();
        for &context in &self.contexts {
            for deed in execution.deeds(context) {
                let DeedKind::Access(seen) = deed.kind else { continue };
                if !done.insert(seen) {
                    continue;
                }
                let mut events = execution.events_of(seen).iter().map(|&id| describe.event(id));
                let is_judged = |event: &&Event| is_judged(describe, options, event);
                let Some(event) = events.find(is_judged) else { continue };
                let Some(key) = key(describe, event) else { continue };
                let variable = variables.intern(key.clone());
                if variable == self.variables.next_key() {
                    let data = variable_data(describe, event, &key, &mut parts);
                    self.variables.push(data);
                }
                let is_update = event.kind == AccessKind::Write;
                let access = self.accesses.push(Access { seen, variable, is_update });
                self.access_of[seen] = Some(access);
            }
        }
    }

    /// All accesses of contexts and of what they call.
    fn accesses_below(
        &self,
        execution: &Execution<'_>,
    ) -> SecondaryMap<ContextId, EntitySet<AccessId>> {
        closure(&self.contexts, execution, |_, deed| match deed.kind {
            DeedKind::Access(seen) => self.access_of[seen].into_iter().collect(),
            DeedKind::Call(_) => SmallVec::new(),
        })
    }

    fn find_lock_views(
        &mut self,
        execution: &Execution<'_>,
        below: &SecondaryMap<ContextId, EntitySet<AccessId>>,
    ) {
        let mut known: UniqueMap<WholeId, Box<[AccessId]>> = UniqueMap::new();
        for &context in &self.contexts {
            let mut found: BTreeMap<StatementId, EntitySet<AccessId>> = BTreeMap::new();
            for deed in execution.deeds(context) {
                for scope in execution.scopes(deed.scopes) {
                    let view = found.entry(scope.site).or_default();
                    match deed.kind {
                        DeedKind::Access(seen) => view.extend(self.access_of[seen]),
                        DeedKind::Call(callee) => {
                            view.union_with(&below[callee]);
                        }
                    }
                }
            }
            for (site, accesses) in found {
                self.own.insert((context, site), known.intern(accesses.iter().collect()));
            }
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
            self.wholes.push(views.collect());
        }
        self.lock_views = lock_views.iter().map(|(_, view)| view.clone()).collect();
        let mut entries: UniqueMap<AlikeId, &[(VariableId, bool)]> = UniqueMap::new();
        for (id, view) in lock_views.iter() {
            self.alike[id] = Some(entries.intern(&view.entries));
        }
    }

    /// The views of a lock scope of a context.
    fn own_views(&self, context: ContextId, site: StatementId) -> &[ViewId] {
        self.own.get(&(context, site)).map_or(&[], |&whole| &self.wholes[whole])
    }

    fn find_below(&mut self, execution: &Execution<'_>) {
        self.below = closure(&self.contexts, execution, |context, deed| {
            let scopes = execution.scopes(deed.scopes).iter();
            scopes.flat_map(|scope| self.own_views(context, scope.site)).copied().collect()
        });
    }
}

/// What contexts have themselves and by their calls.
fn closure<K: unsnarl_entity::EntityId>(
    contexts: &[ContextId],
    execution: &Execution<'_>,
    own: impl Fn(ContextId, &unsnarl_symbolic::Deed) -> SmallVec<[K; 1]>,
) -> SecondaryMap<ContextId, EntitySet<K>> {
    let mut all: SecondaryMap<ContextId, EntitySet<K>> = SecondaryMap::new();
    let mut is_new = true;
    while std::mem::take(&mut is_new) {
        for &context in contexts {
            let mut set = std::mem::take(&mut all[context]);
            for deed in execution.deeds(context) {
                for item in own(context, deed) {
                    is_new |= set.insert(item);
                }
                if let DeedKind::Call(callee) = deed.kind {
                    is_new |= set.union_with(&all[callee]);
                }
            }
            all[context] = set;
        }
    }
    all
}

/// The contexts that threads come to, callees before their callers but for recursion.
fn callees_first(execution: &Execution<'_>) -> Vec<ContextId> {
    let callees = |context: ContextId| {
        let deeds = execution.deeds(context).iter();
        deeds.filter_map(|deed| match deed.kind {
            DeedKind::Call(callee) => Some(callee),
            DeedKind::Access(_) => None,
        })
    };
    let mut order = Vec::new();
    let mut seen: EntitySet<ContextId> = EntitySet::new();
    for &(_, root) in execution.roots() {
        let mut path = if seen.insert(root) { vec![(root, callees(root))] } else { Vec::new() };
        while let Some((context, rest)) = path.last_mut() {
            match rest.next() {
                Some(callee) if seen.insert(callee) => path.push((callee, callees(callee))),
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
