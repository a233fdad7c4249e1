//! How methods are entered: a context for every state, up to a number of states, and one for all others.

use std::sync::Arc;

use smallvec::SmallVec;
use unsnarl_program::body::Operation;
use unsnarl_program::heap::{InstanceId, ObjectId, OriginKind, Variable};

use super::{Context, EntryId, Executor, Progress, ROUNDS};
use crate::event::{ContextId, PathStep};
use crate::path::{Path, Root};
use crate::state::{Fresh, Holders, ObjectsId, State, unite};
use crate::threads::sorted;

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

impl<'e> Executor<'e, '_> {
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
        let method = self.heap.instances[instance].method;
        let this = Path::root(Root::Parameter(0));
        if self.program.methods()[method].name == self.program.names.known.init
            && let Some(objects) = self.argument_objects(instance, Some(&this))
        {
            let holders = Holders::new();
            entry.state.add_fresh(Fresh { path: this, objects, holders, is_assumed: false });
        }
    }

    /// The number of a way to enter methods.
    pub(crate) fn entry(&mut self, entry: Entry) -> EntryId {
        self.all_entries.intern(Arc::new(entry))
    }

    /// The context for a call; it may be one that stands for many states.
    pub(crate) fn context(&mut self, instance: InstanceId, entry: EntryId) -> ContextId {
        let key = (instance, entry);
        if let Some(&context) = self.by_entry.get(&key) {
            return context;
        }
        let entry = Arc::clone(&self.all_entries[entry]);
        if usize::from(self.entries[instance]) >= self.most_entries {
            let context = self.merge(instance, &entry);
            self.by_entry.insert(key, context);
            return context;
        }
        self.entries[instance] += 1;
        let context = self.push_context(instance, entry, false);
        self.by_entry.insert(key, context);
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
        let mut state = entry.state.clone();
        // Paths are told by the numbers of one caller. What many have in common are the arguments.
        let own = |path: &Path| {
            if let Root::Parameter(_) = path.root {
                return Some(path.clone());
            }
            let bindings = entry.bindings.iter().enumerate();
            let mut named = bindings.filter_map(|(number, binding)| {
                let strict = binding.strict.as_ref().filter(|strict| path.begins_with(strict))?;
                let steps = path.steps[strict.steps.len()..].into();
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
        let arguments = self.arguments(instance);
        for fresh in std::mem::take(&mut state.fresh) {
            if let Some(path) = own(&fresh.path)
                && let Some(objects) = self.argument_objects(instance, Some(&path))
            {
                // Which holders it has is different for callers; those count that the method can see.
                let is_held = !fresh.holders.is_empty();
                let seen = arguments.iter().filter(|_| is_held).flat_map(|(_, objects)| *objects);
                let holders = sorted(seen.copied()).into();
                state.add_fresh(Fresh { path, objects, holders, ..fresh });
            }
        }
        // What is not known of the arguments is assumed.
        for (path, objects) in arguments {
            let is_watched = objects.iter().any(|&object| !self.sharing.is_private(object));
            if is_watched && state.fresh(&path).is_none() {
                let (objects, holders) = (self.set(objects), Holders::new());
                state.add_fresh(Fresh { path, objects, holders, is_assumed: true });
            }
        }
        state.joined_paths.clear();
        state.received.retain(|(_, path)| path.is_none());
        let bindings = entry.bindings.iter().map(|_| Binding::default()).collect();
        match self.merged.get(&instance).copied() {
            None => {
                let entry = Arc::new(Entry { bindings, aliases: SmallVec::new(), state });
                let context = self.push_context(instance, entry, true);
                self.merged.insert(instance, context);
                context
            }
            Some(context) => {
                let mut joined = (*self.contexts[context].entry).clone();
                let known = joined.state.clone();
                if joined.state.join(&state) {
                    // What is different for callers is taken to be anything, not gathered one by one.
                    let doings = self.within.threads_of(self.heap, instance);
                    if joined.state.started != known.started {
                        unite(&mut joined.state.started, &doings.started);
                    }
                    if joined.state.sent != known.sent {
                        unite(&mut joined.state.sent, &doings.sent);
                    }
                    if self.contexts[context].rounds > ROUNDS {
                        joined.state.fresh.retain(|fresh| fresh.path.steps.is_empty());
                        joined.state.fresh.iter_mut().for_each(|fresh| fresh.is_assumed = true);
                    }
                    self.contexts[context].entry = Arc::new(joined);
                    self.memories[context].enter_anew();
                    self.queue(context);
                }
                context
            }
        }
    }

    /// The arguments of a method with what they may be.
    fn arguments(&self, instance: InstanceId) -> Vec<(Path, &'e [ObjectId])> {
        let heap = self.heap;
        let Some(facts) = self.methods.get(heap.instances[instance].method) else {
            return Vec::new();
        };
        let statements = facts.body.statements.values();
        let arguments = statements.filter_map(|statement| match statement.operation {
            Operation::Parameter(number) => {
                let path = Path::root(Root::Parameter(number));
                Some((path, heap.points_to(instance, statement.result?)))
            }
            _ => None,
        });
        arguments.collect()
    }

    /// All objects that an argument, or what hangs on it by fields, may be.
    fn argument_objects(&mut self, instance: InstanceId, path: Option<&Path>) -> Option<ObjectsId> {
        let &Path { root: Root::Parameter(number), ref steps } = path? else { return None };
        let root = Path::root(Root::Parameter(number));
        let arguments = self.arguments(instance);
        let (_, objects) = arguments.iter().find(|(path, _)| *path == root)?;
        let mut objects = objects.to_vec();
        for &step in steps {
            let variable = match step {
                PathStep::Field(field) => Variable::Field(field),
                PathStep::Slot(name) => Variable::Slot(name),
            };
            let inside = objects.iter().flat_map(|&object| self.heap.contents(object, variable));
            objects = sorted(inside.copied());
        }
        Some(self.set(&objects))
    }
}
