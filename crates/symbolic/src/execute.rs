//! The symbolic execution (seed 000, section 3.4): every abstract thread runs from its entry methods
//! on, with the state of [`State`] along the control flow of each method.
//!
//! A *context* is a method in its heap context together with the state in which it is entered; it is
//! processed once for all calls that enter it alike (call caching, section 3.4.2), and a call of a
//! method that does nothing of interest to other threads is not followed (call clipping). Unlike in the
//! seed the state follows the control flow, so that the order of accesses, starts and joins need not be
//! recovered from graphs afterwards.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use unsnarl_entity::{EntityId, EntitySet, PrimaryMap, SecondaryMap, UniqueMap};
use unsnarl_program::body::{BlockId, Constant, Operation, StatementId, Value};
use unsnarl_program::heap::{Call, Heap, InstanceId, ObjectId, OriginId};
use unsnarl_program::{MethodId, Program};

use crate::event::ContextId;
use crate::method::{MethodFacts, Methods};
use crate::path::{Path, Root};
use crate::sharing::SharingFacts;
use crate::signals::Signals;
use crate::state::{Channel, ChannelId, Fresh, Joined, ObjectsId, State, unite};
use crate::threads::Threads;
use crate::transfer::Test;
use crate::views::Views;

/// How many states a method in a heap context may be entered in; what is more is made one.
const ENTRIES: usize = 24;
/// How many contexts there should be in all: the larger a program, the fewer states of a method are told
/// apart.
const CONTEXTS: usize = 100_000;
/// How deep calls are followed at once; deeper ones wait in a list.
const DEPTH: usize = 100;
/// How often a context is processed before it may only get coarser.
const ROUNDS: u8 = 12;

/// What is known before the execution.
pub(crate) struct Facts<'e, 'm> {
    pub(crate) heap: &'e Heap<'m>,
    pub(crate) methods: &'e Methods,
    pub(crate) threads: &'e Threads,
    pub(crate) sharing: &'e SharingFacts,
    pub(crate) signals: &'e Signals,
    pub(crate) views: &'e Views,
    pub(crate) class_locks: &'e FxHashMap<MethodId, ObjectId>,
}

/// The machine.
pub(crate) struct Executor<'e, 'm> {
    pub(crate) program: &'e Program<'e>,
    pub(crate) heap: &'e Heap<'m>,
    pub(crate) methods: &'e Methods,
    pub(crate) threads: &'e Threads,
    pub(crate) sharing: &'e SharingFacts,
    pub(crate) signals: &'e Signals,
    pub(crate) views: &'e Views,
    /// The class objects that static synchronized methods lock.
    pub(crate) class_locks: &'e FxHashMap<MethodId, ObjectId>,
    pub(crate) sets: UniqueMap<ObjectsId, Box<[ObjectId]>>,
    pub(crate) channels: UniqueMap<ChannelId, Channel>,
    pub(crate) contexts: PrimaryMap<ContextId, Context>,
    /// The calls of each instance.
    calls: Vec<&'e [Call]>,
    by_entry: FxHashMap<(InstanceId, Arc<Entry>), ContextId>,
    entries: SecondaryMap<InstanceId, u16>,
    most_entries: usize,
    merged: FxHashMap<InstanceId, ContextId>,
    open: Vec<ContextId>,
    depends: FxHashSet<(ContextId, ContextId)>,
    pub(crate) reachable: FxHashMap<ObjectId, Option<Arc<[ObjectId]>>>,
    depth: usize,
    roots: Vec<(OriginId, ContextId)>,
    /// Whether the last round is under way, in which nothing changes any more.
    pub(crate) is_final: bool,
    /// Threads that were once started on an object that others could see.
    pub(crate) seen_receivers: EntitySet<OriginId>,
    /// What its starter knows when a thread is started.
    pub(crate) at_start: FxHashMap<OriginId, State>,
}

/// A method in a heap context, entered in a state.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) instance: InstanceId,
    pub(crate) entry: Arc<Entry>,
    /// Nothing as long as it is not known to return.
    pub(crate) exit: Option<Exit>,
    /// The first call that led here.
    pub(crate) parent: Option<(ContextId, StatementId)>,
    is_merged: bool,
    progress: Progress,
    rounds: u8,
    callers: Vec<ContextId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    New,
    Running,
    Queued,
    Done,
}

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

/// How a method is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) state: State,
    /// Nobody else can see the returned object.
    pub(crate) is_result_fresh: bool,
    /// What was received if the result is not zero; nothing if it cannot be that.
    pub(crate) if_nonzero: Option<Received>,
    /// What was received if the result is zero.
    pub(crate) if_zero: Option<Received>,
}

/// Signals that were received.
pub(crate) type Received = SmallVec<[(ChannelId, Option<Path>); 1]>;

/// A method while it is processed.
pub(crate) struct Frame {
    pub(crate) context: ContextId,
    pub(crate) instance: InstanceId,
    pub(crate) facts: Arc<MethodFacts>,
    pub(crate) entry: Arc<Entry>,
}

/// The states at the beginnings of blocks, and at the end.
#[derive(Default)]
pub(crate) struct Flow {
    pub(crate) before: Vec<Option<State>>,
    exit: Option<Exit>,
    /// For each loop, the threads of which every round joins one.
    round_joins: Vec<Vec<OriginId>>,
}

impl<'e, 'm> Executor<'e, 'm> {
    pub(crate) fn new(program: &'e Program<'e>, facts: Facts<'e, 'm>) -> Self {
        let Facts { heap, methods, threads, sharing, signals, views, class_locks } = facts;
        Self {
            program,
            heap,
            methods,
            threads,
            sharing,
            signals,
            views,
            class_locks,
            sets: UniqueMap::new(),
            channels: UniqueMap::new(),
            contexts: PrimaryMap::new(),
            calls: heap.instances.keys().map(|instance| heap.calls_of(instance)).collect(),
            by_entry: FxHashMap::default(),
            entries: SecondaryMap::new(),
            most_entries: (CONTEXTS / heap.instances.len().max(1)).clamp(1, ENTRIES),
            merged: FxHashMap::default(),
            open: Vec::new(),
            depends: FxHashSet::default(),
            reachable: FxHashMap::default(),
            depth: 0,
            roots: Vec::new(),
            is_final: false,
            seen_receivers: EntitySet::new(),
            at_start: FxHashMap::default(),
        }
    }

    /// Runs all threads until nothing changes.
    pub(crate) fn run(&mut self) {
        for (origin, data) in self.heap.origins.iter() {
            for &entry in &data.entries {
                let context = self.context(entry, Entry::default(), None);
                self.roots.push((origin, context));
                self.ensure(context);
                self.drain();
            }
        }
    }

    /// How many methods were entered in more states than are told apart.
    pub(crate) fn merged_count(&self) -> usize {
        self.merged.len()
    }

    /// The threads that have ended when a thread ends.
    pub(crate) fn ends(&self) -> FxHashMap<OriginId, SmallVec<[Joined; 2]>> {
        let mut ends: FxHashMap<OriginId, State> = FxHashMap::default();
        for &(origin, context) in &self.roots {
            // A thread that never ends is never waited for.
            let Some(exit) = &self.contexts[context].exit else { continue };
            match ends.get_mut(&origin) {
                Some(known) => {
                    known.join(&exit.state);
                }
                None => {
                    ends.insert(origin, exit.state.clone());
                }
            }
        }
        ends.into_iter().map(|(origin, state)| (origin, state.joined)).collect()
    }

    /// A thread is about to be started.
    pub(crate) fn note_start(&mut self, thread: OriginId, state: &State) {
        let state = State {
            started: state.started.clone(),
            joined: state.joined.clone(),
            ..State::default()
        };
        match self.at_start.get_mut(&thread) {
            Some(known) => {
                known.join(&state);
            }
            None => {
                self.at_start.insert(thread, state);
            }
        }
    }

    /// A signal is sent.
    pub(crate) fn send(&mut self, channel: Channel, state: &mut State) {
        if self.signals.is_useful(channel) {
            let channel = self.channels.intern(channel);
            unite(&mut state.sent, &[channel]);
        }
    }

    fn drain(&mut self) {
        while let Some(context) = self.open.pop() {
            if self.contexts[context].progress == Progress::Queued {
                self.process(context);
            }
        }
    }

    /// The context for a call; it may be one that stands for many states.
    pub(crate) fn context(
        &mut self,
        instance: InstanceId,
        entry: Entry,
        parent: Option<(ContextId, StatementId)>,
    ) -> ContextId {
        let entry = Arc::new(entry);
        let key = (instance, Arc::clone(&entry));
        if let Some(&context) = self.by_entry.get(&key) {
            return context;
        }
        if usize::from(self.entries[instance]) >= self.most_entries {
            let context = self.merge(instance, &entry, parent);
            self.by_entry.insert(key, context);
            return context;
        }
        self.entries[instance] += 1;
        let context = self.push_context(instance, entry, parent, false);
        self.by_entry.insert(key, context);
        context
    }

    fn push_context(
        &mut self,
        instance: InstanceId,
        entry: Arc<Entry>,
        parent: Option<(ContextId, StatementId)>,
        is_merged: bool,
    ) -> ContextId {
        self.contexts.push(Context {
            instance,
            entry,
            exit: None,
            parent,
            is_merged,
            progress: Progress::New,
            rounds: 0,
            callers: Vec::new(),
        })
    }

    fn merge(
        &mut self,
        instance: InstanceId,
        entry: &Entry,
        parent: Option<(ContextId, StatementId)>,
    ) -> ContextId {
        let mut state = entry.state.clone();
        // Paths are told by the numbers of one caller: many callers have none in common.
        for lock in &mut state.locks {
            lock.path = lock.path.take().filter(|path| path.root.is_global());
            lock.inherited = None;
        }
        state.fresh.clear();
        state.joined_paths.clear();
        state.received.retain(|(_, path)| path.is_none());
        let bindings = entry.bindings.iter().map(|_| Binding::default()).collect();
        match self.merged.get(&instance).copied() {
            None => {
                let entry = Arc::new(Entry { bindings, aliases: SmallVec::new(), state });
                let context = self.push_context(instance, entry, parent, true);
                self.merged.insert(instance, context);
                context
            }
            Some(context) => {
                let mut joined = (*self.contexts[context].entry).clone();
                if joined.state.join(&state) {
                    self.contexts[context].entry = Arc::new(joined);
                    self.queue(context);
                }
                context
            }
        }
    }

    pub(crate) fn is_merged(&self, context: ContextId) -> bool {
        self.contexts[context].is_merged
    }

    /// Processes a context that is new, at once if calls are not too deep.
    pub(crate) fn ensure(&mut self, context: ContextId) {
        if self.contexts[context].progress == Progress::New {
            if self.depth < DEPTH {
                self.process(context);
            } else {
                self.queue(context);
            }
        }
    }

    /// Notes that the result of one context depends on the exit of another.
    pub(crate) fn depend(&mut self, caller: ContextId, callee: ContextId) {
        if self.depends.insert((caller, callee)) {
            self.contexts[callee].callers.push(caller);
        }
    }

    fn queue(&mut self, context: ContextId) {
        if self.contexts[context].progress != Progress::Queued {
            self.contexts[context].progress = Progress::Queued;
            self.open.push(context);
        }
    }

    fn process(&mut self, context: ContextId) {
        let Some(frame) = self.frame(context) else {
            // Without a body nothing happens.
            let state = self.contexts[context].entry.state.clone();
            self.contexts[context].progress = Progress::Done;
            self.contexts[context].exit = Some(Exit {
                state,
                is_result_fresh: false,
                if_nonzero: Some(Received::new()),
                if_zero: Some(Received::new()),
            });
            return;
        };
        self.contexts[context].progress = Progress::Running;
        self.depth += 1;
        let mut flow = self.flow(&frame);
        self.depth -= 1;
        let data = &mut self.contexts[context];
        data.rounds = data.rounds.saturating_add(1);
        if data.rounds > ROUNDS
            && let (Some(exit), Some(old)) = (&mut flow.exit, &data.exit)
        {
            exit.state.join(&old.state);
            exit.is_result_fresh &= old.is_result_fresh;
            meet(&mut exit.if_nonzero, old.if_nonzero.clone());
            meet(&mut exit.if_zero, old.if_zero.clone());
        }
        if data.progress == Progress::Running {
            data.progress = Progress::Done;
        }
        if flow.exit != data.exit {
            data.exit = flow.exit;
            for caller in self.contexts[context].callers.clone() {
                self.queue(caller);
            }
        }
    }

    pub(crate) fn frame(&self, context: ContextId) -> Option<Frame> {
        let Context { instance, entry, .. } = &self.contexts[context];
        let facts = Arc::clone(self.methods.get(self.heap.instances[*instance].method)?);
        Some(Frame { context, instance: *instance, facts, entry: Arc::clone(entry) })
    }

    /// The states of a method at the beginnings of its blocks.
    pub(crate) fn flow(&mut self, frame: &Frame) -> Flow {
        let flow = self.flow_once(frame, &[]);
        if flow.round_joins.iter().all(Vec::is_empty) {
            return flow;
        }
        self.flow_once(frame, &flow.round_joins)
    }

    fn flow_once(&mut self, frame: &Frame, round_joins: &[Vec<OriginId>]) -> Flow {
        let body = Arc::clone(&frame.facts.body);
        let mut flow =
            Flow { before: vec![None; body.blocks.len()], exit: None, round_joins: Vec::new() };
        let mut after: Vec<Option<State>> = vec![None; body.blocks.len()];
        let mut first = frame.entry.state.clone();
        self.enter_monitor(frame, &mut first);
        flow.before[body.entry().index()] = Some(first);
        let mut open = BTreeSet::from([body.entry()]);
        while let Some(block) = open.pop_first() {
            let Some(mut state) = flow.before[block.index()].clone() else { continue };
            let has_handlers = !body.blocks[block].handlers.is_empty();
            let mut thrown: Option<State> = None;
            let mut is_alive = true;
            for (id, statement) in body.block_statements(block) {
                let may_throw = has_handlers && statement.operation.can_throw();
                if may_throw {
                    join_into(&mut thrown, state.clone());
                }
                is_alive = self.transfer(frame, id, &mut state);
                if !is_alive {
                    break;
                }
                if may_throw && matches!(statement.operation, Operation::Invoke { .. }) {
                    join_into(&mut thrown, state.clone());
                }
            }
            if let Some(thrown) = thrown {
                for &handler in &body.blocks[block].handlers {
                    self.arrive(
                        frame,
                        &mut flow,
                        &mut open,
                        (block, handler, true),
                        thrown.clone(),
                    );
                }
            }
            if !is_alive {
                continue;
            }
            after[block.index()] = Some(state.clone());
            match &body.terminator(block).operation {
                Operation::Return(value) => {
                    self.leave_method(frame, &mut flow.exit, *value, state);
                }
                Operation::Branch { then, otherwise, .. } => {
                    for (target, is_then) in [(*then, true), (*otherwise, false)] {
                        let mut state = state.clone();
                        if !self.branch(frame, block, is_then, &mut state) {
                            continue;
                        }
                        self.exit_loop(frame, round_joins, block, target, &mut state);
                        self.arrive(frame, &mut flow, &mut open, (block, target, false), state);
                    }
                }
                other => {
                    for target in other.targets() {
                        let mut state = state.clone();
                        self.exit_loop(frame, round_joins, block, target, &mut state);
                        self.arrive(frame, &mut flow, &mut open, (block, target, false), state);
                    }
                }
            }
        }
        for found in &frame.facts.loops {
            let mut joins: Option<Vec<OriginId>> = None;
            for latch in &found.latches {
                let Some(state) = &after[latch.index()] else { continue };
                match &mut joins {
                    None => joins = Some(state.joined_some.to_vec()),
                    Some(joins) => joins.retain(|thread| state.joined_some.contains(thread)),
                }
            }
            flow.round_joins.push(joins.unwrap_or_default());
        }
        flow
    }

    /// A state arrives at a block.
    fn arrive(
        &mut self,
        frame: &Frame,
        flow: &mut Flow,
        open: &mut BTreeSet<BlockId>,
        (from, to, exceptional): (BlockId, BlockId, bool),
        mut state: State,
    ) {
        self.pass_phis(frame, from, to, exceptional, &mut state);
        if let Some(value) = returned_by(&frame.facts, from, to, exceptional) {
            self.leave_method(frame, &mut flow.exit, Some(value), state);
            return;
        }
        let changed = match &mut flow.before[to.index()] {
            Some(known) => known.join(&state),
            unknown => {
                *unknown = Some(state);
                true
            }
        };
        if changed {
            open.insert(to);
        }
    }

    /// A phi of fresh inputs is fresh.
    fn pass_phis(
        &mut self,
        frame: &Frame,
        from: BlockId,
        to: BlockId,
        exceptional: bool,
        state: &mut State,
    ) {
        if state.fresh.is_empty() {
            return;
        }
        let body = &frame.facts.body;
        let is_it = |edge: &unsnarl_program::body::Edge| {
            edge.from == from && edge.exceptional == exceptional
        };
        let Some(position) = body.blocks[to].predecessors.iter().position(is_it) else { return };
        let mut found: SmallVec<[(Value, bool); 2]> = SmallVec::new();
        for (_, statement) in body.block_statements(to) {
            let Operation::Phi(inputs) = &statement.operation else { break };
            if let (Some(&input), Some(result)) = (inputs.get(position), statement.result) {
                let is_fresh = state.is_fresh(&self.strict_path(frame, input));
                found.push((result, is_fresh));
            }
        }
        for (result, is_fresh) in found {
            let path = Path::root(Root::Value(result));
            state.fresh.retain(|fresh| !fresh.path.begins_with(&path));
            if is_fresh {
                let objects = self.points_to(frame, result);
                state.add_fresh(Fresh { path, objects });
            }
        }
    }

    /// At the end of a loop every round of which joins a thread, all of them are taken to have ended
    /// (section 4.1), if nothing else joins them.
    fn exit_loop(
        &self,
        frame: &Frame,
        round_joins: &[Vec<OriginId>],
        from: BlockId,
        to: BlockId,
        state: &mut State,
    ) {
        for (found, joins) in frame.facts.loops.iter().zip(round_joins) {
            let leaves = found.blocks.contains(from) && !found.blocks.contains(to);
            if leaves && (found.header == from || found.latches.contains(&from)) {
                for &thread in joins {
                    if self.threads.join_sites[thread].len() == 1 {
                        state.add_joined(Joined { thread, is_assumed: true });
                    }
                }
            }
        }
    }

    fn leave_method(
        &mut self,
        frame: &Frame,
        exit: &mut Option<Exit>,
        value: Option<Value>,
        mut state: State,
    ) {
        let is_result_fresh =
            value.is_some_and(|value| state.is_fresh(&self.strict_path(frame, value)));
        let mut told = [Test::NonZero, Test::Zero].map(|test| {
            let value = value?;
            if let Operation::Constant(constant) = frame.facts.body.definition(value).operation {
                let is_zero = matches!(constant, Constant::Int(0) | Constant::Null);
                return (is_zero == (test == Test::Zero)).then(|| state.received.clone());
            }
            let mut state = state.clone();
            self.learn(frame, value, test, &mut state);
            Some(state.received)
        });
        self.exit_monitor(frame, &mut state);
        // What has a name only in here is of no use to the caller.
        state.pending.clear();
        state.told.clear();
        state.fresh.retain(|fresh| !matches!(fresh.path.root, Root::Value(_)));
        let is_local = |path: &Path| matches!(path.root, Root::Value(_));
        state.joined_paths.retain(|(path, _)| !is_local(path));
        state.last_started.clear();
        for received in told.iter_mut().flatten().chain([&mut state.received]) {
            for (_, path) in received.iter_mut() {
                *path = path.take().filter(|path| !is_local(path));
            }
            received.sort_unstable();
            received.dedup();
        }
        let [if_nonzero, if_zero] = told;
        match exit {
            Some(exit) => {
                exit.state.join(&state);
                exit.is_result_fresh &= is_result_fresh;
                meet(&mut exit.if_nonzero, if_nonzero);
                meet(&mut exit.if_zero, if_zero);
            }
            unknown => *unknown = Some(Exit { state, is_result_fresh, if_nonzero, if_zero }),
        }
    }

    /// The calls of a statement.
    pub(crate) fn calls_at(&self, frame: &Frame, statement: StatementId) -> &'e [Call] {
        let calls = self.calls[frame.instance.index()];
        let start = calls.partition_point(|call| call.statement < statement);
        let count = calls[start..].partition_point(|call| call.statement == statement);
        &calls[start..start + count]
    }

    // Names.

    /// The strict path of a value, as far out as it is known.
    pub(crate) fn strict_path(&self, frame: &Frame, value: Value) -> Path {
        let path = frame.facts.strict_path(value);
        bound(path, &frame.entry, |binding| binding.strict.as_ref())
    }

    /// The loose path of a value, as far out as it is known.
    pub(crate) fn loose_path(&self, frame: &Frame, value: Value) -> Path {
        let path = frame.facts.loose_path(value);
        bound(path, &frame.entry, |binding| binding.loose.as_ref().or(binding.strict.as_ref()))
    }

    pub(crate) fn points_to(&mut self, frame: &Frame, value: Value) -> ObjectsId {
        let objects = self.heap.points_to(frame.instance, value);
        self.set(objects)
    }

    pub(crate) fn set(&mut self, objects: &[ObjectId]) -> ObjectsId {
        self.sets.intern(objects.into())
    }
}

/// What a block returns that does nothing but return what the way to it has chosen: each way is then
/// an end of its own.
fn returned_by(
    facts: &MethodFacts,
    from: BlockId,
    to: BlockId,
    exceptional: bool,
) -> Option<Value> {
    let block = &facts.body.blocks[to];
    let mut statements = facts.body.block_statements(to).map(|(_, statement)| statement);
    let (first, second) = (statements.next()?, statements.next()?);
    let (Operation::Phi(inputs), Operation::Return(Some(value))) =
        (&first.operation, &second.operation)
    else {
        return None;
    };
    let is_it =
        |edge: &unsnarl_program::body::Edge| edge.from == from && edge.exceptional == exceptional;
    let position = block.predecessors.iter().position(is_it)?;
    (first.result == Some(*value)).then(|| inputs.get(position).copied())?
}

/// What was received on both ways, where nothing stands for a way that cannot be.
fn meet(one: &mut Option<Received>, other: Option<Received>) {
    match (one, other) {
        (Some(one), Some(other)) => one.retain(|received| other.contains(received)),
        (one @ None, other) => *one = other,
        (Some(_), None) => {}
    }
}

fn bound<'b>(
    path: &Path,
    entry: &'b Entry,
    choose: impl Fn(&'b Binding) -> Option<&'b Path>,
) -> Path {
    let mut path = path.clone();
    if let Root::Parameter(number) = path.root
        && let Some(binding) = entry.bindings.get(usize::from(number))
        && let Some(outer) = choose(binding)
        && let Some(outer) = path.rebase(outer)
    {
        path = outer;
    }
    for (captured, meaning) in &entry.aliases {
        if path.begins_with(captured) {
            let rest = Path { root: path.root, steps: path.steps[captured.steps.len()..].into() };
            return rest.rebase(meaning).unwrap_or(path);
        }
    }
    path
}

pub(crate) fn join_into(to: &mut Option<State>, state: State) {
    match to {
        Some(known) => {
            known.join(&state);
        }
        None => *to = Some(state),
    }
}
