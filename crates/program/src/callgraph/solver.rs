//! Nodes that hold sets of objects, and the edges along which objects flow.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use unsnarl_entity::{EntityId, PrimaryMap, components, entity_id};

use super::object::{FilterId, Object, ObjectId, ObjectSet, Objects};
use crate::class::ClassId;
use crate::names::Type;
use crate::program::Program;

entity_id! {
    /// A variable, field, array element, method result or place of a model.
    pub(super) struct NodeId("n");
    /// Something to do for every object that arrives at a node.
    pub(super) struct WatcherId("w");
}

/// Cycles are looked for when so many nodes have passed something on, and again each
/// time that grew by a quarter.
const FIRST_SEARCH: usize = 50_000;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Flow {
    to: NodeId,
    filter: Option<FilterId>,
}

#[derive(Default)]
struct Node {
    all: ObjectSet,
    /// What has arrived and was not passed on yet.
    fresh: ObjectSet,
    flows: SmallVec<[Flow; 2]>,
    watchers: SmallVec<[WatcherId; 1]>,
    is_queued: bool,
}

#[derive(Default)]
pub(super) struct Solver {
    pub(super) objects: Objects,
    nodes: PrimaryMap<NodeId, Node>,
    /// A node that was joined with others of a cycle leads to the one that stands for them.
    parents: Vec<NodeId>,
    steps: usize,
    next_search: usize,
    queue: VecDeque<NodeId>,
    /// The flows of nodes that have many; those of others are looked through.
    known: FxHashSet<(NodeId, Flow)>,
}

/// A node with more flows than this has them in [`Solver::known`].
const FEW_FLOWS: usize = 12;

impl Solver {
    pub(super) fn node(&mut self) -> NodeId {
        self.parents.push(self.nodes.next_key());
        self.nodes.push(Node::default())
    }

    /// The node that stands for the cycle in which a node lies.
    fn find(&self, mut node: NodeId) -> NodeId {
        while self.parents[node.index()] != node {
            node = self.parents[node.index()];
        }
        node
    }

    fn find_and_shorten(&mut self, node: NodeId) -> NodeId {
        let found = self.find(node);
        let mut node = node;
        while self.parents[node.index()] != found {
            node = std::mem::replace(&mut self.parents[node.index()], found);
        }
        found
    }

    /// The first of `count` new nodes with consecutive numbers.
    pub(super) fn nodes(&mut self, count: usize) -> NodeId {
        let first = self.nodes.next_key();
        for _ in 0..count {
            self.node();
        }
        first
    }

    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The same for nodes that have the same objects because they are in one cycle.
    pub(super) fn representative(&self, node: NodeId) -> NodeId {
        self.find(node)
    }

    /// What is in a node.
    pub(super) fn objects_in(&self, node: NodeId) -> &ObjectSet {
        &self.nodes[self.find(node)].all
    }

    pub(super) fn object(&mut self, object: Object) -> ObjectId {
        self.objects.all.intern(object)
    }

    pub(super) fn add(&mut self, node: NodeId, object: Object) {
        let object = self.object(object);
        self.add_id(node, object);
    }

    pub(super) fn add_id(&mut self, node: NodeId, object: ObjectId) {
        let node = self.find_and_shorten(node);
        let data = &mut self.nodes[node];
        if data.all.insert(object) {
            data.fresh.insert(object);
            self.enqueue(node);
        }
    }

    fn enqueue(&mut self, node: NodeId) {
        if !std::mem::replace(&mut self.nodes[node].is_queued, true) {
            self.queue.push_back(node);
        }
    }

    /// Whatever is or will be in `from` flows to `to`.
    pub(super) fn flow(&mut self, program: &mut Program<'_>, from: NodeId, to: NodeId) {
        self.flow_filtered(program, from, to, None);
    }

    pub(super) fn flow_filtered(
        &mut self,
        program: &mut Program<'_>,
        from: NodeId,
        to: NodeId,
        filter: Option<FilterId>,
    ) {
        let (from, to) = (self.find_and_shorten(from), self.find_and_shorten(to));
        let flow = Flow { to, filter };
        if from == to || !self.add_flow(from, flow) {
            return;
        }
        if !self.nodes[from].all.is_empty() {
            let objects = self.nodes[from].all.clone();
            self.pass(program, &objects, flow);
        }
    }

    /// Adds a flow; says whether it is new.
    fn add_flow(&mut self, from: NodeId, flow: Flow) -> bool {
        let flows = &mut self.nodes[from].flows;
        let is_known = match flows.len() {
            0..=FEW_FLOWS => flows.contains(&flow),
            _ => !self.known.insert((from, flow)),
        };
        if !is_known {
            flows.push(flow);
            if flows.len() == FEW_FLOWS + 1 {
                self.known.extend(flows.iter().map(|&flow| (from, flow)));
            }
        }
        !is_known
    }

    fn pass(&mut self, program: &mut Program<'_>, objects: &ObjectSet, flow: Flow) {
        let Flow { to, filter } = flow;
        let to = self.find_and_shorten(to);
        let Node { all, fresh, .. } = &mut self.nodes[to];
        let grown = match filter {
            None => objects.flow_into(None, all, fresh),
            Some(filter) => {
                let mask = self.objects.mask(filter, program);
                objects.flow_into(Some(mask), all, fresh)
            }
        };
        if grown {
            self.enqueue(to);
        }
        if let Some(filter) = filter {
            self.narrow_unknown(program, objects, to, filter);
        }
    }

    /// All nodes of a cycle come to have the same objects: they become one node. Flows that were added
    /// twice on the way are dropped.
    fn join_cycles(&mut self) {
        let mut successors: Vec<usize> = Vec::new();
        let mut ends: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for data in self.nodes.values() {
            let unfiltered = data.flows.iter().filter(|flow| flow.filter.is_none());
            successors.extend(unfiltered.map(|flow| self.find(flow.to).index()));
            ends.push(successors.len());
        }
        let start = |node: usize| if node == 0 { 0 } else { ends[node - 1] };
        for component in components(ends.len(), |node| &successors[start(node)..ends[node]]) {
            if let [first, others @ ..] = component.as_slice() {
                for &other in others {
                    self.join(NodeId::from_index(other), NodeId::from_index(*first));
                }
            }
        }
        self.known.clear();
        for node in self.nodes.keys() {
            let mut flows = std::mem::take(&mut self.nodes[node].flows);
            for flow in &mut flows {
                flow.to = self.find(flow.to);
            }
            flows.sort_unstable();
            flows.dedup();
            flows.retain(|flow| flow.to != node);
            if flows.len() > FEW_FLOWS {
                self.known.extend(flows.iter().map(|&flow| (node, flow)));
            }
            self.nodes[node].flows = flows;
        }
    }

    /// Makes one node of two.
    fn join(&mut self, node: NodeId, into: NodeId) {
        let (node, into) = (self.find_and_shorten(node), self.find_and_shorten(into));
        if node == into {
            return;
        }
        let gone = std::mem::take(&mut self.nodes[node]);
        self.parents[node.index()] = into;
        let stays = &mut self.nodes[into];
        // What only one of them had must go where only the other leads to.
        let mut missing = ObjectSet::default();
        let mut nothing = ObjectSet::default();
        let before = stays.all.clone();
        gone.all.flow_into(None, &mut stays.all, &mut missing);
        let mut both = gone.all;
        before.flow_into(None, &mut both, &mut missing);
        missing.flow_into(None, &mut stays.fresh, &mut nothing);
        gone.fresh.flow_into(None, &mut stays.fresh, &mut nothing);
        stays.flows.extend(gone.flows);
        stays.watchers.extend(gone.watchers);
        if !stays.fresh.is_empty() {
            self.enqueue(into);
        }
    }

    /// Something unknown that is cast to a class is something unknown of that class.
    fn narrow_unknown(
        &mut self,
        program: &mut Program<'_>,
        objects: &ObjectSet,
        to: NodeId,
        filter: FilterId,
    ) {
        let Type::Class(wanted) = program.names.ty(self.objects.filter_type(filter)) else {
            return;
        };
        let wanted = program.class_named(wanted);
        let is_interface = |class: ClassId| program.classes()[class].is_interface();
        let mut unknown: SmallVec<[ObjectId; 8]> = SmallVec::new();
        objects.for_each_of(Some(self.objects.unknown()), |object| unknown.push(object));
        let narrowed = unknown.into_iter().any(|object| match self.objects.all[object] {
            Object::Unknown(class) => {
                !program.is_subclass(class, wanted)
                    && (program.is_subclass(wanted, class)
                        || is_interface(wanted)
                        || is_interface(class))
            }
            _ => false,
        });
        if narrowed {
            self.add(to, Object::Unknown(wanted));
        }
    }

    /// Calls for `watcher` with everything that is or will be in `node`.
    pub(super) fn watch(&mut self, node: NodeId, watcher: WatcherId) -> Vec<ObjectId> {
        let node = self.find_and_shorten(node);
        self.nodes[node].watchers.push(watcher);
        // What is fresh comes by itself.
        let mut fresh = self.nodes[node].fresh.to_vec();
        fresh.sort_unstable();
        let mut seen = self.nodes[node].all.to_vec();
        seen.retain(|object| fresh.binary_search(object).is_err());
        seen
    }

    /// Passes on what has arrived at one node; returns who is to learn of what. Nothing if no node
    /// has anything new.
    pub(super) fn step(&mut self, program: &mut Program<'_>) -> Option<Arrivals> {
        self.steps += 1;
        if self.steps >= self.next_search.max(FIRST_SEARCH) {
            self.next_search = self.steps + self.steps / 4;
            self.join_cycles();
        }
        let queued = self.queue.pop_front()?;
        self.nodes[queued].is_queued = false;
        let node = self.find_and_shorten(queued);
        let fresh = std::mem::take(&mut self.nodes[node].fresh);
        for index in 0..self.nodes[node].flows.len() {
            let flow = self.nodes[node].flows[index];
            self.pass(program, &fresh, flow);
        }
        let watchers = self.nodes[node].watchers.clone();
        let objects = if watchers.is_empty() { Vec::new() } else { fresh.to_vec() };
        Some((watchers, objects))
    }

    pub(super) fn offset(first: NodeId, offset: usize) -> NodeId {
        NodeId::from_index(first.index() + offset)
    }
}

/// Watchers, and the objects that they have not seen yet.
pub(super) type Arrivals = (SmallVec<[WatcherId; 1]>, Vec<ObjectId>);
