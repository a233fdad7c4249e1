//! `--what summary`: counts of everything.

use std::io::{self, Write};

use anstyle::Style;
use anyhow::bail;
use serde::Serialize;

use super::{Inspection, View, write};
use crate::output::Output;

#[derive(Serialize)]
struct Summary {
    schema: &'static str,
    jdk: Option<String>,
    /// Classes of the input.
    classes: usize,
    methods: usize,
    /// Methods that were lowered to SSA.
    bodies: usize,
    statements: usize,
    /// What could not be read.
    failed: Vec<Failed>,
    entry_points: usize,
    reachable_methods: usize,
    call_edges: usize,
    /// Places in the code that start a thread.
    thread_starts: usize,
    /// Groups of methods that call each other.
    recursive_components: usize,
    largest_component: usize,
    phantoms: usize,
    missing_classes: Vec<String>,
    notes: Vec<String>,
    seconds: f64,
}

#[derive(Serialize)]
struct Failed {
    file: String,
    reason: String,
}

pub(super) fn show(inspection: &mut Inspection<'_>, output: &mut Output) -> anyhow::Result<()> {
    let classes = inspection.classes()?;
    let graph = inspection.session.call_graph();
    let mut methods = 0;
    let (mut bodies, mut statements) = (0, 0);
    let mut failed = Vec::new();
    for &class in &classes {
        for method in inspection.session.program.classes()[class].methods.clone() {
            methods += 1;
            let length = match inspection.session.program.lowered_body(method) {
                Some(body) => Some(body.statements.len()),
                None => match inspection.session.program.lower(method) {
                    Ok(lowered) => lowered.map(|lowered| lowered.body.statements.len()),
                    Err(failure) => {
                        failed.push(failure);
                        None
                    }
                },
            };
            bodies += usize::from(length.is_some());
            statements += length.unwrap_or(0);
        }
    }
    // A method that the call graph stumbled over has failed already.
    let known = inspection.session.failures();
    failed.retain(|failure| !known.contains(failure));
    inspection.session.program.add_failures(failed);

    let mut starts: Vec<_> =
        graph.thread_starts().map(|(edge, _)| (edge.caller, edge.statement)).collect();
    starts.dedup();
    let recursive = graph.components.iter().filter(|component| component.len() > 1);
    let summary = Summary {
        schema: "unsnarl.inspect.summary/1",
        jdk: inspection.session.program.path().jdk().map(|jdk| jdk.home.display().to_string()),
        classes: classes.len(),
        methods,
        bodies,
        statements,
        failed: inspection
            .session
            .failures()
            .into_iter()
            .map(|failure| Failed { file: failure.place, reason: failure.reason })
            .collect(),
        entry_points: graph.entries.len(),
        reachable_methods: graph.methods.len(),
        call_edges: graph.edges.len(),
        thread_starts: starts.len(),
        recursive_components: recursive.clone().count(),
        largest_component: recursive.map(Vec::len).max().unwrap_or(0),
        phantoms: inspection.session.program.phantoms().count(),
        missing_classes: inspection.session.missing_classes(),
        notes: inspection.session.notes(),
        seconds: inspection.session.started.elapsed().as_secs_f64(),
    };
    write(&summary, inspection.arguments.format, output)
}

impl View for Summary {
    fn text(&self, out: &mut dyn Write, _: Style) -> io::Result<()> {
        let mut row =
            |name: &str, value: &dyn std::fmt::Display| writeln!(out, "{name:<18} {value}");
        if let Some(jdk) = &self.jdk {
            row("jdk", jdk)?;
        }
        row("classes", &self.classes)?;
        row("methods", &self.methods)?;
        row("bodies", &self.bodies)?;
        row("statements", &self.statements)?;
        row("failed", &self.failed.len())?;
        row("entry points", &self.entry_points)?;
        row("reachable methods", &self.reachable_methods)?;
        row("call edges", &self.call_edges)?;
        row("thread starts", &self.thread_starts)?;
        row("recursive groups", &self.recursive_components)?;
        row("largest group", &self.largest_component)?;
        row("missing classes", &self.phantoms)?;
        row("seconds", &format!("{:.2}", self.seconds))?;
        for note in &self.notes {
            writeln!(out, "note: {note}")?;
        }
        Ok(())
    }

    fn dot(&self, _: &mut dyn Write) -> anyhow::Result<()> {
        bail!("a summary is not a graph: use --format text or json, or --what callgraph")
    }
}
