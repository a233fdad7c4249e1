//! What findings are drawn from: time lines and object use graphs, written and read.

use serde::{Deserialize, Serialize};
use unsnarl_findings::{
    EdgeKind, Lock, StepKind, TimelineStep, Use, UseEdge, UseGraph, UseKind, UsingThread,
};

use super::JsonFrame;
use super::read::{ReadFrame, named};

#[derive(Serialize)]
pub(super) struct JsonStep<'a> {
    lane: usize,
    kind: &'static str,
    on: Option<&'a str>,
    frame: Option<JsonFrame<'a>>,
    after: Option<usize>,
    gap: bool,
}

#[derive(Serialize)]
pub(super) struct JsonUseGraph<'a> {
    of: &'a str,
    threads: Vec<JsonThread<'a>>,
    nodes: Vec<JsonUse<'a>>,
    edges: Vec<JsonEdge>,
    left_out: usize,
}

#[derive(Serialize)]
struct JsonThread<'a> {
    name: &'a str,
    several: bool,
}

#[derive(Serialize)]
struct JsonUse<'a> {
    thread: usize,
    kind: &'static str,
    on: Option<&'a str>,
    frame: JsonFrame<'a>,
    locks: Vec<String>,
    defect: bool,
}

#[derive(Serialize)]
struct JsonEdge {
    from: usize,
    to: usize,
    kind: &'static str,
}

impl<'a> From<&'a TimelineStep> for JsonStep<'a> {
    fn from(step: &'a TimelineStep) -> Self {
        Self {
            lane: step.lane,
            kind: step.kind.name(),
            on: step.on.as_deref(),
            frame: step.site.as_ref().map(JsonFrame::from),
            after: step.after,
            gap: step.is_behind_gap,
        }
    }
}

impl<'a> From<&'a UseGraph> for JsonUseGraph<'a> {
    fn from(graph: &'a UseGraph) -> Self {
        let edge =
            |edge: &UseEdge| JsonEdge { from: edge.from, to: edge.to, kind: edge.kind.name() };
        let thread = |it: &'a UsingThread| JsonThread { name: &it.name, several: it.is_several };
        Self {
            of: &graph.of,
            threads: graph.threads.iter().map(thread).collect(),
            nodes: graph.uses.iter().map(JsonUse::from).collect(),
            edges: graph.edges.iter().map(edge).collect(),
            left_out: graph.left_out,
        }
    }
}

impl<'a> From<&'a Use> for JsonUse<'a> {
    fn from(used: &'a Use) -> Self {
        Self {
            thread: used.thread,
            kind: used.kind.name(),
            on: used.on.as_deref(),
            frame: JsonFrame::from(&used.site),
            locks: used.locks.iter().map(ToString::to_string).collect(),
            defect: used.is_defect,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct StepText {
    lane: usize,
    kind: String,
    on: Option<String>,
    frame: Option<ReadFrame>,
    after: Option<usize>,
    gap: bool,
}

#[derive(Deserialize)]
pub(super) struct UseGraphText {
    of: String,
    threads: Vec<ThreadText>,
    nodes: Vec<UseText>,
    edges: Vec<EdgeText>,
    left_out: usize,
}

#[derive(Deserialize)]
struct ThreadText {
    name: String,
    several: bool,
}

#[derive(Deserialize)]
struct UseText {
    thread: usize,
    kind: String,
    on: Option<String>,
    frame: ReadFrame,
    locks: Vec<String>,
    defect: bool,
}

#[derive(Deserialize)]
struct EdgeText {
    from: usize,
    to: usize,
    kind: String,
}

/// The time line of a finding with so many accesses.
pub(super) fn timeline(steps: Vec<StepText>, accesses: usize) -> Result<Vec<TimelineStep>, String> {
    let step = |(position, text): (usize, StepText)| {
        if text.lane >= accesses.min(2) || text.after.is_some_and(|after| after >= position) {
            return Err(format!("step {position} of the timeline is of nobody or after none"));
        }
        Ok(TimelineStep {
            lane: text.lane,
            kind: named("step", &StepKind::ALL, StepKind::name, &text.kind)?,
            on: text.on,
            site: text.frame.map(|frame| frame.0),
            after: text.after,
            is_behind_gap: text.gap,
        })
    };
    steps.into_iter().enumerate().map(step).collect()
}

impl TryFrom<UseGraphText> for UseGraph {
    type Error = String;

    fn try_from(text: UseGraphText) -> Result<Self, String> {
        let (threads, uses) = (text.threads.len(), text.nodes.len());
        let used = |it: UseText| {
            if it.thread >= threads {
                return Err(format!("there is no thread {} in the object use graph", it.thread));
            }
            Ok(Use {
                thread: it.thread,
                kind: named("use", &UseKind::ALL, UseKind::name, &it.kind)?,
                on: it.on,
                site: it.frame.0,
                locks: it.locks.iter().map(|lock| Lock::parse(lock)).collect(),
                is_defect: it.defect,
            })
        };
        let edge = |it: EdgeText| {
            if it.from >= uses || it.to >= uses {
                return Err(format!("an edge leads from use {} to {}", it.from, it.to));
            }
            let kind = named("edge", &EdgeKind::ALL, EdgeKind::name, &it.kind)?;
            Ok(UseEdge { from: it.from, to: it.to, kind })
        };
        let thread = |it: ThreadText| UsingThread { name: it.name, is_several: it.several };
        Ok(Self {
            of: text.of,
            threads: text.threads.into_iter().map(thread).collect(),
            uses: text.nodes.into_iter().map(used).collect::<Result<_, _>>()?,
            edges: text.edges.into_iter().map(edge).collect::<Result<_, _>>()?,
            left_out: text.left_out,
        })
    }
}
