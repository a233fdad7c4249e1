//! How threads use what a finding is about: the part of its object use graph that concerns the defect.

use std::fmt;

use crate::{Frame, Lock};

/// The uses of an object or of a static variable, as far as a finding is about them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UseGraph {
    /// What is used: `bank.Account made at Bank.java:15`.
    pub of: String,
    /// Who uses it.
    pub threads: Vec<UsingThread>,
    /// What happens to it. Those of a thread that certainly follow each other are in that order.
    pub uses: Vec<Use>,
    /// What may follow what; sorted.
    pub edges: Vec<UseEdge>,
    /// How many uses are not in the graph, since it would be too large.
    pub left_out: usize,
}

/// A thread of the program, which may stand for several of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsingThread {
    /// Its name.
    pub name: String,
    /// Whether there may be several.
    pub is_several: bool,
}

/// One use.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// Who, by its position in [`UseGraph::threads`].
    pub thread: usize,
    /// What happens.
    pub kind: UseKind,
    /// The variable, or the threads that are started or joined.
    pub on: Option<String>,
    /// Where.
    pub site: Frame,
    /// The locks that are held at an access.
    pub locks: Vec<Lock>,
    /// Whether it is one of the accesses that are the defect.
    pub is_defect: bool,
}

/// One use may follow another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UseEdge {
    /// The use that comes first, by its position.
    pub from: usize,
    /// The one that may follow.
    pub to: usize,
    /// By which way.
    pub kind: EdgeKind,
}

/// Why a use may follow another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeKind {
    /// The code of a thread goes there.
    Flow,
    /// A thread is started, or its end is waited for.
    Thread,
}

impl EdgeKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Flow, Self::Thread];

    /// The name used in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Thread => "thread",
        }
    }
}

/// What happens in a [`Use`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UseKind {
    /// The object is made.
    New,
    /// A reference to it is stored where other threads may find it.
    Escape,
    /// The variable is read.
    Read,
    /// The variable is written.
    Write,
    /// Threads are started.
    Start,
    /// The ends of threads are waited for.
    Join,
}

impl UseKind {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::New, Self::Escape, Self::Read, Self::Write, Self::Start, Self::Join];

    /// The name used in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Escape => "escape",
            Self::Read => "read",
            Self::Write => "write",
            Self::Start => "start",
            Self::Join => "join",
        }
    }
}

impl fmt::Display for UseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
