//! `--what threads`: where threads are started and what they run.

use std::io::{self, Write};

use anstyle::Style;
use serde::Serialize;

use super::dot::Graph;
use super::{Inspection, View, write};
use crate::output::Output;

#[derive(Serialize)]
struct Threads {
    schema: &'static str,
    entry_points: Vec<String>,
    thread_starts: Vec<StartView>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct StartView {
    kind: &'static str,
    class: String,
    method: String,
    file: Option<String>,
    line: Option<u16>,
    /// What runs in the new thread.
    runs: Vec<String>,
}

pub(super) fn show(inspection: &mut Inspection<'_>, output: &mut Output) -> anyhow::Result<()> {
    inspection.classes()?;
    let graph = inspection.session.call_graph();
    let mut starts: Vec<StartView> = Vec::new();
    let mut previous = None;
    for (edge, kind) in graph.thread_starts() {
        if !inspection.shows_method(edge.caller) {
            continue;
        }
        let runs = inspection.session.program.behind_lambda(edge.callee);
        let program = &inspection.session.program;
        let runs = program.method_text(runs);
        let place = (edge.caller, edge.statement, kind.word());
        if previous.replace(place) == Some(place)
            && let Some(start) = starts.last_mut()
        {
            start.runs.push(runs);
            continue;
        }
        let caller = &program.methods()[edge.caller];
        let body = program.lowered_body(edge.caller);
        starts.push(StartView {
            kind: kind.word(),
            class: program.class_text(caller.class),
            method: program.names.text(caller.name).into_owned(),
            file: program.source_file(caller.class),
            line: body.map(|body| body.statements[edge.statement].line).filter(|&line| line != 0),
            runs: vec![runs],
        });
    }
    starts.iter_mut().for_each(|start| start.runs.sort_unstable());
    starts.sort_by(|a, b| {
        let key = |start: &StartView| {
            (start.class.clone(), start.line, start.method.clone(), start.runs.clone())
        };
        key(a).cmp(&key(b))
    });
    let view = Threads {
        schema: "unsnarl.inspect.threads/1",
        entry_points: graph
            .entries
            .iter()
            .map(|&method| inspection.session.program.method_text(method))
            .collect(),
        thread_starts: starts,
        notes: inspection.session.notes(),
    };
    write(&view, inspection.arguments.format, output)
}

impl StartView {
    fn place(&self) -> String {
        let place = format!("{}.{}", self.class, self.method);
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{place} ({file}:{line})"),
            _ => place,
        }
    }
}

impl View for Threads {
    fn text(&self, out: &mut dyn Write, title: Style) -> io::Result<()> {
        for start in &self.thread_starts {
            writeln!(out, "{title}{}{title:#} started by {}", start.kind, start.place())?;
            for run in &start.runs {
                writeln!(out, "    runs {run}")?;
            }
        }
        if self.thread_starts.is_empty() {
            writeln!(out, "no thread is started")?;
        }
        for note in &self.notes {
            writeln!(out, "note: {note}")?;
        }
        Ok(())
    }

    fn dot(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut graph = Graph::begin(out, "threads")?;
        for start in &self.thread_starts {
            for run in &start.runs {
                graph.edge(&start.place(), run, start.kind)?;
            }
        }
        Ok(graph.end()?)
    }
}
