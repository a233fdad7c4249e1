//! Who calls whom: variable-type analysis over the reachable program.
//!
//! After [Sundaresan00, variable-type analysis], built
//! on the fly: a variable, a field, the elements of the arrays of a type and the result of a method
//! have each a set of the types of the objects they may refer to; assignments, casts and calls move
//! types between them; a call leads to the methods that the types of its receiver select, and a method
//! that is reached brings its own assignments with it. Exceptions that are thrown meet in one place.
//!
//! Library knowledge comes from `models`: which method starts a thread, which runs a callback, and
//! which code is not entered. A model replaces the implementation of a library method; classes of the
//! application are analysed from their bytecode even where they implement a modelled interface.
//!
//! **Guarantees**: every call that bytecode of entered methods can make to entered methods is an edge,
//! given that reflection, natives and opaque code do what their models say.
//! **Misses**: targets of reflection whose class is not a constant; calls on objects that come out of
//! opaque code, beyond the methods of their declared class; what a missing class does. All three are
//! counted in [`Gaps`].

mod build;
mod calls;
mod effects;
mod entries;
mod finish_heap;
mod library;
mod object;
mod reflection;
mod solver;
mod statements;
mod threads;

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_entity::EntityId;
use unsnarl_models::{Models, StartKind};

pub(crate) use finish_heap::solve_heap;

pub use entries::{Entries, EntryPoints};
pub use object::{MadeIn, Object, ObjectId};

use build::Precision;

use crate::body::StatementId;
use crate::class::MethodId;
use crate::heap::InstanceId;
use crate::program::Program;

/// The call graph of a program.
#[derive(Debug, Default)]
pub struct CallGraph {
    /// Where execution begins.
    pub entries: Vec<MethodId>,
    /// The methods that were reached, in the order in which they were. A modelled method is among them
    /// if it calls what is inside objects, such as the keys of a map.
    pub methods: Vec<MethodId>,
    /// The calls, sorted by caller and statement.
    pub edges: Vec<Edge>,
    /// Strongly connected components of the calls within a thread, callees first.
    pub components: Vec<Vec<MethodId>>,
    /// What the analysis could not follow.
    pub gaps: Gaps,
    /// How many types of objects were seen.
    pub objects: usize,
    positions: FxHashMap<MethodId, usize>,
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// The method that calls.
    pub caller: MethodId,
    /// The statement that calls.
    pub statement: StatementId,
    /// The method that is called.
    pub callee: MethodId,
    /// How it is called.
    pub kind: EdgeKind,
}

/// How a method is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeKind {
    /// By the statement itself.
    Call,
    /// By the statement itself, which has very many targets: those of its own kind
    /// [`EdgeKind::Target`] that leave the callee. All such calls of a method have the same.
    Dispatch,
    /// Not by the caller's body, but by every call that has an edge [`EdgeKind::Dispatch`] to it.
    Target,
    /// As the initializer of a class that the statement may be the first to use.
    ClassInit,
    /// By a library method that the statement calls, before that returns.
    Callback,
    /// By library code at some later time, in a thread that is not known.
    Later,
    /// By reflection.
    Reflection,
    /// In a thread that the statement starts.
    Start(Start),
}

/// A kind of thread start that can be sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Start(pub StartKind);

impl PartialOrd for Start {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Start {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0 as u8).cmp(&(other.0 as u8))
    }
}

impl EdgeKind {
    /// The word for it in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Dispatch => "dispatch",
            Self::Target => "target",
            Self::ClassInit => "class-init",
            Self::Callback => "callback",
            Self::Later => "later",
            Self::Reflection => "reflection",
            Self::Start(Start(kind)) => kind.word(),
        }
    }

    /// Whether the callee runs in the caller's thread before the statement is done.
    pub fn is_within_thread(self) -> bool {
        !matches!(self, Self::Later | Self::Start(_))
    }
}

/// What the analysis could not follow, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Call sites whose method was not found.
    pub unresolved_calls: usize,
    /// Call sites of methods without body or model: natives and opaque code.
    pub opaque_calls: usize,
    /// Call sites on objects that come out of opaque code and have no method to enter.
    pub unknown_receivers: usize,
    /// Reflective calls and allocations whose class is not known.
    pub unknown_reflection: usize,
    /// Dynamic call sites with a bootstrap method that is not understood.
    pub dynamic_calls: usize,
}

impl CallGraph {
    /// Builds the call graph from the entry points on.
    pub fn build(program: &mut Program<'_>, models: &Models, entries: &EntryPoints) -> Self {
        let builder = build::build(program, models, entries, Precision::Types);
        let method = |instance: InstanceId| builder.instances[instance].method;
        let edges = builder.calls.iter().map(|call| Edge {
            caller: method(call.caller),
            statement: call.statement,
            callee: method(call.callee),
            kind: call.kind,
        });
        let edges = edges.collect();
        let mut graph = builder.graph;
        graph.edges = edges;
        graph.objects = builder.solver.objects.all.len();
        graph.finish();
        graph
    }

    /// Whether a method was reached.
    pub fn is_reachable(&self, method: MethodId) -> bool {
        self.positions.contains_key(&method)
    }

    /// The calls of one method.
    pub fn calls_of(&self, caller: MethodId) -> &[Edge] {
        let start = self.edges.partition_point(|edge| edge.caller < caller);
        let end = self.edges.partition_point(|edge| edge.caller <= caller);
        &self.edges[start..end]
    }

    /// The edges that start a thread.
    pub fn thread_starts(&self) -> impl Iterator<Item = (&Edge, StartKind)> {
        self.edges.iter().filter_map(|edge| match edge.kind {
            EdgeKind::Start(Start(kind)) => Some((edge, kind)),
            _ => None,
        })
    }

    /// The methods that an edge leads to: one, or all targets of a call that has very many.
    pub fn targets(&self, edge: &Edge) -> Vec<MethodId> {
        if edge.kind != EdgeKind::Dispatch {
            return vec![edge.callee];
        }
        let targets = self.calls_of(edge.callee).iter();
        targets.filter(|edge| edge.kind == EdgeKind::Target).map(|edge| edge.callee).collect()
    }

    fn finish(&mut self) {
        self.edges.sort_unstable();
        self.edges.dedup();
        // The first targets of a call that turned out to have very many are among those of the rest.
        let joined: FxHashSet<(MethodId, StatementId)> = self
            .edges
            .iter()
            .filter(|edge| edge.kind == EdgeKind::Dispatch)
            .map(|edge| (edge.caller, edge.statement))
            .collect();
        self.edges.retain(|edge| {
            !matches!(edge.kind, EdgeKind::Call | EdgeKind::Callback)
                || !joined.contains(&(edge.caller, edge.statement))
        });
        self.positions = self.methods.iter().copied().zip(0..).collect();
        // A method has two nodes here: itself, and where calls with very many targets meet.
        let count = self.methods.len();
        let mut successors = vec![Vec::new(); 2 * count];
        for edge in self.edges.iter().filter(|edge| edge.kind.is_within_thread()) {
            let (caller, callee) = (self.positions[&edge.caller], self.positions[&edge.callee]);
            match edge.kind {
                EdgeKind::Dispatch => successors[caller].push(count + callee),
                EdgeKind::Target => successors[count + caller].push(callee),
                _ => successors[caller].push(callee),
            }
        }
        let components = unsnarl_entity::components(2 * count, |node| &successors[node]);
        for component in components {
            let own = component.into_iter().filter(|&node| node < count);
            let mut methods: Vec<_> = own.map(|node| self.methods[node]).collect();
            methods.sort_unstable_by_key(|method| method.index());
            if !methods.is_empty() {
                self.components.push(methods);
            }
        }
    }
}
