//! Calls: how the state of a caller is expressed in the names of a callee, and back.

mod leave;

use std::borrow::Cow;
use std::sync::Arc;

use smallvec::SmallVec;
use unsnarl_models::Effect;
use unsnarl_program::body::{Operation, StatementId, Value};
use unsnarl_program::heap::{Call, EdgeKind, InstanceId};

use crate::event::{ContextId, PathStep};
use crate::execute::memory::{Left, PastCall};
use crate::execute::state::{Fresh, Knowledge, Lock, State, Taken};
use crate::execute::{Binding, CallSite, Entry, EntryId, Executor, Frame, join_into};
use crate::facts::access::value_of;
use crate::facts::path::{Path, Root};
use crate::facts::threads::is_followed;

/// How many locks a callee knows of that may be several objects and have no name.
const VAGUE_LOCKS: usize = 1;

/// How the names of a callee are expressed in those of the caller.
struct Names {
    arguments: SmallVec<[Option<Value>; 4]>,
    /// What the numbered roots of the callee are.
    outer: SmallVec<[Root; 2]>,
    /// The fresh objects that the callee knows of.
    carried: SmallVec<[Path; 2]>,
    /// For each lock of the caller, which one it is for the callee.
    lock_numbers: SmallVec<[u8; 4]>,
}

impl Executor<'_, '_> {
    /// Runs a call; false if it does not return, as far as is known.
    pub(crate) fn invoke(
        &mut self,
        frame: &Frame,
        id: StatementId,
        arguments: &[Value],
        result: Option<Value>,
        state: &mut State,
    ) -> bool {
        let heap = self.facts.heap;
        let calls = self.calls_at(frame, id);
        let models = heap.models_at(frame.instance, id);
        if calls.is_empty() && models.is_empty() {
            // Nobody knows what it does with what it is given; what is made may hold it.
            let is_constructor = self.is_constructor_call(frame, id);
            for &argument in arguments.iter().skip(usize::from(is_constructor)) {
                if is_constructor {
                    self.store(frame, arguments[0], None, argument, state);
                } else {
                    self.escape_value(frame, argument, state);
                }
            }
            return true;
        }
        let is_relevant = |call: &Call| self.facts.sharing.relevant.contains(call.callee);
        if models.is_empty() && !calls.iter().any(is_relevant) {
            return true;
        }
        let before = state.clone();
        let mut after: Option<State> = None;
        let mut callbacks: Option<State> = None;
        for &call in models {
            let mut state = before.clone();
            self.apply_model(frame, id, call, &mut callbacks, &mut state);
            join_into(&mut after, Cow::Owned(state));
        }
        // Initializers run elsewhere, and starts are described by models.
        let is_it = |call: &&Call, is_plain: bool| {
            call.kind != EdgeKind::Callback
                && (call.kind == EdgeKind::Call) == is_plain
                && is_followed(heap, frame.instance, call.callee, call.kind)
        };
        let mut is_entered = false;
        let callees: SmallVec<[InstanceId; 4]> =
            calls.iter().filter(|call| is_it(call, true)).map(|call| call.callee).collect();
        // Nobody knows the arguments of calls by reflection.
        let others = calls.iter().filter(|call| is_it(call, false));
        let others = others.map(|call| (SmallVec::from_slice(&[call.callee]), SmallVec::new()));
        let values = arguments.iter().map(|&value| Some(value)).collect();
        for (callees, values) in std::iter::once((callees, values)).chain(others) {
            if callees.is_empty() {
                continue;
            }
            is_entered = true;
            if let Some(state) = self.call(frame, id, &callees, values, result, &before) {
                join_into(&mut after, Cow::Owned(state));
            }
        }
        for call in calls.iter().filter(|call| call.kind == EdgeKind::Callback) {
            if is_followed(heap, frame.instance, call.callee, call.kind) {
                let values = self.callback_arguments(frame, id, call);
                // A callback happens any number of times, also never.
                let before = callbacks.as_ref().unwrap_or(&before);
                if let Some(mut state) = self.call(frame, id, &[call.callee], values, None, before)
                {
                    if let Some(after) = &after {
                        for joined in &after.joined {
                            state.add_joined(*joined);
                        }
                    }
                    join_into(&mut after, Cow::Owned(state));
                }
            }
        }
        let is_left = after.is_some() || !is_entered;
        *state = after.unwrap_or(before);
        is_left
    }

    /// Whether a statement calls a constructor. One that is not looked into is taken not to hand out the
    /// object that it makes: a library that does has a model that says so.
    fn is_constructor_call(&self, frame: &Frame, id: StatementId) -> bool {
        match frame.facts.body.statements[id].operation {
            Operation::Invoke { method, .. } => {
                let names = &self.facts.program.names;
                names.method_ref_data(method).name == names.known.init
            }
            _ => false,
        }
    }

    /// The state after a call of any of the callees.
    fn call(
        &mut self,
        frame: &Frame,
        id: StatementId,
        callees: &[InstanceId],
        arguments: SmallVec<[Option<Value>; 4]>,
        result: Option<Value>,
        before: &State,
    ) -> Option<State> {
        if !callees.iter().any(|&callee| self.facts.sharing.relevant.contains(callee)) {
            return Some(before.clone());
        }
        let site = (frame.context, id, callees[0]);
        if let Some(past) = self.recall_call(site, before) {
            let (entered, after) = (Arc::clone(&past.entered), past.after.clone());
            self.note_entered(&entered, id, before);
            return after;
        }
        let is_made = match arguments.first() {
            Some(&Some(this)) => self.is_private(frame, this),
            // By reflection.
            _ => true,
        };
        let (mut entry, names) = self.enter(frame, arguments, before);
        if is_made {
            self.make_receiver(callees[0], &mut entry);
        }
        let entry = self.entry(entry);
        let entered = self.contexts_of(frame, id, callees, entry);
        let mut is_passed_over = entered.len() < callees.len();
        let mut after = None;
        let mut left: SmallVec<[Left; 4]> = SmallVec::new();
        for &context in &*entered {
            self.ensure(context);
            let Some(way) = self.left(context) else {
                is_passed_over |= self.is_passed_over(frame.context);
                continue;
            };
            // Most of many callees are left alike.
            if !left.contains(&way) {
                left.push(way);
                let state = self.leave(frame, way, &names, result, before);
                join_into(&mut after, Cow::Owned(state));
            }
        }
        if is_passed_over {
            join_into(&mut after, Cow::Borrowed(before));
        }
        self.note_entered(&entered, id, before);
        let (before, after_it) = (before.clone(), after.clone());
        self.remember_call(site, PastCall { before, entered, left, after: after_it });
        after
    }

    /// Notes for the last round which contexts a call enters.
    fn note_entered(&mut self, contexts: &[ContextId], call: StatementId, state: &State) {
        if self.is_final {
            let scopes = self.scopes(state);
            self.found.entered.extend(contexts.iter().map(|&context| (context, call, scopes)));
        }
    }

    /// Whether only one thread ever sees what a value refers to: it need not be marked as new.
    fn is_private(&self, frame: &Frame, value: Value) -> bool {
        let objects = self.facts.heap.points_to(frame.instance, value);
        !objects.is_empty() && objects.iter().all(|&object| self.facts.sharing.is_private(object))
    }

    /// The contexts for a call in a certain state, without those of callees that matter to no other thread.
    fn contexts_of(
        &mut self,
        frame: &Frame,
        id: StatementId,
        callees: &[InstanceId],
        entry: EntryId,
    ) -> Arc<[ContextId]> {
        let site = CallSite { context: frame.context, statement: id, first: callees[0], entry };
        if let Some(known) = self.remembered.call_sites.get(&site) {
            return Arc::clone(known);
        }
        let relevant =
            callees.iter().filter(|&&callee| self.facts.sharing.relevant.contains(callee));
        let relevant: Vec<InstanceId> = relevant.copied().collect();
        let contexts: Vec<ContextId> =
            relevant.into_iter().map(|callee| self.context(callee, entry)).collect();
        let contexts: Arc<[ContextId]> = contexts.into();
        for &context in &*contexts {
            self.depend(frame.context, id, context);
        }
        self.remembered.call_sites.insert(site, Arc::clone(&contexts));
        contexts
    }

    /// The arguments of a callback, by what its model says.
    fn callback_arguments(
        &self,
        frame: &Frame,
        id: StatementId,
        call: &Call,
    ) -> SmallVec<[Option<Value>; 4]> {
        let callee = self.facts.heap.instances[call.callee];
        let name = self.facts.program.names.bytes(self.facts.program.methods()[callee.method].name);
        for &model in self.facts.heap.models_at(frame.instance, id) {
            for effect in &model.model.effects {
                if let Effect::Call(call) = effect
                    && call.method.as_bytes() == name
                {
                    let places = std::iter::once(&call.receiver).chain(&call.arguments);
                    return places
                        .map(|place| value_of(&frame.facts, self.facts.program, id, model, place))
                        .collect();
                }
            }
        }
        SmallVec::new()
    }

    /// The state of the caller in the names of the callee. Only what has to do with the arguments keeps
    /// a name.
    fn enter(
        &mut self,
        frame: &Frame,
        arguments: SmallVec<[Option<Value>; 4]>,
        state: &State,
    ) -> (Entry, Names) {
        let paths: SmallVec<[Option<(Path, Path)>; 4]> = arguments
            .iter()
            .map(|argument| {
                let value = (*argument)?;
                let is_reference =
                    self.facts.program.names.is_reference(frame.facts.body.values[value].ty);
                is_reference
                    .then(|| (self.strict_path(frame, value), self.loose_path(frame, value)))
            })
            .collect();
        let is_needed = |root: Root| {
            state.locks.iter().any(|lock| lock.path.as_ref().is_some_and(|path| path.root == root))
                || state.fresh.iter().any(|fresh| fresh.path.root == root)
                || state.joined_paths.iter().any(|(path, _)| path.root == root)
                || state
                    .received
                    .iter()
                    .any(|(_, path)| path.as_ref().is_some_and(|path| path.root == root))
        };
        let captured = self.captured(frame, &arguments, &paths);
        // A lambda that has captured another argument: the callee may lock the one and run the other.
        let is_captured = |root: Root| {
            captured.iter().any(|(_, _, meaning)| meaning.root == root)
                && paths.iter().flatten().any(|(strict, _)| strict.root == root)
        };
        let is_needed = |root: Root| is_needed(root) || is_captured(root);
        let mut outer: SmallVec<[Root; 2]> = SmallVec::new();
        let roots = paths.iter().flatten().flat_map(|(strict, loose)| [strict.root, loose.root]);
        for root in roots.chain(captured.iter().map(|(_, _, meaning)| meaning.root)) {
            if !root.is_global() && !outer.contains(&root) && is_needed(root) {
                outer.push(root);
            }
        }
        let inward = |path: &Path| {
            if path.root.is_global() {
                return Some(path.clone());
            }
            let number = outer.iter().position(|&root| root == path.root)?;
            Some(Path { root: Root::Outer(number as u16), steps: path.steps.clone() })
        };
        let mut bindings: SmallVec<[Binding; 2]> = paths
            .iter()
            .map(|paths| match paths {
                Some((strict, loose)) => {
                    let binding = Binding { strict: inward(strict), loose: inward(loose) };
                    let is_needed = |path: &Path| !path.root.is_global() || is_needed(path.root);
                    Binding {
                        strict: binding.strict.filter(is_needed),
                        loose: binding.loose.filter(is_needed),
                    }
                }
                None => Binding::default(),
            })
            .collect();
        let mut aliases: SmallVec<[(Path, Path); 1]> = SmallVec::new();
        for (number, steps, meaning) in &captured {
            let own = bindings.get(*number).and_then(|binding| binding.strict.clone());
            let own = own.unwrap_or_else(|| Path::root(Root::Parameter(*number as u16)));
            let steps = Path { root: own.root, steps: steps.clone() };
            if !meaning.root.is_global()
                && let (Some(from), Some(to)) = (steps.rebase(&own), inward(meaning))
            {
                aliases.push((from, to));
            }
        }
        while bindings.last().is_some_and(|binding| *binding == Binding::default()) {
            bindings.pop();
        }
        let mut carried = SmallVec::new();
        let mut inner = Knowledge {
            started: SmallVec::from_slice(&state.started),
            joined: SmallVec::from_slice(&state.joined),
            sent: SmallVec::from_slice(&state.sent),
            ..Knowledge::default()
        };
        let lock_numbers = self.pass_locks(state, &inward, &mut inner);
        for fresh in &state.fresh {
            let mut values = arguments.iter().flatten();
            if let Some(path) = inward(&fresh.path)
                && values.any(|&value| {
                    self.can_reach(self.facts.heap.points_to(frame.instance, value), fresh)
                })
            {
                carried.push(fresh.path.clone());
                inner.add_fresh(Fresh { path, ..fresh.clone() });
            }
        }
        for (path, thread) in &state.joined_paths {
            if let Some(path) = inward(path) {
                inner.joined_paths.push((path, *thread));
            }
        }
        inner.joined_paths.sort_unstable();
        for (channel, path) in &state.received {
            inner.add_received((*channel, path.as_ref().and_then(inward)));
        }
        let entry = Entry { bindings, aliases, state: State::from(inner) };
        (entry, Names { arguments, outer, carried, lock_numbers })
    }

    /// The locks of the caller for the callee; for each of the caller's, which one it is. Locks that have
    /// no name in the callee are known by their objects: once is enough, their order does not matter,
    /// and of those that are no single object a few are enough.
    fn pass_locks(
        &self,
        state: &State,
        inward: &impl Fn(&Path) -> Option<Path>,
        inner: &mut Knowledge,
    ) -> SmallVec<[u8; 4]> {
        let is_single = |lock: &Lock| {
            matches!(self.sets[lock.objects][..], [object]
                if self.facts.threads.unique_objects.contains(object))
        };
        // Who is a single object needs no name.
        let paths: Vec<Option<Path>> = state
            .locks
            .iter()
            .map(|lock| lock.path.as_ref().filter(|_| !is_single(lock)).and_then(inward))
            .collect();
        let mut order: Vec<usize> = (0..state.locks.len().min(usize::from(u8::MAX))).collect();
        order.sort_by_key(|&at| {
            (paths[at].is_none(), paths[at].is_none().then(|| state.locks[at].objects))
        });
        let mut lock_numbers: SmallVec<[u8; 4]> = SmallVec::from_elem(u8::MAX, state.locks.len());
        let mut vague = 0;
        for at in order {
            let (lock, path) = (&state.locks[at], &paths[at]);
            let known = inner.locks.iter().position(|held| {
                path.is_none()
                    && held.path.is_none()
                    && (held.objects, held.mode) == (lock.objects, lock.mode)
            });
            if let Some(known) = known {
                lock_numbers[at] = known as u8;
                continue;
            }
            let is_vague = path.is_none() && !is_single(lock);
            vague += usize::from(is_vague);
            if is_vague && vague > VAGUE_LOCKS {
                continue;
            }
            let number = inner.locks.len() as u8;
            lock_numbers[at] = number;
            let (path, inherited) = (path.clone(), Some(number));
            let taken = Taken::Outside;
            inner.locks.push(Lock { path, count: 1, inherited, taken, ..lock.clone() });
        }
        lock_numbers
    }

    /// What the lambdas among the arguments have captured: the argument, the steps from it, and what
    /// that is for the caller.
    fn captured(
        &self,
        frame: &Frame,
        arguments: &[Option<Value>],
        paths: &[Option<(Path, Path)>],
    ) -> Vec<(usize, SmallVec<[PathStep; 2]>, Path)> {
        let mut captured = Vec::new();
        for (number, (argument, paths)) in arguments.iter().zip(paths).enumerate() {
            let (Some(value), Some((strict, _))) = (argument, paths) else { continue };
            let value = frame.facts.uncast(*value);
            for &(field, content) in frame.facts.captures(value) {
                let steps = SmallVec::from_slice(&[PathStep::Field(field)]);
                captured.push((number, steps, self.strict_path(frame, content)));
            }
            for (from, to) in &frame.entry.aliases {
                if from.begins_with(strict) {
                    captured.push((number, from.steps[strict.steps.len()..].into(), to.clone()));
                }
            }
        }
        captured
    }
}
