//! Tasks: what one thread starts and another runs.
//!
//! A task is known by its object, which may be started again and again, also at the same time. All its
//! starts come before each of its runs, and each end of a run before whoever joins one of its groups: more
//! order than there is, and never less.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use unsnarl_events::{ChannelId, Operation};
use unsnarl_models::{CONTENTS, Effect, ModelPlace, StartKind};

use super::LibraryCalls;
use super::call::{Call, Value};
use super::channels::Key;
use super::slots::{Slots, Values};
use crate::translate::descriptions::Descriptions;
use crate::translate::emitter::Emitter;
use crate::translate::resolver::Resolver;

/// How many different things a task that is started again and again may wait for.
const MOST_AFTER: usize = 64;
/// How many executors and streams may run it.
const MOST_GROUPS: usize = 16;
/// How many groups that wait for each other are joined at once.
const MOST_LINKED: usize = 64;

/// The tasks that were started, and the groups that they are joined by.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    started: FxHashMap<Value, Started>,
    /// Further channels that whoever joins a group receives from: the ends of its tasks.
    attached: FxHashMap<Value, SmallVec<[ChannelId; 1]>>,
    /// What ends before a group does, because the library waits for it without an event.
    links: FxHashMap<Value, SmallVec<[Value; 1]>>,
    /// Groups whose tasks run one after the other.
    pub(crate) serial: FxHashSet<Value>,
}

impl Tasks {
    fn state(&mut self, task: Value) -> &mut Started {
        self.started.entry(task).or_default()
    }

    /// Whoever joins the group receives from a channel.
    fn attach(&mut self, group: Value, end: ChannelId) {
        let attached = self.attached.entry(group).or_default();
        if !attached.contains(&end) {
            attached.push(end);
        }
    }

    fn link(&mut self, group: Value, to: &[Value]) {
        if !to.is_empty() {
            self.links.entry(group).or_default().extend_from_slice(to);
        }
    }

    /// A group ends after what a task returns, each time that it runs.
    fn wait_for_returned(&mut self, group: Value, task: Value) {
        let Some(state) = self.started.get_mut(&task) else { return };
        state.stages.push(group);
        if state.stages.len() > MOST_AFTER {
            state.stages.remove(0);
        }
        if let Some(returned) = state.returned {
            self.link(group, &[returned]);
        }
    }

    fn returned(&mut self, task: Value, returned: Value) {
        let Some(state) = self.started.get_mut(&task) else { return };
        state.returned = Some(returned);
        for stage in state.stages.clone() {
            self.link(stage, &[returned]);
        }
    }

    /// The groups that a task is joined by now.
    fn groups(&self, task: Value, slots: &Slots) -> Values {
        let groups = self.started.get(&task).into_iter().flat_map(|state| &state.groups);
        let mut values = Values::new();
        for value in groups.flat_map(|group| group.values(slots)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    /// What tasks and groups are known by.
    pub(super) fn keys(&self) -> impl Iterator<Item = Value> {
        self.links.keys().chain(self.started.keys()).copied()
    }

    /// What a task or a group names.
    pub(super) fn reached_from(&self, of: Value) -> impl Iterator<Item = Value> {
        let links = self.links.get(&of).into_iter().flatten();
        let started = self.started.get(&of).into_iter().flat_map(Started::values);
        links.chain(started).copied()
    }

    /// The channels that whoever joins some group receives from.
    pub(super) fn attached(&self) -> FxHashSet<ChannelId> {
        self.attached.values().flatten().copied().collect()
    }

    pub(super) fn retain(&mut self, stays: impl Fn(Value) -> bool) {
        self.started.retain(|task, _| stays(*task));
        self.attached.retain(|group, _| stays(*group));
        self.links.retain(|group, _| stays(*group));
        self.serial.retain(|group| stays(*group));
    }
}

/// A task that was started.
#[derive(Debug, Default)]
struct Started {
    /// What it is joined by; the latest [`MOST_GROUPS`] of them.
    groups: Groups,
    /// What it waits for; the latest [`MOST_AFTER`] of them.
    after: Groups,
    /// Each of its runs ends before the next begins.
    is_periodic: bool,
    /// It runs when a stream is asked for its result.
    is_of_stream: bool,
    /// Groups that wait for what it returns as well; the latest [`MOST_AFTER`] of them.
    stages: Vec<Value>,
    returned: Option<Value>,
}

impl Started {
    fn run_in(&mut self, group: Group) {
        add_latest(&mut self.groups, group, MOST_GROUPS);
    }

    fn run_after(&mut self, group: Group) {
        add_latest(&mut self.after, group, MOST_AFTER);
    }

    /// What it names.
    fn values(&self) -> impl Iterator<Item = &Value> {
        let groups = self.groups.iter().chain(&self.after).map(Group::value);
        groups.chain(&self.stages).chain(&self.returned)
    }
}

/// Adds what is not there yet, and forgets the oldest where there are too many.
fn add_latest(known: &mut Groups, group: Group, most: usize) {
    if !known.contains(&group) {
        known.push(group);
    }
    if known.len() > most {
        known.remove(0);
    }
}

type Groups = SmallVec<[Group; 1]>;

/// What a task is joined by.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Group {
    Value(Value),
    /// Whatever is in a slot when the task runs.
    Slot(Value, Box<str>),
}

impl Group {
    fn value(&self) -> &Value {
        match self {
            Self::Value(value) | Self::Slot(value, _) => value,
        }
    }

    /// What it stands for now.
    fn values(&self, slots: &Slots) -> Values {
        match self {
            Self::Value(value) => SmallVec::from_slice(&[*value]),
            Self::Slot(of, slot) => slots.get(*of, slot),
        }
    }
}

/// What is run when a method is started.
#[derive(Debug, Default)]
struct Found {
    /// Objects whose methods can be seen to run.
    tasks: Values,
    /// Objects of the library that run them, and have ended when they have.
    on_the_way: Values,
    /// What was looked at already.
    methods: Vec<(Value, Box<str>)>,
}

impl LibraryCalls {
    /// What a sentence starts. The groups that the method returns are attached when it does.
    pub(crate) fn start(
        &mut self,
        index: usize,
        effect: &Effect,
        call: &mut Call,
        emit: &mut Emitter<'_>,
    ) {
        let Effect::Start { call: started, kind, groups, after } = effect else { return };
        let is_thread = matches!(kind, StartKind::Thread | StartKind::VirtualThread);
        let itself = [&started.receiver, &ModelPlace::Result];
        let is_only_thread = is_thread && groups.iter().all(|group| itself.contains(&group));
        let groups = groups.iter().filter(|group| !group.is_of_result() && !is_only_thread);
        let known = self.groups_at(groups, call);
        let after = self.groups_at(after.iter().filter(|place| !place.is_of_result()), call);
        let mut found = Found::default();
        for receiver in self.values(&started.receiver, call) {
            self.find_tasks(
                receiver,
                &started.method,
                started.arguments.len(),
                &emit.resolver.descriptions,
                &mut found,
            );
        }
        let Found { tasks, on_the_way, .. } = found;
        let of_stream = *kind == StartKind::ParallelStream;
        let through: Values = on_the_way
            .into_iter()
            .filter(|it| !is_only_thread || !self.threads.is_thread(*it))
            .collect();
        if is_only_thread && through.is_empty() {
            // The hooks in `Thread` see all of it.
            return;
        }
        if tasks.is_empty() {
            // It runs without events: whoever joins it joins what it waited for.
            let after: Values = after.iter().flat_map(|after| after.values(&self.slots)).collect();
            for group in &known {
                if let Group::Value(group) = group {
                    self.tasks.link(*group, &after);
                }
            }
        }
        for &task in &tasks {
            if !is_only_thread {
                self.channels.send(Key::TaskStart(task), emit);
            }
            for &group in &through {
                self.attach_end(group, task, emit.resolver);
            }
            for group in &known {
                match group {
                    // There is one for each stream: whoever joins it joins the functions, and these need not know it.
                    Group::Value(group) if of_stream && self.slots.is_made_by_call(*group) => {
                        self.attach_end(*group, task, emit.resolver);
                    }
                    group => self.tasks.state(task).run_in(group.clone()),
                }
            }
            let state = self.tasks.state(task);
            for group in &after {
                state.run_after(group.clone());
            }
            state.is_periodic |= *kind == StartKind::PeriodicTask;
            state.is_of_stream |= of_stream;
        }
        call.started.extend(tasks.iter().map(|&task| (index, task)));
    }

    /// What places stand for when a task is started, or, where nothing is in a slot yet, when it runs.
    fn groups_at<'p>(
        &mut self,
        places: impl Iterator<Item = &'p ModelPlace>,
        call: &Call,
    ) -> SmallVec<[Group; 2]> {
        let mut known = SmallVec::new();
        for place in places {
            let values = self.values(place, call);
            known.extend(values.iter().map(|&value| Group::Value(value)));
            if let (true, ModelPlace::Slot(of, slot)) = (values.is_empty(), place) {
                let of = self.values(of, call);
                known.extend(of.iter().map(|&of| Group::Slot(of, slot.clone())));
            }
        }
        known
    }

    /// The objects whose methods can be seen to run when a method is started: its receiver, or those that
    /// the model of the method calls.
    fn find_tasks(
        &self,
        of: Value,
        method: &str,
        arguments: usize,
        descriptions: &Descriptions,
        found: &mut Found,
    ) {
        if found.methods.iter().any(|(known, name)| *known == of && **name == *method) {
            return;
        }
        found.methods.push((of, method.into()));
        let Some(class) = descriptions.class_name_of(of.0) else { return };
        if descriptions.classes.has_probes(&class, method.as_bytes(), arguments) {
            if !found.tasks.contains(&of) {
                found.tasks.push(of);
            }
            return;
        }
        let Some(model) = self.models.named(&class, method, descriptions) else { return };
        for effect in &model.effects {
            let Effect::Call(call) = effect else { continue };
            let arguments = call.arguments.len();
            match &call.receiver {
                ModelPlace::This => {
                    self.find_tasks(of, &call.method, arguments, descriptions, found);
                }
                ModelPlace::Slot(base, slot) if **base == ModelPlace::This => {
                    for receiver in self.slots.get(of, slot) {
                        if !found.on_the_way.contains(&of) {
                            found.on_the_way.push(of);
                        }
                        self.find_tasks(receiver, &call.method, arguments, descriptions, found);
                    }
                }
                _ => {}
            }
        }
    }

    /// The groups of a start that are known only from the result of the call.
    pub(crate) fn attach(
        &mut self,
        index: usize,
        groups: &[ModelPlace],
        effect: &Effect,
        call: &Call,
        resolver: &mut Resolver,
    ) {
        let Effect::Start { call: started, after, .. } = effect else { return };
        // What goes into a part of a stage, and is not yet its value, has to end before the stage does.
        let is_stage = matches!(&started.result, Some(ModelPlace::Slot(of, slot))
            if **of == ModelPlace::Result && !CONTENTS.contains(&&**slot));
        let tasks: Values = call.started.iter().filter(|it| it.0 == index).map(|it| it.1).collect();
        for group in self.groups_at(after.iter().filter(|place| place.is_of_result()), call) {
            for task in &tasks {
                self.tasks.state(*task).run_after(group.clone());
            }
        }
        for group in groups.iter().filter(|group| group.is_of_result()) {
            let values = self.values(group, call);
            if let (true, ModelPlace::Slot(of, slot)) = (values.is_empty(), group) {
                // What will be in there when they run.
                for of in self.values(of, call) {
                    for &task in &tasks {
                        self.tasks.state(task).run_in(Group::Slot(of, slot.clone()));
                    }
                }
            }
            for group in values {
                // It ends after what it waits for, even if that fails and it is never run.
                let mut before: Values =
                    after.iter().flat_map(|place| self.values(place, call)).collect();
                if tasks.is_empty() {
                    // It runs without events: it is the library that waits for this.
                    before.extend(self.values(&started.receiver, call));
                }
                self.tasks.link(group, &before);
                for &task in &tasks {
                    self.attach_end(group, task, resolver);
                    if is_stage {
                        self.tasks.wait_for_returned(group, task);
                    }
                }
            }
        }
    }

    /// Whoever joins the group joins the task.
    fn attach_end(&mut self, group: Value, task: Value, resolver: &mut Resolver) {
        let end = self.channels.id(Key::TaskEnd(task), resolver);
        self.tasks.attach(group, end);
    }

    pub(crate) fn task_begins(&mut self, task: Value, emit: &mut Emitter<'_>) {
        let Some(state) = self.tasks.started.get(&task) else { return };
        let after: Values =
            state.after.iter().flat_map(|after| after.values(&self.slots)).collect();
        let (is_periodic, is_of_stream) = (state.is_periodic, state.is_of_stream);
        self.calls[emit.thread].tasks.push(task);
        self.channels.receive(&Key::TaskStart(task), emit);
        for place in after {
            self.join(place, emit);
            self.channels.receive(&Key::Object(place), emit);
        }
        if is_periodic {
            self.channels.receive(&Key::Serial(task), emit);
        }
        for group in self.tasks.groups(task, &self.slots) {
            if self.tasks.serial.contains(&group) {
                self.channels.receive(&Key::Serial(group), emit);
            }
            if is_of_stream {
                self.channels.receive(&Key::Workers(group), emit);
            }
        }
    }

    pub(crate) fn task_ends(
        &mut self,
        task: Value,
        returned: Option<Value>,
        emit: &mut Emitter<'_>,
    ) {
        if !self.calls[emit.thread].leave_task(task) {
            return;
        }
        if let Some(returned) = returned {
            self.tasks.returned(task, returned);
        }
        let mut keys = vec![Key::TaskEnd(task)];
        for group in self.tasks.groups(task, &self.slots) {
            keys.push(Key::Group(group));
            if self.tasks.serial.contains(&group) {
                keys.push(Key::Serial(group));
            }
        }
        if self.tasks.started.get(&task).is_some_and(|state| state.is_periodic) {
            keys.push(Key::Serial(task));
        }
        for key in keys {
            self.channels.send(key, emit);
        }
    }

    /// All that was started in a group and has ended comes before what follows.
    pub(crate) fn join(&mut self, group: Value, emit: &mut Emitter<'_>) {
        let mut joined = vec![group];
        let mut next = 0;
        while let Some(&group) = joined.get(next) {
            self.channels.receive(&Key::Group(group), emit);
            for &channel in self.tasks.attached.get(&group).into_iter().flatten() {
                emit.push(Operation::Receive(channel));
            }
            if let Some(thread) = self.threads.ended(group) {
                emit.push(Operation::Join(thread));
            }
            if next > 0 {
                self.channels.receive(&Key::Object(group), emit);
            }
            if joined.len() < MOST_LINKED {
                let linked = self.tasks.links.get(&group).into_iter().flatten();
                let new: Vec<_> = linked.filter(|it| !joined.contains(it)).copied().collect();
                joined.extend(new);
            }
            next += 1;
        }
    }

    /// A stream that is asked for its result lets its workers run.
    pub(crate) fn workers_wait(&mut self, group: &ModelPlace, call: &Call, emit: &mut Emitter<'_>) {
        if !matches!(group, ModelPlace::Slot(..)) {
            return;
        }
        for group in self.values(group, call) {
            self.channels.send(Key::Workers(group), emit);
        }
    }
}
