//! What threads do with locks that other threads may want, and what they wait for [vonPraun04 §6.2.1].
//!
//! Von Praun records strings of locks. Here each acquisition is recorded with the locks that are held then and how they
//! are reached from the acquired one, so that the same object taken twice is known where its path is the same.
//! An acquisition that certainly is of a held lock does not wait and is not recorded, nor are locks that nobody else can
//! see yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use unsnarl_entity::{EntitySet, entity_id};
use unsnarl_models::{Blocking, Effect, LockMode, ModelPlace};
use unsnarl_program::body::{Operation, StatementId};
use unsnarl_program::heap::{InstanceId, ModelCall, ObjectId, OriginId};
use unsnarl_program::{ClassId, MethodId};

use crate::Execution;
use crate::emit::TimeId;
use crate::event::{ContextId, Guard, Order};
use crate::execute::state::{Channel, ChannelId, Lock, State};
use crate::execute::{Executor, Frame};
use crate::facts::path::Path;
use crate::queries::order::Moment;

entity_id! {
    /// Something that a thread does with a lock.
    pub struct LockEventId("l");
}

/// Something that a thread does with a lock, or something that it waits for.
#[derive(Clone, Debug)]
pub struct LockEvent {
    /// What it does.
    pub action: LockAction,
    /// The objects that it may do it with, sorted.
    pub objects: Arc<[ObjectId]>,
    /// The locks that are certainly held then and that others may want, as they are reached from the object of the
    /// event. Without the lock that a wait gives up.
    pub held: Arc<[Guard]>,
    /// The objects whose lock a wait gives up meanwhile: the monitor itself, or the lock of a condition.
    pub given_up: Arc<[ObjectId]>,
    /// The thread.
    pub thread: OriginId,
    /// The method in its heap context.
    pub instance: InstanceId,
    /// The method in its full context.
    pub context: ContextId,
    /// The statement; that of a synchronized method's own lock is its first.
    pub statement: StatementId,
    time: TimeId,
}

/// When a lock event is. Whatever orders a third event with one of two of the same moment orders it with the other, unless
/// that depends on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockMoment {
    thread: OriginId,
    time: TimeId,
}

impl LockEvent {
    /// When it is.
    pub fn moment(&self) -> LockMoment {
        LockMoment { thread: self.thread, time: self.time }
    }
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockAction {
    /// Waits for a lock as long as it takes and has it then.
    Acquire(LockMode),
    /// Waits for a notification.
    Wait {
        /// Only for some time.
        is_timed: bool,
    },
    /// Notifies who waits.
    Notify,
    /// Waits for a signal as long as it takes: for a latch, a future, something in a queue.
    Receive,
    /// Sends a signal.
    Send,
    /// Waits for room in a queue as long as it takes.
    Put,
    /// Makes room in a queue.
    Take,
    /// Waits for threads or tasks to end as long as it takes.
    Join,
    /// Initializes a class whose initializer needs itself in the end, if it is the first to use it.
    Initialize(ClassId),
}

/// A lock event, whichever of the threads that come to its context it is of.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Locking {
    action: LockAction,
    objects: Arc<[ObjectId]>,
    held: Arc<[Guard]>,
    given_up: Arc<[ObjectId]>,
    instance: InstanceId,
    statement: StatementId,
    time: TimeId,
}

impl Locking {
    pub(crate) fn by(&self, thread: OriginId, context: ContextId) -> LockEvent {
        let &Self { action, instance, statement, time, .. } = self;
        let (objects, given_up) = (Arc::clone(&self.objects), Arc::clone(&self.given_up));
        let held = Arc::clone(&self.held);
        LockEvent { action, objects, held, given_up, thread, instance, context, statement, time }
    }
}

impl Execution<'_> {
    /// Why two lock events that have to do with one object cannot be at once, whatever locks are held.
    pub fn lock_order(
        &self,
        object: Option<ObjectId>,
        one: LockEventId,
        other: LockEventId,
    ) -> Option<Order> {
        let [one, other] = [one, other].map(|event| &self.lock_events[event]);
        let moment =
            |event: &LockEvent| Moment { thread: event.thread, time: &self.times[event.time] };
        self.order_of(object, moment(one), moment(other)).or_else(|| {
            let is_own = |object| self.is_of_one_thread(object, one.thread, other.thread);
            object.is_some_and(is_own).then_some(Order::Encapsulated)
        })
    }

    /// The calls that lead from the root of the thread to a lock event, the event itself first.
    pub fn lock_stack(&self, event: LockEventId) -> Vec<(MethodId, StatementId)> {
        let event = &self.lock_events[event];
        self.stack_of(event.thread, event.context, event.statement)
    }

    /// The call by which the thread first comes to the method of a lock event.
    pub fn lock_caller(&self, event: LockEventId) -> Option<(InstanceId, StatementId)> {
        let event = &self.lock_events[event];
        let (caller, call) = self.first_calls[event.thread][event.context]?;
        Some((self.contexts[caller], call))
    }

    /// The threads that a [`LockAction::Join`] of these objects waits for; sorted.
    pub fn joined_threads(&self, groups: &[ObjectId]) -> Vec<OriginId> {
        self.threads.in_groups(groups)
    }

    /// The classes whose initializers need themselves in the end, each with those of them that it needs at once.
    pub fn initializer_cycles(&self) -> &BTreeMap<ClassId, BTreeSet<ClassId>> {
        &self.initializers.needs
    }

    /// For each class, those that its initializer needs whatever the objects are that its calls lead to.
    pub fn certain_initializers(&self) -> &BTreeMap<ClassId, BTreeSet<ClassId>> {
        &self.initializers.certain
    }

    /// The threads that start a thread; sorted.
    pub fn starters(&self, thread: OriginId) -> &[OriginId] {
        self.threads.starters(thread)
    }

    /// Whether the thread of a lock event certainly has not yet sent a signal by any of these objects.
    pub fn has_not_sent(&self, event: LockEventId, objects: &[ObjectId]) -> bool {
        let sent = &self.times[self.lock_events[event].time].sent;
        objects.iter().all(|&object| {
            let channel = Channel::Object(object, None);
            let is_sent = |sent: &ChannelId| self.channels[*sent] == channel;
            self.signals.is_useful(channel) && !sent.iter().any(is_sent)
        })
    }

    /// An object that runs the tasks of both threads one after the other.
    pub fn common_queue(&self, one: OriginId, other: OriginId) -> Option<ObjectId> {
        self.common_group(&self.threads.serial, one, other)
    }

    /// An object that runs the tasks of both threads with a limited number of threads.
    pub fn common_pool(&self, one: OriginId, other: OriginId) -> Option<ObjectId> {
        self.common_group(&self.threads.limited, one, other)
    }

    fn common_group(
        &self,
        of: &EntitySet<ObjectId>,
        one: OriginId,
        other: OriginId,
    ) -> Option<ObjectId> {
        let groups = |thread: OriginId| self.threads.groups[thread].iter();
        groups(one).find_map(|group| match group[..] {
            [queue] if of.contains(queue) && self.is_unique(queue) => {
                groups(other).any(|other| **other == [queue]).then_some(queue)
            }
            _ => None,
        })
    }
}

impl<'m> Executor<'_, 'm> {
    /// The acquisition at the entry of a synchronized method, if others may notice it.
    pub(crate) fn emit_monitor(&mut self, frame: &Frame) -> Option<Locking> {
        let (path, objects) = self.monitor(frame)?;
        let body = &frame.facts.body;
        let mut statements = body.block_statements(body.entry());
        let with_line = statements.find(|(_, statement)| statement.line != 0);
        let (statement, _) = with_line.or_else(|| body.block_statements(body.entry()).next())?;
        let objects = Arc::clone(&self.sets[objects]);
        let loose = frame.entry.bindings.first().and_then(|binding| binding.loose.clone());
        let paths = Some((path.clone(), loose.filter(|_| !frame.facts.is_static).unwrap_or(path)));
        let what = What { action: LockAction::Acquire(LockMode::Exclusive), objects, paths };
        self.locking(frame, statement, what, &frame.entry.state, GivenUp::default())
    }

    /// Adds what a statement does with locks that others may notice.
    pub(crate) fn emit_locking(
        &mut self,
        frame: &Frame,
        id: StatementId,
        state: &State,
        found: &mut Vec<Locking>,
    ) {
        if let Operation::MonitorEnter(value) = frame.facts.body.statements[id].operation {
            let objects = self.points_to(frame, value);
            let objects = Arc::clone(&self.sets[objects]);
            let paths = Some((self.strict_path(frame, value), self.loose_path(frame, value)));
            let what = What { action: LockAction::Acquire(LockMode::Exclusive), objects, paths };
            found.extend(self.locking(frame, id, what, state, GivenUp::default()));
            return;
        }
        if let Some(&class) = self.facts.initializers.used.get(&(frame.instance, id)) {
            let what =
                What { action: LockAction::Initialize(class), objects: [].into(), paths: None };
            found.extend(self.locking(frame, id, what, state, GivenUp::default()));
        }
        let heap = self.facts.heap;
        for &call in heap.models_at(frame.instance, id) {
            for effect in &call.model.effects {
                for (action, place) in blocking(effect) {
                    let (path, objects) = self.lock(frame, id, call, place);
                    let objects = Arc::clone(&self.sets[objects]);
                    if is_in_container(effect) && !self.is_waited_at(action, &objects) {
                        continue;
                    }
                    let given_up = match effect {
                        Effect::Wait { lock, .. } => {
                            self.given_up(frame, id, call, lock.as_ref().unwrap_or(place), state)
                        }
                        _ => GivenUp::default(),
                    };
                    let paths = path.map(|path| (path.clone(), path));
                    let what = What { action, objects, paths };
                    let event = self.locking(frame, id, what, state, given_up);
                    found.extend(event.filter(|event| !found.contains(event)));
                }
            }
        }
    }

    /// Whether somebody waits for what is done with one of these containers, or can wait there.
    fn is_waited_at(&self, action: LockAction, containers: &[ObjectId]) -> bool {
        let waited = match action {
            LockAction::Put | LockAction::Take => &self.facts.threads.limited,
            _ => &self.facts.threads.awaited,
        };
        containers.iter().any(|&container| waited.contains(container))
    }

    /// Which of the held locks a wait gives up: the one with the same path, or else those that may be it.
    fn given_up(
        &mut self,
        frame: &Frame,
        id: StatementId,
        call: ModelCall<'m>,
        place: &ModelPlace,
        state: &State,
    ) -> GivenUp {
        let objects = self.facts.heap.resolve(self.facts.program, frame.instance, id, call, place);
        let path = self.place_path(frame, id, call, place);
        let is_it = |lock: &Lock| path.is_some() && lock.path == path;
        let may_be_it =
            |lock: &Lock| self.sets[lock.objects].iter().any(|object| objects.contains(object));
        let locks = || state.locks.iter().enumerate();
        let same: Vec<usize> = locks().filter(|(_, lock)| is_it(lock)).map(|(at, _)| at).collect();
        let positions = match same.is_empty() {
            true => locks().filter(|(_, lock)| may_be_it(lock)).map(|(at, _)| at).collect(),
            false => same,
        };
        GivenUp { positions, objects: objects.into() }
    }

    fn locking(
        &mut self,
        frame: &Frame,
        statement: StatementId,
        What { action, objects, paths }: What,
        state: &State,
        given_up: GivenUp,
    ) -> Option<Locking> {
        let is_contended = |objects: &[ObjectId]| {
            objects.iter().any(|&object| self.facts.sharing.is_contended(object))
        };
        let is_fresh = |path: Option<&Path>| path.is_some_and(|path| state.is_fresh(path));
        let strict = paths.as_ref().map(|(strict, _)| strict);
        let is_acquire = matches!(action, LockAction::Acquire(_));
        if is_acquire && (is_fresh(strict) || !is_contended(&objects)) {
            return None;
        }
        let held = state.locks.iter().enumerate().filter(|(at, lock)| {
            !given_up.positions.contains(at)
                && !is_fresh(lock.path.as_ref())
                && is_contended(&self.sets[lock.objects])
        });
        let held = self.guards(paths.as_ref(), held.map(|(_, lock)| lock));
        if is_acquire {
            let is_unique = |object| self.facts.threads.unique_objects.contains(object);
            let is_held = |guard: &Guard| {
                guard.is_the_base()
                    || guard.objects == objects && matches!(objects[..], [one] if is_unique(one))
            };
            if held.iter().any(is_held) {
                return None;
            }
        }
        let time = self.time(strict, state);
        let (instance, given_up) = (frame.instance, given_up.objects);
        Some(Locking { action, objects, held, given_up, instance, statement, time })
    }
}

/// What is done, and with which objects.
struct What {
    action: LockAction,
    objects: Arc<[ObjectId]>,
    /// The strict and the loose path of the object.
    paths: Option<(Path, Path)>,
}

/// The lock that a wait gives up: which of those that are held it may be.
#[derive(Default)]
struct GivenUp {
    positions: Vec<usize>,
    objects: Arc<[ObjectId]>,
}

/// What an effect makes a thread wait for, or does for those who wait; with the place of the object.
fn blocking(effect: &Effect) -> SmallVec<[(LockAction, &ModelPlace); 2]> {
    match effect {
        Effect::Acquire { lock, mode, blocking: Blocking::Forever, .. } => {
            smallvec![(LockAction::Acquire(*mode), lock)]
        }
        Effect::Wait { on, timed, .. } => smallvec![(LockAction::Wait { is_timed: *timed }, on)],
        Effect::Notify { on, .. } => smallvec![(LockAction::Notify, on)],
        Effect::Receive { channel, within: None, blocking: Blocking::Forever, .. } => {
            smallvec![(LockAction::Receive, channel)]
        }
        Effect::Receive { within: Some(container), blocking: Blocking::Forever, .. } => {
            smallvec![(LockAction::Receive, container), (LockAction::Take, container)]
        }
        Effect::Receive { within: Some(container), .. } => smallvec![(LockAction::Take, container)],
        Effect::Send { channel, within: None, .. } => smallvec![(LockAction::Send, channel)],
        Effect::Send { within: Some(container), blocking: Blocking::Forever, .. } => {
            smallvec![(LockAction::Put, container), (LockAction::Send, container)]
        }
        Effect::Send { within: Some(container), .. } => smallvec![(LockAction::Send, container)],
        Effect::Join { group, blocking: Blocking::Forever, .. } => {
            smallvec![(LockAction::Join, group)]
        }
        _ => SmallVec::new(),
    }
}

fn is_in_container(effect: &Effect) -> bool {
    matches!(effect, Effect::Send { within: Some(_), .. } | Effect::Receive { within: Some(_), .. })
}
