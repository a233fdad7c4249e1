//! Object use graphs [vonPraun04 §4.1–4.3]: the life of one object, as the events that concern
//! it and how they follow each other. Built when somebody wants to look at one; the order of accesses
//! does not come from here, but from the state of the symbolic execution.
//!
//! A method has one part of the graph for each heap context, whatever state it is entered in: events of
//! several contexts of the execution are one node. A call that leads to a part of the graph stays in it
//! as a node of its own. A static variable has such a graph too, in which nothing is made and nothing escapes.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use unsnarl_entity::{EntityId, PrimaryMap, SecondaryMap, entity_id};
use unsnarl_models::Effect;
use unsnarl_program::body::{BlockId, Body, Operation, StatementId};
use unsnarl_program::heap::{Heap, InstanceId, ObjectId, OriginId};
use unsnarl_program::{FieldId, Program};

use crate::Execution;
use crate::event::{AccessKind, Accessed, EventId, Guard};
use crate::facts::access::{Access, accesses};
use crate::facts::method::{MethodFacts, Methods};
use crate::facts::threads::is_followed;

entity_id! {
    /// A node of an object use graph.
    pub struct UseId("u");
}

/// What a graph is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Used {
    /// An object.
    Object(ObjectId),
    /// A static variable.
    Static(FieldId),
}

/// Who calls each method, as far as calls stay in their thread.
#[derive(Debug)]
pub struct Callers(SecondaryMap<InstanceId, Vec<InstanceId>>);

/// The life of an object.
#[derive(Debug)]
pub struct ObjectUseGraph {
    /// What happens to it.
    pub nodes: PrimaryMap<UseId, Use>,
    /// What may follow what within a thread; sorted.
    pub control_flow: Vec<(UseId, UseId)>,
    /// From where a reference is stored to where it is loaded; sorted.
    pub reference_flow: Vec<(UseId, UseId)>,
    /// From the start of a thread to what it does, and from what it does to where it is joined; sorted.
    pub thread_control: Vec<(UseId, UseId)>,
}

/// Something that happens to an object.
#[derive(Debug)]
pub struct Use {
    /// What happens.
    pub kind: UseKind,
    /// The thread in which it happens.
    pub thread: OriginId,
    /// The method in its heap context.
    pub instance: InstanceId,
    /// The statement; none at the entry and the exit of a method.
    pub statement: Option<StatementId>,
    /// The variable that is accessed, or that holds the reference.
    pub variable: Option<Accessed>,
    /// The objects that hold the reference that is loaded or stored.
    pub holders: Box<[ObjectId]>,
    /// The threads that are started or joined.
    pub threads: Box<[OriginId]>,
    /// The locks that are held at an access, in the first situation in which it happens.
    pub guards: Arc<[Guard]>,
    /// It comes before the object is visible to other threads.
    pub is_new_safe: bool,
    /// It comes before any other thread that uses the object is started.
    pub is_start_safe: bool,
    /// It comes after all other threads that use the object have ended.
    pub is_join_safe: bool,
}

/// What may happen to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UseKind {
    /// A method that has to do with it begins.
    Entry,
    /// Such a method ends.
    Exit,
    /// Such a method is called.
    Call,
    /// The object is made.
    New,
    /// One of its variables is read.
    Get,
    /// One of its variables is written.
    Put,
    /// A reference to it is loaded.
    Load,
    /// A reference to it is stored.
    Store,
    /// A reference to it is stored where other threads may find it.
    Escape,
    /// Threads are started.
    Start,
    /// Threads are joined.
    Join,
}

impl UseKind {
    /// The word of [vonPraun04 §4.1].
    pub fn word(self) -> &'static str {
        match self {
            Self::Entry => "ENTRY",
            Self::Exit => "EXIT",
            Self::Call => "CALL",
            Self::New => "NEW",
            Self::Get => "GET",
            Self::Put => "PUT",
            Self::Load => "LOAD",
            Self::Store => "STORE",
            Self::Escape => "ESCAPE",
            Self::Start => "START",
            Self::Join => "JOIN",
        }
    }
}

impl Execution<'_> {
    /// The object use graph of an object.
    pub fn object_use_graph(&self, program: &Program<'_>, object: ObjectId) -> ObjectUseGraph {
        let events = self.events.iter();
        let events = events.filter(|(_, event)| event.objects.contains(&object)).map(|(id, _)| id);
        let (events, all) = (events.collect::<Vec<_>>(), self.heap.instances.keys());
        let callers = self.callers();
        Builder::new(self, program, &callers, Used::Object(object), &events).build(all)
    }

    /// The part of an object use graph that has to do with some accesses: what is done in the methods that make them,
    /// that make the object, and that start the threads which do so.
    pub fn use_graph_around(
        &self,
        program: &Program<'_>,
        callers: &Callers,
        used: Used,
        accesses: &[EventId],
    ) -> ObjectUseGraph {
        let heap = &self.heap;
        let mut around: Vec<InstanceId> =
            accesses.iter().map(|&event| self.events[event].instance).collect();
        let threads: Vec<OriginId> =
            accesses.iter().map(|&event| self.events[event].thread).collect();
        let starts = self.threads.started_at.iter();
        let starts = starts.filter(|(_, started)| started.iter().any(|it| threads.contains(it)));
        around.extend(starts.map(|(&(instance, _), _)| instance));
        if let Used::Object(object) = used
            && let Some((method, _)) = heap.objects[object].made
        {
            let makers = heap.instances.iter().filter(|(_, instance)| instance.method == method);
            around.extend(makers.map(|(id, _)| id));
        }
        around.sort_unstable();
        around.dedup();
        Builder::new(self, program, callers, used, accesses).build(around)
    }

    /// Who calls each method.
    pub fn callers(&self) -> Callers {
        let heap = &self.heap;
        let mut callers: SecondaryMap<InstanceId, Vec<InstanceId>> = SecondaryMap::new();
        for id in heap.instances.keys() {
            for call in heap.calls_of(id) {
                if is_followed(heap, id, call.callee, call.kind) {
                    callers[call.callee].push(id);
                }
            }
        }
        Callers(callers)
    }
}

struct Builder<'b, 'm> {
    execution: &'b Execution<'m>,
    program: &'b Program<'b>,
    methods: &'b Methods,
    callers: &'b Callers,
    used: Used,
    graph: ObjectUseGraph,
    /// The entry and the exit of the methods that have a part in the graph.
    parts: SecondaryMap<InstanceId, Option<(UseId, UseId)>>,
    /// The access events on the object.
    events: FxHashMap<(InstanceId, StatementId), Vec<EventId>>,
}

impl<'b, 'm> Builder<'b, 'm> {
    fn new(
        execution: &'b Execution<'m>,
        program: &'b Program<'b>,
        callers: &'b Callers,
        used: Used,
        accesses: &[EventId],
    ) -> Self {
        let mut events: FxHashMap<(InstanceId, StatementId), Vec<EventId>> = FxHashMap::default();
        for &id in accesses {
            let event = &execution.events[id];
            events.entry((event.instance, event.statement)).or_default().push(id);
        }
        Self {
            execution,
            program,
            methods: &execution.methods,
            callers,
            used,
            graph: ObjectUseGraph {
                nodes: PrimaryMap::new(),
                control_flow: Vec::new(),
                reference_flow: Vec::new(),
                thread_control: Vec::new(),
            },
            parts: SecondaryMap::new(),
            events,
        }
    }

    /// Whether the object may be among these.
    fn is_in(&self, objects: &[ObjectId]) -> bool {
        matches!(self.used, Used::Object(object) if objects.contains(&object))
    }

    fn is_accessed(&self, access: &Access<'_>) -> bool {
        match self.used {
            Used::Object(_) => self.is_in(&access.objects),
            Used::Static(field) => access.accessed == Accessed::Field(field),
        }
    }

    fn heap(&self) -> &Heap<'m> {
        &self.execution.heap
    }

    /// Builds the graph of what is done in these methods.
    fn build(mut self, instances: impl IntoIterator<Item = InstanceId>) -> ObjectUseGraph {
        let mut own: Vec<(InstanceId, Vec<Use>)> = Vec::new();
        for id in instances {
            if let Some(facts) = self.methods.get(self.heap().instances[id].method) {
                own.push((id, self.uses(facts, id)));
            }
        }
        let mut by_statement: Vec<(InstanceId, FxHashMap<StatementId, Vec<UseId>>)> = Vec::new();
        for id in self.choose_parts(&own) {
            let Some(facts) = self.methods.get(self.heap().instances[id].method) else { continue };
            let mut nodes: FxHashMap<StatementId, Vec<UseId>> = FxHashMap::default();
            for used in self.uses(facts, id) {
                let statement = used.statement;
                let node = self.graph.nodes.push(used);
                if let Some(statement) = statement {
                    nodes.entry(statement).or_default().push(node);
                }
            }
            by_statement.push((id, nodes));
        }
        for (id, mut nodes) in by_statement {
            self.add_calls(id, &mut nodes);
            self.link(id, &nodes);
        }
        self.mark_safe();
        self.relate();
        for edges in [
            &mut self.graph.control_flow,
            &mut self.graph.reference_flow,
            &mut self.graph.thread_control,
        ] {
            edges.sort_unstable();
            edges.dedup();
        }
        self.graph
    }

    /// What a method does with the object itself.
    fn uses(&self, facts: &MethodFacts, id: InstanceId) -> Vec<Use> {
        let heap = self.heap();
        let is_it = |value| self.is_in(heap.points_to(id, value));
        let mut uses = Vec::new();
        for (statement, data) in facts.body.statements.iter() {
            for access in accesses(self.program, heap, facts, id, statement) {
                if self.is_accessed(&access) {
                    uses.push(self.access(id, statement, &access));
                }
            }
            let field = facts.field(statement).map(Accessed::Field);
            let (stored, loaded, holder, variable) = match data.operation {
                Operation::PutField { object, value, .. } => {
                    (Some(value), None, Some(object), field)
                }
                Operation::ArrayStore { array, value, .. } => {
                    (Some(value), None, Some(array), Some(Accessed::Element))
                }
                Operation::PutStatic { value, .. } => (Some(value), None, None, field),
                Operation::Throw(value) => (Some(value), None, None, None),
                Operation::GetField { object, .. } => (None, data.result, Some(object), field),
                Operation::ArrayLoad { array, .. } => {
                    (None, data.result, Some(array), Some(Accessed::Element))
                }
                Operation::GetStatic { .. } => (None, data.result, None, field),
                Operation::Catch(_) => (None, data.result, None, None),
                Operation::New(_) | Operation::NewArray { .. } => {
                    if data.result.is_some_and(is_it) {
                        uses.push(self.node(UseKind::New, id, Some(statement)));
                    }
                    continue;
                }
                Operation::Invoke { .. } => {
                    uses.extend(self.modelled(facts, id, statement));
                    continue;
                }
                _ => continue,
            };
            let holders: Box<[ObjectId]> =
                holder.map_or_else(Box::default, |holder| heap.points_to(id, holder).into());
            let is_private = |&holder: &ObjectId| self.execution.sharing.is_private(holder);
            let is_throw = matches!(data.operation, Operation::Throw(_));
            let kind = match (stored, loaded) {
                (Some(value), _) if is_it(value) => {
                    let is_hidden = holder.is_some() && holders.iter().all(is_private);
                    if is_hidden || is_throw { UseKind::Store } else { UseKind::Escape }
                }
                (_, Some(value)) if is_it(value) => UseKind::Load,
                _ => continue,
            };
            let node = self.node(kind, id, Some(statement));
            uses.push(Use { holders, variable, ..node });
        }
        uses
    }

    /// What models say about a call.
    fn modelled(&self, facts: &MethodFacts, id: InstanceId, statement: StatementId) -> Vec<Use> {
        let heap = self.heap();
        let mut uses = Vec::new();
        for &call in heap.models_at(id, statement) {
            let resolve = |place| heap.resolve(self.program, id, statement, call, place);
            for effect in &call.model.effects {
                let (kind, threads) = match effect {
                    Effect::Join { group, .. } => {
                        (UseKind::Join, self.execution.threads.in_groups(&resolve(group)))
                    }
                    Effect::Flow { from, .. } if self.is_in(&resolve(from)) => {
                        (UseKind::Escape, Vec::new())
                    }
                    _ => continue,
                };
                if kind == UseKind::Escape || !threads.is_empty() {
                    let node = self.node(kind, id, Some(statement));
                    uses.push(Use { threads: threads.into(), ..node });
                }
            }
        }
        if let Some(threads) = self.execution.threads.started_at.get(&(id, statement)) {
            let node = self.node(UseKind::Start, id, Some(statement));
            uses.push(Use { threads: threads.as_slice().into(), ..node });
        }
        let result = facts.body.statements[statement].result;
        let is_modelled = !heap.models_at(id, statement).is_empty();
        if let Used::Object(object) = self.used
            && is_modelled
            && result.is_some_and(|value| self.is_in(heap.points_to(id, value)))
        {
            let made = (heap.instances[id].method, statement);
            let is_new = heap.objects[object].made == Some(made);
            let kind = if is_new { UseKind::New } else { UseKind::Load };
            uses.push(self.node(kind, id, Some(statement)));
        }
        uses
    }

    fn node(&self, kind: UseKind, instance: InstanceId, statement: Option<StatementId>) -> Use {
        Use {
            kind,
            thread: self.heap().instances[instance].origin,
            instance,
            statement,
            variable: None,
            holders: Box::default(),
            threads: Box::default(),
            guards: Arc::default(),
            is_new_safe: kind == UseKind::New,
            is_start_safe: false,
            is_join_safe: false,
        }
    }

    fn access(&self, id: InstanceId, statement: StatementId, access: &Access<'_>) -> Use {
        let kind = match access.kind {
            AccessKind::Read => UseKind::Get,
            AccessKind::Write => UseKind::Put,
        };
        let events = self.events.get(&(id, statement)).map_or(&[][..], Vec::as_slice);
        let first = events.first().map(|&event| self.execution.events[event].guards.clone());
        let is_fresh = |&event: &EventId| self.execution.events[event].is_fresh;
        Use {
            variable: Some(access.accessed),
            guards: first.unwrap_or_default(),
            is_new_safe: !events.is_empty() && events.iter().all(is_fresh),
            ..self.node(kind, id, Some(statement))
        }
    }

    /// A method has a part if it does something with the object, starts or joins a thread that does, or
    /// calls a method that has a part. Those that have one, sorted.
    fn choose_parts(&mut self, own: &[(InstanceId, Vec<Use>)]) -> Vec<InstanceId> {
        let heap = &self.execution.heap;
        let concerns = |used: &Use| !matches!(used.kind, UseKind::Start | UseKind::Join);
        let users: Vec<OriginId> = own
            .iter()
            .filter(|(_, uses)| uses.iter().any(concerns))
            .flat_map(|&(id, _)| heap.threads_of(id).iter().copied())
            .collect();
        let is_chosen =
            |used: &Use| concerns(used) || used.threads.iter().any(|thread| users.contains(thread));
        let mut open: Vec<InstanceId> =
            own.iter().filter(|(_, uses)| uses.iter().any(is_chosen)).map(|&(id, _)| id).collect();
        let mut chosen: Vec<InstanceId> = Vec::new();
        let mut seen: SecondaryMap<InstanceId, bool> = SecondaryMap::new();
        while let Some(id) = open.pop() {
            if !std::mem::replace(&mut seen[id], true) {
                chosen.push(id);
                open.extend(self.callers.0[id].iter().copied());
            }
        }
        chosen.sort_unstable();
        for &id in &chosen {
            let entry = self.node(UseKind::Entry, id, None);
            let entry = self.graph.nodes.push(entry);
            let exit = self.node(UseKind::Exit, id, None);
            let exit = self.graph.nodes.push(exit);
            self.parts[id] = Some((entry, exit));
            if self.execution.threads.repeated.contains(id) {
                self.graph.control_flow.push((exit, entry));
            }
        }
        chosen
    }

    /// Nodes for calls of methods that have a part.
    fn add_calls(&mut self, id: InstanceId, nodes: &mut FxHashMap<StatementId, Vec<UseId>>) {
        let heap = &self.execution.heap;
        let mut last = None;
        for call in heap.calls_of(id) {
            let Some((entry, _)) = self.parts[call.callee] else { continue };
            if !is_followed(heap, id, call.callee, call.kind) {
                continue;
            }
            let node = match last {
                Some((statement, node)) if statement == call.statement => node,
                _ => {
                    let node = self.node(UseKind::Call, id, Some(call.statement));
                    let node = self.graph.nodes.push(node);
                    nodes.entry(call.statement).or_default().push(node);
                    last = Some((call.statement, node));
                    node
                }
            };
            self.graph.control_flow.push((node, entry));
        }
    }

    /// The control flow between the nodes of a method.
    fn link(&mut self, id: InstanceId, nodes: &FxHashMap<StatementId, Vec<UseId>>) {
        let (Some((entry, exit)), Some(facts)) =
            (self.parts[id], self.methods.get(self.heap().instances[id].method))
        else {
            return;
        };
        let body = &facts.body;
        let mut in_block: Vec<Vec<UseId>> = vec![Vec::new(); body.blocks.len()];
        for block in body.blocks.keys() {
            for (statement, _) in body.block_statements(block) {
                in_block[block.index()].extend(nodes.get(&statement).into_iter().flatten());
            }
        }
        for first in first_nodes(body, &in_block, exit, [body.entry()]) {
            self.graph.control_flow.push((entry, first));
        }
        for block in body.blocks.keys() {
            let own = &in_block[block.index()];
            for pair in own.windows(2) {
                self.follow(id, pair[0], pair[1]);
            }
            if let Some(&last) = own.last() {
                let next = body.successors(block);
                if next.is_empty() {
                    self.follow(id, last, exit);
                }
                for first in first_nodes(body, &in_block, exit, next) {
                    self.follow(id, last, first);
                }
            }
        }
    }

    /// One node follows another; what follows a call follows the exits of what is called.
    fn follow(&mut self, id: InstanceId, before: UseId, after: UseId) {
        let used = &self.graph.nodes[before];
        self.graph.control_flow.push((before, after));
        if let (UseKind::Call, Some(statement)) = (used.kind, used.statement) {
            let heap = &self.execution.heap;
            for call in heap.calls_at(id, statement) {
                if let Some((_, exit)) = self.parts[call.callee]
                    && is_followed(heap, id, call.callee, call.kind)
                {
                    self.graph.control_flow.push((exit, after));
                }
            }
        }
    }

    /// Which accesses come before all other threads or after them.
    fn mark_safe(&mut self) {
        let accesses: Vec<UseId> = self
            .graph
            .nodes
            .iter()
            .filter(|(_, used)| matches!(used.kind, UseKind::Get | UseKind::Put))
            .map(|(id, _)| id)
            .collect();
        let mut threads: Vec<OriginId> =
            accesses.iter().map(|&id| self.graph.nodes[id].thread).collect();
        threads.sort_unstable();
        threads.dedup();
        for id in accesses {
            let used = &self.graph.nodes[id];
            let others: Vec<OriginId> =
                threads.iter().copied().filter(|&other| other != used.thread).collect();
            let key = used.statement.map(|statement| (used.instance, statement));
            let events = key.and_then(|key| self.events.get(&key)).map_or(&[][..], Vec::as_slice);
            let all = |test: &dyn Fn(EventId, OriginId) -> bool| {
                !others.is_empty()
                    && !events.is_empty()
                    && events.iter().all(|&event| others.iter().all(|&other| test(event, other)))
            };
            let execution = self.execution;
            let is_start_safe = all(&|event, other| execution.is_before_start(event, other));
            let is_join_safe = all(&|event, other| execution.is_after_end(event, other));
            let used = &mut self.graph.nodes[id];
            used.is_start_safe = is_start_safe;
            used.is_join_safe = is_join_safe;
        }
    }

    /// Reference flow and thread control.
    fn relate(&mut self) {
        let nodes = &self.graph.nodes;
        let is_store = |used: &Use| matches!(used.kind, UseKind::Store | UseKind::Escape);
        for (store, stored) in nodes.iter().filter(|(_, used)| is_store(used)) {
            for (load, loaded) in nodes.iter().filter(|(_, used)| used.kind == UseKind::Load) {
                let is_same = stored.variable == loaded.variable
                    && (stored.holders.is_empty() && loaded.holders.is_empty()
                        || stored.holders.iter().any(|holder| loaded.holders.contains(holder)));
                if is_same {
                    self.graph.reference_flow.push((store, load));
                }
            }
        }
        for (control, used) in nodes.iter() {
            let is_start = used.kind == UseKind::Start;
            // A start counts only if one thread issues it [vonPraun04 §4.1].
            if used.threads.is_empty() || is_start && !self.execution.is_unique_thread(used.thread)
            {
                continue;
            }
            for (id, other) in nodes.iter() {
                if used.threads.contains(&other.thread) && other.kind != UseKind::Exit {
                    let edge = if is_start { (control, id) } else { (id, control) };
                    self.graph.thread_control.push(edge);
                }
            }
        }
    }
}

/// The nodes that are met first from the beginnings of some blocks on.
fn first_nodes(
    body: &Body,
    in_block: &[Vec<UseId>],
    exit: UseId,
    from: impl IntoIterator<Item = BlockId>,
) -> Vec<UseId> {
    let mut found = Vec::new();
    let mut seen = vec![false; in_block.len()];
    let mut open: Vec<BlockId> = from.into_iter().collect();
    while let Some(block) = open.pop() {
        if std::mem::replace(&mut seen[block.index()], true) {
            continue;
        }
        match in_block[block.index()].first() {
            Some(&first) => found.push(first),
            None => {
                let next = body.successors(block);
                if next.is_empty() {
                    found.push(exit);
                }
                open.extend(next);
            }
        }
    }
    found
}
