//! Tasks: what one thread starts and another runs.
//!
//! A task is known by its object, which may be started again and again, also at the same time. All its
//! starts come before each of its runs, and each end of a run before whoever joins one of its groups: more
//! order than there is, and never less.

use smallvec::SmallVec;
use unsnarl_events::Operation;
use unsnarl_models::{CONTENTS, Effect, ModelPlace, StartKind};

use super::operands::{Key, Values};
use super::{Call, Emit, Value};
use crate::translate::Translator;

/// A task that was started.
#[derive(Debug, Default)]
pub(in crate::translate) struct Started {
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

    /// What it leads to.
    pub(in crate::translate) fn values(&self) -> impl Iterator<Item = &Value> {
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

/// How many different things a task that is started again and again may wait for.
const MOST_AFTER: usize = 64;
/// How many executors and streams may run it.
const MOST_GROUPS: usize = 16;
/// How many groups that wait for each other are joined at once.
const MOST_LINKED: usize = 64;

impl Translator {
    /// What a sentence starts. The groups that the method returns are attached when it does.
    pub(in crate::translate) fn start(
        &mut self,
        index: usize,
        effect: &Effect,
        call: &mut Call,
        emit: &mut Emit<'_>,
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
            self.find_tasks(receiver, &started.method, started.arguments.len(), &mut found);
        }
        let Found { tasks, on_the_way, .. } = found;
        let of_stream = *kind == StartKind::ParallelStream;
        let through: Values = on_the_way
            .into_iter()
            .filter(|it| !is_only_thread || !self.orders.threads.contains_key(it))
            .collect();
        if is_only_thread && through.is_empty() {
            // The hooks in `Thread` see all of it.
            return;
        }
        if tasks.is_empty() {
            // Nobody sees it run: who joins it joins what it waited for.
            let after: Values = after.iter().flat_map(|after| self.in_group(after)).collect();
            for group in &known {
                if let Group::Value(group) = group {
                    self.link(*group, &after);
                }
            }
        }
        for &task in &tasks {
            if !is_only_thread {
                let channel = self.channel(Key::TaskStart(task));
                emit.push(Operation::Send(channel));
            }
            for &group in &through {
                self.attach_end(group, task);
            }
            for group in &known {
                match group {
                    // There is one for each stream: who joins it joins the functions, and these need not know it.
                    Group::Value(group) if of_stream && self.orders.is_made_for_one(*group) => {
                        self.attach_end(*group, task);
                    }
                    group => self.run_in(task, group.clone()),
                }
            }
            let state = self.orders.started.entry(task).or_default();
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

    fn in_group(&self, group: &Group) -> Values {
        match group {
            Group::Value(value) => SmallVec::from_slice(&[*value]),
            Group::Slot(of, slot) => self.in_slot(*of, slot),
        }
    }

    /// The objects whose methods can be seen to run when a method is started: its receiver, or those that
    /// the model of the method calls.
    fn find_tasks(&self, of: Value, method: &str, arguments: usize, found: &mut Found) {
        if found.methods.iter().any(|(known, name)| *known == of && **name == *method) {
            return;
        }
        found.methods.push((of, method.into()));
        let Some(class) = self.class_of(of.0) else { return };
        let classes = &self.descriptions.classes;
        if classes.has_probes(&class, method.as_bytes(), arguments) {
            if !found.tasks.contains(&of) {
                found.tasks.push(of);
            }
            return;
        }
        let models = classes.ancestors(&class).0.into_iter().filter_map(|class| {
            let mut methods = self.models.methods_of(class)?.methods();
            methods.find(|(name, _, _)| *name == method.as_bytes()).map(|(_, _, model)| model)
        });
        let Some(model) = { models }.next() else { return };
        for effect in &model.effects {
            let Effect::Call(call) = effect else { continue };
            let arguments = call.arguments.len();
            match &call.receiver {
                ModelPlace::This => self.find_tasks(of, &call.method, arguments, found),
                ModelPlace::Slot(base, slot) if **base == ModelPlace::This => {
                    for receiver in self.in_slot(of, slot) {
                        if !found.on_the_way.contains(&of) {
                            found.on_the_way.push(of);
                        }
                        self.find_tasks(receiver, &call.method, arguments, found);
                    }
                }
                _ => {}
            }
        }
    }

    /// The groups of a start that only the result of the call tells.
    pub(in crate::translate) fn attach(
        &mut self,
        index: usize,
        groups: &[ModelPlace],
        effect: &Effect,
        call: &Call,
    ) {
        let Effect::Start { call: started, after, .. } = effect else { return };
        // What goes into a part of a stage, and is not yet its value, has to end before the stage does.
        let is_stage = matches!(&started.result, Some(ModelPlace::Slot(of, slot))
            if **of == ModelPlace::Result && !CONTENTS.contains(&&**slot));
        let tasks: Values = call.started.iter().filter(|it| it.0 == index).map(|it| it.1).collect();
        for group in self.groups_at(after.iter().filter(|place| place.is_of_result()), call) {
            for task in &tasks {
                self.orders.started.entry(*task).or_default().run_after(group.clone());
            }
        }
        for group in groups.iter().filter(|group| group.is_of_result()) {
            let values = self.values(group, call);
            if let (true, ModelPlace::Slot(of, slot)) = (values.is_empty(), group) {
                // What will be in there when they run.
                for of in self.values(of, call) {
                    tasks.iter().for_each(|&task| self.run_in(task, Group::Slot(of, slot.clone())));
                }
            }
            for group in values {
                // It ends behind what it waits for, also if that fails and it is never run.
                let mut before: Values =
                    after.iter().flat_map(|place| self.values(place, call)).collect();
                if tasks.is_empty() {
                    // Nobody sees it run: it is the library that waits for this.
                    before.extend(self.values(&started.receiver, call));
                }
                self.link(group, &before);
                for &task in &tasks {
                    self.attach_end(group, task);
                    if is_stage {
                        self.wait_for_returned(group, task);
                    }
                }
            }
        }
    }

    fn run_in(&mut self, task: Value, group: Group) {
        self.orders.started.entry(task).or_default().run_in(group);
    }

    /// Who joins the group joins the task.
    fn attach_end(&mut self, group: Value, task: Value) {
        let end = self.channel(Key::TaskEnd(task));
        let attached = self.orders.attached.entry(group).or_default();
        if !attached.contains(&end) {
            attached.push(end);
        }
    }

    fn wait_for_returned(&mut self, group: Value, task: Value) {
        let Some(state) = self.orders.started.get_mut(&task) else { return };
        state.stages.push(group);
        if state.stages.len() > MOST_AFTER {
            state.stages.remove(0);
        }
        if let Some(returned) = state.returned {
            self.link(group, &[returned]);
        }
    }

    fn link(&mut self, group: Value, to: &[Value]) {
        if !to.is_empty() {
            self.orders.links.entry(group).or_default().extend_from_slice(to);
        }
    }

    pub(in crate::translate) fn task_begins(&mut self, task: Value, emit: &mut Emit<'_>) {
        let Some(state) = self.orders.started.get(&task) else { return };
        let after: Values = state.after.iter().flat_map(|after| self.in_group(after)).collect();
        let (is_periodic, is_of_stream) = (state.is_periodic, state.is_of_stream);
        self.calls[emit.thread].tasks.push(task);
        self.receive_from(&Key::TaskStart(task), emit);
        for place in after {
            self.join(place, emit);
            self.receive_from(&Key::Object(place), emit);
        }
        if is_periodic {
            self.receive_from(&Key::Serial(task), emit);
        }
        for group in self.groups(task) {
            if self.orders.serial.contains(&group) {
                self.receive_from(&Key::Serial(group), emit);
            }
            if is_of_stream {
                self.receive_from(&Key::Workers(group), emit);
            }
        }
    }

    pub(in crate::translate) fn task_ends(
        &mut self,
        task: Value,
        returned: Option<Value>,
        emit: &mut Emit<'_>,
    ) {
        let tasks = &mut self.calls[emit.thread].tasks;
        let Some(place) = tasks.iter().rposition(|&running| running == task) else { return };
        tasks.truncate(place);
        if let Some(returned) = returned
            && let Some(state) = self.orders.started.get_mut(&task)
        {
            state.returned = Some(returned);
            for stage in state.stages.clone() {
                self.link(stage, &[returned]);
            }
        }
        let mut keys = vec![Key::TaskEnd(task)];
        for group in self.groups(task) {
            keys.push(Key::Group(group));
            if self.orders.serial.contains(&group) {
                keys.push(Key::Serial(group));
            }
        }
        if self.orders.started.get(&task).is_some_and(|state| state.is_periodic) {
            keys.push(Key::Serial(task));
        }
        for key in keys {
            let channel = self.channel(key);
            emit.push(Operation::Send(channel));
        }
    }

    fn groups(&self, task: Value) -> Values {
        let groups = self.orders.started.get(&task).into_iter().flat_map(|state| &state.groups);
        let mut values = Values::new();
        for value in groups.flat_map(|group| self.in_group(group)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    /// All that was started in a group and has ended comes before what follows.
    pub(in crate::translate) fn join(&mut self, group: Value, emit: &mut Emit<'_>) {
        let mut joined = vec![group];
        let mut next = 0;
        while let Some(&group) = joined.get(next) {
            self.receive_from(&Key::Group(group), emit);
            for &channel in self.orders.attached.get(&group).into_iter().flatten() {
                emit.push(Operation::Receive(channel));
            }
            if let Some(&thread) = self.orders.threads.get(&group)
                && self.orders.ended.contains(&thread)
            {
                emit.push(Operation::Join(thread));
            }
            if next > 0 {
                self.receive_from(&Key::Object(group), emit);
            }
            if joined.len() < MOST_LINKED {
                let linked = self.orders.links.get(&group).into_iter().flatten();
                let new: Vec<_> = linked.filter(|it| !joined.contains(it)).copied().collect();
                joined.extend(new);
            }
            next += 1;
        }
    }

    /// A stream that is asked for its result lets its workers run.
    pub(in crate::translate) fn workers_wait(
        &mut self,
        group: &ModelPlace,
        call: &Call,
        emit: &mut Emit<'_>,
    ) {
        if !matches!(group, ModelPlace::Slot(..)) {
            return;
        }
        for group in self.values(group, call) {
            let channel = self.channel(Key::Workers(group));
            emit.push(Operation::Send(channel));
        }
    }
}
