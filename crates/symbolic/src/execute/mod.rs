//! The symbolic execution [vonPraun04 §3.4]: every abstract thread runs from its entry methods
//! on, with the state of [`State`] along the control flow of each method. This file holds the contexts and the worklist;
//! the others change the state: along a method ([`flow`]), at a statement ([`transfer`], [`effects`]) and at a call
//! ([`entry`], [`calls`]).
//!
//! A *context* is a method in its heap context together with the state in which it is entered; it is
//! processed once for all calls that enter it alike (call caching, [vonPraun04 §3.4.2]), and a call of a
//! method that does nothing of interest to other threads is not followed (call clipping). Unlike in von
//! Praun's analysis the state follows the control flow, so that the order of accesses, starts and joins need not be
//! recovered from graphs afterwards.

mod calls;
mod effects;
mod entry;
mod flow;
mod memory;
pub(crate) mod releases;
pub(crate) mod state;
mod transfer;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use unsnarl_entity::{EntityId, EntitySet, PrimaryMap, SecondaryMap, UniqueMap, entity_id};
use unsnarl_program::body::{StatementId, Value};
use unsnarl_program::heap::{Call, Heap, InstanceId, ObjectId, OriginId, SetId};
use unsnarl_program::{MethodId, Program};

pub(crate) use entry::{Arguments, Binding, Entry};

use crate::emit::actions::{Scopes, ScopesId};
use crate::emit::{Time, TimeId};
use crate::event::ContextId;
use crate::execute::flow::{Flow, join_result, meet};
use crate::execute::memory::{CallOf, Memory, PastCall};
use crate::execute::releases::Releases;
use crate::execute::state::{Channel, ChannelId, Holders, Joined, Knowledge, ObjectsId, State};
use crate::facts::initializers::Initializers;
use crate::facts::join_loops::JoinLoops;
use crate::facts::may_effects::MayEffectsByMethod;
use crate::facts::method::{MethodFacts, Methods};
use crate::facts::path::{Path, Root};
use crate::facts::sharing::SharingFacts;
use crate::facts::signals::Signals;
use crate::facts::threads::{Threads, is_followed};
use crate::facts::views::Views;

/// How many states a method in a heap context may be entered in; what is more is made one.
const ENTRIES: usize = 24;
/// How many contexts there should be in all: the larger a program, the fewer states of a method are distinguished.
const CONTEXTS: usize = 40_000;
/// How many methods are gone through in all before the execution of a very large program is cut short.
const STEPS: usize = 150_000;
/// How deep calls are followed at once; deeper ones wait in a list.
const DEPTH: usize = 100;
/// How often a context is processed before it may only get coarser.
const ROUNDS: u8 = 6;

entity_id! {
    /// A way to enter methods.
    pub(crate) struct EntryId("entry");
    /// A way to leave methods.
    pub(crate) struct OutcomeId("outcome");
}

/// What is known before the execution.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'e, 'm> {
    pub(crate) program: &'e Program<'e>,
    pub(crate) heap: &'e Heap<'m>,
    pub(crate) methods: &'e Methods,
    pub(crate) threads: &'e Threads,
    pub(crate) sharing: &'e SharingFacts,
    pub(crate) signals: &'e Signals,
    pub(crate) join_loops: &'e JoinLoops,
    pub(crate) may_effects: &'e MayEffectsByMethod,
    pub(crate) views: &'e Views,
    /// The class objects that static synchronized methods lock.
    pub(crate) class_locks: &'e FxHashMap<MethodId, ObjectId>,
    pub(crate) initializers: &'e Initializers,
}

/// The machine.
pub(crate) struct Executor<'e, 'm> {
    pub(crate) facts: Facts<'e, 'm>,
    /// The calls of each instance.
    calls: Vec<&'e [Call]>,
    pub(crate) sets: UniqueMap<ObjectsId, Arc<[ObjectId]>>,
    /// The numbers of the heap's sets, as far as they were asked for.
    heap_sets: SecondaryMap<SetId, Option<ObjectsId>>,
    pub(crate) channels: UniqueMap<ChannelId, Channel>,
    pub(crate) contexts: PrimaryMap<ContextId, Context>,
    entries: Entries,
    /// The exits of contexts, but for what callers know already.
    pub(crate) outcomes: UniqueMap<OutcomeId, Arc<Exit>>,
    worklist: Worklist,
    pub(crate) remembered: Remembered,
    /// Whether the last round is under way, in which nothing changes any more.
    pub(crate) is_final: bool,
    pub(crate) found: Found,
}

/// How methods were entered so far.
#[derive(Default)]
struct Entries {
    all: UniqueMap<EntryId, Arc<Entry>>,
    contexts: FxHashMap<(InstanceId, EntryId), ContextId>,
    /// How many states each was entered in.
    counts: SecondaryMap<InstanceId, u16>,
    /// How many of these are distinguished.
    most: usize,
    /// The contexts that stand for all further states.
    merged: FxHashMap<InstanceId, ContextId>,
    /// What is known about the arguments of methods that are entered in many states.
    arguments: FxHashMap<InstanceId, Arc<Arguments>>,
}

/// What is still to be done.
struct Worklist {
    /// To be processed again, callees before their callers, who depend on them.
    open: BinaryHeap<Reverse<(u32, ContextId)>>,
    /// The position of each method in that order.
    ranks: SecondaryMap<InstanceId, u32>,
    depends: FxHashSet<(ContextId, StatementId, ContextId)>,
    depth: usize,
    /// How many methods may still be gone through in this thread.
    steps_left: usize,
}

/// What need not be computed again.
#[derive(Default)]
pub(crate) struct Remembered {
    /// The contexts that calls enter.
    call_sites: FxHashMap<CallSite, Arc<[ContextId]>>,
    /// How calls went the last time.
    past_calls: FxHashMap<CallOf, PastCall>,
    /// For each object the private ones in it.
    private_inside: FxHashMap<ObjectId, Option<Arc<[ObjectId]>>>,
    /// What contexts did when they were last gone through.
    pub(crate) memories: SecondaryMap<ContextId, Memory>,
}

/// What the execution produces, beside its contexts.
#[derive(Default)]
pub(crate) struct Found {
    /// The contexts in which threads begin.
    pub(crate) roots: Vec<(OriginId, ContextId)>,
    /// The threads whose execution was cut short.
    pub(crate) cut: EntitySet<OriginId>,
    /// The contexts that are entered by the block that is being gone through in the last round, with the
    /// calls that enter them and the lock scopes of those.
    pub(crate) entered: Vec<(ContextId, StatementId, ScopesId)>,
    /// The lock scopes in which something is done.
    pub(crate) scopes: UniqueMap<ScopesId, Scopes>,
    /// What is known at accesses about the order with other threads.
    pub(crate) times: UniqueMap<TimeId, Time>,
    /// Threads that were once started on an object that others could see.
    pub(crate) seen_receivers: EntitySet<OriginId>,
    /// What its starter knows when a thread is started.
    pub(crate) at_start: FxHashMap<OriginId, State>,
    /// Where scopes of locks end.
    pub(crate) releases: Releases,
}

/// A method in a heap context, entered in a state.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) instance: InstanceId,
    pub(crate) entry: Arc<Entry>,
    /// Nothing as long as it is not known to return.
    exit: Option<Exit>,
    /// The exit for callers, who know already what may be started and sent within.
    pub(crate) outcome: Option<OutcomeId>,
    pub(crate) is_merged: bool,
    progress: Progress,
    rounds: u8,
    callers: Vec<(ContextId, StatementId)>,
}

/// A call in a certain state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CallSite {
    pub(crate) context: ContextId,
    pub(crate) statement: StatementId,
    /// The first of the callees: a statement may call some as usual and others back.
    pub(crate) first: InstanceId,
    pub(crate) entry: EntryId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    New,
    Running,
    Queued,
    Done,
}

/// How a method is left.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Exit {
    pub(crate) state: State,
    /// The holders of the returned object if nobody else can see it.
    pub(crate) fresh_result: Option<Holders>,
    /// What was received if the result is not zero; nothing if it cannot be that.
    pub(crate) if_nonzero: Option<Received>,
    /// What was received if the result is zero.
    pub(crate) if_zero: Option<Received>,
}

/// Signals that were received.
pub(crate) type Received = SmallVec<[(ChannelId, Option<Path>); 0]>;

/// A method while it is processed.
pub(crate) struct Frame {
    pub(crate) context: ContextId,
    pub(crate) instance: InstanceId,
    pub(crate) facts: Arc<MethodFacts>,
    pub(crate) entry: Arc<Entry>,
}

impl<'e, 'm> Executor<'e, 'm> {
    pub(crate) fn new(facts: Facts<'e, 'm>, channels: UniqueMap<ChannelId, Channel>) -> Self {
        let heap = facts.heap;
        Self {
            facts,
            calls: heap.instances.keys().map(|instance| heap.calls_of(instance)).collect(),
            sets: UniqueMap::new(),
            heap_sets: SecondaryMap::new(),
            channels,
            contexts: PrimaryMap::new(),
            entries: Entries {
                most: (CONTEXTS / heap.instances.len().max(1)).clamp(1, ENTRIES),
                ..Entries::default()
            },
            outcomes: UniqueMap::new(),
            worklist: Worklist {
                open: BinaryHeap::new(),
                ranks: callees_first(heap),
                depends: FxHashSet::default(),
                depth: 0,
                steps_left: 0,
            },
            remembered: Remembered::default(),
            is_final: false,
            found: Found::default(),
        }
    }

    /// Runs all threads until nothing changes.
    pub(crate) fn run(&mut self) {
        // Every thread gets its share; what some leave of theirs goes to those who need more.
        let mut threads = self.facts.heap.origins.len();
        let mut left = STEPS;
        let mut unfinished = BinaryHeap::new();
        for (origin, data) in self.facts.heap.origins.iter() {
            self.worklist.steps_left = left / threads;
            left -= self.worklist.steps_left;
            threads -= 1;
            for &entry in &data.entries {
                let first = self.first_entry(data.kind, entry);
                let context = self.push_context(entry, Arc::new(first), false);
                self.found.roots.push((origin, context));
                self.ensure(context);
                self.drain();
            }
            left += self.worklist.steps_left;
            unfinished.append(&mut self.worklist.open);
        }
        self.worklist.open = unfinished;
        self.worklist.steps_left = left;
        self.drain();
        let cut = self.worklist.open.iter().flat_map(|&Reverse((_, context))| {
            self.facts.heap.threads_of(self.contexts[context].instance).iter().copied()
        });
        self.found.cut = cut.collect();
    }

    /// How many methods were entered in more states than are distinguished.
    pub(crate) fn merged_count(&self) -> usize {
        self.entries.merged.len()
    }

    /// The threads that have ended when a thread ends.
    pub(crate) fn ends(&self) -> FxHashMap<OriginId, SmallVec<[Joined; 2]>> {
        let mut ends: FxHashMap<OriginId, State> = FxHashMap::default();
        for &(origin, context) in &self.found.roots {
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
        ends.into_iter().map(|(origin, state)| (origin, state.joined.clone())).collect()
    }

    /// A thread is about to be started.
    pub(crate) fn note_start(&mut self, thread: OriginId, state: &State) {
        let state = State::from(Knowledge {
            started: state.started.clone(),
            joined: state.joined.clone(),
            ..Knowledge::default()
        });
        match self.found.at_start.get_mut(&thread) {
            Some(known) => {
                known.join(&state);
            }
            None => {
                self.found.at_start.insert(thread, state);
            }
        }
    }

    /// A signal is sent.
    pub(crate) fn send(&mut self, channel: Channel, state: &mut State) {
        if self.facts.signals.is_useful(channel) {
            let channel = self.channels.intern(channel);
            state.unite_sent(&[channel]);
        }
    }

    /// Whether a call whose callee is not known to return is taken not to return.
    pub(crate) fn waits_for_callees(&self) -> bool {
        if self.is_final { self.found.cut.is_empty() } else { self.worklist.steps_left > 0 }
    }

    /// Whether a call is taken to do nothing whose callee is not known to return: as yet it is not known, but
    /// where the execution was cut short nobody will ever know.
    pub(crate) fn is_passed_over(&mut self, caller: ContextId) -> bool {
        if self.waits_for_callees() {
            return false;
        }
        if !self.is_final {
            // Once there are steps again, it may turn out not to return.
            self.queue(caller);
        }
        true
    }

    /// Whether a context was gone through.
    pub(crate) fn was_processed(&self, context: ContextId) -> bool {
        self.contexts[context].rounds > 0
    }

    fn drain(&mut self) {
        while self.worklist.steps_left > 0
            && let Some(Reverse((_, context))) = self.worklist.open.pop()
        {
            if self.contexts[context].progress == Progress::Queued {
                self.process(context);
            }
        }
    }

    /// Processes a context that is new, at once if calls are not too deep.
    pub(crate) fn ensure(&mut self, context: ContextId) {
        if self.contexts[context].progress == Progress::New {
            if self.worklist.depth < DEPTH && self.worklist.steps_left > 0 {
                self.process(context);
            } else {
                self.queue(context);
            }
        }
    }

    /// Notes that what a call in one context does depends on the exit of another.
    pub(crate) fn depend(&mut self, caller: ContextId, call: StatementId, callee: ContextId) {
        if self.worklist.depends.insert((caller, call, callee)) {
            self.contexts[callee].callers.push((caller, call));
        }
    }

    fn queue(&mut self, context: ContextId) {
        if self.contexts[context].progress != Progress::Queued {
            self.contexts[context].progress = Progress::Queued;
            self.worklist
                .open
                .push(Reverse((self.worklist.ranks[self.contexts[context].instance], context)));
        }
    }

    fn process(&mut self, context: ContextId) {
        let Some(frame) = self.frame(context) else {
            // Without a body nothing happens.
            let state = self.contexts[context].entry.state.clone();
            self.contexts[context].progress = Progress::Done;
            let nothing = Some(Received::new());
            let (if_nonzero, if_zero) = (nothing.clone(), nothing);
            self.set_exit(context, Exit { state, fresh_result: None, if_nonzero, if_zero });
            return;
        };
        self.contexts[context].progress = Progress::Running;
        let mut memory = std::mem::take(&mut self.remembered.memories[context]);
        self.worklist.depth += 1;
        let exit = match self.does_the_same(&frame, &mut memory) {
            true => None,
            false => self.run_again(&frame, &mut memory),
        };
        self.worklist.depth -= 1;
        let data = &mut self.contexts[context];
        if data.progress == Progress::Running {
            data.progress = Progress::Done;
        }
        memory.go_on(
            std::mem::take(&mut self.remembered.memories[context]),
            Arc::ptr_eq(&data.entry, &frame.entry),
        );
        self.remembered.memories[context] = memory;
        if let Some(exit) = exit
            && self.set_exit(context, exit)
        {
            for (caller, call) in self.contexts[context].callers.clone() {
                self.remembered.memories[caller].outdate(call);
                self.queue(caller);
            }
        }
    }

    fn run_again(&mut self, frame: &Frame, memory: &mut Memory) -> Option<Exit> {
        self.worklist.steps_left = self.worklist.steps_left.saturating_sub(1);
        let Flow { mut exit, visits, .. } = self.flow(frame, memory);
        // Once there are steps again, calls that were passed over are not.
        memory.keep(if self.worklist.steps_left > 0 { visits } else { Vec::new() });
        let data = &mut self.contexts[frame.context];
        data.rounds = data.rounds.saturating_add(1);
        if data.rounds > ROUNDS
            && let (Some(exit), Some(old)) = (&mut exit, &data.exit)
        {
            exit.state.join(&old.state);
            join_result(&mut exit.fresh_result, old.fresh_result.clone());
            meet(&mut exit.if_nonzero, old.if_nonzero.clone());
            meet(&mut exit.if_zero, old.if_zero.clone());
        }
        exit
    }

    /// Notes how a context is left; says whether that is new for callers.
    fn set_exit(&mut self, context: ContextId, exit: Exit) -> bool {
        let mut state = exit.state.clone();
        if !state.started.is_empty() || !state.sent.is_empty() {
            (state.started, state.sent) = Default::default();
        }
        let outcome = self.outcomes.intern(Arc::new(Exit { state, ..exit.clone() }));
        let data = &mut self.contexts[context];
        data.exit = Some(exit);
        data.outcome.replace(outcome) != Some(outcome)
    }

    pub(crate) fn frame(&self, context: ContextId) -> Option<Frame> {
        let Context { instance, entry, .. } = &self.contexts[context];
        let facts =
            Arc::clone(self.facts.methods.get(self.facts.heap.instances[*instance].method)?);
        Some(Frame { context, instance: *instance, facts, entry: Arc::clone(entry) })
    }

    /// The calls of a statement.
    pub(crate) fn calls_at(&self, frame: &Frame, statement: StatementId) -> &'e [Call] {
        let calls = self.calls[frame.instance.index()];
        let start = calls.partition_point(|call| call.statement < statement);
        let count = calls[start..].partition_point(|call| call.statement == statement);
        &calls[start..start + count]
    }

    /// The calls of some statements.
    pub(crate) fn calls_within(&self, frame: &Frame, statements: Range<StatementId>) -> &'e [Call] {
        let calls = self.calls[frame.instance.index()];
        let start = calls.partition_point(|call| call.statement < statements.start);
        let count = calls[start..].partition_point(|call| call.statement < statements.end);
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
        self.objects_of(frame.instance, value)
    }

    /// The objects that a value of a method may refer to.
    pub(crate) fn objects_of(&mut self, instance: InstanceId, value: Value) -> ObjectsId {
        let Some(set) = self.facts.heap.set_of(instance, value) else { return self.set(&[]) };
        if let Some(known) = self.heap_sets[set] {
            return known;
        }
        let objects = self.set(self.facts.heap.objects_in(set));
        self.heap_sets[set] = Some(objects);
        objects
    }

    pub(crate) fn set(&mut self, objects: &[ObjectId]) -> ObjectsId {
        self.sets.intern(objects.into())
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

/// Numbers the methods so that callees come before their callers, but for calls that close a cycle.
fn callees_first(heap: &Heap<'_>) -> SecondaryMap<InstanceId, u32> {
    let mut ranks: SecondaryMap<InstanceId, u32> = SecondaryMap::new();
    let mut seen: EntitySet<InstanceId> = EntitySet::new();
    let mut next = 0;
    for root in heap.origins.values().flat_map(|origin| origin.entries.iter().copied()) {
        let mut path = if seen.insert(root) { vec![(root, 0)] } else { Vec::new() };
        while let Some((id, call)) = path.last_mut() {
            match heap.calls_of(*id).get(*call) {
                Some(found) => {
                    *call += 1;
                    if is_followed(heap, *id, found.callee, found.kind) && seen.insert(found.callee)
                    {
                        path.push((found.callee, 0));
                    }
                }
                None => {
                    ranks[*id] = next;
                    next += 1;
                    path.pop();
                }
            }
        }
    }
    ranks
}

pub(crate) fn join_into(to: &mut Option<State>, state: Cow<'_, State>) {
    match to {
        Some(known) => {
            known.join(&state);
        }
        None => *to = Some(state.into_owned()),
    }
}
