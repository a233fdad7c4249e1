//! How methods are entered: a context for every state, up to a number of states, and one for all others.

use std::sync::Arc;

use smallvec::SmallVec;
use unsnarl_program::body::Value;
use unsnarl_program::heap::{InstanceId, OriginKind, Variable};

use super::{Context, EntryId, Executor, Progress, ROUNDS};
use crate::event::{ContextId, PathStep};
use crate::execute::state::{Fresh, Holders, ObjectsId, State};
use crate::facts::path::{Path, Root};
use crate::facts::threads::sorted;

/// How a method is entered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    /// What the arguments are for the caller.
    pub(crate) bindings: SmallVec<[Binding; 2]>,
    /// What lambdas have captured, in other words.
    pub(crate) aliases: SmallVec<[(Path, Path); 1]>,
    pub(crate) state: State,
}

/// What an argument is for the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Binding {
    pub(crate) strict: Option<Path>,
    pub(crate) loose: Option<Path>,
}

/// The arguments of a method.
#[derive(Debug)]
pub(crate) struct Arguments {
    /// Those that others may see at some time, by number.
    watched: SmallVec<[(u16, Value); 2]>,
    /// All that any of them may be; sorted.
    objects: Holders,
}

impl Executor<'_, '_> {
    /// How a thread enters its first method. What a client makes is its own while it is made.
    pub(super) fn first_entry(&mut self, kind: OriginKind, instance: InstanceId) -> Entry {
        let mut entry = Entry::default();
        if kind == OriginKind::Client {
            self.make_receiver(instance, &mut entry);
        }
        entry
    }

    /// A constructor that is called from outside, by reflection, or on what only one thread ever sees, gets an
    /// object that nobody else sees.
    pub(crate) fn make_receiver(&mut self, instance: InstanceId, entry: &mut Entry) {
        let method = self.facts.heap.instances[instance].method;
        let this = Path::root(Root::Parameter(0));
        if self.facts.program.methods()[method].name == self.facts.program.names.known.init
            && let Some(objects) = self.argument_objects(instance, Some(&this))
        {
            let holders = Holders::new();
            entry.state.add_fresh(Fresh { path: this, objects, holders, is_assumed: false });
        }
    }

    /// The number of a way to enter methods.
    pub(crate) fn entry(&mut self, entry: Entry) -> EntryId {
        self.entries.all.intern(Arc::new(entry))
    }

    /// The context for a call; it may be one that stands for many states.
    pub(crate) fn context(&mut self, instance: InstanceId, entry: EntryId) -> ContextId {
        let key = (instance, entry);
        if let Some(&context) = self.entries.contexts.get(&key) {
            return context;
        }
        let entry = Arc::clone(&self.entries.all[entry]);
        if usize::from(self.entries.counts[instance]) >= self.entries.most {
            let context = self.merge(instance, &entry);
            self.entries.contexts.insert(key, context);
            return context;
        }
        self.entries.counts[instance] += 1;
        let context = self.push_context(instance, entry, false);
        self.entries.contexts.insert(key, context);
        context
    }

    pub(super) fn push_context(
        &mut self,
        instance: InstanceId,
        entry: Arc<Entry>,
        is_merged: bool,
    ) -> ContextId {
        self.contexts.push(Context {
            instance,
            entry,
            exit: None,
            outcome: None,
            is_merged,
            progress: Progress::New,
            rounds: 0,
            callers: Vec::new(),
        })
    }

    fn merge(&mut self, instance: InstanceId, entry: &Entry) -> ContextId {
        let arguments = self.arguments(instance);
        let state = self.state_for_many(instance, entry, &arguments);
        let Some(&context) = self.entries.merged.get(&instance) else {
            let bindings = entry.bindings.iter().map(|_| Binding::default()).collect();
            let entry = Arc::new(Entry { bindings, aliases: SmallVec::new(), state });
            let context = self.push_context(instance, entry, true);
            self.entries.merged.insert(instance, context);
            return context;
        };
        let known = &self.contexts[context].entry;
        if known.state.covers(&state) {
            return context;
        }
        let mut joined = (**known).clone();
        joined.state.join(&state);
        // What is different for callers is taken to be anything, not collected one by one.
        let is_new_start = joined.state.started != known.state.started;
        let is_new_signal = joined.state.sent != known.state.sent;
        if is_new_start || is_new_signal {
            let effects = self.facts.may_effects.threads_of(self.facts.heap, instance);
            if is_new_start {
                joined.state.unite_started(&effects.started);
            }
            if is_new_signal {
                joined.state.unite_sent(&effects.sent);
            }
        }
        if self.contexts[context].rounds > ROUNDS {
            joined.state.keep_fresh(|fresh| fresh.path.steps.is_empty());
            joined.state.fresh.iter_mut().for_each(|fresh| fresh.is_assumed = true);
        }
        self.contexts[context].entry = Arc::new(joined);
        self.remembered.memories[context].enter_anew();
        self.queue(context);
        context
    }

    /// What a method that is entered in many states learns from one of them. Paths are expressed by the numbers of one
    /// caller. What many have in common are the arguments.
    fn state_for_many(
        &mut self,
        instance: InstanceId,
        entry: &Entry,
        arguments: &Arguments,
    ) -> State {
        let mut state = (*entry.state).clone();
        let own = |path: &Path| {
            if let Root::Parameter(_) = path.root {
                return Some(path.clone());
            }
            let bindings = entry.bindings.iter().enumerate();
            let mut named = bindings.filter_map(|(number, binding)| {
                let strict = binding.strict.as_ref().filter(|strict| path.begins_with(strict))?;
                let steps = SmallVec::from_slice(&path.steps[strict.steps.len()..]);
                Some(Path { root: Root::Parameter(number as u16), steps })
            });
            named.next()
        };
        for lock in &mut state.locks {
            let path = lock.path.take();
            lock.path = path.and_then(|path| own(&path).or(path.root.is_global().then_some(path)));
            lock.inherited = None;
            if let Some(objects) = self.argument_objects(instance, lock.path.as_ref()) {
                lock.objects = objects;
            }
        }
        for fresh in std::mem::take(&mut state.fresh) {
            if let Some(path) = own(&fresh.path)
                && let Some(objects) = self.argument_objects(instance, Some(&path))
            {
                // Which holders it has is different for callers; those count that the method can see.
                let is_held = !fresh.holders.is_empty();
                let holders = if is_held { arguments.objects.clone() } else { Holders::new() };
                state.add_fresh(Fresh { path, objects, holders, ..fresh });
            }
        }
        // What is not known of the arguments is assumed.
        for &(number, value) in &arguments.watched {
            let path = Path::root(Root::Parameter(number));
            if state.fresh(&path).is_none() {
                let (objects, holders) = (self.objects_of(instance, value), Holders::new());
                state.add_fresh(Fresh { path, objects, holders, is_assumed: true });
            }
        }
        state.joined_paths.clear();
        state.received.retain(|(_, path)| path.is_none());
        State::from(state)
    }

    /// What is known about the arguments of a method.
    fn arguments(&mut self, instance: InstanceId) -> Arc<Arguments> {
        if let Some(known) = self.entries.arguments.get(&instance) {
            return Arc::clone(known);
        }
        let heap = self.facts.heap;
        let facts = self.facts.methods.get(heap.instances[instance].method);
        let all = facts.map_or(&[][..], |facts| &facts.parameters);
        let is_watched = |&&(_, value): &&(u16, Value)| {
            let mut objects = heap.points_to(instance, value).iter();
            objects.any(|&object| !self.facts.sharing.is_private(object))
        };
        let objects = all.iter().flat_map(|&(_, value)| heap.points_to(instance, value)).copied();
        let watched = all.iter().filter(is_watched).copied().collect();
        let found = Arc::new(Arguments { watched, objects: sorted(objects).into() });
        self.entries.arguments.insert(instance, Arc::clone(&found));
        found
    }

    /// All objects that an argument, or what hangs on it by fields, may be.
    fn argument_objects(&mut self, instance: InstanceId, path: Option<&Path>) -> Option<ObjectsId> {
        let &Path { root: Root::Parameter(number), ref steps } = path? else { return None };
        let heap = self.facts.heap;
        let facts = self.facts.methods.get(heap.instances[instance].method)?;
        let &(_, value) = facts.parameters.iter().find(|(found, _)| *found == number)?;
        if steps.is_empty() {
            return Some(self.objects_of(instance, value));
        }
        let mut objects = heap.points_to(instance, value).to_vec();
        for &step in steps {
            let variable = match step {
                PathStep::Field(field) => Variable::Field(field),
                PathStep::Slot(name) => Variable::Slot(name),
            };
            let inside = objects.iter().flat_map(|&object| heap.contents(object, variable));
            objects = sorted(inside.copied());
        }
        Some(self.set(&objects))
    }
}
