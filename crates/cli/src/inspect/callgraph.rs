//! `--what callgraph`: which method may call which.

use std::io::{self, Write};

use anstyle::Style;
use serde::Serialize;
use unsnarl_program::MethodId;

use super::dot::Graph;
use super::{Inspection, View, write};
use crate::output::Output;

#[derive(Serialize)]
struct CallGraphView {
    schema: &'static str,
    entry_points: Vec<String>,
    methods: Vec<String>,
    edges: Vec<EdgeView>,
    /// Groups of methods that call each other, directly or not.
    recursive_components: Vec<Vec<String>>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct EdgeView {
    caller: String,
    callee: String,
    kind: &'static str,
    line: Option<u16>,
}

pub(super) fn show(inspection: &mut Inspection<'_>, output: &mut Output) -> anyhow::Result<()> {
    inspection.classes()?;
    let graph = inspection.session.call_graph();
    let program = &inspection.session.program;
    let text = |method: MethodId| program.method_text(method);
    let is_filtered = inspection.arguments.class.is_some() || inspection.arguments.method.is_some();
    let shows = |method: MethodId| !is_filtered || inspection.shows_method(method);
    let edges = graph.edges.iter().filter(|edge| shows(edge.caller) || shows(edge.callee));
    let edges = edges.map(|edge| EdgeView {
        caller: text(edge.caller),
        callee: text(edge.callee),
        kind: edge.kind.word(),
        line: program
            .lowered_body(edge.caller)
            .map(|body| body.statements[edge.statement].line)
            .filter(|&line| line != 0),
    });
    let recursive = graph.components.iter().filter(|component| component.len() > 1);
    let mut view = CallGraphView {
        schema: "unsnarl.inspect.callgraph/1",
        entry_points: graph.entries.iter().map(|&method| text(method)).collect(),
        methods: graph.methods.iter().filter(|&&m| shows(m)).map(|&m| text(m)).collect(),
        edges: edges.collect(),
        recursive_components: recursive
            .map(|component| component.iter().map(|&method| text(method)).collect())
            .collect(),
        notes: inspection.session.notes(),
    };
    // Numbers of methods depend on the order of loading; names do not.
    view.methods.sort_unstable();
    view.edges.sort_by(|a, b| {
        let key = |edge: &EdgeView| (edge.caller.clone(), edge.line, edge.callee.clone());
        key(a).cmp(&key(b))
    });
    write(&view, inspection.arguments.format, output)
}

impl View for CallGraphView {
    fn text(&self, out: &mut dyn Write, title: Style) -> io::Result<()> {
        for entry in &self.entry_points {
            writeln!(out, "entry point {entry}")?;
        }
        let mut caller = None;
        for edge in &self.edges {
            if caller.replace(&edge.caller) != Some(&edge.caller) {
                writeln!(out, "{title}{}{title:#}", edge.caller)?;
            }
            let line = edge.line.map_or(String::new(), |line| format!("line {line}"));
            writeln!(out, "    {line:<10} {:<12} {}", edge.kind, edge.callee)?;
        }
        for note in &self.notes {
            writeln!(out, "note: {note}")?;
        }
        Ok(())
    }

    fn dot(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut graph = Graph::begin(out, "callgraph")?;
        for entry in &self.entry_points {
            graph.node(entry, &format!("entry: {entry}"))?;
        }
        for edge in &self.edges {
            let label = if edge.kind == "call" { "" } else { edge.kind };
            graph.edge(&edge.caller, &edge.callee, label)?;
        }
        Ok(graph.end()?)
    }
}
