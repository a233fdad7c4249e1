//! The part of an object use graph [vonPraun04 §4.1–4.3] that a finding is about, for people to look at: where the
//! object is made and handed on, where the variable is accessed, where the threads that do so are started and joined.
//!
//! Deviations from the graph of [`unsnarl_symbolic`]: uses of one kind at one place by one thread are one, whatever the
//! heap context. Entries, exits, calls and loads are left out, and what they lead to follows directly; of ways that lead to
//! the same use the longest stays. A start leads to the first uses of its threads and the last ones to a join, also where
//! several threads do it, so that these edges do not prove an order.
//!
//! Misses: what is done in methods that neither access the variable, nor make the object, nor start one of the threads.
//! There is no graph where objects are distinguished only roughly.

use std::collections::{BTreeMap, BTreeSet};

use unsnarl_entity::EntityId;
use unsnarl_findings::{EdgeKind, UseEdge, UseGraph, UseKind as FoundKind, UsingThread};
use unsnarl_program::heap::OriginId;
use unsnarl_symbolic::{Accessed, Callers, EventId, ObjectUseGraph, Use, UseId, UseKind, Used};

use crate::wording::describe::{Describe, listed};

/// The most uses that are shown.
const MOST_USES: usize = 24;

/// Makes the graphs of findings.
pub(crate) struct UseGraphs<'g, 'm> {
    describe: &'g Describe<'g, 'm>,
    callers: Callers,
}

impl<'g, 'm> UseGraphs<'g, 'm> {
    /// None where objects are distinguished only roughly.
    pub(crate) fn new(describe: &'g Describe<'g, 'm>) -> Option<Self> {
        let is_exact = describe.execution.heap.widened.is_empty();
        is_exact.then(|| Self { describe, callers: describe.execution.callers() })
    }

    /// The uses of a variable of an object, of which two are the defect and `accesses` are all.
    pub(crate) fn graph(
        &self,
        used: Used,
        defect: [EventId; 2],
        accesses: impl IntoIterator<Item = EventId>,
    ) -> UseGraph {
        let describe = self.describe;
        let accesses: BTreeSet<EventId> = accesses.into_iter().chain(defect).collect();
        let accesses: Vec<EventId> = accesses.into_iter().collect();
        let execution = describe.execution;
        let graph = execution.use_graph_around(describe.program, &self.callers, used, &accesses);
        let shown = Shown { describe, graph: &graph, defect, accesses: &accesses };
        let of = match used {
            Used::Static(field) => describe.field(field).to_string(),
            Used::Object(object) => {
                let class = describe.object_class(object);
                match describe.made_at(object) {
                    Some(place) => format!("{class} made at {place}"),
                    None => class,
                }
            }
        };
        shown.graph(of)
    }
}

/// What of a graph is shown.
struct Shown<'s, 'm> {
    describe: &'s Describe<'s, 'm>,
    graph: &'s ObjectUseGraph,
    defect: [EventId; 2],
    accesses: &'s [EventId],
}

/// Uses that look the same, and how much they say: those of the defect first.
struct Group {
    nodes: Vec<UseId>,
    thread: OriginId,
    rank: usize,
}

impl Shown<'_, '_> {
    fn graph(&self, of: String) -> UseGraph {
        let mut groups = self.groups();
        groups.sort_by_key(|group| (group.rank, group.nodes[0]));
        let left_out = groups.len().saturating_sub(MOST_USES);
        groups.truncate(MOST_USES);
        let (groups, flow) = self.in_order(groups);
        let starters = groups.iter().filter(|group| self.node(group).kind == UseKind::Start);
        let starters: BTreeSet<OriginId> = starters.map(|group| group.thread).collect();
        // Who starts others stands before them.
        let threads: BTreeSet<(bool, OriginId)> =
            groups.iter().map(|group| (!starters.contains(&group.thread), group.thread)).collect();
        let threads: Vec<OriginId> = threads.into_iter().map(|(_, thread)| thread).collect();
        let uses = groups.iter().map(|group| self.found(group, &threads)).collect();
        let edges = self.edges(&groups, &flow);
        let name = |&thread: &OriginId| UsingThread {
            name: self.describe.thread(thread).to_owned(),
            is_several: !self.describe.execution.is_unique_thread(thread),
        };
        UseGraph { of, threads: threads.iter().map(name).collect(), uses, edges, left_out }
    }

    fn node(&self, group: &Group) -> &Use {
        &self.graph.nodes[group.nodes[0]]
    }

    /// The uses that concern the finding, by what and where they are.
    fn groups(&self) -> Vec<Group> {
        let heap = &self.describe.execution.heap;
        let threads: BTreeSet<OriginId> =
            self.accesses.iter().map(|&event| self.describe.event(event).thread).collect();
        let variable = self.describe.event(self.defect[0]).accessed;
        let mut groups: BTreeMap<_, Group> = BTreeMap::new();
        for (id, used) in self.graph.nodes.iter() {
            let Some(statement) = used.statement else { continue };
            let rank = match used.kind {
                UseKind::Get | UseKind::Put => {
                    let Some(event) = self.event_of(used) else { continue };
                    if used.variable != Some(variable) {
                        continue;
                    }
                    if self.is_defect(event) { 0 } else { 3 }
                }
                UseKind::Start | UseKind::Join => {
                    if !used.threads.iter().any(|thread| threads.contains(thread)) {
                        continue;
                    }
                    1
                }
                UseKind::New => 1,
                UseKind::Escape => 2,
                UseKind::Entry | UseKind::Exit | UseKind::Call => continue,
                UseKind::Load | UseKind::Store => continue,
            };
            let method = heap.instances[used.instance].method;
            let frame = self.describe.frame(method, statement);
            let key = (used.thread, used.kind as u8, frame);
            let group = Group { nodes: Vec::new(), thread: used.thread, rank };
            let group = groups.entry(key).or_insert(group);
            group.nodes.push(id);
            group.rank = group.rank.min(rank);
        }
        groups.into_values().collect()
    }

    /// The first access that a node stands for.
    fn event_of(&self, used: &Use) -> Option<EventId> {
        self.accesses.iter().copied().find(|&event| {
            let event = self.describe.event(event);
            (event.instance, Some(event.statement)) == (used.instance, used.statement)
                && used_kind(event.kind) == used.kind
        })
    }

    /// Whether an access looks like one of the defect.
    fn is_defect(&self, event: EventId) -> bool {
        let looks = |event: EventId| {
            let data = self.describe.event(event);
            (data.thread, data.kind, self.describe.place(event))
        };
        self.defect.iter().any(|&defect| defect == event || looks(defect) == looks(event))
    }

    fn found(&self, group: &Group, threads: &[OriginId]) -> unsnarl_findings::Use {
        let (describe, used) = (self.describe, self.node(group));
        let method = describe.execution.heap.instances[used.instance].method;
        let statement = used.statement.expect("a use that is shown is at a statement");
        let frames = describe.frames_of(&[(method, statement)]);
        let names = |threads: &[OriginId]| {
            let names: BTreeSet<&str> = threads.iter().map(|&it| describe.thread(it)).collect();
            listed(&names.into_iter().map(str::to_owned).collect::<Vec<_>>())
        };
        let (kind, on) = match used.kind {
            UseKind::Start => (FoundKind::Start, Some(names(&used.threads))),
            UseKind::Join => (FoundKind::Join, Some(names(&used.threads))),
            UseKind::New => (FoundKind::New, None),
            UseKind::Get => (FoundKind::Read, self.variable(used)),
            UseKind::Put => (FoundKind::Write, self.variable(used)),
            _ => (FoundKind::Escape, self.variable(used)),
        };
        let locks = self.event_of(used).map(|event| describe.locks(describe.event(event)));
        unsnarl_findings::Use {
            thread: threads.iter().position(|&it| it == group.thread).unwrap_or_default(),
            kind,
            on,
            site: frames.into_iter().next().unwrap_or_else(|| describe.frame(method, statement)),
            locks: locks.unwrap_or_default(),
            is_defect: group.rank == 0,
        }
    }

    fn variable(&self, used: &Use) -> Option<String> {
        let program = self.describe.program;
        Some(match used.variable? {
            Accessed::Field(field) if used.kind == UseKind::Escape => {
                let is_written = self.describe.is_input_field(field);
                return is_written.then(|| self.describe.short_field(field));
            }
            Accessed::Field(field) => program.names.text(program.fields()[field].name).into_owned(),
            Accessed::Element => "an element".to_owned(),
            Accessed::Contents => "the contents".to_owned(),
            Accessed::Slot(name) => program.names.text(name).into_owned(),
        })
    }

    /// The groups, so that what follows comes later, and what may come next after each of them.
    fn in_order(&self, mut groups: Vec<Group>) -> (Vec<Group>, Vec<BTreeSet<usize>>) {
        groups.sort_by_key(|group| group.nodes[0]);
        let mut group_of = vec![None; self.graph.nodes.len()];
        for (number, group) in groups.iter().enumerate() {
            for node in &group.nodes {
                group_of[node.index()] = Some(number);
            }
        }
        let mut next = vec![Vec::new(); self.graph.nodes.len()];
        for &(from, to) in &self.graph.control_flow {
            next[from.index()].push(to);
        }
        let followers = |(number, group): (usize, &Group)| {
            let nodes = group.nodes.iter();
            let mut found: BTreeSet<usize> =
                nodes.flat_map(|&node| self.followers(node, &next, &group_of)).collect();
            found.remove(&number);
            found
        };
        let flow: Vec<BTreeSet<usize>> = groups.iter().enumerate().map(followers).collect();
        let order = reverse_postorder(&flow);
        let mut place = vec![0; order.len()];
        for (position, &number) in order.iter().enumerate() {
            place[number] = position;
        }
        let mut ordered: Vec<(usize, Group)> = place.iter().copied().zip(groups).collect();
        ordered.sort_by_key(|&(position, _)| position);
        let renumbered = |&number: &usize| flow[number].iter().map(|&to| place[to]).collect();
        let mut flow: Vec<BTreeSet<usize>> = order.iter().map(renumbered).collect();
        longest_ways(&mut flow);
        (ordered.into_iter().map(|(_, group)| group).collect(), flow)
    }

    fn edges(&self, groups: &[Group], flow: &[BTreeSet<usize>]) -> Vec<UseEdge> {
        let mut edges = Vec::new();
        for (from, followers) in flow.iter().enumerate() {
            edges.extend(followers.iter().map(|&to| UseEdge { from, to, kind: EdgeKind::Flow }));
        }
        let in_thread = |thread: OriginId| {
            (0..groups.len()).filter(move |&number| groups[number].thread == thread)
        };
        for (control, group) in groups.iter().enumerate() {
            let used = self.node(group);
            for &thread in used.threads.iter().filter(|&&thread| thread != group.thread) {
                let leads_on = |number: &usize| match used.kind {
                    UseKind::Start => !flow
                        .iter()
                        .enumerate()
                        .any(|(from, to)| from < *number && to.contains(number)),
                    _ => !flow[*number].iter().any(|to| to > number),
                };
                edges.extend(in_thread(thread).filter(leads_on).map(|number| match used.kind {
                    UseKind::Start => UseEdge { from: control, to: number, kind: EdgeKind::Thread },
                    _ => UseEdge { from: number, to: control, kind: EdgeKind::Thread },
                }));
            }
        }
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// The groups that may come next. What a call comes back to follows the call as well, so that nothing that was
    /// entered by a call needs to be left.
    fn followers(
        &self,
        from: UseId,
        next: &[Vec<UseId>],
        group_of: &[Option<usize>],
    ) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open: Vec<(UseId, bool)> =
            next[from.index()].iter().map(|&to| (to, false)).collect();
        while let Some((node, is_called)) = open.pop() {
            if !seen.insert((node, is_called)) {
                continue;
            }
            if let Some(group) = group_of[node.index()] {
                found.insert(group);
                continue;
            }
            let kind = self.graph.nodes[node].kind;
            if is_called && kind == UseKind::Exit {
                continue;
            }
            open.extend(next[node.index()].iter().map(|&to| {
                let enters = kind == UseKind::Call && self.graph.nodes[to].kind == UseKind::Entry;
                (to, is_called || enters)
            }));
        }
        found
    }
}

fn used_kind(kind: unsnarl_symbolic::AccessKind) -> UseKind {
    match kind {
        unsnarl_symbolic::AccessKind::Read => UseKind::Get,
        unsnarl_symbolic::AccessKind::Write => UseKind::Put,
    }
}

/// All, so that whatever can be reached comes after what it is reached from, but for ways back.
fn reverse_postorder(flow: &[BTreeSet<usize>]) -> Vec<usize> {
    fn visit(from: usize, flow: &[BTreeSet<usize>], seen: &mut [bool], order: &mut Vec<usize>) {
        if !std::mem::replace(&mut seen[from], true) {
            flow[from].iter().rev().for_each(|&to| visit(to, flow, seen, order));
            order.push(from);
        }
    }
    let is_first = |number: &usize| !flow.iter().any(|followers| followers.contains(number));
    let (roots, others): (Vec<usize>, Vec<usize>) = (0..flow.len()).partition(is_first);
    let mut seen = vec![false; flow.len()];
    // What is begun later comes earlier, so the last is begun first; what only comes round to itself comes last.
    let [mut behind_roots, mut rest] = [Vec::new(), Vec::new()];
    roots.into_iter().rev().for_each(|root| visit(root, flow, &mut seen, &mut behind_roots));
    others.into_iter().for_each(|other| visit(other, flow, &mut seen, &mut rest));
    behind_roots.into_iter().rev().chain(rest.into_iter().rev()).collect()
}

/// Takes away the ways ahead for which there is a longer one, and of the ways back all but those to the nearest.
fn longest_ways(flow: &mut [BTreeSet<usize>]) {
    for from in (0..flow.len()).rev() {
        let ahead: Vec<usize> = flow[from].iter().copied().filter(|&to| to > from).collect();
        let is_longer =
            |&to: &usize| ahead.iter().any(|&over| over != to && is_reached(flow, over, to));
        let short: Vec<usize> = ahead.iter().copied().filter(is_longer).collect();
        flow[from].retain(|to| !short.contains(to));
        let back: Vec<usize> = flow[from].iter().copied().filter(|&to| to < from).collect();
        flow[from].retain(|to| *to > from || Some(to) == back.last());
    }
}

/// Whether ways ahead lead from one to another.
fn is_reached(flow: &[BTreeSet<usize>], from: usize, to: usize) -> bool {
    from == to
        || flow[from].iter().any(|&next| next > from && next <= to && is_reached(flow, next, to))
}
